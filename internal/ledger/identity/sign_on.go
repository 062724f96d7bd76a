package identity

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"quittance/internal/ledger/base"
)

// ErrOtherSubject says that an e-mail address is linked to somebody else at the OpenID provider, or that somebody there
// is linked to another user.
var ErrOtherSubject = errors.New("the user is linked to another person at the OpenID provider")

// SignOn is a person whom an OpenID provider has logged in.
type SignOn struct {
	// Issuer and Subject identify the person at the provider for good.
	Issuer, Subject string
	// Email is the verified e-mail address in the form in which users' addresses are stored.
	Email string
}

// ErrChooseCompany says that nobody has proved the address of a person whom an OpenID provider has logged in, and that
// there are users with it: the person chooses the company, so that nobody lands in one that somebody else has chosen.
var ErrChooseCompany = errors.New("the person has to choose the company")

// CreateSignOnToken is [CreateToken] for a person whom an OpenID provider has logged in, instead of one with a
// password. The first login links the user who has proved the e-mail address to the person, and needs the second factor
// if the user has one: [ErrSecondFactor] comes with the user. Otherwise whoever has the address at the provider would
// do without it for good. It returns [base.ErrNotFound] if there is no user with the address or the user is disabled,
// [ErrChooseCompany] if nobody has proved it, [ErrOtherSubject] if user or person are linked otherwise, and
// [ErrSuspended] for a suspended account. The user of the token need not change a password, which was not used.
func CreateSignOnToken(ctx context.Context, db *base.DB, on SignOn, add NewToken) (base.User, base.Account, error) {
	var user base.User
	var account base.Account
	err := db.Write(ctx, "create token", func(ctx context.Context, t *base.Tx) error {
		found, err := db.ActingUser(ctx, t, `where email = $1 and proved_at is not null and disabled_at is null`, on.Email)
		if add.Pending != nil {
			if begun, err := beganLogin(ctx, t, *add.Pending, found.ID); err != nil || !begun {
				return cmp.Or(err, error(ErrSessionEnded)) // the address is no longer that of the user who has begun the login
			}
		}
		if errors.Is(err, sql.ErrNoRows) {
			return checkChoice(ctx, t, on)
		}
		if err != nil {
			return err
		}
		if account, err = t.LockAccount(ctx, found.Account); err != nil {
			return err
		}
		if user, err = readUser(ctx, t, found.Account, found.ID); err != nil { // now that the account is locked
			return err
		}
		if user.Email != on.Email || user.ProvedAt == nil || user.DisabledAt != nil {
			return sql.ErrNoRows
		}
		return beginSignOnSession(ctx, t, user, account, on, add)
	})
	return user, account, signOnError(db, err)
}

// checkChoice returns [ErrChooseCompany] if a person can choose a company, and otherwise [sql.ErrNoRows].
func checkChoice(ctx context.Context, t *base.Tx, on SignOn) error {
	companies, err := addressCompanies(ctx, t, on.Email)
	switch {
	case err != nil:
		return err
	case len(companies) == 0:
		return sql.ErrNoRows
	}
	return ErrChooseCompany
}

// beginSignOnSession links a user of a locked account to a person, unless this has happened before, and inserts the
// token.
func beginSignOnSession(ctx context.Context, t *base.Tx, user base.User, account base.Account, on SignOn,
	add NewToken) error {
	linked, err := checkSubject(ctx, t, user, on)
	if err != nil {
		return err
	}
	if account.Status != base.AccountActive {
		return ErrSuspended
	}
	if !linked {
		if add.factor, err = useFactor(ctx, t, user.Account, user.ID, add.Proof); err != nil {
			return err
		}
		if err := linkSubject(ctx, t, user, on); err != nil {
			return err
		}
	}
	if add.Pending != nil {
		if err := completeLogin(ctx, t, user, *add.Pending); err != nil {
			return err
		}
	}
	return insertToken(ctx, t, user, add, false)
}

func signOnError(db *base.DB, err error) error {
	if errors.Is(db.ExistsError(err, "sign_on_subjects_issuer_subject_key"), base.ErrExists) {
		return ErrOtherSubject
	}
	if errors.Is(addressError(db, err), ErrProvedElsewhere) {
		return base.ErrNotFound // meanwhile
	}
	return err
}

// SignOnChoiceTTL is how long somebody may take to choose the company.
const SignOnChoiceTTL = 10 * time.Minute

// StoreSignOnChoice stores that a person whom an OpenID provider has logged in has to choose a company, with the digest
// of the secret of the browser.
func StoreSignOnChoice(ctx context.Context, db *base.DB, digest [32]byte, on SignOn) error {
	return db.Write(ctx, "store sign-on choice", func(ctx context.Context, t *base.Tx) error {
		_, err := t.InsertSealed(ctx, base.SealedChoices.Row(digest[:]),
			`insert into sign_on_choices (digest, issuer, subject, email, expires_at) values ($1, $2, $3, $4, $5)`,
			digest[:], on.Issuer, on.Subject, on.Email, base.Micros(t.Now().Add(SignOnChoiceTTL)))
		return err
	})
}

