package events_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestTold: the deliveries of a submission's events are counted by state, its events come oldest first with their
// deliveries, the newest of them when there are many, and each word names the evidence it was read from.
func TestTold(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		s := f.Subscribe(t, api.EventStatusChanged, api.EventTerminal)
		call, quiet := f.Submit(t, "INV-1"), f.Submit(t, "INV-2")
		fixture.Record(t, call, fixture.AllFour("pending", false), api.EventSubmissionUpdated, api.EventStatusChanged)
		last := fixture.Record(t, call, fixture.Words{invoice.DimensionReceiver: {Value: "accepted", Terminal: true}},
			api.EventStatusChanged, api.EventTerminal)
		claimed := f.ClaimDeliveries(t, s.ID, 2)
		kit.Must(t, claimed[0].RecordAttempt(ctx, fixture.Attempt(f, 200),
			events.DeliveryUpdate{State: events.DeliveryDelivered}))
		kit.Must(t, claimed[1].RecordAttempt(ctx, fixture.Attempt(f, 400),
			events.DeliveryUpdate{State: events.DeliveryFailed, Reason: "refused"}))

		told, err := view.Of(f.Tenant).NotificationSummaries(ctx, []base.ID{call.Submission.ID, quiet.Submission.ID})
		kit.Must(t, err)
		want := map[base.ID]view.NotificationSummary{call.Submission.ID: {Pending: 1, Delivered: 1, Failed: 1, Events: 4}}
		fixture.WantEqual(t, "summaries", told, want)
		if none, err := view.Of(f.Tenant).NotificationSummaries(ctx, nil); err != nil || len(none) != 0 {
			t.Errorf("of nothing: %+v, %v", none, err)
		}

		events, err := view.Of(f.Tenant).ResourceEvents(ctx, []base.ID{call.Submission.ID, quiet.Submission.ID}, 3)
		kit.Must(t, err)
		var kinds []string
		for _, e := range events {
			kinds = append(kinds, fmt.Sprintf("%d %s %d", e.Position, e.Kind, len(e.Deliveries)))
			if body, err := e.Envelope(); err != nil || body.ResourceID != call.Submission.ID.String() {
				t.Errorf("event %+v: %v", body, err)
			}
		}
		if want := []string{"2 einvoice.status.changed 1", "3 einvoice.status.changed 1",
			"4 einvoice.terminal 1"}; !slices.Equal(kinds, want) {
			t.Errorf("events %q, want %q", kinds, want)
		}

		after, err := invoices.FindSubmission(ctx, f.Tenant, call.Submission.ID)
		kit.Must(t, err)
		evidence, err := fixture.EvidenceOf(ctx, f.Tenant, call.Submission.ID)
		kit.Must(t, err)
		if len(after.Origins) != 4 || len(evidence) != 2 {
			t.Fatalf("%d origins, %d entries", len(after.Origins), len(evidence))
		}
		for dimension, origin := range after.Origins {
			from := evidence[0].ID
			if dimension == invoice.DimensionReceiver {
				from = evidence[1].ID
			}
			if got, want := after.States.Stored(dimension), last.States.Stored(dimension); got != want ||
				origin.Evidence != from || !origin.ReportedAt.Equal(f.Clock.Now()) {
				t.Errorf("%s: %+v of %+v, want %+v of %s", dimension, got, origin, want, from)
			}
		}
	})
}

// TestOthersAreNotTold: what belongs to another company is in none of the answers about many.
func TestOthersAreNotTold(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ids := f.Ids(t, f.Decoy)
		told, err := view.Of(f.Tenant).NotificationSummaries(t.Context(), ids)
		if err != nil || len(told) != 0 {
			t.Errorf("told %+v, %v", told, err)
		}
		events, err := view.Of(f.Tenant).ResourceEvents(t.Context(), ids, 100)
		if err != nil || len(events) != 0 {
			t.Errorf("events %+v, %v", events, err)
		}
		words, err := view.Of(f.Tenant).StateValues(t.Context())
		kit.Must(t, err)
		for dimension, list := range words {
			if len(list) != 0 {
				t.Errorf("%s: the words %q are another's", dimension, list)
			}
		}
	})
}

