package store

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"quittance/client/api"
)

// MaxLaterReferences is the number of later references that are queried before the document of an invoice is sent that
// was created before the restore. Each time a draft changes after the provider has refused its document, the draft gets
// a new reference, and a restored database has lost that history. Nobody is expected to do this more often in a row.
const MaxLaterReferences = 4

// MarkRestored records that this database was restored from a backup and has lost what happened since:
//
//   - Every open submission becomes due, so that it is polled.
//   - Earlier responses that a document is missing no longer count, and administrators must order resends again.
//   - No document of an existing invoice is sent before the provider was asked for it (see
//     [SubmissionLease.Restored]). The row of each tenant says so, because a submission reads that row in any case.
//   - Every token is revoked, because it may have been revoked after the backup. For the same reason every link for a
//     new password ends.
//   - E-mails and notices that were still to be sent end, because they may have been sent after the backup, and their
//     links may have ended.
//   - Its backups are those of another database from now on ([DB.BackupIdentity]): the one that was backed up may still
//     exist.
//
// All of it is one transaction: if the process ends before the commit, nothing is marked and the command can be
// repeated. It returns the number of open submissions.
func (db *DB) MarkRestored(ctx context.Context) (open int64, err error) {
	return db.markRestored(ctx, map[string]string{})
}

// markRestored is [DB.MarkRestored] with further details for the audit log.
func (db *DB) markRestored(ctx context.Context, details map[string]string) (open int64, err error) {
	err = db.write(ctx, "record restore", func(ctx context.Context, t *tx) error {
		now := micros(t.Now())
		if open, err = t.Exec(ctx,
			`update submissions set due_at = $1, next_check_at = $1, lease = lease + 1 where due_at is not null`,
			now); err != nil {
			return err
		}
		if err := t.discardMissingProofs(ctx); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `update tenants set restored_at = $1`, now); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `update tokens set revoked_at = $1, seal = null where revoked_at is null`, now); err != nil {
			return err
		}
		for _, outdated := range [...]string{`delete from password_resets`, `delete from address_proofs`,
			`delete from sign_on_choices`, `delete from password_reset_requests`,
			`update notices set count = 0, due_at = null where due_at is not null`,
			`delete from settings where key = '` + settingBackupIdentity + `'`} {
			if _, err := t.Exec(ctx, outdated); err != nil {
				return err
			}
		}
		if err := t.endRestoredMails(ctx); err != nil {
			return err
		}
		t.notify(WorkSubmissions)
		details = maps.Clone(details) // the transaction can run again
		details["open_submissions"] = strconv.FormatInt(open, 10)
		return t.audit(Act{Name: "database.restored", SubjectType: "database", Details: details})
	})
	return open, err
}

// discardMissingProofs discards the responses that documents are missing, and the administrators' orders to send again.
func (t *tx) discardMissingProofs(ctx context.Context) error {
	type openSubmission struct {
		tenant      Tenant
		id, invoice ID
	}
	all, err := collect(ctx, t, func(row scanner) (openSubmission, error) {
		o := openSubmission{tenant: Tenant{db: t.db}}
		return o, row.Scan(&o.tenant.id, &o.tenant.account, &o.id, &o.invoice)
	}, `select tenant_id, account_id, id, invoice_id from submissions
		where due_at is not null and (resend <> 0 or missing_since is not null or missing_count <> 0) order by tenant_id, id`)
	if err != nil {
		return err
	}
	for _, o := range all {
		if err := o.tenant.lockInvoice(ctx, t, o.invoice); err != nil {
			return err
		}
		s, err := o.tenant.submission(ctx, t, o.id, t.db.dialect.ForUpdate())
		if err != nil {
			return err
		}
		s.ResendOrdered, s.ResendUnderWay, s.MissingSince, s.MissingCount = false, false, nil, 0
		if err := o.tenant.saveSubmission(ctx, t, &s); err != nil {
			return err
		}
	}
	return nil
}

// LostReference is a reference under which an invoice or a credit note may have been submitted after the backup that
// was restored.
type LostReference struct {
	ID      ID
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
	err := l.Tenant.read(func(q querier) (err error) {
		ordinals, err = collect(ctx, q, scanValue[int64], `select coalesce(credit_note_ordinal, ordinal) as n from submissions
			where tenant_id = $1 and invoice_id = $2 and coalesce(credit_note_id, invoice_id) = $3 and (outcome = 'not_sent' or id = $4)
			and exists (select 1 from tenants where id = $1 and restored_at >= coalesce(
				(select created_at from credit_notes where tenant_id = $1 and id = $3),
				(select created_at from invoices where tenant_id = $1 and id = $3))) order by n`,
			l.Tenant.id, l.Submission.Invoice, l.Submission.subject(), l.Submission.ID)
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
		out[n] = LostReference{ID: reference(l.Tenant.id, l.Submission.subject(), ordinal), Ordinal: ordinal,
			Earlier: ordinal < l.Submission.Ordinal}
	}
	return out, nil
}

// Adopt replaces this submission, which the provider does not know, by one under a later reference, which it knows. The
// outcome of the new submission is unknown until the caller has looked it up under the new lease. Adopt returns
// [ErrLeaseLost] if another worker has the lease.
func (l SubmissionLease) Adopt(ctx context.Context, known LostReference,
	duration time.Duration) (SubmissionLease, error) {
	t := l.Tenant
	err := t.write(ctx, "adopt submission", func(ctx context.Context, tx *tx) error {
		was, err := t.lockCounted(ctx, tx, l.Submission.Invoice)
		if err != nil {
			return err
		}
		s, err := t.submission(ctx, tx, l.Submission.ID, t.db.dialect.ForUpdate())
		if err != nil {
			return err
		}
		if s.fencingToken != l.Submission.fencingToken || s.Outcome != api.OutcomeInProgress &&
			s.Outcome != api.OutcomeUnknown {
			return ErrLeaseLost
		}
		if s.countsAsDraft() {
			tx.use(t.id, usage{drafts: -1}) // the adopted submission has an outcome
		}
		s.Outcome, s.Current, s.DueAt, s.NextCheckAt = OutcomeNotSent, false, nil, nil
		s.fencingToken++
		if err := t.saveSubmission(ctx, tx, &s); err != nil {
			return err
		}
		document, err := t.document(ctx, tx, s.ID)
		if err != nil {
			return err
		}
		now := tx.Now()
		due := now.Add(duration)
		adopted := Submission{ID: known.ID, Ordinal: known.Ordinal, Invoice: s.Invoice, CreditNote: s.CreditNote,
			Connection: s.Connection, Number: s.Number, InvoiceNumber: s.InvoiceNumber, Outcome: api.OutcomeUnknown,
			AttemptedAt: s.AttemptedAt, SentAt: s.AttemptedAt, Current: true, DueAt: &due, NextCheckAt: &due, fencingToken: 1,
			counted: was}
		if err := t.insertSubmission(ctx, tx, &adopted, document); err != nil {
			return err
		}
		l.Submission = adopted
		return t.touch(ctx, tx, &adopted, now)
	})
	return l, err
}
