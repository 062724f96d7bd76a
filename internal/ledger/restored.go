package ledger

import (
	"context"
	"maps"
	"strconv"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
)

// MarkRestored records that this database was restored from a backup and has lost what happened since:
//
//   - Every open submission becomes due, so that it is polled.
//   - Earlier responses that a document is missing no longer count, and administrators must order resends again.
//   - No document of an existing invoice is sent before the provider was asked for it (see
//     [invoices.SubmissionLease.Restored]). The row of each tenant says so, because a submission reads that row in any
//     case.
//   - Every token is revoked, because it may have been revoked after the backup. For the same reason every link for a
//     new password ends.
//   - E-mails and notices that were still to be sent end, because they may have been sent after the backup, and their
//     links may have ended.
//   - Its backups are those of another database from now on ([BackupIdentity]): the one that was backed up may still
//     exist.
//
// All of it is one transaction: if the process ends before the commit, nothing is marked and the command can be
// repeated. It returns the number of open submissions.
func MarkRestored(ctx context.Context, db *base.DB) (open int64, err error) {
	return markRestored(ctx, db, map[string]string{})
}

// markRestored is [MarkRestored] with further details for the audit log.
func markRestored(ctx context.Context, db *base.DB, details map[string]string) (open int64, err error) {
	err = db.Write(ctx, "record restore", func(ctx context.Context, t *base.Tx) error {
		now := base.Micros(t.Now())
		if open, err = t.Exec(ctx,
			`update submissions set due_at = $1, next_check_at = $1, lease = lease + 1 where due_at is not null`,
			now); err != nil {
			return err
		}
		if err := discardMissingProofs(ctx, t); err != nil {
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
		if err := identity.EndRestoredMails(ctx, t); err != nil {
			return err
		}
		t.Notify(base.WorkSubmissions)
		details = maps.Clone(details) // the transaction can run again
		details["open_submissions"] = strconv.FormatInt(open, 10)
		return t.Audit(base.Act{Name: "database.restored", SubjectType: "database", Details: details})
	})
	return open, err
}

// discardMissingProofs discards the responses that documents are missing, and the administrators' orders to send again.
func discardMissingProofs(ctx context.Context, t *base.Tx) error {
	type openSubmission struct {
		tenant      *base.Tenant
		id, invoice base.ID
	}
	all, err := base.Collect(ctx, t, func(row base.Row) (openSubmission, error) {
		var tenant, account base.ID
		var o openSubmission
		err := row.Scan(&tenant, &account, &o.id, &o.invoice)
		o.tenant = t.DB.TenantOf(tenant, account)
		return o, err
	}, `select tenant_id, account_id, id, invoice_id from submissions
		where due_at is not null and (resend <> 0 or missing_since is not null or missing_count <> 0) order by tenant_id, id`)
	if err != nil {
		return err
	}
	for _, o := range all {
		if err := invoices.LockInvoice(ctx, o.tenant, t, o.invoice); err != nil {
			return err
		}
		s, err := invoices.ReadSubmission(ctx, o.tenant, t, o.id, t.DB.Dialect().ForUpdate())
		if err != nil {
			return err
		}
		s.ResendOrdered, s.ResendUnderWay, s.MissingSince, s.MissingCount = false, false, nil, 0
		if err := invoices.SaveSubmission(ctx, o.tenant, t, &s); err != nil {
			return err
		}
	}
	return nil
}
