package identity

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"quittance/internal/ledger/base"
)

// PendingLogin is a login whose password was right, or by single sign-on, and whose second factor is still missing.
type PendingLogin struct {
	Digest [32]byte
	User   base.User
	Means  base.LoginMeans
	// SignOn is the person at the provider to whom the login links the user; nil for a login with a password.
	SignOn *SignOn
}

// BeginLogin stores a pending login of a user who has given the right password and has a second factor. It returns
// [base.ErrNotFound] if the user is disabled or has another password hash now.
func BeginLogin(ctx context.Context, db *base.DB, login PendingLogin, expires time.Time) error {
	return db.Write(ctx, "begin login", func(ctx context.Context, t *base.Tx) error {
		if _, err := t.LockAccount(ctx, login.User.Account); err != nil {
			return err
		}
		if err := t.CheckSealed(ctx, base.SealedUsers.Row(login.User.Account, login.User.ID)); err != nil {
			return err
		}
		var issuer, subject any
		if login.SignOn != nil {
			issuer, subject = login.SignOn.Issuer, login.SignOn.Subject
		}
		n, err := t.InsertSealed(ctx, base.SealedPending.Row(login.Digest[:]),
			`insert into pending_logins (digest, account_id, user_id, means, expires_at, issuer, subject)
			select $1, account_id, id, $4, $5, $7, $8 from users where account_id = $2 and id = $3 and password_hash = $6 and disabled_at is null`,
			login.Digest[:], login.User.Account, login.User.ID, login.Means, base.Micros(expires), login.User.PasswordHash,
			issuer,
			subject)
		if err == nil && n == 0 {
			err = base.ErrNotFound
		}
		return err
	})
}

// FindPendingLogin returns the pending login with a digest. It returns [base.ErrNotFound] if there is none, or it was
// completed or has expired.
func FindPendingLogin(ctx context.Context, db *base.DB, digest [32]byte) (PendingLogin, error) {
	var account, user base.ID
	login := PendingLogin{Digest: digest}
	var issuer, subject sql.Null[string]
	record := base.SealedPending.Record()
	err := db.Querier().QueryRowContext(ctx, `select account_id, user_id, means, issuer, subject, `+
		base.SealedPending.Columns("pending_logins")+` from pending_logins where digest = $1 and expires_at > $2`,
		digest[:], base.Micros(db.Now())).Scan(append([]any{&account, &user, &login.Means, &issuer, &subject},
		record.Into()...)...)
	if err := db.Acting(ctx, err, record); err != nil {
		return PendingLogin{}, db.Classify(err)
	}
	login.User, err = db.ActingUser(ctx, db.Querier(), `where account_id = $1 and id = $2 and disabled_at is null`, account,
		user)
	if issuer.Valid && subject.Valid {
		login.SignOn = &SignOn{Issuer: issuer.V, Subject: subject.V, Email: login.User.Email}
	}
	return login, db.Classify(err)
}

// beganLogin reports whether a user has begun the pending login with a digest.
func beganLogin(ctx context.Context, t *base.Tx, digest [32]byte, user base.ID) (bool, error) {
	users, err := base.Collect(ctx, t, base.ScanValue[base.ID], `select user_id from pending_logins where digest = $1`, digest[:])
	return len(users) == 1 && users[0] == user, err
}

// completeLogin removes the pending login of a user. It returns [ErrSessionEnded] if there is none: it was completed
// before, or has ended with the sessions of the user.
func completeLogin(ctx context.Context, t *base.Tx, user base.User, digest [32]byte) error {
	if err := t.CheckSealed(ctx, base.SealedPending.Row(digest[:])); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = ErrSessionEnded
		}
		return err
	}
	n, err := t.Exec(ctx,
		`delete from pending_logins where digest = $1 and account_id = $2 and user_id = $3 and expires_at > $4`,
		digest[:], user.Account, user.ID, base.Micros(t.Now()))
	if err == nil && n == 0 {
		err = ErrSessionEnded
	}
	return err
}
