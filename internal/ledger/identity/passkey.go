package identity

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
)

const (
	// MaxPasskeys is how many passkeys a user may have.
	MaxPasskeys = 10
	// ChallengeTTL is how long a challenge may take to be signed.
	ChallengeTTL = 5 * time.Minute
)

// The errors of passkeys.
var (
	// ErrSignCount says that the counter of a passkey did not grow: another authenticator may have a copy of its private
	// key (WebAuthn Level 3, section 6.1.1).
	ErrSignCount = errors.New("the signature counter of the passkey did not grow")
	// ErrChallenge says that the challenge of a registration was used or has expired, or is that of somebody else.
	ErrChallenge = errors.New("the challenge of the passkey was used or has expired")
	// ErrPasskeyLimit says that the user has [MaxPasskeys] passkeys.
	ErrPasskeyLimit = errors.New("the user has as many passkeys as allowed")
)

// Passkey is a public key credential (WebAuthn) that is a second factor of a user.
type Passkey struct {
	ID base.ID
	// Name is what the user calls it.
	Name string
	// Credential is empty in [SecondFactorState].
	Credential PasskeyCredential
	// SignCount is the counter of the last assertion that was accepted; 0 for an authenticator that does not count.
	SignCount uint32
	CreatedAt time.Time
	// LastUsedAt is nil for a passkey that was not used since it was added.
	LastUsedAt *time.Time
}

// PasskeyCredential is what an assertion is verified with.
type PasskeyCredential struct {
	// User is the user who registered it.
	User base.ID `json:"user"`
	// ID is the identifier that the authenticator chose, at most 1023 bytes.
	ID []byte `json:"id"`
	// PublicKey is a COSE_Key (RFC 9052, section 7).
	PublicKey []byte `json:"public_key"`
	// BackupEligible never changes (WebAuthn Level 3, section 6.1.3).
	BackupEligible bool `json:"backup_eligible"`
	// Transports are hints for browsers, such as usb.
	Transports []string `json:"transports,omitempty"`
}

// PasskeyProof is a verified assertion of a passkey.
type PasskeyProof struct {
	Passkey   base.ID
	SignCount uint32
	Challenge Challenge
}

// ChallengePurpose is what a challenge is good for.
type ChallengePurpose string

// The purposes of challenges.
const (
	ChallengeRegistration ChallengePurpose = "registration"
	ChallengeLogin        ChallengePurpose = "login"
	// ChallengeConfirmation is the purpose of an assertion that a logged-in user makes to change the second factor.
	ChallengeConfirmation ChallengePurpose = "confirmation"
)

// Challenge is the digest of a challenge and what it is good for.
type Challenge struct {
	Digest  [32]byte
	Purpose ChallengePurpose
}

// PasskeyBinding is where the credential of a passkey stands.
func PasskeyBinding(account, id base.ID) secret.Binding {
	return secret.Binding{Tenant: account[:], Table: "passkeys", Column: "credential", Row: id[:]}
}

const passkeyColumns = `id, name, sign_count, created_at, used_at`

// scanPasskey reads passkeyColumns.
func scanPasskey(row base.Row) (Passkey, error) { return scanPasskeyAnd(row) }

// scanPasskeyAnd reads passkeyColumns, and the columns that more receives.
func scanPasskeyAnd(row base.Row, more ...any) (Passkey, error) {
	var p Passkey
	var created int64
	var used sql.Null[int64]
	err := row.Scan(append([]any{&p.ID, &p.Name, &p.SignCount, &created, &used}, more...)...)
	p.CreatedAt, p.LastUsedAt = base.Instant(created), base.InstantOrNil(used)
	return p, err
}

