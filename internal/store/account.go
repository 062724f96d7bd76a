package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"quittance/client/api"
	"quittance/internal/access"
	"quittance/internal/problem"
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

// NewUser holds the values of a new user. Email is compared exactly, so the caller normalizes it.
type NewUser struct {
	Email string
	Name  string
	// Role is one of [access.Roles]. The first user of an account is always an owner.
	Role         access.Role
	PasswordHash string
	// PasswordChangeRequired makes the user change the password at the first login to the console.
	PasswordChangeRequired bool
	// Proved says that the person has proved to have the address.
	Proved bool
}

// CreateAccount creates an account with its first tenant and its first user, who is an owner. It returns [ErrExists] if
// somebody has proved to have the e-mail address.
func (db *DB) CreateAccount(ctx context.Context, company string, user NewUser) (Account, error) {
	var account Account
	err := db.write(ctx, "create account", func(ctx context.Context, t *tx) error {
		id, err := newID(t.Now(), db.random)
		if err != nil {
			return err
		}
		account = Account{ID: id, Company: company, Status: AccountActive, LoginPolicy: LoginAny, CreatedAt: t.Now()}
		if _, err := t.insertSealed(ctx, sealedAccounts.row(id),
			`insert into accounts (id, company, status, profile, created_at) values ($1, $2, $3, $4, $5)`,
			id, company, AccountActive, "{}", micros(account.CreatedAt)); err != nil {
			return err
		}
		if err := t.insertTenant(ctx, id); err != nil {
			return err
		}
		user.Role = access.Owner
		if _, err = t.insertUser(ctx, id, user); err != nil {
			return err
		}
		return t.audit(accountAct("account.create", id, map[string]string{"company": company, "email": user.Email}))
	})
	return account, db.addressError(err)
}

// existsError returns [ErrExists] if err is a violation of one of the named unique indexes, and otherwise err.
func (db *DB) existsError(err error, indexes ...string) error {
	if err != nil && slices.Contains(indexes, db.database.ViolatedConstraint(err)) {
		return ErrExists
	}
	return err
}

// addressError returns [ErrExists] if err says that another user of the company has an e-mail address, and
// [ErrProvedElsewhere] if it says that somebody else has proved it.
func (db *DB) addressError(err error) error {
	if errors.Is(db.existsError(err, "users_email_key"), ErrExists) {
		return ErrProvedElsewhere
	}
	return db.existsError(err, "users_account_id_email_key")
}

func (t *tx) insertTenant(ctx context.Context, account ID) error {
	id, err := newID(t.Now(), t.db.random)
	if err != nil {
		return err
	}
	noEvents, err := seal{}.seal(t.db.keys, eventsSealBinding(id))
	if err != nil {
		return err
	}
	_, err = t.insertSealed(ctx, sealedTenants.row(id),
		`insert into tenants (id, account_id, created_at, events_seal) values ($1, $2, $3, $4)`,
		id, account, micros(t.Now()), noEvents)
	return err
}

func (t *tx) insertUser(ctx context.Context, account ID, user NewUser) (ID, error) {
	id, err := newID(t.Now(), t.db.random)
	if err != nil {
		return ID{}, err
	}
	_, err = t.insertSealed(ctx, sealedUsers.row(account, id),
		`insert into users (account_id, id, email, name, role, password_hash, password_change_required, created_at, password_changed_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $8)`, account, id, user.Email, user.Name, user.Role, user.PasswordHash, flag(user.PasswordChangeRequired), micros(t.Now()))
	if err == nil && user.Proved {
		err = t.prove(ctx, User{Account: account, ID: id, Email: user.Email})
	}
	return id, err
}

func accountAct(name string, account ID, details map[string]string) Act {
	return Act{Name: name, Account: account, SubjectType: "account", Subject: account.String(), Details: details}
}

func userAct(name string, account, user ID, email string) Act {
	return Act{Name: name, Account: account, SubjectType: "user", Subject: user.String(),
		Details: map[string]string{"email": email}}
}

