package site

import (
	"fmt"
	"net/http"
	"testing"

	"quittance/internal/front/console"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/problem"
)

// wantQuotaPages checks that each quota error has a page with advice.
func wantQuotaPages(t *testing.T, messages console.Catalogue) {
	t.Helper()
	for _, quota := range []string{base.QuotaStoredBytes, base.QuotaDrafts, base.QuotaCustomers, base.QuotaItems,
		base.QuotaSubscriptions, base.QuotaSubscriptionsCreated} {
		p := problem.Of(fmt.Errorf("create: %w", &base.QuotaError{Quota: quota, Limit: 7}))
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
