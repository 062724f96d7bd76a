package identity

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
)

// PasswordResetTTL is how long a link with which a user chooses a new password can be used, and how long a request for
// one waits at most.
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

// RequestPasswordReset stores a request, which [AnswerResetRequest] answers. It reads nothing about users, so that
// neither its result nor its time tells whether there is one. A request for an address that has one waiting changes
// nothing.
func RequestPasswordReset(ctx context.Context, db *base.DB, request ResetRequest) error {
	return db.Write(ctx, "request password reset", func(ctx context.Context, t *base.Tx) error {
		_, err := t.Exec(ctx,
			`insert into password_reset_requests (email, language, source, request_id, requested_at) values ($1, $2, $3, $4, $5)
			on conflict (email) do nothing`, request.Email, request.Language, t.Actor.Source, t.Actor.RequestID, base.Micros(t.Now()))
		return err
	})
}

// AnswerResetRequest answers the oldest request, and returns false if there is none. If a user who can log in with a
// password has the address, the user gets a link with a secret of draw, which replaces an earlier link, by e-mail. Of
// several users who have not proved the address, each gets a link of its own, so that none of them decides about those
// of others. Other requests end without a trace, and so do those that have waited for [PasswordResetTTL].
func AnswerResetRequest(ctx context.Context, db *base.DB, draw func() (NewReset, error)) (found bool, err error) {
	if err := db.Querier().QueryRowContext(ctx,
		`select exists (select 1 from password_reset_requests)`).Scan(&found); err != nil || !found {
		return false, db.Classify(err)
	}
	err = db.Write(ctx, "answer reset request", func(ctx context.Context, t *base.Tx) error {
		found = true // again, if the transaction is repeated
		var request ResetRequest
		var requested int64
		actor := base.SystemActor() // whoever asked has not logged in
		actor.Means = base.MeansConsole
		switch err := t.QueryRowContext(ctx,
			`delete from password_reset_requests where email in (select email from password_reset_requests order by requested_at limit 1)
			returning email, language, source, request_id, requested_at`).Scan(&request.Email, &request.Language, &actor.Source, &actor.RequestID, &requested); {
		case errors.Is(err, sql.ErrNoRows):
			found = false // another server was faster
			return nil
		case err != nil || base.Instant(requested).Before(t.Now().Add(-PasswordResetTTL)):
			return err
		}
		return answerReset(ctx, t, actor, request, draw)
	})
	return found, err
}

// answerReset sends the links that a request asks for.
func answerReset(ctx context.Context, t *base.Tx, actor base.Actor, request ResetRequest,
	draw func() (NewReset, error)) error {
	accounts, err := resettableUsers(ctx, t, request.Email)
	if err != nil {
		return err
	}
	for _, account := range accounts {
		user, err := resettableUser(ctx, t, account, request.Email)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		add, err := draw()
		if err != nil {
			return err
		}
		switch err := sendReset(ctx, t, user, request.Language, add); {
		case errors.Is(err, ErrNoMail), errors.Is(err, ErrMailLimited):
			continue
		case err != nil:
			return err
		}
		if user.ProvedAt == nil {
			continue // whoever has added the address does not learn that its owner has asked, and from where
		}
		if _, err := t.AuditAs(actor, base.UserAct("user.request-password-reset", user.Account, user.ID,
			user.Email)); err != nil {
			return err
		}
	}
	return nil
}