// roleAct is an act that gives a user a role.
func roleAct(name string, account, user ID, email string, role access.Role) Act {
	act := userAct(name, account, user, email)
	act.Details["role"] = string(role)
	return act
}

// AddUser adds a user to an account. It returns [ErrExists] if a user of the account has the e-mail address.
func (db *DB) AddUser(ctx context.Context, account ID, user NewUser) (ID, error) {
	var id ID
	err := db.write(ctx, "add user", func(ctx context.Context, t *tx) error {
		if _, err := t.account(ctx, account); err != nil {
			return err
		}
		var err error
		if id, err = t.insertUser(ctx, account, user); err != nil {
			return err
		}
		return t.audit(roleAct("user.add", account, id, user.Email, user.Role))
	})
	return id, db.addressError(err)
}

const accountColumns = `id, company, status, login_policy, profile, created_at, suspended_at`

// actingAccount reads an account with a query of accountColumns and the columns of its seal. It returns [sql.ErrNoRows]
// if it does not act.
func (db *DB) actingAccount(ctx context.Context, q querier, lock string, id ID) (Account, error) {
	record := sealedAccounts.record()
	account, err := scanAccount(q.QueryRowContext(ctx, `select `+accountColumns+`, `+sealedAccounts.columns("accounts")+
		` from accounts where id = $1`+lock, id), record.into()...)
	return account, db.acting(ctx, err, record)
}

func scanAccount(row scanner, more ...any) (Account, error) {
	var account Account
	var profile string
	var created int64
	var suspended sql.Null[int64]
	if err := row.Scan(append([]any{&account.ID, &account.Company, &account.Status, &account.LoginPolicy, &profile,
		&created, &suspended}, more...)...); err != nil {
		return Account{}, err
	}
	account.CreatedAt, account.SuspendedAt = instant(created), instantOrNil(suspended)
	if err := jsonv2.Unmarshal([]byte(profile), &account.Profile); err != nil {
		return Account{}, fmt.Errorf("stored profile: %w", err)
	}
	return account, nil
}

// account reads an account and locks it until the end of the transaction.
func (t *tx) account(ctx context.Context, id ID) (Account, error) {
	return t.db.actingAccount(ctx, t, t.db.dialect.ForUpdate(), id)
}

// readAccount reads an account without a lock.
func (t *tx) readAccount(ctx context.Context, id ID) (Account, error) {
	return t.db.actingAccount(ctx, t, ``, id)
}

// Account returns one account.
func (db *DB) Account(ctx context.Context, id ID) (Account, error) {
	account, err := scanAccount(db.reader.QueryRowContext(ctx, `select `+accountColumns+` from accounts where id = $1`,
		id))
	return account, db.classify(err)
}

// Accounts returns the accounts, oldest first and at most limit, from 1.
func (db *DB) Accounts(ctx context.Context, limit int) ([]Account, error) {
	accounts, err := collect(ctx, db.reader, func(row scanner) (Account, error) { return scanAccount(row) },
		`select `+accountColumns+` from accounts order by created_at, id limit $1`, limit)
	return accounts, db.classify(err)
}

// Users returns the users of an account, oldest first.
func (db *DB) Users(ctx context.Context, account ID) ([]User, error) {
	users, err := collect(ctx, db.reader, scanUser,
		`select `+userColumns+` from users where account_id = $1 order by created_at, id`, account)
	return users, db.classify(err)
}

// SuspendAccount prevents logins and permanently revokes all tokens of the account. Existing submissions are still
// polled, and their events delivered.
func (db *DB) SuspendAccount(ctx context.Context, id ID) error {
	return db.write(ctx, "suspend account", func(ctx context.Context, t *tx) error {
		account, err := t.account(ctx, id)
		if err != nil || account.Status == AccountSuspended {
			return err
		}
		now := micros(t.Now())
		if _, err := t.changeSealed(ctx, sealedAccounts.row(id),
			`update accounts set status = $2, suspended_at = $3 where id = $1`, id, AccountSuspended, now); err != nil {
			return err
		}
		if _, err = t.Exec(ctx, `update tokens set revoked_at = $2, seal = null where account_id = $1 and revoked_at is null`,
			id, now); err != nil {
			return err
		}
		if err := t.endPasswordResets(ctx, id); err != nil {
			return err
		}
		return t.audit(accountAct("account.suspend", id, nil))
	})
}

