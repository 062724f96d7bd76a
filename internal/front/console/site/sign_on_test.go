package site_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"quittance/internal/account"
	"quittance/internal/account/sso"
	"quittance/internal/ledger/identity"
	"quittance/internal/ops/service"
	"quittance/test/kit"
	"quittance/test/ssotest"
)

// publicly gives a service an address that is known before it listens, as its public one. The host is a random one of
// the loopback network, because another test could take a port of 127.0.0.1 that nobody listens at yet.
func publicly(t testing.TB) (base string, edit func(*service.Config)) {
	t.Helper()
	address := fmt.Sprintf("127.%d.%d.%d:8443", 64+rand.IntN(64), rand.IntN(256), 1+rand.IntN(254))
	base = "http://" + address
	return base, func(c *service.Config) { c.Listen, c.PublicURL = address, account.PublicURL(base) }
}

// withProvider starts a system whose people may log in at a real OpenID provider, and waits until it has found the
// provider.
func withProvider(t testing.TB, engine string, people ...ssotest.Person) (*system, *ssotest.Provider) {
	t.Helper()
	base, edit := publicly(t)
	provider := ssotest.Start(t, base, false, people...)
	s := start(t, engine, true, time.Hour, edit, func(c *service.Config) { c.SignOn = provider.Config(base) })
	s.waitForProvider(t)
	return s, provider
}

// waitForProvider waits until the login page offers single sign-on.
func (s *system) waitForProvider(t testing.TB) {
	t.Helper()
	s.visitor(t).until("/login", `href="/login/sso`)
}

// signOn begins a login by single sign-on, logs a person in at the provider, and returns the response to the answer of
// the provider.
func (v *visitor) signOn(provider *ssotest.Provider, subject, query string) response {
	v.t.Helper()
	begun := v.get("/login/sso" + query)
	if begun.status != http.StatusSeeOther {
		v.t.Fatalf("begin: %d %s", begun.status, begun.body)
	}
	return v.get(sso.CallbackPath + "?" + provider.LogIn(v.t, begun.header.Get("Location"), subject).Encode())
}

// wantNotice checks that a login was refused with a notice.
func (v *visitor) wantNotice(what string, got response, key string) {
	v.t.Helper()
	if want := "/login?notice=bad." + key; got.status != http.StatusSeeOther || got.header.Get("Location") != want ||
		v.cookie() != "" {
		v.t.Errorf("%s: %d, to %s, want %s", what, got.status, got.header.Get("Location"), want)
	}
	if strings.Contains(v.get("/login?notice=bad."+key).body, "flash.") {
		v.t.Errorf("the notice %s has no text", key)
	}
}

