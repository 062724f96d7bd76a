package events_test

import (
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestLargeBacklogEnds: a subscription with many pending deliveries is deactivated at once, by its owner or by an
// attempt; its deliveries end in batches of a bounded size, each a transaction of its own, which any process goes on
// with. Readers see them ended from the beginning, and none is ever claimed.
func TestLargeBacklogEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	const waiting, batch = 1_750, 500
	for name, deactivate := range map[string]func(t *testing.T, f *fixture.Fixture, s events.Subscription){
		"requested": func(t *testing.T, f *fixture.Fixture, s events.Subscription) {
			ended, err := events.DeactivateSubscription(t.Context(), f.Tenant, s.ID)
			kit.Must(t, err)
			if ended.Active {
				t.Error("the answer shows it active")
			}
		},
		"unsafe": func(t *testing.T, f *fixture.Fixture, s events.Subscription) {
			d := f.ClaimDeliveries(t, s.ID, 1)[0]
			kit.Must(t, d.RecordAttempt(t.Context(), fixture.Attempt(f, 0),
				events.DeliveryUpdate{State: events.DeliveryBlocked, Reason: "unsafe_address", Deactivate: "unsafe_address"}))
			f.WantDelivery(t, d.ID, fixture.Delivery{State: "blocked", Reason: "unsafe_address", Attempts: 1, Round: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
				ctx := t.Context()
				s, other := f.Subscribe(t, api.EventStatusChanged), f.Subscribe(t, api.EventStatusChanged)
				fixture.Backlog(t, f, waiting)
				pending := func() int64 {
					return f.Number(t, `select count(*) from deliveries where subscription_id = $1 and state = 'pending'`, s.ID)
				}
				notified, stop := f.DB.Subscribe(base.WorkDeliveries)
				defer stop()
				deactivate(t, f, s)
				kit.Receive(t, notified, "a notification") // a worker has to go on
				left := pending()
				if left < waiting-batch-1 || left > waiting-batch {
					t.Errorf("%d of %d are pending after the deactivation, want all but a batch of %d", left, waiting, batch)
				}
				page, err := view.Of(f.Tenant).Deliveries(ctx, view.DeliveryFilter{Subscription: s.ID}, 1, 100)
				kit.Must(t, err)
				for _, d := range page.Entries {
					if d.State == events.DeliveryPending || d.NextAt != nil || d.Reason == nil {
						t.Fatalf("a reader sees %+v", d)
					}
				}
				f.DB = f.Again(t) // another process, after the end of this one
				for rounds := 0; ; rounds++ {
					queue, due := f.DeliveryQueue(t, s.ID)
					if !due {
						break
					}
					claimed, err := events.ClaimDeliveries(ctx, queue, 64, fixture.LeaseDuration)
					kit.Must(t, err)
					now := pending()
					if len(claimed) != 0 || left-now > batch || left-now < 1 || rounds > waiting/batch {
						t.Fatalf("%d were claimed, and of %d pending ones %d are left after %d claims", len(claimed), left, now, rounds+1)
					}
					left = now
				}
				if n := f.Number(t,
					`select count(*) from deliveries where subscription_id = $1 and (state = 'pending' or due_at is not null)`,
					s.ID); n != 0 {
					t.Errorf("%d are left", n)
				}
				if n := len(f.ClaimDeliveries(t, other.ID, waiting+1)); n != waiting {
					t.Errorf("the other subscription has %d deliveries due, want %d", n, waiting)
				}
			})
		})
	}
}

// TestAbandonedAttempt: a delivery whose lease ran out is claimed as one with an abandoned attempt, also when its
// process has ended and another one has freed it; settled, or asked for again, it has none.
func TestAbandonedAttempt(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		s := f.Subscribe(t, api.EventSubmissionUpdated)
		f.Tell(t, 1)
		claim := func(abandoned bool) events.DeliveryLease {
			t.Helper()
			claimed := f.ClaimDeliveries(t, s.ID, 10)
			if len(claimed) != 1 || claimed[0].Abandoned != abandoned {
				t.Fatalf("claimed %+v, want one, abandoned: %t", claimed, abandoned)
			}
			return claimed[0]
		}
		first := claim(false)
		f.Clock.Advance(fixture.LeaseDuration)
		claim(true)
		kit.Must(t, ledger.ReleaseOrphanedLeases(ctx, f.DB))
		d := claim(true)
		kit.Must(t, d.RecordAttempt(ctx, fixture.Attempt(f, 0),
			events.DeliveryUpdate{State: events.DeliveryPending, DueAt: f.Clock.Now().Add(time.Minute)}))
		f.WantDelivery(t, d.ID, fixture.Delivery{State: "pending", Attempts: 1, Round: 1,
			Due: f.Clock.Now().Add(time.Minute).UnixMicro()})
		f.Clock.Advance(time.Minute)
		claim(false)
		f.Clock.Advance(fixture.LeaseDuration)
		_, err := events.Redeliver(ctx, f.Tenant, first.ID)
		kit.Must(t, err)
		claim(false)
	})
}
