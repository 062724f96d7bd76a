package identity_test

import (
	"testing"
	"time"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestSecondFactorRequired checks that a company that requires a second factor ends the sessions that began without
// one, begins no other for the API, holds those of the console until the user has one, and lets nobody turn it off.
func TestSecondFactorRequired(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := base.WithActor(t.Context(), fixture.Ann)
		begin := func(n byte, user base.User, client identity.SessionClient, proof *identity.FactorProof) error {
			return fixture.Second(identity.CreateToken(ctx, f.DB, user, identity.NewToken{Digest: fixture.Digest(n),
				ExpiresAt: f.Clock.Now().Add(time.Hour), Client: client, Means: identity.LoginByPassword, Proof: proof}))
		}
		session := func(n byte) base.Session {
			t.Helper()
			got, err := f.Authenticate(ctx, fixture.Digest(n))
			kit.Must(t, err)
			return got
		}
		ended := func(digests ...byte) {
			t.Helper()
			for _, n := range digests {
				fixture.WantErr(t, fixture.Second(f.Authenticate(ctx, fixture.Digest(n))), base.ErrNotFound)
			}
		}
		id, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Email: "other@example.com",
			Name: "Other", Role: access.Owner, PasswordHash: "$2", Proved: true})
		kit.Must(t, err)
		other, err := identity.FindUser(ctx, f.Tenant, id)
		kit.Must(t, err)
		kit.Must(t, begin(1, f.User, identity.ClientConsole, nil))
		kit.Must(t, begin(2, f.User, identity.ClientAPI, nil))
		kit.Must(t, begin(3, other, identity.ClientConsole, nil))
		kit.Must(t, begin(4, other, identity.ClientAPI, nil))
		kit.Must(t, signOn(ctx, f, 5, "other", other.Email))
		kit.Must(t, begin(6, f.NewCompany(t, "third@example.com").User, identity.ClientAPI, nil)) // of another company
		fixture.WantErr(t, identity.SetLoginPolicy(ctx, f.Tenant, session(1), base.LoginSecondFactor), identity.ErrNoFactor)
		f.Clock.Advance(time.Second)
		factor := f.Enroll(t, f, session(1))
		proof := func(step int64) *identity.FactorProof {
			return &identity.FactorProof{EnrolledAt: factor.EnrolledAt, Step: step}
		}
		kit.Must(t, begin(7, f.User, identity.ClientAPI, proof(101)))
		// another's second factor
		fixture.WantErr(t, identity.SetLoginPolicy(ctx, f.Tenant, session(3), base.LoginSecondFactor), identity.ErrNoFactor)
		_, all := f.ActsSince(t, 0)
		kit.Must(t, identity.SetLoginPolicy(ctx, f.Tenant, session(1), base.LoginSecondFactor))
		acts, entries := f.ActsSince(t, len(all))
		fixture.WantEqual(t, "acts", acts, []string{"account.login-policy"})
		fixture.WantEqual(t, "details", entries[len(entries)-1].Details, `{"after":"second_factor","before":"any"}`)
		ended(2, 3, 4)
		for _, n := range []byte{1, 5, 6, 7} { // the owner's own, of single sign-on, of another company, with a second factor
			if session(n).FactorRequired {
				t.Errorf("session %d is held", n)
			}
		}

		fixture.WantErr(t, begin(10, other, identity.ClientAPI, nil), identity.ErrFactorRequired)
		kit.Must(t, begin(11, other, identity.ClientConsole, nil))
		kit.Must(t, begin(12, other, identity.ClientConsole, nil))
		held := session(11)
		fixture.WantEqual(t, "held", held.FactorRequired, true)
		kit.Must(t, identity.BeginTOTP(ctx, f.Tenant, held, secret.New(fixture.SharedSecret)))
		fixture.WantEqual(t, "held before the confirmation", session(11).FactorRequired, true)
		kit.Must(t, identity.ConfirmTOTP(ctx, f.Tenant, held, secret.New(fixture.SharedSecret), 100, nil, nil))
		fixture.WantEqual(t, "held after the confirmation", session(11).FactorRequired, false)
		ended(12) // may be of somebody who has only the password
		enrolled, err := identity.FindSecondFactor(ctx, f.DB, other)
		kit.Must(t, err)
		kit.Must(t, begin(13, other, identity.ClientAPI, &identity.FactorProof{EnrolledAt: enrolled.EnrolledAt, Step: 101}))
		fixture.WantErr(t, identity.DisableSecondFactor(ctx, f.Tenant, session(11),
			&identity.FactorProof{EnrolledAt: enrolled.EnrolledAt, Step: 102}), identity.ErrFactorRequired)
		// the code was not used up
		kit.Must(t, begin(14, other, identity.ClientAPI, &identity.FactorProof{EnrolledAt: enrolled.EnrolledAt, Step: 102}))

		kit.Must(t, identity.ResetSecondFactorOf(ctx, f.DB, f.Account.ID, other.ID))
		ended(11, 13, 14)
		kit.Must(t, begin(15, other, identity.ClientConsole, nil))
		fixture.WantEqual(t, "held after a reset", session(15).FactorRequired, true)
		kit.Must(t, identity.SetLoginPolicyOf(ctx, f.DB, f.Account.ID, base.LoginAny))
		fixture.WantEqual(t, "held when nothing is required", session(15).FactorRequired, false)
		kit.Must(t, identity.DisableSecondFactor(ctx, f.Tenant, session(1), proof(102)))
		kit.Must(t, identity.SetLoginPolicyOf(ctx, f.DB, f.Account.ID,
			base.LoginSecondFactor)) // an administrator needs none
		ended(1, 15)
	})
}
