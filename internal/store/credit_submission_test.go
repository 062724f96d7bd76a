package store_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
)

// acknowledged submits an invoice that the provider acknowledges.
func (c company) acknowledged(t *testing.T, number string) store.ID {
	t.Helper()
	call := c.submit(t, number)
	recordOutcome(t, call, api.OutcomeAcknowledged)
	return call.Submission.Invoice
}

// recordOutcome records a response with an outcome and a state.
func recordOutcome(t *testing.T, call store.SubmissionLease, outcome api.Outcome) store.Submission {
	t.Helper()
	return decide(t, call, func(s store.Submission, now time.Time) store.Decision {
		d := reported(s, now, allFour(string(outcome), false), api.EventSubmissionUpdated)
		d.Outcome = outcome
		return d
	})
}

// note creates a credit note of one unit.
func (c company) note(t *testing.T, invoiceID store.ID, number string) store.CreditNote {
	t.Helper()
	n, err := c.tenant.CreateCreditNote(t.Context(), invoiceID, creditBy(number, byQuantity(0, "1")))
	kit.Must(t, err)
	return n
}

// beginCredit begins the submission of a credit note.
func (c company) beginCredit(t *testing.T, id store.ID) store.SubmissionLease {
	t.Helper()
	call, begun, err := c.tenant.BeginCreditNoteSubmission(t.Context(), id, intent())
	kit.Must(t, err)
	if !begun {
		t.Fatal("the submission has not begun")
	}
	return call
}

// TestCreditNoteSubmissionIsItsOwn: a submitted credit note has a submission, states and evidence of its own. Its
// invoice shows nothing of it, and neither do other credit notes.
func TestCreditNoteSubmissionIsItsOwn(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		id := f.acknowledged(t, "INV-1")
		before, err := f.tenant.Invoice(ctx, id)
		kit.Must(t, err)
		note, other := f.note(t, id, "CN-1"), f.note(t, id, "CN-2")
		_, _, err = f.tenant.BeginCreditNoteSubmission(ctx, note.ID, intent())
		wantErr(t, err, store.ErrCreditNotesDisabled)
		_, err = f.ConfirmCreditNotes(ctx, f.connection.ID, "C-1", "M-1")
		kit.Must(t, err)
		s := recordOutcome(t, f.beginCredit(t, note.ID), api.OutcomeAcknowledged)
		if s.CreditNote != note.ID || s.Invoice != id || s.Number != "CN-1" || s.InvoiceNumber != "INV-1" || s.Ordinal != 1 ||
			!s.Current {
			t.Errorf("submission %+v", s)
		}
		after, err := f.tenant.Invoice(ctx, id)
		kit.Must(t, err)
		if after.Submission.ID != before.Submission.ID || after.Version != before.Version {
			t.Errorf("the invoice was version %d with %s, now %d with %s", before.Version, before.Submission.ID, after.Version,
				after.Submission.ID)
		}
		read, err := f.tenant.CreditNote(ctx, note.ID)
		kit.Must(t, err)
		if read.Submission == nil || read.Submission.ID != s.ID ||
			read.States().Stored(invoice.DimensionReceiver).Value != "acknowledged" || read.Version <= note.Version {
			t.Errorf("the credit note is %+v", read)
		}
		if unsent, err := f.tenant.CreditNote(ctx, other.ID); err != nil || unsent.Submission != nil {
			t.Errorf("the other credit note is %+v, %v", unsent, err)
		}
		list, err := view.Of(f.tenant).CreditNotes(ctx, view.CreditNoteFilter{}, 1, 10)
		kit.Must(t, err)
		if list.Entries[0].Submission != nil || list.Entries[1].Submission == nil || list.Entries[1].Submission.ID != s.ID {
			t.Errorf("the list is %+v", list.Entries)
		}
		for of, want := range map[view.History]int{view.OfInvoice(id): 1, view.OfCreditNote(note.ID): 1,
			view.OfCreditNote(other.ID): 0} {
			submissions, evidence, err := view.Of(f.tenant).History(ctx, of, 1, 10)
			kit.Must(t, err)
			if submissions.Total != want || evidence.Total != want {
				t.Errorf("%+v has %d submissions and %d responses, want %d", of, submissions.Total, evidence.Total, want)
			}
		}
		if _, _, err := view.Of(f.decoy.tenant).History(ctx, view.OfCreditNote(note.ID), 1, 10); !errors.Is(err,
			store.ErrNotFound) {
			t.Errorf("another company gets %v", err)
		}
		if again, begun, err := f.tenant.BeginCreditNoteSubmission(ctx, note.ID, intent()); err != nil || begun ||
			again.Submission.ID != s.ID {
			t.Errorf("a repetition begins %t with %v", begun, err)
		}
	})
}

