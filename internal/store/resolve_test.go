package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
)

const because = "the provider said so by telephone"

func asAdministrator(ctx context.Context) context.Context {
	return store.WithActor(ctx, store.Actor{Kind: store.ActorAdministrator, Name: "ada@desk",
		Means: store.MeansCommandLine})
}

// unknown returns a submission with an unknown outcome.
func (f *fixture) unknown(t *testing.T, number string) store.SubmissionLease {
	t.Helper()
	call := f.submit(t, number)
	decide(t, call, func(s store.Submission, _ time.Time) store.Decision { return outcome(s, api.OutcomeUnknown) })
	return call
}

// audited returns the audit entries of an act, which must each have an actor.
func (f *fixture) audited(t *testing.T, act string) []store.AuditEntry {
	t.Helper()
	entries, err := f.Audit(t.Context(), store.AuditFilter{Act: act, Limit: 100})
	kit.Must(t, err)
	return entries
}

// TestResolve: an administrator can resolve only an unknown outcome, with a reason. The decision is recorded in the
// submission and in the audit log, and an administrator's rejection is never shown as the provider's.
func TestResolve(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := asAdministrator(t.Context())
		call := f.submit(t, "INV-9")
		id := call.Submission.ID
		_, err := f.ResolveSubmission(ctx, id, store.DecisionResend, because)
		wantErr(t, err, store.ErrOutcomeKnown)
		decide(t, call, func(s store.Submission, _ time.Time) store.Decision { return outcome(s, api.OutcomeUnknown) })
		for _, wrong := range [][2]string{{store.DecisionReject, ""}, {"accept", because}} {
			if _, err := f.ResolveSubmission(ctx, id, wrong[0], wrong[1]); err == nil {
				t.Errorf("decision %q with reason %q was accepted", wrong[0], wrong[1])
			}
		}
		resolved, err := f.ResolveSubmission(ctx, id, store.DecisionResend, because)
		kit.Must(t, err)
		claimed := f.claimSubmissions(t, 1)
		if !resolved.ResendOrdered || len(claimed) != 1 || !claimed[0].Submission.ResendOrdered {
			t.Errorf("resend: %+v, claimed %+v", resolved, claimed)
		}
		if _, err = f.ResolveSubmission(ctx, id, store.DecisionReject, because+" twice"); err != nil {
			t.Fatal(err)
		}
		stored, err := f.tenant.Submission(t.Context(), id)
		kit.Must(t, err)
		r := stored.Resolved
		if stored.Outcome != api.OutcomeResolvedRejected {
			t.Errorf("outcome %s, want resolved_rejected", stored.Outcome)
		}
		wantEqual(t, "the resolution", r, &api.Resolution{By: "ada@desk", Reason: because + " twice",
			Decision: store.DecisionReject, At: f.Now()})
		if wire := view.Submission(stored); wire.Outcome != "resolved_rejected" || wire.Resolved == nil ||
			wire.Resolved.By != "ada@desk" || wire.Resolved.Reason != r.Reason {
			t.Errorf("the API shows %+v", wire)
		}
		entries := f.audited(t, "submission.resolve")
		if len(entries) != 2 || entries[1].Reason != r.Reason || entries[1].Subject != id.String() ||
			*entries[1].Account != f.account.ID || entries[1].Kind != store.ActorAdministrator {
			t.Errorf("audited: %+v", entries)
		}
		// The number is free again, and the invoice may be corrected.
		f.begin(t, f.create(t, "INV-9").ID)
		_, err = f.tenant.UpdateInvoice(t.Context(), call.Submission.Invoice, func(int64) bool { return true },
			func([]byte) (api.Draft, error) { return *draft("INV-10"), nil })
		kit.Must(t, err)
		_, err = f.ResolveSubmission(ctx, f.account.ID, store.DecisionResend, because)
		wantErr(t, err, store.ErrNotFound)
	})
}

