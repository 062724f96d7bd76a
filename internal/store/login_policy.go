package store

import (
	"cmp"
	"context"
	"errors"

	"quittance/client/api"
	"quittance/internal/problem"
)

// LoginPolicy says how the users of a company have to log in.
type LoginPolicy string

// The login policies.
const (
	LoginAny LoginPolicy = "any"
	// LoginSecondFactor requires a second factor of those who log in with a password. Single sign-on counts as its own
	// means.
	LoginSecondFactor LoginPolicy = "second_factor"
	LoginSingleSignOn LoginPolicy = "single_sign_on"
)

// The errors of login policies.
var (
	// ErrSignOnRequired says that a password was right, and that the company requires single sign-on.
	ErrSignOnRequired = problem.New(api.CodeSingleSignOnRequired, "the company requires single sign-on")
	// ErrNotSignOn says that a session was not begun by single sign-on.
	ErrNotSignOn = errors.New("the session was not begun by single sign-on")
	// ErrFactorRequired says that the company requires a second factor, and that the user has none or would have none.
	ErrFactorRequired = problem.New(api.CodeSecondFactorRequired, "the company requires a second factor")
	// ErrNoFactor says that a user who wants to require second factors has none.
	ErrNoFactor = errors.New("the user has no second factor")
)

// SetLoginPolicy changes how the users of an account have to log in, for an administrator. It ends the sessions that
// began in another way than the policy allows. It returns [ErrNotFound] if there is no such account.
func (db *DB) SetLoginPolicy(ctx context.Context, account ID, policy LoginPolicy) error {
	return db.write(ctx, "set login policy", func(ctx context.Context, t *tx) error {
		before, err := t.account(ctx, account)
		if err != nil {
			return err
		}
		return t.setLoginPolicy(ctx, before, policy, []byte{})
	})
}

// SetLoginPolicy is [DB.SetLoginPolicy] on behalf of the user of a session. It returns [ErrForbidden] if that user may
// not manage users any more, [ErrNotSignOn] if single sign-on is to be required and the session was not begun by it,
// and [ErrNoFactor] if a second factor is to be required and the user has none: who requires one has shown that it
// works, and so locks nobody out by mistake.
func (t *Tenant) SetLoginPolicy(ctx context.Context, by Session, policy LoginPolicy) error {
	return t.write(ctx, "set login policy", func(ctx context.Context, tx *tx) error {
		before, err := tx.account(ctx, t.account)
		if err != nil {
			return err
		}
		if err := tx.checkManager(ctx, t.account, by.User); err != nil {
			return err
		}
		if policy == LoginSingleSignOn && by.Means != LoginBySingleSignOn {
			return ErrNotSignOn
		}
		if policy == LoginSecondFactor {
			if enrolled, err := tx.hasFactor(ctx, t.account, by.User); err != nil || !enrolled {
				return cmp.Or(err, ErrNoFactor)
			}
		}
		return tx.setLoginPolicy(ctx, before, policy, by.Digest[:])
	})
}

// setLoginPolicy changes the policy of a locked account. It ends the sessions that the policy does not allow, except
// the one with the digest kept, which may be empty.
func (t *tx) setLoginPolicy(ctx context.Context, account Account, policy LoginPolicy, kept []byte) error {
	if policy == account.LoginPolicy {
		return nil
	}
	if _, err := t.changeSealed(ctx, sealedAccounts.row(account.ID), `update accounts set login_policy = $2 where id = $1`,
		account.ID, policy); err != nil {
		return err
	}
	const byPassword = `update tokens set revoked_at = $2, seal = null where account_id = $1 and coalesce(means, '') <> $3 and digest <> $4 and revoked_at is null`
	args := []any{account.ID, micros(t.Now()), LoginBySingleSignOn, kept}
	var err error
	switch policy {
	case LoginAny:
	case LoginSingleSignOn:
		if err = t.endPasswordResets(ctx, account.ID); err == nil {
			_, err = t.Exec(ctx, byPassword, args...)
		}
	case LoginSecondFactor: // a session that is older than the second factor began without it
		_, err = t.Exec(ctx, byPassword+` and not exists (select 1 from second_factors f
			where f.account_id = tokens.account_id and f.user_id = tokens.user_id and f.secret is not null and f.enrolled_at <= tokens.created_at)
			and not exists (select 1 from passkeys p where p.account_id = tokens.account_id and p.user_id = tokens.user_id and p.created_at <= tokens.created_at)`, args...)
	}
	if err != nil {
		return err
	}
	return t.audit(accountAct("account.login-policy", account.ID,
		map[string]string{"before": string(account.LoginPolicy), "after": string(policy)}))
}
