package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"
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

// CreateSignOnToken is [DB.CreateToken] for a person whom an OpenID provider has logged in, instead of one with a
// password. The first login links the user who has proved the e-mail address to the person, and needs the second factor
// if the user has one: [ErrSecondFactor] comes with the user. Otherwise whoever has the address at the provider would
// do without it for good. It returns [ErrNotFound] if there is no user with the address or the user is disabled,
// [ErrChooseCompany] if nobody has proved it, [ErrOtherSubject] if user or person are linked otherwise, and
// [ErrSuspended] for a suspended account. The user of the token need not change a password, which was not used.
func (db *DB) CreateSignOnToken(ctx context.Context, on SignOn, add NewToken) (User, Account, error) {
	var user User
	var account Account
	err := db.write(ctx, "create token", func(ctx context.Context, t *tx) error {
		found, err := db.actingUser(ctx, t, `where email = $1 and proved_at is not null and disabled_at is null`, on.Email)
		if add.Pending != nil {
			if begun, err := t.beganLogin(ctx, *add.Pending, found.ID); err != nil || !begun {
				return cmp.Or(err, error(ErrSessionEnded)) // the address is no longer that of the user who has begun the login
			}
		}
		if errors.Is(err, sql.ErrNoRows) {
			return t.checkChoice(ctx, on)
		}
		if err != nil {
			return err
		}
		if account, err = t.account(ctx, found.Account); err != nil {
			return err
		}
		if user, err = t.readUser(ctx, found.Account, found.ID); err != nil { // now that the account is locked
			return err
		}
		if user.Email != on.Email || user.ProvedAt == nil || user.DisabledAt != nil {
			return sql.ErrNoRows
		}
		return t.beginSignOnSession(ctx, user, account, on, add)
	})
	return user, account, db.signOnError(err)
}

