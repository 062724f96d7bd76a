package webhook_test

import (
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/exchange/queue"
	"quittance/internal/exchange/webhook"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// TestPanickingAttempt checks that an attempt that panics counts as a failed attempt: it is followed by the usual wait,
// and after the last one the delivery has failed. A later attempt that succeeds completes the delivery.
func TestPanickingAttempt(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		for name, panics := range map[string]int32{"always": 100, "twice": 2} {
			t.Run(engine+" "+name, func(t *testing.T) {
				t.Parallel()
				s := ledgertest.Open(t, engine)
				var begun atomic.Int32
				s.Options.Checkpoint = func(moment base.Moment, name string) {
					if name == "webhook attempt" && moment == base.Before && begun.Add(1) <= panics {
						panic("the sender fails")
					}
				}
				s.DB = s.Again(t)
				_, destination := newServer(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
				c := newCompany(t, s, "a@example.com")
				subscription := c.subscribe(t, destination.url("/"))
				c.addEvents(t, 1)
				const attempts, timeout = 4, 10 * time.Second
				backoff := webhook.Backoff{First: time.Minute, Attempts: attempts}
				d := &webhook.Deliverer{DB: s.DB, Sender: newSender(t, webhook.Config{Policy: destination.policy}),
					Backoff: backoff, Timeout: timeout, Jitter: func() float64 { return 0.5 }, Now: s.Clock.Now,
					Log: slog.New(slog.DiscardHandler), Observe: func(webhook.Verdict, time.Duration, time.Duration) {}}
				waits := stepUntilEnded(t, c, d.Work(), subscription)
				found := onlyDelivery(t, c, subscription)
				wantState, wantAttempts := events.DeliveryFailed, attempts
				if name == "twice" {
					wantState, wantAttempts = events.DeliveryDelivered, 3
				}
				if found.State != wantState || found.Attempts != wantAttempts || int(begun.Load()) != wantAttempts {
					t.Fatalf("%+v after %d attempts were begun, want %s after %d", found, begun.Load(), wantState, wantAttempts)
				}
				for n, a := range found.History {
					if abandoned := a.ErrorClass == webhook.ClassAbandoned; abandoned != (int32(n) < panics) {
						t.Errorf("attempt %d is %+v", n+1, a)
					}
				}
				for n, wait := range waits {
					if want := time.Minute * time.Duration([]int{1, 3, 9}[n]); wait != want {
						t.Errorf("wait %d is %s, want %s", n+1, wait, want)
					}
				}
				if len(waits) != wantAttempts-1 {
					t.Errorf("%d waits: %v", len(waits), waits)
				}
			})
		}
	}
}

// onlyDelivery returns the only delivery of a subscription.
func onlyDelivery(t *testing.T, c *company, subscription base.ID) events.Delivery {
	t.Helper()
	page, err := view.Of(c.tenant).Deliveries(t.Context(), view.DeliveryFilter{Subscription: subscription}, 1, 1)
	kit.Must(t, err)
	found, err := events.FindDelivery(t.Context(), c.tenant, page.Entries[0].ID)
	kit.Must(t, err)
	return found
}

// stepUntilEnded runs the due attempts of one delivery, advancing the clock to the next one, until the delivery is no
// longer pending. It returns the wait after each attempt that counts.
func stepUntilEnded(t *testing.T, c *company, work queue.Source[events.DeliveryLease],
	subscription base.ID) (waits []time.Duration) {
	t.Helper()
	attempts := 0
	for range 100 {
		found := onlyDelivery(t, c, subscription)
		if found.State != api.DeliveryPending {
			return waits
		}
		if now := c.Clock.Now(); found.NextAt.After(now) {
			if found.Attempts > attempts {
				attempts = found.Attempts
				waits = append(waits, found.NextAt.Sub(now))
			}
			c.Clock.Advance(found.NextAt.Sub(now))
		}
		scan, err := work.Scan(t.Context(), base.ScanCursor{})
		kit.Must(t, err)
		for _, due := range scan.Queues {
			claimed, err := work.Claim(t.Context(), due, 10)
			kit.Must(t, err)
			for _, d := range claimed {
				func() {
					defer func() { _ = recover() }() // like the workers
					work.Do(t.Context(), d)
				}()
			}
		}
	}
	t.Fatalf("the delivery is still pending after %v", waits)
	return nil
}
