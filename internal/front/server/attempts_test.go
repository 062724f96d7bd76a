package server_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/ledger/identity"
	"quittance/internal/ops/service"
	"quittance/test/accounttest"
)

const passwordAPI = "/api/v1/client/auth/password"

// burst sends n requests concurrently and counts the responses by status.
func (s *system) burst(t *testing.T, n int, make func(n int) request) map[int]int {
	t.Helper()
	got := map[int]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for n := range n {
		all.Go(func() {
			a, err := s.try(t.Context(), make(n))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			got[a.status]++
			if (a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests) &&
				!wholeSeconds.MatchString(a.header.Get("Retry-After")) {
				t.Errorf("%d with Retry-After %q", a.status, a.header.Get("Retry-After"))
			}
		})
	}
	all.Wait()
	return got
}

// burstsUntilLimited sends bursts of n requests until one of them was refused because of a limit, and counts the
// responses of all of them by status. A request that finds no place to hash its password gets 503 and is not counted,
// so on a busy machine one burst may not be enough.
func (s *system) burstsUntilLimited(t *testing.T, n int, make func(n int) request) (got map[int]int, sent int) {
	t.Helper()
	got = map[int]int{}
	for sent < 5*n && got[http.StatusTooManyRequests] == 0 {
		for status, times := range s.burst(t, n, func(k int) request { return make(sent + k) }) {
			got[status] += times
		}
		sent += n
	}
	return got, sent
}

// TestBurstOfLogins checks that concurrent guesses of one password, each from a different source, do not exceed the
// limit of failures for its e-mail address.
func TestBurstOfLogins(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	onEngines(t, walkConfig, func(t *testing.T, s *system) {
		s.clock.stop(t)
		c := s.company(t)
		got, sent := s.burstsUntilLimited(t, 200, func(int) request {
			return request{method: http.MethodPost, path: loginPath, body: credentials(c.email, "wrong"),
				header: http.Header{"X-Forwarded-For": {s.source()}}}
		})
		if guessed := got[http.StatusUnauthorized]; guessed > 100 || got[http.StatusTooManyRequests] == 0 ||
			guessed+got[http.StatusTooManyRequests]+got[http.StatusServiceUnavailable] != sent {
			t.Errorf("answers %v: want at most 100 of 401", got)
		}
	})
}

// TestBurstOfPasswordChanges checks that concurrent password changes with a stolen token cannot guess more passwords
// than the limit of their source allows.
func TestBurstOfPasswordChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	onEngines(t, func(c *service.Config) { walkConfig(c); c.RateLimit = 0 }, func(t *testing.T, s *system) {
		s.clock.stop(t)
		c := s.company(t)
		token, from := c.token(t), s.source()
		wrong := request{method: http.MethodPost, path: passwordAPI, token: token, body: passwords("wrong", newPassword),
			header: http.Header{"X-Forwarded-For": {from}}}
		got, sent := s.burstsUntilLimited(t, 400, func(int) request { return wrong })
		for range loginsAMinute { // uses up what those have given back that were not counted
			got[s.send(t, wrong).status]++
			sent++
		}
		if guessed := got[http.StatusUnprocessableEntity]; guessed > loginsAMinute || got[http.StatusTooManyRequests] == 0 ||
			guessed+got[http.StatusTooManyRequests]+got[http.StatusServiceUnavailable] != sent {
			t.Errorf("answers %v: want at most %d of 422", got, loginsAMinute)
		}
		// The response to a limited caller does not depend on the password.
		right := s.send(t, request{method: http.MethodPost, path: passwordAPI, token: token,
			body: passwords(password, newPassword), header: http.Header{"X-Forwarded-For": {from}}})
		right.want(t, http.StatusTooManyRequests, api.CodeRateLimited)
	})
}

// TestFailuresCountForTheUser checks that failed logins and failed password changes, each from another network, count
// together against one e-mail address.
func TestFailuresCountForTheUser(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	onFirst(t, func(c *service.Config) { walkConfig(c); c.RateLimit = 0 }, func(t *testing.T, s *system) {
		s.clock.stop(t)
		c := s.company(t)
		token := c.token(t)
		got, _ := s.burstsUntilLimited(t, 110, func(n int) request {
			header := http.Header{"X-Forwarded-For": {fmt.Sprintf("2001:db8:%x::1", n)}}
			if n%2 == 0 {
				return request{method: http.MethodPost, path: loginPath, body: credentials(c.email, "wrong"), header: header}
			}
			return request{method: http.MethodPost, path: passwordAPI, token: token, body: passwords("wrong", newPassword),
				header: header}
		})
		if guessed := got[http.StatusUnauthorized] + got[http.StatusUnprocessableEntity]; guessed > 100 ||
			got[http.StatusTooManyRequests] == 0 {
			t.Errorf("answers %v: want at most 100 of 401 and 422", got)
		}
	})
}

