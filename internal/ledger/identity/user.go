package identity

import (
	"context"
	"database/sql"
	"errors"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
)

// ErrLastOwner says that the account would have no owner who can log in.
var ErrLastOwner = errors.New("this is the last active owner of the account")

// RenameAccount changes the name of the company.
func RenameAccount(ctx context.Context, db *base.DB, id base.ID, company string) error {
	return db.Write(ctx, "rename account", func(ctx context.Context, t *base.Tx) error {
		before, err := t.LockAccount(ctx, id)
		if err != nil {
			return err
		}
		if _, err := t.ChangeSealed(ctx, base.SealedAccounts.Row(id), `update accounts set company = $2 where id = $1`, id,
			company); err != nil {
			return err
		}
		return t.Audit(base.AccountAct("account.rename", id, map[string]string{"before": before.Company, "after": company}))
	})
}

// DisableUser prevents a user from logging in, and revokes all tokens of the user and the invitations that the user has
// made. It returns [ErrLastOwner] if the user is the last active owner of the account, unless force is set, and
// [base.ErrNotFound] if the account has no such user.
func DisableUser(ctx context.Context, db *base.DB, account, user base.ID, force bool) error {
	return db.Write(ctx, "disable user", func(ctx context.Context, t *base.Tx) error {
		locked, err := lockUser(ctx, t, account, user)
		if err != nil {
			return err
		}
		return setActive(ctx, t, locked, false, force)
	})
}

// EnableUser allows a disabled user to log in again. It returns [base.ErrNotFound] if the account has no such user.
func EnableUser(ctx context.Context, db *base.DB, account, user base.ID) error {
	return db.Write(ctx, "enable user", func(ctx context.Context, t *base.Tx) error {
		locked, err := lockUser(ctx, t, account, user)
		if err != nil {
			return err
		}
		return setActive(ctx, t, locked, true, false)
	})
}

// SetRole changes the role of a user, from the user's next request on. It returns [ErrLastOwner] if the user is the
// last active owner and would be none any more, and [base.ErrNotFound] if the account has no such user.
func SetRole(ctx context.Context, db *base.DB, account, user base.ID, role access.Role) error {
	return db.Write(ctx, "set role", func(ctx context.Context, t *base.Tx) error {
		locked, err := lockUser(ctx, t, account, user)
		if err != nil {
			return err
		}
		return setRole(ctx, t, locked, role)
	})
}

// UserChange is what a user of the company may change in another one, or in himself.
type UserChange struct {
	// Email is [base.User.Email]. A change needs Address, too, which is nil for none.
	Email   string
	Address *AddressChange
	Role    access.Role
	Active  bool
	// Linked is [base.User.Linked]. A change can only end the link.
	Linked bool
	// RevokeKeys revokes the API keys that the user has made.
	RevokeKeys bool
}

// ChangeUser changes a user of the company on behalf of the user of a session: change returns the new values for the
// present ones. It returns [base.ErrForbidden] if that user may not manage users any more, [ErrLastOwner] if no active
// owner would be left, [base.ErrNotFound] if the company has no such user, [base.ErrExists] for the address of another
// user of the company, and the error of change. The transaction checks all of this, so that two owners cannot remove
// each other.
func ChangeUser(ctx context.Context, t *base.Tenant, by base.Session, user base.ID,
	change func(present UserChange) (UserChange, error)) (base.User, error) {
	var changed base.User
	err := t.Write(ctx, "change user", func(ctx context.Context, tx *base.Tx) error {
		locked, err := lockUser(ctx, tx, t.Account(), user)
		if err != nil {
			return err
		}
		if err := checkManager(ctx, tx, t.Account(), by.User); err != nil {
			return err
		}
		present := UserChange{Email: locked.Email, Role: locked.Role, Active: locked.DisabledAt == nil, Linked: locked.Linked}
		wanted, err := change(present)
		if err != nil {
			return err
		}
		if !wanted.Active { // first, so that a disabled owner may get another role
			if err := setActive(ctx, tx, locked, false, false); err != nil {
				return err
			}
		}
		if locked, err = readUser(ctx, tx, t.Account(), user); err != nil {
			return err
		}
		if err := setRole(ctx, tx, locked, wanted.Role); err != nil {
			return err
		}
		if !wanted.Linked {
			if err := unlink(ctx, tx, locked); err != nil {
				return err
			}
		}
		if wanted.Active {
			if err := setActive(ctx, tx, locked, true, false); err != nil {
				return err
			}
		}
		if wanted.RevokeKeys {
			if _, err := revokeAPIKeysOf(ctx, tx, locked); err != nil {
				return err
			}
		}
		if changed, err = readUser(ctx, tx, t.Account(), user); err != nil || wanted.Address == nil {
			return err
		}
		changed, err = changeAddress(ctx, tx, changed, *wanted.Address)
		return err
	})
	return changed, tenantAddressError(t, err)
}