// TestCreditNoteSubmissionIsRefused: the invoice must be acknowledged, the credit note live and its number free. Credit
// notes and invoices have numbers of their own.
func TestCreditNoteSubmissionIsRefused(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		_, err := f.ConfirmCreditNotes(ctx, f.connection.ID, "C-1", "M-1")
		kit.Must(t, err)
		begin := func(id store.ID) error {
			_, _, err := f.tenant.BeginCreditNoteSubmission(ctx, id, intent())
			return err
		}
		wantErr(t, begin(f.note(t, f.create(t, "INV-DRAFT").ID, "CN-1").ID), store.ErrNotAcknowledged)
		unknown := f.submit(t, "INV-UNKNOWN")
		wantErr(t, begin(f.note(t, unknown.Submission.Invoice, "CN-1").ID), store.ErrNotAcknowledged)
		id := f.acknowledged(t, "INV-1")
		void := f.note(t, id, "CN-1")
		f.voidCredit(t, void.ID)
		wantErr(t, begin(void.ID), store.ErrCreditNoteVoid)

		first := f.note(t, id, "INV-1") // the number of an invoice is free
		call := f.beginCredit(t, first.ID)
		wantErr(t, begin(first.ID), store.ErrSubmissionInProgress)
		recordOutcome(t, call, api.OutcomeAcknowledged)
		same := f.note(t, id, "INV-1")
		var duplicate *store.DuplicateNumberError
		if err := begin(same.ID); !errors.As(err, &duplicate) || duplicate.CreditNote != first.ID ||
			!duplicate.Invoice.IsZero() {
			t.Errorf("a second credit note with the number: %v", err)
		}
		_, err = f.tenant.VoidCreditNote(ctx, first.ID)
		wantErr(t, err, store.ErrCreditNoteNotEditable)
		_, err = f.tenant.UpdateCreditNote(ctx, first.ID, always,
			func(present api.CreditNoteChange) (api.CreditNoteChange, error) {
				present.Reason = new("another")
				return present, nil
			})
		wantErr(t, err, store.ErrCreditNoteNotEditable)
		if holder, err := f.tenant.NumberHolder(ctx, "INV-1"); err != nil || holder != id {
			t.Errorf("INV-1 is held by %s, %v", holder, err)
		}
	})
}

// always accepts every version.
func always(int64) bool { return true }

// TestRejectedCreditNote: a credit note that the provider has rejected counts against its invoice until it is voided. A
// change makes it a draft again, whose next submission has another reference, that of its second ordinal.
func TestRejectedCreditNote(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		_, err := f.ConfirmCreditNotes(ctx, f.connection.ID, "C-1", "M-1")
		kit.Must(t, err)
		id := f.acknowledged(t, "INV-1")
		note, err := f.tenant.CreateCreditNote(ctx, id, creditBy("CN-1"))
		kit.Must(t, err)
		rejected := recordOutcome(t, f.beginCredit(t, note.ID), api.OutcomeRejected)
		f.wantExceeded(t, id, "kind")
		changed, err := f.tenant.UpdateCreditNote(ctx, note.ID, always,
			func(present api.CreditNoteChange) (api.CreditNoteChange, error) { return present, nil })
		kit.Must(t, err)
		if changed.Submission != nil {
			t.Error("a changed credit note shows its rejected submission")
		}
		second := recordOutcome(t, f.beginCredit(t, note.ID), api.OutcomeRejected)
		if second.ID == rejected.ID || second.Ordinal != 2 {
			t.Errorf("the second submission is %s with ordinal %d", second.ID, second.Ordinal)
		}
		voided := f.voidCredit(t, note.ID)
		if voided.Submission == nil || voided.Submission.ID != second.ID {
			t.Errorf("the void credit note is %+v", voided)
		}
		f.credit(t, id)
	})
}

