package identity

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"quittance/client/api"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/problem"
)

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

// CreateAccount creates an account with its first tenant and its first user, who is an owner. It returns
// [base.ErrExists] if somebody has proved to have the e-mail address.
func CreateAccount(ctx context.Context, db *base.DB, company string, user NewUser) (base.Account, error) {
	var account base.Account
	err := db.Write(ctx, "create account", func(ctx context.Context, t *base.Tx) error {
		id, err := base.NewID(t.Now(), db.Random())
		if err != nil {
			return err
		}
		account = base.Account{ID: id, Company: company, Status: base.AccountActive, LoginPolicy: base.LoginAny,
			CreatedAt: t.Now()}
		if _, err := t.InsertSealed(ctx, base.SealedAccounts.Row(id),
			`insert into accounts (id, company, status, profile, created_at) values ($1, $2, $3, $4, $5)`,
			id, company, base.AccountActive, "{}", base.Micros(account.CreatedAt)); err != nil {
			return err
		}
		if err := t.InsertTenant(ctx, id); err != nil {
			return err
		}
		user.Role = access.Owner
		if _, err = insertUser(ctx, t, id, user); err != nil {
			return err
		}
		return t.Audit(base.AccountAct("account.create", id, map[string]string{"company": company, "email": user.Email}))
	})
	return account, addressError(db, err)
}

// addressError returns [base.ErrExists] if err says that another user of the company has an e-mail address, and
// [ErrProvedElsewhere] if it says that somebody else has proved it.
func addressError(db *base.DB, err error) error {
	if errors.Is(db.ExistsError(err, "users_email_key"), base.ErrExists) {
		return ErrProvedElsewhere
	}
	return db.ExistsError(err, "users_account_id_email_key")
}

func insertUser(ctx context.Context, t *base.Tx, account base.ID, user NewUser) (base.ID, error) {
	id, err := base.NewID(t.Now(), t.DB.Random())
	if err != nil {
		return base.ID{}, err
	}
	_, err = t.InsertSealed(ctx, base.SealedUsers.Row(account, id),
		`insert into users (account_id, id, email, name, role, password_hash, password_change_required, created_at, password_changed_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $8)`, account, id, user.Email, user.Name, user.Role, user.PasswordHash, base.Flag(user.PasswordChangeRequired), base.Micros(t.Now()))
	if err == nil && user.Proved {
		err = prove(ctx, t, base.User{Account: account, ID: id, Email: user.Email})
	}
	return id, err
}

// roleAct is an act that gives a user a role.
func roleAct(name string, account, user base.ID, email string, role access.Role) base.Act {
	act := base.UserAct(name, account, user, email)
	act.Details["role"] = string(role)
	return act
}

// AddUser adds a user to an account. It returns [base.ErrExists] if a user of the account has the e-mail address.
func AddUser(ctx context.Context, db *base.DB, account base.ID, user NewUser) (base.ID, error) {
	var id base.ID
	err := db.Write(ctx, "add user", func(ctx context.Context, t *base.Tx) error {
		if _, err := t.LockAccount(ctx, account); err != nil {
			return err
		}
		var err error
		if id, err = insertUser(ctx, t, account, user); err != nil {
			return err
		}
		return t.Audit(roleAct("user.add", account, id, user.Email, user.Role))
	})
	return id, addressError(db, err)
}

// readAccount reads an account without a lock.
func readAccount(ctx context.Context, t *base.Tx, id base.ID) (base.Account, error) {
	return t.DB.ActingAccount(ctx, t, ``, id)
}

// FindAccount returns one account.
func FindAccount(ctx context.Context, db *base.DB, id base.ID) (base.Account, error) {
	account, err := base.ScanAccount(db.Querier().QueryRowContext(ctx,
		`select `+base.AccountColumns+` from accounts where id = $1`, id))
	return account, db.Classify(err)
}

// Accounts returns the accounts, oldest first and at most limit, from 1.
func Accounts(ctx context.Context, db *base.DB, limit int) ([]base.Account, error) {
	accounts, err := base.Collect(ctx, db.Querier(),
		func(row base.Row) (base.Account, error) { return base.ScanAccount(row) },
		`select `+base.AccountColumns+` from accounts order by created_at, id limit $1`, limit)
	return accounts, db.Classify(err)
}

// UsersOf returns the users of an account, oldest first.
func UsersOf(ctx context.Context, db *base.DB, account base.ID) ([]base.User, error) {
	users, err := base.Collect(ctx, db.Querier(), base.ScanUser,
		`select `+base.UserColumns+` from users where account_id = $1 order by created_at, id`, account)
	return users, db.Classify(err)
}