// ReactivateAccount allows the account's users to log in again. Revoked tokens stay revoked.
func (db *DB) ReactivateAccount(ctx context.Context, id ID) error {
	return db.write(ctx, "reactivate account", func(ctx context.Context, t *tx) error {
		if _, err := t.account(ctx, id); err != nil {
			return err
		}
		if _, err := t.changeSealed(ctx, sealedAccounts.row(id),
			`update accounts set status = $2, suspended_at = null where id = $1`, id, AccountActive); err != nil {
			return err
		}
		return t.audit(accountAct("account.reactivate", id, nil))
	})
}

// SetProfile replaces the company profile. Its logo is stored in a column of its own; see [Tenant.Logo].
func (db *DB) SetProfile(ctx context.Context, id ID, profile api.Profile) error {
	logo := profile.Logo
	profile.Logo = nil
	text, err := json.Marshal(profile)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return db.write(ctx, "set profile", func(ctx context.Context, t *tx) error {
		before, err := t.account(ctx, id)
		if err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `update accounts set profile = $2, logo = $3 where id = $1`, id, string(text),
			logo); err != nil {
			return err
		}
		old, err := json.Marshal(before.Profile)
		if err != nil {
			return fmt.Errorf("profile: %w", err)
		}
		details := map[string]string{"before": string(old), "after": string(text)}
		if logo != nil {
			details["logo_sha256"] = fmt.Sprintf("%x", sha256.Sum256([]byte(*logo)))
		}
		return t.audit(accountAct("account.profile", id, details))
	})
}

// ErrSuspended says that the account is suspended.
var ErrSuspended = problem.New(api.CodeAccountSuspended, "account suspended")

// CreateToken stores the digest of a new token of user for the current tenant of the account, and returns the account.
// It returns [ErrSuspended] for a suspended account, [ErrSignOnRequired] for one that requires single sign-on,
// [ErrNotFound] if the user is disabled or has another password hash now, [ErrSecondFactor] if the user has a second
// factor without a proof, and [ErrFactorRequired] if the account requires one, the user has none, and the token is not
// for the console, where the user can set one up. The checks are part of the transaction, so that no token survives a
// suspension or a change of the password.
func (db *DB) CreateToken(ctx context.Context, user User, add NewToken) (Account, error) {
	var account Account
	err := db.write(ctx, "create token", func(ctx context.Context, t *tx) error {
		var err error
		if account, err = t.account(ctx, user.Account); err != nil {
			return err
		}
		if account.Status != AccountActive {
			return ErrSuspended
		}
		present, err := db.actingUser(ctx, t,
			`where account_id = $1 and id = $2 and password_hash = $3 and password_hash <> '' and disabled_at is null`+
				db.dialect.ForUpdate(),
			user.Account, user.ID, user.PasswordHash)
		if err != nil {
			return err
		}
		if account.LoginPolicy == LoginSingleSignOn { // only a caller with the correct password gets this error
			return ErrSignOnRequired
		}
		if add.Means.needsFactor() {
			if add.factor, err = t.useFactor(ctx, user.Account, user.ID, add.Proof); err != nil {
				return err
			}
			if add.factor == "" && account.LoginPolicy == LoginSecondFactor && add.Client != ClientConsole {
				return ErrFactorRequired
			}
		}
		if add.Pending != nil {
			if err := t.completeLogin(ctx, user, *add.Pending); err != nil {
				return err
			}
		}
		return t.insertToken(ctx, user, add, present.PasswordChangeRequired)
	})
	return account, err
}

