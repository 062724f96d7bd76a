package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/test/ledgertest/fixture"
)

// loginOperations are those about sessions and second factors.
func loginOperations(f *fixture.Fixture, db *base.DB, tenant *base.Tenant) []operation {
	return []operation{
		{name: "CreateToken", uses: "tokens_unrevoked", run: func(ctx context.Context) error {
			_, err := identity.CreateToken(ctx, db, f.User, identity.NewToken{Digest: [32]byte{2},
				ExpiresAt: f.Clock.Now().Add(time.Hour), Proof: &identity.FactorProof{Recovery: planRecovery}})
			return err
		}},
		{name: "CreateSignOnToken", uses: "tokens_unrevoked", run: func(ctx context.Context) error {
			const plain = "plain@example.com" // without a second factor
			if _, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Email: plain, Role: access.Viewer,
				PasswordHash: "$hash", Proved: true}); err != nil && !errors.Is(err, base.ErrExists) {
				return err
			}
			_, _, err := identity.CreateSignOnToken(ctx, db, identity.SignOn{Issuer: "https://login.example",
				Subject: "plan", Email: plain}, identity.NewToken{Digest: [32]byte{4}, ExpiresAt: f.Clock.Now().Add(time.Hour),
				Means: identity.LoginBySingleSignOn})
			return err
		}},
		{name: "SecondFactor", run: func(ctx context.Context) error {
			_, err := identity.FindSecondFactor(ctx, db, f.User)
			return err
		}},
		{name: "UsersWithSecondFactor", run: func(ctx context.Context) error {
			_, err := identity.UsersWithSecondFactor(ctx, tenant)
			return err
		}},
		{name: "BeginPasskey", run: func(ctx context.Context) error {
			return identity.BeginPasskey(ctx, tenant, base.Session{User: f.User.ID, Digest: [32]byte{1}},
				f.Challenge(9, identity.ChallengeRegistration))
		}},
		{name: "BeginPasskeyLogin", run: func(ctx context.Context) error {
			return identity.BeginPasskeyLogin(ctx, db, identity.PendingLogin{Digest: [32]byte{0xd0}, User: f.User}, [32]byte{8})
		}},
		{name: "AddPasskey", uses: "passkeys_user", run: func(ctx context.Context) error {
			_, err := identity.AddPasskey(ctx, tenant, base.Session{User: f.User.ID, Digest: [32]byte{1}},
				identity.NewPasskey{Name: "x", Challenge: f.Challenge(9, identity.ChallengeRegistration)})
			if errors.Is(err, identity.ErrSecondFactor) {
				return nil // without a proof
			}
			return err
		}},
		{name: "SecondFactorState", run: func(ctx context.Context) error {
			_, err := identity.ReadSecondFactorState(ctx, tenant, f.User.ID)
			return err
		}},
		{name: "BeginTOTP", run: func(ctx context.Context) error {
			return identity.BeginTOTP(ctx, tenant, base.Session{User: f.User.ID}, secret.New("x"))
		}},
		{name: "BeginLogin", run: func(ctx context.Context) error {
			return identity.BeginLogin(ctx, db, identity.PendingLogin{Digest: [32]byte{9}, User: f.User,
				Means: identity.LoginByPassword}, f.Clock.Now().Add(time.Hour))
		}},
		{name: "PendingLogin", run: func(ctx context.Context) error {
			_, err := identity.FindPendingLogin(ctx, db, [32]byte{9})
			return err
		}},
		{name: "SessionRecords", uses: "tokens_unrevoked", run: func(ctx context.Context) error {
			_, _, err := identity.SessionRecords(ctx, tenant, f.User.ID, 1, 10)
			return err
		}},
		{name: "SessionRecord", run: func(ctx context.Context) error {
			_, err := identity.FindSessionRecord(ctx, tenant, base.Session{User: f.User.ID},
				base.Session{Digest: [32]byte{2}}.RecordID())
			return err
		}},
		{name: "EndSession", run: func(ctx context.Context) error {
			_, err := identity.EndSession(ctx, tenant, base.Session{User: f.User.ID},
				base.Session{Digest: [32]byte{2}}.RecordID())
			return err
		}},
		{name: "EndOtherSessions", run: func(ctx context.Context) error {
			_, err := identity.EndOtherSessions(ctx, tenant, base.Session{User: f.User.ID, Digest: [32]byte{2}})
			return err
		}},
		{name: "UsablePasswordReset", run: func(ctx context.Context) error {
			_, err := identity.UsablePasswordReset(ctx, db, fixture.Digest(200))
			return err
		}},
		{name: "CompletePasswordReset", uses: "tokens_unrevoked pending_logins_user mails_subject",
			run: func(ctx context.Context) error {
				_, err := identity.CompletePasswordReset(ctx, db, fixture.Digest(200), "$2")
				return err
			}},
		{name: "RequestPasswordReset", run: func(ctx context.Context) error {
			return identity.RequestPasswordReset(ctx, db, identity.ResetRequest{Email: f.User.Email, Language: "en"})
		}},
		{name: "AnswerResetRequest", uses: "password_reset_requests_age users_email",
			whole: []string{"password_reset_requests"}, run: func(ctx context.Context) error {
				if found, err := identity.AnswerResetRequest(ctx, db, fixture.Draws(fixture.NewReset(201))); err != nil || !found {
					return fmt.Errorf("found %t: %w", found, err)
				}
				return nil
			}},
		{name: "SendPasswordReset", run: func(ctx context.Context) error {
			return identity.SendPasswordReset(ctx, db, f.User, fixture.NewReset(202))
		}},
		{name: "UserOf", run: func(ctx context.Context) error {
			_, err := db.UserOf(ctx, f.Account.ID, f.User.Email)
			return err
		}},
		{name: "UsableInvitation", uses: "invitations_mail", run: func(ctx context.Context) error {
			if _, err := identity.FindUsableInvitation(ctx, db, fixture.Digest(203)); !errors.Is(err, base.ErrNotFound) {
				return err
			}
			return nil
		}},
		{name: "ChangeAddress", run: func(ctx context.Context) error {
			_, err := identity.ChangeAddressOf(ctx, db, f.Account.ID, f.User.ID,
				identity.AddressChange{Email: "another@example.com",
					Proof: identity.NewProof{Secret: secret.New("qv_x"), Digest: fixture.Digest(204)}})
			return err
		}},
		{name: "SignOnChoice", run: func(ctx context.Context) error {
			if _, _, err := identity.FindSignOnChoice(ctx, db, fixture.Digest(205)); !errors.Is(err, base.ErrNotFound) {
				return err
			}
			return nil
		}},
		{name: "ResetPassword", uses: "tokens_unrevoked pending_logins_user",
			run: func(ctx context.Context) error { return identity.ResetPassword(ctx, db, f.Account.ID, f.User.ID, "$2") }},
	}
}
