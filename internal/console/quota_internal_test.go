package console

import (
	"fmt"
	"net/http"
	"testing"

	"quittance/internal/problem"
	"quittance/internal/store"
)

// wantQuotaPages checks that each quota error has a page with advice.
func wantQuotaPages(t *testing.T, messages catalogue) {
	t.Helper()
	for _, quota := range []string{store.QuotaStoredBytes, store.QuotaDrafts, store.QuotaCustomers, store.QuotaItems,
		store.QuotaSubscriptions, store.QuotaSubscriptionsCreated} {
		p := problem.Of(fmt.Errorf("create: %w", &store.QuotaError{Quota: quota, Limit: 7}))
		if p.Status() != http.StatusConflict {
			t.Errorf("%s has the status %d", quota, p.Status())
		}
		for _, part := range []string{"title", "text"} {
			if text := messages.TextOr("error."+p.Name()+"."+part, ""); text == "" {
				t.Errorf("%s has no %s", quota, part)
			}
		}
	}
}
