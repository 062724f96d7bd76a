package invoices

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
)

// BeginSubmission commits the intent to submit an invoice under a permanent reference. If a submission with an outcome
// is already recorded, BeginSubmission returns it and begun is false: the caller sends nothing.
func BeginSubmission(ctx context.Context, t *base.Tenant, invoiceID base.ID,
	intent Intent) (lease SubmissionLease, begun bool, err error) {
	err = t.Write(ctx, "begin submission", func(ctx context.Context, tx *base.Tx) error {
		lease, begun = SubmissionLease{Tenant: t.Service()}, false
		found, err := readInvoice(ctx, t, tx, invoiceID, t.DB().Dialect().ForUpdate())
		if err != nil {
			return err
		}
		if s := found.Submission; s != nil {
			if s.Outcome == api.OutcomeInProgress {
				return ErrSubmissionInProgress
			}
			lease.Submission, lease.invoice = *s, found
			return nil
		}
		begun = true
		lease.invoice = found
		return beginAudited(ctx, t, tx, sendable{invoice: &found}, intent, &lease)
	})
	return lease, begun, duplicateNumber(ctx, t, err, sendable{invoice: &lease.invoice})
}

// sendable is what is submitted: an invoice, or a credit note of it.
type sendable struct {
	invoice *Invoice
	note    *CreditNote // nil for the invoice itself
}

func (d sendable) id() base.ID {
	if d.note != nil {
		return d.note.ID
	}
	return d.invoice.ID
}

func (d sendable) number() string {
	if d.note != nil {
		return d.note.Number
	}
	return *d.invoice.Draft.InvoiceNumber
}

// storedNumber is the number as the column holds it.
func (d sendable) storedNumber() string {
	if d.note != nil {
		return creditNoteNumber + d.note.Number
	}
	return d.number()
}

// submitted is the act of submitting d.
func (d sendable) submitted(s Submission) base.Act {
	act := base.Act{Name: "invoice.submit", SubjectType: "invoice", Subject: d.id().String(),
		Details: map[string]string{"invoice_number": d.number(), "submission": s.ID.String(),
			"connection": s.Connection.String()}}
	if d.note != nil {
		act.Name, act.SubjectType = "credit_note.submit", "credit_note"
		act.Details["credit_note_number"], act.Details["invoice_number"] = d.number(), *d.invoice.Draft.InvoiceNumber
	}
	return act
}

// beginAudited is [begin] with its entry in the audit log.
func beginAudited(ctx context.Context, t *base.Tenant, tx *base.Tx, d sendable, intent Intent,
	lease *SubmissionLease) error {
	if err := begin(ctx, t, tx, d, intent, lease); err != nil {
		return err
	}
	return t.Audit(tx, d.submitted(lease.Submission))
}

