package identity

import (
	"cmp"
	"context"
	"errors"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/problem"
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

// SetLoginPolicyOf changes how the users of an account have to log in, for an administrator. It ends the sessions that
// began in another way than the policy allows. It returns [base.ErrNotFound] if there is no such account.
func SetLoginPolicyOf(ctx context.Context, db *base.DB, account base.ID, policy base.LoginPolicy) error {
	return db.Write(ctx, "set login policy", func(ctx context.Context, t *base.Tx) error {
		before, err := t.LockAccount(ctx, account)
		if err != nil {
			return err
		}
		return setLoginPolicy(ctx, t, before, policy, []byte{})
	})
}

// SetLoginPolicy is [SetLoginPolicyOf] on behalf of the user of a session. It returns [base.ErrForbidden] if that user
// may not manage users any more, [ErrNotSignOn] if single sign-on is to be required and the session was not begun by
// it, and [ErrNoFactor] if a second factor is to be required and the user has none: who requires one has shown that it
// works, and so locks nobody out by mistake.
func SetLoginPolicy(ctx context.Context, t *base.Tenant, by base.Session, policy base.LoginPolicy) error {
	return t.Write(ctx, "set login policy", func(ctx context.Context, tx *base.Tx) error {
		before, err := tx.LockAccount(ctx, t.Account())
		if err != nil {
			return err
		}
		if err := checkManager(ctx, tx, t.Account(), by.User); err != nil {
			return err
		}
		if policy == base.LoginSingleSignOn && by.Means != LoginBySingleSignOn {
			return ErrNotSignOn
		}
		if policy == base.LoginSecondFactor {
			if enrolled, err := hasFactor(ctx, tx, t.Account(), by.User); err != nil || !enrolled {
				return cmp.Or(err, ErrNoFactor)
			}
		}
		return setLoginPolicy(ctx, tx, before, policy, by.Digest[:])
	})
}

// setLoginPolicy changes the policy of a locked account. It ends the sessions that the policy does not allow, except
// the one with the digest kept, which may be empty.
func setLoginPolicy(ctx context.Context, t *base.Tx, account base.Account, policy base.LoginPolicy, kept []byte) error {
	if policy == account.LoginPolicy {
		return nil
	}
	if _, err := t.ChangeSealed(ctx, base.SealedAccounts.Row(account.ID), `update accounts set login_policy = $2 where id = $1`,
		account.ID, policy); err != nil {
		return err
	}
	const byPassword = `update tokens set revoked_at = $2, seal = null where account_id = $1 and coalesce(means, '') <> $3 and digest <> $4 and revoked_at is null`
	args := []any{account.ID, base.Micros(t.Now()), LoginBySingleSignOn, kept}
	var err error
	switch policy {
	case base.LoginAny:
	case base.LoginSingleSignOn:
		if err = endPasswordResets(ctx, t, account.ID); err == nil {
			_, err = t.Exec(ctx, byPassword, args...)
		}
	case base.LoginSecondFactor: // a session that is older than the second factor began without it
		_, err = t.Exec(ctx, byPassword+` and not exists (select 1 from second_factors f
			where f.account_id = tokens.account_id and f.user_id = tokens.user_id and f.secret is not null and f.enrolled_at <= tokens.created_at)
			and not exists (select 1 from passkeys p where p.account_id = tokens.account_id and p.user_id = tokens.user_id and p.created_at <= tokens.created_at)`, args...)
	}
	if err != nil {
		return err
	}
	return t.Audit(base.AccountAct("account.login-policy", account.ID,
		map[string]string{"before": string(account.LoginPolicy), "after": string(policy)}))
}
