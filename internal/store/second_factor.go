package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"quittance/internal/secret"
)

// ErrSecondFactor says that the user has a second factor, and that no proof of it was given or the proof was used
// before.
var ErrSecondFactor = errors.New("the second factor is missing or was used before")

// pendingFactorTTL is how long the secret of an authenticator app can be confirmed.
const pendingFactorTTL = time.Hour

// SecondFactor is what the check of a code or of the assertion of a passkey needs.
type SecondFactor struct {
	// Secret is shared with the authenticator app; empty without one.
	Secret secret.Text
	// EnrolledAt tells this enrolment of an authenticator app from an earlier or later one; zero without an app.
	EnrolledAt time.Time
	// Passkeys are the user's passkeys with their credentials, oldest first.
	Passkeys []Passkey
	// Recovery are the digests of the recovery codes, also of those that were used.
	Recovery [][32]byte
}

// HasApp reports whether an authenticator app is a second factor of the user.
func (f *SecondFactor) HasApp() bool { return !f.EnrolledAt.IsZero() }

// FactorProof is a code, or an assertion of a passkey, that was right when it was checked. What it allows uses it up in
// the same transaction, so that it works once on all replicas together.
type FactorProof struct {
	// EnrolledAt is [SecondFactor.EnrolledAt] for a code of an authenticator app.
	EnrolledAt time.Time
	// Step is the time step of a code of an authenticator app; 0 for a recovery code, which has the digest Recovery.
	Step     int64
	Recovery [32]byte
	// Passkey is the assertion of a passkey; nil for a code.
	Passkey *PasskeyProof
}

// SecondFactorState is what people see of a second factor.
type SecondFactorState struct {
	// AppSince is when the authenticator app was confirmed; nil without one.
	AppSince *time.Time
	// Passkeys are the user's passkeys without their credentials, oldest first.
	Passkeys []Passkey
	// RecoveryCodes is how many recovery codes are left.
	RecoveryCodes int
}

// EnrolledAt returns when the oldest second factor that the user has was set up; nil without one.
func (s *SecondFactorState) EnrolledAt() *time.Time {
	if len(s.Passkeys) > 0 && (s.AppSince == nil || s.Passkeys[0].CreatedAt.Before(*s.AppSince)) {
		return &s.Passkeys[0].CreatedAt
	}
	return s.AppSince
}

func totpBinding(account, user ID) secret.Binding {
	return secret.Binding{Tenant: account[:], Table: "second_factors", Column: "secret", Row: user[:]}
}

func pendingTOTPBinding(account, user ID) secret.Binding {
	return secret.Binding{Tenant: account[:], Table: "second_factors", Column: "pending", Row: user[:]}
}

// isEnrolled is the condition that the row f of second_factors belongs to a user who has a second factor: an
// authenticator app that is confirmed, or a passkey.
const isEnrolled = `(f.secret is not null or exists (select 1 from passkeys p where p.account_id = f.account_id and p.user_id = f.user_id))`

// SecondFactor returns the enrolled second factor of a user who has given the right password, or [ErrNotFound].
func (db *DB) SecondFactor(ctx context.Context, user User) (SecondFactor, error) {
	var f SecondFactor
	var sealed []byte
	var enrolled sql.Null[int64]
	err := db.reader.QueryRowContext(ctx,
		`select f.secret, f.enrolled_at from second_factors f where f.account_id = $1 and f.user_id = $2 and `+isEnrolled,
		user.Account, user.ID).Scan(&sealed, &enrolled)
	if err != nil {
		return SecondFactor{}, db.classify(err)
	}
	if sealed != nil {
		f.EnrolledAt = instant(enrolled.V)
		if f.Secret, err = db.keys.OpenText(sealed, totpBinding(user.Account, user.ID)); err != nil {
			return SecondFactor{}, err
		}
	}
	if f.Passkeys, err = db.passkeys(ctx, db.reader, user.Account, user.ID); err != nil {
		return SecondFactor{}, db.classify(err)
	}
	digests, err := collect(ctx, db.reader, scanValue[[]byte],
		`select digest from recovery_codes where account_id = $1 and user_id = $2`, user.Account, user.ID)
	for _, digest := range digests {
		f.Recovery = append(f.Recovery, [32]byte(digest))
	}
	return f, db.classify(err)
}

