package site_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"golang.org/x/net/html"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/accounttest"
	"quittance/test/kit"
)

const given = "given by an administrator"

// newcomer creates an account whose user has a password from an administrator.
func (s *system) newcomer(t *testing.T, email string) base.User {
	t.Helper()
	hash, err := accounttest.Cheap().Hash(given)
	kit.Must(t, err)
	_, err = identity.CreateAccount(t.Context(), s.DB(), "New LLC", identity.NewUser{Email: email, Name: "New",
		PasswordHash: hash, PasswordChangeRequired: true})
	kit.Must(t, err)
	user, err := s.DB().UserByEmail(t.Context(), email)
	kit.Must(t, err)
	return user
}

// wantTo checks that the response redirects to a page.
func (a response) wantTo(t *testing.T, want string) {
	t.Helper()
	if a.status != http.StatusSeeOther || a.header.Get("Location") != want {
		t.Errorf("%d to %q, want to %q", a.status, a.header.Get("Location"), want)
	}
}

// loginResponse is the API's response to a login.
func (s *system) loginResponse(t *testing.T, email, password string) (login api.Login) {
	t.Helper()
	if status := s.api(t, "", http.MethodPost, "/api/v1/client/auth/login", api.LoginRequest{Email: &email,
		Password: &password}, &login); status != http.StatusOK {
		t.Fatalf("login: %d", status)
	}
	return login
}

// TestFirstPassword checks that a user with a password from an administrator can open no page before changing it, and
// then continues to the requested page. The API reports this and works. The same is true after a reset.
func TestFirstPassword(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	const email = "new@example.com"
	user := s.newcomer(t, email)
	login := s.loginResponse(t, email, given)
	if !login.PasswordChangeRequired {
		t.Error("the API does not report that the password must be changed")
	}
	if status := s.api(t, login.Token, http.MethodGet, "/api/v1/client/account", nil, nil); status != http.StatusOK {
		t.Errorf("the API answers %d", status)
	}

	v := s.visitor(t)
	v.post("/login", "email", email, "password", given, "next", "/invoices?stage=draft").wantTo(t, "/invoices?stage=draft")
	for path, want := range map[string]string{
		"/": "/password", "/invoices?stage=draft": "/password?next=%2Finvoices%3Fstage%3Ddraft",
		"/account": "/password?next=%2Faccount", "/login": "/", "/invoices/new": "/password?next=%2Finvoices%2Fnew",
		"/webhooks": "/password?next=%2Fwebhooks",
		"/incoming": "/password?next=%2Fincoming",
	} {
		v.get(path).wantTo(t, want)
	}
	for _, path := range []string{"/invoices/new", "/webhooks/new", "/account/password"} {
		v.post(path, "current", given, "new", strong).wantTo(t, "/password")
	}
	if got := v.get("/invoices", "HX-Request", "true"); got.status != http.StatusOK ||
		got.header.Get("HX-Redirect") != "/password" || got.body != "" {
		t.Errorf("a live part: %d %v", got.status, got.header)
	}
	page := v.get("/password?next=%2Finvoices%3Fstage%3Ddraft")
	if page.status != http.StatusOK || strings.Contains(page.body, "<nav") || !strings.Contains(page.body,
		`value="/invoices?stage=draft"`) || !strings.Contains(page.body, `action="/logout"`) {
		t.Errorf("the page: %d %s", page.status, page.body)
	}
	elements(parse(t, page.body), func(node *html.Node) { wantNothingInline(t, "/password", node, map[string]bool{}) })
	for _, fault := range []struct{ current, chosen, shown string }{
		{"not it at all, no", strong, "current-fault"}, {given, given, "new-fault"}, {given, "short", "new-fault"},
		{given, "aaaaaaaaaaaaaaaa", "new-fault"},
	} {
		if got := v.post("/password", "current", fault.current,
			"new", fault.chosen); got.status != http.StatusUnprocessableEntity ||
			!strings.Contains(got.body, `id="`+fault.shown+`"`) {
			t.Errorf("%q to %q: %d", fault.current, fault.chosen, got.status)
		}
	}
	v.get("/invoices").wantTo(t, "/password?next=%2Finvoices")

	v.post("/password", "current", given, "new", strong, "next", "/invoices?stage=draft").wantTo(t,
		"/invoices?notice=good.password_changed&stage=draft")
	if got := v.get("/invoices?notice=good.password_changed&stage=draft"); got.status != http.StatusOK ||
		!strings.Contains(got.body, "Your password was changed.") {
		t.Errorf("after the change: %d", got.status)
	}
	v.get("/password").wantTo(t, "/account")
	if s.loginResponse(t, email, strong).PasswordChangeRequired {
		t.Error("the API still reports that the password must be changed")
	}
	hash, err := accounttest.Cheap().Hash(given)
	kit.Must(t, err)
	kit.Must(t, identity.ResetPassword(t.Context(), s.DB(), user.Account, user.ID, hash))
	v.get("/account").wantTo(t, "/login?next=%2Faccount")
	v.login(email, given)
	v.get("/account").wantTo(t, "/password?next=%2Faccount")
	v.post("/logout").wantTo(t, "/login?notice=good.logged_out")
}