// TestSignOn logs people in at a real OpenID provider, and refuses those who are no users.
func TestSignOn(t *testing.T) {
	t.Parallel()
	s, provider := withProvider(t, first(),
		ssotest.Person{Subject: "ann", Email: "Ann@Palm.example"}, ssotest.Person{Subject: "ben", Email: "ann@palm.example"},
		ssotest.Person{Subject: "kim", Email: "\u212aim@palm.example"},
		ssotest.Person{Subject: "eve", Email: "ann@palm.example", Unverified: true},
		ssotest.Person{Subject: "joe", Email: "joe@palm.example"})
	made := s.company(t, "ann@palm.example", "ann's long password")
	_, err := identity.AddUser(t.Context(), s.DB(), made.ID, identity.NewUser{Email: "kim@palm.example", Name: "Kim",
		Role: "viewer", PasswordHash: "$2"})
	kit.Must(t, err)
	v := s.visitor(t)
	if got := v.signOn(provider, "ann", "?next=%2Finvoices%3Ftab%3Ddrafts"); got.status != http.StatusSeeOther ||
		got.header.Get("Location") != "/invoices?tab=drafts" {
		t.Fatalf("login: %d %s", got.status, got.header.Get("Location"))
	}
	if got := v.get("/account"); got.status != http.StatusOK || !strings.Contains(got.body, "ann@palm.example") {
		t.Errorf("the account page: %d", got.status)
	}
	for subject, key := range map[string]string{"ben": "sso_other", "kim": "sso_no_user", "eve": "sso_unverified",
		"joe": "sso_no_user"} {
		other := s.visitor(t)
		other.wantNotice(subject, other.signOn(provider, subject, ""), key)
	}
	for next, want := range map[string]string{"https://evil.example/": "/", "//evil.example/": "/", "/\\evil.example": "/",
		"/login/sso": "/", "/users?page=2": "/users?page=2"} {
		if got := s.visitor(t).signOn(provider, "ann",
			"?"+url.Values{"next": {next}}.Encode()); got.header.Get("Location") != want {
			t.Errorf("a login for %s leads to %s", next, got.header.Get("Location"))
		}
	}
	owner := s.visitor(t)
	owner.login("ann@palm.example", "ann's long password")
	unlink := regexp.MustCompile(`/users/[0-9a-f-]{36}/unlink`).FindString(owner.get("/users").body)
	if got := owner.post(unlink); got.header.Get("Location") != "/users?notice=good.user_unlinked" ||
		strings.Contains(owner.get("/users").body, "/unlink") {
		t.Errorf("unlink %q: %d, to %s", unlink, got.status, got.header.Get("Location"))
	}
	if got := v.get("/account"); got.status != http.StatusSeeOther {
		t.Errorf("the session goes on after the link has ended: %d", got.status)
	}
	if got := s.visitor(t).signOn(provider, "ben", ""); got.header.Get("Location") != "/" {
		t.Errorf("the next login leads to %s", got.header.Get("Location"))
	}
	kit.Must(t, identity.SuspendAccount(t.Context(), s.DB(), made.ID))
	other := s.visitor(t)
	other.wantNotice("suspended", other.signOn(provider, "ben", ""), "sso_suspended")
}