// SendPasswordReset gives a user a link as [AnswerResetRequest] does, for an administrator, in the language that the
// user has chosen. It returns [ErrNoMail] if the installation sends no mails, [ErrMailLimited], and [base.ErrNotFound]
// if the account has no such user, or the user cannot log in with a password.
func SendPasswordReset(ctx context.Context, db *base.DB, user base.User, add NewReset) error {
	err := db.Write(ctx, "send password reset", func(ctx context.Context, t *base.Tx) error {
		found, err := resettableUser(ctx, t, user.Account, user.Email)
		if err == nil {
			err = sendReset(ctx, t, found, "", add)
		}
		if err != nil {
			return err
		}
		return t.Audit(base.UserAct("user.request-password-reset", user.Account, user.ID, user.Email))
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = base.ErrNotFound
	}
	return err
}

// sendReset gives a user of a locked account a link, and causes the mail with it, in a language or in that which the
// user has chosen. It returns [ErrNoMail] or [ErrMailLimited], and changes nothing then.
func sendReset(ctx context.Context, t *base.Tx, user resettable, language string, add NewReset) error {
	now := t.Now()
	expires := now.Add(PasswordResetTTL)
	state, err := enqueueMail(ctx, t, NewMail{Kind: MailPasswordReset, Account: user.Account, To: user.Email,
		User: &user.ID, Subject: user.ID, Replaces: true, Language: language, Secret: add.Secret, ExpiresAt: expires})
	switch {
	case err != nil:
		return err
	case state == "":
		return ErrNoMail
	case state == MailFailed:
		return ErrMailLimited
	}
	if _, err := t.Exec(ctx, `delete from password_resets where account_id = $1 and user_id = $2`, user.Account,
		user.ID); err != nil {
		return err
	}
	_, err = t.InsertSealed(ctx, base.SealedResets.Row(user.Account, user.ID),
		`insert into password_resets (account_id, user_id, digest, password_changed_at, created_at, expires_at) values ($1, $2, $3, $4, $5, $6)`,
		user.Account, user.ID, add.Digest[:], user.changed, base.Micros(now), base.Micros(expires))
	return err
}

// resettable is a user who can log in with a password, and when the password was changed last.
type resettable struct {
	base.User
	changed int64
}

// resettableUsers returns the accounts of the users who get links for a new password for an e-mail address, in the
// order in which they are locked: that of the user who has proved it, or else those of the first ones who can log in
// with a password.
func resettableUsers(ctx context.Context, t *base.Tx, email string) ([]base.ID, error) {
	type candidate struct {
		account base.ID
		proved  bool
	}
	found, err := base.Collect(ctx, t, func(row base.Row) (c candidate, err error) {
		return c, row.Scan(&c.account,
			&c.proved)
	}, `select u.account_id, u.proved_at is not null from users u join accounts a on a.id = u.account_id
			where u.email = $1 and u.disabled_at is null and (u.proved_at is not null or u.password_hash <> '' and a.status = 'active' and a.login_policy <> 'single_sign_on')
			order by u.proved_at is null, u.created_at, u.id limit $2`, email, base.MaxLogins)
	var accounts []base.ID
	for _, c := range found {
		if accounts = append(accounts, c.account); c.proved {
			break
		}
	}
	slices.SortFunc(accounts, func(x, y base.ID) int { return bytes.Compare(x[:], y[:]) })
	return accounts, err
}

// resettableUser returns the user of an account, which it locks, with an e-mail address. It returns [sql.ErrNoRows]
// unless that user can log in with a password: not if somebody else has proved the address.
func resettableUser(ctx context.Context, t *base.Tx, account base.ID, email string) (resettable, error) {
	locked, err := t.LockAccount(ctx, account) // first, as by those who end links
	if err == nil && (locked.Status != base.AccountActive || locked.LoginPolicy == base.LoginSingleSignOn) {
		err = sql.ErrNoRows
	}
	if err != nil {
		return resettable{}, err
	}
	var found resettable
	record := base.SealedUsers.Record()
	found.User, err = base.ScanUserAnd(t.QueryRowContext(ctx,
		`select `+base.UserColumns+`, password_changed_at, `+base.SealedUsers.Columns("users")+
			` from users where account_id = $1 and email = $2 and disabled_at is null`, account, email),
		append([]any{&found.changed}, record.Into()...)...)
	err = t.DB.Acting(ctx, err, record)
	if err == nil && found.ProvedAt == nil {
		if err = checkUnclaimed(ctx, t, email); errors.Is(err, ErrProvedElsewhere) {
			err = sql.ErrNoRows
		}
	}
	return found, err
}

// usableReset returns the user of the link with a digest who can use it at a time, in microseconds: the link has not
// expired, the password has not changed since it was made, and the user can log in with a password. It returns
// [sql.ErrNoRows] if there is none.
func usableReset(ctx context.Context, db *base.DB, q base.Querier, digest [32]byte, now int64) (base.User, error) {
	var account, user base.ID
	var changed int64
	link, company := base.SealedResets.Record(), base.SealedAccounts.Record()
	err := q.QueryRowContext(ctx, `select r.account_id, r.user_id, r.password_changed_at, `+base.SealedResets.Columns("r")+`, `+
		base.SealedAccounts.Columns("a")+`
		from password_resets r join accounts a on a.id = r.account_id
		where r.digest = $1 and r.expires_at > $2 and a.status = 'active' and a.login_policy <> 'single_sign_on'`, digest[:], now).
		Scan(append(append([]any{&account, &user, &changed}, link.Into()...), company.Into()...)...)
	if err := db.Acting(ctx, err, link, company); err != nil {
		return base.User{}, err
	}
	return db.ActingUser(ctx, q, `where account_id = $1 and id = $2 and password_changed_at = $3 and disabled_at is null`,
		account, user, changed)
}

// UsablePasswordReset returns the user of the link with the digest of a secret. It returns [base.ErrNotFound] if the
// link was used or replaced, has ended or expired, or if its user cannot log in with a password; callers do not learn
// which.
func UsablePasswordReset(ctx context.Context, db *base.DB, digest [32]byte) (base.User, error) {
	user, err := usableReset(ctx, db, db.Querier(), digest, base.Micros(db.Now()))
	return user, db.Classify(err)
}

// CompletePasswordReset uses up a link: it replaces the user's password hash and ends all sessions and tokens of the
// user, as an administrator's [ResetPassword] does. The user need not change the password again, and a second factor
// stays: a mailbox is none. Whoever has the link has the mailbox: a user who has not proved the address has proved it
// now, and all others with it give way. It returns [base.ErrNotFound] as [UsablePasswordReset] does, and if somebody
// else has proved the address meanwhile.
func CompletePasswordReset(ctx context.Context, db *base.DB, digest [32]byte, hash string) (base.User, error) {
	var user base.User
	err := db.Write(ctx, "complete password reset", func(ctx context.Context, t *base.Tx) error {
		var account base.ID
		var email string
		if err := t.QueryRowContext(ctx,
			`select r.account_id, u.email from password_resets r join users u on u.account_id = r.account_id and u.id = r.user_id
			where r.digest = $1`, digest[:]).Scan(&account, &email); err != nil {
			return err
		}
		if err := lockAddress(ctx, t, account, email); err != nil {
			return err
		}
		var err error
		if user, err = usableReset(ctx, db, t, digest, base.Micros(t.Now())); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `delete from password_resets where digest = $1`, digest[:]); err != nil {
			return err
		}
		return setResetPassword(ctx, t, &user, hash)
	})
	if errors.Is(err, sql.ErrNoRows) || errors.Is(addressError(db, err), ErrProvedElsewhere) { // meanwhile
		err = base.ErrNotFound
	}
	return user, err
}

