package identity

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
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

// TOTPBinding is where the secret of an authenticator app stands.
func TOTPBinding(account, user base.ID) secret.Binding {
	return secret.Binding{Tenant: account[:], Table: "second_factors", Column: "secret", Row: user[:]}
}

// PendingTOTPBinding is where the secret of an app that is not confirmed yet stands.
func PendingTOTPBinding(account, user base.ID) secret.Binding {
	return secret.Binding{Tenant: account[:], Table: "second_factors", Column: "pending", Row: user[:]}
}

// FindSecondFactor returns the enrolled second factor of a user who has given the right password, or
// [base.ErrNotFound].
func FindSecondFactor(ctx context.Context, db *base.DB, user base.User) (SecondFactor, error) {
	var f SecondFactor
	var sealed []byte
	var enrolled sql.Null[int64]
	err := db.Querier().QueryRowContext(ctx,
		`select f.secret, f.enrolled_at from second_factors f where f.account_id = $1 and f.user_id = $2 and `+base.IsEnrolled,
		user.Account, user.ID).Scan(&sealed, &enrolled)
	if err != nil {
		return SecondFactor{}, db.Classify(err)
	}
	if sealed != nil {
		f.EnrolledAt = base.Instant(enrolled.V)
		if f.Secret, err = db.Sealer().OpenText(sealed, TOTPBinding(user.Account, user.ID)); err != nil {
			return SecondFactor{}, err
		}
	}
	if f.Passkeys, err = passkeys(ctx, db, db.Querier(), user.Account, user.ID); err != nil {
		return SecondFactor{}, db.Classify(err)
	}
	digests, err := base.Collect(ctx, db.Querier(), base.ScanValue[[]byte],
		`select digest from recovery_codes where account_id = $1 and user_id = $2`, user.Account, user.ID)
	for _, digest := range digests {
		f.Recovery = append(f.Recovery, [32]byte(digest))
	}
	return f, db.Classify(err)
}

// useFactor uses the proof of a user's second factor up, and returns its name for the audit log, or "" if the user has
// no second factor. Otherwise it returns [ErrSecondFactor], or [ErrSignCount] for a passkey.
func useFactor(ctx context.Context, t *base.Tx, account, user base.ID, proof *FactorProof) (name string, err error) {
	enrolled, err := base.Collect(ctx, t, base.ScanValue[int64],
		`select 1 from second_factors f where f.account_id = $1 and f.user_id = $2 and `+base.IsEnrolled+t.DB.Dialect().ForUpdate(),
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
		return "passkey", usePasskey(ctx, t, account, user, proof.Passkey)
	case proof.Step > 0:
		name = "authenticator"
		used, err = t.Exec(ctx,
			`update second_factors set last_step = $3 where account_id = $1 and user_id = $2 and secret is not null and enrolled_at = $4 and last_step < $3`,
			account, user, proof.Step, base.Micros(proof.EnrolledAt))
	default:
		name = "recovery code"
		if err := t.CheckSealed(ctx, base.SealedCodes.Row(account, user, proof.Recovery[:])); err != nil {
			if errors.Is(err, sql.ErrNoRows) {
				err = ErrSecondFactor
			}
			return name, err
		}
		used, err = t.Exec(ctx,
			`update recovery_codes set used_at = $4, seal = null where account_id = $1 and user_id = $2 and digest = $3 and used_at is null`,
			account, user, proof.Recovery[:], base.Micros(t.Now()))
	}
	if err == nil && used == 0 {
		err = ErrSecondFactor
	}
	return name, err
}

// hasFactor reports whether a user of a locked account has a second factor.
func hasFactor(ctx context.Context, t *base.Tx, account, user base.ID) (bool, error) {
	enrolled, err := base.Collect(ctx, t, base.ScanValue[int64],
		`select 1 from second_factors f where f.account_id = $1 and f.user_id = $2 and `+base.IsEnrolled, account, user)
	return len(enrolled) > 0, err
}