// TestResolveDuringResend checks that a decision that is made while a resend is under way ends the lease of its worker:
// the response is recorded, but it neither uses up the order nor moves the poll that follows the decision.
func TestResolveDuringResend(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		call := f.unknown(t, "INV-1")
		_, err := f.ResolveSubmission(asAdministrator(t.Context()), call.Submission.ID, store.DecisionResend, because)
		kit.Must(t, err)
		again, err := f.claimSubmissions(t, 1)[0].BeginResend(t.Context(), leaseDuration)
		kit.Must(t, err)
		_, err = f.ResolveSubmission(asAdministrator(t.Context()), call.Submission.ID, store.DecisionResend, because)
		kit.Must(t, err)
		decided := f.Now()
		after, err := again.Record(t.Context(), func(s store.Submission, held bool, now time.Time) (store.Decision, error) {
			if held {
				t.Error("the worker still holds the lease")
			}
			d := outcome(s, api.OutcomeUnknown) // without an order
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ours := f.unknown(t, "INV-OURS").Submission
		_, err := f.ResolveSubmission(t.Context(), ours.ID, store.DecisionReject, because)
		kit.Must(t, err)
		// The provider itself rejects another one, which an administrator had ordered to resend.
		theirs := f.unknown(t, "INV-THEIRS")
		_, err = f.ResolveSubmission(t.Context(), theirs.Submission.ID, store.DecisionResend, because)
		kit.Must(t, err)
		decide(t, theirs, func(s store.Submission, _ time.Time) store.Decision { return outcome(s, api.OutcomeRejected) })
		for wanted, number := range map[api.Outcome]string{api.OutcomeRejected: "INV-THEIRS",
			api.OutcomeResolvedRejected: "INV-OURS"} {
			page, err := view.Of(f.tenant).Invoices(t.Context(), view.InvoiceFilter{Outcome: &wanted}, 1, 10)
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		call := f.unknown(t, "INV-1")
		_, err := f.ResolveSubmission(asAdministrator(t.Context()), call.Submission.ID, store.DecisionReject, because)
		kit.Must(t, err)
		// The invoice is corrected before the provider says anything.
		change := func(number string) error {
			_, err := f.tenant.UpdateInvoice(t.Context(), call.Submission.Invoice, func(int64) bool { return true },
				func([]byte) (api.Draft, error) { return *draft(number), nil })
			return err
		}
		kit.Must(t, change("INV-2"))
		for range 2 {
			decide(t, call, func(s store.Submission, now time.Time) store.Decision {
				d := reported(s, now, allFour("accepted", false))
				d.Outcome, d.Contradicts = s.Outcome, s.Resolved.ContradictedAt == nil
				return d
			})
			f.Clock.Advance(time.Minute)
		}
		stored, err := f.tenant.Submission(t.Context(), call.Submission.ID)
		kit.Must(t, err)
		word, _, reported := stored.States.Get(invoice.DimensionReceiver)
		if stored.Outcome != api.OutcomeResolvedRejected || stored.Resolved.ContradictedAt == nil ||
			!stored.Resolved.ContradictedAt.Equal(f.Now().Add(-2*time.Minute)) || !reported || word != "accepted" {
			t.Errorf("%s, %+v, %q", stored.Outcome, stored.Resolved, word)
		}
		count, err := f.Contradicted(t.Context())
		kit.Must(t, err)
		entries := f.audited(t, "submission.contradicted")
		if count != 1 || len(entries) != 1 || entries[0].Kind != store.ActorSystem ||
			entries[0].Subject != stored.ID.String() {
			t.Errorf("%d contradictions, audited %+v", count, entries)
		}
		var details map[string]string
		kit.Must(t, json.Unmarshal([]byte(entries[0].Details), &details))
		if details["resolved_by"] != "ada@desk" || details["number"] != "INV-1" {
			t.Errorf("details %v", details)
		}
		// The corrected draft is not sent, because the provider has a document of this invoice.
		_, _, err = f.tenant.BeginSubmission(t.Context(), call.Submission.Invoice, intent())
		var duplicate *store.DuplicateNumberError
		if !errors.As(err, &duplicate) || duplicate.Invoice != call.Submission.Invoice {
			t.Errorf("submitted again: %v", err)
		}
	})
}

// TestContradictedInvoiceStays: an invoice whose document the provider has cannot be changed, although it was resolved
// by rejecting it.
func TestContradictedInvoiceStays(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		call := f.unknown(t, "INV-1")
		_, err := f.ResolveSubmission(t.Context(), call.Submission.ID, store.DecisionReject, because)
		kit.Must(t, err)
		decide(t, call, func(s store.Submission, now time.Time) store.Decision {
			d := reported(s, now, allFour("accepted", true))
			d.Outcome, d.Contradicts = s.Outcome, true
			return d
		})
		_, err = f.tenant.UpdateInvoice(t.Context(), call.Submission.Invoice, func(int64) bool { return true },
			func([]byte) (api.Draft, error) { return *draft("INV-2"), nil })
		wantErr(t, err, store.ErrNotEditable)
	})
}
