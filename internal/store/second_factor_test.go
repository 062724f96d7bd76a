package store_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/internal/access"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/test/kit"
)

const sharedSecret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

// enroll gives the user of a session a second factor with a recovery code for each digest, and returns what a proof of
// it needs.
func (c company) enroll(t *testing.T, f *fixture, by store.Session, recovery ...[32]byte) store.SecondFactor {
	t.Helper()
	kit.Must(t, c.tenant.BeginTOTP(t.Context(), by, secret.New(sharedSecret)))
	kit.Must(t, c.tenant.ConfirmTOTP(t.Context(), by, secret.New(sharedSecret), 100, recovery, nil))
	factor, err := f.SecondFactor(t.Context(), c.user)
	kit.Must(t, err)
	return factor
}

func (f *fixture) withFactor(t *testing.T, n byte, proof *store.FactorProof) error {
	t.Helper()
	_, err := f.CreateToken(t.Context(), f.user, store.NewToken{Digest: sessionDigest(n),
		ExpiresAt: f.Clock.Now().Add(time.Hour), Means: store.LoginByPassword, Proof: proof})
	return err
}

// TestFactorProofs: no session begins with a password alone once a second factor is enrolled; a time step and a
// recovery code work once, also for concurrent logins; and the secret is stored sealed.
func TestFactorProofs(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		by := f.startSession(ctx, t, f.user, 41, "")
		kit.Must(t, f.tenant.BeginTOTP(ctx, by, secret.New(sharedSecret)))
		kit.Must(t, f.withFactor(t, 42, nil)) // nothing is enrolled yet
		f.Clock.Advance(61 * time.Minute)
		by = f.startSession(ctx, t, f.user, 43, "")
		wantErr(t, f.tenant.ConfirmTOTP(ctx, by, secret.New(sharedSecret), 100, nil, nil), store.ErrNotFound) // too late
		used := [32]byte{1}
		factor := f.enroll(t, f, by, used, [32]byte{2})
		if !factor.Secret.Equal(secret.New(sharedSecret)) {
			t.Errorf("factor %+v", factor)
		}
		if strings.Contains(f.dump(t, f.company), sharedSecret) {
			t.Error("the secret is stored in clear text")
		}
		step := func(n int64) *store.FactorProof { return &store.FactorProof{EnrolledAt: factor.EnrolledAt, Step: n} }
		wantErr(t, f.withFactor(t, 50, nil), store.ErrSecondFactor)
		wantErr(t, f.withFactor(t, 50, step(100)), store.ErrSecondFactor)
		wantErr(t, f.withFactor(t, 50, &store.FactorProof{Step: 101}), store.ErrSecondFactor) // of another enrolment
		kit.Must(t, f.withFactor(t, 50, step(102)))
		wantErr(t, f.withFactor(t, 51, step(101)), store.ErrSecondFactor)
		recovery := &store.FactorProof{EnrolledAt: factor.EnrolledAt, Recovery: used}
		var wg sync.WaitGroup
		errs := make([]error, 6)
		for n := range errs {
			wg.Go(func() { errs[n] = f.withFactor(t, byte(60+n), recovery) })
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
		wantEqual(t, "logins with one recovery code", accepted, 1)
		state, err := f.tenant.SecondFactorState(ctx, f.user.ID)
		kit.Must(t, err)
		wantEqual(t, "codes left", state.RecoveryCodes, 1)

		kit.Must(t, f.tenant.BeginTOTP(ctx, by, secret.New(strings.Repeat("A", 32))))
		wantErr(t, f.tenant.ConfirmTOTP(ctx, by, secret.New(strings.Repeat("A", 32)), 100, nil, nil), store.ErrSecondFactor)
		f.Clock.Advance(time.Second)
		kit.Must(t, f.tenant.ConfirmTOTP(ctx, by, secret.New(strings.Repeat("A", 32)), 100, nil, step(103)))
		_, err = f.Authenticate(ctx, sessionDigest(50))
		wantErr(t, err, store.ErrNotFound) // another second factor ends the other sessions
		_, err = f.Authenticate(ctx, by.Digest)
		kit.Must(t, err)
		wantErr(t, f.withFactor(t, 51, step(104)), store.ErrSecondFactor) // of the replaced one
	})
}