// setResetPassword sets the password of a user of a locked account who has the mailbox of the address.
func setResetPassword(ctx context.Context, t *base.Tx, user *base.User, hash string) error {
	now := base.Micros(t.Now())
	if _, err := t.ChangeSealed(ctx, base.SealedUsers.Row(user.Account, user.ID),
		`update users set password_hash = $3, password_changed_at = $4, password_change_required = 0
		where account_id = $1 and id = $2`, user.Account, user.ID, hash, now); err != nil {
		return err
	}
	if err := revokeTokens(ctx, t, user.Account, user.ID, []byte{}, now); err != nil { // and the link
		return err
	}
	if user.ProvedAt == nil {
		if err := revokeInvitationsBy(ctx, t, *user); err != nil { // they may be those of somebody else
			return err
		}
		if err := prove(ctx, t, *user); err != nil {
			return err
		}
	}
	user.PasswordHash, user.PasswordChangeRequired = hash, false
	if err := tellPasswordChanged(ctx, t, user.Account, user.ID, user.Email); err != nil {
		return err
	}
	actor := t.Actor
	actor.Kind, actor.Name = base.ActorUser, user.Email // whoever has the link is the user, and was nobody before
	if user.ProvedAt == nil {
		if _, err := t.AuditAs(actor, base.UserAct("user.prove-address", user.Account, user.ID, user.Email)); err != nil {
			return err
		}
	}
	_, err := t.AuditAs(actor, base.UserAct("user.complete-password-reset", user.Account, user.ID, user.Email))
	return err
}

// tellPasswordChanged causes a mail that tells a user of a new password, whoever has set it.
func tellPasswordChanged(ctx context.Context, t *base.Tx, account, user base.ID, email string) error {
	_, err := enqueueMail(ctx, t, NewMail{Kind: MailPasswordChanged, Account: account, To: email, User: &user})
	return err
}

// endPasswordResets ends the links of all users of a locked account.
func endPasswordResets(ctx context.Context, t *base.Tx, account base.ID) error {
	_, err := t.Exec(ctx, `delete from password_resets where account_id = $1`, account)
	return err
}
