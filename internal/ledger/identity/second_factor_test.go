package identity_test

import (
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

// TestFactorProofs: no session begins with a password alone once a second factor is enrolled; a time step and a
// recovery code work once, also for concurrent logins; and the secret is stored sealed.
func TestFactorProofs(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		by := f.StartSession(ctx, t, f.User, 41, "")
		kit.Must(t, identity.BeginTOTP(ctx, f.Tenant, by, secret.New(fixture.SharedSecret)))
		kit.Must(t, f.WithFactor(t, 42, nil)) // nothing is enrolled yet
		f.Clock.Advance(61 * time.Minute)
		by = f.StartSession(ctx, t, f.User, 43, "")
		fixture.WantErr(t, identity.ConfirmTOTP(ctx, f.Tenant, by, secret.New(fixture.SharedSecret), 100, nil, nil),
			base.ErrNotFound) // too late
		used := [32]byte{1}
		factor := f.Enroll(t, f, by, used, [32]byte{2})
		if !factor.Secret.Equal(secret.New(fixture.SharedSecret)) {
			t.Errorf("factor %+v", factor)
		}
		if strings.Contains(f.Dump(t, f.Company), fixture.SharedSecret) {
			t.Error("the secret is stored in clear text")
		}
		step := func(n int64) *identity.FactorProof {
			return &identity.FactorProof{EnrolledAt: factor.EnrolledAt, Step: n}
		}
		fixture.WantErr(t, f.WithFactor(t, 50, nil), identity.ErrSecondFactor)
		fixture.WantErr(t, f.WithFactor(t, 50, step(100)), identity.ErrSecondFactor)
		fixture.WantErr(t, f.WithFactor(t, 50, &identity.FactorProof{Step: 101}),
			identity.ErrSecondFactor) // of another enrolment
		kit.Must(t, f.WithFactor(t, 50, step(102)))
		fixture.WantErr(t, f.WithFactor(t, 51, step(101)), identity.ErrSecondFactor)
		recovery := &identity.FactorProof{EnrolledAt: factor.EnrolledAt, Recovery: used}
		var wg sync.WaitGroup
		errs := make([]error, 6)
		for n := range errs {
			wg.Go(func() { errs[n] = f.WithFactor(t, byte(60+n), recovery) })
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
		fixture.WantEqual(t, "logins with one recovery code", accepted, 1)
		state, err := identity.ReadSecondFactorState(ctx, f.Tenant, f.User.ID)
		kit.Must(t, err)
		fixture.WantEqual(t, "codes left", state.RecoveryCodes, 1)

		kit.Must(t, identity.BeginTOTP(ctx, f.Tenant, by, secret.New(strings.Repeat("A", 32))))
		fixture.WantErr(t, identity.ConfirmTOTP(ctx, f.Tenant, by, secret.New(strings.Repeat("A", 32)), 100, nil, nil),
			identity.ErrSecondFactor)
		f.Clock.Advance(time.Second)
		kit.Must(t, identity.ConfirmTOTP(ctx, f.Tenant, by, secret.New(strings.Repeat("A", 32)), 100, nil, step(103)))
		_, err = f.Authenticate(ctx, fixture.SessionDigest(50))
		fixture.WantErr(t, err, base.ErrNotFound) // another second factor ends the other sessions
		_, err = f.Authenticate(ctx, by.Digest)
		kit.Must(t, err)
		fixture.WantErr(t, f.WithFactor(t, 51, step(104)), identity.ErrSecondFactor) // of the replaced one
	})
}

// TestResetSecondFactor: an owner removes the second factor of a colleague, nobody the own one, and nobody that of
// another company. A reset ends all sessions and pending logins.
func TestResetSecondFactor(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		third := f.NewCompany(t, "third@example.com")
		id, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Email: "second@example.com",
			Name: "S", PasswordHash: "$s", Role: access.Owner})
		kit.Must(t, err)
		second, err := identity.FindUser(ctx, f.Tenant, id)
		kit.Must(t, err)
		by, other, stranger := f.StartSession(ctx, t, f.User, 41, ""), f.StartSession(ctx, t, second, 42, ""),
			f.StartSession(ctx, t, third.User, 43, "")
		f.Enroll(t, f, by)
		kit.Must(t, identity.BeginLogin(ctx, f.DB, identity.PendingLogin{Digest: [32]byte{9}, User: f.User,
			Means: identity.LoginByPassword}, f.Clock.Now().Add(time.Minute)))
		for _, refused := range []struct {
			company fixture.Company
			by      base.Session
			want    error
		}{{f.Company, by, base.ErrForbidden}, {third, stranger, base.ErrNotFound}} {
			_, err := identity.ResetSecondFactor(ctx, refused.company.Tenant, refused.by, f.User.ID)
			fixture.WantErr(t, err, refused.want)
		}
		fixture.WantErr(t, identity.DisableSecondFactor(ctx, f.Tenant, by, nil), identity.ErrSecondFactor)
		_, err = identity.ResetSecondFactor(ctx, f.Tenant, other, f.User.ID)
		kit.Must(t, err)
		_, err = f.Authenticate(ctx, by.Digest)
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = identity.FindPendingLogin(ctx, f.DB, [32]byte{9})
		fixture.WantErr(t, err, base.ErrNotFound)
		kit.Must(t, f.WithFactor(t, 50, nil))
		_, all := f.ActsSince(t, 0)
		kit.Must(t, identity.ResetSecondFactorOf(ctx, f.DB, f.Account.ID, f.User.ID)) // there is none
		more, _ := f.ActsSince(t, len(all))
		fixture.WantEqual(t, "acts of a reset that changes nothing", len(more), 0)
	})
}

// TestPendingLogins: a pending login is completed once, before it expires, and with the password that it began with.
func TestPendingLogins(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		begin := func(n byte) [32]byte {
			kit.Must(t, identity.BeginLogin(ctx, f.DB, identity.PendingLogin{Digest: [32]byte{n}, User: f.User,
				Means: identity.LoginByPassword}, f.Clock.Now().Add(time.Minute)))
			return [32]byte{n}
		}
		complete := func(n byte, pending [32]byte) error {
			_, err := identity.CreateToken(ctx, f.DB, f.User, identity.NewToken{Digest: fixture.SessionDigest(n),
				ExpiresAt: f.Clock.Now().Add(time.Hour), Pending: &pending})
			return err
		}
		first := begin(1)
		waiting, err := identity.FindPendingLogin(ctx, f.DB, first)
		kit.Must(t, err)
		fixture.WantEqual(t, "user", waiting.User, f.User)
		kit.Must(t, complete(50, first))
		fixture.WantErr(t, complete(51, first), identity.ErrSessionEnded)
		late := begin(2)
		f.Clock.Advance(time.Minute)
		_, err = identity.FindPendingLogin(ctx, f.DB, late)
		fixture.WantErr(t, err, base.ErrNotFound)
		fixture.WantErr(t, complete(52, late), identity.ErrSessionEnded)
		kit.Must(t, ledger.DeleteExpired(ctx, f.DB))
		kit.Must(t, identity.ResetPassword(ctx, f.DB, f.Account.ID, f.User.ID, "$other"))
		fixture.WantErr(t, identity.BeginLogin(ctx, f.DB, identity.PendingLogin{Digest: [32]byte{3}, User: f.User,
			Means: identity.LoginByPassword}, f.Clock.Now().Add(time.Minute)), base.ErrNotFound)
	})
}
