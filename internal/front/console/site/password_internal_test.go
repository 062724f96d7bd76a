package site

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"quittance/internal/account"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
)

// TestSessionEndsDuringChange checks that if a session ends during a password change, the user gets to the login page
// and nothing is changed.
func TestSessionEndsDuringChange(t *testing.T) {
	t.Parallel()
	c, s := secured(t)
	const password, chosen = "correct horse battery staple", "three mild walruses sing"
	hash, err := account.DefaultCost().Hash(password)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := identity.CreateAccount(t.Context(), s.DB, "Palm", identity.NewUser{Email: "a@example.com",
		PasswordHash: hash}); err != nil {
		t.Fatal(err)
	}
	post := func(path string, form url.Values, cookies ...*http.Cookie) *http.Response {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, cookie := range cookies {
			request.AddCookie(cookie)
		}
		recorder := httptest.NewRecorder()
		if served := c.Serve(recorder, request, "192.0.2.1", direct{c, request}); !served.Found || served.Err != nil {
			t.Fatalf("%s: %+v", path, served)
		}
		return recorder.Result()
	}
	in := post("/login", url.Values{"email": {"a@example.com"}, "password": {password}})
	if len(in.Cookies()) != 1 {
		t.Fatalf("%d %v", in.StatusCode, in.Header)
	}
	c.Accounts.LoginRate = 10
	c.Accounts.Now = func() time.Time { // called after the session is loaded and before the change
		s.Clock.Advance(2 * c.Accounts.TokenTTL)
		return s.Clock.Now()
	}
	got := post("/account/password", url.Values{"current": {password}, "new": {chosen}}, in.Cookies()[0])
	if got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != "/login" {
		t.Errorf("%d to %q", got.StatusCode, got.Header.Get("Location"))
	}
	user, err := s.UserByEmail(t.Context(), "a@example.com")
	if err != nil || user.PasswordHash != hash {
		t.Errorf("the password was changed, error %v", err)
	}
}

// TestBusyHasher checks that when too many passwords wait for hashing, the user is asked to try again.
func TestBusyHasher(t *testing.T) {
	t.Parallel()
	if p := problem.Of(fmt.Errorf("login: %w", account.ErrBusy)); p.Status() != http.StatusServiceUnavailable {
		t.Errorf("status %d", p.Status())
	}
}
