package store_test

import (
	"errors"
	"testing"

	"quittance/client/api"
	"quittance/internal/store"
)

// TestDeactivatedByManyAtOnce checks that concurrent attempts that all find that the destination redirects are all
// recorded without a deadlock.
func TestDeactivatedByManyAtOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		const flying = 16
		for range 4 {
			s := f.subscribe(t, api.EventSubmissionUpdated)
			f.tell(t, flying+4)
			claimed := f.claimDeliveries(t, s.ID, flying)
			if len(claimed) != flying {
				t.Fatalf("%d claimed, want %d", len(claimed), flying)
			}
			race(flying, func(n int) {
				if err := claimed[n].RecordAttempt(t.Context(), attempt(f, 302),
					store.DeliveryUpdate{State: store.DeliveryBlocked, Reason: "redirect", Deactivate: "redirect"}); err != nil {
					t.Errorf("attempt %d: %v", n, err)
				}
			})
			for _, d := range claimed {
				f.wantDelivery(t, d.ID, delivery{state: "blocked", reason: "redirect", attempts: 1, round: 1})
			}
			if n := f.number(t,
				`select count(*) from deliveries where subscription_id = $1 and state = 'failed' and reason = 'subscription_inactive' and due_at is null`, s.ID); n != 4 {
				t.Errorf("%d deliveries that waited have ended, want 4", n)
			}
		}
	})
}

// TestDeactivatedBesideOthers checks that attempts that find that the destination redirects, and concurrent attempts at
// the same destination with other results, are all recorded.
func TestDeactivatedBesideOthers(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		const flying = 24
		for range 3 {
			s := f.subscribe(t, api.EventSubmissionUpdated)
			f.tell(t, flying)
			claimed := f.claimDeliveries(t, s.ID, flying)
			if len(claimed) != flying {
				t.Fatalf("%d claimed, want %d", len(claimed), flying)
			}
			race(flying, func(n int) {
				err := claimed[n].RecordAttempt(t.Context(), attempt(f, 200), store.DeliveryUpdate{State: store.DeliveryDelivered})
				if n%4 == 0 && (err == nil || errors.Is(err, store.ErrLeaseLost)) {
					err = claimed[n+1].RecordAttempt(t.Context(), attempt(f, 302),
						store.DeliveryUpdate{State: store.DeliveryBlocked, Reason: "redirect", Deactivate: "redirect"})
				}
				if err != nil && !errors.Is(err, store.ErrLeaseLost) {
					t.Errorf("attempt %d: %v", n, err)
				}
			})
			if n := f.number(t, `select sum(attempts) from deliveries where subscription_id = $1`, s.ID); n != flying+flying/4 {
				t.Errorf("%d attempts are counted, want %d", n, flying+flying/4)
			}
			if n := f.number(t,
				`select count(*) from deliveries where subscription_id = $1 and state in ('delivered', 'blocked')`,
				s.ID); n != flying {
				t.Errorf("%d deliveries have ended as their attempts say, want %d", n, flying)
			}
		}
	})
}