// begin checks the document and the connection, reserves the number and writes the intent.
func begin(ctx context.Context, t *base.Tenant, tx *base.Tx, d sendable, intent Intent, lease *SubmissionLease) error {
	p, err := readPreconditions(ctx, t, tx, d)
	if err != nil {
		return err
	}
	s, before, err := nextSubmission(ctx, t, tx, d, p)
	if err != nil {
		return err
	}
	connection, unusable := usableConnection(ctx, t, tx, intent.Environment, intent.Release)
	if unusable != nil && !errors.Is(unusable, ErrConnectionRequired) && !errors.Is(unusable, ErrNotApproved) {
		return unusable
	}
	if d.note != nil {
		if err := d.creditable(connection); err != nil {
			return err
		}
	}
	source := Source{Invoice: d.invoice.ID, Draft: &d.invoice.Draft, Credit: d.note, Seller: &p.account.Profile,
		Reference: s.ID.String(), Kind: connection.Kind, Format: connection.Format, Options: connection.Options}
	document, missing, err := intent.Render(source)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return &IncompleteError{Missing: missing}
	}
	if unusable != nil {
		return unusable
	}
	lease.Connection = connection
	if p.numberHolder != (base.ID{}) {
		return d.duplicate(p.numberHolder)
	}
	if before != nil && s.Evidence > 0 && before.Subject != sha256.Sum256(document) {
		// The evidence under this reference is about another document, for instance because the company's profile has changed
		// since. The new document gets a reference of its own.
		s.Current = false
		if err := SaveSubmission(ctx, t, tx, &s); err != nil {
			return err
		}
		s, before = freshSubmission(t, d, p), nil
		source.Reference = s.ID.String()
		if document, _, err = intent.Render(source); err != nil {
			return err
		}
	}
	now := tx.Now()
	s.Connection, s.Number, s.InvoiceNumber = lease.Connection.ID, d.number(), *d.invoice.Draft.InvoiceNumber
	previousIntent := s.AttemptedAt
	s.Outcome, s.AttemptedAt, s.SentAt, s.Current = api.OutcomeInProgress, now, now, true
	s.DueAt, s.PollWait = new(now.Add(intent.LeaseDuration)), 0 //planted:no-poll-after-a-crash
	s.NextCheckAt = s.DueAt
	s.fencingToken++
	if before != nil {
		err = restartSubmission(ctx, t, tx, &s, previousIntent, *before, document)
	} else {
		err = insertSubmission(ctx, t, tx, &s, document)
	}
	if err != nil {
		return err
	}
	lease.Submission, lease.Document, lease.Restored = s, document, p.restored
	return touch(ctx, t, tx, &s, now)
}

// restartedRow are the columns of a submission that begins again under its reference.
type restartedRow struct {
	Tenant      base.ID         `db:"tenant_id,key"`
	ID          base.ID         `db:"id,key"`
	Connection  base.ID         `db:"connection_id"`
	Number      string          `db:"number"`
	Document    string          `db:"document"`
	Outcome     api.Outcome     `db:"outcome"`
	AttemptedAt int64           `db:"attempted_at"`
	SentAt      int64           `db:"sent_at"`
	DueAt       int64           `db:"due_at"`
	NextCheckAt int64           `db:"next_check_at"`
	Lease       int64           `db:"lease"`
	PollWait    int64           `db:"poll_wait"` // 0: it is polled soon
	BegunAt     sql.Null[int64] `db:"begun_at"`
	Seal        []byte          `db:"evidence_seal"`
}

// restartSubmission writes another intent under the reference of a submission that the provider did not receive.
// previousIntent is the time of the previous intent.
func restartSubmission(ctx context.Context, t *base.Tenant, tx *base.Tx, s *Submission, previousIntent time.Time,
	before base.Seal, document []byte) error {
	if !s.BegunAt.Valid {
		s.BegunAt = sql.Null[int64]{V: base.Micros(previousIntent), Valid: true}
	}
	before.Subject = sha256.Sum256(document)
	if err := SealAs(t, s, before); err != nil {
		return err
	}
	statement, args := base.Update("submissions", restartedRow{Tenant: t.ID(), ID: s.ID, Connection: s.Connection,
		Number: s.storedNumber(), Document: string(document), Outcome: s.Outcome, AttemptedAt: base.Micros(s.AttemptedAt),
		SentAt: base.Micros(s.AttemptedAt), DueAt: base.Micros(*s.DueAt), NextCheckAt: base.Micros(*s.DueAt),
		Lease: s.fencingToken, BegunAt: s.BegunAt, Seal: s.Sealed})
	return tx.ExecDeferred(ctx, statement, args...)
}

