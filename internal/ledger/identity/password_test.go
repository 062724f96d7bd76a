package identity_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// logIn creates a valid session of the fixture's user.
func logIn(t *testing.T, f *fixture.Fixture, n byte) base.Session {
	t.Helper()
	session, err := f.Authenticate(t.Context(), f.Token(t, n, time.Hour))
	kit.Must(t, err)
	return session
}

// wantLive checks whether a token is valid.
func wantLive(t *testing.T, f *fixture.Fixture, token [32]byte, live bool) {
	t.Helper()
	_, err := f.Authenticate(t.Context(), token)
	if live {
		kit.Must(t, err)
		return
	}
	fixture.WantErr(t, err, base.ErrNotFound)
}

// wantHash reads the fixture's user again and checks the password hash.
func wantHash(t *testing.T, f *fixture.Fixture, want string) {
	t.Helper()
	var err error
	f.User, err = f.UserByEmail(t.Context(), f.User.Email)
	kit.Must(t, err)
	if f.User.PasswordHash != want {
		t.Errorf("password hash %q, want %q", f.User.PasswordHash, want)
	}
}

// TestChangePassword checks that a new password revokes every other token of the user and nobody else's, and releases
// the limits that the attempt acquired. No token can be created with the old password any more.
func TestChangePassword(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		id, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Role: access.Owner,
			Email: "second@example.com", PasswordHash: "$2"})
		kit.Must(t, err)
		_, err = identity.CreateToken(ctx, f.DB, base.User{Account: f.Account.ID, ID: id, PasswordHash: "$2"},
			identity.NewToken{Digest: fixture.Digest(30), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		session, drop := logIn(t, f, 10), f.Token(t, 11, time.Hour)
		spent, err := f.AcquireLimits(ctx, fixture.Use(1, 9), fixture.Use(2, 9))
		kit.Must(t, err)
		kit.Must(t, identity.ChangePassword(ctx, f.DB, session, f.User.PasswordHash, "$new", spent...))
		fixture.WantSpent(t, f.DB, 1, 0)
		fixture.WantSpent(t, f.DB, 2, 0)
		wantLive(t, f, session.Digest, true)
		wantLive(t, f, drop, false)
		wantLive(t, f, fixture.Digest(30), true)
		_, err = identity.CreateToken(ctx, f.DB, f.User, identity.NewToken{Digest: fixture.Digest(12),
			ExpiresAt: f.Clock.Now().Add(time.Hour)})
		fixture.WantErr(t, err, base.ErrNotFound)
		wantHash(t, f, "$new")
	})
}

// TestChangePasswordRefused checks that a password is changed only while its hash is the one that was compared and the
// logIn is valid; otherwise nothing changes.
func TestChangePasswordRefused(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		session, other := logIn(t, f, 10), f.Token(t, 11, time.Hour)
		old := f.User.PasswordHash
		spent, err := f.AcquireLimits(ctx, fixture.Use(1, 9))
		kit.Must(t, err)
		fixture.WantErr(t, identity.ChangePassword(ctx, f.DB, session, "$another", "$new", spent...),
			identity.ErrPasswordChanged)
		wantHash(t, f, old)
		wantLive(t, f, other, true)
		fixture.WantSpent(t, f.DB, 1, 1)

		stolen := session
		stolen.User, stolen.Account = f.Decoy.User.ID, f.Decoy.Account
		fixture.WantErr(t, identity.ChangePassword(ctx, f.DB, stolen, f.Decoy.User.PasswordHash, "$stolen"),
			identity.ErrSessionEnded)
		kit.Must(t, identity.RevokeToken(ctx, f.DB, session.Digest))
		fixture.WantErr(t, identity.ChangePassword(ctx, f.DB, session, old, "$new"), identity.ErrSessionEnded)
		session = logIn(t, f, 12)
		f.Clock.Advance(time.Hour)
		fixture.WantErr(t, identity.ChangePassword(ctx, f.DB, session, old, "$new"), identity.ErrSessionEnded)
		wantHash(t, f, old)
	})
}

