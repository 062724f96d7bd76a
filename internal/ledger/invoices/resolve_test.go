package invoices_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestResolve: an administrator can resolve only an unknown outcome, with a reason. The decision is recorded in the
// submission and in the audit log, and an administrator's rejection is never shown as the provider's.
func TestResolve(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := fixture.AsAdministrator(t.Context())
		call := f.Submit(t, "INV-9")
		id := call.Submission.ID
		_, err := invoices.ResolveAnySubmission(ctx, f.DB, id, invoices.DecisionResend, fixture.Because)
		fixture.WantErr(t, err, invoices.ErrOutcomeKnown)
		fixture.Decide(t, call, func(s invoices.Submission, _ time.Time) invoices.Decision {
			return fixture.Outcome(s, api.OutcomeUnknown)
		})
		for _, wrong := range [][2]string{{invoices.DecisionReject, ""}, {"accept", fixture.Because}} {
			if _, err := invoices.ResolveAnySubmission(ctx, f.DB, id, wrong[0], wrong[1]); err == nil {
				t.Errorf("decision %q with reason %q was accepted", wrong[0], wrong[1])
			}
		}
		resolved, err := invoices.ResolveAnySubmission(ctx, f.DB, id, invoices.DecisionResend, fixture.Because)
		kit.Must(t, err)
		claimed := f.ClaimSubmissions(t, 1)
		if !resolved.ResendOrdered || len(claimed) != 1 || !claimed[0].Submission.ResendOrdered {
			t.Errorf("resend: %+v, claimed %+v", resolved, claimed)
		}
		if _, err = invoices.ResolveAnySubmission(ctx, f.DB, id, invoices.DecisionReject,
			fixture.Because+" twice"); err != nil {
			t.Fatal(err)
		}
		stored, err := invoices.FindSubmission(t.Context(), f.Tenant, id)
		kit.Must(t, err)
		r := stored.Resolved
		if stored.Outcome != api.OutcomeResolvedRejected {
			t.Errorf("outcome %s, want resolved_rejected", stored.Outcome)
		}
		fixture.WantEqual(t, "the resolution", r, &api.Resolution{By: "ada@desk", Reason: fixture.Because + " twice",
			Decision: invoices.DecisionReject, At: f.Now()})
		if wire := view.Submission(stored); wire.Outcome != "resolved_rejected" || wire.Resolved == nil ||
			wire.Resolved.By != "ada@desk" || wire.Resolved.Reason != r.Reason {
			t.Errorf("the API shows %+v", wire)
		}
		entries := f.Audited(t, "submission.resolve")
		if len(entries) != 2 || entries[1].Reason != r.Reason || entries[1].Subject != id.String() ||
			*entries[1].Account != f.Account.ID || entries[1].Kind != base.ActorAdministrator {
			t.Errorf("audited: %+v", entries)
		}
		// The number is free again, and the invoice may be corrected.
		f.Begin(t, f.Create(t, "INV-9").ID)
		_, err = invoices.Update(t.Context(), f.Tenant, call.Submission.Invoice, func(int64) bool { return true },
			func([]byte) (api.Draft, error) { return *fixture.Draft("INV-10"), nil })
		kit.Must(t, err)
		_, err = invoices.ResolveAnySubmission(ctx, f.DB, f.Account.ID, invoices.DecisionResend, fixture.Because)
		fixture.WantErr(t, err, base.ErrNotFound)
	})
}

// TestResolveDuringResend checks that a decision that is made while a resend is under way ends the lease of its worker:
// the response is recorded, but it neither uses up the order nor moves the poll that follows the decision.
func TestResolveDuringResend(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		call := f.Unknown(t, "INV-1")
		_, err := invoices.ResolveAnySubmission(fixture.AsAdministrator(t.Context()), f.DB, call.Submission.ID,
			invoices.DecisionResend, fixture.Because)
		kit.Must(t, err)
		again, err := f.ClaimSubmissions(t, 1)[0].BeginResend(t.Context(), fixture.LeaseDuration)
		kit.Must(t, err)
		_, err = invoices.ResolveAnySubmission(fixture.AsAdministrator(t.Context()), f.DB, call.Submission.ID,
			invoices.DecisionResend, fixture.Because)
		kit.Must(t, err)
		decided := f.Now()
		after, err := again.Record(t.Context(),
			func(s invoices.Submission, held bool, now time.Time) (invoices.Decision, error) {
				if held {
					t.Error("the worker still holds the lease")
				}
				d := fixture.Outcome(s, api.OutcomeUnknown) // without an order
				d.DueAt, d.Responded, d.LastStatus = new(now.Add(time.Hour)), true, 503
				return d, nil
			})
		kit.Must(t, err)
		if !after.ResendOrdered || !after.DueAt.Equal(decided) || after.LastStatus != 503 {
			t.Errorf("after the late response: resend ordered %v, due %v, last status %d", after.ResendOrdered, after.DueAt,
				after.LastStatus)
		}
	})
}

