package store_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"quittance/internal/access"
	"quittance/internal/secret"
	"quittance/internal/store"
)

// loginOperations are those about sessions and second factors.
func (f *fixture) loginOperations(db *store.DB, tenant *store.Tenant) []operation {
	return []operation{
		{name: "CreateToken", uses: "tokens_unrevoked", run: func(ctx context.Context) error {
			_, err := db.CreateToken(ctx, f.user, store.NewToken{Digest: [32]byte{2}, ExpiresAt: f.Clock.Now().Add(time.Hour),
				Proof: &store.FactorProof{Recovery: planRecovery}})
			return err
		}},
		{name: "CreateSignOnToken", uses: "tokens_unrevoked", run: func(ctx context.Context) error {
			const plain = "plain@example.com" // without a second factor
			if _, err := f.AddUser(ctx, f.account.ID, store.NewUser{Email: plain, Role: access.Viewer, PasswordHash: "$hash",
				Proved: true}); err != nil && !errors.Is(err, store.ErrExists) {
				return err
			}
			_, _, err := db.CreateSignOnToken(ctx, store.SignOn{Issuer: "https://login.example", Subject: "plan", Email: plain},
				store.NewToken{Digest: [32]byte{4}, ExpiresAt: f.Clock.Now().Add(time.Hour), Means: store.LoginBySingleSignOn})
			return err
		}},
		{name: "SecondFactor", run: func(ctx context.Context) error {
			_, err := db.SecondFactor(ctx, f.user)
			return err
		}},
		{name: "UsersWithSecondFactor", run: func(ctx context.Context) error {
			_, err := tenant.UsersWithSecondFactor(ctx)
			return err
		}},
		{name: "BeginPasskey", run: func(ctx context.Context) error {
			return tenant.BeginPasskey(ctx, store.Session{User: f.user.ID, Digest: [32]byte{1}},
				f.challenge(9, store.ChallengeRegistration))
		}},
		{name: "BeginPasskeyLogin", run: func(ctx context.Context) error {
			return db.BeginPasskeyLogin(ctx, store.PendingLogin{Digest: [32]byte{0xd0}, User: f.user}, [32]byte{8})
		}},
		{name: "AddPasskey", uses: "passkeys_user", run: func(ctx context.Context) error {
			_, err := tenant.AddPasskey(ctx, store.Session{User: f.user.ID, Digest: [32]byte{1}},
				store.NewPasskey{Name: "x", Challenge: f.challenge(9, store.ChallengeRegistration)})
			if errors.Is(err, store.ErrSecondFactor) {
				return nil // without a proof
			}
			return err
		}},
		{name: "SecondFactorState", run: func(ctx context.Context) error {
			_, err := tenant.SecondFactorState(ctx, f.user.ID)
			return err
		}},
		{name: "BeginTOTP", run: func(ctx context.Context) error {
			return tenant.BeginTOTP(ctx, store.Session{User: f.user.ID}, secret.New("x"))
		}},
		{name: "BeginLogin", run: func(ctx context.Context) error {
			return db.BeginLogin(ctx, store.PendingLogin{Digest: [32]byte{9}, User: f.user, Means: store.LoginByPassword},
				f.Clock.Now().Add(time.Hour))
		}},
		{name: "PendingLogin", run: func(ctx context.Context) error {
			_, err := db.PendingLogin(ctx, [32]byte{9})
			return err
		}},
		{name: "SessionRecords", uses: "tokens_unrevoked", run: func(ctx context.Context) error {
			_, _, err := tenant.SessionRecords(ctx, f.user.ID, 1, 10)
			return err
		}},
		{name: "SessionRecord", run: func(ctx context.Context) error {
			_, err := tenant.SessionRecord(ctx, store.Session{User: f.user.ID}, store.Session{Digest: [32]byte{2}}.RecordID())
			return err
		}},
		{name: "EndSession", run: func(ctx context.Context) error {
			_, err := tenant.EndSession(ctx, store.Session{User: f.user.ID}, store.Session{Digest: [32]byte{2}}.RecordID())
			return err
		}},
		{name: "EndOtherSessions", run: func(ctx context.Context) error {
			_, err := tenant.EndOtherSessions(ctx, store.Session{User: f.user.ID, Digest: [32]byte{2}})
			return err
		}},
		{name: "UsablePasswordReset", run: func(ctx context.Context) error {
			_, err := db.UsablePasswordReset(ctx, digest(200))
			return err
		}},
		{name: "CompletePasswordReset", uses: "tokens_unrevoked pending_logins_user mails_subject",
			run: func(ctx context.Context) error {
				_, err := db.CompletePasswordReset(ctx, digest(200), "$2")
				return err
			}},
		{name: "RequestPasswordReset", run: func(ctx context.Context) error {
			return db.RequestPasswordReset(ctx, store.ResetRequest{Email: f.user.Email, Language: "en"})
		}},
		{name: "AnswerResetRequest", uses: "password_reset_requests_age users_email",
			whole: []string{"password_reset_requests"}, run: func(ctx context.Context) error {
				if found, err := db.AnswerResetRequest(ctx, draws(newReset(201))); err != nil || !found {
					return fmt.Errorf("found %t: %w", found, err)
				}
				return nil
			}},
		{name: "SendPasswordReset", run: func(ctx context.Context) error {
			return db.SendPasswordReset(ctx, f.user, newReset(202))
		}},
		{name: "UserOf", run: func(ctx context.Context) error {
			_, err := db.UserOf(ctx, f.account.ID, f.user.Email)
			return err
		}},
		{name: "UsableInvitation", uses: "invitations_mail", run: func(ctx context.Context) error {
			if _, err := db.UsableInvitation(ctx, digest(203)); !errors.Is(err, store.ErrNotFound) {
				return err
			}
			return nil
		}},
		{name: "ChangeAddress", run: func(ctx context.Context) error {
			_, err := db.ChangeAddress(ctx, f.account.ID, f.user.ID, store.AddressChange{Email: "another@example.com",
				Proof: store.NewProof{Secret: secret.New("qv_x"), Digest: digest(204)}})
			return err
		}},
		{name: "SignOnChoice", run: func(ctx context.Context) error {
			if _, _, err := db.SignOnChoice(ctx, digest(205)); !errors.Is(err, store.ErrNotFound) {
				return err
			}
			return nil
		}},
		{name: "ResetPassword", uses: "tokens_unrevoked pending_logins_user",
			run: func(ctx context.Context) error { return db.ResetPassword(ctx, f.account.ID, f.user.ID, "$2") }},
	}
}
