package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"quittance/client"
	"quittance/client/api"
)

func isCanceled(err error) bool { return errors.Is(err, context.Canceled) }

// refusalOf returns the status and code that an error carries.
func refusalOf(err error) (int, api.Code) {
	var response *client.ResponseError
	var said *api.Error
	if !errors.As(err, &response) || !errors.As(err, &said) {
		return 0, ""
	}
	return response.Status, said.Code
}

func TestLogsInOnFirstUseAndAgainWhenTheTokenIsRejected(t *testing.T) {
	s, c, waits := start(t)
	if s.loginRequests() != 0 {
		t.Fatal("logged in before the first call")
	}
	for range 3 {
		if _, err := c.Invoice(t.Context(), "i"); err != nil {
			t.Fatal(err)
		}
	}
	if s.loginRequests() != 1 {
		t.Fatalf("%d logins", s.loginRequests())
	}
	s.revoke(1)
	if _, err := c.CreateInvoice(t.Context(), api.Draft{}); err != nil {
		t.Fatal(err)
	}
	got := s.requests()[3:]
	if s.loginRequests() != 2 || s.made() != 1 || len(got) != 2 || got[0].key != got[1].key ||
		got[1].authorization != "Bearer "+tokens+"2" {
		t.Errorf("%d logins, %d effects, requests %+v", s.loginRequests(), s.made(), got)
	}
	if len(waits.waits) > 0 {
		t.Errorf("waited %v", waits.waits)
	}
}

func TestTokenRejectedTwiceIsAnError(t *testing.T) {
	s, c, _ := start(t)
	s.revoke(1000)
	_, err := c.Invoice(t.Context(), "i")
	if status, code := refusalOf(err); status != 401 || code != api.CodeUnauthenticated || s.loginRequests() != 2 ||
		len(s.requests()) != 2 {
		t.Errorf("%v after %d logins and %d requests", err, s.loginRequests(), len(s.requests()))
	}
}

// TestForeign401CausesNoLogin checks that only the service's own rejection of a token causes a login, not a 401 from
// anything else.
func TestForeign401CausesNoLogin(t *testing.T) {
	s, c, _ := start(t)
	s.fallback = write(401, "<html>proxy authentication</html>")
	var response *client.ResponseError
	if _, err := c.Invoice(t.Context(), "i"); !errors.As(err, &response) || response.Status != 401 ||
		response.Err != nil || s.loginRequests() != 1 {
		t.Errorf("%v after %d logins", err, s.loginRequests())
	}
}

func TestRejectedLoginsAreReturned(t *testing.T) {
	for name, test := range map[string]struct {
		password string
		response http.HandlerFunc
		status   int
		code     api.Code
	}{
		"wrong password": {password: "wrong", status: 401, code: api.CodeInvalidCredentials},
		"suspended account": {password: password, response: refuse(403, api.CodeAccountSuspended), status: 403,
			code: api.CodeAccountSuspended},
		"no token accepted": {password: password, response: refuse(401, api.CodeUnauthenticated), status: 401,
			code: api.CodeUnauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			s, waits := newService(t), &sleeps{}
			s.atLogin = []http.HandlerFunc{test.response}
			config := s.configure(waits)
			config.Password = test.password
			_, err := newClient(t, config).Invoice(t.Context(), "i")
			if status, code := refusalOf(err); status != test.status || code != test.code {
				t.Errorf("%v", err)
			}
			if s.loginRequests() != 1 || len(s.requests()) != 0 || len(waits.waits) != 0 {
				t.Errorf("%d logins, %d requests, waits %v", s.loginRequests(), len(s.requests()), waits.waits)
			}
		})
	}
}

// TestSecondFactor checks that a login asks for a code only when the service has, sends it once, and returns the
// failure of a wrong one.
func TestSecondFactor(t *testing.T) {
	s := newService(t)
	s.atLogin = []http.HandlerFunc{refuse(401, api.CodeOTPRequired)}
	config := s.configure(&sleeps{})
	asked := 0
	config.OTP = func(context.Context) (string, error) { asked++; return "287082", nil }
	if _, err := newClient(t, config).Invoice(t.Context(), "i"); err != nil || asked != 1 || s.loginRequests() != 2 {
		t.Errorf("%v, asked %d times, %d logins", err, asked, s.loginRequests())
	}
	s.atLogin = []http.HandlerFunc{refuse(401, api.CodeOTPRequired), refuse(401, api.CodeOTPRequired)}
	if _, err := newClient(t, config).Invoice(t.Context(), "i"); err == nil || asked != 2 || s.loginRequests() != 4 {
		t.Errorf("%v, asked %d times, %d logins", err, asked, s.loginRequests())
	} else if _, code := refusalOf(err); code != api.CodeOTPRequired {
		t.Errorf("%v", err)
	}
	s.atLogin = []http.HandlerFunc{refuse(401, api.CodeOTPRequired), drop}
	if _, err := newClient(t, config).Invoice(t.Context(), "i"); err == nil || asked != 3 || s.loginRequests() != 6 {
		t.Errorf("a lost login with a code: %v, asked %d times, %d logins", err, asked, s.loginRequests())
	}
	s.atLogin = []http.HandlerFunc{refuse(401, api.CodeOTPRequired)}
	failed := errors.New("no authenticator at hand")
	config.OTP = func(context.Context) (string, error) { return "", failed }
	if _, err := newClient(t, config).Invoice(t.Context(), "i"); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}

