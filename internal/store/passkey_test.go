package store_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/internal/access"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/test/kit"
)

// publicKey stands for a public key, which only the verification of assertions reads.
const publicKey = "a public key of a passkey"

// challenge returns the challenge of a number, which no other company and purpose has.
func (c company) challenge(n byte, purpose store.ChallengePurpose) store.Challenge {
	made := store.Challenge{Digest: [32]byte{n, purpose[0]}, Purpose: purpose}
	copy(made.Digest[2:], c.account.ID[:])
	return made
}

// addPasskey adds a passkey with the given credential to the user of a session.
func (c company) addPasskey(t *testing.T, by store.Session, n byte, proof *store.FactorProof,
	recovery ...[32]byte) error {
	t.Helper()
	registration := store.Challenge{Purpose: store.ChallengeRegistration}
	_, err := rand.Read(registration.Digest[:])
	kit.Must(t, err)
	kit.Must(t, c.tenant.BeginPasskey(t.Context(), by, registration))
	_, err = c.tenant.AddPasskey(t.Context(), by, store.NewPasskey{Name: "Laptop",
		Credential: store.PasskeyCredential{ID: []byte{n}, PublicKey: []byte(publicKey)},
		SignCount:  5, Challenge: registration, Recovery: recovery, Proof: proof})
	return err
}

// confirms returns the proof that a passkey of the user of a session gives with a counter and the challenge of the
// given number.
func (c company) confirms(t *testing.T, by store.Session, passkey store.ID, count uint32, n byte) *store.FactorProof {
	t.Helper()
	asked := c.challenge(n, store.ChallengeConfirmation)
	kit.Must(t, c.tenant.BeginPasskey(t.Context(), by, asked))
	return &store.FactorProof{Passkey: &store.PasskeyProof{Passkey: passkey, SignCount: count, Challenge: asked}}
}

func (c company) passkeys(t *testing.T) []store.Passkey {
	t.Helper()
	state, err := c.tenant.SecondFactorState(t.Context(), c.user.ID)
	kit.Must(t, err)
	return state.Passkeys
}

// TestPasskeyLogins: no session begins with a password alone once there is a passkey; a challenge works once, also for
// concurrent logins, for its user and purpose, and for five minutes; and a counter that did not grow is refused and
// recorded.
func TestPasskeyLogins(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		other := f.newCompany(t, "other@example.com")
		by, stranger := f.startSession(ctx, t, f.user, 41, ""), f.startSession(ctx, t, other.user, 42, "")
		kit.Must(t, f.addPasskey(t, by, 1, nil, [32]byte{1}, [32]byte{2}))
		kit.Must(t, other.addPasskey(t, stranger, 2, nil))
		if strings.Contains(f.dump(t, f.company), publicKey) {
			t.Error("the credential is stored in clear text")
		}
		factor, err := f.SecondFactor(ctx, f.user)
		kit.Must(t, err)
		if factor.HasApp() || len(factor.Passkeys) != 1 || string(factor.Passkeys[0].Credential.PublicKey) != publicKey ||
			factor.Passkeys[0].SignCount != 5 {
			t.Errorf("second factor %+v", factor)
		}
		key, theirs := factor.Passkeys[0].ID, other.passkeys(t)[0].ID
		login := func(n byte) store.Challenge {
			pending := store.PendingLogin{Digest: [32]byte{n}, User: f.user, Means: store.LoginByPassword}
			kit.Must(t, f.BeginLogin(ctx, pending, f.Clock.Now().Add(10*time.Minute)))
			kit.Must(t, f.BeginPasskeyLogin(ctx, pending, f.challenge(n, store.ChallengeLogin).Digest))
			return f.challenge(n, store.ChallengeLogin)
		}
		proof := func(key store.ID, count uint32, asked store.Challenge) *store.FactorProof {
			return &store.FactorProof{Passkey: &store.PasskeyProof{Passkey: key, SignCount: count, Challenge: asked}}
		}
		first := login(10)
		for _, wrong := range []*store.FactorProof{nil, proof(key, 6, f.challenge(99, store.ChallengeLogin)),
			proof(theirs, 6, first), {Step: 1}, {EnrolledAt: f.Clock.Now(), Step: 1}, {Recovery: [32]byte{3}},
			proof(key, 6, store.Challenge{Digest: first.Digest, Purpose: store.ChallengeConfirmation})} {
			wantErr(t, f.withFactor(t, 50, wrong), store.ErrSecondFactor)
		}
		errs := make([]error, 6)
		var wg sync.WaitGroup
		for n := range errs {
			wg.Go(func() { errs[n] = f.withFactor(t, byte(60+n), proof(key, uint32(6+n), first)) })
		}
		wg.Wait()
		accepted := 0
		for _, err := range errs {
			if err == nil {
				accepted++
			} else {
				wantErr(t, err, store.ErrSecondFactor)
			}
		}
		wantEqual(t, "logins with one challenge", accepted, 1)
		kit.Must(t, f.withFactor(t, 50, &store.FactorProof{Recovery: [32]byte{1}}))

		used := f.passkeys(t)[0]
		if used.LastUsedAt == nil || used.SignCount < 6 {
			t.Errorf("after a login: %+v", used)
		}
		cloned := proof(key, used.SignCount, login(11))
		wantErr(t, f.withFactor(t, 51, cloned), store.ErrSignCount)
		_, before := f.actsSince(t, 0)
		kit.Must(t, f.RefusePasskey(ctx, f.user, *cloned.Passkey))
		added, _ := f.actsSince(t, len(before))
		wantEqual(t, "acts of a refused passkey", len(added), 1)
		wantErr(t, f.RefusePasskey(ctx, f.user, *cloned.Passkey), store.ErrSecondFactor) // its challenge is gone

		late := login(12)
		f.Clock.Advance(store.ChallengeTTL)
		wantErr(t, f.withFactor(t, 52, proof(key, 100, late)), store.ErrSecondFactor)
		wantErr(t, f.BeginPasskeyLogin(ctx, store.PendingLogin{Digest: [32]byte{77}, User: f.user}, [32]byte{77}),
			store.ErrNotFound)
		f.Clock.Advance(time.Second)
		kit.Must(t, f.DeleteExpired(ctx))
		if left := f.rows(t, `select digest from passkey_challenges where account_id = $1`, f.account.ID); len(left) != 0 {
			t.Errorf("%d challenges are left", len(left))
		}
	})
}