// BeginTOTP stores the secret of an authenticator app of the user of a session, which replaces nothing until this
// session confirms it.
func BeginTOTP(ctx context.Context, t *base.Tenant, by base.Session, shared secret.Text) error {
	return t.Write(ctx, "begin second factor", func(ctx context.Context, tx *base.Tx) error {
		if _, err := lockUser(ctx, tx, t.Account(), by.User); err != nil {
			return err
		}
		sealed, err := tx.DB.Sealer().SealText(shared, PendingTOTPBinding(t.Account(), by.User))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx,
			`insert into second_factors (account_id, user_id, last_step, pending, pending_at, pending_session) values ($1, $2, 0, $3, $4, $5)
			on conflict (account_id, user_id) do update set pending = excluded.pending, pending_at = excluded.pending_at, pending_session = excluded.pending_session`,
			t.Account(), by.User, sealed, base.Micros(tx.Now()), by.Digest[:])
		return err
	})
}

// PendingTOTP returns the secret that [BeginTOTP] has stored for the session within the last hour, or
// [base.ErrNotFound].
func PendingTOTP(ctx context.Context, t *base.Tenant, by base.Session) (secret.Text, error) {
	return base.ReadValue(t, func(q base.Querier) (secret.Text, error) { return pendingTOTP(ctx, t, q, by) })
}

func pendingTOTP(ctx context.Context, t *base.Tenant, q base.Querier, by base.Session) (secret.Text, error) {
	var sealed []byte
	err := q.QueryRowContext(ctx,
		`select pending from second_factors where account_id = $1 and user_id = $2 and pending is not null and pending_at > $3 and pending_session = $4`,
		t.Account(), by.User, base.Micros(t.DB().Now().Add(-pendingFactorTTL)), by.Digest[:]).Scan(&sealed)
	if err != nil {
		return secret.Text{}, err
	}
	return t.DB().Sealer().OpenText(sealed, PendingTOTPBinding(t.Account(), by.User))
}

// ConfirmTOTP makes the pending secret, which must be shared, the second factor of the user of a session, with the time
// step of the code that has confirmed it and the digests of new recovery codes. If the user had a second factor, the
// proof of it is used up. The user's other sessions end then, and also if the company requires a second factor: they
// may be of somebody who has only the password. It returns [ErrSecondFactor], [base.ErrNotFound] if another secret is
// pending, and [ErrSessionEnded].
func ConfirmTOTP(ctx context.Context, t *base.Tenant, by base.Session, shared secret.Text, step int64,
	recovery [][32]byte, proof *FactorProof) error {
	return t.Write(ctx, "confirm second factor", func(ctx context.Context, tx *base.Tx) error {
		user, err := liveUser(ctx, tx, t.Account(), by)
		if err != nil {
			return err
		}
		pending, err := pendingTOTP(ctx, t, tx, by)
		if err != nil {
			return err
		}
		if !pending.Equal(shared) {
			return base.ErrNotFound
		}
		replaced, err := useFactor(ctx, tx, t.Account(), user.ID, proof)
		if err != nil {
			return err
		}
		sealed, err := tx.DB.Sealer().SealText(shared, TOTPBinding(t.Account(), user.ID))
		if err != nil {
			return err
		}
		now := base.Micros(tx.Now())
		if _, err := tx.Exec(ctx,
			`update second_factors set secret = $3, enrolled_at = $4, last_step = $5, pending = null, pending_at = null, pending_session = null where account_id = $1 and user_id = $2`,
			t.Account(), user.ID, sealed, now, step); err != nil {
			return err
		}
		if err := replaceRecoveryCodes(ctx, tx, user, recovery); err != nil {
			return err
		}
		account, err := tx.LockAccount(ctx, t.Account())
		if err != nil {
			return err
		}
		if replaced == "" {
			if err := tellFactorAdded(ctx, tx, user); err != nil {
				return err
			}
		}
		if replaced != "" || account.LoginPolicy == base.LoginSecondFactor {
			if err := revokeTokens(ctx, tx, t.Account(), user.ID, by.Digest[:], now); err != nil {
				return err
			}
		}
		return tx.Audit(base.UserAct("user.enroll-second-factor", t.Account(), user.ID, user.Email))
	})
}

// tellFactorAdded causes a mail that tells a user of the first second factor.
func tellFactorAdded(ctx context.Context, t *base.Tx, user base.User) error {
	_, err := enqueueMail(ctx, t, NewMail{Kind: MailFactorAdded, Account: user.Account, To: user.Email, User: &user.ID})
	return err
}