// useFactor uses the proof of a user's second factor up, and returns its name for the audit log, or "" if the user has
// no second factor. Otherwise it returns [ErrSecondFactor], or [ErrSignCount] for a passkey.
func (t *tx) useFactor(ctx context.Context, account, user ID, proof *FactorProof) (name string, err error) {
	enrolled, err := collect(ctx, t, scanValue[int64],
		`select 1 from second_factors f where f.account_id = $1 and f.user_id = $2 and `+isEnrolled+t.db.dialect.ForUpdate(),
		account, user)
	if err != nil || len(enrolled) == 0 {
		return "", err
	}
	if proof == nil {
		return "", ErrSecondFactor
	}
	var used int64
	switch {
	case proof.Passkey != nil:
		return "passkey", t.usePasskey(ctx, account, user, proof.Passkey)
	case proof.Step > 0:
		name = "authenticator"
		used, err = t.Exec(ctx,
			`update second_factors set last_step = $3 where account_id = $1 and user_id = $2 and secret is not null and enrolled_at = $4 and last_step < $3`,
			account, user, proof.Step, micros(proof.EnrolledAt))
	default:
		name = "recovery code"
		if err := t.checkSealed(ctx, sealedCodes.row(account, user, proof.Recovery[:])); err != nil {
			if errors.Is(err, sql.ErrNoRows) {
				err = ErrSecondFactor
			}
			return name, err
		}
		used, err = t.Exec(ctx,
			`update recovery_codes set used_at = $4, seal = null where account_id = $1 and user_id = $2 and digest = $3 and used_at is null`,
			account, user, proof.Recovery[:], micros(t.Now()))
	}
	if err == nil && used == 0 {
		err = ErrSecondFactor
	}
	return name, err
}

// hasFactor reports whether a user of a locked account has a second factor.
func (t *tx) hasFactor(ctx context.Context, account, user ID) (bool, error) {
	enrolled, err := collect(ctx, t, scanValue[int64],
		`select 1 from second_factors f where f.account_id = $1 and f.user_id = $2 and `+isEnrolled, account, user)
	return len(enrolled) > 0, err
}

// BeginTOTP stores the secret of an authenticator app of the user of a session, which replaces nothing until this
// session confirms it.
func (t *Tenant) BeginTOTP(ctx context.Context, by Session, shared secret.Text) error {
	return t.write(ctx, "begin second factor", func(ctx context.Context, tx *tx) error {
		if _, err := tx.lockUser(ctx, t.account, by.User); err != nil {
			return err
		}
		sealed, err := tx.db.keys.SealText(shared, pendingTOTPBinding(t.account, by.User))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx,
			`insert into second_factors (account_id, user_id, last_step, pending, pending_at, pending_session) values ($1, $2, 0, $3, $4, $5)
			on conflict (account_id, user_id) do update set pending = excluded.pending, pending_at = excluded.pending_at, pending_session = excluded.pending_session`,
			t.account, by.User, sealed, micros(tx.Now()), by.Digest[:])
		return err
	})
}

// PendingTOTP returns the secret that [Tenant.BeginTOTP] has stored for the session within the last hour, or
// [ErrNotFound].
func (t *Tenant) PendingTOTP(ctx context.Context, by Session) (secret.Text, error) {
	return readValue(t, func(q querier) (secret.Text, error) { return t.pendingTOTP(ctx, q, by) })
}

func (t *Tenant) pendingTOTP(ctx context.Context, q querier, by Session) (secret.Text, error) {
	var sealed []byte
	err := q.QueryRowContext(ctx,
		`select pending from second_factors where account_id = $1 and user_id = $2 and pending is not null and pending_at > $3 and pending_session = $4`,
		t.account, by.User, micros(t.db.Now().Add(-pendingFactorTTL)), by.Digest[:]).Scan(&sealed)
	if err != nil {
		return secret.Text{}, err
	}
	return t.db.keys.OpenText(sealed, pendingTOTPBinding(t.account, by.User))
}

