package events_test

import (
	"errors"
	"testing"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/test/ledgertest/fixture"
)

// TestDeactivatedByManyAtOnce checks that concurrent attempts that all find that the destination redirects are all
// recorded without a deadlock.
func TestDeactivatedByManyAtOnce(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		const flying = 16
		for range 4 {
			s := f.Subscribe(t, api.EventSubmissionUpdated)
			f.Tell(t, flying+4)
			claimed := f.ClaimDeliveries(t, s.ID, flying)
			if len(claimed) != flying {
				t.Fatalf("%d claimed, want %d", len(claimed), flying)
			}
			fixture.Race(flying, func(n int) {
				if err := claimed[n].RecordAttempt(t.Context(), fixture.Attempt(f, 302),
					events.DeliveryUpdate{State: events.DeliveryBlocked, Reason: "redirect", Deactivate: "redirect"}); err != nil {
					t.Errorf("attempt %d: %v", n, err)
				}
			})
			for _, d := range claimed {
				f.WantDelivery(t, d.ID, fixture.Delivery{State: "blocked", Reason: "redirect", Attempts: 1, Round: 1})
			}
			if n := f.Number(t,
				`select count(*) from deliveries where subscription_id = $1 and state = 'failed' and reason = 'subscription_inactive' and due_at is null`, s.ID); n != 4 {
				t.Errorf("%d deliveries that waited have ended, want 4", n)
			}
		}
	})
}

// TestDeactivatedBesideOthers checks that attempts that find that the destination redirects, and concurrent attempts at
// the same destination with other results, are all recorded.
func TestDeactivatedBesideOthers(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		const flying = 24
		for range 3 {
			s := f.Subscribe(t, api.EventSubmissionUpdated)
			f.Tell(t, flying)
			claimed := f.ClaimDeliveries(t, s.ID, flying)
			if len(claimed) != flying {
				t.Fatalf("%d claimed, want %d", len(claimed), flying)
			}
			fixture.Race(flying, func(n int) {
				err := claimed[n].RecordAttempt(t.Context(), fixture.Attempt(f, 200),
					events.DeliveryUpdate{State: events.DeliveryDelivered})
				if n%4 == 0 && (err == nil || errors.Is(err, base.ErrLeaseLost)) {
					err = claimed[n+1].RecordAttempt(t.Context(), fixture.Attempt(f, 302),
						events.DeliveryUpdate{State: events.DeliveryBlocked, Reason: "redirect", Deactivate: "redirect"})
				}
				if err != nil && !errors.Is(err, base.ErrLeaseLost) {
					t.Errorf("attempt %d: %v", n, err)
				}
			})
			if n := f.Number(t, `select sum(attempts) from deliveries where subscription_id = $1`, s.ID); n != flying+flying/4 {
				t.Errorf("%d attempts are counted, want %d", n, flying+flying/4)
			}
			if n := f.Number(t,
				`select count(*) from deliveries where subscription_id = $1 and state in ('delivered', 'blocked')`,
				s.ID); n != flying {
				t.Errorf("%d deliveries have ended as their attempts say, want %d", n, flying)
			}
		}
	})
}