// SessionAge returns how long ago the session of a user began, or [ErrSessionEnded].
func SessionAge(ctx context.Context, t *base.Tenant, session base.Session) (time.Duration, error) {
	var began int64
	err := t.Read(func(q base.Querier) error {
		return q.QueryRowContext(ctx, `select created_at from tokens where digest = $1 and account_id = $2 and user_id = $3`,
			session.Digest[:], t.Account(), session.User).Scan(&began)
	})
	if errors.Is(err, base.ErrNotFound) {
		err = ErrSessionEnded
	}
	if err != nil {
		return 0, err
	}
	return t.DB().Now().Sub(base.Instant(began)), nil
}

// liveUser locks the account and returns the user of a session that has not ended; otherwise [ErrSessionEnded].
func liveUser(ctx context.Context, t *base.Tx, account base.ID, session base.Session) (base.User, error) {
	user, err := lockUser(ctx, t, account, session.User)
	if err != nil {
		return base.User{}, err
	}
	live, err := base.Collect(ctx, t, base.ScanValue[base.ID],
		`select user_id from tokens where digest = $1 and account_id = $2 and revoked_at is null and expires_at > $3`,
		session.Digest[:], account, base.Micros(t.Now()))
	if err == nil && len(live) == 0 {
		err = ErrSessionEnded
	}
	return user, err
}

func replaceRecoveryCodes(ctx context.Context, t *base.Tx, user base.User, digests [][32]byte) error {
	if _, err := t.Exec(ctx, `delete from recovery_codes where account_id = $1 and user_id = $2`, user.Account,
		user.ID); err != nil {
		return err
	}
	for _, digest := range digests {
		if _, err := t.InsertSealed(ctx, base.SealedCodes.Row(user.Account, user.ID, digest[:]),
			`insert into recovery_codes (account_id, user_id, digest) values ($1, $2, $3)`, user.Account, user.ID,
			digest[:]); err != nil {
			return err
		}
	}
	return nil
}

