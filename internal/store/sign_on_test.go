package store_test

import (
	"context"
	"testing"
	"time"

	"quittance/internal/access"
	"quittance/internal/store"
	"quittance/test/kit"
)

const issuer = "https://login.example"

// bySignOn returns a token for a login by single sign-on.
func (f *fixture) bySignOn(n byte) store.NewToken {
	return store.NewToken{Digest: digest(n), ExpiresAt: f.Clock.Now().Add(time.Hour), Client: store.ClientConsole,
		Means: store.LoginBySingleSignOn}
}

// signOn logs in a person with an e-mail address.
func (f *fixture) signOn(ctx context.Context, n byte, subject, email string) error {
	_, _, err := f.CreateSignOnToken(ctx, store.SignOn{Issuer: issuer, Subject: subject, Email: email}, f.bySignOn(n))
	return err
}

// TestSignOn checks that the first login by single sign-on links a user to a person at the provider, that nobody else
// logs in as this user afterwards, and that an administrator and an owner can end the link.
func TestSignOn(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := store.WithActor(t.Context(), ann)
		_, all := f.actsSince(t, 0)
		seen := len(all)
		acts := func(want ...string) {
			t.Helper()
			got, all := f.actsSince(t, seen)
			wantEqual(t, "acts", got, want)
			for _, e := range all[seen:] {
				if (e.Act == "user.link" || e.Act == "session.begin") && (e.Name != f.user.Email || e.Kind != store.ActorUser) {
					t.Errorf("%s: actor %+v", e.Act, e.Actor)
				}
			}
			seen = len(all)
		}
		linked := func(want bool) {
			t.Helper()
			if user, err := f.tenant.User(ctx, f.user.ID); err != nil || user.Linked != want {
				t.Errorf("the user is linked: %v, %v", user.Linked, err)
			}
		}
		linked(false)
		wantErr(t, f.signOn(ctx, 1, "one", "nobody@example.com"), store.ErrNotFound)
		kit.Must(t, f.SuspendAccount(ctx, f.account.ID))
		wantErr(t, f.signOn(ctx, 1, "one", f.user.Email), store.ErrSuspended)
		kit.Must(t, f.ReactivateAccount(ctx, f.account.ID))
		acts("account.suspend", "account.reactivate")
		kit.Must(t, second(f.CreateToken(ctx, f.user, store.NewToken{Digest: digest(9),
			ExpiresAt: f.Clock.Now().Add(time.Hour), Client: store.ClientConsole, Means: store.LoginByPassword})))
		acts("session.begin")
		linked(false)
		kit.Must(t, f.signOn(ctx, 1, "one", f.user.Email))
		acts("user.link", "session.begin")
		linked(true)
		session, err := f.Authenticate(ctx, digest(1))
		if err != nil || session.User != f.user.ID || session.PasswordChangeRequired {
			t.Errorf("the session is %+v, %v", session, err)
		}
		kit.Must(t, f.signOn(ctx, 2, "one", f.user.Email))
		acts("session.begin")
		wantErr(t, f.signOn(ctx, 3, "two", f.user.Email), store.ErrOtherSubject)
		_, _, err = f.CreateSignOnToken(ctx, store.SignOn{Issuer: "https://other.example", Subject: "one",
			Email: f.user.Email}, f.bySignOn(3))
		wantErr(t, err, store.ErrOtherSubject)
		wantErr(t, f.signOn(ctx, 3, "one", f.decoy.user.Email), store.ErrSecondFactor)
		kit.Must(t, second(f.CreateAccount(ctx, "Third", store.NewUser{Email: "owner@third.example", PasswordHash: "$hash",
			Proved: true})))
		// the person is linked to a user of another company
		wantErr(t, f.signOn(ctx, 3, "one", "owner@third.example"), store.ErrOtherSubject)
		acts()
		kit.Must(t, f.UnlinkUser(ctx, f.account.ID, f.user.ID))
		kit.Must(t, f.UnlinkUser(ctx, f.account.ID, f.user.ID))
		wantErr(t, f.UnlinkUser(ctx, f.account.ID, f.decoy.user.ID), store.ErrNotFound)
		acts("user.unlink")
		linked(false)
		_, err = f.Authenticate(ctx, digest(1))
		wantErr(t, err, store.ErrNotFound)
		kit.Must(t, second(f.Authenticate(ctx, digest(9)))) // which began with a password
		kit.Must(t, f.signOn(ctx, 3, "two", f.user.Email))
		acts("user.link", "session.begin")
		wantErr(t, f.signOn(ctx, 4, "one", f.user.Email), store.ErrOtherSubject)
		changed, err := f.tenant.ChangeUser(ctx, as(f.user.ID), f.user.ID, to(access.Owner, true)) // which unlinks
		if err != nil || changed.Linked {
			t.Errorf("changed %+v, %v", changed, err)
		}
		acts("user.unlink")
	})
}

