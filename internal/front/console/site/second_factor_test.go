package site_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/pquerna/otp/hotp"

	"quittance/internal/ledger/identity"
	"quittance/test/kit"
)

// authenticator is an authenticator app, and the time step at which it got its secret.
type authenticator struct {
	secret string
	step   int64
}

func newAuthenticator(shared string) authenticator {
	return authenticator{secret: strings.ReplaceAll(shared, " ", ""), step: time.Now().Unix() / 30}
}

// code returns the code of the step that is n steps after the one at which the app got its secret. The codes of that
// step and of the next one are accepted for at least a step, so that tests neither wait nor depend on when a step ends.
func (a authenticator) code(t testing.TB, n int64) string {
	t.Helper()
	code, err := hotp.GenerateCode(a.secret, uint64(a.step+n))
	kit.Must(t, err)
	return code
}

// unused returns a code that is accepted now, however long ago the app got its secret.
func (a authenticator) unused(t testing.TB) string {
	t.Helper()
	return a.code(t, max(1, time.Now().Unix()/30-a.step))
}

var (
	shownSecret   = regexp.MustCompile(`<code id="secret">([A-Z2-7 ]+)</code>`)
	shownRecovery = regexp.MustCompile(`<li><code>([a-z2-7-]{19})</code></li>`)
)

// enroll gives a visitor a second factor. The code of the present step is used up.
func (v *visitor) enroll() (app authenticator, recovery []string) {
	v.t.Helper()
	if got := v.post("/second-factor/begin"); got.header.Get("Location") != "/second-factor/confirm" {
		v.t.Fatalf("begin: %d", got.status)
	}
	app = newAuthenticator(shownSecret.FindStringSubmatch(v.get("/second-factor/confirm").body)[1])
	made := v.post("/second-factor/confirm", "code", app.code(v.t, 0), "current", v.password)
	for _, found := range shownRecovery.FindAllStringSubmatch(made.body, -1) {
		recovery = append(recovery, found[1])
	}
	if made.status != http.StatusOK || len(recovery) != 10 || made.header.Get("Cache-Control") != "no-store" {
		v.t.Fatalf("confirm: %d, %d codes", made.status, len(recovery))
	}
	return app, recovery
}

// TestSecondStepOfLogin checks that a right password leads to a second step that has no password, is bound to the
// browser, works once, and ends with a change of the password.
func TestSecondStepOfLogin(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour)
	owner := s.loggedIn(t)
	app, recovery := owner.enroll()
	if got := owner.get("/second-factor/confirm"); got.header.Get("Location") != "/second-factor" ||
		strings.Contains(owner.get("/second-factor").body, app.secret[:4]) {
		t.Error("the secret is shown after the confirmation")
	}
	password := func(v *visitor) response {
		return v.post("/login", "email", s.email, "password", s.password, "next", "/credit-notes")
	}
	guest, other, stranger := s.visitor(t), s.visitor(t), s.visitor(t)
	if got := password(guest); got.status != http.StatusSeeOther ||
		got.header.Get("Location") != "/login/code?next=%2Fcredit-notes" {
		t.Fatalf("the password: %d %s", got.status, got.header.Get("Location"))
	}
	if page := guest.get("/login/code?next=%2Fcredit-notes"); page.status != http.StatusOK ||
		strings.Contains(page.body, s.password) || strings.Contains(page.body, `type="password"`) {
		t.Errorf("the second step: %d", page.status)
	}
	if got := guest.get("/invoices"); got.status != http.StatusSeeOther {
		t.Errorf("an invoice list before the second step: %d", got.status)
	}
	if got := stranger.post("/login/code", "code", app.code(t, 1)); got.header.Get("Location") != "/login" {
		t.Errorf("another browser completes the login: %d %s", got.status, got.header.Get("Location"))
	}
	for _, wrong := range []string{"", "000000", app.code(t, 0), strings.Repeat("9", 5000), "<script>"} {
		if got := guest.post("/login/code", "code", wrong, "next", "/credit-notes"); got.status != http.StatusUnauthorized {
			t.Errorf("the code %.10q: %d", wrong, got.status)
		}
	}
	password(other)
	code := app.unused(t)
	if got := guest.post("/login/code", "code", code, "next", "/credit-notes"); got.status != http.StatusSeeOther ||
		got.header.Get("Location") != "/credit-notes" {
		t.Fatalf("the right code: %d %s", got.status, got.header.Get("Location"))
	}
	if got := guest.get("/invoices"); got.status != http.StatusOK {
		t.Errorf("after the second step: %d", got.status)
	}
	if got := other.post("/login/code", "code", code); got.status != http.StatusUnauthorized {
		t.Errorf("a code works twice: %d", got.status)
	}
	if got := owner.post("/account/password", "current", s.password, "new",
		"three mild walruses sing"); got.status != http.StatusSeeOther {
		t.Fatalf("change of the password: %d", got.status)
	}
	if got := owner.get("/invoices"); got.status != http.StatusOK {
		t.Errorf("the session that changed the password: %d", got.status)
	}
	if got := other.post("/login/code",
		"code", recovery[0]); got.header.Get("Location") != "/login?notice=bad.login_expired" {
		t.Errorf("a login that began with the old password: %d %s", got.status, got.header.Get("Location"))
	}
	if got := owner.post("/second-factor/disable", "current", "three mild walruses sing", "otp",
		"no"); got.status != http.StatusUnprocessableEntity {
		t.Errorf("disabled with a wrong code: %d", got.status)
	}
	if got := owner.post("/second-factor/disable", "current", "three mild walruses sing",
		"otp", recovery[1]); got.header.Get("Location") != "/second-factor?notice=good.factor_disabled" {
		t.Errorf("disabled: %d", got.status)
	}
	s.visitor(t).login(s.email, "three mild walruses sing")
}

