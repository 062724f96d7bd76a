package events_test

import (
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/lists"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestFailingSince checks that a subscription says since when its attempts fail until one arrives, that attempts that
// are recorded late count too, and that the company and the operators find it after [FailingAfter], although no
// delivery has failed for good.
func TestFailingSince(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		s, quiet := f.Subscribe(t, api.EventSubmissionUpdated), f.Subscribe(t, api.EventIncomingReceived)
		want := func(what string, since *time.Time, failing bool) {
			t.Helper()
			got, err := events.FindSubscription(ctx, f.Tenant, s.ID)
			kit.Must(t, err)
			if other, err := events.FindSubscription(ctx, f.Tenant, quiet.ID); err != nil || other.FailingSince != nil {
				t.Errorf("%s: a subscription without attempts: %v, %v", what, other.FailingSince, err)
			}
			fixture.WantEqual(t, what, got.FailingSince, since)
			troubled, err := view.Of(f.Tenant).TroubledSubscriptions(ctx)
			kit.Must(t, err)
			all := failingOf(t, f)
			accounts, err := lists.AccountList(ctx, f.DB, f.Account.ID.String(), lists.ListPosition{}, 10)
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
			if failing && (all[0].ID != s.ID || all[0].Account != f.Account.ID || !all[0].Active || all[0].Undelivered != 0 ||
				all[0].Newest != nil || !all[0].FailingSince.Equal(*since)) {
				t.Errorf("%s: operators see %+v", what, all[0])
			}
		}
		again := events.DeliveryUpdate{State: events.DeliveryPending, DueAt: f.Clock.Now()}
		f.Tell(t, 2)
		leases := f.ClaimDeliveries(t, s.ID, 2)
		want("no attempt", nil, false)
		first := f.Clock.Now()
		kit.Must(t, leases[0].RecordAttempt(ctx, fixture.Attempt(f, 503), again))
		want("a failed attempt", &first, false)
		f.Clock.Advance(events.FailingAfter)
		kit.Must(t, leases[1].RecordAttempt(ctx, fixture.Attempt(f, 503), again))
		want("another one after ten minutes", &first, true)
		leases = f.ClaimDeliveries(t, s.ID, 2)
		kit.Must(t, leases[0].RecordAttempt(ctx, fixture.Attempt(f, 200),
			events.DeliveryUpdate{State: events.DeliveryDelivered}))
		want("one that arrived", nil, false)
		f.Clock.Advance(time.Second)
		newer := f.Clock.Now()
		kit.Must(t, leases[1].RecordAttempt(ctx, fixture.Attempt(f, 0), again))
		want("a failed one since", &newer, false)
		late := f.ClaimDeliveries(t, s.ID, 1)[0]
		f.Clock.Advance(events.FailingAfter)
		f.ClaimDeliveries(t, s.ID, 1)
		fixture.WantErr(t, late.RecordAttempt(ctx, fixture.Attempt(f, 200),
			events.DeliveryUpdate{State: events.DeliveryDelivered}), base.ErrLeaseLost)
		want("one that arrived and was recorded late", nil, false)
		third := f.Clock.Now()
		f.Clock.Advance(fixture.LeaseDuration)
		kit.Must(t, f.ClaimDeliveries(t, s.ID, 1)[0].RecordAttempt(ctx, events.Attempt{StartedAt: third, HTTPStatus: 500},
			again))
		f.Clock.Advance(events.FailingAfter)
		want("ten minutes later", &third, true)
		kit.Must(t, fixture.Second(events.DeactivateSubscription(ctx, f.Tenant, s.ID)))
		if got := failingOf(t, f); len(got) != 1 || got[0].Active || got[0].FailingSince != nil || got[0].Undelivered != 1 {
			t.Errorf("after its deactivation operators see %+v", got)
		}
	})
}

// failingOf returns those of [lists.FailingSubscriptions] that belong to the fixture's company.
func failingOf(t *testing.T, f *fixture.Fixture) []lists.FailingSubscription {
	t.Helper()
	all, err := lists.FailingSubscriptions(t.Context(), f.DB)
	kit.Must(t, err)
	return slices.DeleteFunc(all, func(s lists.FailingSubscription) bool { return s.Account != f.Account.ID })
}
