package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// PendingLogin is a login whose password was right, or by single sign-on, and whose second factor is still missing.
type PendingLogin struct {
	Digest [32]byte
	User   User
	Means  LoginMeans
	// SignOn is the person at the provider to whom the login links the user; nil for a login with a password.
	SignOn *SignOn
}

// BeginLogin stores a pending login of a user who has given the right password and has a second factor. It returns
// [ErrNotFound] if the user is disabled or has another password hash now.
func (db *DB) BeginLogin(ctx context.Context, login PendingLogin, expires time.Time) error {
	return db.write(ctx, "begin login", func(ctx context.Context, t *tx) error {
		if _, err := t.account(ctx, login.User.Account); err != nil {
			return err
		}
		if err := t.checkSealed(ctx, sealedUsers.row(login.User.Account, login.User.ID)); err != nil {
			return err
		}
		var issuer, subject any
		if login.SignOn != nil {
			issuer, subject = login.SignOn.Issuer, login.SignOn.Subject
		}
		n, err := t.insertSealed(ctx, sealedPending.row(login.Digest[:]),
			`insert into pending_logins (digest, account_id, user_id, means, expires_at, issuer, subject)
			select $1, account_id, id, $4, $5, $7, $8 from users where account_id = $2 and id = $3 and password_hash = $6 and disabled_at is null`,
			login.Digest[:], login.User.Account, login.User.ID, login.Means, micros(expires), login.User.PasswordHash, issuer,
			subject)
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		return err
	})
}

// PendingLogin returns the pending login with a digest. It returns [ErrNotFound] if there is none, or it was completed
// or has expired.
func (db *DB) PendingLogin(ctx context.Context, digest [32]byte) (PendingLogin, error) {
	var account, user ID
	login := PendingLogin{Digest: digest}
	var issuer, subject sql.Null[string]
	record := sealedPending.record()
	err := db.reader.QueryRowContext(ctx, `select account_id, user_id, means, issuer, subject, `+
		sealedPending.columns("pending_logins")+` from pending_logins where digest = $1 and expires_at > $2`,
		digest[:], micros(db.Now())).Scan(append([]any{&account, &user, &login.Means, &issuer, &subject},
		record.into()...)...)
	if err := db.acting(ctx, err, record); err != nil {
		return PendingLogin{}, db.classify(err)
	}
	login.User, err = db.actingUser(ctx, db.reader, `where account_id = $1 and id = $2 and disabled_at is null`, account,
		user)
	if issuer.Valid && subject.Valid {
		login.SignOn = &SignOn{Issuer: issuer.V, Subject: subject.V, Email: login.User.Email}
	}
	return login, db.classify(err)
}

// beganLogin reports whether a user has begun the pending login with a digest.
func (t *tx) beganLogin(ctx context.Context, digest [32]byte, user ID) (bool, error) {
	users, err := collect(ctx, t, scanValue[ID], `select user_id from pending_logins where digest = $1`, digest[:])
	return len(users) == 1 && users[0] == user, err
}

// completeLogin removes the pending login of a user. It returns [ErrSessionEnded] if there is none: it was completed
// before, or has ended with the sessions of the user.
func (t *tx) completeLogin(ctx context.Context, user User, digest [32]byte) error {
	if err := t.checkSealed(ctx, sealedPending.row(digest[:])); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = ErrSessionEnded
		}
		return err
	}
	n, err := t.Exec(ctx,
		`delete from pending_logins where digest = $1 and account_id = $2 and user_id = $3 and expires_at > $4`,
		digest[:], user.Account, user.ID, micros(t.Now()))
	if err == nil && n == 0 {
		err = ErrSessionEnded
	}
	return err
}