// SuspendAccount prevents logins and permanently revokes all tokens of the account. Existing submissions are still
// polled, and their events delivered.
func SuspendAccount(ctx context.Context, db *base.DB, id base.ID) error {
	return db.Write(ctx, "suspend account", func(ctx context.Context, t *base.Tx) error {
		account, err := t.LockAccount(ctx, id)
		if err != nil || account.Status == base.AccountSuspended {
			return err
		}
		now := base.Micros(t.Now())
		if _, err := t.ChangeSealed(ctx, base.SealedAccounts.Row(id),
			`update accounts set status = $2, suspended_at = $3 where id = $1`, id, base.AccountSuspended, now); err != nil {
			return err
		}
		if _, err = t.Exec(ctx, `update tokens set revoked_at = $2, seal = null where account_id = $1 and revoked_at is null`,
			id, now); err != nil {
			return err
		}
		if err := endPasswordResets(ctx, t, id); err != nil {
			return err
		}
		return t.Audit(base.AccountAct("account.suspend", id, nil))
	})
}

// ReactivateAccount allows the account's users to log in again. Revoked tokens stay revoked.
func ReactivateAccount(ctx context.Context, db *base.DB, id base.ID) error {
	return db.Write(ctx, "reactivate account", func(ctx context.Context, t *base.Tx) error {
		if _, err := t.LockAccount(ctx, id); err != nil {
			return err
		}
		if _, err := t.ChangeSealed(ctx, base.SealedAccounts.Row(id),
			`update accounts set status = $2, suspended_at = null where id = $1`, id, base.AccountActive); err != nil {
			return err
		}
		return t.Audit(base.AccountAct("account.reactivate", id, nil))
	})
}

// SetProfile replaces the company profile. Its logo is stored in a column of its own; see [Logo].
func SetProfile(ctx context.Context, db *base.DB, id base.ID, profile api.Profile) error {
	logo := profile.Logo
	profile.Logo = nil
	text, err := json.Marshal(profile)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return db.Write(ctx, "set profile", func(ctx context.Context, t *base.Tx) error {
		before, err := t.LockAccount(ctx, id)
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
		return t.Audit(base.AccountAct("account.profile", id, details))
	})
}

// ErrSuspended says that the account is suspended.
var ErrSuspended = problem.New(api.CodeAccountSuspended, "account suspended")

// CreateToken stores the digest of a new token of user for the current tenant of the account, and returns the account.
// It returns [ErrSuspended] for a suspended account, [ErrSignOnRequired] for one that requires single sign-on,
// [base.ErrNotFound] if the user is disabled or has another password hash now, [ErrSecondFactor] if the user has a
// second factor without a proof, and [ErrFactorRequired] if the account requires one, the user has none, and the token
// is not for the console, where the user can set one up. The checks are part of the transaction, so that no token
// survives a suspension or a change of the password.
func CreateToken(ctx context.Context, db *base.DB, user base.User, add NewToken) (base.Account, error) {
	var account base.Account
	err := db.Write(ctx, "create token", func(ctx context.Context, t *base.Tx) error {
		var err error
		if account, err = t.LockAccount(ctx, user.Account); err != nil {
			return err
		}
		if account.Status != base.AccountActive {
			return ErrSuspended
		}
		present, err := db.ActingUser(ctx, t,
			`where account_id = $1 and id = $2 and password_hash = $3 and password_hash <> '' and disabled_at is null`+
				db.Dialect().ForUpdate(),
			user.Account, user.ID, user.PasswordHash)
		if err != nil {
			return err
		}
		if account.LoginPolicy == base.LoginSingleSignOn { // only a caller with the correct password gets this error
			return ErrSignOnRequired
		}
		if needsFactor(add.Means) {
			if add.factor, err = useFactor(ctx, t, user.Account, user.ID, add.Proof); err != nil {
				return err
			}
			if add.factor == "" && account.LoginPolicy == base.LoginSecondFactor && add.Client != ClientConsole {
				return ErrFactorRequired
			}
		}
		if add.Pending != nil {
			if err := completeLogin(ctx, t, user, *add.Pending); err != nil {
				return err
			}
		}
		return insertToken(ctx, t, user, add, present.PasswordChangeRequired)
	})
	return account, err
}

