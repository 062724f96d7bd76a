package console

import (
	"errors"
	"net/http"
	"testing"
)

// TestNoStyleguideInProduction checks that the style guide does not exist in production.
func TestNoStyleguideInProduction(t *testing.T) {
	req := &request{Console: &Console{Config: Config{Environment: "production"}}}
	if p, ok := errors.AsType[*problem](req.showStyleguide()); !ok || p.status != http.StatusNotFound {
		t.Errorf("the style guide in production: %v", p)
	}
}
