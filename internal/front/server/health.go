package server

import (
	"context"
	"net/http"

	"quittance/client/api"
	"quittance/internal/platform/problem"
)

// healthStatus is the response of the health checks.
type healthStatus struct {
	Status string `json:"status" doc:"ok"`
}

func (c *call) health(context.Context) (int, api.Data[healthStatus], error) {
	return http.StatusOK, api.Data[healthStatus]{Data: healthStatus{Status: "ok"}}, nil
}

func (c *call) ready(ctx context.Context) (int, api.Data[healthStatus], error) {
	if err := c.Ready(ctx); err != nil {
		return 0, api.Data[healthStatus]{}, problem.For(api.CodeUnavailable).Because(err)
	}
	return http.StatusOK, api.Data[healthStatus]{Data: healthStatus{Status: "ready"}}, nil
}
