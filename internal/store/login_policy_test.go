package store_test

import (
	"testing"
	"time"

	"quittance/internal/access"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/test/kit"
)

// TestSecondFactorRequired checks that a company that requires a second factor ends the sessions that began without
// one, begins no other for the API, holds those of the console until the user has one, and lets nobody turn it off.
func TestSecondFactorRequired(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := store.WithActor(t.Context(), ann)
		begin := func(n byte, user store.User, client store.SessionClient, proof *store.FactorProof) error {
			return second(f.CreateToken(ctx, user, store.NewToken{Digest: digest(n), ExpiresAt: f.Clock.Now().Add(time.Hour),
				Client: client, Means: store.LoginByPassword, Proof: proof}))
		}
		session := func(n byte) store.Session {
			t.Helper()
			got, err := f.Authenticate(ctx, digest(n))
			kit.Must(t, err)
			return got
		}
		ended := func(digests ...byte) {
			t.Helper()
			for _, n := range digests {
				wantErr(t, second(f.Authenticate(ctx, digest(n))), store.ErrNotFound)
			}
		}
		id, err := f.AddUser(ctx, f.account.ID, store.NewUser{Email: "other@example.com", Name: "Other", Role: access.Owner,
			PasswordHash: "$2", Proved: true})
		kit.Must(t, err)
		other, err := f.tenant.User(ctx, id)
		kit.Must(t, err)
		kit.Must(t, begin(1, f.user, store.ClientConsole, nil))
		kit.Must(t, begin(2, f.user, store.ClientAPI, nil))
		kit.Must(t, begin(3, other, store.ClientConsole, nil))
		kit.Must(t, begin(4, other, store.ClientAPI, nil))
		kit.Must(t, f.signOn(ctx, 5, "other", other.Email))
		kit.Must(t, begin(6, f.newCompany(t, "third@example.com").user, store.ClientAPI, nil)) // of another company
		wantErr(t, f.tenant.SetLoginPolicy(ctx, session(1), store.LoginSecondFactor), store.ErrNoFactor)
		f.Clock.Advance(time.Second)
		factor := f.enroll(t, f, session(1))
		proof := func(step int64) *store.FactorProof {
			return &store.FactorProof{EnrolledAt: factor.EnrolledAt, Step: step}
		}
		kit.Must(t, begin(7, f.user, store.ClientAPI, proof(101)))
		// another's second factor
		wantErr(t, f.tenant.SetLoginPolicy(ctx, session(3), store.LoginSecondFactor), store.ErrNoFactor)
		_, all := f.actsSince(t, 0)
		kit.Must(t, f.tenant.SetLoginPolicy(ctx, session(1), store.LoginSecondFactor))
		acts, entries := f.actsSince(t, len(all))
		wantEqual(t, "acts", acts, []string{"account.login-policy"})
		wantEqual(t, "details", entries[len(entries)-1].Details, `{"after":"second_factor","before":"any"}`)
		ended(2, 3, 4)
		for _, n := range []byte{1, 5, 6, 7} { // the owner's own, of single sign-on, of another company, with a second factor
			if session(n).FactorRequired {
				t.Errorf("session %d is held", n)
			}
		}

		wantErr(t, begin(10, other, store.ClientAPI, nil), store.ErrFactorRequired)
		kit.Must(t, begin(11, other, store.ClientConsole, nil))
		kit.Must(t, begin(12, other, store.ClientConsole, nil))
		held := session(11)
		wantEqual(t, "held", held.FactorRequired, true)
		kit.Must(t, f.tenant.BeginTOTP(ctx, held, secret.New(sharedSecret)))
		wantEqual(t, "held before the confirmation", session(11).FactorRequired, true)
		kit.Must(t, f.tenant.ConfirmTOTP(ctx, held, secret.New(sharedSecret), 100, nil, nil))
		wantEqual(t, "held after the confirmation", session(11).FactorRequired, false)
		ended(12) // may be of somebody who has only the password
		enrolled, err := f.SecondFactor(ctx, other)
		kit.Must(t, err)
		kit.Must(t, begin(13, other, store.ClientAPI, &store.FactorProof{EnrolledAt: enrolled.EnrolledAt, Step: 101}))
		wantErr(t, f.tenant.DisableSecondFactor(ctx, session(11),
			&store.FactorProof{EnrolledAt: enrolled.EnrolledAt, Step: 102}), store.ErrFactorRequired)
		// the code was not used up
		kit.Must(t, begin(14, other, store.ClientAPI, &store.FactorProof{EnrolledAt: enrolled.EnrolledAt, Step: 102}))

		kit.Must(t, f.ResetSecondFactor(ctx, f.account.ID, other.ID))
		ended(11, 13, 14)
		kit.Must(t, begin(15, other, store.ClientConsole, nil))
		wantEqual(t, "held after a reset", session(15).FactorRequired, true)
		kit.Must(t, f.SetLoginPolicy(ctx, f.account.ID, store.LoginAny))
		wantEqual(t, "held when nothing is required", session(15).FactorRequired, false)
		kit.Must(t, f.tenant.DisableSecondFactor(ctx, session(1), proof(102)))
		kit.Must(t, f.SetLoginPolicy(ctx, f.account.ID, store.LoginSecondFactor)) // an administrator needs none
		ended(1, 15)
	})
}
