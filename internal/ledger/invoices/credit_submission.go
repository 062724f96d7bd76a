package invoices

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/problem"
)

// creditedColumns are the columns that only the submission of a credit note has; see schema/0047_baseline.sql.
type creditedColumns struct {
	note    sql.Null[base.ID]
	ordinal sql.Null[int64]
	number  sql.Null[string] // of the credited invoice
}

// creditNoteNumber precedes the number of a credit note in the column number, so that credit notes have numbers of
// their own under the unique index of the numbers of invoices.
const creditNoteNumber = "\x01"

// The values of the column current for the current submission. An invoice and each of its credit notes have one each.
const (
	currentOfInvoice    = 1
	currentOfCreditNote = 2
)

// restoreCredited sets what the columns of a credit note say, and what others mean with them. current is the column of
// that name.
func (s *Submission) restoreCredited(current int64) error {
	s.CreditNote, s.Ordinal, s.InvoiceNumber, s.Current = s.credited.note.V, s.place, s.Number, current != 0
	if s.credited.ordinal.Valid {
		s.Ordinal = s.credited.ordinal.V
	}
	if s.credited.number.Valid {
		s.InvoiceNumber = s.credited.number.V
	}
	number, prefixed := strings.CutPrefix(s.Number, creditNoteNumber)
	if s.Number = number; prefixed != s.credited.note.Valid || current != s.storedCurrent() {
		return fmt.Errorf("submission %s: a stored value is impossible", s.ID)
	}
	return nil
}

// storedNumber is the number as the column holds it.
func (s *Submission) storedNumber() string {
	if s.CreditNote.IsZero() {
		return s.Number
	}
	return creditNoteNumber + s.Number
}

// storedCurrent is the value of the column current.
func (s *Submission) storedCurrent() int64 {
	switch {
	case !s.Current:
		return 0
	case s.CreditNote.IsZero():
		return currentOfInvoice
	}
	return currentOfCreditNote
}

// subject is the identifier of the invoice or the credit note that the reference is a digest of.
func (s *Submission) subject() base.ID {
	if !s.CreditNote.IsZero() {
		return s.CreditNote
	}
	return s.Invoice
}

// countsAsDraft reports whether the quota of drafts still counts the invoice of a submission. It never counts credit
// notes.
func (s *Submission) countsAsDraft() bool {
	return s.CreditNote.IsZero() && s.Outcome == api.OutcomeInProgress
}

// place sets the columns in which the submission of a credit note differs from that of an invoice. The invoice is
// locked.
func place(ctx context.Context, t *base.Tenant, q base.Querier, s *Submission) error {
	s.place = s.Ordinal
	if s.CreditNote.IsZero() {
		return nil
	}
	s.credited = creditedColumns{note: sql.Null[base.ID]{V: s.CreditNote, Valid: true},
		ordinal: sql.Null[int64]{V: s.Ordinal, Valid: true},
		number:  sql.Null[string]{V: s.InvoiceNumber, Valid: true}}
	return q.QueryRowContext(ctx,
		`select coalesce(min(ordinal), 0) - 1 from submissions where tenant_id = $1 and invoice_id = $2 and ordinal < 0`,
		t.ID(), s.Invoice).Scan(&s.place)
}

// currentCreditNoteSubmission reads the current submission of a credit note, nil if it has none.
func currentCreditNoteSubmission(ctx context.Context, t *base.Tenant, q base.Querier,
	note base.ID) (*Submission, error) {
	return submissionOrNil(q.QueryRowContext(ctx, `select `+SubmissionColumns(t.DB())+`
		from submissions where tenant_id = $1 and credit_note_id = $2 and current = 2`, t.ID(), note))
}

