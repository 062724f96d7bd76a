package store

import (
	"context"
	"database/sql"
	"errors"
)

// ErrOtherSubject says that an e-mail address is linked to somebody else at the OpenID provider, or that somebody there is linked to
// another user.
var ErrOtherSubject = errors.New("the user is linked to another person at the OpenID provider")

// SignOn is a person whom an OpenID provider has logged in.
type SignOn struct {
	// Issuer and Subject identify the person at the provider for good.
	Issuer, Subject string
	// Email is the verified e-mail address in the form in which users' addresses are stored.
	Email string
}

// CreateSignOnToken is [DB.CreateToken] for a person whom an OpenID provider has logged in, instead of one with a password. The first
// login links the user who has the e-mail address to the person, and needs the second factor if the user has one: [ErrSecondFactor] comes with
// the user. Otherwise whoever has the address at the provider would do without it for good. It returns [ErrNotFound] if there is no such user or the user is
// disabled, [ErrOtherSubject] if user or person are linked otherwise, and [ErrSuspended] for a suspended account. The user of the token need
// not change a password, which was not used.
func (db *DB) CreateSignOnToken(ctx context.Context, on SignOn, add NewToken) (User, Account, error) {
	var user User
	var account Account
	err := db.write(ctx, "create token", func(ctx context.Context, t *tx) error {
		found, err := db.actingUser(ctx, t, `where email = $1`, on.Email)
		if err != nil {
			return err
		}
		if account, err = t.account(ctx, found.Account); err != nil {
			return err
		}
		if user, err = t.readUser(ctx, found.Account, found.ID); err != nil { // now that the account is locked
			return err
		}
		if user.Email != on.Email || user.DisabledAt != nil {
			return sql.ErrNoRows
		}
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
	})
	if errors.Is(db.existsError(err, "sign_on_subjects_issuer_subject_key"), ErrExists) {
		err = ErrOtherSubject
	}
	return user, account, err
}

// checkSubject reports whether a user of a locked account is linked to a person. It returns [ErrOtherSubject] if the user is linked to
// somebody else.
func (t *tx) checkSubject(ctx context.Context, user User, on SignOn) (linked bool, err error) {
	var issuer, subject string
	record := sealedSubjects.record()
	err = t.QueryRowContext(ctx, `select issuer, subject, `+sealedSubjects.columns("sign_on_subjects")+` from sign_on_subjects where account_id = $1 and user_id = $2`, user.Account, user.ID).
		Scan(append([]any{&issuer, &subject}, record.into()...)...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err == nil && (!t.db.acts(ctx, record) || issuer != on.Issuer || subject != on.Subject): // a link that does not act is nobody's
		err = ErrOtherSubject
	}
	return true, err
}

// linkSubject links a user of a locked account to a person. A person who is linked to another user already violates a unique index.
func (t *tx) linkSubject(ctx context.Context, user User, on SignOn) error {
	if _, err := t.insertSealed(ctx, sealedSubjects.row(user.Account, user.ID), `insert into sign_on_subjects (account_id, user_id, issuer, subject, linked_at) values ($1, $2, $3, $4, $5)`,
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

// UnlinkUser ends the link of a user to a person at the OpenID provider, so that the next login by single sign-on makes another one, and
// the sessions that single sign-on has begun. It does nothing if the user is not linked, and returns [ErrNotFound] if the account has no such user.
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
	removed, err := t.Exec(ctx, `delete from sign_on_subjects where account_id = $1 and user_id = $2`, user.Account, user.ID)
	if err != nil || removed == 0 {
		return err
	}
	if _, err := t.Exec(ctx, `update tokens set revoked_at = $3, seal = null where account_id = $1 and user_id = $2 and means = $4 and revoked_at is null`,
		user.Account, user.ID, micros(t.Now()), LoginBySingleSignOn); err != nil {
		return err
	}
	return t.audit(userAct("user.unlink", user.Account, user.ID, user.Email))
}
