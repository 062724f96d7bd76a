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

//nolint:gochecknoglobals // constants
var (
	// enabledUser are the columns that are known of the user with an identifier who is not disabled.
	enabledUser = []string{"account_id", "id", "disabled_at"}
	callerQuery = `select ` + sealedUsers.columns("users", enabledUser...) + `
		from users where account_id = $1 and id = $2 and disabled_at is null`
)

// For returns the session for one operation that needs a permission. Every write of its tenant checks in its own
// transaction that the user still has it, and returns [ErrForbidden] otherwise: the role was read before the operation
// began, and may have changed since. An API key has its scopes for good.
func (s Session) For(needs access.Permission) Session {
	if s.Tenant == nil || s.User.IsZero() {
		return s
	}
	tenant := *s.Tenant
	tenant.caller = &caller{user: s.User, needs: needs}
	s.Tenant = &tenant
	return s
}

// service returns the tenant for the work that the service does after an operation, such as to record the answer to
// what was sent: that does not depend on what its user may do by then.
func (t *Tenant) service() *Tenant {
	own := *t
	own.caller = nil
	return &own
}

// authorize returns [ErrForbidden] unless the caller of the tenant may do what it does. Keys outlive the operation, so
// their maker's role stays until the transaction ends. For anything else the row of the user is not locked: those who
// change the role would wait for as long as the user always has one more call under way. A call that is under way when
// the role changes counts as the earlier of the two.
func (t *Tenant) authorize(ctx context.Context, tx *tx) error {
	if t.caller == nil {
		return nil
	}
	switch t.caller.needs {
	case access.ManageKeys:
		if _, err := tx.account(ctx, t.account); err != nil { // as those who end the keys of a user
			return err
		}
	case access.Write, access.Submit, access.ManageWebhooks:
	default: // what concerns users locks the account and checks for itself, and everybody has the other permissions
		return nil
	}
	user := sealedUsers.record()
	err := tx.QueryRowContext(ctx, callerQuery, t.account, t.caller.user).Scan(user.into(enabledUser...)...)
	user.set("account_id", t.account[:])
	user.set("id", t.caller.user[:])
	err = t.db.acting(ctx, err, user)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !access.Role(user.text("role")).Permissions().Has(t.caller.needs) {
		return ErrForbidden
	}
	return err
}
