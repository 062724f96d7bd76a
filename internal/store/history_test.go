package store_test

import (
	"errors"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
)

// TestDeliveryHistory: deliveries are listed newest first and narrowed by each filter; one shows every attempt; asked
// for again it is the same delivery with a new round before it.
func TestDeliveryHistory(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		s, other := f.subscribe(t, api.EventSubmissionUpdated), f.subscribe(t, api.EventSubmissionUpdated)
		f.tell(t, 2)
		claimed := f.claimDeliveries(t, s.ID, 1)[0]
		kit.Must(t, claimed.RecordAttempt(t.Context(), attempt(f, 400),
			store.DeliveryUpdate{State: store.DeliveryFailed, Reason: "refused"}))

		for name, want := range map[string]struct {
			filter view.DeliveryFilter
			total  int
		}{
			"all":                  {view.DeliveryFilter{}, 4},
			"by subscription":      {view.DeliveryFilter{Subscription: other.ID}, 2},
			"by event":             {view.DeliveryFilter{Event: claimed.Event}, 2},
			"by kind":              {view.DeliveryFilter{Kind: api.EventTerminal}, 0},
			"by state":             {view.DeliveryFilter{State: store.DeliveryFailed}, 1},
			"by state and another": {view.DeliveryFilter{State: store.DeliveryFailed, Subscription: other.ID}, 0},
		} {
			page, err := view.Of(f.tenant).Deliveries(t.Context(), want.filter, 1, 100)
			kit.Must(t, err)
			if page.Total != want.total || len(page.Entries) != want.total {
				t.Errorf("%s: %d deliveries, %d listed; want %d", name, page.Total, len(page.Entries), want.total)
			}
		}
		past, err := view.Of(f.tenant).Deliveries(t.Context(), view.DeliveryFilter{}, 1<<40, 100)
		if err != nil || past.Total != 4 || len(past.Entries) != 0 {
			t.Errorf("past the end: %+v, %v", past, err)
		}

		again, err := f.tenant.Redeliver(t.Context(), claimed.ID)
		kit.Must(t, err)
		if again.State != store.DeliveryPending || again.Reason != nil || len(again.History) != 1 ||
			again.History[0].HTTPStatus != 400 {
			t.Errorf("asked for again: %+v", again)
		}
		repeated := f.claimDeliveries(t, s.ID, 10)
		if len(repeated) != 2 || repeated[0].Round != 0 && repeated[1].Round != 0 {
			t.Fatalf("claimed after that: %+v", repeated)
		}
		f.deactivate(t, other)
		page, err := view.Of(f.tenant).Deliveries(t.Context(), view.DeliveryFilter{Subscription: other.ID}, 1, 1)
		kit.Must(t, err)
		if _, err := f.tenant.Redeliver(t.Context(), page.Entries[0].ID); !errors.Is(err, store.ErrInactive) {
			t.Errorf("of a deactivated subscription: %v", err)
		}
	})
}

// TestLateAttemptIsKept: an attempt that ends after the delivery was asked for again decides nothing, and is kept.
func TestLateAttemptIsKept(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		s := f.subscribe(t, api.EventSubmissionUpdated)
		f.tell(t, 1)
		d := f.claimDeliveries(t, s.ID, 1)[0]
		_, err := f.tenant.Redeliver(t.Context(), d.ID)
		kit.Must(t, err)
		wantErr(t, d.RecordAttempt(t.Context(), attempt(f, 400),
			store.DeliveryUpdate{State: store.DeliveryFailed, Reason: "refused"}), store.ErrLeaseLost)
		found, err := f.tenant.Delivery(t.Context(), d.ID)
		kit.Must(t, err)
		if found.State != store.DeliveryPending || found.Attempts != 1 || len(found.History) != 1 {
			t.Errorf("%+v", found)
		}
	})
}

// TestRetention: history goes by age when that is wanted, never what is still on its way, and never evidence.
func TestRetention(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		s := f.subscribe(t, api.EventSubmissionUpdated)
		f.tell(t, 3)
		for n, d := range f.claimDeliveries(t, s.ID, 2) {
			settlement := store.DeliveryUpdate{State: store.DeliveryDelivered}
			if n == 1 {
				settlement = store.DeliveryUpdate{State: store.DeliveryPending, DueAt: f.Clock.Now().Add(time.Hour)}
			}
			kit.Must(t, d.RecordAttempt(t.Context(), attempt(f, 200), settlement))
		}
		count := func(table string) int64 { return f.number(t, `select count(*) from `+table) }
		f.Clock.Advance(10 * 24 * time.Hour)
		f.tell(t, 1)
		if removed, err := f.ApplyRetention(t.Context(), store.Retention{}); err != nil || removed != 0 {
			t.Errorf("without retention %d rows went: %v", removed, err)
		}
		_, err := f.ApplyRetention(t.Context(), store.Retention{Attempts: 5 * 24 * time.Hour})
		kit.Must(t, err)
		if got := count("attempts"); got != 1 { // the pending delivery's
			t.Errorf("%d attempts are left", got)
		}
		_, err = f.ApplyRetention(t.Context(), store.Retention{Events: 5 * 24 * time.Hour})
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ended, kept := f.subscribe(t, api.EventSubmissionUpdated), f.subscribe(t, api.EventSubmissionUpdated)
		f.tell(t, 3)
		d := f.claimDeliveries(t, kept.ID, 1)[0]
		kit.Must(t, d.RecordAttempt(t.Context(), attempt(f, 400),
			store.DeliveryUpdate{State: store.DeliveryFailed, Reason: "refused"}))
		f.exec(t, `update subscriptions set active = 0, deactivated_at = 1, deactivation_reason = 'requested' where id = $1`,
			ended.ID)
		for name, filter := range map[string]view.DeliveryFilter{
			"no filter": {}, "an event": {Event: d.Event}, "the ended subscription": {Subscription: ended.ID},
			"the other one": {Subscription: kept.ID}, "a kind": {Kind: api.EventSubmissionUpdated},
			"an event and a subscription": {Event: d.Event, Subscription: ended.ID},
		} {
			all, err := view.Of(f.tenant).Deliveries(t.Context(), filter, 1, 100)
			kit.Must(t, err)
			found := map[store.ID]int{}
			for _, state := range []api.DeliveryState{store.DeliveryPending, store.DeliveryDelivered, store.DeliveryFailed,
				store.DeliveryBlocked} {
				filter.State = state
				page, err := view.Of(f.tenant).Deliveries(t.Context(), filter, 1, 100)
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
