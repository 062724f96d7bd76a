package identity_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/internal/ledger"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// confirms returns the proof that a passkey of the user of a session gives with a counter and the challenge of the
// given number.
func confirms(t *testing.T, c fixture.Company, by base.Session, passkey base.ID, count uint32,
	n byte) *identity.FactorProof {
	t.Helper()
	asked := c.Challenge(n, identity.ChallengeConfirmation)
	kit.Must(t, identity.BeginPasskey(t.Context(), c.Tenant, by, asked))
	return &identity.FactorProof{Passkey: &identity.PasskeyProof{Passkey: passkey, SignCount: count, Challenge: asked}}
}

func passkeys(t *testing.T, c fixture.Company) []identity.Passkey {
	t.Helper()
	state, err := identity.ReadSecondFactorState(t.Context(), c.Tenant, c.User.ID)
	kit.Must(t, err)
	return state.Passkeys
}

// TestPasskeyLogins: no session begins with a password alone once there is a passkey; a challenge works once, also for
// concurrent logins, for its user and purpose, and for five minutes; and a counter that did not grow is refused and
// recorded.
func TestPasskeyLogins(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		other := f.NewCompany(t, "other@example.com")
		by, stranger := f.StartSession(ctx, t, f.User, 41, ""), f.StartSession(ctx, t, other.User, 42, "")
		kit.Must(t, f.AddPasskey(t, by, 1, nil, [32]byte{1}, [32]byte{2}))
		kit.Must(t, other.AddPasskey(t, stranger, 2, nil))
		if strings.Contains(f.Dump(t, f.Company), fixture.PublicKey) {
			t.Error("the credential is stored in clear text")
		}
		factor, err := identity.FindSecondFactor(ctx, f.DB, f.User)
		kit.Must(t, err)
		if factor.HasApp() || len(factor.Passkeys) != 1 ||
			string(factor.Passkeys[0].Credential.PublicKey) != fixture.PublicKey ||
			factor.Passkeys[0].SignCount != 5 {
			t.Errorf("second factor %+v", factor)
		}
		key, theirs := factor.Passkeys[0].ID, passkeys(t, other)[0].ID
		login := func(n byte) identity.Challenge {
			pending := identity.PendingLogin{Digest: [32]byte{n}, User: f.User, Means: identity.LoginByPassword}
			kit.Must(t, identity.BeginLogin(ctx, f.DB, pending, f.Clock.Now().Add(10*time.Minute)))
			kit.Must(t, identity.BeginPasskeyLogin(ctx, f.DB, pending, f.Challenge(n, identity.ChallengeLogin).Digest))
			return f.Challenge(n, identity.ChallengeLogin)
		}
		proof := func(key base.ID, count uint32, asked identity.Challenge) *identity.FactorProof {
			return &identity.FactorProof{Passkey: &identity.PasskeyProof{Passkey: key, SignCount: count, Challenge: asked}}
		}
		first := login(10)
		for _, wrong := range []*identity.FactorProof{nil, proof(key, 6, f.Challenge(99, identity.ChallengeLogin)),
			proof(theirs, 6, first), {Step: 1}, {EnrolledAt: f.Clock.Now(), Step: 1}, {Recovery: [32]byte{3}},
			proof(key, 6, identity.Challenge{Digest: first.Digest, Purpose: identity.ChallengeConfirmation})} {
			fixture.WantErr(t, f.WithFactor(t, 50, wrong), identity.ErrSecondFactor)
		}
		errs := make([]error, 6)
		var wg sync.WaitGroup
		for n := range errs {
			wg.Go(func() { errs[n] = f.WithFactor(t, byte(60+n), proof(key, uint32(6+n), first)) })
		}
		wg.Wait()
		accepted := 0
		for _, err := range errs {
			if err == nil {
				accepted++
			} else {
				fixture.WantErr(t, err, identity.ErrSecondFactor)
			}
		}
		fixture.WantEqual(t, "logins with one challenge", accepted, 1)
		kit.Must(t, f.WithFactor(t, 50, &identity.FactorProof{Recovery: [32]byte{1}}))

		used := passkeys(t, f.Company)[0]
		if used.LastUsedAt == nil || used.SignCount < 6 {
			t.Errorf("after a login: %+v", used)
		}
		cloned := proof(key, used.SignCount, login(11))
		fixture.WantErr(t, f.WithFactor(t, 51, cloned), identity.ErrSignCount)
		_, before := f.ActsSince(t, 0)
		kit.Must(t, identity.RefusePasskey(ctx, f.DB, f.User, *cloned.Passkey))
		added, _ := f.ActsSince(t, len(before))
		fixture.WantEqual(t, "acts of a refused passkey", len(added), 1)
		fixture.WantErr(t, identity.RefusePasskey(ctx, f.DB, f.User, *cloned.Passkey),
			identity.ErrSecondFactor) // its challenge is gone

		late := login(12)
		f.Clock.Advance(identity.ChallengeTTL)
		fixture.WantErr(t, f.WithFactor(t, 52, proof(key, 100, late)), identity.ErrSecondFactor)
		fixture.WantErr(t, identity.BeginPasskeyLogin(ctx, f.DB, identity.PendingLogin{Digest: [32]byte{77},
			User: f.User}, [32]byte{77}), base.ErrNotFound)
		f.Clock.Advance(time.Second)
		kit.Must(t, ledger.DeleteExpired(ctx, f.DB))
		if left := f.Rows(t, `select digest from passkey_challenges where account_id = $1`, f.Account.ID); len(left) != 0 {
			t.Errorf("%d challenges are left", len(left))
		}
	})
}