// TestSecondFactorInBrowser checks with keys only that a user turns two-step login on with the shown key, logs out, and
// logs in with a recovery code. Each page is accessible.
func TestSecondFactorInBrowser(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), false, time.Hour)
		b := newBrowser(t, s.base)
		b.open("/login")
		b.login(s.email, s.password)
		b.open("/second-factor")
		b.tabTo("#begin")
		b.press("\r")
		b.until(`document.querySelector("#secret") !== null && document.querySelector("img").naturalWidth > 100`)
		b.inspect("page-second-factor-confirm")
		b.open("/second-factor/confirm")
		b.do(chromedp.KeyEvent(newAuthenticator(b.text("#secret")).code(t, 0)))
		b.fill("#current", s.password)
		b.press("\r")
		b.until(`document.querySelectorAll("#recovery li").length === 10`)
		recovery := b.text("#recovery li:first-child")
		b.wantAccessible("the recovery codes")
		b.open("/second-factor")
		b.until(`document.querySelector("#codes-left").textContent === "10"`)
		b.inspect("page-second-factor-on")
		b.do(chromedp.Evaluate(`fetch("/logout", {method: "POST"}).then(() => true)`, nil, chromedp.EvalAsValue))
		b.open("/login")
		b.fill("#email", s.email)
		b.fill("#password", s.password)
		b.press("\r")
		b.until(`document.querySelector("#code") !== null`)
		b.inspect("page-login-code")
		b.do(chromedp.Focus("#code"), chromedp.KeyEvent(recovery))
		b.press("\r")
		b.until(`location.pathname === "/"`)
		b.open("/second-factor")
		b.until(`document.querySelector("#codes-left").textContent === "9"`)
	})
}

// TestStolenSessionEnrolsNothing checks that a session alone sets up no first second factor, neither an app nor a
// passkey, that it does not see the app that another session of the user has begun, and that the user is told of the
// first one.
func TestStolenSessionEnrolsNothing(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour)
	kit.Must(t, identity.RecordMailer(t.Context(), s.DB(), true))
	owner, thief := s.atLocalhost().loggedIn(t), s.atLocalhost().loggedIn(t)
	thief.password = ""
	if got := owner.post("/second-factor/begin"); got.status != http.StatusSeeOther {
		t.Fatalf("begin: %d", got.status)
	}
	if got := thief.get("/second-factor/confirm"); got.status != http.StatusSeeOther {
		t.Errorf("another session sees the secret: %d", got.status)
	}
	if got := thief.post("/second-factor/begin"); got.status != http.StatusSeeOther {
		t.Fatalf("begin: %d", got.status)
	}
	app := newAuthenticator(shownSecret.FindStringSubmatch(thief.get("/second-factor/confirm").body)[1])
	for _, password := range []string{"", "a password that is wrong"} {
		if got := thief.post("/second-factor/confirm", "code", app.code(t, 0),
			"current", password); got.status != http.StatusUnprocessableEntity ||
			!strings.Contains(got.body, "not your current password") {
			t.Errorf("an app with the password %q: %d", password, got.status)
		}
	}
	if _, got := thief.register(); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.body, "not your current password") {
		t.Errorf("a passkey without the password: %d", got.status)
	}
	if told := s.mails(t, s.email); len(told) != 0 {
		t.Errorf("mails %+v", told)
	}
	owner.enroll()
	if mail := s.mail(t, s.email, identity.MailFactorAdded); mail.To != s.email {
		t.Errorf("mail %+v", mail)
	}
}
