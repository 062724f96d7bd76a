package invoices_test

import (
	"errors"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestDeliveryHistory: deliveries are listed newest first and narrowed by each filter; one shows every attempt; asked
// for again it is the same delivery with a new round before it.
func TestDeliveryHistory(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		s, other := f.Subscribe(t, api.EventSubmissionUpdated), f.Subscribe(t, api.EventSubmissionUpdated)
		f.Tell(t, 2)
		claimed := f.ClaimDeliveries(t, s.ID, 1)[0]
		kit.Must(t, claimed.RecordAttempt(t.Context(), fixture.Attempt(f, 400),
			events.DeliveryUpdate{State: events.DeliveryFailed, Reason: "refused"}))

		for name, want := range map[string]struct {
			filter view.DeliveryFilter
			total  int
		}{
			"all":                  {view.DeliveryFilter{}, 4},
			"by subscription":      {view.DeliveryFilter{Subscription: other.ID}, 2},
			"by event":             {view.DeliveryFilter{Event: claimed.Event}, 2},
			"by kind":              {view.DeliveryFilter{Kind: api.EventTerminal}, 0},
			"by state":             {view.DeliveryFilter{State: events.DeliveryFailed}, 1},
			"by state and another": {view.DeliveryFilter{State: events.DeliveryFailed, Subscription: other.ID}, 0},
		} {
			page, err := view.Of(f.Tenant).Deliveries(t.Context(), want.filter, 1, 100)
			kit.Must(t, err)
			if page.Total != want.total || len(page.Entries) != want.total {
				t.Errorf("%s: %d deliveries, %d listed; want %d", name, page.Total, len(page.Entries), want.total)
			}
		}
		past, err := view.Of(f.Tenant).Deliveries(t.Context(), view.DeliveryFilter{}, 1<<40, 100)
		if err != nil || past.Total != 4 || len(past.Entries) != 0 {
			t.Errorf("past the end: %+v, %v", past, err)
		}

		again, err := events.Redeliver(t.Context(), f.Tenant, claimed.ID)
		kit.Must(t, err)
		if again.State != events.DeliveryPending || again.Reason != nil || len(again.History) != 1 ||
			again.History[0].HTTPStatus != 400 {
			t.Errorf("asked for again: %+v", again)
		}
		repeated := f.ClaimDeliveries(t, s.ID, 10)
		if len(repeated) != 2 || repeated[0].Round != 0 && repeated[1].Round != 0 {
			t.Fatalf("claimed after that: %+v", repeated)
		}
		f.Deactivate(t, other)
		page, err := view.Of(f.Tenant).Deliveries(t.Context(), view.DeliveryFilter{Subscription: other.ID}, 1, 1)
		kit.Must(t, err)
		if _, err := events.Redeliver(t.Context(), f.Tenant, page.Entries[0].ID); !errors.Is(err, events.ErrInactive) {
			t.Errorf("of a deactivated subscription: %v", err)
		}
	})
}

// TestLateAttemptIsKept: an attempt that ends after the delivery was asked for again decides nothing, and is kept.
func TestLateAttemptIsKept(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		s := f.Subscribe(t, api.EventSubmissionUpdated)
		f.Tell(t, 1)
		d := f.ClaimDeliveries(t, s.ID, 1)[0]
		_, err := events.Redeliver(t.Context(), f.Tenant, d.ID)
		kit.Must(t, err)
		fixture.WantErr(t, d.RecordAttempt(t.Context(), fixture.Attempt(f, 400),
			events.DeliveryUpdate{State: events.DeliveryFailed, Reason: "refused"}), base.ErrLeaseLost)
		found, err := events.FindDelivery(t.Context(), f.Tenant, d.ID)
		kit.Must(t, err)
		if found.State != events.DeliveryPending || found.Attempts != 1 || len(found.History) != 1 {
			t.Errorf("%+v", found)
		}
	})
}

// TestRetention: history goes by age when that is wanted, never what is still on its way, and never evidence.
func TestRetention(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		s := f.Subscribe(t, api.EventSubmissionUpdated)
		f.Tell(t, 3)
		for n, d := range f.ClaimDeliveries(t, s.ID, 2) {
			settlement := events.DeliveryUpdate{State: events.DeliveryDelivered}
			if n == 1 {
				settlement = events.DeliveryUpdate{State: events.DeliveryPending, DueAt: f.Clock.Now().Add(time.Hour)}
			}
			kit.Must(t, d.RecordAttempt(t.Context(), fixture.Attempt(f, 200), settlement))
		}
		count := func(table string) int64 { return f.Number(t, `select count(*) from `+table) }
		f.Clock.Advance(10 * 24 * time.Hour)
		f.Tell(t, 1)
		if removed, err := invoices.ApplyRetention(t.Context(), f.DB, invoices.Retention{}); err != nil ||
			removed != 0 {
			t.Errorf("without retention %d rows went: %v", removed, err)
		}
		_, err := invoices.ApplyRetention(t.Context(), f.DB, invoices.Retention{Attempts: 5 * 24 * time.Hour})
		kit.Must(t, err)
		if got := count("attempts"); got != 1 { // the pending delivery's
			t.Errorf("%d attempts are left", got)
		}
		_, err = invoices.ApplyRetention(t.Context(), f.DB, invoices.Retention{Events: 5 * 24 * time.Hour})
		kit.Must(t, err)
		if events, deliveries, evidence := count("events"), count("deliveries"), count("evidence"); events != 3 ||
			deliveries != 3 || evidence != 4 {
			t.Errorf("%d events, %d deliveries, %d entries of evidence are left", events, deliveries, evidence)
		}
	})
}

// TestEveryDeliveryHasOneState: whatever else a filter asks for, each delivery is found by exactly one state, those of
// a subscription whose deactivation has not reached them yet included.
func TestEveryDeliveryHasOneState(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ended, kept := f.Subscribe(t, api.EventSubmissionUpdated), f.Subscribe(t, api.EventSubmissionUpdated)
		f.Tell(t, 3)
		d := f.ClaimDeliveries(t, kept.ID, 1)[0]
		kit.Must(t, d.RecordAttempt(t.Context(), fixture.Attempt(f, 400),
			events.DeliveryUpdate{State: events.DeliveryFailed, Reason: "refused"}))
		f.Exec(t, `update subscriptions set active = 0, deactivated_at = 1, deactivation_reason = 'requested' where id = $1`,
			ended.ID)
		for name, filter := range map[string]view.DeliveryFilter{
			"no filter": {}, "an event": {Event: d.Event}, "the ended subscription": {Subscription: ended.ID},
			"the other one": {Subscription: kept.ID}, "a kind": {Kind: api.EventSubmissionUpdated},
			"an event and a subscription": {Event: d.Event, Subscription: ended.ID},
		} {
			all, err := view.Of(f.Tenant).Deliveries(t.Context(), filter, 1, 100)
			kit.Must(t, err)
			found := map[base.ID]int{}
			for _, state := range []api.DeliveryState{events.DeliveryPending, events.DeliveryDelivered, events.DeliveryFailed,
				events.DeliveryBlocked} {
				filter.State = state
				page, err := view.Of(f.Tenant).Deliveries(t.Context(), filter, 1, 100)
				kit.Must(t, err)
				for _, d := range page.Entries {
					found[d.ID]++
				}
			}
			if len(all.Entries) == 0 || len(found) != len(all.Entries) {
				t.Errorf("%s: %d deliveries, and %d have a state", name, len(all.Entries), len(found))
			}
			for id, times := range found {
				if times != 1 {
					t.Errorf("%s: %s is found by %d states", name, id, times)
				}
			}
		}
	})
}
