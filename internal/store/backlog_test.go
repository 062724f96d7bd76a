package store_test

import (
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
)

// backlog records n events at once.
func (f *fixture) backlog(t *testing.T, n int) {
	t.Helper()
	record(t, f.submit(t, "INV-BACKLOG"), allFour("accepted", false),
		slices.Repeat([]api.EventKind{api.EventStatusChanged}, n)...)
}

// TestLargeBacklogEnds: a subscription with many pending deliveries is deactivated at once, by its owner or by an
// attempt; its deliveries end in batches of a bounded size, each a transaction of its own, which any process goes on
// with. Readers see them ended from the beginning, and none is ever claimed.
func TestLargeBacklogEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	const waiting, batch = 1_750, 500
	for name, deactivate := range map[string]func(t *testing.T, f *fixture, s store.Subscription){
		"requested": func(t *testing.T, f *fixture, s store.Subscription) {
			ended, err := f.tenant.DeactivateSubscription(t.Context(), s.ID)
			kit.Must(t, err)
			if ended.Active {
				t.Error("the answer shows it active")
			}
		},
		"unsafe": func(t *testing.T, f *fixture, s store.Subscription) {
			d := f.claimDeliveries(t, s.ID, 1)[0]
			kit.Must(t, d.RecordAttempt(t.Context(), attempt(f, 0),
				store.DeliveryUpdate{State: store.DeliveryBlocked, Reason: "unsafe_address", Deactivate: "unsafe_address"}))
			f.wantDelivery(t, d.ID, delivery{state: "blocked", reason: "unsafe_address", attempts: 1, round: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			forEachEngine(t, func(t *testing.T, f *fixture) {
				ctx := t.Context()
				s, other := f.subscribe(t, api.EventStatusChanged), f.subscribe(t, api.EventStatusChanged)
				f.backlog(t, waiting)
				pending := func() int64 {
					return f.number(t, `select count(*) from deliveries where subscription_id = $1 and state = 'pending'`, s.ID)
				}
				notified, stop := f.Subscribe(store.WorkDeliveries)
				defer stop()
				deactivate(t, f, s)
				kit.Receive(t, notified, "a notification") // a worker has to go on
				left := pending()
				if left < waiting-batch-1 || left > waiting-batch {
					t.Errorf("%d of %d are pending after the deactivation, want all but a batch of %d", left, waiting, batch)
				}
				page, err := view.Of(f.tenant).Deliveries(ctx, view.DeliveryFilter{Subscription: s.ID}, 1, 100)
				kit.Must(t, err)
				for _, d := range page.Entries {
					if d.State == store.DeliveryPending || d.NextAt != nil || d.Reason == nil {
						t.Fatalf("a reader sees %+v", d)
					}
				}
				f.Store.DB = f.Again(t) // another process, after the end of this one
				for rounds := 0; ; rounds++ {
					queue, due := f.deliveryQueue(t, s.ID)
					if !due {
						break
					}
					claimed, err := queue.ClaimDeliveries(ctx, 64, leaseDuration)
					kit.Must(t, err)
					now := pending()
					if len(claimed) != 0 || left-now > batch || left-now < 1 || rounds > waiting/batch {
						t.Fatalf("%d were claimed, and of %d pending ones %d are left after %d claims", len(claimed), left, now, rounds+1)
					}
					left = now
				}
				if n := f.number(t,
					`select count(*) from deliveries where subscription_id = $1 and (state = 'pending' or due_at is not null)`,
					s.ID); n != 0 {
					t.Errorf("%d are left", n)
				}
				if n := len(f.claimDeliveries(t, other.ID, waiting+1)); n != waiting {
					t.Errorf("the other subscription has %d deliveries due, want %d", n, waiting)
				}
			})
		})
	}
}

// TestAbandonedAttempt: a delivery whose lease ran out is claimed as one with an abandoned attempt, also when its
// process has ended and another one has freed it; settled, or asked for again, it has none.
func TestAbandonedAttempt(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		s := f.subscribe(t, api.EventSubmissionUpdated)
		f.tell(t, 1)
		claim := func(abandoned bool) store.DeliveryLease {
			t.Helper()
			claimed := f.claimDeliveries(t, s.ID, 10)
			if len(claimed) != 1 || claimed[0].Abandoned != abandoned {
				t.Fatalf("claimed %+v, want one, abandoned: %t", claimed, abandoned)
			}
			return claimed[0]
		}
		first := claim(false)
		f.Clock.Advance(leaseDuration)
		claim(true)
		kit.Must(t, f.ReleaseOrphanedLeases(ctx))
		d := claim(true)
		kit.Must(t, d.RecordAttempt(ctx, attempt(f, 0),
			store.DeliveryUpdate{State: store.DeliveryPending, DueAt: f.Clock.Now().Add(time.Minute)}))
		f.wantDelivery(t, d.ID, delivery{state: "pending", attempts: 1, round: 1,
			due: f.Clock.Now().Add(time.Minute).UnixMicro()})
		f.Clock.Advance(time.Minute)
		claim(false)
		f.Clock.Advance(leaseDuration)
		_, err := f.tenant.Redeliver(ctx, first.ID)
		kit.Must(t, err)
		claim(false)
	})
}
