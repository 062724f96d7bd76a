package store_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/access"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/test/kit"
)

// askReset asks for a link for an address, as the console does.
func (f *fixture) askReset(t *testing.T, email string) {
	t.Helper()
	ctx := store.WithActor(t.Context(), store.Actor{Kind: store.ActorUser, Means: store.MeansConsole, Source: "192.0.2.7",
		RequestID: "r-1"})
	kit.Must(t, f.RequestPasswordReset(ctx, store.ResetRequest{Email: email, Language: "ar"}))
}

// answerReset answers the oldest request with the secret of n.
func (f *fixture) answerReset(t *testing.T, n byte) {
	t.Helper()
	found, err := f.AnswerResetRequest(t.Context(), draws(newReset(n)))
	kit.Must(t, err)
	if !found {
		t.Fatal("no request waits")
	}
}

// newReset returns the secret of n and its digest.
func draws(r store.NewReset) func() (store.NewReset, error) {
	return func() (store.NewReset, error) { return r, nil }
}

func newReset(n byte) store.NewReset {
	return store.NewReset{Secret: secret.New(fmt.Sprintf("qr_%d", n)), Digest: digest(n)}
}

// resetLink makes a link with the digest of n for the fixture's user.
func (f *fixture) resetLink(t *testing.T, n byte) {
	t.Helper()
	f.askReset(t, f.user.Email)
	f.answerReset(t, n)
	f.wantLink(t, n, true)
}

// wantLink checks whether the link with the digest of n can be used.
func (f *fixture) wantLink(t *testing.T, n byte, usable bool) {
	t.Helper()
	user, err := f.UsablePasswordReset(t.Context(), digest(n))
	if !usable {
		wantErr(t, err, store.ErrNotFound)
		return
	}
	kit.Must(t, err)
	if user.ID != f.user.ID || user.Account != f.account.ID {
		t.Errorf("link %d is of user %s", n, user.Email)
	}
}

// TestPasswordReset checks that a link sets the password of its user once, ends all sessions, tokens and pending logins
// of the user and nobody else's, and satisfies the duty to change a first password. The audit log says who asked from
// where, and who used the link.
func TestPasswordReset(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		kit.Must(t, f.RecordMailer(ctx, true))
		other, err := f.AddUser(ctx, f.account.ID, store.NewUser{Role: access.Owner, Email: "second@example.com",
			PasswordHash: "$2"})
		kit.Must(t, err)
		_, err = f.CreateToken(ctx, store.User{Account: f.account.ID, ID: other, PasswordHash: "$2"},
			store.NewToken{Digest: digest(30), ExpiresAt: f.Clock.Now().Add(2 * time.Hour)})
		kit.Must(t, err)
		kit.Must(t, f.ResetPassword(ctx, f.account.ID, f.user.ID, "$first"))
		f.wantHash(t, "$first")
		token := f.token(t, 11, time.Hour)
		kit.Must(t, f.BeginLogin(ctx, store.PendingLogin{Digest: digest(12), User: f.user, Means: store.LoginByPassword},
			f.Clock.Now().Add(time.Hour)))
		f.Clock.Advance(time.Second)

		f.resetLink(t, 60)
		f.wantLive(t, token, true)
		f.Clock.Advance(store.PasswordResetTTL - time.Microsecond)
		f.wantLink(t, 60, true)
		token = f.token(t, 13, time.Hour)
		user, err := f.CompletePasswordReset(ctx, digest(60), "$new")
		kit.Must(t, err)
		f.wantHash(t, "$new")
		wantEqual(t, "user", user, f.user)
		if f.user.PasswordChangeRequired {
			t.Error("the user has to change the password that the user has just chosen")
		}
		f.wantLive(t, token, false)
		f.wantLive(t, digest(30), true)
		wantErr(t, second(f.PendingLogin(ctx, digest(12))), store.ErrNotFound)
		wantErr(t, second(f.CompletePasswordReset(ctx, digest(60), "$again")), store.ErrNotFound)
		f.wantLink(t, 60, false)
		f.wantHash(t, "$new")

		asked, used := f.audited(t, "user.request-password-reset"), f.audited(t, "user.complete-password-reset")
		if len(asked) != 1 || asked[0].Kind != store.ActorSystem || asked[0].Source != "192.0.2.7" ||
			asked[0].RequestID != "r-1" || asked[0].Subject != user.ID.String() {
			t.Errorf("audited requests: %+v", asked)
		}
		if len(used) != 1 || used[0].Kind != store.ActorUser || used[0].Name != user.Email ||
			used[0].Subject != user.ID.String() {
			t.Errorf("audited uses: %+v", used)
		}
	})
}

