package site

import (
	"net/http"
	"testing"

	"quittance/internal/front/console"
	"quittance/internal/platform/problem"
)

// TestNoStyleguideInProduction checks that the style guide does not exist in production.
func TestNoStyleguideInProduction(t *testing.T) {
	req := &console.Request{Console: &console.Console{Config: console.Config{Environment: "production"}}}
	if err := showStyleguide(req); problem.Of(err).Status() != http.StatusNotFound {
		t.Errorf("the style guide in production: %v", err)
	}
}
