package base

import (
	"context"
	"database/sql"
	"errors"

	"quittance/client/api"
	"quittance/internal/ledger/access"
	"quittance/internal/platform/problem"
)

// ErrForbidden says that the role of the caller no longer allows the operation.
var ErrForbidden = problem.New(api.CodeForbidden, "the role does not allow this")

// caller is the user on whose behalf a tenant writes.
type caller struct {
	user  ID
	needs access.Permission
}

//nolint:gochecknoglobals // constants
var (
	// enabledUser are the columns that are known of the user with an identifier who is not disabled.
	enabledUser = []string{"account_id", "id", "disabled_at"}
	callerQuery = `select ` + SealedUsers.Columns("users", enabledUser...) + `
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

// Service returns the tenant for the work that the service does after an operation, such as to record the answer to
// what was sent: that does not depend on what its user may do by then.
func (t *Tenant) Service() *Tenant {
	own := *t
	own.caller = nil
	return &own
}

// Authorize returns [ErrForbidden] unless the caller of the tenant may do what it does. Keys outlive the operation, so
// their maker's role stays until the transaction ends. For anything else the row of the user is not locked: those who
// change the role would wait for as long as the user always has one more call under way. A call that is under way when
// the role changes counts as the earlier of the two.
func (t *Tenant) Authorize(ctx context.Context, tx *Tx) error {
	if t.DB() == nil {
		return ErrNoTenant
	}
	if t.caller == nil {
		return nil
	}
	switch t.caller.needs {
	case access.ManageKeys:
		if _, err := tx.LockAccount(ctx, t.account); err != nil { // as those who end the keys of a user
			return err
		}
	case access.Write, access.Submit, access.ManageWebhooks:
	default: // what concerns users locks the account and checks for itself, and everybody has the other permissions
		return nil
	}
	user := SealedUsers.Record()
	err := tx.QueryRowContext(ctx, callerQuery, t.account, t.caller.user).Scan(user.Into(enabledUser...)...)
	user.set("account_id", t.account[:])
	user.set("id", t.caller.user[:])
	err = t.db.Acting(ctx, err, user)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !access.Role(user.text("role")).Permissions().Has(t.caller.needs) {
		return ErrForbidden
	}
	return err
}
