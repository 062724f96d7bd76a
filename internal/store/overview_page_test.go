package store_test

import (
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
)

// TestOverviewDays: an invoice is in the column of the day of its submission, in the tab that it is in now.
func TestOverviewDays(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		accepted := words{invoice.DimensionTaxAuthority: meant("ok", api.MeaningPositive)}
		record(t, f.submit(t, "OLD"), accepted)
		f.Clock.Advance(24 * time.Hour)
		late := f.submit(t, "FIRST")
		record(t, late, accepted)
		f.Clock.Advance((view.OverviewDays - 1) * 24 * time.Hour)
		record(t, f.submit(t, "TODAY"), words{invoice.DimensionTaxAuthority: meant("asked", api.MeaningWaiting)})
		record(t, late, words{invoice.DimensionReceiver: meant("no", api.MeaningNegative)})
		found, err := view.Of(f.tenant).Overview(t.Context())
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
		wantEqual(t, "columns", got, map[string]map[view.Tab]int{
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		want := func(what string, subscriptions ...store.ID) {
			t.Helper()
			found, err := view.Of(f.tenant).TroubledSubscriptions(ctx)
			kit.Must(t, err)
			var got []store.ID
			for _, s := range found {
				got = append(got, s.ID)
			}
			wantEqual(t, what, got, subscriptions)
		}
		s := f.subscribe(t, api.EventStatusChanged)
		want("no delivery")
		call := f.submit(t, "INV-1")
		emit := func(value string, update store.DeliveryUpdate) {
			t.Helper()
			f.Clock.Advance(time.Second) // identifiers of the same millisecond have no order
			record(t, call, words{invoice.DimensionReceiver: meant(value, "")}, api.EventStatusChanged)
			for _, d := range f.claimDeliveries(t, s.ID, 10) {
				kit.Must(t, d.RecordAttempt(ctx, attempt(f, 500), update))
			}
		}
		emit("a", store.DeliveryUpdate{State: store.DeliveryPending, DueAt: f.Clock.Now().Add(time.Hour)})
		want("a failed attempt")
		f.Clock.Advance(store.FailingAfter + time.Second)
		want("ten minutes later", s.ID)
		emit("b", store.DeliveryUpdate{State: store.DeliveryFailed, Reason: "exhausted"})
		want("another failure", s.ID)
		emit("c", store.DeliveryUpdate{State: store.DeliveryDelivered})
		want("a delivery arrived")
		f.Clock.Advance(store.FailingAfter + time.Second)
		want("the last delivery arrived")
		emit("d", store.DeliveryUpdate{State: store.DeliveryFailed, Reason: "gone", Deactivate: "gone"})
		want("the service has deactivated it", s.ID)
		f.Clock.Advance(view.DeactivatedFor + time.Second)
		want("a month later")
		own := f.subscribe(t, api.EventStatusChanged)
		_, err := f.tenant.DeactivateSubscription(ctx, own.ID)
		kit.Must(t, err)
		want("the company has deactivated it")
	})
}

// TestAttentionCreditNotes: credit notes need a person for the same reasons as invoices.
func TestAttentionCreditNotes(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		_, err := f.ConfirmCreditNotes(ctx, f.connection.ID, "C-1", "M-1")
		kit.Must(t, err)
		call := f.submit(t, "INV-1")
		record(t, call, words{invoice.DimensionTaxAuthority: meant("ok", api.MeaningPositive)})
		note := f.credit(t, call.Submission.Invoice, byQuantity(0, "1"))
		sent, _, err := f.tenant.BeginCreditNoteSubmission(ctx, note.ID, intent())
		kit.Must(t, err)
		want := func(what string, count int) {
			t.Helper()
			found, err := view.Of(f.tenant).AttentionCreditNotes(ctx, 5)
			kit.Must(t, err)
			if len(found) != count || count > 0 && (found[0].ID != note.ID || found[0].Submission == nil) {
				t.Errorf("%s: %+v, want %d", what, found, count)
			}
		}
		decide(t, sent, func(s store.Submission, _ time.Time) store.Decision {
			d := outcome(s, api.OutcomeUnknown)
			d.KeepUntil = s.DueAt
			return d
		})
		want("an unknown outcome", 0)
		f.Clock.Advance(view.AttentionAfter + time.Minute)
		want("an outcome that is unknown for long", 1)
		record(t, sent, words{invoice.DimensionTaxAuthority: meant("ok", api.MeaningPositive)})
		want("an accepted one", 0)
		record(t, sent, words{invoice.DimensionReceiver: meant("no", api.MeaningNegative)})
		want("a negative value", 1)
		latest, err := view.Of(f.tenant).LatestResponses(ctx, []store.ID{sent.Submission.ID})
		kit.Must(t, err)
		chain, err := f.tenant.Evidence(ctx, sent.Submission.ID)
		kit.Must(t, err)
		if latest[sent.Submission.ID] != chain[len(chain)-1].ID {
			t.Errorf("the latest response is %s, want %s", latest[sent.Submission.ID], chain[len(chain)-1].ID)
		}
		wantTabs(t, f.tenant, 0, 0, 1, 0)
	})
}
