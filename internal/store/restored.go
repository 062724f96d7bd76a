package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"quittance/sdk/go/api"
)

// MaxLaterReferences is the number of later references that are looked up before the document of an invoice is sent that was
// created before the restore. Each time a draft changes after the provider has refused its document, the draft gets a new
// reference, and a restored database has lost that history. Nobody is expected to do this more often in a row.
const MaxLaterReferences = 4

// settingRestored is the key of the setting that holds when the database was restored from a backup, in microseconds since 1970.
const settingRestored = "restored_at"

// MarkRestored records that this database was restored from a backup and has lost what happened since:
//
//   - Every open submission becomes due, so that the provider is asked about it.
//   - Earlier responses that a document is missing no longer count, and administrators must order resends again.
//   - No document of an existing invoice is sent before the provider was asked for it (see [SubmissionLease.QueryFirst]).
//   - Every token is revoked, because it may have been revoked after the backup.
//
// It returns the number of open submissions.
func (db *DB) MarkRestored(ctx context.Context) (open int64, err error) {
	err = db.write(ctx, "record restore", func(ctx context.Context, t *tx) error {
		now := micros(t.now())
		if _, err := t.exec(ctx, `insert into settings (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value`,
			settingRestored, strconv.FormatInt(now, 10)); err != nil {
			return err
		}
		if open, err = t.exec(ctx, `update submissions set due_at = $1, next_check_at = $1, lease = lease + 1 where due_at is not null`, now); err != nil {
			return err
		}
		if err := t.discardMissingProofs(ctx); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `update tokens set revoked_at = $1 where revoked_at is null`, now); err != nil {
			return err
		}
		t.notify(WorkSubmissions)
		return t.audit(ctx, Act{Name: "database.restored", SubjectType: "database", Details: map[string]string{"open_submissions": strconv.FormatInt(open, 10)}})
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

// restoredAt is the setting restored_at; null in a database that was never restored.
type restoredAt struct{ sql.Null[string] }

// notBefore tells whether the database was restored after an invoice was created.
func (r restoredAt) notBefore(created time.Time) (bool, error) {
	if !r.Valid {
		return false, nil
	}
	at, err := strconv.ParseInt(r.V, 10, 64)
	if err != nil {
		return false, fmt.Errorf("setting %s: %w", settingRestored, err)
	}
	return micros(created) <= at, nil
}

// LaterReference is a reference under which an invoice may have been submitted after the backup that was restored.
type LaterReference struct {
	ID      ID
	Ordinal int64
}

// LaterReferences returns the references after the submission's own that must be looked up before the submission is sent. There
// are none unless the database was restored after the invoice was created.
func (l SubmissionLease) LaterReferences(ctx context.Context) ([]LaterReference, error) {
	var out []LaterReference
	err := l.Tenant.read(func(q querier) error {
		var created int64
		var restored restoredAt
		if err := q.QueryRowContext(ctx, `select created_at, (select value from settings where key = 'restored_at') from invoices
			where tenant_id = $1 and id = $2`, l.Tenant.id, l.Submission.Invoice).Scan(&created, &restored.Null); err != nil {
			return err
		}
		older, err := restored.notBefore(instant(created))
		if err != nil || !older {
			return err
		}
		for n := range int64(MaxLaterReferences) {
			ordinal := l.Submission.Ordinal + 1 + n
			out = append(out, LaterReference{ID: reference(l.Tenant.id, l.Submission.Invoice, ordinal), Ordinal: ordinal})
		}
		return nil
	})
	return out, err
}

// AdoptLater replaces this submission, which the provider does not know, by one under a later reference, which it knows. The
// outcome of the new submission is unknown until the caller has looked it up under the new lease. AdoptLater returns
// [ErrLeaseLost] if another worker has the lease.
func (l SubmissionLease) AdoptLater(ctx context.Context, known LaterReference, lease time.Duration) (SubmissionLease, error) {
	t := l.Tenant
	err := t.write(ctx, "adopt submission", func(ctx context.Context, tx *tx) error {
		if err := t.lockInvoice(ctx, tx, l.Submission.Invoice); err != nil {
			return err
		}
		s, err := t.submission(ctx, tx, l.Submission.ID, t.db.dialect.ForUpdate())
		if err != nil {
			return err
		}
		if s.lease != l.Submission.lease || s.Outcome != api.OutcomeInProgress && s.Outcome != api.OutcomeUnknown {
			return ErrLeaseLost
		}
		s.Outcome, s.Current, s.DueAt, s.NextCheckAt = OutcomeNotSent, false, nil, nil
		s.lease++
		if err := t.saveSubmission(ctx, tx, &s); err != nil {
			return err
		}
		if s.Outcome == api.OutcomeInProgress {
			tx.use(t.id, usage{drafts: -1})
		}
		document, err := t.document(ctx, tx, s.ID)
		if err != nil {
			return err
		}
		now := tx.now()
		due := now.Add(lease)
		adopted := Submission{ID: known.ID, Ordinal: known.Ordinal, Invoice: s.Invoice, Connection: s.Connection, Number: s.Number,
			Outcome: api.OutcomeUnknown, AttemptedAt: s.AttemptedAt, SentAt: s.AttemptedAt, Current: true, DueAt: &due, NextCheckAt: &due, lease: 1}
		if err := t.insertSubmission(ctx, tx, &adopted, document); err != nil {
			return err
		}
		l.Submission = adopted
		return t.touchInvoice(ctx, tx, s.Invoice, now)
	})
	return l, err
}