// TestSignOnRequired checks that an owner requires single sign-on after having logged in by it, and what that means for
// everybody else.
func TestSignOnRequired(t *testing.T) {
	t.Parallel()
	s, provider := withProvider(t, first(), ssotest.Person{Subject: "ann", Email: "ann@palm.example"},
		ssotest.Person{Subject: "new", Email: "new@palm.example"})
	const password = "ann's long password"
	s.company(t, "ann@palm.example", password)
	ann, old := s.visitor(t), s.visitor(t)
	old.login("ann@palm.example", password)
	token := s.token(t, "ann@palm.example", password)
	if got := old.get("/users").body; !strings.Contains(got, "log in with it yourself first") ||
		strings.Contains(got, "Require single sign-on") {
		t.Error("an owner with a password is offered to require single sign-on")
	}
	if got := old.post("/users/login-policy", "policy",
		"single_sign_on"); got.header.Get("Location") != "/users?notice=bad.not_sso" {
		t.Errorf("an owner with a password requires it: %d, to %s", got.status, got.header.Get("Location"))
	}
	ann.signOn(provider, "ann", "")
	if !strings.Contains(ann.get("/users").body, "Require single sign-on") {
		t.Error("the owner cannot require single sign-on")
	}
	if got := ann.post("/users/login-policy", "policy", "second"); got.status != http.StatusBadRequest {
		t.Errorf("an unknown policy: %d", got.status)
	}
	if got := ann.post("/users/login-policy", "policy",
		"single_sign_on"); got.header.Get("Location") != "/users?notice=good.sso_required" {
		t.Fatalf("require: %d, to %s", got.status, got.header.Get("Location"))
	}
	if got := old.get("/users"); got.status != http.StatusSeeOther {
		t.Errorf("the session of a password: %d", got.status)
	}
	if got := s.api(t, token, http.MethodGet, "/api/v1/client/account", nil, nil); got != http.StatusUnauthorized {
		t.Errorf("the token of a password: %d", got)
	}
	if got := old.post("/login", "email", "ann@palm.example", "password", password); got.status != http.StatusForbidden ||
		!strings.Contains(got.body, "requires single sign-on") {
		t.Errorf("a password: %d", got.status)
	}
	if got := old.post("/login", "email", "ann@palm.example", "password",
		"wrong"); got.status != http.StatusUnauthorized || strings.Contains(got.body, "requires single sign-on") {
		t.Errorf("a wrong password: %d", got.status)
	}
	var refused struct{ Error struct{ Code string } }
	got := s.visitor(t).do(http.MethodPost, "/api/v1/client/auth/login",
		`{"email":"ann@palm.example","password":"`+password+`"}`, "Content-Type", "application/json")
	kit.Must(t, json.Unmarshal([]byte(got.body), &refused))
	if got.status != http.StatusForbidden || refused.Error.Code != "single_sign_on_required" {
		t.Errorf("a password in the API: %d %s", got.status, got.body)
	}
	invitation := invitationLink.FindStringSubmatch(ann.post("/users/invitations", "email", "new@palm.example", "role",
		"viewer").body)
	joining := s.visitor(t)
	if got := joining.post("/join/password", "code", invitation[3], "name", "New", "password",
		"a new long password"); got.header.Get("Location") != "/login?notice=good.joined_sso" {
		t.Errorf("an invited person is led to %s", got.header.Get("Location"))
	}
	// nobody has proved the address
	if got := joining.signOn(provider, "new", ""); got.header.Get("Location") != "/login/company" {
		t.Errorf("the invited person is led to %s", got.header.Get("Location"))
	}
	offered := regexp.MustCompile(`name="company" value="([^"]+)"`).FindStringSubmatch(joining.get("/login/company").body)
	if got := joining.post("/login/company", "company", offered[1]); got.header.Get("Location") != "/" {
		t.Errorf("the choice of the company leads to %s", got.header.Get("Location"))
	}
	if got := joining.post("/users/login-policy", "policy", "any"); got.status != http.StatusForbidden {
		t.Errorf("a viewer allows passwords: %d", got.status)
	}
	if got := ann.post("/users/login-policy", "policy",
		"any"); got.header.Get("Location") != "/users?notice=good.sso_not_required" {
		t.Errorf("allow: %d, to %s", got.status, got.header.Get("Location"))
	}
	old.login("ann@palm.example", password)
}

// TestSignOnAnswers checks that the answer of the provider counts once, and only in the browser that began the attempt.
func TestSignOnAnswers(t *testing.T) {
	t.Parallel()
	s, provider := withProvider(t, first(), ssotest.Person{Subject: "ann", Email: "ann@palm.example"})
	s.company(t, "ann@palm.example", "ann's long password")
	v, other := s.visitor(t), s.visitor(t)
	begun := v.get("/login/sso").header
	if cookie := begun.Get("Set-Cookie"); !strings.Contains(cookie, "; HttpOnly; SameSite=Lax") ||
		!strings.Contains(cookie, "Max-Age=600") {
		t.Errorf("the cookie is %s", cookie)
	}
	answer := provider.LogIn(t, begun.Get("Location"), "ann")
	other.wantNotice("a browser without an attempt", other.get(sso.CallbackPath+"?"+answer.Encode()), "sso_state")
	other.get("/login/sso")
	other.wantNotice("another browser", other.get(sso.CallbackPath+"?"+answer.Encode()), "sso_state")
	v.wantNotice("no state", v.get(sso.CallbackPath+"?code="+answer.Get("code")), "sso_state")
	v.wantNotice("another state", v.get(sso.CallbackPath+"?state=x&code="+answer.Get("code")), "sso_state")
	held := v.jarCookies()
	// forged answers have not ended the attempt
	if got := v.get(sso.CallbackPath + "?" + answer.Encode()); got.header.Get("Location") != "/" {
		t.Fatalf("login: %s", got.header.Get("Location"))
	}
	replaying := s.visitor(t)
	replaying.client.Jar.SetCookies(mustParse(t, s.base), held)
	replaying.wantNotice("a replayed answer", replaying.get(sso.CallbackPath+"?"+answer.Encode()), "sso_state")
	denied := other.get("/login/sso").header.Get("Location")
	other.wantNotice("an error of the provider", other.get(sso.CallbackPath+
		"?error=access_denied&error_description=%3Cscript%3E&state="+mustParse(t, denied).Query().Get("state")), "sso_denied")
	first := v.cookie()
	if v.signOn(provider, "ann", ""); v.cookie() == first {
		t.Error("the browser has the session that it had before")
	}
	if got := s.visitor(t).get("/", "Cookie", "quittance="+first); got.status != http.StatusSeeOther {
		t.Errorf("the session that the browser had before is accepted: %d", got.status)
	}
	v.post("/logout")
	if got := v.get("/"); got.status != http.StatusSeeOther {
		t.Errorf("after the logout: %d", got.status)
	}
}

