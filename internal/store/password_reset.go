package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"quittance/internal/secret"
)

// PasswordResetTTL is how long a link with which a user chooses a new password can be used, and how long a request for one waits at most.
const PasswordResetTTL = time.Hour

// ErrNoMail says that the installation sends no mails.
var ErrNoMail = errors.New("the installation sends no e-mails")

// ResetRequest asks for a link for the user with an e-mail address, whoever asks. The caller normalizes Email.
type ResetRequest struct {
	Email string
	// Language is that of the page, such as en, in which the e-mail is written.
	Language string
}

// NewReset is the secret of a new link, and its digest, which is stored.
type NewReset struct {
	Secret secret.Text
	Digest [32]byte
}

// RequestPasswordReset stores a request, which [DB.AnswerResetRequest] answers. It reads nothing about users, so that neither its result nor
// its time tells whether there is one. A request for an address that has one waiting changes nothing.
func (db *DB) RequestPasswordReset(ctx context.Context, request ResetRequest) error {
	return db.write(ctx, "request password reset", func(ctx context.Context, t *tx) error {
		_, err := t.Exec(ctx, `insert into password_reset_requests (email, language, source, request_id, requested_at) values ($1, $2, $3, $4, $5)
			on conflict (email) do nothing`, request.Email, request.Language, t.actor.Source, t.actor.RequestID, micros(t.Now()))
		return err
	})
}

// AnswerResetRequest answers the oldest request, and returns false if there is none. If a user who can log in with a password has the address,
// the user gets a link with the given secret, which replaces an earlier link, by e-mail. Other requests end without a trace, and so do those that
// have waited for [PasswordResetTTL].
func (db *DB) AnswerResetRequest(ctx context.Context, add NewReset) (found bool, err error) {
	if err := db.reader.QueryRowContext(ctx, `select exists (select 1 from password_reset_requests)`).Scan(&found); err != nil || !found {
		return false, db.classify(err)
	}
	err = db.write(ctx, "answer reset request", func(ctx context.Context, t *tx) error {
		found = true // again, if the transaction is repeated
		var request ResetRequest
		var requested int64
		actor := SystemActor() // whoever asked has not logged in
		actor.Means = MeansConsole
		switch err := t.QueryRowContext(ctx, `delete from password_reset_requests where email in (select email from password_reset_requests order by requested_at limit 1)
			returning email, language, source, request_id, requested_at`).Scan(&request.Email, &request.Language, &actor.Source, &actor.RequestID, &requested); {
		case errors.Is(err, sql.ErrNoRows):
			found = false // another server was faster
			return nil
		case err != nil || instant(requested).Before(t.Now().Add(-PasswordResetTTL)):
			return err
		}
		err := t.sendReset(ctx, actor, request, add)
		if errors.Is(err, sql.ErrNoRows) || errors.Is(err, ErrNoMail) {
			return nil
		}
		return err
	})
	return found, err
}