// TestOneCreditNoteNumberOnce: of many credit notes with one number that are submitted at the same time, one is.
func TestOneCreditNoteNumberOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		_, err := f.ConfirmCreditNotes(ctx, f.connection.ID, "C-1", "M-1")
		kit.Must(t, err)
		var ids []store.ID
		for _, number := range []string{"INV-1", "INV-2", "INV-3", "INV-4"} {
			ids = append(ids, f.note(t, f.acknowledged(t, number), "CN-1").ID)
		}
		errs := make([]error, len(ids))
		var group sync.WaitGroup
		for n, id := range ids {
			group.Go(func() { _, _, errs[n] = f.tenant.BeginCreditNoteSubmission(ctx, id, intent()) })
		}
		group.Wait()
		winner := slices.Index(errs, nil)
		if winner < 0 {
			t.Fatalf("none has begun: %v", errs)
		}
		for n, err := range errs {
			var duplicate *store.DuplicateNumberError
			if n != winner && (!errors.As(err, &duplicate) || duplicate.CreditNote != ids[winner]) {
				t.Errorf("credit note %d: %v", n, err)
			}
		}
	})
}

// TestConfirmationIsBound: a confirmation is bound to the credential. Nobody can add one in the database, move it or
// change it, and a changed address does not carry it over.
func TestConfirmationIsBound(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		for name, statement := range map[string]string{
			"added":   `update connections set credit_notes_at = 1, credit_notes_contract = 'C-1', credit_notes_mapping = 'M-1' where id = $1`,
			"another": `update connections set credit_notes_mapping = 'M-2' where id = $1`,
			"moved":   `update connections set base_url = 'https://elsewhere.example.com' where id = $1`,
			"removed": `update connections set credit_notes_at = null where id = $1`,
		} {
			c := f.newCompany(t, name+"@example.com")
			if name != "added" {
				confirmed, err := f.ConfirmCreditNotes(ctx, c.connection.ID, "C-1", "M-1")
				kit.Must(t, err)
				if _, err := f.Credential(confirmed); err != nil || confirmed.CreditNotes.At.IsZero() ||
					confirmed.CreditNotes.Contract != "C-1" {
					t.Fatalf("confirmed: %+v, %v", confirmed.CreditNotes, err)
				}
			}
			f.exec(t, statement, c.connection.ID)
			altered, err := f.Connection(ctx, c.connection.ID)
			kit.Must(t, err)
			if _, err := f.Credential(altered); !errors.Is(err, store.ErrChangedRow) {
				t.Errorf("%s: the credential opens: %v", name, err)
			}
		}
	})
}

// TestRestoredCreditNote: after a restore from a backup, a credit note gets the references that it had before: digests
// of the credit note and the ordinal.
func TestRestoredCreditNote(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		_, err := f.ConfirmCreditNotes(ctx, f.connection.ID, "C-1", "M-1")
		kit.Must(t, err)
		id := f.acknowledged(t, "INV-1")
		first, second := f.note(t, id, "CN-1"), f.note(t, id, "CN-2")
		recordOutcome(t, f.beginCredit(t, first.ID), api.OutcomeAcknowledged)
		_, err = f.MarkRestored(ctx)
		kit.Must(t, err)
		call := f.beginCredit(t, second.ID)
		later, err := call.LostReferences(ctx)
		kit.Must(t, err)
		if !call.Restored || len(later) != store.MaxLaterReferences || later[0].Ordinal != 2 {
			t.Fatalf("query first %t, later references %v", call.Restored, later)
		}
		adopted, err := call.Adopt(ctx, later[0], time.Minute)
		kit.Must(t, err)
		recorded := recordOutcome(t, adopted, api.OutcomeRejected)
		if recorded.CreditNote != second.ID || recorded.ID != later[0].ID || recorded.Ordinal != 2 ||
			recorded.Number != "CN-2" {
			t.Errorf("adopted %+v", recorded)
		}
		_, err = f.tenant.UpdateCreditNote(ctx, second.ID, always,
			func(present api.CreditNoteChange) (api.CreditNoteChange, error) { return present, nil })
		kit.Must(t, err)
		if next := f.beginCredit(t, second.ID); next.Submission.ID != later[1].ID || next.Submission.Ordinal != 3 {
			t.Errorf("the next submission is %s with ordinal %d, want %s", next.Submission.ID, next.Submission.Ordinal,
				later[1].ID)
		}
	})
}