// TestStateValues: StateValues returns the state values of this company only, without repetition, in order and at most
// fifty.
func TestStateValues(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		for n := range 53 {
			word := fmt.Sprintf("word-%02d", n%52)
			fixture.Record(t, f.Submit(t, fmt.Sprintf("INV-%d", n)), fixture.Words{invoice.DimensionReceiver: {Value: word}})
		}
		found, err := view.Of(f.Tenant).StateValues(t.Context())
		kit.Must(t, err)
		list := found[invoice.DimensionReceiver]
		if len(list) != 50 || list[0] != "word-00" || !slices.IsSorted(list) ||
			len(slices.Compact(slices.Clone(list))) != 50 {
			t.Errorf("%d words: %q", len(list), list)
		}
		if len(found[invoice.DimensionTaxAuthority]) != 0 {
			t.Errorf("words of a dimension that was never reported: %q", found[invoice.DimensionTaxAuthority])
		}
	})
}

// TestInvoiceSearch: text is found in the number, the recipient's name and its network identifier; what looks like a
// pattern is text; and the further filters narrow the list.
func TestInvoiceSearch(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		add := func(number, recipient, network string) {
			d := fixture.Draft(number)
			d.RecipientName, d.RecipientNetworkID = &recipient, &network
			_, err := invoices.Create(ctx, f.Tenant, d)
			kit.Must(t, err)
		}
		add("A-100%", `Palm "Trading" \ LLC`, "0012")
		add("A_200", "شركة النخيل", "0034")
		add("AX300", "recipient_name", "9999")
		f.Clock.Advance(time.Second)
		known := f.Submit(t, "SUB-1")
		fixture.Record(t, known, fixture.Words{invoice.DimensionReceiver: {Value: "sent"}})
		f.Clock.Advance(time.Second)
		unknown := f.Submit(t, "SUB-2")
		fixture.Decide(t, unknown, func(s invoices.Submission, _ time.Time) invoices.Decision {
			return fixture.Outcome(s, api.OutcomeUnknown)
		})

		for _, test := range []struct {
			name   string
			filter view.InvoiceFilter
			want   []string
		}{
			{"exact number", view.InvoiceFilter{Search: "AX300"}, []string{"AX300"}},
			{"part, any case", view.InvoiceFilter{Search: "ax3"}, []string{"AX300"}},
			{"name", view.InvoiceFilter{Search: "trading\" \\"}, []string{"A-100%"}},
			{"right to left", view.InvoiceFilter{Search: "النخيل"}, []string{"A_200"}},
			{"network identifier", view.InvoiceFilter{Search: "003"}, []string{"A_200"}},
			{"a per cent sign is one", view.InvoiceFilter{Search: "0%"}, []string{"A-100%"}},
			{"an underscore is one", view.InvoiceFilter{Search: "A_"}, []string{"A_200"}},
			{"a member's name is no text", view.InvoiceFilter{Search: "recipient_name"}, []string{"AX300"}},
			{"nothing", view.InvoiceFilter{Search: "zzz"}, nil},
			{"unknown outcome", view.InvoiceFilter{Outcome: new(api.OutcomeUnknown)}, []string{"SUB-2"}},
			{"not reported", view.InvoiceFilter{Unreported: []invoice.Dimension{invoice.DimensionReceiver}}, []string{"SUB-2"}},
			{"not reported elsewhere", view.InvoiceFilter{Unreported: []invoice.Dimension{invoice.DimensionTaxAuthority}},
				[]string{"SUB-2", "SUB-1"}},
			{"both", view.InvoiceFilter{Search: "sub", Outcome: new(api.OutcomeAcknowledged)}, []string{"SUB-1"}},
		} {
			page, err := view.Of(f.Tenant).Invoices(ctx, test.filter, 1, 100)
			kit.Must(t, err)
			var got []string
			for _, i := range page.Entries {
				got = append(got, *i.Draft.InvoiceNumber)
			}
			if !slices.Equal(got, test.want) || page.Total != len(test.want) {
				t.Errorf("%s: %q of %d, want %q", test.name, got, page.Total, test.want)
			}
		}
	})
}