// TestPasskeyChanges: another passkey needs a proof of the present factor; there are at most ten; the last second
// factor ends with the recovery codes, unless the company requires one; and a reset removes passkeys.
func TestPasskeyChanges(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		by, other := f.startSession(ctx, t, f.user, 41, ""), f.startSession(ctx, t, f.user, 42, "")
		add := func(n byte, proof *store.FactorProof, recovery ...[32]byte) error {
			f.Clock.Advance(time.Millisecond) // passkeys are listed by age
			return f.addPasskey(t, by, n, proof, recovery...)
		}
		wantErr(t, f.tenant.SetLoginPolicy(ctx, by, store.LoginSecondFactor), store.ErrNoFactor)
		kit.Must(t, add(1, nil, [32]byte{1}, [32]byte{2}, [32]byte{3}))
		key := f.passkeys(t)[0].ID
		wantErr(t, add(2, nil), store.ErrSecondFactor)
		wantErr(t, add(1, f.confirms(t, by, key, 6, 20)), store.ErrExists)
		kit.Must(t, add(2, f.confirms(t, by, key, 6, 21)))
		once := store.NewPasskey{Name: "Key", Credential: store.PasskeyCredential{ID: []byte{99}},
			Challenge: f.challenge(3, store.ChallengeRegistration)}
		kit.Must(t, f.tenant.BeginPasskey(ctx, by, once.Challenge))
		f.Clock.Advance(time.Millisecond)
		for n, want := range []error{nil, store.ErrChallenge} {
			once.Proof = f.confirms(t, by, key, uint32(7+n), byte(90+n))
			_, err := f.tenant.AddPasskey(ctx, by, once)
			if !errors.Is(err, want) {
				t.Errorf("a registration, use %d of its challenge: %v", n+1, err)
			}
		}
		for n := byte(4); n <= store.MaxPasskeys; n++ {
			kit.Must(t, add(n, f.confirms(t, by, key, uint32(10+n), 22+n)))
		}
		wantErr(t, add(11, f.confirms(t, by, key, 50, 40)), store.ErrPasskeyLimit)
		_, err := f.Authenticate(ctx, other.Digest)
		kit.Must(t, err) // a passkey beside another factor ends no session
		kit.Must(t, f.tenant.RenamePasskey(ctx, by, key, "Phone"))
		wantEqual(t, "name", f.passkeys(t)[0].Name, "Phone")
		wantErr(t, f.tenant.RenamePasskey(ctx, by, f.user.ID, "x"), store.ErrNotFound)

		users, err := f.tenant.UsersWithSecondFactor(ctx)
		kit.Must(t, err)
		if !users[f.user.ID] || len(users) != 1 {
			t.Errorf("users with a second factor: %v", users)
		}
		wantErr(t, f.tenant.RemovePasskey(ctx, by, key, nil), store.ErrSecondFactor)
		all := f.passkeys(t)
		for n, p := range all[1:] {
			kit.Must(t, f.tenant.RemovePasskey(ctx, by, p.ID, f.confirms(t, by, key, uint32(60+n), byte(60+n))))
		}
		_, err = f.Authenticate(ctx, other.Digest)
		wantErr(t, err, store.ErrNotFound)
		kit.Must(t, f.tenant.SetLoginPolicy(ctx, by, store.LoginSecondFactor))
		wantErr(t, f.tenant.RemovePasskey(ctx, by, key, f.confirms(t, by, key, 80, 80)), store.ErrFactorRequired)
		kit.Must(t, f.tenant.SetLoginPolicy(ctx, by, store.LoginAny))
		kit.Must(t, f.tenant.RemovePasskey(ctx, by, key, &store.FactorProof{Recovery: [32]byte{1}}))
		state, err := f.tenant.SecondFactorState(ctx, f.user.ID)
		kit.Must(t, err)
		if state.EnrolledAt() != nil || state.RecoveryCodes != 0 {
			t.Errorf("after the last passkey: %+v", state)
		}
		kit.Must(t, f.withFactor(t, 50, nil))
	})
}