// insertToken inserts a token of a user of a locked account. changeRequired says that the user has to change the
// password first.
func (t *tx) insertToken(ctx context.Context, user User, add NewToken, changeRequired bool) error {
	tenant, err := t.db.currentTenant(ctx, t, user.Account)
	if err != nil {
		return err
	}
	_, err = t.insertSealed(ctx, sealedTokens.row(add.Digest[:]),
		`insert into tokens (digest, account_id, tenant_id, user_id, password_change_required, created_at, expires_at, client, means, source, user_agent)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, add.Digest[:], user.Account, tenant.id, user.ID, flag(changeRequired), micros(t.Now()), micros(add.ExpiresAt),
		add.Client, add.Means, t.actor.Source, boundedUserAgent(add.UserAgent))
	if err != nil {
		return err
	}
	actor := t.actor
	actor.Kind, actor.Name = ActorUser, user.Email // who logs in is not known before
	act := userAct("session.begin", user.Account, user.ID, user.Email)
	if add.factor != "" {
		act.Details["second_factor"] = add.factor
	}
	if _, err := t.auditAs(actor, act); err != nil {
		return err
	}
	return t.revokeExcess(ctx, user, add.Digest)
}

// revokeExcess revokes the oldest tokens of a user that exceed the quota, but never the new one. Expired tokens are
// older and go first.
func (t *tx) revokeExcess(ctx context.Context, user User, fresh [32]byte) error {
	most := t.db.quotas.Tokens
	if most == 0 {
		return nil
	}
	_, err := t.Exec(ctx,
		`update tokens set revoked_at = $4, seal = null where account_id = $1 and user_id = $2 and revoked_at is null and digest <> $3
		and digest in (select digest from tokens where account_id = $1 and user_id = $2 and revoked_at is null and digest <> $3
			order by created_at desc, expires_at desc limit $6 offset $5)`, user.Account, user.ID, fresh[:], micros(t.Now()), most-1, sweepBatch)
	return err
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
	records        []*sealedRecord // that decide whether it acts
	profile        string          // of the account, as it is stored
	lastUsedAt     time.Time       // the last recorded use, or that of the login; zero for a key that was never used
}

// Actor returns the author of acts with the session, for [WithActor]. The session of somebody who is not logged in has
// a user without a name; [DB.CreateToken] knows who logs in.
func (s Session) Actor(means, source, requestID string) Actor {
	if s.Key != nil {
		return Actor{Kind: ActorKey, Name: s.Key.ID.String(), Means: means, Source: source, RequestID: requestID}
	}
	return Actor{Kind: ActorUser, Name: s.Email, Means: means, Source: source, RequestID: requestID}
}

// RevokeToken revokes a token. It does nothing if the token is unknown or revoked.
func (db *DB) RevokeToken(ctx context.Context, digest [32]byte) error {
	return db.write(ctx, "revoke token", func(ctx context.Context, t *tx) error {
		var account, user ID
		switch err := t.QueryRowContext(ctx,
			`update tokens set revoked_at = $2, seal = null where digest = $1 and revoked_at is null returning account_id, user_id`, digest[:], micros(t.Now())).
			Scan(&account, &user); {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		var email string
		if err := t.QueryRowContext(ctx, `select email from users where account_id = $1 and id = $2`, account,
			user).Scan(&email); err != nil {
			return err
		}
		act := userAct("session.end", account, user, email)
		act.Details["session"] = recordID(digest[:]).String()
		return t.audit(act)
	})
}

// User returns the user of a session.
func (db *DB) User(ctx context.Context, session Session) (User, error) {
	user, err := db.actingUser(ctx, db.reader, `where account_id = $1 and id = $2`, session.Account.ID, session.User)
	return user, db.classify(err)
}

// Logo returns the logo of the company's profile as a data URL, or nil. It is not part of [Account], which every call
// of the company reads.
func (t *Tenant) Logo(ctx context.Context) (*string, error) {
	var logo sql.Null[string]
	err := t.read(func(q querier) error {
		return q.QueryRowContext(ctx, `select logo from accounts where id = $1`, t.account).Scan(&logo)
	})
	return textOrNil(logo), err
}