// submissionRow is a new submission.
type submissionRow struct {
	Tenant            base.ID           `db:"tenant_id"`
	ID                base.ID           `db:"id"`
	Account           base.ID           `db:"account_id"`
	Connection        base.ID           `db:"connection_id"`
	Invoice           base.ID           `db:"invoice_id"`
	Ordinal           int64             `db:"ordinal"`
	Current           int64             `db:"current"`
	Number            string            `db:"number"`
	Document          string            `db:"document"`
	Outcome           api.Outcome       `db:"outcome"`
	AttemptedAt       int64             `db:"attempted_at"`
	SentAt            int64             `db:"sent_at"`
	PollWait          int64             `db:"poll_wait"` // 0: it is polled soon
	DueAt             int64             `db:"due_at"`
	NextCheckAt       int64             `db:"next_check_at"`
	Lease             int64             `db:"lease"`
	Seal              []byte            `db:"evidence_seal"`
	BegunAt           int64             `db:"begun_at"`
	CreditNote        sql.Null[base.ID] `db:"credit_note_id"`
	CreditNoteOrdinal sql.Null[int64]   `db:"credit_note_ordinal"`
	CreditedNumber    sql.Null[string]  `db:"credited_number"`
}

// insertSubmission writes the first intent under a reference. The row is sealed from the start, although its evidence
// chain is still empty.
func insertSubmission(ctx context.Context, t *base.Tenant, tx *base.Tx, s *Submission, document []byte) error {
	s.tenant, s.Account, s.BegunAt = t.ID(), t.Account(), sql.Null[int64]{V: base.Micros(s.AttemptedAt), Valid: true}
	if err := place(ctx, t, tx, s); err != nil {
		return err
	}
	if err := SealAs(t, s, base.Seal{Subject: sha256.Sum256(document)}); err != nil {
		return err
	}
	statement, args := base.Insert("submissions", submissionRow{Tenant: t.ID(), ID: s.ID, Account: t.Account(),
		Connection: s.Connection, Invoice: s.Invoice, Ordinal: s.place, Current: s.storedCurrent(),
		Number: s.storedNumber(), Document: string(document), Outcome: s.Outcome, AttemptedAt: base.Micros(s.AttemptedAt),
		SentAt: base.Micros(s.SentAt), DueAt: base.Micros(*s.DueAt), NextCheckAt: base.Micros(*s.DueAt),
		Lease: s.fencingToken, Seal: s.Sealed, BegunAt: base.Micros(s.AttemptedAt), CreditNote: s.credited.note,
		CreditNoteOrdinal: s.credited.ordinal, CreditedNumber: s.credited.number})
	return tx.ExecDeferred(ctx, statement, args...)
}

// submissionPreconditions is what a submission depends on, besides the invoice or the credit note.
type submissionPreconditions struct {
	account     base.Account
	lastOrdinal int64 // ordinal of its last submission, 0 before the first
	hasUnsent   bool  // the provider did not receive the last one, which can be restarted
	restored    bool  // the database was restored from a backup after it was created
	// numberHolder is the invoice, or the credit note, that was submitted with the same number, if any. It is the document
	// itself if the provider has reported a document of it that an administrator had resolved by rejecting it.
	numberHolder base.ID
}

// readPreconditions reads what a submission depends on. The invoice is locked. A frozen tenant begins nothing new, not
// even for a request that was in progress when the tenant was frozen.
func readPreconditions(ctx context.Context, t *base.Tenant, q base.Querier,
	d sendable) (submissionPreconditions, error) {
	var p submissionPreconditions
	var holder sql.Null[base.ID]
	query, createdAt := `select `+base.AccountColumns+`,
			(select coalesce(max(ordinal), 0) from submissions where tenant_id = $2 and invoice_id = $3),
			exists (select 1 from submissions where tenant_id = $2 and invoice_id = $3 and current = 1),
			exists (select 1 from tenants where id = $2 and restored_at >= $5),
			coalesce((select invoice_id from submissions where tenant_id = $2 and number = $4 and outcome in ('in_progress', 'acknowledged', 'unknown')),
			(select invoice_id from submissions where tenant_id = $2 and contradicted_at is not null and credit_note_id is null and (number = $4 or invoice_id = $3) limit 1))
		from accounts where id = $1 and exists (select 1 from tenants where id = $2 and account_id = $1 and frozen_at is null)`, d.invoice.CreatedAt
	if d.note != nil {
		query, createdAt = creditNotePreconditions, d.note.CreatedAt
	}
	account, err := base.ScanAccount(q.QueryRowContext(ctx, query, t.Account(), t.ID(), d.id(), d.storedNumber(),
		base.Micros(createdAt)),
		&p.lastOrdinal, &p.hasUnsent, &p.restored, &holder)
	p.account, p.numberHolder = account, holder.V //planted:number-checked-across-tenants
	return p, err
}