func TestLogin(t *testing.T) {
	s, c, _ := start(t)
	for n, token := range []string{tokens + "1", tokens + "2"} {
		response, err := c.Login(t.Context())
		if err != nil || response.Token != token || response.User.Email != email {
			t.Fatalf("%+v, %v", response, err)
		}
		if _, err := c.Invoice(t.Context(), "i"); err != nil || s.requests()[n].authorization != "Bearer "+token {
			t.Errorf("%v, %+v", err, s.requests())
		}
	}
	s.atLogin = []http.HandlerFunc{write(200, `{"data":{}}`)}
	if _, err := c.Login(t.Context()); !errors.Is(err, client.ErrUnreadable) {
		t.Errorf("a login without a token: %v", err)
	}
	if _, err := c.Invoice(t.Context(), "i"); err != nil || s.loginRequests() != 3 {
		t.Errorf("the token before it is no longer used: %v", err)
	}
}

func TestLogout(t *testing.T) {
	s, c, _ := start(t)
	if err := c.Logout(t.Context()); err != nil || len(s.arrived) != 0 {
		t.Fatalf("a logout without a login: %v, %+v", err, s.arrived)
	}
	loggedOut := write(200, `{"data":{"logged_out":true}}`)
	for name, test := range map[string]struct {
		responses []http.HandlerFunc
		logins    int // of the call that follows
		failed    bool
	}{
		"done": {responses: []http.HandlerFunc{loggedOut}, logins: 1},
		"done, and the answer is lost": {responses: []http.HandlerFunc{drop, refuse(401, api.CodeUnauthenticated)},
			logins: 1},
		"not done, and the token is good":  {responses: []http.HandlerFunc{refuse(500, api.CodeInternal)}, failed: true},
		"the token was no longer accepted": {responses: []http.HandlerFunc{refuse(401, api.CodeUnauthenticated)}, logins: 1},
	} {
		if _, err := c.Login(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.script = test.responses
		before := s.loginRequests()
		if err := c.Logout(t.Context()); (err != nil) != test.failed {
			t.Errorf("%s: %v", name, err)
		}
		if n := s.loginRequests() - before; n != 0 {
			t.Errorf("%s: %d logins to log out", name, n)
		}
		if _, err := c.Invoice(t.Context(), "i"); err != nil || s.loginRequests()-before != test.logins {
			t.Errorf("%s: the next call: %v after %d logins", name, err, s.loginRequests()-before)
		}
	}
}

// TestChangePassword checks that a changed password is used from then on. A change whose response is lost is not
// retried, and a rejected change has no effect.
func TestChangePassword(t *testing.T) {
	s, waits := newService(t), &sleeps{}
	config := s.configure(waits)
	config.Password = "the old one, also good"
	c := newClient(t, config)
	token := write(200, `{"data":{"token":"`+tokens+`0"}}`)
	s.atLogin = []http.HandlerFunc{token}
	s.script = []http.HandlerFunc{drop, refuse(422, api.CodeValidationFailed),
		write(200, `{"data":{"password_changed":true}}`)}
	if err := c.ChangePassword(t.Context(), password); err == nil {
		t.Error("no error")
	}
	if _, code := refusalOf(c.ChangePassword(t.Context(), password)); code != api.CodeValidationFailed {
		t.Errorf("refused with %q", code)
	}
	if err := c.ChangePassword(t.Context(), password); err != nil {
		t.Error(err)
	}
	want := `{"current_password":"the old one, also good","new_password":"` + password + `"}`
	got := s.requests()
	if len(got) != 3 || len(waits.waits) > 0 {
		t.Fatalf("%d requests, waits %v", len(got), waits.waits)
	}
	for _, e := range got {
		if e.method != "POST" || e.path != "/api/v1/client/auth/password" || e.key != "" || e.body != want {
			t.Errorf("%+v", e)
		}
	}
	if _, err := c.Login(t.Context()); err != nil {
		t.Errorf("the new password is not used: %v", err)
	}
}

// inProcess serves requests without a socket, because synctest does not support sockets.
type inProcess struct{ http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	p.ServeHTTP(recorder, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return recorder.Result(), nil
}

// runConcurrently runs calls that all need a login at the same time. The login ends when all of them wait for it.
func runConcurrently(t *testing.T, s *service, password string, size int) (errs []error) {
	t.Helper()
	errs = make([]error, size)
	release := make(chan struct{})
	s.atLogin = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		<-release
		var body [4096]byte
		n, err := r.Body.Read(body[:])
		if err != nil {
			panic(err)
		}
		s.login(w, body[:n])
	}}
	c := newClient(t, client.Config{BaseURL: "http://quittance.test", Email: email, Password: password,
		HTTPClient: &http.Client{Transport: inProcess{s}}})
	var group sync.WaitGroup
	for n := range errs {
		group.Go(func() { _, errs[n] = c.Invoice(t.Context(), "i") })
	}
	synctest.Wait()
	close(release)
	group.Wait()
	return errs
}

func TestConcurrentCallsLogInOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		for _, err := range runConcurrently(t, s, password, 50) {
			if err != nil {
				t.Error(err)
			}
		}
		if s.loginRequests() != 1 || len(s.requests()) != 50 {
			t.Errorf("%d logins, %d requests", s.loginRequests(), len(s.requests()))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		for _, err := range runConcurrently(t, s, "wrong", 50) {
			if _, code := refusalOf(err); code != api.CodeInvalidCredentials {
				t.Error(err)
			}
		}
		if s.loginRequests() != 1 || len(s.requests()) != 0 {
			t.Errorf("a wrong password was tried %d times, and %d requests made", s.loginRequests(), len(s.requests()))
		}
	})
}

// TestConcurrentCallsLogInAgainOnce checks that one new login is enough when all tokens are rejected and the calls
// notice it one after another.
func TestConcurrentCallsLogInAgainOnce(t *testing.T) {
	s, c, _ := start(t)
	if _, err := c.Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.revoke(1)
	errs := make([]error, 30)
	var group sync.WaitGroup
	for n := range errs {
		group.Go(func() { _, errs[n] = c.CreateInvoice(t.Context(), api.Draft{}) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil || s.loginRequests() != 2 || s.made() != len(errs) {
		t.Errorf("%v, %d logins, %d effects", err, s.loginRequests(), s.made())
	}
}

// TestAbandonedLoginIsTakenOver checks that another call takes over if the call that logs in for the others gives up,
// which proves nothing about the credentials. A waiting call can give up by itself.
func TestAbandonedLoginIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{atLogin: []http.HandlerFunc{func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}}
		c := newClient(t, client.Config{BaseURL: "http://quittance.test", Email: email, Password: password,
			HTTPClient: &http.Client{Transport: inProcess{s}}})
		call := func(ctx context.Context) <-chan error {
			done := make(chan error, 1)
			go func() {
				_, err := c.Invoice(ctx, "i")
				done <- err
			}()
			synctest.Wait() // until it waits for the login
			return done
		}
		leading, leave := context.WithCancel(t.Context())
		waiting, stop := context.WithCancel(t.Context())
		first, second, third := call(leading), call(waiting), call(t.Context())
		stop()
		if err := <-second; !isCanceled(err) {
			t.Errorf("the waiting call: %v", err)
		}
		leave()
		if err := <-first; !isCanceled(err) {
			t.Errorf("the leading call: %v", err)
		}
		if err := <-third; err != nil || s.loginRequests() != 2 {
			t.Errorf("the call that took over: %v, %d logins", err, s.loginRequests())
		}
	})
}

// TestAPIKey checks that a client with an API key sends it with every call and to nobody else, never logs in, and fails
// when the key is not accepted.
func TestAPIKey(t *testing.T) {
	s, _, waits := start(t)
	config := s.configure(waits)
	// the service accepts the tokens of its logins, and this one is none
	config.APIKey, config.Email, config.Password = tokens+"0", "", ""
	c := newClient(t, config)
	if _, err := c.Invoice(t.Context(), "invoice-1"); !isCode(err, api.CodeUnauthenticated) {
		t.Errorf("a key that is not accepted: %v", err)
	}
	s.fallback = write(200, `{"data":{"id":"invoice-1"}}`)
	if _, err := c.Invoice(t.Context(), "invoice-1"); err != nil {
		t.Error(err)
	}
	for _, e := range s.requests() {
		if e.authorization != "Bearer "+config.APIKey {
			t.Errorf("a call with %q", e.authorization)
		}
	}
	if _, err := c.Login(t.Context()); !errors.Is(err, client.ErrAPIKey) {
		t.Errorf("Login: %v", err)
	}
	if err := c.ChangePassword(t.Context(), "a longer password"); !errors.Is(err, client.ErrAPIKey) {
		t.Errorf("ChangePassword: %v", err)
	}
	if err := c.Logout(t.Context()); err != nil {
		t.Errorf("Logout: %v", err)
	}
	if n := len(s.requests()); n != 2 || s.loginRequests() != 0 {
		t.Errorf("%d requests and %d logins, want 2 and none", n, s.loginRequests())
	}
	for _, shown := range []string{fmt.Sprintf("%+v %#v", c, c), fmt.Sprint(config)} {
		if strings.Contains(shown, config.APIKey) {
			t.Errorf("the key is shown: %s", shown)
		}
	}
}

func isCode(err error, code api.Code) bool {
	apiErr, ok := errors.AsType[*api.Error](err)
	return ok && apiErr.Code == code
}
