package identity_test

import (
	"context"
	"testing"
	"time"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

const issuer = "https://login.example"

// bySignOn returns a token for a login by single sign-on.
func bySignOn(f *fixture.Fixture, n byte) identity.NewToken {
	return identity.NewToken{Digest: fixture.Digest(n), ExpiresAt: f.Clock.Now().Add(time.Hour),
		Client: identity.ClientConsole, Means: identity.LoginBySingleSignOn}
}

// signOn logs in a person with an e-mail address.
func signOn(ctx context.Context, f *fixture.Fixture, n byte, subject, email string) error {
	_, _, err := identity.CreateSignOnToken(ctx, f.DB, identity.SignOn{Issuer: issuer, Subject: subject,
		Email: email}, bySignOn(f, n))
	return err
}

// TestSignOn checks that the first login by single sign-on links a user to a person at the provider, that nobody else
// logs in as this user afterwards, and that an administrator and an owner can end the link.
func TestSignOn(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := base.WithActor(t.Context(), fixture.Ann)
		_, all := f.ActsSince(t, 0)
		seen := len(all)
		acts := func(want ...string) {
			t.Helper()
			got, all := f.ActsSince(t, seen)
			fixture.WantEqual(t, "acts", got, want)
			for _, e := range all[seen:] {
				if (e.Act == "user.link" || e.Act == "session.begin") && (e.Name != f.User.Email || e.Kind != base.ActorUser) {
					t.Errorf("%s: actor %+v", e.Act, e.Actor)
				}
			}
			seen = len(all)
		}
		linked := func(want bool) {
			t.Helper()
			if user, err := identity.FindUser(ctx, f.Tenant, f.User.ID); err != nil || user.Linked != want {
				t.Errorf("the user is linked: %v, %v", user.Linked, err)
			}
		}
		linked(false)
		fixture.WantErr(t, signOn(ctx, f, 1, "one", "nobody@example.com"), base.ErrNotFound)
		kit.Must(t, identity.SuspendAccount(ctx, f.DB, f.Account.ID))
		fixture.WantErr(t, signOn(ctx, f, 1, "one", f.User.Email), identity.ErrSuspended)
		kit.Must(t, identity.ReactivateAccount(ctx, f.DB, f.Account.ID))
		acts("account.suspend", "account.reactivate")
		kit.Must(t, fixture.Second(identity.CreateToken(ctx, f.DB, f.User, identity.NewToken{Digest: fixture.Digest(9),
			ExpiresAt: f.Clock.Now().Add(time.Hour), Client: identity.ClientConsole, Means: identity.LoginByPassword})))
		acts("session.begin")
		linked(false)
		kit.Must(t, signOn(ctx, f, 1, "one", f.User.Email))
		acts("user.link", "session.begin")
		linked(true)
		session, err := f.Authenticate(ctx, fixture.Digest(1))
		if err != nil || session.User != f.User.ID || session.PasswordChangeRequired {
			t.Errorf("the session is %+v, %v", session, err)
		}
		kit.Must(t, signOn(ctx, f, 2, "one", f.User.Email))
		acts("session.begin")
		fixture.WantErr(t, signOn(ctx, f, 3, "two", f.User.Email), identity.ErrOtherSubject)
		_, _, err = identity.CreateSignOnToken(ctx, f.DB, identity.SignOn{Issuer: "https://other.example",
			Subject: "one", Email: f.User.Email}, bySignOn(f, 3))
		fixture.WantErr(t, err, identity.ErrOtherSubject)
		fixture.WantErr(t, signOn(ctx, f, 3, "one", f.Decoy.User.Email), identity.ErrSecondFactor)
		kit.Must(t, fixture.Second(identity.CreateAccount(ctx, f.DB, "Third",
			identity.NewUser{Email: "owner@third.example", PasswordHash: "$hash", Proved: true})))
		// the person is linked to a user of another company
		fixture.WantErr(t, signOn(ctx, f, 3, "one", "owner@third.example"), identity.ErrOtherSubject)
		acts()
		kit.Must(t, identity.UnlinkUser(ctx, f.DB, f.Account.ID, f.User.ID))
		kit.Must(t, identity.UnlinkUser(ctx, f.DB, f.Account.ID, f.User.ID))
		fixture.WantErr(t, identity.UnlinkUser(ctx, f.DB, f.Account.ID, f.Decoy.User.ID), base.ErrNotFound)
		acts("user.unlink")
		linked(false)
		_, err = f.Authenticate(ctx, fixture.Digest(1))
		fixture.WantErr(t, err, base.ErrNotFound)
		kit.Must(t, fixture.Second(f.Authenticate(ctx, fixture.Digest(9)))) // which began with a password
		kit.Must(t, signOn(ctx, f, 3, "two", f.User.Email))
		acts("user.link", "session.begin")
		fixture.WantErr(t, signOn(ctx, f, 4, "one", f.User.Email), identity.ErrOtherSubject)
		changed, err := identity.ChangeUser(ctx, f.Tenant, fixture.As(f.User.ID), f.User.ID, to(access.Owner,
			true)) // which unlinks
		if err != nil || changed.Linked {
			t.Errorf("changed %+v, %v", changed, err)
		}
		acts("user.unlink")
	})
}

