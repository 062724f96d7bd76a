package server

import (
	"context"
	"net/http"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/platform/problem"
)

func (c *call) lookUpRecipient(ctx context.Context, query api.RecipientQuery,
	faults api.Faults) (int, api.Data[api.RecipientLookup], error) {
	var out api.Data[api.RecipientLookup]
	if len(faults) == 0 {
		faults = invoice.RecipientFaults(&query)
	}
	if err := problem.For(api.CodeValidationFailed).In(faults); err != nil {
		return 0, out, err
	}
	found, err := c.Submissions.LookUpRecipient(ctx, c.session.Tenant, *query.Scheme, *query.ID)
	out.Data = found
	return http.StatusOK, out, err
}
