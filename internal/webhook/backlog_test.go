package webhook_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/internal/webhook"
	"quittance/test/kit"
	"quittance/test/storetest"
)

// TestWorkersEndBacklogs checks that the workers end the pending deliveries of a deactivated subscription with a long
// backlog, although none is due, and send none of them. Another company's webhooks are delivered meanwhile.
func TestWorkersEndBacklogs(t *testing.T) {
	t.Parallel()
	for _, engine := range storetest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t, engine)
			_, destination := newServer(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
			c, other := newCompany(t, s, "a@example.com"), newCompany(t, s, "b@example.com")
			ended := c.subscribe(t, destination.url("/ended"))
			c.addEvents(t, 2_200)
			_, err := c.tenant.DeactivateSubscription(t.Context(), ended)
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
				n, err := c.tenant.PendingDeliveries(t.Context())
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
				view.DeliveryFilter{Subscription: ended, State: store.DeliveryFailed}, 1, 1)
			kit.Must(t, err)
			if page.Total != 2_200 {
				t.Errorf("%d deliveries have ended, want 2,200", page.Total)
			}
		})
	}
}