// TestSignOnIsLimited checks that one source cannot make the service call the provider without end.
func TestSignOnIsLimited(t *testing.T) {
	t.Parallel()
	base, edit := publicly(t)
	provider := ssotest.Start(t, base, false)
	s := start(t, first(), true, time.Hour, edit, func(c *service.Config) {
		c.SignOn, c.LoginRate, c.AnonymousRate = provider.Config(base), 10, 0
	})
	s.waitForProvider(t)
	var served, refused atomic.Int64
	var attempts sync.WaitGroup
	for range 16 { // together they are faster than 100 a minute on a busy machine too
		v := s.visitor(t)
		attempts.Go(func() {
			for refused.Load() == 0 && served.Load() < 2000 {
				state := mustParse(t, v.get("/login/sso").header.Get("Location")).Query().Get("state")
				switch got := v.get(sso.CallbackPath + "?code=guessed&state=" + state); {
				case got.status == http.StatusTooManyRequests && got.header.Get("Retry-After") != "":
					refused.Add(1)
				case got.header.Get("Location") == "/login?notice=bad.sso_invalid":
					served.Add(1)
				default:
					t.Errorf("a guessed code: %d %v", got.status, got.header)
					return
				}
			}
		})
	}
	attempts.Wait()
	if refused.Load() == 0 || served.Load() < 100 {
		t.Errorf("%d attempts were served, and then %d refused", served.Load(), refused.Load())
	}
}

// TestProviderIsDown checks that a server starts without its OpenID provider, that the login page says so, and that it
// goes on with passwords.
func TestProviderIsDown(t *testing.T) {
	t.Parallel()
	base, edit := publicly(t)
	provider := ssotest.Start(t, base, false)
	provider.Stop()
	s := start(t, first(), true, time.Hour, edit, func(c *service.Config) { c.SignOn = provider.Config(base) })
	v := s.visitor(t)
	if page := v.get("/login"); !strings.Contains(page.body, "Single sign-on is not available") ||
		strings.Contains(page.body, `href="/login/sso`) {
		t.Errorf("the login page does not say that the provider is down: %s", page.body)
	}
	v.wantNotice("begin", v.get("/login/sso"), "sso_unavailable")
	v.login(s.email, s.password)
}

// TestWithoutProvider checks that there is no single sign-on without a provider.
func TestWithoutProvider(t *testing.T) {
	t.Parallel()
	v := start(t, first(), true, time.Hour).visitor(t)
	for _, path := range []string{"/login/sso", sso.CallbackPath + "?state=x&code=y"} {
		if got := v.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if strings.Contains(v.get("/login").body, "/login/sso") {
		t.Error("the login page offers single sign-on")
	}
}

// TestSignOnInChromium logs in through the pages of the service and the provider in a browser, whose rules for cookies,
// redirects and the content security policy apply.
func TestSignOnInChromium(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s, provider := withProvider(t, first(), ssotest.Person{Subject: "ann", Email: "ann@palm.example"},
			ssotest.Person{Subject: "joe", Email: "joe@palm.example"})
		s.company(t, "ann@palm.example", "ann's long password")
		b := newBrowser(t, s.base)
		b.open("/webhooks")
		b.until(`document.querySelector("#sso")`)
		b.inspect("page-login-sso")
		b.atProvider(provider, "joe")
		b.until(`document.querySelector(".notice.bad")?.textContent.includes("no user here")`)
		if at := b.location(); strings.Contains(at, "code=") {
			t.Errorf("the address is %s", at)
		}
		b.atProvider(provider, "ann")
		b.until(`document.querySelector("h1") && location.pathname === "/"`)
		b.open("/account")
		b.until(`document.querySelector("main")?.textContent.includes("ann@palm.example")`)
		b.open("/users")
		b.until(`document.querySelector("#login-policy button")`)
		b.inspect("page-users-sso")
		b.click("#login-policy button")
		b.until(`document.querySelector("#login-policy button")?.textContent.includes("Allow passwords")`)
	})
}