// ConfirmTOTP makes the pending secret, which must be shared, the second factor of the user of a session, with the time
// step of the code that has confirmed it and the digests of new recovery codes. If the user had a second factor, the
// proof of it is used up. The user's other sessions end then, and also if the company requires a second factor: they
// may be of somebody who has only the password. It returns [ErrSecondFactor], [ErrNotFound] if another secret is
// pending, and [ErrSessionEnded].
func (t *Tenant) ConfirmTOTP(ctx context.Context, by Session, shared secret.Text, step int64, recovery [][32]byte,
	proof *FactorProof) error {
	return t.write(ctx, "confirm second factor", func(ctx context.Context, tx *tx) error {
		user, err := tx.liveUser(ctx, t.account, by)
		if err != nil {
			return err
		}
		pending, err := t.pendingTOTP(ctx, tx, by)
		if err != nil {
			return err
		}
		if !pending.Equal(shared) {
			return ErrNotFound
		}
		replaced, err := tx.useFactor(ctx, t.account, user.ID, proof)
		if err != nil {
			return err
		}
		sealed, err := tx.db.keys.SealText(shared, totpBinding(t.account, user.ID))
		if err != nil {
			return err
		}
		now := micros(tx.Now())
		if _, err := tx.Exec(ctx,
			`update second_factors set secret = $3, enrolled_at = $4, last_step = $5, pending = null, pending_at = null, pending_session = null where account_id = $1 and user_id = $2`,
			t.account, user.ID, sealed, now, step); err != nil {
			return err
		}
		if err := tx.replaceRecoveryCodes(ctx, user, recovery); err != nil {
			return err
		}
		account, err := tx.account(ctx, t.account)
		if err != nil {
			return err
		}
		if replaced == "" {
			if err := tx.tellFactorAdded(ctx, user); err != nil {
				return err
			}
		}
		if replaced != "" || account.LoginPolicy == LoginSecondFactor {
			if err := tx.revokeTokens(ctx, t.account, user.ID, by.Digest[:], now); err != nil {
				return err
			}
		}
		return tx.audit(userAct("user.enroll-second-factor", t.account, user.ID, user.Email))
	})
}

// tellFactorAdded causes a mail that tells a user of the first second factor.
func (t *tx) tellFactorAdded(ctx context.Context, user User) error {
	_, err := t.enqueueMail(ctx, NewMail{Kind: MailFactorAdded, Account: user.Account, To: user.Email, User: &user.ID})
	return err
}

// SessionAge returns how long ago the session of a user began, or [ErrSessionEnded].
func (t *Tenant) SessionAge(ctx context.Context, session Session) (time.Duration, error) {
	var began int64
	err := t.read(func(q querier) error {
		return q.QueryRowContext(ctx, `select created_at from tokens where digest = $1 and account_id = $2 and user_id = $3`,
			session.Digest[:], t.account, session.User).Scan(&began)
	})
	if errors.Is(err, ErrNotFound) {
		err = ErrSessionEnded
	}
	if err != nil {
		return 0, err
	}
	return t.db.Now().Sub(instant(began)), nil
}

// liveUser locks the account and returns the user of a session that has not ended; otherwise [ErrSessionEnded].
func (t *tx) liveUser(ctx context.Context, account ID, session Session) (User, error) {
	user, err := t.lockUser(ctx, account, session.User)
	if err != nil {
		return User{}, err
	}
	live, err := collect(ctx, t, scanValue[ID],
		`select user_id from tokens where digest = $1 and account_id = $2 and revoked_at is null and expires_at > $3`,
		session.Digest[:], account, micros(t.Now()))
	if err == nil && len(live) == 0 {
		err = ErrSessionEnded
	}
	return user, err
}

func (t *tx) replaceRecoveryCodes(ctx context.Context, user User, digests [][32]byte) error {
	if _, err := t.Exec(ctx, `delete from recovery_codes where account_id = $1 and user_id = $2`, user.Account,
		user.ID); err != nil {
		return err
	}
	for _, digest := range digests {
		if _, err := t.insertSealed(ctx, sealedCodes.row(user.Account, user.ID, digest[:]),
			`insert into recovery_codes (account_id, user_id, digest) values ($1, $2, $3)`, user.Account, user.ID,
			digest[:]); err != nil {
			return err
		}
	}
	return nil
}