// passkeys returns the passkeys of a user with their credentials, oldest first.
func passkeys(ctx context.Context, db *base.DB, q base.Querier, account, user base.ID) ([]Passkey, error) {
	return base.Collect(ctx, q, func(row base.Row) (Passkey, error) {
		var sealed []byte
		p, err := scanPasskeyAnd(row, &sealed)
		if err != nil {
			return Passkey{}, err
		}
		plain, err := db.Sealer().Open(sealed, PasskeyBinding(account, p.ID))
		if err != nil {
			return Passkey{}, err
		}
		if err := jsonv2.Unmarshal(plain, &p.Credential); err != nil {
			return Passkey{}, fmt.Errorf("stored passkey: %w", err)
		}
		if p.Credential.User != user {
			return Passkey{}, fmt.Errorf("passkey %s was registered by another user", p.ID)
		}
		return p, nil
	}, `select `+passkeyColumns+
		`, credential from passkeys where account_id = $1 and user_id = $2 order by created_at, id`, account, user)
}

// BeginPasskey stores a challenge for the user of a session.
func BeginPasskey(ctx context.Context, t *base.Tenant, by base.Session, challenge Challenge) error {
	return t.Write(ctx, "begin passkey", func(ctx context.Context, tx *base.Tx) error {
		if _, err := liveUser(ctx, tx, t.Account(), by); err != nil {
			return err
		}
		_, err := tx.Exec(ctx,
			`insert into passkey_challenges (digest, account_id, user_id, purpose, expires_at) values ($1, $2, $3, $4, $5)`,
			challenge.Digest[:], t.Account(), by.User, challenge.Purpose, base.Micros(tx.Now().Add(ChallengeTTL)))
		return err
	})
}

// BeginPasskeyLogin stores a challenge for a pending login. It returns [base.ErrNotFound] if the login was completed or
// has expired.
func BeginPasskeyLogin(ctx context.Context, db *base.DB, login PendingLogin, digest [32]byte) error {
	return db.Write(ctx, "begin passkey login", func(ctx context.Context, t *base.Tx) error {
		if _, err := t.LockAccount(ctx, login.User.Account); err != nil {
			return err
		}
		n, err := t.Exec(ctx, `insert into passkey_challenges (digest, account_id, user_id, purpose, expires_at)
			select $1, account_id, user_id, $5, $6 from pending_logins where digest = $2 and account_id = $3 and user_id = $4 and expires_at > $7`,
			digest[:], login.Digest[:], login.User.Account, login.User.ID, ChallengeLogin,
			base.Micros(t.Now().Add(ChallengeTTL)),
			base.Micros(t.Now()))
		if err == nil && n == 0 {
			err = base.ErrNotFound
		}
		return err
	})
}

// useChallenge deletes a challenge of a user of a locked account. It returns [ErrSecondFactor] if there is none that is
// good for this.
func useChallenge(ctx context.Context, t *base.Tx, account, user base.ID, challenge Challenge) error {
	n, err := t.Exec(ctx,
		`delete from passkey_challenges where digest = $1 and account_id = $2 and user_id = $3 and purpose = $4 and expires_at > $5`,
		challenge.Digest[:], account, user, challenge.Purpose, base.Micros(t.Now()))
	if err == nil && n == 0 {
		err = ErrSecondFactor
	}
	return err
}

// usePasskey consumes the proof of a passkey of a user. The caller has locked the account.
func usePasskey(ctx context.Context, t *base.Tx, account, user base.ID, proof *PasskeyProof) error {
	if err := useChallenge(ctx, t, account, user, proof.Challenge); err != nil {
		return err
	}
	p, err := passkey(ctx, t, account, user, proof.Passkey)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrSecondFactor // it was removed meanwhile
	}
	if err != nil {
		return err
	}
	if proof.SignCount <= p.SignCount && (proof.SignCount != 0 || p.SignCount != 0) {
		return ErrSignCount
	}
	_, err = t.Exec(ctx, `update passkeys set sign_count = $3, used_at = $4 where account_id = $1 and id = $2`, account,
		p.ID, int64(proof.SignCount), base.Micros(t.Now()))
	return err
}

// passkey returns a passkey of a user without its credential.
func passkey(ctx context.Context, t *base.Tx, account, user, id base.ID) (Passkey, error) {
	return scanPasskey(t.QueryRowContext(ctx, `select `+passkeyColumns+
		` from passkeys where account_id = $1 and user_id = $2 and id = $3`, account, user, id))
}

