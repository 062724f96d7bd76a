package store_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/access"
	"quittance/internal/store"
	"quittance/test/kit"
)

// session creates a valid session of the fixture's user.
func (f *fixture) session(t *testing.T, n byte) store.Session {
	t.Helper()
	session, err := f.Authenticate(t.Context(), f.token(t, n, time.Hour))
	kit.Must(t, err)
	return session
}

// wantLive checks whether a token is valid.
func (f *fixture) wantLive(t *testing.T, token [32]byte, live bool) {
	t.Helper()
	_, err := f.Authenticate(t.Context(), token)
	if live {
		kit.Must(t, err)
		return
	}
	wantErr(t, err, store.ErrNotFound)
}

// wantHash reads the fixture's user again and checks the password hash.
func (f *fixture) wantHash(t *testing.T, want string) {
	t.Helper()
	var err error
	f.user, err = f.UserByEmail(t.Context(), f.user.Email)
	kit.Must(t, err)
	if f.user.PasswordHash != want {
		t.Errorf("password hash %q, want %q", f.user.PasswordHash, want)
	}
}

// TestChangePassword checks that a new password revokes every other token of the user and nobody else's, and releases
// the limits that the attempt acquired. No token can be created with the old password any more.
func TestChangePassword(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		id, err := f.AddUser(ctx, f.account.ID, store.NewUser{Role: access.Owner, Email: "second@example.com",
			PasswordHash: "$2"})
		kit.Must(t, err)
		_, err = f.CreateToken(ctx, store.User{Account: f.account.ID, ID: id, PasswordHash: "$2"},
			store.NewToken{Digest: digest(30), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		session, drop := f.session(t, 10), f.token(t, 11, time.Hour)
		spent, err := f.AcquireLimits(ctx, use(1, 9), use(2, 9))
		kit.Must(t, err)
		kit.Must(t, f.ChangePassword(ctx, session, f.user.PasswordHash, "$new", spent...))
		wantSpent(t, f.DB, 1, 0)
		wantSpent(t, f.DB, 2, 0)
		f.wantLive(t, session.Digest, true)
		f.wantLive(t, drop, false)
		f.wantLive(t, digest(30), true)
		_, err = f.CreateToken(ctx, f.user, store.NewToken{Digest: digest(12), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		wantErr(t, err, store.ErrNotFound)
		f.wantHash(t, "$new")
	})
}

// TestChangePasswordRefused checks that a password is changed only while its hash is the one that was compared and the
// session is valid; otherwise nothing changes.
func TestChangePasswordRefused(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		session, other := f.session(t, 10), f.token(t, 11, time.Hour)
		old := f.user.PasswordHash
		spent, err := f.AcquireLimits(ctx, use(1, 9))
		kit.Must(t, err)
		wantErr(t, f.ChangePassword(ctx, session, "$another", "$new", spent...), store.ErrPasswordChanged)
		f.wantHash(t, old)
		f.wantLive(t, other, true)
		wantSpent(t, f.DB, 1, 1)

		stolen := session
		stolen.User, stolen.Account = f.decoy.user.ID, f.decoy.account
		wantErr(t, f.ChangePassword(ctx, stolen, f.decoy.user.PasswordHash, "$stolen"), store.ErrSessionEnded)
		kit.Must(t, f.RevokeToken(ctx, session.Digest))
		wantErr(t, f.ChangePassword(ctx, session, old, "$new"), store.ErrSessionEnded)
		session = f.session(t, 12)
		f.Clock.Advance(time.Hour)
		wantErr(t, f.ChangePassword(ctx, session, old, "$new"), store.ErrSessionEnded)
		f.wantHash(t, old)
	})
}

// TestResetWins checks that an administrator's reset prevails over concurrent changes of the password, and every token
// is revoked.
func TestResetWins(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		for round := range 10 {
			session, old := f.session(t, byte(50+round)), f.user.PasswordHash
			reset := "$reset-" + string(rune('a'+round))
			race(4, func(n int) {
				if n == 0 {
					must2(t, f.ResetPassword(ctx, f.account.ID, f.user.ID, reset))
					return
				}
				err := f.ChangePassword(ctx, session, old, "$changed-"+string(rune('a'+n)))
				if !errors.Is(err, store.ErrSessionEnded) && !errors.Is(err, store.ErrPasswordChanged) {
					must2(t, err)
				}
			})
			f.wantHash(t, reset)
			f.wantLive(t, session.Digest, false)
		}
		wantErr(t, f.ResetPassword(ctx, f.account.ID, f.decoy.user.ID, "$stolen"), store.ErrNotFound)
		wantErr(t, f.ResetPassword(ctx, f.decoy.account.ID, f.user.ID, "$stolen"), store.ErrNotFound)
	})
}

// TestChangePasswordAtOnce checks that of several changes that compared the same password, one succeeds.
func TestChangePasswordAtOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		session := f.session(t, 10)
		var made atomic.Int32
		race(8, func(n int) {
			err := f.ChangePassword(t.Context(), session, f.user.PasswordHash, "$changed-"+string(rune('a'+n)))
			if err == nil {
				made.Add(1)
			} else if !errors.Is(err, store.ErrPasswordChanged) {
				must2(t, err)
			}
		})
		if made.Load() != 1 {
			t.Errorf("%d changes were made", made.Load())
		}
		f.wantLive(t, session.Digest, true)
	})
}

// TestRehash checks that another hash of the same password ends no session, and does not replace another password.
func TestRehash(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx, token := t.Context(), f.token(t, 10, time.Hour)
		before := f.user
		kit.Must(t, f.Rehash(ctx, before, "$stronger"))
		f.wantHash(t, "$stronger")
		f.wantLive(t, token, true)
		wantErr(t, f.Rehash(ctx, before, "$again"), store.ErrPasswordChanged)
		f.wantHash(t, "$stronger")
	})
}

// TestPasswordChangeRequired checks that a user with an administrator's password must change it, in every session that
// began with it, until it is changed.
func TestPasswordChangeRequired(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		want := func(session store.Session, want bool) {
			t.Helper()
			read, err := f.Authenticate(ctx, session.Digest)
			kit.Must(t, err)
			user, err := f.User(ctx, session)
			kit.Must(t, err)
			if read.PasswordChangeRequired != want || user.PasswordChangeRequired != want {
				t.Errorf("session %v, user %v, want %v", read.PasswordChangeRequired, user.PasswordChangeRequired, want)
			}
		}
		want(f.session(t, 10), false)
		kit.Must(t, f.ResetPassword(ctx, f.account.ID, f.user.ID, "$reset"))
		f.wantHash(t, "$reset")
		session := f.session(t, 11)
		want(session, true)
		kit.Must(t, f.Rehash(ctx, f.user, "$stronger"))
		want(session, true)
		kit.Must(t, f.ChangePassword(ctx, session, "$stronger", "$own"))
		want(session, false)
		f.wantHash(t, "$own")
		want(f.session(t, 12), false)

		_, err := f.AddUser(ctx, f.account.ID, store.NewUser{Role: access.Owner, Email: "second@example.com",
			PasswordHash: "$2", PasswordChangeRequired: true})
		kit.Must(t, err)
		second, err := f.UserByEmail(ctx, "second@example.com")
		kit.Must(t, err)
		if !second.PasswordChangeRequired {
			t.Error("a new user does not have to change the password")
		}
	})
}