// ReplaceRecoveryCodes replaces all recovery codes of the user of a session, and uses up the proof of the second
// factor. It returns [ErrSecondFactor], and [ErrNotFound] if the user has no second factor.
func (t *Tenant) ReplaceRecoveryCodes(ctx context.Context, by Session, digests [][32]byte, proof *FactorProof) error {
	return t.write(ctx, "replace recovery codes", func(ctx context.Context, tx *tx) error {
		user, err := tx.liveUser(ctx, t.account, by)
		if err != nil {
			return err
		}
		name, err := tx.useFactor(ctx, t.account, user.ID, proof)
		if err == nil && name == "" {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := tx.replaceRecoveryCodes(ctx, user, digests); err != nil {
			return err
		}
		return tx.audit(userAct("user.replace-recovery-codes", t.account, user.ID, user.Email))
	})
}

// DisableSecondFactor removes the second factor of the user of a session, uses up the proof of it, and ends the user's
// other sessions. It returns [ErrSecondFactor], [ErrNotFound] if the user has no second factor, and [ErrFactorRequired]
// if the company requires one.
func (t *Tenant) DisableSecondFactor(ctx context.Context, by Session, proof *FactorProof) error {
	return t.write(ctx, "disable second factor", func(ctx context.Context, tx *tx) error {
		user, err := tx.liveUser(ctx, t.account, by)
		if err != nil {
			return err
		}
		name, err := tx.useFactor(ctx, t.account, user.ID, proof)
		if err == nil && name == "" {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		account, err := tx.account(ctx, t.account)
		if err != nil {
			return err
		}
		if account.LoginPolicy == LoginSecondFactor {
			return ErrFactorRequired
		}
		return tx.removeSecondFactor(ctx, user, by.Digest[:], "user.disable-second-factor")
	})
}

// removeSecondFactor removes the second factor of a user of a locked account with all passkeys, and revokes the user's
// tokens but one, which may be empty. It does nothing if there is no second factor.
func (t *tx) removeSecondFactor(ctx context.Context, user User, kept []byte, act string) error {
	removed, err := t.deleteSecondFactor(ctx, user)
	if err != nil || removed == 0 {
		return err
	}
	if err := t.revokeTokens(ctx, user.Account, user.ID, kept, micros(t.Now())); err != nil {
		return err
	}
	return t.audit(userAct(act, user.Account, user.ID, user.Email))
}

// deleteSecondFactor deletes all rows of a user's second factor, and returns how many users had one or had begun to set
// up one: 0 or 1.
func (t *tx) deleteSecondFactor(ctx context.Context, user User) (int64, error) {
	if err := t.replaceRecoveryCodes(ctx, user, nil); err != nil {
		return 0, err
	}
	if _, err := t.Exec(ctx, `delete from passkeys where account_id = $1 and user_id = $2`, user.Account,
		user.ID); err != nil {
		return 0, err
	}
	return t.Exec(ctx, `delete from second_factors where account_id = $1 and user_id = $2`, user.Account, user.ID)
}

// ResetSecondFactor removes the second factor of a colleague who cannot use it any more, and ends all sessions of the
// colleague. It returns [ErrForbidden] unless the user of the session may manage users and is somebody else, and
// [ErrNotFound] if the company has no such user.
func (t *Tenant) ResetSecondFactor(ctx context.Context, by Session, user ID) (User, error) {
	var reset User
	err := t.write(ctx, "reset second factor", func(ctx context.Context, tx *tx) (err error) {
		if reset, err = tx.lockUser(ctx, t.account, user); err != nil {
			return err
		}
		if err := tx.checkManager(ctx, t.account, by.User); err != nil {
			return err
		}
		if user == by.User {
			return ErrForbidden
		}
		return tx.removeSecondFactor(ctx, reset, []byte{}, "user.reset-second-factor")
	})
	return reset, err
}

// ResetSecondFactor is [Tenant.ResetSecondFactor] for an administrator.
func (db *DB) ResetSecondFactor(ctx context.Context, account, user ID) error {
	return db.write(ctx, "reset second factor", func(ctx context.Context, t *tx) error {
		locked, err := t.lockUser(ctx, account, user)
		if err != nil {
			return err
		}
		return t.removeSecondFactor(ctx, locked, []byte{}, "user.reset-second-factor")
	})
}

// SecondFactorState returns the state of a user's second factor.
func (t *Tenant) SecondFactorState(ctx context.Context, user ID) (SecondFactorState, error) {
	return readValue(t, func(q querier) (s SecondFactorState, err error) {
		var enrolled sql.Null[int64]
		err = q.QueryRowContext(ctx,
			`select (select enrolled_at from second_factors f where f.account_id = u.account_id and f.user_id = u.id),
			(select count(*) from recovery_codes r where r.account_id = u.account_id and r.user_id = u.id and r.used_at is null)
			from users u where u.account_id = $1 and u.id = $2`, t.account, user).Scan(&enrolled, &s.RecoveryCodes)
		if err != nil {
			return s, err
		}
		s.AppSince = instantOrNil(enrolled)
		s.Passkeys, err = collect(ctx, q, scanPasskey, `select `+passkeyColumns+
			` from passkeys where account_id = $1 and user_id = $2 order by created_at, id`, t.account, user)
		return s, err
	})
}

// UsersWithSecondFactor returns which users of the company, of which there are a few hundred at most, have a second
// factor.
func (t *Tenant) UsersWithSecondFactor(ctx context.Context) (map[ID]bool, error) {
	enrolled := map[ID]bool{}
	err := t.read(func(q querier) error {
		users, err := collect(ctx, q, scanValue[ID], `select f.user_id from second_factors f where f.account_id = $1 and `+
			isEnrolled, t.account)
		for _, user := range users {
			enrolled[user] = true
		}
		return err
	})
	return enrolled, err
}
