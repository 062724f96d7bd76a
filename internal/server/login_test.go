package server_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"testing"

	"quittance/api"
	"quittance/internal/service"
)

// login tries to log in from behind proxies.
func (s *system) login(t *testing.T, email, password string, forwarded ...string) answer {
	t.Helper()
	return s.send(t, request{method: http.MethodPost, path: loginPath, body: credentials(email, password), header: http.Header{"X-Forwarded-For": forwarded}})
}

// TestLoginTellsNothing: an unknown e-mail address, a wrong password and a wrong password of a suspended account differ in
// nothing that is sent.
func TestLoginTellsNothing(t *testing.T) {
	onEngines(t, walkConfig, func(t *testing.T, s *system) {
		c, suspended := s.company(t), s.company(t)
		suspended.suspend(t)
		var answers []answer
		for _, email := range []string{c.email, "nobody@example.com", suspended.email, "no address at all", `"quoted"@example.com`} {
			a := s.login(t, email, "wrong password", s.source())
			a.want(t, http.StatusUnauthorized, api.CodeInvalidCredentials)
			for _, own := range []string{api.HeaderRequestID, "Date"} {
				a.header.Del(own)
			}
			answers = append(answers, a)
		}
		for _, a := range answers[1:] {
			if a.text != answers[0].text || !maps.EqualFunc(a.header, answers[0].header, slices.Equal[[]string]) {
				t.Errorf("%s\n%v %s\n%v %s", a.request.body, a.header, a.text, answers[0].header, answers[0].text)
			}
		}
		s.login(t, suspended.email, password, s.source()).want(t, http.StatusForbidden, api.CodeAccountSuspended)
	})
}

// TestLoginLimit: ten logins a minute from one source for one e-mail address, the right password or not; the headers
// count down.
func TestLoginLimit(t *testing.T) {
	onEngines(t, walkConfig, func(t *testing.T, s *system) {
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
		s.login(t, " "+c.email+" ", password, from).want(t, http.StatusTooManyRequests, api.CodeRateLimited) // another spelling is the same address
		s.login(t, c.email, password, s.source()).want(t, http.StatusOK, "")                                 // nobody locks the owner out
		s.login(t, s.company(t).email, password, from).want(t, http.StatusOK, "")
	})
}

func wantLimit(t *testing.T, a answer, remaining int) {
	t.Helper()
	if got := a.header; got.Get("RateLimit-Limit") != fmt.Sprint(loginsAMinute) || got.Get("RateLimit-Remaining") != fmt.Sprint(remaining) || !wholeSeconds.MatchString(got.Get("RateLimit-Reset")) {
		t.Errorf("limit %q, remaining %q, reset %q, want %d of %d", got.Get("RateLimit-Limit"), got.Get("RateLimit-Remaining"), got.Get("RateLimit-Reset"), remaining, loginsAMinute)
	}
}

// TestForwardedFor: X-Forwarded-For counts only when a trusted proxy has sent it, and then the last address that is no
// trusted proxy: what stands before it is a stranger's word.
func TestForwardedFor(t *testing.T) {
	few := func(trusted ...string) func(*service.Config) {
		return func(c *service.Config) {
			c.LoginRate = 2
			for _, prefix := range trusted {
				c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix(prefix))
			}
		}
	}
	for _, test := range []struct {
		name    string
		trusted []string
		// Each login comes with one of these; the third is refused when all come from one source.
		forwarded [3][]string
		one       bool
	}{
		{"nobody is trusted", nil, [3][]string{{"192.0.2.1"}, {"192.0.2.2"}, {"192.0.2.3"}}, true},
		{"another proxy is trusted", []string{"10.0.0.0/8"}, [3][]string{{"192.0.2.1"}, {"192.0.2.2"}, {"192.0.2.3"}}, true},
		{"the peer is trusted", []string{"127.0.0.0/8"}, [3][]string{{"192.0.2.1"}, {"192.0.2.2"}, {"192.0.2.3"}}, false},
		{"strangers put addresses before their own", []string{"127.0.0.0/8"}, [3][]string{{"192.0.2.1, 198.51.100.7"}, {"192.0.2.2,198.51.100.7"}, {"192.0.2.3", "198.51.100.7"}}, true},
		{"a chain of trusted proxies", []string{"127.0.0.0/8", "10.0.0.0/8"}, [3][]string{{"192.0.2.1, 10.0.0.1"}, {"192.0.2.2, 10.0.0.1"}, {"192.0.2.3, 10.0.0.2"}}, false},
		{"an address in two spellings", []string{"127.0.0.0/8"}, [3][]string{{"192.0.2.1"}, {"::ffff:192.0.2.1"}, {" 192.0.2.1 "}}, true},
		{"no addresses at all", []string{"127.0.0.0/8"}, [3][]string{{"unknown"}, {""}, {"192.0.2.1, x"}}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, "sqlite", few(test.trusted...))
			c := s.company(t)
			for n, forwarded := range test.forwarded {
				status, code := http.StatusUnauthorized, api.CodeInvalidCredentials
				if test.one && n == 2 {
					status, code = http.StatusTooManyRequests, api.CodeRateLimited
				}
				s.login(t, c.email, "wrong", forwarded...).want(t, status, code)
			}
		})
	}
}

// TestCallLimit: each token has its own calls a minute, and the headers count them down.
func TestCallLimit(t *testing.T) {
	onEngines(t, func(c *service.Config) { c.RateLimit = 3 }, func(t *testing.T, s *system) {
		c := s.company(t)
		token := c.token(t)
		call := func(token string) answer {
			return s.send(t, request{method: http.MethodGet, path: invoices, token: token})
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
