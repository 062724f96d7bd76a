package invoices

import (
	"context"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
)

// MaxLaterReferences is the number of later references that are queried before the document of an invoice is sent that
// was created before the restore. Each time a draft changes after the provider has refused its document, the draft gets
// a new reference, and a restored database has lost that history. Nobody is expected to do this more often in a row.
const MaxLaterReferences = 4

// LostReference is a reference under which an invoice or a credit note may have been submitted after the backup that
// was restored.
type LostReference struct {
	ID      base.ID
	Ordinal int64
	// Earlier says that it comes before the reference of the submission: the database has a document of it, which may be
	// another one than is sent now, and cannot be adopted.
	Earlier bool
}

// LostReferences returns the references beside the submission's own under which the provider may have the document:
// those of earlier submissions that it had not received when the backup was made, and the next [MaxLaterReferences].
// There are none unless the database was restored after the invoice or the credit note was created.
func (l SubmissionLease) LostReferences(ctx context.Context) ([]LostReference, error) {
	var ordinals []int64
	err := l.Tenant.Read(func(q base.Querier) (err error) {
		ordinals, err = base.Collect(ctx, q, base.ScanValue[int64], `select coalesce(credit_note_ordinal, ordinal) as n from submissions
			where tenant_id = $1 and invoice_id = $2 and coalesce(credit_note_id, invoice_id) = $3 and (outcome = 'not_sent' or id = $4)
			and exists (select 1 from tenants where id = $1 and restored_at >= coalesce(
				(select created_at from credit_notes where tenant_id = $1 and id = $3),
				(select created_at from invoices where tenant_id = $1 and id = $3))) order by n`,
			l.Tenant.ID(), l.Submission.Invoice, l.Submission.subject(), l.Submission.ID)
		return err
	})
	if err != nil || len(ordinals) == 0 {
		return nil, err
	}
	for n := range int64(MaxLaterReferences) {
		ordinals = append(ordinals, l.Submission.Ordinal+1+n)
	}
	ordinals = slices.DeleteFunc(ordinals, func(ordinal int64) bool { return ordinal == l.Submission.Ordinal })
	out := make([]LostReference, len(ordinals))
	for n, ordinal := range ordinals {
		out[n] = LostReference{ID: reference(l.Tenant.ID(), l.Submission.subject(), ordinal), Ordinal: ordinal,
			Earlier: ordinal < l.Submission.Ordinal}
	}
	return out, nil
}

// Adopt replaces this submission, which the provider does not know, by one under a later reference, which it knows. The
// outcome of the new submission is unknown until the caller has looked it up under the new lease. Adopt returns
// [base.ErrLeaseLost] if another worker has the lease.
func (l SubmissionLease) Adopt(ctx context.Context, known LostReference,
	duration time.Duration) (SubmissionLease, error) {
	t := l.Tenant
	err := t.Write(ctx, "adopt submission", func(ctx context.Context, tx *base.Tx) error {
		was, err := lockCounted(ctx, t, tx, l.Submission.Invoice)
		if err != nil {
			return err
		}
		s, err := ReadSubmission(ctx, t, tx, l.Submission.ID, t.DB().Dialect().ForUpdate())
		if err != nil {
			return err
		}
		if s.fencingToken != l.Submission.fencingToken || s.Outcome != api.OutcomeInProgress &&
			s.Outcome != api.OutcomeUnknown {
			return base.ErrLeaseLost
		}
		if s.countsAsDraft() {
			tx.Use(t.ID(), base.Usage{Drafts: -1}) // the adopted submission has an outcome
		}
		s.Outcome, s.Current, s.DueAt, s.NextCheckAt = OutcomeNotSent, false, nil, nil
		s.fencingToken++
		if err := SaveSubmission(ctx, t, tx, &s); err != nil {
			return err
		}
		document, err := readDocument(ctx, t, tx, s.ID)
		if err != nil {
			return err
		}
		now := tx.Now()
		due := now.Add(duration)
		adopted := Submission{ID: known.ID, Ordinal: known.Ordinal, Invoice: s.Invoice, CreditNote: s.CreditNote,
			Connection: s.Connection, Number: s.Number, InvoiceNumber: s.InvoiceNumber, Outcome: api.OutcomeUnknown,
			AttemptedAt: s.AttemptedAt, SentAt: s.AttemptedAt, Current: true, DueAt: &due, NextCheckAt: &due, fencingToken: 1,
			counted: was}
		if err := insertSubmission(ctx, t, tx, &adopted, document); err != nil {
			return err
		}
		l.Submission = adopted
		return touch(ctx, t, tx, &adopted, now)
	})
	return l, err
}
