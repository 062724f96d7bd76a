package invoices_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/incoming"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// TestRecentDeliveries: the newest deliveries of a subscription come in their order, narrowed by state, counted by
// state, in pages; another subscription has its own.
func TestRecentDeliveries(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		s, other := f.Subscribe(t, api.EventSubmissionUpdated), f.Subscribe(t, api.EventSubmissionUpdated)
		for range 4 {
			f.Tell(t, 1)
			f.Clock.Advance(time.Second)
		}
		claimed := f.ClaimDeliveries(t, s.ID, 3)
		for n, settlement := range []events.DeliveryUpdate{{State: events.DeliveryFailed, Reason: "refused"},
			{State: events.DeliveryDelivered}, {State: events.DeliveryDelivered}} {
			kit.Must(t, claimed[n].RecordAttempt(ctx, fixture.Attempt(f, 200), settlement))
		}
		all, err := view.Of(f.Tenant).SubscriptionDeliveries(ctx, s.ID, "", 1, 3)
		kit.Must(t, err)
		fixture.WantEqual(t, "counts", all.Counts, map[api.DeliveryState]int{events.DeliveryDelivered: 2,
			events.DeliveryFailed: 1, events.DeliveryPending: 1})
		if all.Among() != 4 || len(all.Deliveries) != 3 {
			t.Errorf("%d of %d deliveries, want 3 of 4", len(all.Deliveries), all.Among())
		}
		if !slices.IsSortedFunc(all.Deliveries, func(a, b events.Delivery) int { return b.CreatedAt.Compare(a.CreatedAt) }) ||
			all.Deliveries[0].State != events.DeliveryPending {
			t.Errorf("not newest first: %+v", all.Deliveries)
		}
		second, err := view.Of(f.Tenant).SubscriptionDeliveries(ctx, s.ID, "", 2, 3)
		kit.Must(t, err)
		if len(second.Deliveries) != 1 || second.Deliveries[0].ID != claimed[0].ID {
			t.Errorf("the second page: %+v", second.Deliveries)
		}
		failed, err := view.Of(f.Tenant).SubscriptionDeliveries(ctx, s.ID, events.DeliveryFailed, 1, 10)
		kit.Must(t, err)
		if len(failed.Deliveries) != 1 || failed.Deliveries[0].ID != claimed[0].ID || failed.Among() != 4 {
			t.Errorf("failed: %+v", failed)
		}
		past, err := view.Of(f.Tenant).SubscriptionDeliveries(ctx, s.ID, "", 1<<40, 10)
		if err != nil || len(past.Deliveries) != 0 || past.Among() != 4 {
			t.Errorf("past the end: %+v, %v", past, err)
		}

		states, err := view.Of(f.Tenant).RecentStates(ctx, []base.ID{s.ID, other.ID, decoyDelivery(t, f).Subscription}, 3)
		kit.Must(t, err)
		want := map[base.ID][]api.DeliveryState{
			s.ID:     {events.DeliveryPending, events.DeliveryDelivered, events.DeliveryDelivered},
			other.ID: {events.DeliveryPending, events.DeliveryPending, events.DeliveryPending},
		}
		fixture.WantEqual(t, "states", states, want)
		if all, err := view.Of(f.Tenant).RecentStates(ctx, []base.ID{s.ID}, 100); err != nil || len(all[s.ID]) != 4 {
			t.Errorf("fewer than asked for: %v, %v", all, err)
		}
		if none, err := view.Of(f.Tenant).RecentStates(ctx, nil, 1); err != nil || len(none) != 0 {
			t.Errorf("of none: %v, %v", none, err)
		}
	})
}

// decoyDelivery is a delivery of the other company.
func decoyDelivery(t *testing.T, f *fixture.Fixture) events.Delivery {
	t.Helper()
	page, err := view.Of(f.Decoy.Tenant).Deliveries(t.Context(), view.DeliveryFilter{}, 1, 1)
	kit.Must(t, err)
	return page.Entries[0]
}

