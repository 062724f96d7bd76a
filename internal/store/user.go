package store

import (
	"context"
	"errors"
)

// ErrLastUser says that no user of the account could log in any more.
var ErrLastUser = errors.New("this is the last user of the account that can log in")

// RenameAccount changes the name of the company.
func (db *DB) RenameAccount(ctx context.Context, id ID, company string) error {
	return db.write(ctx, "rename account", func(ctx context.Context, t *tx) error {
		before, err := t.account(ctx, id)
		if err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `update accounts set company = $2 where id = $1`, id, company); err != nil {
			return err
		}
		return t.audit(ctx, accountAct("account.rename", id, map[string]string{"before": before.Company, "after": company}))
	})
}

// DisableUser prevents a user from logging in and revokes all tokens of the user. It returns [ErrLastUser] if no other
// user of the account can log in, unless force is set, and [ErrNotFound] if the account has no such user.
func (db *DB) DisableUser(ctx context.Context, account, user ID, force bool) error {
	return db.write(ctx, "disable user", func(ctx context.Context, t *tx) error {
		now := micros(t.Now())
		email, err := t.lockUser(ctx, account, user)
		if err != nil {
			return err
		}
		var others int64
		if err := t.QueryRowContext(ctx, `select count(*) from users where account_id = $1 and id <> $2 and disabled_at is null`, account, user).Scan(&others); err != nil {
			return err
		}
		if others == 0 && !force {
			return ErrLastUser
		}
		changed, err := t.Exec(ctx, `update users set disabled_at = $3 where account_id = $1 and id = $2 and disabled_at is null`, account, user, now)
		if err != nil || changed == 0 {
			return err // the user is already disabled
		}
		if err := t.revokeTokens(ctx, account, user, []byte{}, now); err != nil {
			return err
		}
		return t.audit(ctx, userAct("user.disable", account, user, email))
	})
}

// EnableUser allows a disabled user to log in again. It returns [ErrNotFound] if the account has no such user.
func (db *DB) EnableUser(ctx context.Context, account, user ID) error {
	return db.write(ctx, "enable user", func(ctx context.Context, t *tx) error {
		email, err := t.lockUser(ctx, account, user)
		if err != nil {
			return err
		}
		changed, err := t.Exec(ctx, `update users set disabled_at = null where account_id = $1 and id = $2 and disabled_at is not null`, account, user)
		if err != nil || changed == 0 {
			return err
		}
		return t.audit(ctx, userAct("user.enable", account, user, email))
	})
}

// lockUser locks the account, and with it all its users, and returns the e-mail address of one.
func (t *tx) lockUser(ctx context.Context, account, user ID) (email string, err error) {
	if _, err := t.account(ctx, account); err != nil {
		return "", err
	}
	err = t.QueryRowContext(ctx, `select email from users where account_id = $1 and id = $2`, account, user).Scan(&email)
	return email, err
}
