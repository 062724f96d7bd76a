package identity_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/ledger"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// askReset asks for a link for an address, as the console does.
func askReset(t *testing.T, f *fixture.Fixture, email string) {
	t.Helper()
	ctx := base.WithActor(t.Context(), base.Actor{Kind: base.ActorUser, Means: base.MeansConsole, Source: "192.0.2.7",
		RequestID: "r-1"})
	kit.Must(t, identity.RequestPasswordReset(ctx, f.DB, identity.ResetRequest{Email: email, Language: "ar"}))
}

// answerReset answers the oldest request with the secret of n.
func answerReset(t *testing.T, f *fixture.Fixture, n byte) {
	t.Helper()
	found, err := identity.AnswerResetRequest(t.Context(), f.DB, fixture.Draws(fixture.NewReset(n)))
	kit.Must(t, err)
	if !found {
		t.Fatal("no request waits")
	}
}

// resetLink makes a link with the digest of n for the fixture's user.
func resetLink(t *testing.T, f *fixture.Fixture, n byte) {
	t.Helper()
	askReset(t, f, f.User.Email)
	answerReset(t, f, n)
	wantLink(t, f, n, true)
}

// wantLink checks whether the link with the digest of n can be used.
func wantLink(t *testing.T, f *fixture.Fixture, n byte, usable bool) {
	t.Helper()
	user, err := identity.UsablePasswordReset(t.Context(), f.DB, fixture.Digest(n))
	if !usable {
		fixture.WantErr(t, err, base.ErrNotFound)
		return
	}
	kit.Must(t, err)
	if user.ID != f.User.ID || user.Account != f.Account.ID {
		t.Errorf("link %d is of user %s", n, user.Email)
	}
}

// TestPasswordReset checks that a link sets the password of its user once, ends all sessions, tokens and pending logins
// of the user and nobody else's, and satisfies the duty to change a first password. The audit log says who asked from
// where, and who used the link.
func TestPasswordReset(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		kit.Must(t, identity.RecordMailer(ctx, f.DB, true))
		other, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Role: access.Owner,
			Email: "second@example.com", PasswordHash: "$2"})
		kit.Must(t, err)
		_, err = identity.CreateToken(ctx, f.DB, base.User{Account: f.Account.ID, ID: other, PasswordHash: "$2"},
			identity.NewToken{Digest: fixture.Digest(30), ExpiresAt: f.Clock.Now().Add(2 * time.Hour)})
		kit.Must(t, err)
		kit.Must(t, identity.ResetPassword(ctx, f.DB, f.Account.ID, f.User.ID, "$first"))
		wantHash(t, f, "$first")
		token := f.Token(t, 11, time.Hour)
		kit.Must(t, identity.BeginLogin(ctx, f.DB, identity.PendingLogin{Digest: fixture.Digest(12), User: f.User,
			Means: identity.LoginByPassword}, f.Clock.Now().Add(time.Hour)))
		f.Clock.Advance(time.Second)

		resetLink(t, f, 60)
		wantLive(t, f, token, true)
		f.Clock.Advance(identity.PasswordResetTTL - time.Microsecond)
		wantLink(t, f, 60, true)
		token = f.Token(t, 13, time.Hour)
		user, err := identity.CompletePasswordReset(ctx, f.DB, fixture.Digest(60), "$new")
		kit.Must(t, err)
		wantHash(t, f, "$new")
		fixture.WantEqual(t, "user", user, f.User)
		if f.User.PasswordChangeRequired {
			t.Error("the user has to change the password that the user has just chosen")
		}
		wantLive(t, f, token, false)
		wantLive(t, f, fixture.Digest(30), true)
		fixture.WantErr(t, fixture.Second(identity.FindPendingLogin(ctx, f.DB, fixture.Digest(12))), base.ErrNotFound)
		fixture.WantErr(t, fixture.Second(identity.CompletePasswordReset(ctx, f.DB, fixture.Digest(60), "$again")),
			base.ErrNotFound)
		wantLink(t, f, 60, false)
		wantHash(t, f, "$new")

		asked, used := f.Audited(t, "user.request-password-reset"), f.Audited(t, "user.complete-password-reset")
		if len(asked) != 1 || asked[0].Kind != base.ActorSystem || asked[0].Source != "192.0.2.7" ||
			asked[0].RequestID != "r-1" || asked[0].Subject != user.ID.String() {
			t.Errorf("audited requests: %+v", asked)
		}
		if len(used) != 1 || used[0].Kind != base.ActorUser || used[0].Name != user.Email ||
			used[0].Subject != user.ID.String() {
			t.Errorf("audited uses: %+v", used)
		}
	})
}