// TestResetSecondFactor: an owner removes the second factor of a colleague, nobody the own one, and nobody that of
// another company. A reset ends all sessions and pending logins.
func TestResetSecondFactor(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		third := f.newCompany(t, "third@example.com")
		id, err := f.AddUser(ctx, f.account.ID, store.NewUser{Email: "second@example.com", Name: "S", PasswordHash: "$s",
			Role: access.Owner})
		kit.Must(t, err)
		second, err := f.tenant.User(ctx, id)
		kit.Must(t, err)
		by, other, stranger := f.startSession(ctx, t, f.user, 41, ""), f.startSession(ctx, t, second, 42, ""),
			f.startSession(ctx, t, third.user, 43, "")
		f.enroll(t, f, by)
		kit.Must(t, f.BeginLogin(ctx, store.PendingLogin{Digest: [32]byte{9}, User: f.user, Means: store.LoginByPassword},
			f.Clock.Now().Add(time.Minute)))
		for _, refused := range []struct {
			company company
			by      store.Session
			want    error
		}{{f.company, by, store.ErrForbidden}, {third, stranger, store.ErrNotFound}} {
			_, err := refused.company.tenant.ResetSecondFactor(ctx, refused.by, f.user.ID)
			wantErr(t, err, refused.want)
		}
		wantErr(t, f.tenant.DisableSecondFactor(ctx, by, nil), store.ErrSecondFactor)
		_, err = f.tenant.ResetSecondFactor(ctx, other, f.user.ID)
		kit.Must(t, err)
		_, err = f.Authenticate(ctx, by.Digest)
		wantErr(t, err, store.ErrNotFound)
		_, err = f.PendingLogin(ctx, [32]byte{9})
		wantErr(t, err, store.ErrNotFound)
		kit.Must(t, f.withFactor(t, 50, nil))
		_, all := f.actsSince(t, 0)
		kit.Must(t, f.ResetSecondFactor(ctx, f.account.ID, f.user.ID)) // there is none
		more, _ := f.actsSince(t, len(all))
		wantEqual(t, "acts of a reset that changes nothing", len(more), 0)
	})
}

// TestPendingLogins: a pending login is completed once, before it expires, and with the password that it began with.
func TestPendingLogins(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		begin := func(n byte) [32]byte {
			kit.Must(t, f.BeginLogin(ctx, store.PendingLogin{Digest: [32]byte{n}, User: f.user, Means: store.LoginByPassword},
				f.Clock.Now().Add(time.Minute)))
			return [32]byte{n}
		}
		complete := func(n byte, pending [32]byte) error {
			_, err := f.CreateToken(ctx, f.user, store.NewToken{Digest: sessionDigest(n),
				ExpiresAt: f.Clock.Now().Add(time.Hour), Pending: &pending})
			return err
		}
		first := begin(1)
		waiting, err := f.PendingLogin(ctx, first)
		kit.Must(t, err)
		wantEqual(t, "user", waiting.User, f.user)
		kit.Must(t, complete(50, first))
		wantErr(t, complete(51, first), store.ErrSessionEnded)
		late := begin(2)
		f.Clock.Advance(time.Minute)
		_, err = f.PendingLogin(ctx, late)
		wantErr(t, err, store.ErrNotFound)
		wantErr(t, complete(52, late), store.ErrSessionEnded)
		kit.Must(t, f.DeleteExpired(ctx))
		kit.Must(t, f.ResetPassword(ctx, f.account.ID, f.user.ID, "$other"))
		wantErr(t, f.BeginLogin(ctx, store.PendingLogin{Digest: [32]byte{3}, User: f.user, Means: store.LoginByPassword},
			f.Clock.Now().Add(time.Minute)), store.ErrNotFound)
	})
}
