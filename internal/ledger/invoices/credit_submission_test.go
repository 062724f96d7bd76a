package invoices_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/view"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// acknowledged submits an invoice that the provider acknowledges.
func acknowledged(t *testing.T, c fixture.Company, number string) base.ID {
	t.Helper()
	call := c.Submit(t, number)
	recordOutcome(t, call, api.OutcomeAcknowledged)
	return call.Submission.Invoice
}

// recordOutcome records a response with an outcome and a state.
func recordOutcome(t *testing.T, call invoices.SubmissionLease, outcome api.Outcome) invoices.Submission {
	t.Helper()
	return fixture.Decide(t, call, func(s invoices.Submission, now time.Time) invoices.Decision {
		d := fixture.Reported(s, now, fixture.AllFour(string(outcome), false), api.EventSubmissionUpdated)
		d.Outcome = outcome
		return d
	})
}

// note creates a credit note of one unit.
func note(t *testing.T, c fixture.Company, invoiceID base.ID, number string) invoices.CreditNote {
	t.Helper()
	n, err := invoices.CreateCreditNote(t.Context(), c.Tenant, invoiceID, fixture.CreditBy(number,
		fixture.ByQuantity(0, "1")))
	kit.Must(t, err)
	return n
}

// beginCredit begins the submission of a credit note.
func beginCredit(t *testing.T, c fixture.Company, id base.ID) invoices.SubmissionLease {
	t.Helper()
	call, begun, err := invoices.BeginCreditNoteSubmission(t.Context(), c.Tenant, id, fixture.Intent())
	kit.Must(t, err)
	if !begun {
		t.Fatal("the submission has not begun")
	}
	return call
}

// TestCreditNoteSubmissionIsItsOwn: a submitted credit note has a submission, states and evidence of its own. Its
// invoice shows nothing of it, and neither do other credit notes.
func TestCreditNoteSubmissionIsItsOwn(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		id := acknowledged(t, f.Company, "INV-1")
		before, err := invoices.Find(ctx, f.Tenant, id)
		kit.Must(t, err)
		note, other := note(t, f.Company, id, "CN-1"), note(t, f.Company, id, "CN-2")
		_, _, err = invoices.BeginCreditNoteSubmission(ctx, f.Tenant, note.ID, fixture.Intent())
		fixture.WantErr(t, err, invoices.ErrCreditNotesDisabled)
		_, err = invoices.ConfirmCreditNotes(ctx, f.DB, f.Connection.ID, "C-1", "M-1")
		kit.Must(t, err)
		s := recordOutcome(t, beginCredit(t, f.Company, note.ID), api.OutcomeAcknowledged)
		if s.CreditNote != note.ID || s.Invoice != id || s.Number != "CN-1" || s.InvoiceNumber != "INV-1" || s.Ordinal != 1 ||
			!s.Current {
			t.Errorf("submission %+v", s)
		}
		after, err := invoices.Find(ctx, f.Tenant, id)
		kit.Must(t, err)
		if after.Submission.ID != before.Submission.ID || after.Version != before.Version {
			t.Errorf("the invoice was version %d with %s, now %d with %s", before.Version, before.Submission.ID, after.Version,
				after.Submission.ID)
		}
		read, err := invoices.FindCreditNote(ctx, f.Tenant, note.ID)
		kit.Must(t, err)
		if read.Submission == nil || read.Submission.ID != s.ID ||
			read.States().Stored(invoice.DimensionReceiver).Value != "acknowledged" || read.Version <= note.Version {
			t.Errorf("the credit note is %+v", read)
		}
		if unsent, err := invoices.FindCreditNote(ctx, f.Tenant, other.ID); err != nil || unsent.Submission != nil {
			t.Errorf("the other credit note is %+v, %v", unsent, err)
		}
		list, err := view.Of(f.Tenant).CreditNotes(ctx, view.CreditNoteFilter{}, 1, 10)
		kit.Must(t, err)
		if list.Entries[0].Submission != nil || list.Entries[1].Submission == nil || list.Entries[1].Submission.ID != s.ID {
			t.Errorf("the list is %+v", list.Entries)
		}
		for of, want := range map[view.History]int{view.OfInvoice(id): 1, view.OfCreditNote(note.ID): 1,
			view.OfCreditNote(other.ID): 0} {
			submissions, evidence, err := view.Of(f.Tenant).History(ctx, of, 1, 10)
			kit.Must(t, err)
			if submissions.Total != want || evidence.Total != want {
				t.Errorf("%+v has %d submissions and %d responses, want %d", of, submissions.Total, evidence.Total, want)
			}
		}
		if _, _, err := view.Of(f.Decoy.Tenant).History(ctx, view.OfCreditNote(note.ID), 1, 10); !errors.Is(err,
			base.ErrNotFound) {
			t.Errorf("another company gets %v", err)
		}
		if again, begun, err := invoices.BeginCreditNoteSubmission(ctx, f.Tenant, note.ID,
			fixture.Intent()); err != nil || begun ||
			again.Submission.ID != s.ID {
			t.Errorf("a repetition begins %t with %v", begun, err)
		}
	})
}

