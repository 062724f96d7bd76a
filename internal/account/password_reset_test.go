package account

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
)

// mailed answers the requests that wait and returns the mails to an address that were not claimed yet, oldest first.
func mailed(t *testing.T, s *Service, address string) (mails []identity.MailLease) {
	t.Helper()
	ctx := t.Context()
	kit.Must(t, s.AnswerResetRequests(ctx))
	for from := (base.ScanCursor{}); ; {
		step, err := identity.DueMailQueues(ctx, s.DB, from)
		kit.Must(t, err)
		for _, due := range step.Queues {
			leases, err := identity.ClaimMails(ctx, due, 100, time.Hour)
			kit.Must(t, err)
			for _, lease := range leases {
				if lease.To == address {
					mails = append(mails, lease)
				}
			}
		}
		if from = step.Next; from.IsZero() {
			slices.SortStableFunc(mails, func(a, b identity.MailLease) int { return a.CreatedAt.Compare(b.CreatedAt) })
			return mails
		}
	}
}

// resetCode asks for a link for the owner and returns its secret.
func resetCode(t *testing.T, s *Service) string {
	t.Helper()
	kit.Must(t, s.RequestPasswordReset(t.Context(), home, email, "ar"))
	mails := mailed(t, s, email)
	if len(mails) != 1 || mails[0].Kind != identity.MailPasswordReset || mails[0].Language != "ar" ||
		!mails[0].ExpiresAt.Equal(s.Now().Add(identity.PasswordResetTTL)) {
		t.Fatalf("mails %+v", mails)
	}
	return mails[0].Secret.Reveal()
}

// TestPasswordReset checks that a link from an e-mail sets a password by the rules of others, once, that the user is
// told of it by another e-mail, and that nothing else is accepted as a link.
func TestPasswordReset(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	kit.Must(t, identity.RecordMailer(ctx, db.DB, true))
	code := resetCode(t, s)
	if !strings.HasPrefix(code, secret.ResetPrefix) || len(code) != len(secret.ResetPrefix)+43 {
		t.Error("the secret has the wrong form")
	}
	for _, file := range []string{db.Path, db.Path + "-wal"} { // the mail waits with the secret, which is sealed
		stored, err := os.ReadFile(file)
		kit.Must(t, err)
		if len(stored) == 0 || bytes.Contains(stored, []byte(code[3:20])) {
			t.Errorf("%s of %d bytes has the secret, or nothing", file, len(stored))
		}
	}
	user, err := s.FindPasswordReset(ctx, home, code)
	kit.Must(t, err)
	if user.Email != email {
		t.Errorf("found %s", user.Email)
	}
	for name, refused := range map[string]struct {
		code, password string
		want           error
	}{
		"no code":           {"", chosen, ErrReset},
		"another code":      {code[:len(code)-1] + "~", chosen, ErrReset},
		"another prefix":    {strings.Replace(code, secret.ResetPrefix, secret.InvitationPrefix, 1), chosen, ErrReset},
		"short password":    {code, "14 characters!", ErrPasswordLength},
		"long password":     {code, strings.Repeat("ab", 129), ErrPasswordLength},
		"invalid UTF-8":     {code, chosen + "\xff", ErrPasswordLength},
		"common password":   {code, "aaaaaaaaaaaaaaaa", ErrCommonPassword},
		"the same password": {code, password, ErrSamePassword},
	} {
		if err := s.CompletePasswordReset(ctx, home, refused.code, refused.password); err == nil ||
			err.Error() != refused.want.Error() {
			t.Errorf("%s: %v, want %v", name, err, refused.want)
		}
	}
	kit.Must(t, s.CompletePasswordReset(ctx, home, code, chosen))
	wantErr(t, s.CompletePasswordReset(ctx, home, code, chosen+"!"), ErrReset)
	_, err = s.FindPasswordReset(ctx, home, code)
	wantErr(t, err, ErrReset)
	_, _, err = s.Login(ctx, home, Credentials{Email: email, Password: password})
	wantErr(t, err, ErrInvalidCredentials)
	_, _, err = s.Login(ctx, home, Credentials{Email: email, Password: chosen})
	kit.Must(t, err)
	if told := mailed(t, s, email); len(told) != 1 || told[0].Kind != identity.MailPasswordChanged ||
		!told[0].Secret.IsZero() {
		t.Errorf("told %+v", told)
	}
	if _, err := db.Authenticate(ctx, secret.Digest(secret.New(code))); err == nil {
		t.Error("the secret of a link authenticates")
	}
}

// TestResetRequestReadsNoUsers checks that a request for a link works without the table of the users: its result, its
// statements and its time cannot depend on whether somebody has the address. The answer, which a worker gives later,
// needs the table.
func TestResetRequestReadsNoUsers(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	kit.Must(t, identity.RecordMailer(ctx, db.DB, true))
	raw, err := sql.Open("sqlite", "file:"+db.Path)
	kit.Must(t, err)
	defer func() { kit.Must(t, raw.Close()) }()
	_, err = raw.ExecContext(ctx, `alter table users rename to hidden`)
	kit.Must(t, err)
	for _, address := range []string{email, "nobody@example.com"} {
		kit.Must(t, s.RequestPasswordReset(ctx, home, address, "en"))
	}
	if err := s.AnswerResetRequests(ctx); err == nil {
		t.Error("the answer does not need the users either")
	}
	_, err = raw.ExecContext(ctx, `alter table hidden rename to users`)
	kit.Must(t, err)
	if mails := mailed(t, s, email); len(mails) != 1 {
		t.Errorf("%d mails, want 1", len(mails))
	}
	if mails := mailed(t, s, "nobody@example.com"); len(mails) != 0 {
		t.Errorf("%d mails to nobody", len(mails))
	}
}