// TestPasskeyChanges: another passkey needs a proof of the present factor; there are at most ten; the last second
// factor ends with the recovery codes, unless the company requires one; and a reset removes passkeys.
func TestPasskeyChanges(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		by, other := f.StartSession(ctx, t, f.User, 41, ""), f.StartSession(ctx, t, f.User, 42, "")
		add := func(n byte, proof *identity.FactorProof, recovery ...[32]byte) error {
			f.Clock.Advance(time.Millisecond) // passkeys are listed by age
			return f.AddPasskey(t, by, n, proof, recovery...)
		}
		fixture.WantErr(t, identity.SetLoginPolicy(ctx, f.Tenant, by, base.LoginSecondFactor), identity.ErrNoFactor)
		kit.Must(t, add(1, nil, [32]byte{1}, [32]byte{2}, [32]byte{3}))
		key := passkeys(t, f.Company)[0].ID
		fixture.WantErr(t, add(2, nil), identity.ErrSecondFactor)
		fixture.WantErr(t, add(1, confirms(t, f.Company, by, key, 6, 20)), base.ErrExists)
		kit.Must(t, add(2, confirms(t, f.Company, by, key, 6, 21)))
		once := identity.NewPasskey{Name: "Key", Credential: identity.PasskeyCredential{ID: []byte{99}},
			Challenge: f.Challenge(3, identity.ChallengeRegistration)}
		kit.Must(t, identity.BeginPasskey(ctx, f.Tenant, by, once.Challenge))
		f.Clock.Advance(time.Millisecond)
		for n, want := range []error{nil, identity.ErrChallenge} {
			once.Proof = confirms(t, f.Company, by, key, uint32(7+n), byte(90+n))
			_, err := identity.AddPasskey(ctx, f.Tenant, by, once)
			if !errors.Is(err, want) {
				t.Errorf("a registration, use %d of its challenge: %v", n+1, err)
			}
		}
		for n := byte(4); n <= identity.MaxPasskeys; n++ {
			kit.Must(t, add(n, confirms(t, f.Company, by, key, uint32(10+n), 22+n)))
		}
		fixture.WantErr(t, add(11, confirms(t, f.Company, by, key, 50, 40)), identity.ErrPasskeyLimit)
		_, err := f.Authenticate(ctx, other.Digest)
		kit.Must(t, err) // a passkey beside another factor ends no session
		kit.Must(t, identity.RenamePasskey(ctx, f.Tenant, by, key, "Phone"))
		fixture.WantEqual(t, "name", passkeys(t, f.Company)[0].Name, "Phone")
		fixture.WantErr(t, identity.RenamePasskey(ctx, f.Tenant, by, f.User.ID, "x"), base.ErrNotFound)

		users, err := identity.UsersWithSecondFactor(ctx, f.Tenant)
		kit.Must(t, err)
		if !users[f.User.ID] || len(users) != 1 {
			t.Errorf("users with a second factor: %v", users)
		}
		fixture.WantErr(t, identity.RemovePasskey(ctx, f.Tenant, by, key, nil), identity.ErrSecondFactor)
		all := passkeys(t, f.Company)
		for n, p := range all[1:] {
			kit.Must(t, identity.RemovePasskey(ctx, f.Tenant, by, p.ID, confirms(t, f.Company, by, key, uint32(60+n),
				byte(60+n))))
		}
		_, err = f.Authenticate(ctx, other.Digest)
		fixture.WantErr(t, err, base.ErrNotFound)
		kit.Must(t, identity.SetLoginPolicy(ctx, f.Tenant, by, base.LoginSecondFactor))
		fixture.WantErr(t, identity.RemovePasskey(ctx, f.Tenant, by, key, confirms(t, f.Company, by, key, 80, 80)),
			identity.ErrFactorRequired)
		kit.Must(t, identity.SetLoginPolicy(ctx, f.Tenant, by, base.LoginAny))
		kit.Must(t, identity.RemovePasskey(ctx, f.Tenant, by, key, &identity.FactorProof{Recovery: [32]byte{1}}))
		state, err := identity.ReadSecondFactorState(ctx, f.Tenant, f.User.ID)
		kit.Must(t, err)
		if state.EnrolledAt() != nil || state.RecoveryCodes != 0 {
			t.Errorf("after the last passkey: %+v", state)
		}
		kit.Must(t, f.WithFactor(t, 50, nil))
	})
}