// RefusePasskey records that the counter of a passkey did not grow, and deletes the challenge that was signed.
func RefusePasskey(ctx context.Context, db *base.DB, user base.User, proof PasskeyProof) error {
	return db.Write(ctx, "refuse passkey", func(ctx context.Context, t *base.Tx) error {
		if _, err := t.LockAccount(ctx, user.Account); err != nil {
			return err
		}
		if err := useChallenge(ctx, t, user.Account, user.ID, proof.Challenge); err != nil {
			return err
		}
		p, err := passkey(ctx, t, user.Account, user.ID, proof.Passkey)
		if err != nil {
			return err
		}
		actor := t.Actor
		actor.Kind, actor.Name = base.ActorUser, user.Email // at a login, nobody else is known who gave the password
		act := passkeyAct("user.refuse-passkey", user, p.Name)
		act.Details["counter"], act.Details["last_counter"] = strconv.FormatUint(uint64(proof.SignCount), 10),
			strconv.FormatUint(uint64(p.SignCount), 10)
		_, err = t.AuditAs(actor, act)
		return err
	})
}

func passkeyAct(name string, user base.User, passkey string) base.Act {
	act := base.UserAct(name, user.Account, user.ID, user.Email)
	act.Details["passkey"] = passkey
	return act
}

// NewPasskey holds the values of a new passkey, whose registration was verified.
type NewPasskey struct {
	Name       string
	Credential PasskeyCredential
	SignCount  uint32
	Challenge  Challenge
	// Recovery has the digests of the recovery codes of a user for whom this is the first second factor.
	Recovery [][32]byte
	// Proof is that of a second factor that the user has already.
	Proof *FactorProof
}

// AddPasskey adds a passkey of the user of a session, and reports whether it is the user's first second factor: then
// the recovery codes are stored, and the user's other sessions end if the company requires a second factor, because
// they may be of somebody who has only the password. It returns [ErrSecondFactor] or [ErrSignCount] for a wrong proof,
// [ErrChallenge] if the challenge of the registration was used or has expired, [ErrPasskeyLimit], [base.ErrExists] if
// the user has the credential already, and [ErrSessionEnded].
func AddPasskey(ctx context.Context, t *base.Tenant, by base.Session, add NewPasskey) (first bool, err error) {
	err = t.Write(ctx, "add passkey", func(ctx context.Context, tx *base.Tx) error {
		user, err := liveUser(ctx, tx, t.Account(), by)
		if err != nil {
			return err
		}
		if err := useChallenge(ctx, tx, t.Account(), user.ID, add.Challenge); err != nil {
			if errors.Is(err, ErrSecondFactor) {
				err = ErrChallenge
			}
			return err
		}
		name, err := useFactor(ctx, tx, t.Account(), user.ID, add.Proof)
		if err != nil {
			return err
		}
		if err := insertPasskey(ctx, tx, user, add); err != nil {
			return err
		}
		if first = name == ""; first {
			if err := beginFirstFactor(ctx, tx, user, by, add.Recovery); err != nil {
				return err
			}
		}
		return tx.Audit(passkeyAct("user.add-passkey", user, add.Name))
	})
	return first, err
}

// beginFirstFactor stores the recovery codes of a user of a locked account, tells the user, and ends the user's other
// sessions if the company requires a second factor.
func beginFirstFactor(ctx context.Context, t *base.Tx, user base.User, by base.Session, recovery [][32]byte) error {
	if err := replaceRecoveryCodes(ctx, t, user, recovery); err != nil {
		return err
	}
	if err := tellFactorAdded(ctx, t, user); err != nil {
		return err
	}
	account, err := t.LockAccount(ctx, user.Account)
	if err != nil || account.LoginPolicy != base.LoginSecondFactor {
		return err
	}
	return revokeTokens(ctx, t, user.Account, user.ID, by.Digest[:], base.Micros(t.Now()))
}