// TestLoginPolicy checks that a company that requires single sign-on accepts no passwords and no sessions that began
// with one, and that only an owner who has logged in by single sign-on can require it, which an administrator can undo.
func TestLoginPolicy(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := base.WithActor(t.Context(), fixture.Ann)
		byPassword := func(user base.User, n byte) error {
			return fixture.Second(identity.CreateToken(ctx, f.DB, user, identity.NewToken{Digest: fixture.Digest(n),
				ExpiresAt: f.Clock.Now().Add(time.Hour), Client: identity.ClientConsole, Means: identity.LoginByPassword}))
		}
		session := func(n byte) base.Session {
			t.Helper()
			got, err := f.Authenticate(ctx, fixture.Digest(n))
			kit.Must(t, err)
			return got
		}
		id, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Email: "viewer@example.com",
			Name: "Viewer", Role: access.Viewer, PasswordHash: "$2", Proved: true})
		kit.Must(t, err)
		kit.Must(t, byPassword(f.User, 1))
		kit.Must(t, signOn(ctx, f, 3, "viewer", "viewer@example.com"))
		kit.Must(t, signOn(ctx, f, 4, "owner", f.User.Email))
		fixture.WantErr(t, identity.SetLoginPolicy(ctx, f.Tenant, session(1), base.LoginSingleSignOn), identity.ErrNotSignOn)
		fixture.WantErr(t, identity.SetLoginPolicy(ctx, f.Tenant, session(3), base.LoginSingleSignOn), base.ErrForbidden)
		fixture.WantErr(t, identity.SetLoginPolicy(ctx, f.Tenant, base.Session{}, base.LoginSingleSignOn), base.ErrForbidden)
		_, all := f.ActsSince(t, 0)
		kit.Must(t, identity.SetLoginPolicy(ctx, f.Tenant, session(4), base.LoginSingleSignOn))
		kit.Must(t, identity.SetLoginPolicy(ctx, f.Tenant, session(4), base.LoginSingleSignOn)) // changes nothing
		acts, entries := f.ActsSince(t, len(all))
		fixture.WantEqual(t, "acts", acts, []string{"account.login-policy"})
		fixture.WantEqual(t, "details", entries[len(entries)-1].Details, `{"after":"single_sign_on","before":"any"}`)
		fixture.WantErr(t, fixture.Second(f.Authenticate(ctx, fixture.Digest(1))), base.ErrNotFound)
		fixture.WantErr(t, byPassword(f.User, 5), identity.ErrSignOnRequired)
		for _, n := range []byte{3, 4} {
			session(n)
		}
		if got := session(4); got.Account.LoginPolicy != base.LoginSingleSignOn || got.Means != identity.LoginBySingleSignOn {
			t.Errorf("the session is %+v", got)
		}
		kit.Must(t, identity.SetLoginPolicyOf(ctx, f.DB, f.Account.ID, base.LoginAny))
		kit.Must(t, byPassword(f.User, 7))
		kit.Must(t, identity.SetLoginPolicy(ctx, f.Tenant, session(7), base.LoginAny))
		fixture.WantErr(t, identity.SetLoginPolicyOf(ctx, f.DB, id, base.LoginAny), base.ErrNotFound)
	})
}

// TestSignOnOfDisabledUser checks that a disabled user does not log in by single sign-on, and is not linked.
func TestSignOnOfDisabledUser(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		id, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Email: "left@example.com",
			Name: "Left", Role: access.Owner, PasswordHash: "$2", PasswordChangeRequired: true, Proved: true})
		kit.Must(t, err)
		kit.Must(t, identity.DisableUser(ctx, f.DB, f.Account.ID, id, false))
		fixture.WantErr(t, signOn(ctx, f, 1, "one", "left@example.com"), base.ErrNotFound)
		kit.Must(t, identity.EnableUser(ctx, f.DB, f.Account.ID, id))
		kit.Must(t, signOn(ctx, f, 1, "one", "left@example.com"))
		session, err := f.Authenticate(ctx, fixture.Digest(1))
		if err != nil || session.User != id || session.PasswordChangeRequired {
			t.Errorf("the session is %+v, %v", session, err)
		}
	})
}