// setActive disables or enables a user of a locked account.
func setActive(ctx context.Context, t *base.Tx, user base.User, active, force bool) error {
	if active == (user.DisabledAt == nil) {
		return nil
	}
	act, disabled := base.UserAct("user.enable", user.Account, user.ID, user.Email), sql.Null[int64]{}
	if !active {
		if !force {
			if err := checkOtherOwner(ctx, t, user); err != nil {
				return err
			}
		}
		act.Name, disabled = "user.disable", sql.Null[int64]{V: base.Micros(t.Now()), Valid: true}
		if err := revokeTokens(ctx, t, user.Account, user.ID, []byte{}, disabled.V); err != nil {
			return err
		}
		if err := revokeInvitationsBy(ctx, t, user); err != nil {
			return err
		}
	}
	if _, err := t.ChangeSealed(ctx, base.SealedUsers.Row(user.Account, user.ID),
		`update users set disabled_at = $3 where account_id = $1 and id = $2`, user.Account, user.ID, disabled); err != nil {
		return err
	}
	return t.Audit(act)
}

// setRole changes the role of a user of a locked account.
func setRole(ctx context.Context, t *base.Tx, user base.User, role access.Role) error {
	if user.Role == role {
		return nil
	}
	if err := checkOtherOwner(ctx, t, user); err != nil {
		return err
	}
	if !role.Permissions().Has(access.ManageUsers) {
		if err := revokeInvitationsBy(ctx, t, user); err != nil {
			return err
		}
	}
	if _, err := t.ChangeSealed(ctx, base.SealedUsers.Row(user.Account, user.ID),
		`update users set role = $3 where account_id = $1 and id = $2`, user.Account, user.ID, role); err != nil {
		return err
	}
	act := roleAct("user.role", user.Account, user.ID, user.Email, role)
	act.Details["before"] = string(user.Role)
	return t.Audit(act)
}

// lockUser locks the account, and with it all its users and invitations, and returns one of the users.
func lockUser(ctx context.Context, t *base.Tx, account, user base.ID) (base.User, error) {
	if _, err := t.LockAccount(ctx, account); err != nil {
		return base.User{}, err
	}
	return readUser(ctx, t, account, user)
}

func readUser(ctx context.Context, t *base.Tx, account, user base.ID) (base.User, error) {
	return t.DB.ActingUser(ctx, t, `where account_id = $1 and id = $2`, account, user)
}

// checkManager returns [base.ErrForbidden] unless a user of a locked account may manage its users now.
func checkManager(ctx context.Context, t *base.Tx, account, user base.ID) error {
	if user.IsZero() {
		return base.ErrForbidden // the session of a caller who is no user
	}
	manager, err := readUser(ctx, t, account, user)
	if errors.Is(err, sql.ErrNoRows) || err == nil &&
		(manager.DisabledAt != nil || !manager.Role.Permissions().Has(access.ManageUsers)) {
		return base.ErrForbidden
	}
	return err
}

// ownerWhoLogsIn is the condition that the row o of users is an owner, who is $3, and can log in: not disabled, and
// with a proved address, or with a password where it counts.
const ownerWhoLogsIn = `o.role = $3 and o.disabled_at is null
	and (o.proved_at is not null or o.password_hash <> '' and (select p.login_policy from accounts p where p.id = o.account_id) <> 'single_sign_on')`

// checkOtherOwner returns [ErrLastOwner] if the user of a locked account is its last active owner.
func checkOtherOwner(ctx context.Context, t *base.Tx, user base.User) error {
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
func Users(ctx context.Context, t *base.Tenant, page, perPage int) (users []base.User, total int, err error) {
	err = t.List(ctx, func(ctx context.Context, q base.Querier) error {
		if err := q.QueryRowContext(ctx, `select count(*) from users where account_id = $1`,
			t.Account()).Scan(&total); err != nil || page-1 > total/perPage {
			return err
		}
		users, err = base.Collect(ctx, q, base.ScanUser,
			`select `+base.UserColumns+` from users where account_id = $1 order by created_at, id limit $2 offset $3`,
			t.Account(), perPage, (page-1)*perPage)
		return err
	})
	return users, total, err
}

// FindUser returns one user of the company.
func FindUser(ctx context.Context, t *base.Tenant, id base.ID) (base.User, error) {
	return base.ReadValue(t, func(q base.Querier) (base.User, error) {
		return base.ScanUser(q.QueryRowContext(ctx, `select `+base.UserColumns+` from users where account_id = $1 and id = $2`,
			t.Account(), id))
	})
}