// TestPasswordResetEnds checks that a link ends with everything that ends the sessions of its user, with a newer link,
// with its time, and when the user may not log in with a password; and that it does not come back when the user may do
// so again.
func TestPasswordResetEnds(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context, t *testing.T, f *fixture.Fixture) error{
		"newer": func(_ context.Context, t *testing.T, f *fixture.Fixture) error {
			resetLink(t, f, 61)
			return nil
		},
		"expired": func(ctx context.Context, _ *testing.T, f *fixture.Fixture) error {
			f.Clock.Advance(identity.PasswordResetTTL)
			return nil
		},
		"changed": func(ctx context.Context, t *testing.T, f *fixture.Fixture) error {
			return identity.ChangePassword(ctx, f.DB, logIn(t, f, 10), f.User.PasswordHash, "$new")
		},
		"changed by an earlier release": func(ctx context.Context, _ *testing.T, f *fixture.Fixture) error {
			_, err := f.Raw.ExecContext(ctx,
				`update users set password_hash = '$new', password_changed_at = password_changed_at + 1 where account_id = $1 and id = $2`, f.Account.ID, f.User.ID)
			return err
		},
		"reset by an administrator": func(ctx context.Context, _ *testing.T, f *fixture.Fixture) error {
			return identity.ResetPassword(ctx, f.DB, f.Account.ID, f.User.ID, "$new")
		},
		"second factor reset": func(ctx context.Context, t *testing.T, f *fixture.Fixture) error {
			f.Enroll(t, f, logIn(t, f, 20))
			resetLink(t, f, 61)
			return identity.ResetSecondFactorOf(ctx, f.DB, f.Account.ID, f.User.ID)
		},
		"disabled": func(ctx context.Context, t *testing.T, f *fixture.Fixture) error {
			kit.Must(t, identity.DisableUser(ctx, f.DB, f.Account.ID, f.User.ID, true))
			wantLink(t, f, 60, false)
			return identity.EnableUser(ctx, f.DB, f.Account.ID, f.User.ID)
		},
		"suspended": func(ctx context.Context, t *testing.T, f *fixture.Fixture) error {
			kit.Must(t, identity.SuspendAccount(ctx, f.DB, f.Account.ID))
			wantLink(t, f, 60, false)
			return identity.ReactivateAccount(ctx, f.DB, f.Account.ID)
		},
		"single sign-on": func(ctx context.Context, t *testing.T, f *fixture.Fixture) error {
			kit.Must(t, identity.SetLoginPolicyOf(ctx, f.DB, f.Account.ID, base.LoginSingleSignOn))
			wantLink(t, f, 60, false)
			return identity.SetLoginPolicyOf(ctx, f.DB, f.Account.ID, base.LoginAny)
		},
	} {
		t.Run(name, func(t *testing.T) {
			fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
				kit.Must(t, identity.RecordMailer(t.Context(), f.DB, true))
				resetLink(t, f, 60)
				kit.Must(t, end(t.Context(), t, f))
				wantLink(t, f, 60, false)
				fixture.WantErr(t, fixture.Second(identity.CompletePasswordReset(t.Context(), f.DB, fixture.Digest(60),
					"$mine")), base.ErrNotFound)
				if name == "newer" {
					wantLink(t, f, 61, true)
				}
				wantNoLinks(t, f)
			})
		})
	}
}