// nextSubmission returns the next submission of an invoice or a credit note, with its reference. A submission that the
// provider did not receive is used again with its reference; before is then the content of its seal.
func nextSubmission(ctx context.Context, t *base.Tenant, tx *base.Tx, d sendable,
	p submissionPreconditions) (s Submission, before *base.Seal, err error) {
	if !p.hasUnsent {
		return freshSubmission(t, d, p), nil, nil
	}
	var current *Submission
	if d.note != nil {
		current, err = currentCreditNoteSubmission(ctx, t, tx, d.note.ID)
	} else {
		current, err = currentSubmission(ctx, t, tx, d.invoice.ID)
	}
	if err != nil {
		return s, nil, err
	}
	found, err := verifySeal(ctx, t, tx, current)
	return *current, &found, err
}

// freshSubmission returns a new submission with the next ordinal of the invoice or the credit note.
func freshSubmission(t *base.Tenant, d sendable, p submissionPreconditions) Submission {
	s := Submission{Invoice: d.invoice.ID, ID: reference(t.ID(), d.id(), p.lastOrdinal+1), Ordinal: p.lastOrdinal + 1,
		InvoiceNumber: *d.invoice.Draft.InvoiceNumber}
	if d.note != nil {
		s.CreditNote = d.note.ID
	}
	return s
}

// touch increments the version of the invoice or the credit note of a submission, which has changed, and counts the
// invoice as what it is now.
func touch(ctx context.Context, t *base.Tenant, tx *base.Tx, s *Submission, now time.Time) error {
	if !s.CreditNote.IsZero() {
		return tx.ExecDeferred(ctx,
			`update credit_notes set version = version + 1, updated_at = $3 where tenant_id = $1 and id = $2`, t.ID(),
			s.CreditNote, base.Micros(now))
	}
	if !s.Current || !s.counted.current || s.Outcome == api.OutcomeInProgress {
		// It stays counted as it is, or is still to be counted.
		return tx.ExecDeferred(ctx,
			`update invoices set version = version + 1, counted_version = counted_version + 1, updated_at = $3 where tenant_id = $1 and id = $2`, t.ID(), s.Invoice, base.Micros(now))
	}
	after := s.counted.submitted(s.Outcome, s.States, s.AttemptedAt)
	recount(tx, t.ID(), s.counted.tally, after)
	return tx.ExecDeferred(ctx,
		`update invoices set version = version + 1, counted_version = counted_version + 1, updated_at = $3, category = $4, counted = $5
		where tenant_id = $1 and id = $2`, t.ID(), s.Invoice, base.Micros(now), after.category, after.text())
}

// duplicateNumber replaces err, if it says that the number of d was taken by another document at the same time, by the
// error that names it.
func duplicateNumber(ctx context.Context, t *base.Tenant, err error, d sendable) error {
	if err == nil || t == nil || t.DB() == nil || t.DB().SQL().ViolatedConstraint(err) != base.IndexSubmissionNumber {
		return err
	}
	return t.Read(func(q base.Querier) error {
		var holder base.ID
		err := q.QueryRowContext(ctx, `select coalesce(credit_note_id, invoice_id) from submissions where tenant_id = $1 and number = $2
			and outcome in ('in_progress', 'acknowledged', 'unknown')`, t.ID(), d.storedNumber()).Scan(&holder)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrSubmissionInProgress // the winner was not sent: the caller may try again
		}
		if err != nil {
			return err
		}
		return d.duplicate(holder)
	})
}
