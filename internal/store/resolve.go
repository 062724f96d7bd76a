package store

import (
	"context"
	"errors"

	"quittance/api"
)

// ErrNotUnknown says that the outcome of a submission is known, so that there is nothing to decide.
var ErrNotUnknown = errors.New("the outcome of the submission is not unknown")

// ResolveSubmission records what an administrator has decided about a submission of unknown outcome: to send it again
// under its reference, or to count it as rejected, which lets the customer correct the invoice. Reconciliation goes on
// either way.
func (db *DB) ResolveSubmission(ctx context.Context, id ID, resend bool) (Submission, error) {
	var resolved Submission
	tenant, err := db.holder(ctx, func(t *Tenant) error {
		var err error
		resolved, err = t.Submission(ctx, id)
		return err
	})
	if err != nil {
		return Submission{}, err
	}
	err = tenant.write(ctx, "resolve submission", func(ctx context.Context, tx *tx) error {
		if err := tenant.lockInvoice(ctx, tx, resolved.Invoice); err != nil {
			return err
		}
		s, err := tenant.submission(ctx, tx, id, db.lock)
		if err != nil {
			return err
		}
		if s.Outcome != api.OutcomeUnknown {
			return ErrNotUnknown
		}
		now := db.now()
		if resend {
			s.Resend, s.DueAt, s.NextCheckAt = true, &now, &now
		} else {
			s.Outcome = api.OutcomeRejected
		}
		if _, err := tx.exec(ctx, `update submissions set resend = $3, outcome = $4, due_at = $5, next_check_at = $6 where tenant_id = $1 and id = $2`,
			tenant.id, id, flag(s.Resend), s.Outcome, microsOrNil(s.DueAt), microsOrNil(s.NextCheckAt)); err != nil {
			return err
		}
		tx.wake(WorkSubmissions)
		resolved = s
		return tenant.touchInvoice(ctx, tx, s.Invoice, now)
	})
	return resolved, err
}