// wantNoLinks checks that no row of a link is left an hour later, when expired rows have been removed.
func wantNoLinks(t *testing.T, f *fixture.Fixture) {
	t.Helper()
	f.Clock.Advance(identity.PasswordResetTTL + time.Microsecond)
	kit.Must(t, ledger.DeleteExpired(t.Context(), f.DB))
	var rows int
	kit.Must(t, f.Raw.QueryRowContext(t.Context(), `select count(*) from password_resets where account_id = $1`,
		f.Account.ID).Scan(&rows))
	if rows != 0 {
		t.Errorf("%d rows are left", rows)
	}
}

// TestPasswordResetEndsWithRestore checks that a restore ends every link and every request.
func TestPasswordResetEndsWithRestore(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		kit.Must(t, identity.RecordMailer(t.Context(), f.DB, true))
		resetLink(t, f, 60)
		askReset(t, f, f.User.Email)
		_, err := ledger.MarkRestored(t.Context(), f.DB)
		kit.Must(t, err)
		wantLink(t, f, 60, false)
		found, err := identity.AnswerResetRequest(t.Context(), f.DB, fixture.Draws(fixture.NewReset(61)))
		if err != nil || found {
			t.Errorf("a request is left: %v", err)
		}
	})
}

// TestPasswordResetRequests checks that requests for an address whose user cannot log in with a password, or that
// nobody has, leave nothing: no link, no e-mail and no entry in the audit log. A repeated request is answered once, and
// one that has waited too long not at all.
func TestPasswordResetRequests(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		kit.Must(t, identity.RecordMailer(ctx, f.DB, true))
		nothing := func(name string) {
			t.Helper()
			answerReset(t, f, 60)
			wantLink(t, f, 60, false)
			if acts := f.Audited(t, "user.request-password-reset"); len(acts) != 0 {
				t.Errorf("%s: %d entries in the audit log", name, len(acts))
			}
			if found, err := identity.AnswerResetRequest(ctx, f.DB, fixture.Draws(fixture.NewReset(61))); err != nil ||
				found {
				t.Errorf("%s: the request is left: %v", name, err)
			}
		}
		askReset(t, f, "nobody@example.com")
		nothing("nobody")
		kit.Must(t, identity.DisableUser(ctx, f.DB, f.Account.ID, f.User.ID, true))
		askReset(t, f, f.User.Email)
		nothing("disabled")
		kit.Must(t, identity.EnableUser(ctx, f.DB, f.Account.ID, f.User.ID))
		kit.Must(t, identity.SuspendAccount(ctx, f.DB, f.Account.ID))
		askReset(t, f, f.User.Email)
		nothing("suspended")
		kit.Must(t, identity.ReactivateAccount(ctx, f.DB, f.Account.ID))
		kit.Must(t, identity.SetLoginPolicyOf(ctx, f.DB, f.Account.ID, base.LoginSingleSignOn))
		askReset(t, f, f.User.Email)
		nothing("single sign-on")
		kit.Must(t, identity.SetLoginPolicyOf(ctx, f.DB, f.Account.ID, base.LoginAny))
		askReset(t, f, f.User.Email)
		f.Clock.Advance(identity.PasswordResetTTL + time.Microsecond)
		nothing("late")
		askReset(t, f, f.User.Email)
		kit.Must(t, identity.RecordMailer(ctx, f.DB, false))
		nothing("no e-mail")
		kit.Must(t, identity.RecordMailer(ctx, f.DB, true))

		askReset(t, f, f.User.Email)
		f.Clock.Advance(identity.PasswordResetTTL + time.Microsecond)
		kit.Must(t, ledger.DeleteExpired(ctx, f.DB))
		if found, err := identity.AnswerResetRequest(ctx, f.DB, fixture.Draws(fixture.NewReset(61))); err != nil ||
			found {
			t.Errorf("an expired request is left: %v", err)
		}
		askReset(t, f, f.User.Email)
		askReset(t, f, f.User.Email)
		answerReset(t, f, 62)
		wantLink(t, f, 62, true)
		if found, err := identity.AnswerResetRequest(ctx, f.DB, fixture.Draws(fixture.NewReset(63))); err != nil ||
			found {
			t.Errorf("a repeated request is answered twice: %v", err)
		}
	})
}