// TestPasskeyBesideApp: a passkey beside an app keeps the recovery codes, each is proof for the other, and a reset
// removes both.
func TestPasskeyBesideApp(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		by := f.StartSession(ctx, t, f.User, 41, "")
		factor := f.Enroll(t, f, by, [32]byte{1}, [32]byte{2})
		kit.Must(t, f.AddPasskey(t, by, 1, &identity.FactorProof{EnrolledAt: factor.EnrolledAt, Step: 101}, [32]byte{8}))
		state, err := identity.ReadSecondFactorState(ctx, f.Tenant, f.User.ID)
		kit.Must(t, err)
		fixture.WantEqual(t, "recovery codes", state.RecoveryCodes, 2)
		fixture.WantEqual(t, "enrolled", *state.EnrolledAt(), factor.EnrolledAt)
		key := state.Passkeys[0].ID
		kit.Must(t, f.WithFactor(t, 50, &identity.FactorProof{EnrolledAt: factor.EnrolledAt, Step: 102}))
		kit.Must(t, identity.RemovePasskey(ctx, f.Tenant, by, key, confirms(t, f.Company, by, key, 6, 2)))
		kit.Must(t, f.WithFactor(t, 51, &identity.FactorProof{EnrolledAt: factor.EnrolledAt, Step: 103})) // the app is left
		kit.Must(t, f.AddPasskey(t, by, 3, &identity.FactorProof{Recovery: [32]byte{1}}))
		kit.Must(t, identity.ResetSecondFactorOf(ctx, f.DB, f.Account.ID, f.User.ID))
		kit.Must(t, f.WithFactor(t, 52, nil))
		if left := passkeys(t, f.Company); len(left) != 0 {
			t.Errorf("%d passkeys are left", len(left))
		}
	})
}

// TestPasskeyAndLoginPolicy: a passkey is a second factor for a company that requires one, from when it was added.
func TestPasskeyAndLoginPolicy(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		id, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Email: "second@example.com",
			Name: "S", PasswordHash: "$s", Role: access.Viewer})
		kit.Must(t, err)
		second, err := identity.FindUser(ctx, f.Tenant, id)
		kit.Must(t, err)
		by, early, without := f.StartSession(ctx, t, f.User, 41, ""), f.StartSession(ctx, t, f.User, 42, ""),
			f.StartSession(ctx, t, second, 43, "")
		f.Clock.Advance(time.Second)
		kit.Must(t, f.AddPasskey(t, by, 1, nil, [32]byte{1}))
		f.Clock.Advance(time.Second)
		kit.Must(t, f.WithFactor(t, 44, &identity.FactorProof{Recovery: [32]byte{1}}))
		kit.Must(t, identity.SetLoginPolicy(ctx, f.Tenant, by, base.LoginSecondFactor))
		for digest, want := range map[[32]byte]error{by.Digest: nil, early.Digest: base.ErrNotFound,
			without.Digest: base.ErrNotFound, fixture.SessionDigest(44): nil} {
			got, err := f.Authenticate(ctx, digest)
			if !errors.Is(err, want) || got.FactorRequired {
				t.Errorf("session %x: %v, held %t; want %v", digest[:2], err, got.FactorRequired, want)
			}
		}
		_, err = identity.CreateToken(ctx, f.DB, second, identity.NewToken{Digest: fixture.SessionDigest(45),
			ExpiresAt: f.Clock.Now().Add(time.Hour), Means: identity.LoginByPassword, Client: identity.ClientConsole})
		kit.Must(t, err)
		held, err := f.Authenticate(ctx, fixture.SessionDigest(45))
		kit.Must(t, err)
		fixture.WantEqual(t, "held", held.FactorRequired, true)
		company := f.Company
		company.User = second
		kit.Must(t, company.AddPasskey(t, held, 2, nil))
		held, err = f.Authenticate(ctx, fixture.SessionDigest(45))
		kit.Must(t, err)
		fixture.WantEqual(t, "held with a passkey", held.FactorRequired, false)
	})
}

// TestMovedPasskey: a credential that somebody moves to another user in the database is not accepted.
func TestMovedPasskey(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		id, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Email: "second@example.com",
			Name: "S", PasswordHash: "$s", Role: access.Owner})
		kit.Must(t, err)
		second, err := identity.FindUser(ctx, f.Tenant, id)
		kit.Must(t, err)
		kit.Must(t, f.AddPasskey(t, f.StartSession(ctx, t, f.User, 41, ""), 1, nil))
		kit.Must(t, identity.BeginTOTP(ctx, f.Tenant, f.StartSession(ctx, t, second, 42, ""),
			secret.New(fixture.SharedSecret)))
		_, err = f.Raw.ExecContext(ctx, `update passkeys set user_id = $1 where user_id = $2`, second.ID, f.User.ID)
		kit.Must(t, err)
		if _, err := identity.FindSecondFactor(ctx, f.DB, second); err == nil {
			t.Error("the passkey of another user is read")
		}
	})
}