// atProvider follows the link of the login page and logs a person in at the provider.
func (b *browser) atProvider(provider *ssotest.Provider, subject string) {
	b.t.Helper()
	b.click("#sso")
	b.until(`location.origin === "` + provider.Issuer + `" && document.querySelector("#username")`)
	b.do(chromedp.SendKeys("#username", subject, chromedp.ByQuery),
		chromedp.SendKeys("#password", ssotest.Password, chromedp.ByQuery))
	b.click("button")
	b.until(`location.origin === "` + b.base + `" && document.querySelector("h1")`)
	b.Allow("") // the provider is another host
}

func mustParse(t testing.TB, text string) *url.URL {
	t.Helper()
	parsed, err := url.Parse(text)
	kit.Must(t, err)
	return parsed
}

// jarCookies returns the cookies of the visitor.
func (v *visitor) jarCookies() []*http.Cookie { return v.client.Jar.Cookies(mustParse(v.t, v.base)) }

// TestSignOnLinksWithSecondFactor checks that whoever has a user's address at the provider is not logged in as a user
// with a second factor until that was given once: afterwards the provider's counts.
func TestSignOnLinksWithSecondFactor(t *testing.T) {
	t.Parallel()
	s, provider := withProvider(t, first(), ssotest.Person{Subject: "ann", Email: "ann@palm.example"},
		ssotest.Person{Subject: "mallory", Email: "ann@palm.example"})
	s.company(t, "ann@palm.example", "ann's long password")
	owner := s.visitor(t)
	owner.login("ann@palm.example", "ann's long password")
	_, recovery := owner.enroll()

	thief := s.visitor(t)
	got := thief.signOn(provider, "mallory", "?next=%2Fcredit-notes")
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "/login/code?next=%2Fcredit-notes" ||
		thief.cookie() != "" {
		t.Fatalf("without the second factor: %d, to %s", got.status, got.header.Get("Location"))
	}
	if got := thief.post("/login/code", "code", "000000"); got.status != http.StatusUnauthorized || thief.cookie() != "" {
		t.Errorf("a wrong code: %d", got.status)
	}
	if page := owner.get("/users"); strings.Contains(page.body, "/unlink") {
		t.Error("the user is linked without the second factor")
	}

	v := s.visitor(t)
	v.signOn(provider, "ann", "?next=%2Fcredit-notes")
	if page := v.get("/login/code?next=%2Fcredit-notes"); page.status != http.StatusOK {
		t.Fatalf("the second step: %d", page.status)
	}
	if got := v.post("/login/code", "code", recovery[0], "next", "/credit-notes"); got.status != http.StatusSeeOther ||
		got.header.Get("Location") != "/credit-notes" || v.cookie() == "" {
		t.Fatalf("with the second factor: %d, to %s", got.status, got.header.Get("Location"))
	}
	if page := v.get("/account"); page.status != http.StatusOK {
		t.Errorf("the account page: %d", page.status)
	}
	thief.wantNotice("the thief has come too late", thief.post("/login/code", "code", recovery[1]), "sso_other")
	if got := s.visitor(t).signOn(provider, "ann", ""); got.header.Get("Location") != "/" {
		t.Errorf("the second login leads to %s", got.header.Get("Location"))
	}
}
