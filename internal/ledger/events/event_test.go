package events_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// TestEventBody: the body is the envelope of docs/webhooks.md, its payload the states as they are kept.
func TestEventBody(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		call := f.Submit(t, "INV-1")
		// A whole millisecond, to see that the zeros behind it are written.
		occurred := f.Clock.Advance(time.Minute+time.Millisecond).Format("2006-01-02T15:04:05.000") + "000Z"
		after := fixture.Record(t, call, fixture.Words{invoice.DimensionTaxAuthority: {Value: "<cleared> & stamped"}},
			api.EventSubmissionUpdated, api.EventStatusChanged)
		told, err := ledgertest.Events(ctx, f.Tenant, 0, 10)
		kit.Must(t, err)
		if len(told) != 2 {
			t.Fatalf("%d events, want 2", len(told))
		}
		for n, kind := range []api.EventKind{api.EventSubmissionUpdated, api.EventStatusChanged} {
			e := told[n]
			var body api.Event[api.SubmissionPayload]
			kit.Must(t, json.Unmarshal(e.Body, &body))
			want := api.Event[api.SubmissionPayload]{SchemaVersion: "service-webhook-v2", ID: e.ID.String(), Event: kind,
				ResourceType: "submission", ResourceID: call.Submission.ID.String(), OccurredAt: occurred,
				Payload: api.SubmissionPayload{States: after.States.Wire(), InvoiceID: call.Submission.Invoice.String(),
					InvoiceNumber: "INV-1"}}
			fixture.WantEqual(t, "the body of an event", body, want)
			if e.Kind != kind || e.Position != int64(n+1) || e.OccurredAt.Format(events.TimestampLayout) != body.OccurredAt {
				t.Errorf("event %d of kind %s at %v, want event %d of kind %s at %s", e.Position, e.Kind, e.OccurredAt, n+1,
					kind, body.OccurredAt)
			}
			var payload map[string]map[string]any
			var keys map[string]any
			kit.Must(t, json.Unmarshal(e.Body, &keys))
			kit.Must(t, json.Unmarshal(fmt.Appendf(nil, `{"payload":%s}`, mustJSON(t, keys["payload"])), &payload))
			if len(keys) != 7 || len(payload["payload"]) != 6 || payload["payload"]["receiver_state"] != nil {
				t.Errorf("body %s", e.Body)
			}
		}
	})
}

func mustJSON(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	kit.Must(t, err)
	return text
}

// TestSubscribedMissesNothing: an event that waits while a subscription is made is committed after it, so it is due to
// it.
func TestSubscribedMissesNothing(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		call := f.Submit(t, "INV-1")
		model := f.Subscribe(t, api.EventKinds[:]...)
		_, err := events.DeactivateSubscription(ctx, f.Tenant, model.ID)
		kit.Must(t, err)
		// A subscription in the making: it has the lock of the company's row, and its own row is not committed yet.
		making, err := f.Raw.BeginTx(ctx, nil)
		kit.Must(t, err)
		for _, statement := range []string{`update tenants set events = events where id = $1`,
			`update subscriptions set active = 1, deactivated_at = null, deactivation_reason = null where tenant_id = $1`} {
			_, err := making.ExecContext(ctx, statement, f.Tenant.ID())
			kit.Must(t, err)
		}
		fixture.Race(2, func(n int) {
			if n == 0 {
				_, err := call.Record(ctx, func(s invoices.Submission, _ bool, now time.Time) (invoices.Decision, error) {
					return fixture.Reported(s, now, fixture.AllFour("cleared", true), api.EventTerminal), nil
				})
				fixture.Must2(t, err)
				return
			}
			if f.Engine() == ledgertest.Postgres { // on SQLite it waits for all that writes
				fixture.Must2(t, f.WaitsForLock(ctx, "update tenants set events"))
			}
			fixture.Must2(t, making.Commit())
		})
		if due := f.ClaimDeliveries(t, model.ID, 10); len(due) != 1 {
			t.Errorf("%d deliveries of the event are due", len(due))
		}
	})
}

// TestEventDeliveries: an event is due to every subscription that is active and wants its kind, and to no other.
func TestEventDeliveries(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		everything, terminal, ended := f.Subscribe(t, api.EventKinds[:]...), f.Subscribe(t, api.EventTerminal),
			f.Subscribe(t, api.EventKinds[:]...)
		f.Deactivate(t, ended)
		before := f.Number(t, `select count(*) from deliveries where subscription_id = $1`, ended.ID)
		fixture.Record(t, f.Submit(t, "INV-1"), fixture.AllFour("accepted", true), api.EventSubmissionUpdated,
			api.EventStatusChanged, api.EventTerminal)
		happened, err := ledgertest.Events(t.Context(), f.Tenant, 0, 10)
		kit.Must(t, err)
		last := happened[len(happened)-1]
		told := func(s events.Subscription) (kinds []api.EventKind) {
			t.Helper()
			for _, d := range f.ClaimDeliveries(t, s.ID, 100) {
				if d.URL != fixture.HookURL || d.Secret.Reveal() != fixture.SigningSecret || d.Tenant.ID() != f.Tenant.ID() ||
					d.Subscription != s.ID || d.Attempts != 0 || d.Round != 0 {
					t.Errorf("delivery %+v", d)
				}
				if d.Kind == api.EventTerminal && (d.Event != last.ID || string(d.Body) != string(last.Body) ||
					!d.OccurredAt.Equal(last.OccurredAt)) {
					t.Errorf("delivery of another event: %+v, want %+v", d, last)
				}
				kinds = append(kinds, d.Kind)
			}
			slices.Sort(kinds)
			return kinds
		}
		// The deactivation above was caused by a delivery of one more event.
		if kinds := told(everything); !slices.Equal(kinds, []api.EventKind{api.EventStatusChanged, api.EventSubmissionUpdated,
			api.EventSubmissionUpdated, api.EventTerminal}) {
			t.Errorf("the subscription to everything got %v", kinds)
		}
		if kinds := told(terminal); !slices.Equal(kinds, []api.EventKind{api.EventTerminal}) {
			t.Errorf("the subscription to terminal events got %v", kinds)
		}
		if kinds := told(ended); len(kinds) != 0 {
			t.Errorf("the deactivated subscription got %v", kinds)
		}
		if after := f.Number(t, `select count(*) from deliveries where subscription_id = $1`, ended.ID); after != before {
			t.Errorf("the deactivated one has %d deliveries, before %d", after, before)
		}
	})
}

