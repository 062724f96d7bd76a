package site_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
	"quittance/test/passkeytest"
)

// atLocalhost returns the system at the address that can have passkeys.
func (s *system) atLocalhost() *system {
	moved := *s
	moved.base = strings.Replace(s.base, "127.0.0.1", "localhost", 1)
	return &moved
}

// options returns the options of a call of an authenticator.
func (v *visitor) options(path string) string {
	v.t.Helper()
	got := v.post(path)
	if got.status != http.StatusOK || got.header.Get("Content-Type") != "application/json" {
		v.t.Fatalf("%s: %d %s", path, got.status, got.body)
	}
	return got.body
}

// register adds a passkey; more are fields that prove the present second factor.
func (v *visitor) register(more ...string) (*passkeytest.Authenticator, response) {
	v.t.Helper()
	key, err := passkeytest.New(v.base)
	kit.Must(v.t, err)
	made, err := key.Register(v.options("/second-factor/passkeys/options"))
	kit.Must(v.t, err)
	return key, v.post("/second-factor/passkeys", append([]string{"name", "Office laptop", "registration", made,
		"current", v.password}, more...)...)
}

// confirm returns the assertion of a passkey that confirms a change.
func (v *visitor) confirm(key *passkeytest.Authenticator) string {
	v.t.Helper()
	made, err := key.Assert(v.options("/second-factor/passkeys/challenge"))
	kit.Must(v.t, err)
	return made
}

// assertion returns the assertion of a passkey for the pending login.
func (v *visitor) assertion(key *passkeytest.Authenticator) string {
	v.t.Helper()
	made, err := key.Assert(v.options("/login/code/passkey"))
	kit.Must(v.t, err)
	return made
}

// TestPasskeys checks that the first passkey shows recovery codes, that a login takes it once, and that it can be
// renamed and removed with the password and a second factor.
func TestPasskeys(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour).atLocalhost()
	owner := s.loggedIn(t)
	key, made := owner.register()
	recovery := shownRecovery.FindAllStringSubmatch(made.body, -1)
	if made.status != http.StatusOK || len(recovery) != 10 {
		t.Fatalf("the first passkey: %d, %d recovery codes", made.status, len(recovery))
	}
	if _, got := owner.register(); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a passkey without a proof of the present one: %d", got.status)
	}
	if _, got := owner.register("assertion",
		owner.confirm(key)); got.header.Get("Location") != "/second-factor?notice=good.passkey_added" {
		t.Errorf("a second passkey: %d %s", got.status, got.header.Get("Location"))
	}
	guest := s.visitor(t)
	if got := guest.post("/login", "email", s.email, "password", s.password); got.header.Get("Location") != "/login/code" {
		t.Fatalf("the password: %d %s", got.status, got.header.Get("Location"))
	}
	if page := guest.get("/login/code"); !strings.Contains(page.body, `id="use-passkey"`) {
		t.Error("the second step does not offer the passkey")
	}
	signed := guest.assertion(key)
	if got := guest.post("/login/code", "assertion", signed, "next",
		"/credit-notes"); got.header.Get("Location") != "/credit-notes" {
		t.Fatalf("the passkey: %d %s", got.status, got.header.Get("Location"))
	}
	if got := guest.get("/invoices"); got.status != http.StatusOK {
		t.Errorf("after the login: %d", got.status)
	}
	replayed := s.visitor(t)
	replayed.post("/login", "email", s.email, "password", s.password)
	if got := replayed.post("/login/code", "assertion", signed); got.status != http.StatusUnauthorized {
		t.Errorf("an assertion works twice: %d", got.status)
	}
	page := "/second-factor/passkeys/" + s.passkeys(t)[0].ID.String()
	if got := owner.post(page+"/name", "name", "Phone"); got.status != http.StatusSeeOther ||
		!strings.Contains(owner.get(page).body, "Phone") {
		t.Errorf("renamed: %d", got.status)
	}
	for _, name := range []string{"", " ", strings.Repeat("x", 65), "a\nb"} {
		if got := owner.post(page+"/name", "name", name); got.status != http.StatusUnprocessableEntity {
			t.Errorf("the name %.10q: %d", name, got.status)
		}
	}
	if got := owner.post(page+"/remove", "current", "wrong",
		"assertion", owner.confirm(key)); got.status != http.StatusUnprocessableEntity {
		t.Errorf("removed with a wrong password: %d", got.status)
	}
	if got := owner.post(page+"/remove", "current", s.password, "otp",
		"000000"); got.status != http.StatusUnprocessableEntity {
		t.Errorf("removed with a wrong code: %d", got.status)
	}
	if got := owner.post(page+"/remove", "current", s.password,
		"assertion", owner.confirm(key)); got.header.Get("Location") != "/second-factor?notice=good.passkey_removed" {
		t.Errorf("removed: %d %s", got.status, got.header.Get("Location"))
	}
	if got := guest.get("/invoices"); got.status != http.StatusSeeOther {
		t.Errorf("another session after the removal: %d", got.status)
	}
	if got := owner.post("/second-factor/disable", "current", s.password,
		"otp", recovery[0][1]); got.header.Get("Location") != "/second-factor?notice=good.factor_disabled" {
		t.Errorf("turned off: %d", got.status)
	}
	s.visitor(t).login(s.email, s.password)
}