// insertPasskey inserts a passkey of a user of a locked account.
func insertPasskey(ctx context.Context, t *base.Tx, user base.User, add NewPasskey) error {
	present, err := passkeys(ctx, t.DB, t, user.Account, user.ID)
	if err != nil {
		return err
	}
	for _, p := range present {
		if bytes.Equal(p.Credential.ID, add.Credential.ID) {
			return base.ErrExists
		}
	}
	if len(present) >= MaxPasskeys {
		return ErrPasskeyLimit
	}
	id, err := base.NewID(t.Now(), t.DB.Random())
	if err != nil {
		return err
	}
	add.Credential.User = user.ID
	plain, err := jsonv2.Marshal(add.Credential)
	if err != nil {
		return fmt.Errorf("store passkey: %w", err)
	}
	sealed, err := t.DB.Sealer().Seal(plain, PasskeyBinding(user.Account, id))
	if err != nil {
		return err
	}
	if _, err := t.Exec(ctx,
		`insert into second_factors (account_id, user_id, last_step) values ($1, $2, 0) on conflict (account_id, user_id) do nothing`,
		user.Account, user.ID); err != nil {
		return err
	}
	_, err = t.Exec(ctx,
		`insert into passkeys (account_id, id, user_id, name, credential, sign_count, created_at) values ($1, $2, $3, $4, $5, $6, $7)`,
		user.Account, id, user.ID, add.Name, sealed, int64(add.SignCount), base.Micros(t.Now()))
	return err
}

// RenamePasskey gives a passkey of the user of a session another name. It returns [base.ErrNotFound] if the user has no
// such passkey, and [ErrSessionEnded].
func RenamePasskey(ctx context.Context, t *base.Tenant, by base.Session, id base.ID, name string) error {
	return t.Write(ctx, "rename passkey", func(ctx context.Context, tx *base.Tx) error {
		user, err := liveUser(ctx, tx, t.Account(), by)
		if err != nil {
			return err
		}
		p, err := passkey(ctx, tx, t.Account(), user.ID, id)
		if err != nil || p.Name == name {
			return err
		}
		if _, err := tx.Exec(ctx, `update passkeys set name = $3 where account_id = $1 and id = $2`, t.Account(),
			p.ID, name); err != nil {
			return err
		}
		act := passkeyAct("user.rename-passkey", user, name)
		act.Details["before"] = p.Name
		return tx.Audit(act)
	})
}

// RemovePasskey removes a passkey of the user of a session, uses up the proof of a second factor, and ends the user's
// other sessions. With the last second factor the recovery codes are removed. It returns [ErrSecondFactor] or
// [ErrSignCount] for a wrong proof, [base.ErrNotFound] if the user has no such passkey, [ErrFactorRequired] if it is
// the last second factor and the company requires one, and [ErrSessionEnded].
func RemovePasskey(ctx context.Context, t *base.Tenant, by base.Session, id base.ID, proof *FactorProof) error {
	return t.Write(ctx, "remove passkey", func(ctx context.Context, tx *base.Tx) error {
		user, err := liveUser(ctx, tx, t.Account(), by)
		if err != nil {
			return err
		}
		if _, err := useFactor(ctx, tx, t.Account(), user.ID, proof); err != nil {
			return err
		}
		p, err := passkey(ctx, tx, t.Account(), user.ID, id)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from passkeys where account_id = $1 and id = $2`, t.Account(), p.ID); err != nil {
			return err
		}
		if err := endLastFactor(ctx, tx, user); err != nil {
			return err
		}
		if err := revokeTokens(ctx, tx, t.Account(), user.ID, by.Digest[:], base.Micros(tx.Now())); err != nil {
			return err
		}
		return tx.Audit(passkeyAct("user.remove-passkey", user, p.Name))
	})
}

// endLastFactor removes what is left of the second factor of a user of a locked account who has none any more, or
// returns [ErrFactorRequired].
func endLastFactor(ctx context.Context, t *base.Tx, user base.User) error {
	has, err := hasFactor(ctx, t, user.Account, user.ID)
	if err != nil || has {
		return err
	}
	account, err := t.LockAccount(ctx, user.Account)
	if err != nil {
		return err
	}
	if account.LoginPolicy == base.LoginSecondFactor {
		return ErrFactorRequired
	}
	_, err = deleteSecondFactor(ctx, t, user)
	return err
}