// tokenRow is a new session.
type tokenRow struct {
	Digest         []byte          `db:"digest"`
	Account        base.ID         `db:"account_id"`
	Tenant         base.ID         `db:"tenant_id"`
	User           base.ID         `db:"user_id"`
	ChangeRequired int64           `db:"password_change_required"`
	CreatedAt      int64           `db:"created_at"`
	ExpiresAt      int64           `db:"expires_at"`
	Client         SessionClient   `db:"client"`
	Means          base.LoginMeans `db:"means"`
	Source         string          `db:"source"`
	UserAgent      string          `db:"user_agent"`
}

// insertToken inserts a token of a user of a locked account. changeRequired says that the user has to change the
// password first.
func insertToken(ctx context.Context, t *base.Tx, user base.User, add NewToken, changeRequired bool) error {
	tenant, err := t.DB.CurrentTenant(ctx, t, user.Account)
	if err != nil {
		return err
	}
	_, err = t.InsertSealedRow(ctx, base.SealedTokens, []any{add.Digest[:]}, tokenRow{Digest: add.Digest[:],
		Account: user.Account, Tenant: tenant.ID(), User: user.ID, ChangeRequired: base.Flag(changeRequired),
		CreatedAt: base.Micros(t.Now()), ExpiresAt: base.Micros(add.ExpiresAt), Client: add.Client, Means: add.Means,
		Source: t.Actor.Source, UserAgent: boundedUserAgent(add.UserAgent)})
	if err != nil {
		return err
	}
	actor := t.Actor
	actor.Kind, actor.Name = base.ActorUser, user.Email // who logs in is not known before
	act := base.UserAct("session.begin", user.Account, user.ID, user.Email)
	if add.factor != "" {
		act.Details["second_factor"] = add.factor
	}
	if _, err := t.AuditAs(actor, act); err != nil {
		return err
	}
	return revokeExcess(ctx, t, user, add.Digest)
}

// revokeExcess revokes the oldest tokens of a user that exceed the quota, but never the new one. Expired tokens are
// older and go first.
func revokeExcess(ctx context.Context, t *base.Tx, user base.User, fresh [32]byte) error {
	most := t.DB.Quotas().Tokens
	if most == 0 {
		return nil
	}
	_, err := t.Exec(ctx,
		`update tokens set revoked_at = $4, seal = null where account_id = $1 and user_id = $2 and revoked_at is null and digest <> $3
		and digest in (select digest from tokens where account_id = $1 and user_id = $2 and revoked_at is null and digest <> $3
			order by created_at desc, expires_at desc limit $6 offset $5)`, user.Account, user.ID, fresh[:], base.Micros(t.Now()), most-1, base.SweepBatch)
	return err
}

// Actor returns the author of acts with the session, for [base.WithActor]. The session of somebody who is not logged in
// has a user without a name; [CreateToken] knows who logs in.
func Actor(s base.Session, means, source, requestID string) base.Actor {
	if s.Key != nil {
		return base.Actor{Kind: base.ActorKey, Name: s.Key.ID.String(), Means: means, Source: source, RequestID: requestID}
	}
	return base.Actor{Kind: base.ActorUser, Name: s.Email, Means: means, Source: source, RequestID: requestID}
}

// RevokeToken revokes a token. It does nothing if the token is unknown or revoked.
func RevokeToken(ctx context.Context, db *base.DB, digest [32]byte) error {
	return db.Write(ctx, "revoke token", func(ctx context.Context, t *base.Tx) error {
		var account, user base.ID
		switch err := t.QueryRowContext(ctx,
			`update tokens set revoked_at = $2, seal = null where digest = $1 and revoked_at is null returning account_id, user_id`, digest[:], base.Micros(t.Now())).
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
		act := base.UserAct("session.end", account, user, email)
		act.Details["session"] = base.RecordIDOf(digest[:]).String()
		return t.Audit(act)
	})
}

// FindUserOf returns the user of a session.
func FindUserOf(ctx context.Context, db *base.DB, session base.Session) (base.User, error) {
	user, err := db.ActingUser(ctx, db.Querier(), `where account_id = $1 and id = $2`, session.Account.ID, session.User)
	return user, db.Classify(err)
}

// Logo returns the logo of the company's profile as a data URL, or nil. It is not part of [base.Account], which every
// call of the company reads.
func Logo(ctx context.Context, t *base.Tenant) (*string, error) {
	var logo sql.Null[string]
	err := t.Read(func(q base.Querier) error {
		return q.QueryRowContext(ctx, `select logo from accounts where id = $1`, t.Account()).Scan(&logo)
	})
	return base.TextOrNil(logo), err
}
