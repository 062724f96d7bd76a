package store

import (
	"context"
	"database/sql"
	"errors"

	"quittance/client/api"
	"quittance/internal/access"
	"quittance/internal/problem"
)

// The reasons why the users of a company cannot be changed.
var (
	// ErrLastOwner says that the account would have no owner who can log in.
	ErrLastOwner = errors.New("this is the last active owner of the account")
	// ErrForbidden says that the role of the caller no longer allows the operation.
	ErrForbidden = problem.New(api.CodeForbidden, "the role does not allow this")
)

// RenameAccount changes the name of the company.
func (db *DB) RenameAccount(ctx context.Context, id ID, company string) error {
	return db.write(ctx, "rename account", func(ctx context.Context, t *tx) error {
		before, err := t.account(ctx, id)
		if err != nil {
			return err
		}
		if _, err := t.changeSealed(ctx, sealedAccounts.row(id), `update accounts set company = $2 where id = $1`, id,
			company); err != nil {
			return err
		}
		return t.audit(accountAct("account.rename", id, map[string]string{"before": before.Company, "after": company}))
	})
}

// DisableUser prevents a user from logging in, and revokes all tokens of the user and the invitations that the user has
// made. It returns [ErrLastOwner] if the user is the last active owner of the account, unless force is set, and
// [ErrNotFound] if the account has no such user.
func (db *DB) DisableUser(ctx context.Context, account, user ID, force bool) error {
	return db.write(ctx, "disable user", func(ctx context.Context, t *tx) error {
		locked, err := t.lockUser(ctx, account, user)
		if err != nil {
			return err
		}
		return t.setActive(ctx, locked, false, force)
	})
}

// EnableUser allows a disabled user to log in again. It returns [ErrNotFound] if the account has no such user.
func (db *DB) EnableUser(ctx context.Context, account, user ID) error {
	return db.write(ctx, "enable user", func(ctx context.Context, t *tx) error {
		locked, err := t.lockUser(ctx, account, user)
		if err != nil {
			return err
		}
		return t.setActive(ctx, locked, true, false)
	})
}

// SetRole changes the role of a user, from the user's next request on. It returns [ErrLastOwner] if the user is the
// last active owner and would be none any more, and [ErrNotFound] if the account has no such user.
func (db *DB) SetRole(ctx context.Context, account, user ID, role access.Role) error {
	return db.write(ctx, "set role", func(ctx context.Context, t *tx) error {
		locked, err := t.lockUser(ctx, account, user)
		if err != nil {
			return err
		}
		return t.setRole(ctx, locked, role)
	})
}

// UserChange is what a user of the company may change in another one, or in himself.
type UserChange struct {
	// Email is [User.Email]. A change needs Address, too, which is nil for none.
	Email   string
	Address *AddressChange
	Role    access.Role
	Active  bool
	// Linked is [User.Linked]. A change can only end the link.
	Linked bool
	// RevokeKeys revokes the API keys that the user has made.
	RevokeKeys bool
}

// ChangeUser changes a user of the company on behalf of the user of a session: change returns the new values for the
// present ones. It returns [ErrForbidden] if that user may not manage users any more, [ErrLastOwner] if no active owner
// would be left, [ErrNotFound] if the company has no such user, [ErrExists] for the address of another user of the
// company, and the error of change. The transaction checks all of this, so that two owners cannot remove each other.
func (t *Tenant) ChangeUser(ctx context.Context, by Session, user ID,
	change func(present UserChange) (UserChange, error)) (User, error) {
	var changed User
	err := t.write(ctx, "change user", func(ctx context.Context, tx *tx) error {
		locked, err := tx.lockUser(ctx, t.account, user)
		if err != nil {
			return err
		}
		if err := tx.checkManager(ctx, t.account, by.User); err != nil {
			return err
		}
		present := UserChange{Email: locked.Email, Role: locked.Role, Active: locked.DisabledAt == nil, Linked: locked.Linked}
		wanted, err := change(present)
		if err != nil {
			return err
		}
		if !wanted.Active { // first, so that a disabled owner may get another role
			if err := tx.setActive(ctx, locked, false, false); err != nil {
				return err
			}
		}
		if locked, err = tx.readUser(ctx, t.account, user); err != nil {
			return err
		}
		if err := tx.setRole(ctx, locked, wanted.Role); err != nil {
			return err
		}
		if !wanted.Linked {
			if err := tx.unlink(ctx, locked); err != nil {
				return err
			}
		}
		if wanted.Active {
			if err := tx.setActive(ctx, locked, true, false); err != nil {
				return err
			}
		}
		if wanted.RevokeKeys {
			if _, err := tx.revokeAPIKeysOf(ctx, locked); err != nil {
				return err
			}
		}
		if changed, err = tx.readUser(ctx, t.account, user); err != nil || wanted.Address == nil {
			return err
		}
		changed, err = tx.changeAddress(ctx, changed, *wanted.Address)
		return err
	})
	return changed, t.addressError(err)
}