// TestCreditNoteSubmissionIsRefused: the invoice must be acknowledged, the credit note live and its number free. Credit
// notes and invoices have numbers of their own.
func TestCreditNoteSubmissionIsRefused(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		_, err := invoices.ConfirmCreditNotes(ctx, f.DB, f.Connection.ID, "C-1", "M-1")
		kit.Must(t, err)
		begin := func(id base.ID) error {
			_, _, err := invoices.BeginCreditNoteSubmission(ctx, f.Tenant, id, fixture.Intent())
			return err
		}
		fixture.WantErr(t, begin(note(t, f.Company, f.Create(t, "INV-DRAFT").ID, "CN-1").ID), invoices.ErrNotAcknowledged)
		unknown := f.Submit(t, "INV-UNKNOWN")
		fixture.WantErr(t, begin(note(t, f.Company, unknown.Submission.Invoice, "CN-1").ID), invoices.ErrNotAcknowledged)
		id := acknowledged(t, f.Company, "INV-1")
		void := note(t, f.Company, id, "CN-1")
		voidCredit(t, f, void.ID)
		fixture.WantErr(t, begin(void.ID), invoices.ErrCreditNoteVoid)

		first := note(t, f.Company, id, "INV-1") // the number of an invoice is free
		call := beginCredit(t, f.Company, first.ID)
		fixture.WantErr(t, begin(first.ID), invoices.ErrSubmissionInProgress)
		recordOutcome(t, call, api.OutcomeAcknowledged)
		same := note(t, f.Company, id, "INV-1")
		var duplicate *invoices.DuplicateNumberError
		if err := begin(same.ID); !errors.As(err, &duplicate) || duplicate.CreditNote != first.ID ||
			!duplicate.Invoice.IsZero() {
			t.Errorf("a second credit note with the number: %v", err)
		}
		_, err = invoices.VoidCreditNote(ctx, f.Tenant, first.ID)
		fixture.WantErr(t, err, invoices.ErrCreditNoteNotEditable)
		_, err = invoices.UpdateCreditNote(ctx, f.Tenant, first.ID, always,
			func(present api.CreditNoteChange) (api.CreditNoteChange, error) {
				present.Reason = new("another")
				return present, nil
			})
		fixture.WantErr(t, err, invoices.ErrCreditNoteNotEditable)
		if holder, err := invoices.NumberHolder(ctx, f.Tenant, "INV-1"); err != nil || holder != id {
			t.Errorf("INV-1 is held by %s, %v", holder, err)
		}
	})
}

// always accepts every version.
func always(int64) bool { return true }

// TestRejectedCreditNote: a credit note that the provider has rejected counts against its invoice until it is voided. A
// change makes it a draft again, whose next submission has another reference, that of its second ordinal.
func TestRejectedCreditNote(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		_, err := invoices.ConfirmCreditNotes(ctx, f.DB, f.Connection.ID, "C-1", "M-1")
		kit.Must(t, err)
		id := acknowledged(t, f.Company, "INV-1")
		note, err := invoices.CreateCreditNote(ctx, f.Tenant, id, fixture.CreditBy("CN-1"))
		kit.Must(t, err)
		rejected := recordOutcome(t, beginCredit(t, f.Company, note.ID), api.OutcomeRejected)
		wantExceeded(t, f.Company, id, "kind")
		changed, err := invoices.UpdateCreditNote(ctx, f.Tenant, note.ID, always,
			func(present api.CreditNoteChange) (api.CreditNoteChange, error) { return present, nil })
		kit.Must(t, err)
		if changed.Submission != nil {
			t.Error("a changed credit note shows its rejected submission")
		}
		second := recordOutcome(t, beginCredit(t, f.Company, note.ID), api.OutcomeRejected)
		if second.ID == rejected.ID || second.Ordinal != 2 {
			t.Errorf("the second submission is %s with ordinal %d", second.ID, second.Ordinal)
		}
		voided := voidCredit(t, f, note.ID)
		if voided.Submission == nil || voided.Submission.ID != second.ID {
			t.Errorf("the void credit note is %+v", voided)
		}
		f.Credit(t, id)
	})
}

