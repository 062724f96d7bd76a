package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
	"quittance/test/storetest"
)

// TestRecentDeliveries: the newest deliveries of a subscription come in their order, narrowed by state, counted by
// state, in pages; another subscription has its own.
func TestRecentDeliveries(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		s, other := f.subscribe(t, api.EventSubmissionUpdated), f.subscribe(t, api.EventSubmissionUpdated)
		for range 4 {
			f.tell(t, 1)
			f.Clock.Advance(time.Second)
		}
		claimed := f.claimDeliveries(t, s.ID, 3)
		for n, settlement := range []store.DeliveryUpdate{{State: store.DeliveryFailed, Reason: "refused"},
			{State: store.DeliveryDelivered}, {State: store.DeliveryDelivered}} {
			kit.Must(t, claimed[n].RecordAttempt(ctx, attempt(f, 200), settlement))
		}
		all, err := view.Of(f.tenant).SubscriptionDeliveries(ctx, s.ID, "", 1, 3)
		kit.Must(t, err)
		wantEqual(t, "counts", all.Counts, map[api.DeliveryState]int{store.DeliveryDelivered: 2, store.DeliveryFailed: 1,
			store.DeliveryPending: 1})
		if all.Among() != 4 || len(all.Deliveries) != 3 {
			t.Errorf("%d of %d deliveries, want 3 of 4", len(all.Deliveries), all.Among())
		}
		if !slices.IsSortedFunc(all.Deliveries, func(a, b store.Delivery) int { return b.CreatedAt.Compare(a.CreatedAt) }) ||
			all.Deliveries[0].State != store.DeliveryPending {
			t.Errorf("not newest first: %+v", all.Deliveries)
		}
		second, err := view.Of(f.tenant).SubscriptionDeliveries(ctx, s.ID, "", 2, 3)
		kit.Must(t, err)
		if len(second.Deliveries) != 1 || second.Deliveries[0].ID != claimed[0].ID {
			t.Errorf("the second page: %+v", second.Deliveries)
		}
		failed, err := view.Of(f.tenant).SubscriptionDeliveries(ctx, s.ID, store.DeliveryFailed, 1, 10)
		kit.Must(t, err)
		if len(failed.Deliveries) != 1 || failed.Deliveries[0].ID != claimed[0].ID || failed.Among() != 4 {
			t.Errorf("failed: %+v", failed)
		}
		past, err := view.Of(f.tenant).SubscriptionDeliveries(ctx, s.ID, "", 1<<40, 10)
		if err != nil || len(past.Deliveries) != 0 || past.Among() != 4 {
			t.Errorf("past the end: %+v, %v", past, err)
		}

		states, err := view.Of(f.tenant).RecentStates(ctx, []store.ID{s.ID, other.ID, f.decoyDelivery(t).Subscription}, 3)
		kit.Must(t, err)
		want := map[store.ID][]api.DeliveryState{
			s.ID:     {store.DeliveryPending, store.DeliveryDelivered, store.DeliveryDelivered},
			other.ID: {store.DeliveryPending, store.DeliveryPending, store.DeliveryPending},
		}
		wantEqual(t, "states", states, want)
		if all, err := view.Of(f.tenant).RecentStates(ctx, []store.ID{s.ID}, 100); err != nil || len(all[s.ID]) != 4 {
			t.Errorf("fewer than asked for: %v, %v", all, err)
		}
		if none, err := view.Of(f.tenant).RecentStates(ctx, nil, 1); err != nil || len(none) != 0 {
			t.Errorf("of none: %v, %v", none, err)
		}
	})
}

// decoyDelivery is a delivery of the other company.
func (f *fixture) decoyDelivery(t *testing.T) store.Delivery {
	t.Helper()
	page, err := view.Of(f.decoy.tenant).Deliveries(t.Context(), view.DeliveryFilter{}, 1, 1)
	kit.Must(t, err)
	return page.Entries[0]
}

