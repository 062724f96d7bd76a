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

// TestFailingSince checks that a subscription says since when its attempts fail until one arrives, that attempts that
// are recorded late count too, and that the company and the operators find it after [store.FailingAfter], although no
// delivery has failed for good.
func TestFailingSince(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		s, quiet := f.subscribe(t, api.EventSubmissionUpdated), f.subscribe(t, api.EventIncomingReceived)
		want := func(what string, since *time.Time, failing bool) {
			t.Helper()
			got, err := f.tenant.Subscription(ctx, s.ID)
			kit.Must(t, err)
			if other, err := f.tenant.Subscription(ctx, quiet.ID); err != nil || other.FailingSince != nil {
				t.Errorf("%s: a subscription without attempts: %v, %v", what, other.FailingSince, err)
			}
			wantEqual(t, what, got.FailingSince, since)
			troubled, err := view.Of(f.tenant).TroubledSubscriptions(ctx)
			kit.Must(t, err)
			all := f.failing(t)
			accounts, err := f.AccountList(ctx, f.account.ID.String(), store.ListPosition{}, 10)
			kit.Must(t, err)
			count := 0
			if failing {
				count = 1
			}
			if got.IsFailing(f.Clock.Now()) != failing || len(troubled) != count || len(all) != count ||
				accounts[0].Failing != int64(count) {
				t.Errorf("%s: IsFailing is %v, the company has %d, operators have %+v and %d in the account; want %d", what,
					got.IsFailing(f.Clock.Now()), len(troubled), all, accounts[0].Failing, count)
			}
			if failing && (all[0].ID != s.ID || all[0].Account != f.account.ID || !all[0].Active || all[0].Undelivered != 0 ||
				all[0].Newest != nil || !all[0].FailingSince.Equal(*since)) {
				t.Errorf("%s: operators see %+v", what, all[0])
			}
		}
		again := store.DeliveryUpdate{State: store.DeliveryPending, DueAt: f.Clock.Now()}
		f.tell(t, 2)
		leases := f.claimDeliveries(t, s.ID, 2)
		want("no attempt", nil, false)
		first := f.Clock.Now()
		kit.Must(t, leases[0].RecordAttempt(ctx, attempt(f, 503), again))
		want("a failed attempt", &first, false)
		f.Clock.Advance(store.FailingAfter)
		kit.Must(t, leases[1].RecordAttempt(ctx, attempt(f, 503), again))
		want("another one after ten minutes", &first, true)
		leases = f.claimDeliveries(t, s.ID, 2)
		kit.Must(t, leases[0].RecordAttempt(ctx, attempt(f, 200), store.DeliveryUpdate{State: store.DeliveryDelivered}))
		want("one that arrived", nil, false)
		f.Clock.Advance(time.Second)
		newer := f.Clock.Now()
		kit.Must(t, leases[1].RecordAttempt(ctx, attempt(f, 0), again))
		want("a failed one since", &newer, false)
		late := f.claimDeliveries(t, s.ID, 1)[0]
		f.Clock.Advance(store.FailingAfter)
		f.claimDeliveries(t, s.ID, 1)
		wantErr(t, late.RecordAttempt(ctx, attempt(f, 200), store.DeliveryUpdate{State: store.DeliveryDelivered}),
			store.ErrLeaseLost)
		want("one that arrived and was recorded late", nil, false)
		third := f.Clock.Now()
		f.Clock.Advance(leaseDuration)
		kit.Must(t, f.claimDeliveries(t, s.ID, 1)[0].RecordAttempt(ctx, store.Attempt{StartedAt: third, HTTPStatus: 500},
			again))
		f.Clock.Advance(store.FailingAfter)
		want("ten minutes later", &third, true)
		kit.Must(t, second(f.tenant.DeactivateSubscription(ctx, s.ID)))
		if got := f.failing(t); len(got) != 1 || got[0].Active || got[0].FailingSince != nil || got[0].Undelivered != 1 {
			t.Errorf("after its deactivation operators see %+v", got)
		}
	})
}

// failing returns those of [store.DB.FailingSubscriptions] that belong to the fixture's company.
func (f *fixture) failing(t *testing.T) []store.FailingSubscription {
	t.Helper()
	all, err := f.FailingSubscriptions(t.Context())
	kit.Must(t, err)
	return slices.DeleteFunc(all, func(s store.FailingSubscription) bool { return s.Account != f.account.ID })
}