// creditNotePreconditions reads [submissionPreconditions] of the credit note $3 with the stored number $4, which was
// created at $5.
const creditNotePreconditions = `select ` + base.AccountColumns + `,
		(select coalesce(max(credit_note_ordinal), 0) from submissions where tenant_id = $2 and credit_note_id = $3),
		exists (select 1 from submissions where tenant_id = $2 and credit_note_id = $3 and current = 2),
		exists (select 1 from tenants where id = $2 and restored_at >= $5),
		coalesce((select credit_note_id from submissions where tenant_id = $2 and number = $4 and outcome in ('in_progress', 'acknowledged', 'unknown')),
		(select credit_note_id from submissions where tenant_id = $2 and contradicted_at is not null and credit_note_id is not null and (number = $4 or credit_note_id = $3) limit 1))
	from accounts where id = $1 and exists (select 1 from tenants where id = $2 and account_id = $1 and frozen_at is null)`

// creditable returns an error if a credit note cannot be submitted over a connection, which is the zero value if there
// is none.
func (d sendable) creditable(c Connection) error {
	switch s := d.invoice.Submission; {
	case c.CreditNotes == nil:
		return ErrCreditNotesDisabled
	case d.note.VoidedAt != nil:
		return ErrCreditNoteVoid
	case s == nil || s.Outcome != api.OutcomeAcknowledged:
		return ErrNotAcknowledged
	}
	return nil
}

// duplicate returns the error for a number that holder has.
func (d sendable) duplicate(holder base.ID) error {
	if d.note != nil {
		return &DuplicateNumberError{CreditNote: holder}
	}
	return &DuplicateNumberError{Invoice: holder}
}

// BeginCreditNoteSubmission commits the intent to submit a credit note, like [BeginSubmission]. The active
// connection must have the confirmation of [ConfirmCreditNotes], and the provider must have acknowledged the
// credited invoice.
func BeginCreditNoteSubmission(ctx context.Context, t *base.Tenant, id base.ID,
	intent Intent) (lease SubmissionLease, begun bool, err error) {
	err = t.Write(ctx, "begin credit note submission", func(ctx context.Context, tx *base.Tx) error {
		lease, begun = SubmissionLease{Tenant: t.Service()}, false
		note, credited, err := lockedCreditNote(ctx, t, tx, id)
		if err != nil {
			return err
		}
		lease.note = note
		if s := note.Submission; s != nil {
			if s.Outcome == api.OutcomeInProgress {
				return ErrSubmissionInProgress
			}
			lease.Submission = *s
			return nil
		}
		current, err := currentSubmission(ctx, t, tx, credited.ID)
		if err != nil {
			return err
		}
		begun, credited.Submission = true, current
		return beginAudited(ctx, t, tx, sendable{invoice: &credited, note: &note}, intent, &lease)
	})
	return lease, begun, duplicateNumber(ctx, t, err, sendable{invoice: &lease.invoice, note: &lease.note})
}

// SubmittedCreditNote is [SubmissionLease.Submitted] for a lease that [BeginCreditNoteSubmission] returned.
func (l SubmissionLease) SubmittedCreditNote() CreditNote {
	note, s := l.note, l.Submission
	note.Submission = &s
	if s.version > 0 {
		note.Version, note.UpdatedAt = s.version, s.updatedAt
	}
	return note
}

// retireCreditNoteSubmission ends the time of the current submission of a credit note, as [retireSubmission]
// does for an invoice.
func retireCreditNoteSubmission(ctx context.Context, t *base.Tenant, tx *base.Tx, note base.ID) error {
	current, err := currentCreditNoteSubmission(ctx, t, tx, note)
	if err != nil || current == nil {
		return err
	}
	current.Current = false
	return SaveSubmission(ctx, t, tx, current)
}

// ErrCreditNoteNotEditable says that a credit note cannot be changed or voided, because it is submitted and not
// rejected, or void.
var ErrCreditNoteNotEditable = problem.New(api.CodeCreditNoteNotEditable, "credit note not editable")

// editable returns an error if a credit note cannot be changed or voided.
func (n *CreditNote) editable() error {
	if n.Submission != nil && !n.Submission.Correctable() {
		return ErrCreditNoteNotEditable
	}
	return nil
}

// voidAt voids n.
func (n *CreditNote) voidAt(now time.Time) {
	n.Version, n.UpdatedAt, n.VoidedAt = n.Version+1, now, &now
}
