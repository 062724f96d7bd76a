package console

import (
	"fmt"
	"net/http"
	"testing"

	"quittance/internal/store"
)

// wantQuotaPages checks that each quota error has a page with advice.
func wantQuotaPages(t *testing.T, messages catalogue) {
	t.Helper()
	for _, quota := range []string{store.QuotaStoredBytes, store.QuotaDrafts, store.QuotaCustomers, store.QuotaItems,
		store.QuotaSubscriptions, store.QuotaSubscriptionsCreated} {
		p := problemOf(fmt.Errorf("create: %w", &store.QuotaError{Quota: quota, Limit: 7}))
		if p.status != http.StatusConflict {
			t.Errorf("%s has the status %d", quota, p.status)
		}
		for _, part := range []string{"title", "text"} {
			if text := messages.textOr("error."+p.messageKey+"."+part, ""); text == "" {
				t.Errorf("%s has no %s", quota, part)
			}
		}
	}
}
