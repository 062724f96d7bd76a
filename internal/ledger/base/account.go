package base

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"quittance/client/api"
	"quittance/internal/ledger/access"
)

// The states of an account.
const (
	AccountActive    = "active"
	AccountSuspended = "suspended"
)

// Account is a company that uses the service.
type Account struct {
	ID      ID
	Company string
	Status  string
	// LoginPolicy says how the users have to log in.
	LoginPolicy LoginPolicy
	Profile     api.Profile
	// Kind, Format and Options are those of the active connection. Only the account of a [Session] has them.
	Kind, Format string
	Options      map[string]string
	// CreditNotes says that the active connection submits credit notes. Only the account of a [Session] has it.
	CreditNotes bool
	CreatedAt   time.Time
	SuspendedAt *time.Time
}

// User is a person who can log in to an account.
type User struct {
	Account ID
	ID      ID
	Email   string
	Name    string
	// Role says what the user may do.
	Role         access.Role
	PasswordHash string
	// PasswordChangeRequired reports that an administrator set the password and the user has not changed it yet.
	PasswordChangeRequired bool
	CreatedAt              time.Time
	// DisabledAt is the time at which the user was disabled; nil for a user who can log in.
	DisabledAt *time.Time
	// Linked reports that the user is linked to a person at the OpenID provider.
	Linked bool
	// ProvedAt is when the user has proved to have the e-mail address; nil for an address that nobody has proved.
	ProvedAt *time.Time
}

// ExistsError returns [ErrExists] if err is a violation of one of the named unique indexes, and otherwise err.
func (db *DB) ExistsError(err error, indexes ...string) error {
	if err != nil && slices.Contains(indexes, db.database.ViolatedConstraint(err)) {
		return ErrExists
	}
	return err
}

// InsertTenant gives an account an empty tenant.
func (t *Tx) InsertTenant(ctx context.Context, account ID) error {
	id, err := NewID(t.Now(), t.DB.random)
	if err != nil {
		return err
	}
	noEvents, err := Seal{}.Sealed(t.DB.keys, EventsSealBinding(id))
	if err != nil {
		return err
	}
	_, err = t.InsertSealed(ctx, SealedTenants.Row(id),
		`insert into tenants (id, account_id, created_at, events_seal) values ($1, $2, $3, $4)`,
		id, account, Micros(t.Now()), noEvents)
	return err
}

// AccountAct is an act on an account.
func AccountAct(name string, account ID, details map[string]string) Act {
	return Act{Name: name, Account: account, SubjectType: "account", Subject: account.String(), Details: details}
}

// UserAct is an act on a user.
func UserAct(name string, account, user ID, email string) Act {
	return Act{Name: name, Account: account, SubjectType: "user", Subject: user.String(),
		Details: map[string]string{"email": email}}
}

// AccountColumns are what [ScanAccount] reads.
const AccountColumns = `id, company, status, login_policy, profile, created_at, suspended_at`

// ActingAccount reads an account with a query of accountColumns and the columns of its seal. It returns [sql.ErrNoRows]
// if it does not act.
func (db *DB) ActingAccount(ctx context.Context, q Querier, lock string, id ID) (Account, error) {
	record := SealedAccounts.Record()
	account, err := ScanAccount(q.QueryRowContext(ctx, `select `+AccountColumns+`, `+SealedAccounts.Columns("accounts")+
		` from accounts where id = $1`+lock, id), record.Into()...)
	return account, db.Acting(ctx, err, record)
}

// ScanAccount reads AccountColumns, and further columns into more.
func ScanAccount(row Row, more ...any) (Account, error) {
	var account Account
	var profile string
	var created int64
	var suspended sql.Null[int64]
	if err := row.Scan(append([]any{&account.ID, &account.Company, &account.Status, &account.LoginPolicy, &profile,
		&created, &suspended}, more...)...); err != nil {
		return Account{}, err
	}
	account.CreatedAt, account.SuspendedAt = Instant(created), InstantOrNil(suspended)
	if err := jsonv2.Unmarshal([]byte(profile), &account.Profile); err != nil {
		return Account{}, fmt.Errorf("stored profile: %w", err)
	}
	return account, nil
}

// LockAccount reads an account and locks it until the end of the transaction.
func (t *Tx) LockAccount(ctx context.Context, id ID) (Account, error) {
	return t.DB.ActingAccount(ctx, t, t.DB.dialect.ForUpdate(), id)
}

// Session is the identity behind a valid token or API key.
type Session struct {
	Tenant  *Tenant
	Account Account
	// User, Email and Role are those of the user; zero for an API key.
	User  ID
	Email string
	Role  access.Role
	// Key is the API key; nil for a token.
	Key *SessionKey
	// Permissions is what the caller may do.
	Permissions access.Permissions
	// Means is how the user has logged in; "" for an API key, and for a session that an earlier release began.
	Means LoginMeans
	// Digest is that of the token or API key.
	Digest [32]byte
	// PasswordChangeRequired reports that the user must change the password before doing anything else in the console.
	PasswordChangeRequired bool
	// FactorRequired reports that the company requires a second factor and the user has none: the session allows nothing
	// but to set one up.
	FactorRequired bool
	records        []*SealedRecord // that decide whether it acts
	profile        string          // of the account, as it is stored
	lastUsedAt     time.Time       // the last recorded use, or that of the login; zero for a key that was never used
}

// IsEnrolled is the condition that the row f of second_factors belongs to a user who has a second factor: an
// authenticator app that is confirmed, or a passkey.
const IsEnrolled = `(f.secret is not null or exists (select 1 from passkeys p where p.account_id = f.account_id and p.user_id = f.user_id))`

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
