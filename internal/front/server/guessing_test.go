package server_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
)

// guessing is a configuration in which a test chooses the sources of its requests, and the limits of logins are far
// away.
func guessing(c *service.Config) {
	walkConfig(c)
	c.LoginRate = 1000
}

// logInFrom logs in with a code from a source.
func (c *company) logInFrom(t testing.TB, source, given, otp string) response {
	t.Helper()
	return c.send(t, request{method: http.MethodPost, path: loginPath, header: http.Header{"X-Forwarded-For": {source}},
		body: fmt.Sprintf(`{"email":%q,"password":%q,"otp":%q}`, c.email, given, otp)})
}

// resetFrom sets a new password from a source with a link from an e-mail.
func (c *company) resetFrom(t testing.TB, source, chosen string) {
	t.Helper()
	code, err := secret.NewReset(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if err := identity.SendPasswordReset(t.Context(), c.db, c.user,
		identity.NewReset{Secret: code, Digest: secret.ResetDigest(code)}); err != nil {
		t.Fatal(err)
	}
	got, err := c.try(t.Context(), request{method: http.MethodPost, path: "/reset/password",
		body:   url.Values{"code": {code.Reveal()}, "password": {chosen}}.Encode(),
		header: http.Header{"X-Forwarded-For": {source}, "Content-Type": {"application/x-www-form-urlencoded"}}})
	if err != nil || got.status != http.StatusSeeOther {
		t.Fatalf("reset: %d %.500s, %v", got.status, got.text, err)
	}
}

// wrongCodes gives wrong codes from different sources until one is refused, and returns how many were compared.
func (c *company) wrongCodes(t testing.TB, most int, given string, source func(n int) string) int {
	t.Helper()
	for n := range most {
		switch got := c.logInFrom(t, source(n), given, "ab2d-ef3h-ij4l-mn5p"); got.status {
		case http.StatusUnauthorized:
		case http.StatusTooManyRequests:
			return n
		default:
			t.Fatalf("a wrong code: %d", got.status)
		}
	}
	return most
}

// TestMailboxIsNoSecondFactor: who has the mailbox, which a second factor is for, gets no more attempts to guess the
// code by setting passwords from many sources, nor by having logged in from them before there was a second factor.
func TestMailboxIsNoSecondFactor(t *testing.T) {
	onEngines(t, guessing, func(t *testing.T, s *system) {
		c := s.company(t)
		if err := identity.RecordMailer(t.Context(), s.db, true); err != nil {
			t.Fatal(err)
		}
		source := func(n int) string { return fmt.Sprintf("203.0.113.%d", n%4+1) }
		for n := range 4 {
			c.logInFrom(t, source(n), password, "").want(t, http.StatusOK, "")
		}
		app := c.enrolled(t)
		var chosen string
		for n := range 4 {
			chosen = fmt.Sprintf("chosen by the mailbox %d", n)
			c.resetFrom(t, source(n), chosen)
		}
		if compared := c.wrongCodes(t, 50, chosen, source); compared != 10 {
			t.Errorf("%d wrong codes were compared", compared)
		}
		c.logInFrom(t, source(0), chosen, app.recovery[0]).want(t, http.StatusTooManyRequests, api.CodeRateLimited)
	})
}

// TestCodesADay: strangers with the password get forty wrong codes a day, codes and recovery codes together, and known
// sources sixty. A stranger locks nobody out who logs in from a known source, and nobody for longer than a day. The
// audit log and the user learn of it, within bounds.
func TestCodesADay(t *testing.T) {
	onEngines(t, guessing, func(t *testing.T, s *system) {
		c := s.company(t)
		if err := identity.RecordMailer(t.Context(), s.db, true); err != nil {
			t.Fatal(err)
		}
		app := c.enrolled(t)
		const home = "198.51.100.1"
		c.logInFrom(t, home, password, app.recovery[0]).want(t, http.StatusOK, "")
		stranger := func(n int) string { return fmt.Sprintf("203.0.113.%d", n+1) }
		day := 0
		for range 6 {
			day += c.wrongCodes(t, 50, password, stranger)
			s.clock.advance(time.Hour + time.Minute)
		}
		if day != 40 {
			t.Errorf("strangers had %d attempts in a day", day)
		}
		c.logInFrom(t, stranger(0), password, app.recovery[1]).want(t, http.StatusTooManyRequests, api.CodeRateLimited)
		c.logInFrom(t, home, password, app.recovery[1]).want(t, http.StatusOK, "")

		acts, err := s.db.Audit(t.Context(), base.AuditFilter{Account: &c.id, Act: "user.wrong-code", Limit: 100})
		if err != nil || len(acts) != 8 || acts[7].Name != c.email || acts[7].Source == "" {
			t.Errorf("%d entries, %v: want the first and the last attempt of each hour", len(acts), err)
		}
		if told := c.mailsOf(t, identity.MailWrongCodes); told != 1 {
			t.Errorf("%d mails", told)
		}
		known := 0
		for range 8 {
			known += c.wrongCodes(t, 50, password, func(int) string { return home })
			s.clock.advance(time.Hour + time.Minute)
		}
		if known != 60 {
			t.Errorf("known sources had %d attempts in a day", known)
		}
		s.clock.advance(24 * time.Hour)
		c.logInFrom(t, stranger(0), password, app.recovery[2]).want(t, http.StatusOK, "")
	})
}

// mailsOf claims the due mails of the company and returns how many are of a kind.
func (c *company) mailsOf(t testing.TB, kind identity.MailKind) (found int) {
	t.Helper()
	for from := (base.ScanCursor{}); ; {
		step, err := identity.DueMailQueues(t.Context(), c.db, from)
		if err != nil {
			t.Fatal(err)
		}
		for _, due := range step.Queues {
			if due.Company() != c.id {
				continue
			}
			leases, err := identity.ClaimMails(t.Context(), due, 1000, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			for _, lease := range leases {
				if lease.Kind == kind && lease.To == c.email {
					found++
				}
			}
		}
		if from = step.Next; from.IsZero() {
			return found
		}
	}
}

// TestRightCodesInFlight: right codes that are compared at the same time use up nobody's attempts, so that none is
// refused with 429.
func TestRightCodesInFlight(t *testing.T) {
	onEngines(t, guessing, func(t *testing.T, s *system) {
		c := s.company(t)
		app := c.enrolled(t)
		for range 8 {
			c.logIn(t, password, "12345x").want(t, http.StatusUnauthorized, api.CodeOTPRequired)
		}
		var wg sync.WaitGroup
		answers := make(chan int, 9)
		for range 9 {
			wg.Go(func() { answers <- c.logIn(t, password, app.recovery[0]).status })
		}
		wg.Wait()
		close(answers)
		got := map[int]int{}
		for status := range answers {
			got[status]++
		}
		if got[http.StatusOK] != 1 || got[http.StatusTooManyRequests] > 0 {
			t.Errorf("answers %v", got)
		}
		c.logIn(t, password, app.recovery[1]).want(t, http.StatusOK, "")
	})
}

// TestWrongCodesAtOnce: of many wrong codes at the same time no more are compared than one after the other, whichever
// of them might be right.
func TestWrongCodesAtOnce(t *testing.T) {
	onEngines(t, guessing, func(t *testing.T, s *system) {
		c := s.company(t)
		c.enrolled(t)
		var wg sync.WaitGroup
		answers := make(chan int, 20)
		for n := range 20 {
			wg.Go(func() { answers <- c.logInFrom(t, fmt.Sprintf("203.0.113.%d", n+1), password, "12345x").status })
		}
		wg.Wait()
		close(answers)
		got := map[int]int{}
		for status := range answers {
			got[status]++
		}
		if got[http.StatusUnauthorized] != 10 || got[http.StatusTooManyRequests] != 10 {
			t.Errorf("answers %v", got)
		}
	})
}