// TestPasskeyBesideApp: a passkey beside an app keeps the recovery codes, each is proof for the other, and a reset
// removes both.
func TestPasskeyBesideApp(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		by := f.startSession(ctx, t, f.user, 41, "")
		factor := f.enroll(t, f, by, [32]byte{1}, [32]byte{2})
		kit.Must(t, f.addPasskey(t, by, 1, &store.FactorProof{EnrolledAt: factor.EnrolledAt, Step: 101}, [32]byte{8}))
		state, err := f.tenant.SecondFactorState(ctx, f.user.ID)
		kit.Must(t, err)
		wantEqual(t, "recovery codes", state.RecoveryCodes, 2)
		wantEqual(t, "enrolled", *state.EnrolledAt(), factor.EnrolledAt)
		key := state.Passkeys[0].ID
		kit.Must(t, f.withFactor(t, 50, &store.FactorProof{EnrolledAt: factor.EnrolledAt, Step: 102}))
		kit.Must(t, f.tenant.RemovePasskey(ctx, by, key, f.confirms(t, by, key, 6, 2)))
		kit.Must(t, f.withFactor(t, 51, &store.FactorProof{EnrolledAt: factor.EnrolledAt, Step: 103})) // the app is left
		kit.Must(t, f.addPasskey(t, by, 3, &store.FactorProof{Recovery: [32]byte{1}}))
		kit.Must(t, f.ResetSecondFactor(ctx, f.account.ID, f.user.ID))
		kit.Must(t, f.withFactor(t, 52, nil))
		if left := f.passkeys(t); len(left) != 0 {
			t.Errorf("%d passkeys are left", len(left))
		}
	})
}

// TestPasskeyAndLoginPolicy: a passkey is a second factor for a company that requires one, from when it was added.
func TestPasskeyAndLoginPolicy(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		id, err := f.AddUser(ctx, f.account.ID, store.NewUser{Email: "second@example.com", Name: "S", PasswordHash: "$s",
			Role: access.Viewer})
		kit.Must(t, err)
		second, err := f.tenant.User(ctx, id)
		kit.Must(t, err)
		by, early, without := f.startSession(ctx, t, f.user, 41, ""), f.startSession(ctx, t, f.user, 42, ""),
			f.startSession(ctx, t, second, 43, "")
		f.Clock.Advance(time.Second)
		kit.Must(t, f.addPasskey(t, by, 1, nil, [32]byte{1}))
		f.Clock.Advance(time.Second)
		kit.Must(t, f.withFactor(t, 44, &store.FactorProof{Recovery: [32]byte{1}}))
		kit.Must(t, f.tenant.SetLoginPolicy(ctx, by, store.LoginSecondFactor))
		for digest, want := range map[[32]byte]error{by.Digest: nil, early.Digest: store.ErrNotFound,
			without.Digest: store.ErrNotFound, sessionDigest(44): nil} {
			got, err := f.Authenticate(ctx, digest)
			if !errors.Is(err, want) || got.FactorRequired {
				t.Errorf("session %x: %v, held %t; want %v", digest[:2], err, got.FactorRequired, want)
			}
		}
		_, err = f.CreateToken(ctx, second, store.NewToken{Digest: sessionDigest(45), ExpiresAt: f.Clock.Now().Add(time.Hour),
			Means: store.LoginByPassword, Client: store.ClientConsole})
		kit.Must(t, err)
		held, err := f.Authenticate(ctx, sessionDigest(45))
		kit.Must(t, err)
		wantEqual(t, "held", held.FactorRequired, true)
		company := f.company
		company.user = second
		kit.Must(t, company.addPasskey(t, held, 2, nil))
		held, err = f.Authenticate(ctx, sessionDigest(45))
		kit.Must(t, err)
		wantEqual(t, "held with a passkey", held.FactorRequired, false)
	})
}

// TestMovedPasskey: a credential that somebody moves to another user in the database is not accepted.
func TestMovedPasskey(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		id, err := f.AddUser(ctx, f.account.ID, store.NewUser{Email: "second@example.com", Name: "S", PasswordHash: "$s",
			Role: access.Owner})
		kit.Must(t, err)
		second, err := f.tenant.User(ctx, id)
		kit.Must(t, err)
		kit.Must(t, f.addPasskey(t, f.startSession(ctx, t, f.user, 41, ""), 1, nil))
		kit.Must(t, f.tenant.BeginTOTP(ctx, f.startSession(ctx, t, second, 42, ""), secret.New(sharedSecret)))
		_, err = f.raw.ExecContext(ctx, `update passkeys set user_id = $1 where user_id = $2`, second.ID, f.user.ID)
		kit.Must(t, err)
		if _, err := f.SecondFactor(ctx, second); err == nil {
			t.Error("the passkey of another user is read")
		}
	})
}