// TestOutcomeFilters: the list distinguishes administrators' rejections from the provider's.
func TestOutcomeFilters(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ours := f.Unknown(t, "INV-OURS").Submission
		_, err := invoices.ResolveAnySubmission(t.Context(), f.DB, ours.ID, invoices.DecisionReject, fixture.Because)
		kit.Must(t, err)
		// The provider itself rejects another one, which an administrator had ordered to resend.
		theirs := f.Unknown(t, "INV-THEIRS")
		_, err = invoices.ResolveAnySubmission(t.Context(), f.DB, theirs.Submission.ID, invoices.DecisionResend,
			fixture.Because)
		kit.Must(t, err)
		fixture.Decide(t, theirs, func(s invoices.Submission, _ time.Time) invoices.Decision {
			return fixture.Outcome(s, api.OutcomeRejected)
		})
		for wanted, number := range map[api.Outcome]string{api.OutcomeRejected: "INV-THEIRS",
			api.OutcomeResolvedRejected: "INV-OURS"} {
			page, err := view.Of(f.Tenant).Invoices(t.Context(), view.InvoiceFilter{Outcome: &wanted}, 1, 10)
			kit.Must(t, err)
			if len(page.Entries) != 1 || *page.Entries[0].Draft.InvoiceNumber != number ||
				page.Entries[0].Submission.Outcome != wanted {
				t.Errorf("%s: %+v", wanted, page.Entries)
			}
		}
	})
}

// TestContradiction: if the provider has a document that was resolved by rejecting it, that is recorded once, in the
// submission and in the audit log. The states are recorded as usual, and no second document of the invoice is sent.
func TestContradiction(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		call := f.Unknown(t, "INV-1")
		_, err := invoices.ResolveAnySubmission(fixture.AsAdministrator(t.Context()), f.DB, call.Submission.ID,
			invoices.DecisionReject, fixture.Because)
		kit.Must(t, err)
		// The invoice is corrected before the provider says anything.
		change := func(number string) error {
			_, err := invoices.Update(t.Context(), f.Tenant, call.Submission.Invoice, func(int64) bool { return true },
				func([]byte) (api.Draft, error) { return *fixture.Draft(number), nil })
			return err
		}
		kit.Must(t, change("INV-2"))
		for range 2 {
			fixture.Decide(t, call, func(s invoices.Submission, now time.Time) invoices.Decision {
				d := fixture.Reported(s, now, fixture.AllFour("accepted", false))
				d.Outcome, d.Contradicts = s.Outcome, s.Resolved.ContradictedAt == nil
				return d
			})
			f.Clock.Advance(time.Minute)
		}
		stored, err := invoices.FindSubmission(t.Context(), f.Tenant, call.Submission.ID)
		kit.Must(t, err)
		word, _, reported := stored.States.Get(invoice.DimensionReceiver)
		if stored.Outcome != api.OutcomeResolvedRejected || stored.Resolved.ContradictedAt == nil ||
			!stored.Resolved.ContradictedAt.Equal(f.Now().Add(-2*time.Minute)) || !reported || word != "accepted" {
			t.Errorf("%s, %+v, %q", stored.Outcome, stored.Resolved, word)
		}
		count, err := invoices.Contradicted(t.Context(), f.DB)
		kit.Must(t, err)
		entries := f.Audited(t, "submission.contradicted")
		if count != 1 || len(entries) != 1 || entries[0].Kind != base.ActorSystem ||
			entries[0].Subject != stored.ID.String() {
			t.Errorf("%d contradictions, audited %+v", count, entries)
		}
		var details map[string]string
		kit.Must(t, json.Unmarshal([]byte(entries[0].Details), &details))
		if details["resolved_by"] != "ada@desk" || details["number"] != "INV-1" {
			t.Errorf("details %v", details)
		}
		// The corrected draft is not sent, because the provider has a document of this invoice.
		_, _, err = invoices.BeginSubmission(t.Context(), f.Tenant, call.Submission.Invoice, fixture.Intent())
		var duplicate *invoices.DuplicateNumberError
		if !errors.As(err, &duplicate) || duplicate.Invoice != call.Submission.Invoice {
			t.Errorf("submitted again: %v", err)
		}
	})
}

// TestContradictedInvoiceStays: an invoice whose document the provider has cannot be changed, although it was resolved
// by rejecting it.
func TestContradictedInvoiceStays(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		call := f.Unknown(t, "INV-1")
		_, err := invoices.ResolveAnySubmission(t.Context(), f.DB, call.Submission.ID, invoices.DecisionReject,
			fixture.Because)
		kit.Must(t, err)
		fixture.Decide(t, call, func(s invoices.Submission, now time.Time) invoices.Decision {
			d := fixture.Reported(s, now, fixture.AllFour("accepted", true))
			d.Outcome, d.Contradicts = s.Outcome, true
			return d
		})
		_, err = invoices.Update(t.Context(), f.Tenant, call.Submission.Invoice, func(int64) bool { return true },
			func([]byte) (api.Draft, error) { return *fixture.Draft("INV-2"), nil })
		fixture.WantErr(t, err, invoices.ErrNotEditable)
	})
}