// TestSendPasswordReset checks that an administrator sends a link, which works like another one, and learns why none
// can be sent.
func TestSendPasswordReset(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := base.WithActor(t.Context(), base.Actor{Kind: base.ActorAdministrator, Name: "ada@host",
			Means: base.MeansCommandLine})
		fixture.WantErr(t, identity.SendPasswordReset(ctx, f.DB, f.User, fixture.NewReset(60)), identity.ErrNoMail)
		kit.Must(t, identity.RecordMailer(ctx, f.DB, true))
		kit.Must(t, identity.SendPasswordReset(ctx, f.DB, f.User, fixture.NewReset(60)))
		wantLink(t, f, 60, true)
		if acts := f.Audited(t, "user.request-password-reset"); len(acts) != 1 || acts[0].Kind != base.ActorAdministrator ||
			acts[0].Subject != f.User.ID.String() {
			t.Errorf("audited: %+v", acts)
		}
		kit.Must(t, fixture.Second(identity.CompletePasswordReset(ctx, f.DB, fixture.Digest(60), "$new")))
		kit.Must(t, identity.DisableUser(ctx, f.DB, f.Account.ID, f.User.ID, true))
		fixture.WantErr(t, identity.SendPasswordReset(ctx, f.DB, f.User, fixture.NewReset(61)), base.ErrNotFound)
		wantLink(t, f, 61, false)
	})
}

// TestPasswordResetsAtOnce checks that of concurrent uses of a link one sets the password, that beside a change by the
// user or a reset by an administrator only one of both counts, and that a request is answered by one of several
// servers.
func TestPasswordResetsAtOnce(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		kit.Must(t, identity.RecordMailer(ctx, f.DB, true))
		resetLink(t, f, 60)
		var used atomic.Int32
		fixture.Race(8, func(i int) {
			if _, err := identity.CompletePasswordReset(ctx, f.DB, fixture.Digest(60), fmt.Sprint("$", i)); err == nil {
				used.Add(1)
			} else {
				fixture.WantErr(t, err, base.ErrNotFound)
			}
		})
		if used.Load() != 1 {
			t.Errorf("%d uses succeeded, want 1", used.Load())
		}
		for round := range byte(4) {
			f.Clock.Advance(time.Second)
			user, err := f.UserByEmail(ctx, f.User.Email)
			kit.Must(t, err)
			f.User = user
			session := logIn(t, f, 10+round)
			resetLink(t, f, 61+round)
			var reset, changed error
			fixture.Race(2, func(i int) {
				switch {
				case i == 0:
					_, reset = identity.CompletePasswordReset(ctx, f.DB, fixture.Digest(61+round), "$link")
				case round%2 == 0:
					changed = identity.ChangePassword(ctx, f.DB, session, f.User.PasswordHash, "$change")
				default:
					changed = identity.ResetPassword(ctx, f.DB, f.Account.ID, f.User.ID, "$change")
				}
			})
			switch {
			case reset != nil: // the change was first and has ended the link
				fixture.WantErr(t, reset, base.ErrNotFound)
				kit.Must(t, changed)
				wantHash(t, f, "$change")
			case round%2 == 0: // the link was first and has ended the session
				fixture.WantErr(t, changed, identity.ErrSessionEnded)
				wantHash(t, f, "$link")
			default: // an administrator's reset counts in any case
				kit.Must(t, changed)
				wantHash(t, f, "$change")
			}
		}
		askReset(t, f, f.User.Email)
		var answered atomic.Int32
		replica := f.Again(t)
		fixture.Race(4, func(i int) {
			db := f.DB
			if i%2 == 1 {
				db = replica
			}
			found, err := identity.AnswerResetRequest(ctx, db, fixture.Draws(fixture.NewReset(80+byte(i))))
			if err != nil {
				t.Error(err)
			} else if found {
				answered.Add(1)
			}
		})
		if answered.Load() != 1 {
			t.Errorf("%d servers have answered, want 1", answered.Load())
		}
		wantHash(t, f, f.User.PasswordHash)
	})
}
