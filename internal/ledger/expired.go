package ledger

import (
	"context"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
)

// DeleteExpired removes ended limit windows, expired idempotency keys, uploads, pending logins, links for new passwords
// and requests for them, links that prove addresses, choices of a company, challenges of passkeys and sessions of
// operators, tokens that expired and mails that ended a week ago, and gives up mails whose time is over.
func DeleteExpired(ctx context.Context, db *base.DB) error {
	for expired := base.SweepBatch; expired == base.SweepBatch && ctx.Err() == nil; {
		if err := db.Write(ctx, "sweep", func(ctx context.Context, t *base.Tx) (err error) {
			if _, err := t.Exec(ctx, `delete from limits where window_end < $1`, base.Micros(t.Now())); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `delete from tokens where expires_at < $1`,
				base.Micros(t.Now().Add(-7*24*time.Hour))); err != nil {
				return err
			}
			if err := invoices.DeleteExpiredUploads(ctx, t); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `delete from pending_logins where expires_at < $1`, base.Micros(t.Now())); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `delete from password_resets where expires_at < $1`, base.Micros(t.Now())); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `delete from password_reset_requests where requested_at < $1`,
				base.Micros(t.Now().Add(-identity.PasswordResetTTL))); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `delete from address_proofs where expires_at < $1`, base.Micros(t.Now())); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `delete from sign_on_choices where expires_at < $1`, base.Micros(t.Now())); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `delete from passkey_challenges where expires_at < $1`, base.Micros(t.Now())); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `delete from operator_sessions where expires_at < $1`, base.Micros(t.Now())); err != nil {
				return err
			}
			if err := identity.DeleteExpiredMails(ctx, t); err != nil {
				return err
			}
			expired, err = invoices.DeleteExpiredResponses(ctx, t)
			return err
		}); err != nil {
			return err
		}
	}
	return ctx.Err()
}