// TestPasswordResetEnds checks that a link ends with everything that ends the sessions of its user, with a newer link,
// with its time, and when the user may not log in with a password; and that it does not come back when the user may do
// so again.
func TestPasswordResetEnds(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context, t *testing.T, f *fixture) error{
		"newer": func(_ context.Context, t *testing.T, f *fixture) error {
			f.resetLink(t, 61)
			return nil
		},
		"expired": func(ctx context.Context, _ *testing.T, f *fixture) error {
			f.Clock.Advance(store.PasswordResetTTL)
			return nil
		},
		"changed": func(ctx context.Context, t *testing.T, f *fixture) error {
			return f.ChangePassword(ctx, f.session(t, 10), f.user.PasswordHash, "$new")
		},
		"changed by an earlier release": func(ctx context.Context, _ *testing.T, f *fixture) error {
			_, err := f.raw.ExecContext(ctx,
				`update users set password_hash = '$new', password_changed_at = password_changed_at + 1 where account_id = $1 and id = $2`, f.account.ID, f.user.ID)
			return err
		},
		"reset by an administrator": func(ctx context.Context, _ *testing.T, f *fixture) error {
			return f.ResetPassword(ctx, f.account.ID, f.user.ID, "$new")
		},
		"second factor reset": func(ctx context.Context, t *testing.T, f *fixture) error {
			f.enroll(t, f, f.session(t, 20))
			f.resetLink(t, 61)
			return f.ResetSecondFactor(ctx, f.account.ID, f.user.ID)
		},
		"disabled": func(ctx context.Context, t *testing.T, f *fixture) error {
			kit.Must(t, f.DisableUser(ctx, f.account.ID, f.user.ID, true))
			f.wantLink(t, 60, false)
			return f.EnableUser(ctx, f.account.ID, f.user.ID)
		},
		"suspended": func(ctx context.Context, t *testing.T, f *fixture) error {
			kit.Must(t, f.SuspendAccount(ctx, f.account.ID))
			f.wantLink(t, 60, false)
			return f.ReactivateAccount(ctx, f.account.ID)
		},
		"single sign-on": func(ctx context.Context, t *testing.T, f *fixture) error {
			kit.Must(t, f.SetLoginPolicy(ctx, f.account.ID, store.LoginSingleSignOn))
			f.wantLink(t, 60, false)
			return f.SetLoginPolicy(ctx, f.account.ID, store.LoginAny)
		},
	} {
		t.Run(name, func(t *testing.T) {
			forEachEngine(t, func(t *testing.T, f *fixture) {
				kit.Must(t, f.RecordMailer(t.Context(), true))
				f.resetLink(t, 60)
				kit.Must(t, end(t.Context(), t, f))
				f.wantLink(t, 60, false)
				wantErr(t, second(f.CompletePasswordReset(t.Context(), digest(60), "$mine")), store.ErrNotFound)
				if name == "newer" {
					f.wantLink(t, 61, true)
				}
				f.wantNoLinks(t)
			})
		})
	}
}

// wantNoLinks checks that no row of a link is left an hour later, when expired rows have been removed.
func (f *fixture) wantNoLinks(t *testing.T) {
	t.Helper()
	f.Clock.Advance(store.PasswordResetTTL + time.Microsecond)
	kit.Must(t, f.DeleteExpired(t.Context()))
	var rows int
	kit.Must(t, f.raw.QueryRowContext(t.Context(), `select count(*) from password_resets where account_id = $1`,
		f.account.ID).Scan(&rows))
	if rows != 0 {
		t.Errorf("%d rows are left", rows)
	}
}

// TestPasswordResetEndsWithRestore checks that a restore ends every link and every request.
func TestPasswordResetEndsWithRestore(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		kit.Must(t, f.RecordMailer(t.Context(), true))
		f.resetLink(t, 60)
		f.askReset(t, f.user.Email)
		_, err := f.MarkRestored(t.Context())
		kit.Must(t, err)
		f.wantLink(t, 60, false)
		found, err := f.AnswerResetRequest(t.Context(), draws(newReset(61)))
		if err != nil || found {
			t.Errorf("a request is left: %v", err)
		}
	})
}