// TestEventOrder: while many submissions record at once, a reader that follows the cursor misses nothing and meets no
// event behind it: positions have no gaps, at any moment.
func TestEventOrder(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		const recorders = 50
		f.Subscribe(t, api.EventTerminal)
		var calls [recorders]invoices.SubmissionLease
		for n := range calls {
			calls[n] = f.Submit(t, fmt.Sprintf("INV-%d", n))
		}
		recorded := make(chan struct{})
		go func() {
			defer close(recorded)
			fixture.Race(recorders, func(n int) {
				_, err := calls[n].Record(t.Context(),
					func(s invoices.Submission, _ bool, now time.Time) (invoices.Decision, error) {
						return fixture.Reported(s, now, fixture.AllFour("accepted", true), api.EventSubmissionUpdated,
							api.EventStatusChanged, api.EventTerminal), nil
					})
				fixture.Must2(t, err)
			})
		}()
		t.Cleanup(func() { <-recorded })
		var followed []events.Event
		follow := func() {
			// No event becomes visible behind an end that was given out: those up to it are there already.
			end, err := events.EventEnd(t.Context(), f.Tenant)
			kit.Must(t, err)
			defer func() {
				if int64(len(followed)) < end {
					t.Errorf("the end was %d, and only %d events were visible afterwards", end, len(followed))
				}
			}()
			for {
				var after int64
				if len(followed) > 0 {
					after = followed[len(followed)-1].Position
				}
				next, err := ledgertest.Events(t.Context(), f.Tenant, after, 7)
				kit.Must(t, err)
				if len(next) == 0 {
					return
				}
				for _, e := range next {
					followed = append(followed, e)
					if e.Position != int64(len(followed)) {
						t.Fatalf("event %d was met at position %d", len(followed), e.Position)
					}
				}
			}
		}
		for running := true; running; {
			select {
			case <-recorded:
				running = false
			default:
			}
			follow()
		}
		if end, err := events.EventEnd(t.Context(), f.Tenant); err != nil || end != int64(len(followed)) {
			t.Errorf("the end is %d, %v, want %d", end, err, len(followed))
		}
		if len(followed) != 3*recorders {
			t.Errorf("the reader met %d events of %d", len(followed), 3*recorders)
		}
		resources := map[string]int{}
		for n, e := range followed {
			var body api.Event[api.SubmissionPayload]
			kit.Must(t, json.Unmarshal(e.Body, &body))
			resources[body.ResourceID]++
			if want := []api.EventKind{api.EventSubmissionUpdated, api.EventStatusChanged,
				api.EventTerminal}[n%3]; e.Kind != want {
				t.Errorf("event %d is %s, want %s", n, e.Kind, want)
			}
		}
		for id, n := range resources {
			if n != 3 {
				t.Errorf("submission %s has %d events", id, n)
			}
		}
	})
}

// TestEventPageBytes: a page of events ends before it has more bytes than it may, but never before its first event;
// going on from its end misses nothing.
func TestEventPageBytes(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		f.Tell(t, 9)
		all, err := ledgertest.Events(t.Context(), f.Tenant, 0, 100)
		kit.Must(t, err)
		size := len(all[0].Body)
		for _, test := range []struct{ limit, bytes, want int }{{100, 1 << 20, len(all)}, {4, 1 << 20, 4},
			{100, 3*size + size/2, 3}, {100, 1, 1}, {100, 0, 1}} {
			var seen []base.ID
			for after, pages := int64(0), 0; ; pages++ {
				page, more, err := events.EventPage(t.Context(), f.Tenant, after, test.limit, test.bytes)
				kit.Must(t, err)
				if want := min(test.want, len(all)-len(seen)); len(page) != want || more != (len(seen)+want < len(all)) {
					t.Fatalf("%+v: page %d has %d events, more %t; want %d", test, pages, len(page), more, want)
				}
				for _, e := range page {
					seen, after = append(seen, e.ID), e.Position
				}
				if !more {
					break
				}
			}
			for n, e := range all {
				if len(seen) != len(all) || seen[n] != e.ID {
					t.Fatalf("%+v: saw %v", test, seen)
				}
			}
		}
	})
}
