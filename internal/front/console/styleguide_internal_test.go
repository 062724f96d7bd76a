package console

import (
	"net/http"
	"testing"

	"quittance/internal/platform/problem"
)

// TestNoStyleguideInProduction checks that the style guide does not exist in production.
func TestNoStyleguideInProduction(t *testing.T) {
	req := &request{Console: &Console{Config: Config{Environment: "production"}}}
	if err := req.showStyleguide(); problem.Of(err).Status() != http.StatusNotFound {
		t.Errorf("the style guide in production: %v", err)
	}
}