// checkChoice returns [ErrChooseCompany] if a person can choose a company, and otherwise [sql.ErrNoRows].
func (t *tx) checkChoice(ctx context.Context, on SignOn) error {
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
func (t *tx) beginSignOnSession(ctx context.Context, user User, account Account, on SignOn, add NewToken) error {
	linked, err := t.checkSubject(ctx, user, on)
	if err != nil {
		return err
	}
	if account.Status != AccountActive {
		return ErrSuspended
	}
	if !linked {
		if add.factor, err = t.useFactor(ctx, user.Account, user.ID, add.Proof); err != nil {
			return err
		}
		if err := t.linkSubject(ctx, user, on); err != nil {
			return err
		}
	}
	if add.Pending != nil {
		if err := t.completeLogin(ctx, user, *add.Pending); err != nil {
			return err
		}
	}
	return t.insertToken(ctx, user, add, false)
}

func (db *DB) signOnError(err error) error {
	if errors.Is(db.existsError(err, "sign_on_subjects_issuer_subject_key"), ErrExists) {
		return ErrOtherSubject
	}
	if errors.Is(db.addressError(err), ErrProvedElsewhere) {
		return ErrNotFound // meanwhile
	}
	return err
}

// SignOnChoiceTTL is how long somebody may take to choose the company.
const SignOnChoiceTTL = 10 * time.Minute

// StoreSignOnChoice stores that a person whom an OpenID provider has logged in has to choose a company, with the digest
// of the secret of the browser.
func (db *DB) StoreSignOnChoice(ctx context.Context, digest [32]byte, on SignOn) error {
	return db.write(ctx, "store sign-on choice", func(ctx context.Context, t *tx) error {
		_, err := t.insertSealed(ctx, sealedChoices.row(digest[:]),
			`insert into sign_on_choices (digest, issuer, subject, email, expires_at) values ($1, $2, $3, $4, $5)`,
			digest[:], on.Issuer, on.Subject, on.Email, micros(t.Now().Add(SignOnChoiceTTL)))
		return err
	})
}

// SignOnChoice returns the address of a person, and the companies to choose from. It returns [ErrNotFound] if the
// choice was made or has expired.
func (db *DB) SignOnChoice(ctx context.Context, digest [32]byte) (email string, companies []AddressCompany, err error) {
	record := sealedChoices.record()
	err = db.reader.QueryRowContext(ctx, `select email, `+sealedChoices.columns("sign_on_choices")+
		` from sign_on_choices where digest = $1 and expires_at > $2`,
		digest[:], micros(db.Now())).Scan(append([]any{&email}, record.into()...)...)
	if err = db.acting(ctx, err, record); err == nil {
		companies, err = addressCompanies(ctx, db.reader, email)
	}
	return email, companies, db.classify(err)
}

// CompleteSignOnChoice is [DB.CreateSignOnToken] for the person of a choice, and of that company. The user with the
// address there has proved it now: whoever chose the password may be somebody else, so that it ends with the sessions.
// It returns [ErrNotFound] if the choice was made or has expired, or the company has no user who can use the address,
// and [ErrSecondFactor] if the user there has a second factor, which may be that of somebody else, too: only a login
// with it or somebody who may manage users ends it. The choice remains then.
func (db *DB) CompleteSignOnChoice(ctx context.Context, digest [32]byte, of ID, add NewToken) (User, Account, error) {
	var user User
	var account Account
	err := db.write(ctx, "create token", func(ctx context.Context, t *tx) error {
		var on SignOn
		if err := t.checkSealed(ctx, sealedChoices.row(digest[:])); err != nil {
			return err
		}
		if err := t.QueryRowContext(ctx,
			`delete from sign_on_choices where digest = $1 and expires_at > $2 returning issuer, subject, email`, digest[:],
			micros(t.Now())).
			Scan(&on.Issuer, &on.Subject, &on.Email); err != nil {
			return err
		}
		err := t.lockAddress(ctx, of, on.Email)
		if err != nil {
			return err
		}
		if user, account, err = t.lockUnproved(ctx, of, on.Email); err != nil {
			return err
		}
		if err := t.endLogin(ctx, user); err != nil {
			return err
		}
		if err := t.prove(ctx, user); err != nil {
			return err
		}
		actor := t.actor
		actor.Kind, actor.Name = ActorUser, user.Email // who logs in is not known before
		if _, err := t.auditAs(actor, userAct("user.prove-address", user.Account, user.ID, user.Email)); err != nil {
			return err
		}
		return t.beginSignOnSession(ctx, user, account, on, add)
	})
	return user, account, db.signOnError(err)
}

// checkSubject reports whether a user of a locked account is linked to a person. It returns [ErrOtherSubject] if the
// user is linked to somebody else.
func (t *tx) checkSubject(ctx context.Context, user User, on SignOn) (linked bool, err error) {
	var issuer, subject string
	record := sealedSubjects.record()
	err = t.QueryRowContext(ctx, `select issuer, subject, `+sealedSubjects.columns("sign_on_subjects")+
		` from sign_on_subjects where account_id = $1 and user_id = $2`, user.Account, user.ID).
		Scan(append([]any{&issuer, &subject}, record.into()...)...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	// a link that does not act is nobody's
	case err == nil && (!t.db.acts(ctx, record) || issuer != on.Issuer || subject != on.Subject):
		err = ErrOtherSubject
	}
	return true, err
}

// linkSubject links a user of a locked account to a person. A person who is linked to another user already violates a
// unique index.
func (t *tx) linkSubject(ctx context.Context, user User, on SignOn) error {
	if _, err := t.insertSealed(ctx, sealedSubjects.row(user.Account, user.ID),
		`insert into sign_on_subjects (account_id, user_id, issuer, subject, linked_at) values ($1, $2, $3, $4, $5)`,
		user.Account, user.ID, on.Issuer, on.Subject, micros(t.Now())); err != nil {
		return err
	}
	actor := t.actor
	actor.Kind, actor.Name = ActorUser, user.Email // who logs in is not known before
	act := userAct("user.link", user.Account, user.ID, user.Email)
	act.Details["issuer"] = on.Issuer
	_, err := t.auditAs(actor, act)
	return err
}

// UnlinkUser ends the link of a user to a person at the OpenID provider, so that the next login by single sign-on makes
// another one, and the sessions that single sign-on has begun. It does nothing if the user is not linked, and returns
// [ErrNotFound] if the account has no such user.
func (db *DB) UnlinkUser(ctx context.Context, account, user ID) error {
	return db.write(ctx, "unlink user", func(ctx context.Context, t *tx) error {
		locked, err := t.lockUser(ctx, account, user)
		if err != nil {
			return err
		}
		return t.unlink(ctx, locked)
	})
}

// unlink unlinks a user of a locked account.
func (t *tx) unlink(ctx context.Context, user User) error {
	removed, err := t.Exec(ctx, `delete from sign_on_subjects where account_id = $1 and user_id = $2`, user.Account,
		user.ID)
	if err != nil || removed == 0 {
		return err
	}
	if _, err := t.Exec(ctx,
		`update tokens set revoked_at = $3, seal = null where account_id = $1 and user_id = $2 and means = $4 and revoked_at is null`,
		user.Account, user.ID, micros(t.Now()), LoginBySingleSignOn); err != nil {
		return err
	}
	return t.audit(userAct("user.unlink", user.Account, user.ID, user.Email))
}