// ReplaceRecoveryCodes replaces all recovery codes of the user of a session, and uses up the proof of the second
// factor. It returns [ErrSecondFactor], and [base.ErrNotFound] if the user has no second factor.
func ReplaceRecoveryCodes(ctx context.Context, t *base.Tenant, by base.Session, digests [][32]byte,
	proof *FactorProof) error {
	return t.Write(ctx, "replace recovery codes", func(ctx context.Context, tx *base.Tx) error {
		user, err := liveUser(ctx, tx, t.Account(), by)
		if err != nil {
			return err
		}
		name, err := useFactor(ctx, tx, t.Account(), user.ID, proof)
		if err == nil && name == "" {
			err = base.ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := replaceRecoveryCodes(ctx, tx, user, digests); err != nil {
			return err
		}
		return tx.Audit(base.UserAct("user.replace-recovery-codes", t.Account(), user.ID, user.Email))
	})
}

// DisableSecondFactor removes the second factor of the user of a session, uses up the proof of it, and ends the user's
// other sessions. It returns [ErrSecondFactor], [base.ErrNotFound] if the user has no second factor, and
// [ErrFactorRequired] if the company requires one.
func DisableSecondFactor(ctx context.Context, t *base.Tenant, by base.Session, proof *FactorProof) error {
	return t.Write(ctx, "disable second factor", func(ctx context.Context, tx *base.Tx) error {
		user, err := liveUser(ctx, tx, t.Account(), by)
		if err != nil {
			return err
		}
		name, err := useFactor(ctx, tx, t.Account(), user.ID, proof)
		if err == nil && name == "" {
			err = base.ErrNotFound
		}
		if err != nil {
			return err
		}
		account, err := tx.LockAccount(ctx, t.Account())
		if err != nil {
			return err
		}
		if account.LoginPolicy == base.LoginSecondFactor {
			return ErrFactorRequired
		}
		return removeSecondFactor(ctx, tx, user, by.Digest[:], "user.disable-second-factor")
	})
}

// removeSecondFactor removes the second factor of a user of a locked account with all passkeys, and revokes the user's
// tokens but one, which may be empty. It does nothing if there is no second factor.
func removeSecondFactor(ctx context.Context, t *base.Tx, user base.User, kept []byte, act string) error {
	removed, err := deleteSecondFactor(ctx, t, user)
	if err != nil || removed == 0 {
		return err
	}
	if err := revokeTokens(ctx, t, user.Account, user.ID, kept, base.Micros(t.Now())); err != nil {
		return err
	}
	return t.Audit(base.UserAct(act, user.Account, user.ID, user.Email))
}

// deleteSecondFactor deletes all rows of a user's second factor, and returns how many users had one or had begun to set
// up one: 0 or 1.
func deleteSecondFactor(ctx context.Context, t *base.Tx, user base.User) (int64, error) {
	if err := replaceRecoveryCodes(ctx, t, user, nil); err != nil {
		return 0, err
	}
	if _, err := t.Exec(ctx, `delete from passkeys where account_id = $1 and user_id = $2`, user.Account,
		user.ID); err != nil {
		return 0, err
	}
	return t.Exec(ctx, `delete from second_factors where account_id = $1 and user_id = $2`, user.Account, user.ID)
}

// ResetSecondFactor removes the second factor of a colleague who cannot use it any more, and ends all sessions of the
// colleague. It returns [base.ErrForbidden] unless the user of the session may manage users and is somebody else, and
// [base.ErrNotFound] if the company has no such user.
func ResetSecondFactor(ctx context.Context, t *base.Tenant, by base.Session, user base.ID) (base.User, error) {
	var reset base.User
	err := t.Write(ctx, "reset second factor", func(ctx context.Context, tx *base.Tx) (err error) {
		if reset, err = lockUser(ctx, tx, t.Account(), user); err != nil {
			return err
		}
		if err := checkManager(ctx, tx, t.Account(), by.User); err != nil {
			return err
		}
		if user == by.User {
			return base.ErrForbidden
		}
		return removeSecondFactor(ctx, tx, reset, []byte{}, "user.reset-second-factor")
	})
	return reset, err
}

// ResetSecondFactorOf is [ResetSecondFactor] for an administrator.
func ResetSecondFactorOf(ctx context.Context, db *base.DB, account, user base.ID) error {
	return db.Write(ctx, "reset second factor", func(ctx context.Context, t *base.Tx) error {
		locked, err := lockUser(ctx, t, account, user)
		if err != nil {
			return err
		}
		return removeSecondFactor(ctx, t, locked, []byte{}, "user.reset-second-factor")
	})
}

// ReadSecondFactorState returns the state of a user's second factor.
func ReadSecondFactorState(ctx context.Context, t *base.Tenant, user base.ID) (SecondFactorState, error) {
	return base.ReadValue(t, func(q base.Querier) (s SecondFactorState, err error) {
		var enrolled sql.Null[int64]
		err = q.QueryRowContext(ctx,
			`select (select enrolled_at from second_factors f where f.account_id = u.account_id and f.user_id = u.id),
			(select count(*) from recovery_codes r where r.account_id = u.account_id and r.user_id = u.id and r.used_at is null)
			from users u where u.account_id = $1 and u.id = $2`, t.Account(), user).Scan(&enrolled, &s.RecoveryCodes)
		if err != nil {
			return s, err
		}
		s.AppSince = base.InstantOrNil(enrolled)
		s.Passkeys, err = base.Collect(ctx, q, scanPasskey, `select `+passkeyColumns+
			` from passkeys where account_id = $1 and user_id = $2 order by created_at, id`, t.Account(), user)
		return s, err
	})
}

// UsersWithSecondFactor returns which users of the company, of which there are a few hundred at most, have a second
// factor.
func UsersWithSecondFactor(ctx context.Context, t *base.Tenant) (map[base.ID]bool, error) {
	enrolled := map[base.ID]bool{}
	err := t.Read(func(q base.Querier) error {
		users, err := base.Collect(ctx, q, base.ScanValue[base.ID], `select f.user_id from second_factors f where f.account_id = $1 and `+
			base.IsEnrolled, t.Account())
		for _, user := range users {
			enrolled[user] = true
		}
		return err
	})
	return enrolled, err
}