// TestNetworkIsOneSource checks that all addresses of an IPv6 network are one source of logins.
func TestNetworkIsOneSource(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	onFirst(t, walkConfig, func(t *testing.T, s *system) {
		s.clock.stop(t)
		c := s.company(t)
		for n := range loginsAMinute {
			s.login(t, c.email, "wrong", fmt.Sprintf("2001:db8:77:1::%x", n)).want(t, http.StatusUnauthorized,
				api.CodeInvalidCredentials)
		}
		s.login(t, c.email, password, "2001:db8:77:1:ffff::1").want(t, http.StatusTooManyRequests, api.CodeRateLimited)
		s.login(t, c.email, password, "2001:db8:77:2::1").want(t, http.StatusOK, "")
	})
}

// TestTooManyHashes checks that callers get 503 when too many passwords wait to be hashed, and that another company can
// log in meanwhile.
func TestTooManyHashes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	onFirst(t, func(c *service.Config) {
		walkConfig(c)
		c.LoginRate, c.RateLimit, c.PasswordCost = 0, 0, account.DefaultCost()
	}, func(t *testing.T, s *system) {
		c, other := s.company(t), s.company(t)
		token := c.token(t)
		got := s.burst(t, 401, func(n int) request {
			if n == 400 {
				return request{method: http.MethodPost, path: loginPath, body: credentials(other.email, password)}
			}
			return request{method: http.MethodPost, path: passwordAPI, token: token, body: passwords("wrong", newPassword)}
		})
		if got[http.StatusOK] != 1 || got[http.StatusServiceUnavailable] == 0 || got[http.StatusUnprocessableEntity] == 0 ||
			got[http.StatusUnprocessableEntity]+got[http.StatusServiceUnavailable] != 400 {
			t.Errorf("answers %v", got)
		}
	})
}

// TestPasswordResetPrevails checks that an operator's reset prevails over concurrent changes of the same password: only
// the operator's password logs in, and the session that made the changes has ended.
func TestPasswordResetPrevails(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	onEngines(t, func(c *service.Config) { walkConfig(c); c.RateLimit = 0 }, func(t *testing.T, s *system) {
		c := s.company(t)
		const reset = "given by the operator"
		hash, err := accounttest.Cheap().Hash(reset)
		if err != nil {
			t.Fatal(err)
		}
		token, from := c.token(t), s.source()
		known, next := password, newPassword
		changed, ended := make(chan struct{}), make(chan struct{})
		var resetBegun atomic.Bool
		go func() {
			defer close(ended)
			for n := 0; ; n++ {
				a, err := s.try(t.Context(), request{method: http.MethodPost, path: passwordAPI, token: token,
					body: passwords(known, next), header: http.Header{"X-Forwarded-For": {from}}})
				if err != nil || a.status != http.StatusOK {
					// If the reset comes between the check of the token and that of the password, the password is wrong.
					wrong := a.status == http.StatusUnprocessableEntity && resetBegun.Load()
					if err != nil || a.status != http.StatusUnauthorized && !wrong {
						t.Errorf("a change: %d %s, %v", a.status, a.text, err)
					}
					return
				}
				known, next = next, known
				if n == 2 {
					close(changed)
				}
			}
		}()
		select {
		case <-changed:
		case <-ended:
			t.Fatal("the changes ended before the reset")
		}
		resetBegun.Store(true)
		if err := identity.ResetPassword(t.Context(), s.db, c.id, c.user.ID, hash); err != nil {
			t.Fatal(err)
		}
		<-ended
		for _, old := range []string{password, newPassword} {
			s.login(t, c.email, old, s.source()).want(t, http.StatusUnauthorized, api.CodeInvalidCredentials)
		}
		a := s.login(t, c.email, reset, s.source())
		a.want(t, http.StatusOK, "")
		wantRaw(t, a, "/data/password_change_required", "true")
		s.send(t, request{method: http.MethodPost, path: passwordAPI, token: token,
			body: passwords(reset, newPassword)}).want(t, http.StatusUnauthorized, api.CodeUnauthenticated)
		token = a.textAt(t, "/data/token")
		s.send(t, request{method: http.MethodGet, path: invoicesPath, token: token}).want(t, http.StatusOK, "")
		s.send(t, request{method: http.MethodPost, path: passwordAPI, token: token,
			body: passwords(reset, "my own pass phrase")}).want(t, http.StatusOK, "")
		wantRaw(t, s.login(t, c.email, "my own pass phrase", s.source()), "/data/password_change_required", "false")
	})
}