// passkeys returns the passkeys of the sandbox's user.
func (s *system) passkeys(t testing.TB) []identity.Passkey {
	t.Helper()
	user, err := s.DB().UserByEmail(t.Context(), s.email)
	kit.Must(t, err)
	state, err := identity.ReadSecondFactorState(t.Context(), s.tenant(t), user.ID)
	kit.Must(t, err)
	return state.Passkeys
}

// TestHostilePasskeys checks that no assertion completes a login but one of the user's passkey, for the challenge of
// this login, made at this site; and that no registration counts but one for the challenge of this session.
func TestHostilePasskeys(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour).atLocalhost()
	owner := s.loggedIn(t)
	key, _ := owner.register()
	other := s.colleague(t, access.Owner)
	theirs, made := other.register()
	if made.status != http.StatusOK {
		t.Fatalf("the colleague's passkey: %d", made.status)
	}
	pending := func() *visitor {
		v := s.visitor(t)
		v.post("/login", "email", s.email, "password", s.password)
		return v
	}
	used := pending()
	if got := used.post("/login/code", "assertion", used.assertion(key)); got.status != http.StatusSeeOther {
		t.Fatalf("the right passkey: %d", got.status)
	}
	changed := func(change func(forged *passkeytest.Authenticator)) func(*visitor) string {
		return func(v *visitor) string {
			forged := *key
			forged.Count += 10
			change(&forged)
			return v.assertion(&forged)
		}
	}
	signed := func(by *passkeytest.Authenticator, challenge string) string {
		made, err := by.Sign(challenge)
		kit.Must(t, err)
		return made
	}
	for name, forge := range map[string]func(*visitor) string{
		"another origin":               changed(func(k *passkeytest.Authenticator) { k.Origin = "http://localhost.example" }),
		"another port":                 changed(func(k *passkeytest.Authenticator) { k.Origin = "http://localhost:1" }),
		"another site":                 changed(func(k *passkeytest.Authenticator) { k.Site = "example.com" }),
		"a counter that did not grow":  changed(func(k *passkeytest.Authenticator) { k.Count = ^uint32(0) }),
		"the challenge of another one": func(*visitor) string { return pending().assertion(key) },
		"the challenge of a change":    func(*visitor) string { return owner.confirm(key) },
		"an invented challenge":        func(*visitor) string { return signed(key, strings.Repeat("A", 43)) },
		"a short challenge":            func(*visitor) string { return signed(key, "") },
		"the passkey of somebody else": func(v *visitor) string {
			stolen := *theirs
			stolen.ID = key.ID
			return v.assertion(&stolen)
		},
		"the identifier of another one": func(v *visitor) string {
			renamed := *key
			renamed.ID = theirs.ID
			return signed(&renamed, challengeIn(v.options("/login/code/passkey")))
		},
		"a registration": func(v *visitor) string {
			fresh, err := passkeytest.New(s.base)
			kit.Must(t, err)
			made, err := fresh.Register(other.options("/second-factor/passkeys/options"))
			kit.Must(t, err)
			return made
		},
		"no JSON":       func(*visitor) string { return "{" },
		"a large value": func(*visitor) string { return `{"id":"` + strings.Repeat("A", 40_000) + `"}` },
	} {
		v := pending()
		if got := v.post("/login/code", "assertion", forge(v)); got.status != http.StatusUnauthorized ||
			v.get("/invoices").status != http.StatusSeeOther {
			t.Errorf("%s: %d", name, got.status)
		}
	}
	refused := s.audited(t, "user.refuse-passkey")
	if refused != 1 {
		t.Errorf("%d refused passkeys are in the audit log", refused)
	}

	v := s.colleague(t, access.Viewer)
	fresh, err := passkeytest.New(s.base)
	kit.Must(t, err)
	foreign, err := fresh.Register(other.options("/second-factor/passkeys/options"))
	kit.Must(t, err)
	for name, registration := range map[string]string{"of another session": foreign, "none": "", "no JSON": "[",
		"large": strings.Repeat("x", 40_000)} {
		if got := v.post("/second-factor/passkeys", "name", "x",
			"registration", registration); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a registration, %s: %d", name, got.status)
		}
	}
	page := "/second-factor/passkeys/" + s.passkeys(t)[0].ID.String()
	for _, path := range []string{page + "/name", page + "/remove"} {
		if got := other.post(path, "name", "x", "current", colleaguePassword,
			"assertion", other.confirm(theirs)); got.status != http.StatusNotFound {
			t.Errorf("a colleague at %s: %d", path, got.status)
		}
	}
	if got := other.get(page); got.status != http.StatusNotFound {
		t.Errorf("a colleague sees the passkey: %d", got.status)
	}
	if got := s.visitor(t).post("/login/code/passkey"); got.status != http.StatusNotFound {
		t.Errorf("a challenge without a login: %d", got.status)
	}
}

