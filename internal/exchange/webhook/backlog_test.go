package webhook_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"quittance/internal/exchange/webhook"
	"quittance/internal/front/view"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// TestWorkersEndBacklogs checks that the workers end the pending deliveries of a deactivated subscription with a long
// backlog, although none is due, and send none of them. Another company's webhooks are delivered meanwhile.
func TestWorkersEndBacklogs(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := ledgertest.Open(t, engine)
			_, destination := newServer(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
			c, other := newCompany(t, s, "a@example.com"), newCompany(t, s, "b@example.com")
			ended := c.subscribe(t, destination.url("/ended"))
			c.addEvents(t, 2_200)
			_, err := events.DeactivateSubscription(t.Context(), c.tenant, ended)
			kit.Must(t, err)
			other.subscribe(t, destination.url("/other"))
			other.addEvents(t, 20)
			verdicts := make(chan webhook.Verdict, 3_000)
			stop := deliver(t, s, newSender(t, webhook.Config{Policy: destination.policy}), ample, options(s),
				func(v webhook.Verdict) { verdicts <- v })
			for range 20 {
				if v := kit.Receive(t, verdicts, "a callback of the other company"); v != webhook.Delivered {
					t.Fatalf("verdict %s", v)
				}
			}
			kit.Eventually(t, func() error {
				n, err := invoices.PendingDeliveries(t.Context(), c.tenant)
				if err == nil && n > 0 {
					err = fmt.Errorf("%d are still pending", n)
				}
				return err
			})
			stop()
			if len(verdicts) != 0 {
				t.Errorf("%d attempts were made for a deactivated subscription", len(verdicts))
			}
			page, err := view.Of(c.tenant).Deliveries(t.Context(),
				view.DeliveryFilter{Subscription: ended, State: events.DeliveryFailed}, 1, 1)
			kit.Must(t, err)
			if page.Total != 2_200 {
				t.Errorf("%d deliveries have ended, want 2,200", page.Total)
			}
		})
	}
}