// TestFirstPasswordByAPI checks that after a change with the API, the console does not ask for a change either.
func TestFirstPasswordByAPI(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	const email = "new@example.com"
	s.newcomer(t, email)
	v := s.visitor(t)
	v.login(email, given)
	token := s.loginResponse(t, email, given).Token
	if status := s.api(t, token, http.MethodPost, "/api/v1/client/auth/password",
		api.PasswordRequest{CurrentPassword: new(given), NewPassword: new(strong)}, nil); status != http.StatusOK {
		t.Fatalf("the change: %d", status)
	}
	v.get("/account").wantTo(t, "/login?next=%2Faccount")
	v.login(email, strong)
	if got := v.get("/account"); got.status != http.StatusOK {
		t.Errorf("after the change: %d to %q", got.status, got.header.Get("Location"))
	}
}

// TestFirstPasswordPage checks that the page for the first password is accessible, with and without an error; that it
// says the rules of the server before it refuses, counts the characters, and shows and hides what is typed.
func TestFirstPasswordPage(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, time.Millisecond)
		s.newcomer(t, "new@example.com")
		b := newBrowser(t, s.base)
		b.open("/account")
		b.until(`location.pathname === "/login"`)
		b.fill("#email", "new@example.com")
		b.fill("#password", given)
		b.click("form button")
		b.until(`location.pathname === "/password"`)
		b.until(`document.querySelector("#new-rule").innerText.startsWith("15 to 256 characters.")`)
		b.inspect("password")
		hint := func(typed, want string) {
			t.Helper()
			b.fill("#new", typed)
			b.until(fmt.Sprintf(`document.querySelector("[data-strength=new]").innerText === %q`, want))
		}
		hint("مرحبا", "5 of at least 15 characters")
		hint(strings.Repeat("a", 20), "One character repeated: choose other characters.")
		hint("ababababababababab", "Long enough, but with few different characters. Add another word.")
		hint(strong, "Long enough.")
		shown := func(want string) { b.until(fmt.Sprintf(`document.querySelector("#new").type === %q`, want)) }
		shown("password")
		b.click("#reveal-new")
		shown("text")
		b.until(`document.querySelector("#reveal-new").innerText === "Hide password"`)
		b.inspect("password-shown")
		b.click("#reveal-new")
		shown("password")
		b.click("#reveal-new")
		b.fill("#current", given)
		b.fill("#new", given)
		b.do(
			chromedp.Evaluate(
				`document.addEventListener("submit", () => localStorage.setItem("sent as", document.querySelector("#new").type))`,
				nil))
		b.click("form button.primary")
		b.until(`document.querySelector("#new-fault")`)
		b.until(`localStorage.getItem("sent as") === "password"`)
		b.refused("422")
		b.inspect("password-fault")
		b.fill("#current", given)
		b.fill("#new", strong)
		b.click("form button.primary")
		b.until(`location.pathname === "/account" && document.querySelector(".notice.good")`)
	})
}

// TestPasswordManagers checks that each form for a password names its fields as password managers expect: the user, the
// current password and the new one.
func TestPasswordManagers(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	s.newcomer(t, "new@example.com")
	newcomer := s.visitor(t)
	newcomer.login("new@example.com", given)
	link := invitationLink.FindStringSubmatch(s.loggedIn(t).post("/users/invitations", "email", "books@example.com",
		"role", "viewer").body)
	for name, page := range map[string]string{"login": s.visitor(t).get("/login").body,
		"first": newcomer.get("/password").body, "account": s.loggedIn(t).get("/account").body,
		"join": s.visitor(t).post("/join", "code", link[3]).body} {
		var got []string
		elements(parse(t, page), func(node *html.Node) {
			if of := attribute(node, "autocomplete"); node.Data == "input" &&
				(of == "username" || strings.HasSuffix(of, "password")) {
				got = append(got, of)
			}
		})
		want := map[string]string{"login": "username current-password", "first": "username current-password new-password",
			"account": "username current-password new-password", "join": "username new-password"}[name]
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
}