// TestLoginPolicy checks that a company that requires single sign-on accepts no passwords and no sessions that began
// with one, and that only an owner who has logged in by single sign-on can require it, which an administrator can undo.
func TestLoginPolicy(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := store.WithActor(t.Context(), ann)
		byPassword := func(user store.User, n byte) error {
			return second(f.CreateToken(ctx, user, store.NewToken{Digest: digest(n), ExpiresAt: f.Clock.Now().Add(time.Hour),
				Client: store.ClientConsole, Means: store.LoginByPassword}))
		}
		session := func(n byte) store.Session {
			t.Helper()
			got, err := f.Authenticate(ctx, digest(n))
			kit.Must(t, err)
			return got
		}
		id, err := f.AddUser(ctx, f.account.ID, store.NewUser{Email: "viewer@example.com", Name: "Viewer",
			Role: access.Viewer, PasswordHash: "$2", Proved: true})
		kit.Must(t, err)
		kit.Must(t, byPassword(f.user, 1))
		kit.Must(t, f.signOn(ctx, 3, "viewer", "viewer@example.com"))
		kit.Must(t, f.signOn(ctx, 4, "owner", f.user.Email))
		wantErr(t, f.tenant.SetLoginPolicy(ctx, session(1), store.LoginSingleSignOn), store.ErrNotSignOn)
		wantErr(t, f.tenant.SetLoginPolicy(ctx, session(3), store.LoginSingleSignOn), store.ErrForbidden)
		wantErr(t, f.tenant.SetLoginPolicy(ctx, store.Session{}, store.LoginSingleSignOn), store.ErrForbidden)
		_, all := f.actsSince(t, 0)
		kit.Must(t, f.tenant.SetLoginPolicy(ctx, session(4), store.LoginSingleSignOn))
		kit.Must(t, f.tenant.SetLoginPolicy(ctx, session(4), store.LoginSingleSignOn)) // changes nothing
		acts, entries := f.actsSince(t, len(all))
		wantEqual(t, "acts", acts, []string{"account.login-policy"})
		wantEqual(t, "details", entries[len(entries)-1].Details, `{"after":"single_sign_on","before":"any"}`)
		wantErr(t, second(f.Authenticate(ctx, digest(1))), store.ErrNotFound)
		wantErr(t, byPassword(f.user, 5), store.ErrSignOnRequired)
		for _, n := range []byte{3, 4} {
			session(n)
		}
		if got := session(4); got.Account.LoginPolicy != store.LoginSingleSignOn || got.Means != store.LoginBySingleSignOn {
			t.Errorf("the session is %+v", got)
		}
		kit.Must(t, f.SetLoginPolicy(ctx, f.account.ID, store.LoginAny))
		kit.Must(t, byPassword(f.user, 7))
		kit.Must(t, f.tenant.SetLoginPolicy(ctx, session(7), store.LoginAny))
		wantErr(t, f.SetLoginPolicy(ctx, id, store.LoginAny), store.ErrNotFound)
	})
}

// TestSignOnOfDisabledUser checks that a disabled user does not log in by single sign-on, and is not linked.
func TestSignOnOfDisabledUser(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		id, err := f.AddUser(ctx, f.account.ID, store.NewUser{Email: "left@example.com", Name: "Left", Role: access.Owner,
			PasswordHash: "$2", PasswordChangeRequired: true, Proved: true})
		kit.Must(t, err)
		kit.Must(t, f.DisableUser(ctx, f.account.ID, id, false))
		wantErr(t, f.signOn(ctx, 1, "one", "left@example.com"), store.ErrNotFound)
		kit.Must(t, f.EnableUser(ctx, f.account.ID, id))
		kit.Must(t, f.signOn(ctx, 1, "one", "left@example.com"))
		session, err := f.Authenticate(ctx, digest(1))
		if err != nil || session.User != id || session.PasswordChangeRequired {
			t.Errorf("the session is %+v, %v", session, err)
		}
	})
}