// TestResetWins checks that an administrator's reset prevails over concurrent changes of the password, and every token
// is revoked.
func TestResetWins(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		for round := range 10 {
			session, old := logIn(t, f, byte(50+round)), f.User.PasswordHash
			reset := "$reset-" + string(rune('a'+round))
			fixture.Race(4, func(n int) {
				if n == 0 {
					fixture.Must2(t, identity.ResetPassword(ctx, f.DB, f.Account.ID, f.User.ID, reset))
					return
				}
				err := identity.ChangePassword(ctx, f.DB, session, old, "$changed-"+string(rune('a'+n)))
				if !errors.Is(err, identity.ErrSessionEnded) && !errors.Is(err, identity.ErrPasswordChanged) {
					fixture.Must2(t, err)
				}
			})
			wantHash(t, f, reset)
			wantLive(t, f, session.Digest, false)
		}
		fixture.WantErr(t, identity.ResetPassword(ctx, f.DB, f.Account.ID, f.Decoy.User.ID, "$stolen"),
			base.ErrNotFound)
		fixture.WantErr(t, identity.ResetPassword(ctx, f.DB, f.Decoy.Account.ID, f.User.ID, "$stolen"),
			base.ErrNotFound)
	})
}

// TestChangePasswordAtOnce checks that of several changes that compared the same password, one succeeds.
func TestChangePasswordAtOnce(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		session := logIn(t, f, 10)
		var made atomic.Int32
		fixture.Race(8, func(n int) {
			err := identity.ChangePassword(t.Context(), f.DB, session, f.User.PasswordHash,
				"$changed-"+string(rune('a'+n)))
			if err == nil {
				made.Add(1)
			} else if !errors.Is(err, identity.ErrPasswordChanged) {
				fixture.Must2(t, err)
			}
		})
		if made.Load() != 1 {
			t.Errorf("%d changes were made", made.Load())
		}
		wantLive(t, f, session.Digest, true)
	})
}

// TestRehash checks that another hash of the same password ends no session, and does not replace another password.
func TestRehash(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx, token := t.Context(), f.Token(t, 10, time.Hour)
		before := f.User
		kit.Must(t, identity.Rehash(ctx, f.DB, before, "$stronger"))
		wantHash(t, f, "$stronger")
		wantLive(t, f, token, true)
		fixture.WantErr(t, identity.Rehash(ctx, f.DB, before, "$again"), identity.ErrPasswordChanged)
		wantHash(t, f, "$stronger")
	})
}

// TestPasswordChangeRequired checks that a user with an administrator's password must change it, in every session that
// began with it, until it is changed.
func TestPasswordChangeRequired(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		want := func(session base.Session, want bool) {
			t.Helper()
			read, err := f.Authenticate(ctx, session.Digest)
			kit.Must(t, err)
			user, err := identity.FindUserOf(ctx, f.DB, session)
			kit.Must(t, err)
			if read.PasswordChangeRequired != want || user.PasswordChangeRequired != want {
				t.Errorf("session %v, user %v, want %v", read.PasswordChangeRequired, user.PasswordChangeRequired, want)
			}
		}
		want(logIn(t, f, 10), false)
		kit.Must(t, identity.ResetPassword(ctx, f.DB, f.Account.ID, f.User.ID, "$reset"))
		wantHash(t, f, "$reset")
		session := logIn(t, f, 11)
		want(session, true)
		kit.Must(t, identity.Rehash(ctx, f.DB, f.User, "$stronger"))
		want(session, true)
		kit.Must(t, identity.ChangePassword(ctx, f.DB, session, "$stronger", "$own"))
		want(session, false)
		wantHash(t, f, "$own")
		want(logIn(t, f, 12), false)

		_, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Role: access.Owner,
			Email: "second@example.com", PasswordHash: "$2", PasswordChangeRequired: true})
		kit.Must(t, err)
		second, err := f.UserByEmail(ctx, "second@example.com")
		kit.Must(t, err)
		if !second.PasswordChangeRequired {
			t.Error("a new user does not have to change the password")
		}
	})
}