// setActive disables or enables a user of a locked account.
func (t *tx) setActive(ctx context.Context, user User, active, force bool) error {
	if active == (user.DisabledAt == nil) {
		return nil
	}
	act, disabled := userAct("user.enable", user.Account, user.ID, user.Email), sql.Null[int64]{}
	if !active {
		if !force {
			if err := t.checkOtherOwner(ctx, user); err != nil {
				return err
			}
		}
		act.Name, disabled = "user.disable", sql.Null[int64]{V: micros(t.Now()), Valid: true}
		if err := t.revokeTokens(ctx, user.Account, user.ID, []byte{}, disabled.V); err != nil {
			return err
		}
		if err := t.revokeInvitationsBy(ctx, user); err != nil {
			return err
		}
	}
	if _, err := t.changeSealed(ctx, sealedUsers.row(user.Account, user.ID),
		`update users set disabled_at = $3 where account_id = $1 and id = $2`, user.Account, user.ID, disabled); err != nil {
		return err
	}
	return t.audit(act)
}

// setRole changes the role of a user of a locked account.
func (t *tx) setRole(ctx context.Context, user User, role access.Role) error {
	if user.Role == role {
		return nil
	}
	if err := t.checkOtherOwner(ctx, user); err != nil {
		return err
	}
	if !role.Permissions().Has(access.ManageUsers) {
		if err := t.revokeInvitationsBy(ctx, user); err != nil {
			return err
		}
	}
	if _, err := t.changeSealed(ctx, sealedUsers.row(user.Account, user.ID),
		`update users set role = $3 where account_id = $1 and id = $2`, user.Account, user.ID, role); err != nil {
		return err
	}
	act := roleAct("user.role", user.Account, user.ID, user.Email, role)
	act.Details["before"] = string(user.Role)
	return t.audit(act)
}

// lockUser locks the account, and with it all its users and invitations, and returns one of the users.
func (t *tx) lockUser(ctx context.Context, account, user ID) (User, error) {
	if _, err := t.account(ctx, account); err != nil {
		return User{}, err
	}
	return t.readUser(ctx, account, user)
}

func (t *tx) readUser(ctx context.Context, account, user ID) (User, error) {
	return t.db.actingUser(ctx, t, `where account_id = $1 and id = $2`, account, user)
}

// checkManager returns [ErrForbidden] unless a user of a locked account may manage its users now.
func (t *tx) checkManager(ctx context.Context, account, user ID) error {
	if user.IsZero() {
		return ErrForbidden // the session of a caller who is no user
	}
	manager, err := t.readUser(ctx, account, user)
	if errors.Is(err, sql.ErrNoRows) || err == nil &&
		(manager.DisabledAt != nil || !manager.Role.Permissions().Has(access.ManageUsers)) {
		return ErrForbidden
	}
	return err
}

// ownerWhoLogsIn is the condition that the row o of users is an owner, who is $3, and can log in: not disabled, and
// with a proved address, or with a password where it counts.
const ownerWhoLogsIn = `o.role = $3 and o.disabled_at is null
	and (o.proved_at is not null or o.password_hash <> '' and (select p.login_policy from accounts p where p.id = o.account_id) <> 'single_sign_on')`

// checkOtherOwner returns [ErrLastOwner] if the user of a locked account is its last active owner.
func (t *tx) checkOtherOwner(ctx context.Context, user User) error {
	if user.Role != access.Owner || user.DisabledAt != nil {
		return nil
	}
	var others int64
	if err := t.QueryRowContext(ctx, `select count(*) from users o where o.account_id = $1 and o.id <> $2 and `+
		ownerWhoLogsIn, user.Account, user.ID, access.Owner).Scan(&others); err != nil {
		return err
	}
	if others == 0 {
		return ErrLastOwner
	}
	return nil
}

// Users returns a page of the company's users, oldest first, and how many there are. page and perPage are at least 1.
func (t *Tenant) Users(ctx context.Context, page, perPage int) (users []User, total int, err error) {
	err = t.list(ctx, func(ctx context.Context, q querier) error {
		if err := q.QueryRowContext(ctx, `select count(*) from users where account_id = $1`,
			t.account).Scan(&total); err != nil || page-1 > total/perPage {
			return err
		}
		users, err = collect(ctx, q, scanUser,
			`select `+userColumns+` from users where account_id = $1 order by created_at, id limit $2 offset $3`,
			t.account, perPage, (page-1)*perPage)
		return err
	})
	return users, total, err
}

// User returns one user of the company.
func (t *Tenant) User(ctx context.Context, id ID) (User, error) {
	return readValue(t, func(q querier) (User, error) {
		return scanUser(q.QueryRowContext(ctx, `select `+userColumns+` from users where account_id = $1 and id = $2`,
			t.account, id))
	})
}