// TestRecentAttempts: the attempts of one subscription since an instant, newest deliveries first; those of others are
// not among them.
func TestRecentAttempts(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		s := f.subscribe(t, api.EventSubmissionUpdated)
		before := f.Clock.Now()
		f.tell(t, 1)
		first := f.claimDeliveries(t, s.ID, 1)[0]
		kit.Must(t, first.RecordAttempt(ctx, attempt(f, 503),
			store.DeliveryUpdate{State: store.DeliveryPending, DueAt: f.Clock.Now()}))
		since := f.Clock.Advance(time.Hour)
		again := f.claimDeliveries(t, s.ID, 1)[0]
		kit.Must(t, again.RecordAttempt(ctx, store.Attempt{StartedAt: f.Clock.Now(), Duration: time.Second,
			ErrorClass: "timeout"}, store.DeliveryUpdate{State: store.DeliveryFailed}))
		f.tell(t, 1)
		last := f.claimDeliveries(t, s.ID, 1)[0]
		kit.Must(t, last.RecordAttempt(ctx, attempt(f, 200), store.DeliveryUpdate{State: store.DeliveryDelivered}))

		read := func(since time.Time) string {
			recent, err := view.Of(f.tenant).RecentAttempts(ctx, s.ID, since)
			kit.Must(t, err)
			if !recent.From.IsZero() {
				t.Errorf("every delivery was looked at, and it says only those from %s", recent.From)
			}
			out := ""
			for _, a := range recent.Attempts {
				out += fmt.Sprintf("%d%s %s; ", a.HTTPStatus, a.ErrorClass, a.Duration)
			}
			return out
		}
		if got := read(before); got != "200 1.5s; 0timeout 1s; 503 1.5s; " {
			t.Errorf("all: %s", got)
		}
		if got := read(since); got != "200 1.5s; 0timeout 1s; " {
			t.Errorf("of the last hour: %s", got)
		}
		if got, err := view.Of(f.tenant).RecentAttempts(ctx, f.decoyDelivery(t).Subscription, time.Time{}); !errors.Is(err,
			store.ErrNotFound) {
			t.Errorf("of another company: %v, %v", got, err)
		}
	})
}

// TestOneEvent: an event is found with its bytes, another company's is not.
func TestOneEvent(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		f.tell(t, 1)
		events, err := storetest.Events(t.Context(), f.tenant, 0, 1)
		kit.Must(t, err)
		found, err := f.tenant.Event(t.Context(), events[0].ID)
		kit.Must(t, err)
		wantEqual(t, "the event", found, events[0])
		some, err := view.Of(f.tenant).EventsByID(t.Context(), []store.ID{events[0].ID, f.decoyDelivery(t).Event})
		kit.Must(t, err)
		wantEqual(t, "events by identifier", some, map[store.ID]store.Event{events[0].ID: events[0]})
		if none, err := view.Of(f.tenant).EventsByID(t.Context(), nil); err != nil || len(none) != 0 {
			t.Errorf("of none: %v, %v", none, err)
		}
		if _, err := f.tenant.Event(t.Context(), f.decoyDelivery(t).Event); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another company's: %v", err)
		}
	})
}

// TestSearchIncoming: a text is found in the latest revision's number, supplier and identifiers, whatever its letters'
// case; the signs of patterns mean themselves.
func TestSearchIncoming(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		odd := incoming("odd_100%", "O")
		odd.SupplierName, odd.InvoiceNumber = new(`Öl \ Söhne 100% GmbH`), new("S_7")
		plain := incoming("plain", "P")
		plain.SupplierName, plain.InvoiceNumber, plain.SupplierNetworkID = new("Plain Ltd"), new("X-8"), nil
		revised := incoming("plain", "Q")
		revised.SupplierName, revised.InvoiceNumber, revised.SupplierNetworkID = new("Plain Ltd"), new("X-9"), new("77")
		kit.Must(t, f.tenant.SeedIncoming(ctx, []store.NewIncoming{odd, plain, revised}))
		for text, want := range map[string]string{
			"x-9": "plain ", "X-8": "", "PLAIN": "plain ", "100%": "odd_100% ", `\`: "odd_100% ", "s_7": "odd_100% ",
			"_": "odd_100% ", "%": "odd_100% ", "77": "plain ", "l": "plain odd_100% ", "nothing": "", "odd": "odd_100% ",
		} {
			page, err := view.Of(f.tenant).IncomingInvoices(ctx, view.IncomingFilter{Text: text}, 1, 10)
			kit.Must(t, err)
			got := ""
			for _, i := range page.Entries {
				got += i.ProviderDocumentID + " "
			}
			if got != want || page.Total != len(page.Entries) {
				t.Errorf("%q finds %q of %d, want %q", text, got, page.Total, want)
			}
		}
		second, err := view.Of(f.tenant).IncomingInvoices(ctx, view.IncomingFilter{Text: "l"}, 2, 1)
		if err != nil || second.Total != 2 || len(second.Entries) != 1 || second.Entries[0].ProviderDocumentID != "odd_100%" {
			t.Errorf("the second page: %+v, %v", second, err)
		}
	})
}
