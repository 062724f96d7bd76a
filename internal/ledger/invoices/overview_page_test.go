package invoices_test

import (
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

// TestOverviewDays: an invoice is in the column of the day of its submission, in the tab that it is in now.
func TestOverviewDays(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		accepted := fixture.Words{invoice.DimensionTaxAuthority: meant("ok", api.MeaningPositive)}
		fixture.Record(t, f.Submit(t, "OLD"), accepted)
		f.Clock.Advance(24 * time.Hour)
		late := f.Submit(t, "FIRST")
		fixture.Record(t, late, accepted)
		f.Clock.Advance((view.OverviewDays - 1) * 24 * time.Hour)
		fixture.Record(t, f.Submit(t, "TODAY"), fixture.Words{invoice.DimensionTaxAuthority: meant("asked",
			api.MeaningWaiting)})
		fixture.Record(t, late, fixture.Words{invoice.DimensionReceiver: meant("no", api.MeaningNegative)})
		found, err := view.Of(f.Tenant).Overview(t.Context())
		kit.Must(t, err)
		if len(found.Days) != view.OverviewDays {
			t.Fatalf("%d days", len(found.Days))
		}
		got := map[string]map[view.Tab]int{}
		for _, day := range found.Days {
			if len(day.Invoices) > 0 {
				got[day.Day.Format(time.DateOnly)] = day.Invoices
			}
		}
		today := f.Clock.Now().UTC()
		fixture.WantEqual(t, "columns", got, map[string]map[view.Tab]int{
			today.Format(time.DateOnly):                                    {view.TabInProgress: 1},
			today.AddDate(0, 0, 1-view.OverviewDays).Format(time.DateOnly): {view.TabAttention: 1},
		})
		if all := found.Tabs[view.TabAll].Invoices; all != 3 {
			t.Errorf("%d invoices, want 3", all)
		}
	})
}

// TestTroubledSubscriptions: a subscription needs a person if the service has deactivated it, or if deliveries fail for
// ten minutes, whether or not one of them has failed for good.
func TestTroubledSubscriptions(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		want := func(what string, subscriptions ...base.ID) {
			t.Helper()
			found, err := view.Of(f.Tenant).TroubledSubscriptions(ctx)
			kit.Must(t, err)
			var got []base.ID
			for _, s := range found {
				got = append(got, s.ID)
			}
			fixture.WantEqual(t, what, got, subscriptions)
		}
		s := f.Subscribe(t, api.EventStatusChanged)
		want("no delivery")
		call := f.Submit(t, "INV-1")
		emit := func(value string, update events.DeliveryUpdate) {
			t.Helper()
			f.Clock.Advance(time.Second) // identifiers of the same millisecond have no order
			fixture.Record(t, call, fixture.Words{invoice.DimensionReceiver: meant(value, "")}, api.EventStatusChanged)
			for _, d := range f.ClaimDeliveries(t, s.ID, 10) {
				kit.Must(t, d.RecordAttempt(ctx, fixture.Attempt(f, 500), update))
			}
		}
		emit("a", events.DeliveryUpdate{State: events.DeliveryPending, DueAt: f.Clock.Now().Add(time.Hour)})
		want("a failed attempt")
		f.Clock.Advance(events.FailingAfter + time.Second)
		want("ten minutes later", s.ID)
		emit("b", events.DeliveryUpdate{State: events.DeliveryFailed, Reason: "exhausted"})
		want("another failure", s.ID)
		emit("c", events.DeliveryUpdate{State: events.DeliveryDelivered})
		want("a delivery arrived")
		f.Clock.Advance(events.FailingAfter + time.Second)
		want("the last delivery arrived")
		emit("d", events.DeliveryUpdate{State: events.DeliveryFailed, Reason: "gone", Deactivate: "gone"})
		want("the service has deactivated it", s.ID)
		f.Clock.Advance(view.DeactivatedFor + time.Second)
		want("a month later")
		own := f.Subscribe(t, api.EventStatusChanged)
		_, err := events.DeactivateSubscription(ctx, f.Tenant, own.ID)
		kit.Must(t, err)
		want("the company has deactivated it")
	})
}

// TestAttentionCreditNotes: credit notes need a person for the same reasons as invoices.
func TestAttentionCreditNotes(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		_, err := invoices.ConfirmCreditNotes(ctx, f.DB, f.Connection.ID, "C-1", "M-1")
		kit.Must(t, err)
		call := f.Submit(t, "INV-1")
		fixture.Record(t, call, fixture.Words{invoice.DimensionTaxAuthority: meant("ok", api.MeaningPositive)})
		note := f.Credit(t, call.Submission.Invoice, fixture.ByQuantity(0, "1"))
		sent, _, err := invoices.BeginCreditNoteSubmission(ctx, f.Tenant, note.ID, fixture.Intent())
		kit.Must(t, err)
		want := func(what string, count int) {
			t.Helper()
			found, err := view.Of(f.Tenant).AttentionCreditNotes(ctx, 5)
			kit.Must(t, err)
			if len(found) != count || count > 0 && (found[0].ID != note.ID || found[0].Submission == nil) {
				t.Errorf("%s: %+v, want %d", what, found, count)
			}
		}
		fixture.Decide(t, sent, func(s invoices.Submission, _ time.Time) invoices.Decision {
			d := fixture.Outcome(s, api.OutcomeUnknown)
			d.KeepUntil = s.DueAt
			return d
		})
		want("an unknown outcome", 0)
		f.Clock.Advance(view.AttentionAfter + time.Minute)
		want("an outcome that is unknown for long", 1)
		fixture.Record(t, sent, fixture.Words{invoice.DimensionTaxAuthority: meant("ok", api.MeaningPositive)})
		want("an accepted one", 0)
		fixture.Record(t, sent, fixture.Words{invoice.DimensionReceiver: meant("no", api.MeaningNegative)})
		want("a negative value", 1)
		latest, err := view.Of(f.Tenant).LatestResponses(ctx, []base.ID{sent.Submission.ID})
		kit.Must(t, err)
		chain, err := fixture.EvidenceOf(ctx, f.Tenant, sent.Submission.ID)
		kit.Must(t, err)
		if latest[sent.Submission.ID] != chain[len(chain)-1].ID {
			t.Errorf("the latest response is %s, want %s", latest[sent.Submission.ID], chain[len(chain)-1].ID)
		}
		wantTabs(t, f.Tenant, 0, 0, 1, 0)
	})
}