// TestResetLimits checks that requests are limited like logins by their source, whoever has the address; that an
// address gets at most MaxResets links in an hour, after which requests have no effect and look the same; and that
// wrong secrets are limited before a password is hashed.
func TestResetLimits(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	kit.Must(t, identity.RecordMailer(ctx, db.DB, true))
	for _, address := range []string{email, "nobody@example.com"} {
		for range s.LoginRate {
			kit.Must(t, s.RequestPasswordReset(ctx, home, address, "en"))
		}
		if err := s.RequestPasswordReset(ctx, home, address, "en"); !limited(err) {
			t.Errorf("%s: %v after too many requests", address, err)
		}
	}
	if mails := mailed(t, s, email); len(mails) != 1 {
		t.Errorf("%d mails of requests at once, want 1", len(mails))
	}
	db.Clock.Advance(time.Hour)
	sent, last := 0, ""
	for n := range 2 * MaxResets {
		kit.Must(t, s.RequestPasswordReset(ctx, fmt.Sprintf("192.0.2.%d", 10+n), " OWNER@example.com", "en"))
		for _, mail := range mailed(t, s, email) {
			sent, last = sent+1, mail.Secret.Reveal()
		}
	}
	if sent != MaxResets {
		t.Errorf("%d mails in an hour, want %d", sent, MaxResets)
	}
	hashes := counted(s.Hasher)
	for n := range s.LoginRate {
		if n%2 == 0 {
			_, err := s.FindPasswordReset(ctx, home, "qr_wrong")
			wantErr(t, err, ErrReset)
		} else {
			wantErr(t, s.CompletePasswordReset(ctx, home, "qr_wrong", chosen), ErrReset)
		}
	}
	if _, err := s.FindPasswordReset(ctx, home, last); !limited(err) {
		t.Errorf("%v after too many wrong secrets", err)
	}
	if err := s.CompletePasswordReset(ctx, home, last, chosen); !limited(err) {
		t.Errorf("%v after too many wrong secrets", err)
	}
	if hashes.Load() != 0 {
		t.Errorf("%d passwords were hashed", hashes.Load())
	}
	kit.Must(t, s.CompletePasswordReset(ctx, "192.0.2.9", last, chosen)) // the last link, from another source
	db.Clock.Advance(time.Hour)
	kit.Must(t, s.RequestPasswordReset(ctx, home, email, "en"))
	if mails := mailed(t, s, email); len(mails) != 2 || mails[0].Kind != identity.MailPasswordChanged ||
		mails[1].Kind != identity.MailPasswordReset {
		t.Errorf("mails an hour later: %+v", mails)
	}
	for _, address := range []string{"", "a@", "a b@c", "a@b\r\nBcc: c@d", "a@b\x00", strings.Repeat("a", 256) + "@b"} {
		wantErr(t, s.RequestPasswordReset(ctx, home, address, "en"), ErrEmail)
	}
}

// TestResetGuesses checks that a link does not help to guess the present password: each guess counts towards the
// limits.
func TestResetGuesses(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	kit.Must(t, identity.RecordMailer(ctx, db.DB, true))
	code := resetCode(t, s)
	for range s.LoginRate {
		wantErr(t, s.CompletePasswordReset(ctx, home, code, password), ErrSamePassword)
	}
	if err := s.CompletePasswordReset(ctx, home, code, password); !limited(err) {
		t.Errorf("%v after too many guesses", err)
	}
}

// TestResetAfterFailures checks that a user whom the failures of a stranger keep from logging in can do so after a
// reset.
func TestResetAfterFailures(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	kit.Must(t, identity.RecordMailer(ctx, db.DB, true))
	spendLogins(t, db.DB, failureRate, failureWindow, "failures", email)
	if _, _, err := s.Login(ctx, home, Credentials{Email: email, Password: password}); !limited(err) {
		t.Fatalf("login after the failures: %v", err)
	}
	kit.Must(t, s.CompletePasswordReset(ctx, home, resetCode(t, s), chosen))
	_, _, err := s.Login(ctx, home, Credentials{Email: email, Password: chosen})
	kit.Must(t, err)
}

// TestResetsAtOnce checks that of concurrent uses of a link, each with another password, one succeeds, and its password
// logs in.
func TestResetsAtOnce(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	kit.Must(t, identity.RecordMailer(ctx, db.DB, true))
	s.LoginRate = 0
	code := resetCode(t, s)
	var winner atomic.Pointer[string]
	done := make(chan struct{})
	for n := range 4 {
		go func() {
			defer func() { done <- struct{}{} }()
			password := fmt.Sprintf("%s %d", chosen, n)
			if err := s.CompletePasswordReset(context.WithoutCancel(ctx), home, code, password); err == nil {
				if winner.Swap(&password) != nil {
					t.Error("two uses succeeded")
				}
			} else if err.Error() != ErrReset.Error() {
				t.Error(err)
			}
		}()
	}
	for range 4 {
		<-done
	}
	if winner.Load() == nil {
		t.Fatal("no use succeeded")
	}
	_, _, err := s.Login(ctx, home, Credentials{Email: email, Password: *winner.Load()})
	kit.Must(t, err)
}