// SendPasswordReset gives a user a link as [DB.AnswerResetRequest] does, for an administrator, in the language that the user has chosen. It returns
// [ErrNoMail] if the installation sends no mails, and [ErrNotFound] if the account has no such user, or the user cannot log in with a password.
func (db *DB) SendPasswordReset(ctx context.Context, user User, add NewReset) error {
	err := db.write(ctx, "send password reset", func(ctx context.Context, t *tx) error {
		return t.sendReset(ctx, t.actor, ResetRequest{Email: user.Email}, add)
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	return err
}

// sendReset gives the user who has the address of a request a link, and causes the mail with it. It returns [sql.ErrNoRows] if there is no such
// user who can log in with a password, and [ErrNoMail].
func (t *tx) sendReset(ctx context.Context, actor Actor, request ResetRequest, add NewReset) error {
	user, changed, err := t.resettable(ctx, request.Email)
	if err != nil {
		return err
	}
	if err := t.endMails(ctx, user.Account, user.ID); err != nil { // that of an earlier link
		return err
	}
	now := t.Now()
	expires := now.Add(PasswordResetTTL)
	sends, err := t.enqueueMail(ctx, NewMail{Kind: MailPasswordReset, Account: user.Account, To: user.Email, User: &user.ID, Subject: user.ID,
		Language: request.Language, Secret: add.Secret, ExpiresAt: expires})
	if err == nil && !sends {
		err = ErrNoMail
	}
	if err != nil {
		return err
	}
	if _, err := t.Exec(ctx, `delete from password_resets where account_id = $1 and user_id = $2`, user.Account, user.ID); err != nil {
		return err
	}
	if _, err := t.insertSealed(ctx, sealedResets.row(user.Account, user.ID),
		`insert into password_resets (account_id, user_id, digest, password_changed_at, created_at, expires_at) values ($1, $2, $3, $4, $5, $6)`,
		user.Account, user.ID, add.Digest[:], changed, micros(now), micros(expires)); err != nil {
		return err
	}
	_, err = t.auditAs(actor, userAct("user.request-password-reset", user.Account, user.ID, user.Email))
	return err
}

// resettable returns the user with an e-mail address, whose account it locks, and when the password was changed last. It returns
// [sql.ErrNoRows] unless that user can log in with a password.
func (t *tx) resettable(ctx context.Context, email string) (user User, changed int64, err error) {
	var account ID
	if err := t.QueryRowContext(ctx, `select account_id from users where email = $1`, email).Scan(&account); err != nil {
		return User{}, 0, err
	}
	locked, err := t.account(ctx, account) // first, as by those who end links
	if err == nil && (locked.Status != AccountActive || locked.LoginPolicy == LoginSingleSignOn) {
		err = sql.ErrNoRows
	}
	if err != nil {
		return User{}, 0, err
	}
	record := sealedUsers.record()
	user, err = scanUserAnd(t.QueryRowContext(ctx, `select `+userColumns+`, password_changed_at, `+sealedUsers.columns("users")+
		` from users where account_id = $1 and email = $2 and disabled_at is null`, account, email), append([]any{&changed}, record.into()...)...)
	return user, changed, t.db.acting(ctx, err, record)
}

// usableReset returns the user of the link with a digest who can use it at a time, in microseconds: the link has not expired, the password has not
// changed since it was made, and the user can log in with a password. It returns [sql.ErrNoRows] if there is none.
func (db *DB) usableReset(ctx context.Context, q querier, digest [32]byte, now int64) (User, error) {
	var account, user ID
	var changed int64
	link, company := sealedResets.record(), sealedAccounts.record()
	err := q.QueryRowContext(ctx, `select r.account_id, r.user_id, r.password_changed_at, `+sealedResets.columns("r")+`, `+sealedAccounts.columns("a")+`
		from password_resets r join accounts a on a.id = r.account_id
		where r.digest = $1 and r.expires_at > $2 and a.status = 'active' and a.login_policy <> 'single_sign_on'`, digest[:], now).
		Scan(append(append([]any{&account, &user, &changed}, link.into()...), company.into()...)...)
	if err := db.acting(ctx, err, link, company); err != nil {
		return User{}, err
	}
	return db.actingUser(ctx, q, `where account_id = $1 and id = $2 and password_changed_at = $3 and disabled_at is null`, account, user, changed)
}

// UsablePasswordReset returns the user of the link with the digest of a secret. It returns [ErrNotFound] if the link was used or replaced, has
// ended or expired, or if its user cannot log in with a password; callers do not learn which.
func (db *DB) UsablePasswordReset(ctx context.Context, digest [32]byte) (User, error) {
	user, err := db.usableReset(ctx, db.reader, digest, micros(db.Now()))
	return user, db.classify(err)
}

// CompletePasswordReset uses up a link: it replaces the user's password hash and ends all sessions and tokens of the user, as an administrator's
// [DB.ResetPassword] does. The user need not change the password again. It returns [ErrNotFound] as [DB.UsablePasswordReset] does.
func (db *DB) CompletePasswordReset(ctx context.Context, digest [32]byte, hash string) (User, error) {
	var user User
	err := db.write(ctx, "complete password reset", func(ctx context.Context, t *tx) error {
		var account ID
		if err := t.QueryRowContext(ctx, `select account_id from password_resets where digest = $1`, digest[:]).Scan(&account); err != nil {
			return err
		}
		if _, err := t.account(ctx, account); err != nil {
			return err
		}
		now := micros(t.Now())
		var err error
		if user, err = db.usableReset(ctx, t, digest, now); err != nil {
			return err
		}
		if _, err := t.changeSealed(ctx, sealedUsers.row(account, user.ID), `update users set password_hash = $3, password_changed_at = $4, password_change_required = 0
			where account_id = $1 and id = $2`, account, user.ID, hash, now); err != nil {
			return err
		}
		if err := t.revokeTokens(ctx, account, user.ID, []byte{}, now); err != nil { // and the link
			return err
		}
		user.PasswordHash, user.PasswordChangeRequired = hash, false
		if err := t.tellPasswordChanged(ctx, account, user.ID, user.Email); err != nil {
			return err
		}
		actor := t.actor
		actor.Kind, actor.Name = ActorUser, user.Email // whoever has the link is the user, and was nobody before
		_, err = t.auditAs(actor, userAct("user.complete-password-reset", account, user.ID, user.Email))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	return user, err
}

// tellPasswordChanged causes a mail that tells a user of a new password, whoever has set it.
func (t *tx) tellPasswordChanged(ctx context.Context, account, user ID, email string) error {
	_, err := t.enqueueMail(ctx, NewMail{Kind: MailPasswordChanged, Account: account, To: email, User: &user})
	return err
}

// endPasswordResets ends the links of all users of a locked account.
func (t *tx) endPasswordResets(ctx context.Context, account ID) error {
	_, err := t.Exec(ctx, `delete from password_resets where account_id = $1`, account)
	return err
}