// TestPasswordResetRequests checks that requests for an address whose user cannot log in with a password, or that
// nobody has, leave nothing: no link, no e-mail and no entry in the audit log. A repeated request is answered once, and
// one that has waited too long not at all.
func TestPasswordResetRequests(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		kit.Must(t, f.RecordMailer(ctx, true))
		nothing := func(name string) {
			t.Helper()
			f.answerReset(t, 60)
			f.wantLink(t, 60, false)
			if acts := f.audited(t, "user.request-password-reset"); len(acts) != 0 {
				t.Errorf("%s: %d entries in the audit log", name, len(acts))
			}
			if found, err := f.AnswerResetRequest(ctx, draws(newReset(61))); err != nil || found {
				t.Errorf("%s: the request is left: %v", name, err)
			}
		}
		f.askReset(t, "nobody@example.com")
		nothing("nobody")
		kit.Must(t, f.DisableUser(ctx, f.account.ID, f.user.ID, true))
		f.askReset(t, f.user.Email)
		nothing("disabled")
		kit.Must(t, f.EnableUser(ctx, f.account.ID, f.user.ID))
		kit.Must(t, f.SuspendAccount(ctx, f.account.ID))
		f.askReset(t, f.user.Email)
		nothing("suspended")
		kit.Must(t, f.ReactivateAccount(ctx, f.account.ID))
		kit.Must(t, f.SetLoginPolicy(ctx, f.account.ID, store.LoginSingleSignOn))
		f.askReset(t, f.user.Email)
		nothing("single sign-on")
		kit.Must(t, f.SetLoginPolicy(ctx, f.account.ID, store.LoginAny))
		f.askReset(t, f.user.Email)
		f.Clock.Advance(store.PasswordResetTTL + time.Microsecond)
		nothing("late")
		f.askReset(t, f.user.Email)
		kit.Must(t, f.RecordMailer(ctx, false))
		nothing("no e-mail")
		kit.Must(t, f.RecordMailer(ctx, true))

		f.askReset(t, f.user.Email)
		f.Clock.Advance(store.PasswordResetTTL + time.Microsecond)
		kit.Must(t, f.DeleteExpired(ctx))
		if found, err := f.AnswerResetRequest(ctx, draws(newReset(61))); err != nil || found {
			t.Errorf("an expired request is left: %v", err)
		}
		f.askReset(t, f.user.Email)
		f.askReset(t, f.user.Email)
		f.answerReset(t, 62)
		f.wantLink(t, 62, true)
		if found, err := f.AnswerResetRequest(ctx, draws(newReset(63))); err != nil || found {
			t.Errorf("a repeated request is answered twice: %v", err)
		}
	})
}

// TestSendPasswordReset checks that an administrator sends a link, which works like another one, and learns why none
// can be sent.
func TestSendPasswordReset(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := store.WithActor(t.Context(), store.Actor{Kind: store.ActorAdministrator, Name: "ada@host",
			Means: store.MeansCommandLine})
		wantErr(t, f.SendPasswordReset(ctx, f.user, newReset(60)), store.ErrNoMail)
		kit.Must(t, f.RecordMailer(ctx, true))
		kit.Must(t, f.SendPasswordReset(ctx, f.user, newReset(60)))
		f.wantLink(t, 60, true)
		if acts := f.audited(t, "user.request-password-reset"); len(acts) != 1 || acts[0].Kind != store.ActorAdministrator ||
			acts[0].Subject != f.user.ID.String() {
			t.Errorf("audited: %+v", acts)
		}
		kit.Must(t, second(f.CompletePasswordReset(ctx, digest(60), "$new")))
		kit.Must(t, f.DisableUser(ctx, f.account.ID, f.user.ID, true))
		wantErr(t, f.SendPasswordReset(ctx, f.user, newReset(61)), store.ErrNotFound)
		f.wantLink(t, 61, false)
	})
}

// TestPasswordResetsAtOnce checks that of concurrent uses of a link one sets the password, that beside a change by the
// user or a reset by an administrator only one of both counts, and that a request is answered by one of several
// servers.
func TestPasswordResetsAtOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		kit.Must(t, f.RecordMailer(ctx, true))
		f.resetLink(t, 60)
		var used atomic.Int32
		race(8, func(i int) {
			if _, err := f.CompletePasswordReset(ctx, digest(60), fmt.Sprint("$", i)); err == nil {
				used.Add(1)
			} else {
				wantErr(t, err, store.ErrNotFound)
			}
		})
		if used.Load() != 1 {
			t.Errorf("%d uses succeeded, want 1", used.Load())
		}
		for round := range byte(4) {
			f.Clock.Advance(time.Second)
			user, err := f.UserByEmail(ctx, f.user.Email)
			kit.Must(t, err)
			f.user = user
			session := f.session(t, 10+round)
			f.resetLink(t, 61+round)
			var reset, changed error
			race(2, func(i int) {
				switch {
				case i == 0:
					_, reset = f.CompletePasswordReset(ctx, digest(61+round), "$link")
				case round%2 == 0:
					changed = f.ChangePassword(ctx, session, f.user.PasswordHash, "$change")
				default:
					changed = f.ResetPassword(ctx, f.account.ID, f.user.ID, "$change")
				}
			})
			switch {
			case reset != nil: // the change was first and has ended the link
				wantErr(t, reset, store.ErrNotFound)
				kit.Must(t, changed)
				f.wantHash(t, "$change")
			case round%2 == 0: // the link was first and has ended the session
				wantErr(t, changed, store.ErrSessionEnded)
				f.wantHash(t, "$link")
			default: // an administrator's reset counts in any case
				kit.Must(t, changed)
				f.wantHash(t, "$change")
			}
		}
		f.askReset(t, f.user.Email)
		var answered atomic.Int32
		replica := f.Again(t)
		race(4, func(i int) {
			db := f.DB
			if i%2 == 1 {
				db = replica
			}
			found, err := db.AnswerResetRequest(ctx, draws(newReset(80+byte(i))))
			if err != nil {
				t.Error(err)
			} else if found {
				answered.Add(1)
			}
		})
		if answered.Load() != 1 {
			t.Errorf("%d servers have answered, want 1", answered.Load())
		}
		f.wantHash(t, f.user.PasswordHash)
	})
}