// TestRecentAttempts: the attempts of one subscription since an instant, newest deliveries first; those of others are
// not among them.
func TestRecentAttempts(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		s := f.Subscribe(t, api.EventSubmissionUpdated)
		before := f.Clock.Now()
		f.Tell(t, 1)
		first := f.ClaimDeliveries(t, s.ID, 1)[0]
		kit.Must(t, first.RecordAttempt(ctx, fixture.Attempt(f, 503),
			events.DeliveryUpdate{State: events.DeliveryPending, DueAt: f.Clock.Now()}))
		since := f.Clock.Advance(time.Hour)
		again := f.ClaimDeliveries(t, s.ID, 1)[0]
		kit.Must(t, again.RecordAttempt(ctx, events.Attempt{StartedAt: f.Clock.Now(), Duration: time.Second,
			ErrorClass: "timeout"}, events.DeliveryUpdate{State: events.DeliveryFailed}))
		f.Tell(t, 1)
		last := f.ClaimDeliveries(t, s.ID, 1)[0]
		kit.Must(t, last.RecordAttempt(ctx, fixture.Attempt(f, 200), events.DeliveryUpdate{State: events.DeliveryDelivered}))

		read := func(since time.Time) string {
			recent, err := view.Of(f.Tenant).RecentAttempts(ctx, s.ID, since)
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
		if got, err := view.Of(f.Tenant).RecentAttempts(ctx, decoyDelivery(t, f).Subscription, time.Time{}); !errors.Is(err,
			base.ErrNotFound) {
			t.Errorf("of another company: %v, %v", got, err)
		}
	})
}

// TestOneEvent: an event is found with its bytes, another company's is not.
func TestOneEvent(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		f.Tell(t, 1)
		told, err := ledgertest.Events(t.Context(), f.Tenant, 0, 1)
		kit.Must(t, err)
		found, err := events.Find(t.Context(), f.Tenant, told[0].ID)
		kit.Must(t, err)
		fixture.WantEqual(t, "the event", found, told[0])
		some, err := view.Of(f.Tenant).EventsByID(t.Context(), []base.ID{told[0].ID, decoyDelivery(t, f).Event})
		kit.Must(t, err)
		fixture.WantEqual(t, "events by identifier", some, map[base.ID]events.Event{told[0].ID: told[0]})
		if none, err := view.Of(f.Tenant).EventsByID(t.Context(), nil); err != nil || len(none) != 0 {
			t.Errorf("of none: %v, %v", none, err)
		}
		if _, err := events.Find(t.Context(), f.Tenant, decoyDelivery(t, f).Event); !errors.Is(err, base.ErrNotFound) {
			t.Errorf("another company's: %v", err)
		}
	})
}

// TestSearchIncoming: a text is found in the latest revision's number, supplier and identifiers, whatever its letters'
// case; the signs of patterns mean themselves.
func TestSearchIncoming(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		odd := fixture.Incoming("odd_100%", "O")
		odd.SupplierName, odd.InvoiceNumber = new(`Öl \ Söhne 100% GmbH`), new("S_7")
		plain := fixture.Incoming("plain", "P")
		plain.SupplierName, plain.InvoiceNumber, plain.SupplierNetworkID = new("Plain Ltd"), new("X-8"), nil
		revised := fixture.Incoming("plain", "Q")
		revised.SupplierName, revised.InvoiceNumber, revised.SupplierNetworkID = new("Plain Ltd"), new("X-9"), new("77")
		kit.Must(t, incoming.Seed(ctx, f.Tenant, []incoming.NewIncoming{odd, plain, revised}))
		for text, want := range map[string]string{
			"x-9": "plain ", "X-8": "", "PLAIN": "plain ", "100%": "odd_100% ", `\`: "odd_100% ", "s_7": "odd_100% ",
			"_": "odd_100% ", "%": "odd_100% ", "77": "plain ", "l": "plain odd_100% ", "nothing": "", "odd": "odd_100% ",
		} {
			page, err := view.Of(f.Tenant).IncomingInvoices(ctx, view.IncomingFilter{Text: text}, 1, 10)
			kit.Must(t, err)
			got := ""
			for _, i := range page.Entries {
				got += i.ProviderDocumentID + " "
			}
			if got != want || page.Total != len(page.Entries) {
				t.Errorf("%q finds %q of %d, want %q", text, got, page.Total, want)
			}
		}
		second, err := view.Of(f.Tenant).IncomingInvoices(ctx, view.IncomingFilter{Text: "l"}, 2, 1)
		if err != nil || second.Total != 2 || len(second.Entries) != 1 || second.Entries[0].ProviderDocumentID != "odd_100%" {
			t.Errorf("the second page: %+v, %v", second, err)
		}
	})
}
