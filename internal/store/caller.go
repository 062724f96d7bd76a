package store

import (
	"context"
	"database/sql"
	"errors"

	"quittance/internal/access"
)

// caller is the user on whose behalf a tenant writes.
type caller struct {
	user  ID
	needs access.Permission
}

// For returns the session for one operation that needs a permission. Every write of its tenant checks in its own transaction that the user
// still has it, and returns [ErrForbidden] otherwise: the role was read before the operation began, and may have changed since. An API key has
// its scopes for good.
func (s Session) For(needs access.Permission) Session {
	if s.Tenant == nil || s.User.IsZero() {
		return s
	}
	tenant := *s.Tenant
	tenant.caller = &caller{user: s.User, needs: needs}
	s.Tenant = &tenant
	return s
}

// service returns the tenant for the work that the service does after an operation, such as to record the answer to what was sent: that does
// not depend on what its user may do by then.
func (t *Tenant) service() *Tenant {
	own := *t
	own.caller = nil
	return &own
}

// authorize returns [ErrForbidden] unless the caller of the tenant may do what it does. A change of the role waits until the transaction ends.
func (t *Tenant) authorize(ctx context.Context, tx *tx) error {
	if t.caller == nil {
		return nil
	}
	switch t.caller.needs {
	case access.Write, access.Submit, access.ManageWebhooks:
		return tx.checkPermission(ctx, t.account, t.caller.user, t.caller.needs, t.db.dialect.ForShare())
	case access.ManageKeys:
		if _, err := tx.account(ctx, t.account); err != nil { // as those who end the keys of a user
			return err
		}
		return tx.checkPermission(ctx, t.account, t.caller.user, t.caller.needs, "")
	default: // what concerns users locks the account and checks for itself, and everybody has the other permissions
		return nil
	}
}

// checkPermission returns [ErrForbidden] unless a user has a permission. lock is appended to the statement; "" if the account is locked.
func (t *tx) checkPermission(ctx context.Context, account, user ID, needs access.Permission, lock string) error {
	var role access.Role
	err := t.QueryRowContext(ctx, `select role from users where account_id = $1 and id = $2 and disabled_at is null`+lock, account, user).Scan(&role)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !role.Permissions().Has(needs) {
		return ErrForbidden
	}
	return err
}