// TestOneCreditNoteNumberOnce: of many credit notes with one number that are submitted at the same time, one is.
func TestOneCreditNoteNumberOnce(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		_, err := invoices.ConfirmCreditNotes(ctx, f.DB, f.Connection.ID, "C-1", "M-1")
		kit.Must(t, err)
		var ids []base.ID
		for _, number := range []string{"INV-1", "INV-2", "INV-3", "INV-4"} {
			ids = append(ids, note(t, f.Company, acknowledged(t, f.Company, number), "CN-1").ID)
		}
		errs := make([]error, len(ids))
		var group sync.WaitGroup
		for n, id := range ids {
			group.Go(func() { _, _, errs[n] = invoices.BeginCreditNoteSubmission(ctx, f.Tenant, id, fixture.Intent()) })
		}
		group.Wait()
		winner := slices.Index(errs, nil)
		if winner < 0 {
			t.Fatalf("none has begun: %v", errs)
		}
		for n, err := range errs {
			var duplicate *invoices.DuplicateNumberError
			if n != winner && (!errors.As(err, &duplicate) || duplicate.CreditNote != ids[winner]) {
				t.Errorf("credit note %d: %v", n, err)
			}
		}
	})
}

// TestConfirmationIsBound: a confirmation is bound to the credential. Nobody can add one in the database, move it or
// change it, and a changed address does not carry it over.
func TestConfirmationIsBound(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		for name, statement := range map[string]string{
			"added":   `update connections set credit_notes_at = 1, credit_notes_contract = 'C-1', credit_notes_mapping = 'M-1' where id = $1`,
			"another": `update connections set credit_notes_mapping = 'M-2' where id = $1`,
			"moved":   `update connections set base_url = 'https://elsewhere.example.com' where id = $1`,
			"removed": `update connections set credit_notes_at = null where id = $1`,
		} {
			c := f.NewCompany(t, name+"@example.com")
			if name != "added" {
				confirmed, err := invoices.ConfirmCreditNotes(ctx, f.DB, c.Connection.ID, "C-1", "M-1")
				kit.Must(t, err)
				if _, err := invoices.Credential(f.DB, confirmed); err != nil || confirmed.CreditNotes.At.IsZero() ||
					confirmed.CreditNotes.Contract != "C-1" {
					t.Fatalf("confirmed: %+v, %v", confirmed.CreditNotes, err)
				}
			}
			f.Exec(t, statement, c.Connection.ID)
			altered, err := invoices.FindConnection(ctx, f.DB, c.Connection.ID)
			kit.Must(t, err)
			if _, err := invoices.Credential(f.DB, altered); !errors.Is(err, base.ErrChangedRow) {
				t.Errorf("%s: the credential opens: %v", name, err)
			}
		}
	})
}

// TestRestoredCreditNote: after a restore from a backup, a credit note gets the references that it had before: digests
// of the credit note and the ordinal.
func TestRestoredCreditNote(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		_, err := invoices.ConfirmCreditNotes(ctx, f.DB, f.Connection.ID, "C-1", "M-1")
		kit.Must(t, err)
		id := acknowledged(t, f.Company, "INV-1")
		first, second := note(t, f.Company, id, "CN-1"), note(t, f.Company, id, "CN-2")
		recordOutcome(t, beginCredit(t, f.Company, first.ID), api.OutcomeAcknowledged)
		_, err = ledger.MarkRestored(ctx, f.DB)
		kit.Must(t, err)
		call := beginCredit(t, f.Company, second.ID)
		later, err := call.LostReferences(ctx)
		kit.Must(t, err)
		if !call.Restored || len(later) != invoices.MaxLaterReferences || later[0].Ordinal != 2 {
			t.Fatalf("query first %t, later references %v", call.Restored, later)
		}
		adopted, err := call.Adopt(ctx, later[0], time.Minute)
		kit.Must(t, err)
		recorded := recordOutcome(t, adopted, api.OutcomeRejected)
		if recorded.CreditNote != second.ID || recorded.ID != later[0].ID || recorded.Ordinal != 2 ||
			recorded.Number != "CN-2" {
			t.Errorf("adopted %+v", recorded)
		}
		_, err = invoices.UpdateCreditNote(ctx, f.Tenant, second.ID, always,
			func(present api.CreditNoteChange) (api.CreditNoteChange, error) { return present, nil })
		kit.Must(t, err)
		if next := beginCredit(t, f.Company, second.ID); next.Submission.ID != later[1].ID || next.Submission.Ordinal != 3 {
			t.Errorf("the next submission is %s with ordinal %d, want %s", next.Submission.ID, next.Submission.Ordinal,
				later[1].ID)
		}
	})
}
