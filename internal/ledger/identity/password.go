package identity

import (
	"context"
	"errors"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/problem"
)

// The reasons why a password was not changed.
var (
	// ErrSessionEnded says that the session was revoked or has expired.
	ErrSessionEnded = problem.New(api.CodeUnauthenticated, "the session has ended")
	// ErrPasswordChanged says that the user's password hash is no longer the one that was compared.
	ErrPasswordChanged = errors.New("the password was changed meanwhile")
)

// ChangePassword replaces the password hash of a session's user, revokes the user's other tokens, and releases the uses
// of limits that the attempt acquired. compared is the hash that the current password was compared with. ChangePassword
// returns [ErrPasswordChanged] if the user now has another hash, and [ErrSessionEnded] if the session is no longer
// valid. The transaction checks both, so that an administrator's reset, which replaces the hash and ends every session,
// cannot be undone.
func ChangePassword(ctx context.Context, db *base.DB, session base.Session, compared, hash string,
	spent ...base.LimitUsage) error {
	return db.Write(ctx, "change password", func(ctx context.Context, t *base.Tx) error {
		now := base.Micros(t.Now())
		if _, err := t.LockAccount(ctx, session.Account.ID); err != nil { // locked first, as in a suspension and a reset
			return err
		}
		live, err := t.ChangeSealed(ctx, base.SealedTokens.Row(session.Digest[:]), `update tokens set password_change_required = 0
			where digest = $1 and account_id = $2 and user_id = $3 and revoked_at is null and expires_at > $4`,
			session.Digest[:], session.Account.ID, session.User, now)
		if err := base.IgnoreMissing(err); err != nil {
			return err
		}
		if live == 0 {
			return ErrSessionEnded
		}
		changed, err := t.ChangeSealed(ctx, base.SealedUsers.Row(session.Account.ID, session.User),
			`update users set password_hash = $4, password_changed_at = $5, password_change_required = 0
			where account_id = $1 and id = $2 and password_hash = $3`, session.Account.ID, session.User, compared, hash, now)
		if err != nil {
			return err
		}
		if changed == 0 {
			return ErrPasswordChanged
		}
		if err := revokeTokens(ctx, t, session.Account.ID, session.User, session.Digest[:], now); err != nil {
			return err
		}
		var email string
		if err := t.QueryRowContext(ctx, `select email from users where account_id = $1 and id = $2`, session.Account.ID,
			session.User).Scan(&email); err != nil {
			return err
		}
		if err := tellPasswordChanged(ctx, t, session.Account.ID, session.User, email); err != nil {
			return err
		}
		if err := t.Audit(base.UserAct("user.change-password", session.Account.ID, session.User, email)); err != nil {
			return err
		}
		return t.ReleaseLimits(ctx, spent)
	})
}

// ResetPassword replaces a user's password hash and revokes all tokens of the user, who must change the password at the
// next login to the console. It returns [base.ErrNotFound] if the account has no such user.
func ResetPassword(ctx context.Context, db *base.DB, account, user base.ID, hash string) error {
	return db.Write(ctx, "reset password", func(ctx context.Context, t *base.Tx) error {
		now := base.Micros(t.Now())
		if _, err := t.LockAccount(ctx, account); err != nil {
			return err
		}
		changed, err := t.ChangeSealed(ctx, base.SealedUsers.Row(account, user),
			`update users set password_hash = $3, password_changed_at = $4, password_change_required = 1
			where account_id = $1 and id = $2`, account, user, hash, now)
		if err != nil {
			return err
		}
		if changed == 0 {
			return base.ErrNotFound
		}
		if err := revokeTokens(ctx, t, account, user, []byte{}, now); err != nil {
			return err
		}
		var email string
		if err := t.QueryRowContext(ctx, `select email from users where account_id = $1 and id = $2`, account,
			user).Scan(&email); err != nil {
			return err
		}
		if err := tellPasswordChanged(ctx, t, account, user, email); err != nil {
			return err
		}
		return t.Audit(base.UserAct("user.reset-password", account, user, email))
	})
}

// revokeTokens revokes the tokens of a user except the one with the digest kept, which may be empty, and ends the
// pending logins and the link for a new password.
func revokeTokens(ctx context.Context, t *base.Tx, account, user base.ID, kept []byte, now int64) error {
	if _, err := t.Exec(ctx, `delete from password_resets where account_id = $1 and user_id = $2`, account,
		user); err != nil {
		return err
	}
	if err := endMails(ctx, t, account, user); err != nil { // that of the link
		return err
	}
	if _, err := t.Exec(ctx, `delete from pending_logins where account_id = $1 and user_id = $2`, account,
		user); err != nil {
		return err
	}
	_, err := t.Exec(ctx, `update tokens set revoked_at = $3, seal = null
		where account_id = $1 and user_id = $2 and revoked_at is null and digest <> $4`, account, user, now, kept)
	return err
}

// Rehash replaces the hash of an unchanged password by one of another cost. It ends no session. It returns
// [ErrPasswordChanged] if the user now has another hash.
func Rehash(ctx context.Context, db *base.DB, user base.User, hash string) error {
	return db.Write(ctx, "rehash password", func(ctx context.Context, t *base.Tx) error {
		changed, err := t.ChangeSealed(ctx, base.SealedUsers.Row(user.Account, user.ID),
			`update users set password_hash = $4 where account_id = $1 and id = $2 and password_hash = $3`,
			user.Account, user.ID, user.PasswordHash, hash)
		if err == nil && changed == 0 {
			return ErrPasswordChanged
		}
		return err
	})
}