// challengeIn returns the challenge of options.
func challengeIn(options string) string {
	_, after, _ := strings.Cut(options, `"challenge":"`)
	challenge, _, _ := strings.Cut(after, `"`)
	return challenge
}

// audited returns how many entries of an act the audit log has.
func (s *system) audited(t testing.TB, act string) (n int) {
	t.Helper()
	entries, err := s.DB().Audit(t.Context(), base.AuditFilter{Limit: 1000})
	kit.Must(t, err)
	for _, e := range entries {
		if e.Act == act {
			n++
		}
	}
	return n
}

// TestNoPasskeysAtAnAddress checks that the page says why there can be no passkeys, and that the API takes only
// recovery codes from a user who has passkeys alone.
func TestNoPasskeysAtAnAddress(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour)
	numbered := s.loggedIn(t)
	if page := numbered.get("/second-factor").body; !strings.Contains(page, `id="no-passkeys"`) ||
		strings.Contains(page, "data-register") {
		t.Error("the page does not say why there are no passkeys")
	}
	if got := numbered.post("/second-factor/passkeys/options"); got.status != http.StatusNotFound {
		t.Errorf("options at an address: %d", got.status)
	}
	_, made := s.atLocalhost().loggedIn(t).register()
	recovery := shownRecovery.FindAllStringSubmatch(made.body, -1)
	login := func(otp string) int {
		return s.api(t, "", http.MethodPost, "/api/v1/client/auth/login", map[string]string{"email": s.email,
			"password": s.password, "otp": otp}, nil)
	}
	for _, otp := range []string{"", "000000", "287082"} {
		if status := login(otp); status != http.StatusUnauthorized {
			t.Errorf("the API accepts %q: %d", otp, status)
		}
	}
	if status := login(recovery[0][1]); status != http.StatusOK {
		t.Errorf("a recovery code: %d", status)
	}
}

// TestPasskeyInBrowser checks with a virtual authenticator that a user adds a passkey, logs out, logs in with it, and
// removes it. Each page is accessible.
func TestPasskeyInBrowser(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), false, time.Hour).atLocalhost()
		b := newBrowser(t, s.base)
		b.open("/login")
		b.do(webauthn.Enable(), chromedp.ActionFunc(func(ctx context.Context) error {
			_,
				err := webauthn.AddVirtualAuthenticator(
				&webauthn.VirtualAuthenticatorOptions{Protocol: webauthn.AuthenticatorProtocolCtap2,
					Transport:      webauthn.AuthenticatorTransportInternal,
					HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true}).Do(ctx)
			return err
		}))
		b.login(s.email, s.password)
		b.open("/second-factor")
		b.inspect("page-second-factor-passkeys")
		b.open("/second-factor")
		b.tabTo("#passkey-name")
		b.do(chromedp.KeyEvent("Office laptop"))
		b.fill("#passkey-current", s.password)
		b.press("\r")
		b.until(`document.querySelectorAll("#recovery li").length === 10`)
		b.open("/second-factor")
		b.until(`document.querySelectorAll("#passkeys li").length === 1`)
		b.inspect("page-second-factor-passkey-added")
		b.do(chromedp.Evaluate(`fetch("/logout", {method: "POST"}).then(() => true)`, nil, chromedp.EvalAsValue))
		b.open("/login")
		b.fill("#email", s.email)
		b.fill("#password", s.password)
		b.press("\r")
		b.until(`document.querySelector("#use-passkey")`)
		b.inspect("page-login-passkey")
		b.open("/login/code")
		b.tabTo("#use-passkey")
		b.press("\r")
		b.until(`location.pathname === "/"`)
		b.open("/second-factor")
		var page string
		b.do(chromedp.Evaluate(`document.querySelector("#passkeys a").getAttribute("href")`, &page))
		b.open(page)
		b.inspect("page-passkey")
		b.open(page)
		b.fill("#remove-current", s.password)
		b.tabTo("[data-passkey]")
		b.press("\r")
		b.until(`document.querySelector("#remove-otp").disabled && document.activeElement.matches("button.danger")`)
		b.press("\r")
		b.until(`location.pathname === "/second-factor" && document.querySelector("#begin.primary")`)
		if left := s.passkeys(t); len(left) != 0 {
			t.Error(fmt.Sprint("left: ", left))
		}
	})
}