// FindSignOnChoice returns the address of a person, and the companies to choose from. It returns [base.ErrNotFound] if
// the choice was made or has expired.
func FindSignOnChoice(ctx context.Context, db *base.DB,
	digest [32]byte) (email string, companies []AddressCompany, err error) {
	record := base.SealedChoices.Record()
	err = db.Querier().QueryRowContext(ctx, `select email, `+base.SealedChoices.Columns("sign_on_choices")+
		` from sign_on_choices where digest = $1 and expires_at > $2`,
		digest[:], base.Micros(db.Now())).Scan(append([]any{&email}, record.Into()...)...)
	if err = db.Acting(ctx, err, record); err == nil {
		companies, err = addressCompanies(ctx, db.Querier(), email)
	}
	return email, companies, db.Classify(err)
}

// CompleteSignOnChoice is [CreateSignOnToken] for the person of a choice, and of that company. The user with the
// address there has proved it now: whoever chose the password may be somebody else, so that it ends with the sessions.
// It returns [base.ErrNotFound] if the choice was made or has expired, or the company has no user who can use the
// address, and [ErrSecondFactor] if the user there has a second factor, which may be that of somebody else, too: only a
// login with it or somebody who may manage users ends it. The choice remains then.
func CompleteSignOnChoice(ctx context.Context, db *base.DB, digest [32]byte, of base.ID,
	add NewToken) (base.User, base.Account, error) {
	var user base.User
	var account base.Account
	err := db.Write(ctx, "create token", func(ctx context.Context, t *base.Tx) error {
		var on SignOn
		if err := t.CheckSealed(ctx, base.SealedChoices.Row(digest[:])); err != nil {
			return err
		}
		if err := t.QueryRowContext(ctx,
			`delete from sign_on_choices where digest = $1 and expires_at > $2 returning issuer, subject, email`, digest[:],
			base.Micros(t.Now())).
			Scan(&on.Issuer, &on.Subject, &on.Email); err != nil {
			return err
		}
		err := lockAddress(ctx, t, of, on.Email)
		if err != nil {
			return err
		}
		if user, account, err = lockUnproved(ctx, t, of, on.Email); err != nil {
			return err
		}
		if err := endLogin(ctx, t, user); err != nil {
			return err
		}
		if err := prove(ctx, t, user); err != nil {
			return err
		}
		actor := t.Actor
		actor.Kind, actor.Name = base.ActorUser, user.Email // who logs in is not known before
		if _, err := t.AuditAs(actor, base.UserAct("user.prove-address", user.Account, user.ID, user.Email)); err != nil {
			return err
		}
		return beginSignOnSession(ctx, t, user, account, on, add)
	})
	return user, account, signOnError(db, err)
}

// checkSubject reports whether a user of a locked account is linked to a person. It returns [ErrOtherSubject] if the
// user is linked to somebody else.
func checkSubject(ctx context.Context, t *base.Tx, user base.User, on SignOn) (linked bool, err error) {
	var issuer, subject string
	record := base.SealedSubjects.Record()
	err = t.QueryRowContext(ctx, `select issuer, subject, `+base.SealedSubjects.Columns("sign_on_subjects")+
		` from sign_on_subjects where account_id = $1 and user_id = $2`, user.Account, user.ID).
		Scan(append([]any{&issuer, &subject}, record.Into()...)...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	// a link that does not act is nobody's
	case err == nil && (!t.DB.Acts(ctx, record) || issuer != on.Issuer || subject != on.Subject):
		err = ErrOtherSubject
	}
	return true, err
}

// linkSubject links a user of a locked account to a person. A person who is linked to another user already violates a
// unique index.
func linkSubject(ctx context.Context, t *base.Tx, user base.User, on SignOn) error {
	if _, err := t.InsertSealed(ctx, base.SealedSubjects.Row(user.Account, user.ID),
		`insert into sign_on_subjects (account_id, user_id, issuer, subject, linked_at) values ($1, $2, $3, $4, $5)`,
		user.Account, user.ID, on.Issuer, on.Subject, base.Micros(t.Now())); err != nil {
		return err
	}
	actor := t.Actor
	actor.Kind, actor.Name = base.ActorUser, user.Email // who logs in is not known before
	act := base.UserAct("user.link", user.Account, user.ID, user.Email)
	act.Details["issuer"] = on.Issuer
	_, err := t.AuditAs(actor, act)
	return err
}

// UnlinkUser ends the link of a user to a person at the OpenID provider, so that the next login by single sign-on makes
// another one, and the sessions that single sign-on has begun. It does nothing if the user is not linked, and returns
// [base.ErrNotFound] if the account has no such user.
func UnlinkUser(ctx context.Context, db *base.DB, account, user base.ID) error {
	return db.Write(ctx, "unlink user", func(ctx context.Context, t *base.Tx) error {
		locked, err := lockUser(ctx, t, account, user)
		if err != nil {
			return err
		}
		return unlink(ctx, t, locked)
	})
}

// unlink unlinks a user of a locked account.
func unlink(ctx context.Context, t *base.Tx, user base.User) error {
	removed, err := t.Exec(ctx, `delete from sign_on_subjects where account_id = $1 and user_id = $2`, user.Account,
		user.ID)
	if err != nil || removed == 0 {
		return err
	}
	if _, err := t.Exec(ctx,
		`update tokens set revoked_at = $3, seal = null where account_id = $1 and user_id = $2 and means = $4 and revoked_at is null`,
		user.Account, user.ID, base.Micros(t.Now()), LoginBySingleSignOn); err != nil {
		return err
	}
	return t.Audit(base.UserAct("user.unlink", user.Account, user.ID, user.Email))
}
