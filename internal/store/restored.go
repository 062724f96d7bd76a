package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"quittance/api"
)

// MaxLaterReferences is how many references after its own are asked about before a document of an invoice is sent that is older
// than the restore. A document that certainly was not taken leaves its reference unused when it is changed, and a
// restored database has forgotten that; this many times in a row is more than anybody tries.
const MaxLaterReferences = 4

// settingRestored is when the database was restored from a backup, in microseconds since 1970.
const settingRestored = "restored_at"

// MarkRestored records that this database was restored from a backup: what happened since the backup, it does not know. So
// every open submission is due to be asked about, what was proven about missing documents counts no more, and what an
// administrator has decided has to be decided anew; nothing of an invoice that exists now is sent before the provider
// was asked for it ([SubmissionLease.QueryFirst]); and every token is revoked, because some may have been since. It returns how many
// submissions are open.
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
		if err := t.forgetMissing(ctx); err != nil {
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

// forgetMissing ends what was proven about missing documents, and what an administrator has decided about them.
func (t *tx) forgetMissing(ctx context.Context) error {
	type open struct {
		tenant      Tenant
		id, invoice ID
	}
	all, err := collect(ctx, t, func(row scanner) (open, error) {
		o := open{tenant: Tenant{db: t.db}}
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
		s, err := o.tenant.submission(ctx, t, o.id, t.db.lock)
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

// restoredAt is the setting of that name; null in a database that was never restored.
type restoredAt struct{ sql.Null[string] }

// since tells whether the database was restored since an invoice was created.
func (r restoredAt) since(created time.Time) (bool, error) {
	if !r.Valid {
		return false, nil
	}
	at, err := strconv.ParseInt(r.V, 10, 64)
	if err != nil {
		return false, fmt.Errorf("setting %s: %w", settingRestored, err)
	}
	return micros(created) <= at, nil
}

// LaterReference is a reference that an invoice may have been submitted under in what a restored database has forgotten.
type LaterReference struct {
	ID      ID
	Ordinal int64
}

// LaterReferences returns the references after the submission's own that have to be asked about before it is sent: none unless
// the database was restored since its invoice was created.
func (c SubmissionLease) LaterReferences(ctx context.Context) ([]LaterReference, error) {
	var out []LaterReference
	err := c.Tenant.read(func(q querier) error {
		var created int64
		var restored restoredAt
		if err := q.QueryRowContext(ctx, `select created_at, (select value from settings where key = 'restored_at') from invoices
			where tenant_id = $1 and id = $2`, c.Tenant.id, c.Submission.Invoice).Scan(&created, &restored.Null); err != nil {
			return err
		}
		older, err := restored.since(instant(created))
		if err != nil || !older {
			return err
		}
		for n := range int64(MaxLaterReferences) {
			ordinal := c.Submission.Ordinal + 1 + n
			out = append(out, LaterReference{ID: reference(c.Tenant.id, c.Submission.Invoice, ordinal), Ordinal: ordinal})
		}
		return nil
	})
	return out, err
}

// AdoptLater puts the submission that the provider knows under a later reference in the place of this one, of which it knows
// nothing. Its outcome is unknown until the caller, who holds it for lease, has asked. [ErrLeaseLost] says that it is
// somebody else's turn.
func (c SubmissionLease) AdoptLater(ctx context.Context, known LaterReference, lease time.Duration) (SubmissionLease, error) {
	t := c.Tenant
	err := t.write(ctx, "adopt submission", func(ctx context.Context, tx *tx) error {
		if err := t.lockInvoice(ctx, tx, c.Submission.Invoice); err != nil {
			return err
		}
		s, err := t.submission(ctx, tx, c.Submission.ID, t.db.lock)
		if err != nil {
			return err
		}
		if s.lease != c.Submission.lease || s.Outcome != api.OutcomeInProgress && s.Outcome != api.OutcomeUnknown {
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
		c.Submission = adopted
		return t.touchInvoice(ctx, tx, s.Invoice, now)
	})
	return c, err
}
