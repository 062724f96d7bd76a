package server_test

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ops/service"
	"quittance/test/kit"
)

// login tries to log in through proxies.
func (s *system) login(t *testing.T, email, password string, forwarded ...string) response {
	t.Helper()
	return s.send(t, request{method: http.MethodPost, path: loginPath, body: credentials(email, password),
		header: http.Header{"X-Forwarded-For": forwarded}})
}

// TestFailedLoginsAreIndistinguishable checks that the responses to an unknown e-mail address, to a wrong password and
// to a wrong password of a suspended account are the same.
func TestFailedLoginsAreIndistinguishable(t *testing.T) {
	onFirst(t, walkConfig, func(t *testing.T, s *system) {
		c, suspended := s.company(t), s.company(t)
		suspended.suspend(t)
		var responses []response
		for _, email := range []string{c.email, "nobody@example.com", suspended.email, "no address at all",
			`"quoted"@example.com`} {
			a := s.login(t, email, "wrong password", s.source())
			a.want(t, http.StatusUnauthorized, api.CodeInvalidCredentials)
			for _, own := range []string{api.HeaderRequestID, "Date"} {
				a.header.Del(own)
			}
			responses = append(responses, a)
		}
		for _, a := range responses[1:] {
			if a.text != responses[0].text || !maps.EqualFunc(a.header, responses[0].header, slices.Equal[[]string]) {
				t.Errorf("%s\n%v %s\n%v %s", a.request.body, a.header, a.text, responses[0].header, responses[0].text)
			}
		}
		s.login(t, suspended.email, password, s.source()).want(t, http.StatusForbidden, api.CodeAccountSuspended)
	})
}

// sharedLog is a log that the goroutines of a server write to.
type sharedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements [io.Writer].
func (l *sharedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// line returns the first line with a text, or "".
func (l *sharedLog) line(text string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, text) {
			return line
		}
	}
	return ""
}

// TestLoginIsLoggedWithItsUser checks that the line of a login names the account and the user.
func TestLoginIsLoggedWithItsUser(t *testing.T) {
	var log sharedLog
	onFirst(t, func(c *service.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) },
		func(t *testing.T, s *system) {
			c := s.company(t)
			answer := s.login(t, c.email, password)
			answer.want(t, http.StatusOK, "")
			id := answer.header.Get(api.HeaderRequestID)
			kit.Until(t, "the line of the login", func() bool { return log.line(id) != "" }) // it is written after the response
			if line := log.line(id); !strings.Contains(line, "account="+c.id.String()) ||
				!strings.Contains(line, "user="+c.user.ID.String()) {
				t.Errorf("the line is %q", line)
			}
		})
}

// TestLoginLimit checks that one source may try ten logins a minute for one e-mail address, with right and wrong
// passwords, and that the headers count down.
func TestLoginLimit(t *testing.T) {
	onEngines(t, walkConfig, func(t *testing.T, s *system) {
		s.clock.stop(t)
		c := s.company(t)
		from := s.source()
		for n := range loginsAMinute {
			a := s.login(t, c.email, "wrong", from)
			a.want(t, http.StatusUnauthorized, api.CodeInvalidCredentials)
			wantLimit(t, a, loginsAMinute-1-n)
		}
		refused := s.login(t, c.email, password, from)
		refused.want(t, http.StatusTooManyRequests, api.CodeRateLimited)
		wantLimit(t, refused, 0)
		// the same address in another spelling
		s.login(t, " "+c.email+" ", password, from).want(t, http.StatusTooManyRequests, api.CodeRateLimited)
		// the owner can still log in from elsewhere
		s.login(t, c.email, password, s.source()).want(t, http.StatusOK, "")
		s.login(t, s.company(t).email, password, from).want(t, http.StatusOK, "")
	})
}

func wantLimit(t *testing.T, a response, remaining int) {
	t.Helper()
	if got := a.header; got.Get("RateLimit-Limit") != fmt.Sprint(loginsAMinute) ||
		got.Get("RateLimit-Remaining") != fmt.Sprint(remaining) || !wholeSeconds.MatchString(got.Get("RateLimit-Reset")) {
		t.Errorf("limit %q, remaining %q, reset %q, want %d of %d", got.Get("RateLimit-Limit"),
			got.Get("RateLimit-Remaining"), got.Get("RateLimit-Reset"), remaining, loginsAMinute)
	}
}

// TestForwardedFor checks that, behind a trusted proxy, each caller has its own limit, whatever addresses it puts into
// X-Forwarded-For itself. Without a trusted proxy, all callers share the limit of the peer. TestSource checks the other
// cases.
func TestForwardedFor(t *testing.T) {
	t.Run("from a trusted proxy", func(t *testing.T) {
		onFirst(t, func(c *service.Config) { walkConfig(c); c.LoginRate = 2 }, func(t *testing.T, s *system) {
			s.clock.stop(t)
			c := s.company(t)
			for _, from := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"} {
				s.login(t, c.email, "wrong", from).want(t, http.StatusUnauthorized, api.CodeInvalidCredentials)
			}
			for n, from := range []string{"192.0.2.4, 198.51.100.1", "192.0.2.5,198.51.100.1", "192.0.2.6, 198.51.100.1"} {
				wantLoginCounted(t, s.login(t, c.email, "wrong", from), n < 2)
			}
		})
	})
	t.Run("from another peer", func(t *testing.T) {
		onFirst(t, func(c *service.Config) { c.LoginRate, c.Now = 2, time.Now }, func(t *testing.T, s *system) {
			s.clock.stop(t)
			c := s.company(t)
			for n, from := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"} {
				wantLoginCounted(t, s.login(t, c.email, "wrong", from), n < 2)
			}
		})
	})
}

func wantLoginCounted(t *testing.T, a response, withinLimit bool) {
	t.Helper()
	if withinLimit {
		a.want(t, http.StatusUnauthorized, api.CodeInvalidCredentials)
	} else {
		a.want(t, http.StatusTooManyRequests, api.CodeRateLimited)
	}
}

// TestCallLimit checks that each token has its own limit of calls a minute, and that the headers count down.
func TestCallLimit(t *testing.T) {
	onFirst(t, func(c *service.Config) { c.RateLimit, c.Now = 3, time.Now }, func(t *testing.T, s *system) {
		s.clock.stop(t)
		c := s.company(t)
		token := c.token(t)
		call := func(token string) response {
			return s.send(t, request{method: http.MethodGet, path: invoicesPath, token: token})
		}
		for n := range 3 {
			a := call(token)
			a.want(t, http.StatusOK, "")
			if got := a.header.Get("RateLimit-Remaining"); got != fmt.Sprint(2-n) {
				t.Errorf("remaining %q after %d calls", got, n+1)
			}
		}
		call(token).want(t, http.StatusTooManyRequests, api.CodeRateLimited)
		call(c.token(t)).want(t, http.StatusOK, "")
		s.send(t, request{method: http.MethodGet, path: "/healthz"}).want(t, http.StatusOK, "")
	})
}
