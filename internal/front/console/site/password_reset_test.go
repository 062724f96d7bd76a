package site_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ops/service"
	"quittance/test/kit"
)

// mails returns the mails to an address that wait in the outbox, oldest first. No relay takes them in these tests.
func (s *system) mails(t testing.TB, address string) (mails []identity.MailLease) {
	t.Helper()
	for from := (base.ScanCursor{}); ; {
		step, err := identity.DueMailQueues(t.Context(), s.DB(), from)
		kit.Must(t, err)
		for _, due := range step.Queues {
			leases, err := identity.ClaimMails(t.Context(), due, 100, time.Hour)
			kit.Must(t, err)
			for _, lease := range leases {
				if lease.To == address {
					mails = append(mails, lease)
				}
			}
		}
		if from = step.Next; from.IsZero() {
			slices.SortStableFunc(mails, func(a, b identity.MailLease) int { return a.CreatedAt.Compare(b.CreatedAt) })
			return mails
		}
	}
}

// mail waits for the next mail of a kind to an address.
func (s *system) mail(t testing.TB, address string, kind identity.MailKind) (found identity.MailLease) {
	t.Helper()
	kit.Until(t, fmt.Sprintf("a mail of the kind %v to %s", kind, address), func() bool {
		mails := s.mails(t, address)
		n := slices.IndexFunc(mails, func(mail identity.MailLease) bool { return mail.Kind == kind })
		if n >= 0 {
			found = mails[n]
		}
		return n >= 0
	})
	return found
}

// wantNoRequest waits until every request for a link is answered, and checks that none was sent to the addresses.
func (s *system) wantNoRequest(t testing.TB, addresses ...string) {
	t.Helper()
	// Requests are answered in their order. The answer to this one is the last.
	kit.Must(t, identity.RequestPasswordReset(t.Context(), s.DB(), identity.ResetRequest{Email: s.email, Language: "en"}))
	s.mail(t, s.email, identity.MailPasswordReset)
	for _, address := range addresses {
		if mails := s.mails(t, address); len(mails) > 0 {
			t.Errorf("%d mails to %s", len(mails), address)
		}
	}
}

// sendsMail runs a system that sends e-mails, which stay in its outbox.
func sendsMail(t testing.TB, engine string, edits ...func(*service.Config)) *system {
	t.Helper()
	s := start(t, engine, true, time.Hour, edits...)
	kit.Must(t, identity.RecordMailer(t.Context(), s.DB(), true))
	return s
}

// TestForgottenPassword checks that a user who has forgotten the password gets a link by e-mail, chooses a password
// with it by the usual rules, once, and has to log in with it. All sessions end. Neither the address nor a secret is in
// a log.
func TestForgottenPassword(t *testing.T) {
	t.Parallel()
	var log lines
	s := sendsMail(t, first(), func(c *service.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	before := s.loggedIn(t)
	token := s.token(t, s.email, s.password)
	v := s.visitor(t)
	if page := v.post("/login", "email", s.email, "password", "not it at all, no"); !strings.Contains(page.body,
		`action="/forgot"`) || !strings.Contains(page.body, fmt.Sprintf(`name="email" value=%q`, s.email)) {
		t.Errorf("the login page: %d %s", page.status, page.body)
	}
	if page := v.post("/forgot", "email", s.email); page.status != http.StatusOK ||
		!strings.Contains(page.body, fmt.Sprintf(`value=%q`, s.email)) {
		t.Errorf("the form: %d %s", page.status, page.body)
	}
	v.post("/forgot/link", "email", strings.ToUpper(s.email)).wantTo(t, "/forgot/sent")
	if page := v.get("/forgot/sent"); page.status != http.StatusOK ||
		!strings.Contains(page.body, "If a user with this address can log in with a password, we have sent a link.") {
		t.Errorf("the page after it: %d %s", page.status, page.body)
	}
	code := s.mail(t, s.email, identity.MailPasswordReset).Secret.Reveal()
	if page := v.get("/reset"); page.status != http.StatusOK || !strings.Contains(page.body, `data-fragment="code"`) ||
		page.header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the page of the link: %d", page.status)
	}
	for _, wrong := range []string{"", "qr_" + strings.Repeat("A", 43), strings.Repeat("x", 9_000)} {
		if page := v.post("/reset", "code", wrong); page.status != http.StatusUnprocessableEntity ||
			strings.Contains(page.body, "@") {
			t.Errorf("a wrong code: %d", page.status)
		}
	}
	if form := languageForm(t, v.post("/reset", "code", code).body); form.Get("page") != "/reset" ||
		form.Get("code") != code {
		t.Errorf("the other language leads to %v", form)
	}
	if page := v.post("/reset", "code", code); page.status != http.StatusOK || !strings.Contains(page.body, s.email) ||
		page.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("the form for the password: %d %s", page.status, page.body)
	}
	for password, fault := range map[string]string{"short": "15", "aaaaaaaaaaaaaaaaaa": "common", s.password: "differs"} {
		if page := v.post("/reset/password", "code", code,
			"password", password); page.status != http.StatusUnprocessableEntity || !strings.Contains(page.body, fault) ||
			strings.Contains(page.body, `value="`+password) {
			t.Errorf("password %q: %d %s", password, page.status, page.body)
		}
	}
	if page := before.get("/account"); page.status != http.StatusOK {
		t.Errorf("a session before the use of the link: %d", page.status)
	}
	v.post("/reset/password", "code", code, "password", strong).wantTo(t, "/login?notice=good.password_reset")
	before.get("/account").wantTo(t, "/login?next=%2Faccount")
	if status := s.api(t, token, http.MethodGet, "/api/v1/client/account", nil, nil); status != http.StatusUnauthorized {
		t.Errorf("a token after the use of the link: %d", status)
	}
	for _, path := range []string{"/reset", "/reset/password"} {
		if page := v.post(path, "code", code, "password", strong+"!"); page.status != http.StatusUnprocessableEntity ||
			strings.Contains(page.body, s.email) {
			t.Errorf("%s: a used link: %d", path, page.status)
		}
	}
	if page := v.post("/login", "email", s.email, "password", s.password); page.status != http.StatusUnauthorized {
		t.Errorf("the old password: %d", page.status)
	}
	v.login(s.email, strong)
	s.mail(t, s.email, identity.MailPasswordChanged)
	if s.audited(t, "user.request-password-reset") != 1 || s.audited(t, "user.complete-password-reset") != 1 {
		t.Error("the acts are not in the audit log")
	}
	if page := v.get("/audit"); !strings.Contains(page.body, "Chose a new password with a link from an e-mail") ||
		!strings.Contains(page.body, "Sent the user a link for a new password") {
		t.Error("the acts are not on the page of the audit log")
	}
	if log.contains(code) || log.contains(code[3:20]) || log.contains(strong) || log.contains(s.email) {
		t.Error("the address or a secret is in the log")
	}
	if !log.contains("/reset") {
		t.Error("the log has no requests")
	}
}

// TestForgottenPasswordTellsNothing checks that the response to a request is the same for every address: of a user, of
// nobody, of a disabled user, of a company that requires single sign-on, and of one that gets no more links. Only the
// first gets an e-mail.
func TestForgottenPasswordTellsNothing(t *testing.T) {
	t.Parallel()
	s := sendsMail(t, first())
	const suspended, signOn, disabled, nobody = "suspended@example.com",
		"sign-on@example.com", string(access.Viewer) + "@colleagues.example", "nobody@example.com"
	kit.Must(t, identity.SuspendAccount(t.Context(), s.DB(), s.company(t, suspended, strong).ID))
	kit.Must(t, identity.SetLoginPolicyOf(t.Context(), s.DB(), s.company(t, signOn, strong).ID, base.LoginSingleSignOn))
	s.colleague(t, access.Viewer)
	user, err := s.DB().UserByEmail(t.Context(), disabled)
	kit.Must(t, err)
	kit.Must(t, identity.DisableUser(t.Context(), s.DB(), user.Account, user.ID, false))
	var want string
	for round := range 7 { // of which the last two get no mail
		for _, address := range []string{s.email, nobody, disabled, suspended, signOn} {
			v := s.visitor(t)
			got := v.post("/forgot/link", "email", address)
			for _, varying := range []string{"Date", "X-Request-Id"} {
				got.header.Del(varying)
			}
			if text := fmt.Sprintf("%d %v %s", got.status, got.header, got.body); want == "" {
				want = text
			} else if text != want {
				t.Errorf("round %d, %s: %s, want %s", round, address, text, want)
			}
		}
	}
	if !strings.Contains(want, "/forgot/sent") {
		t.Errorf("the response is %s", want)
	}
	s.wantNoRequest(t, nobody, disabled, suspended, signOn)
}

// TestForgottenPasswordRefused checks that a form of another site, a malformed address and too many requests are
// refused; that no header of a request changes what is sent; and that an installation without e-mails has none of it.
func TestForgottenPasswordRefused(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour, func(c *service.Config) { c.LoginRate = 10 })
	v := s.visitor(t)
	if page := v.get("/login"); strings.Contains(page.body, "/forgot") ||
		!strings.Contains(page.body, "Ask your administrator") {
		t.Error("the login page offers a link that cannot be sent")
	}
	for _, got := range []response{v.get("/forgot"), v.get("/forgot/sent"), v.post("/forgot"),
		v.post("/forgot/link", "email", s.email)} {
		if got.status != http.StatusNotFound {
			t.Errorf("without e-mails: %d", got.status)
		}
	}
	kit.Must(t, identity.RecordMailer(t.Context(), s.DB(), true))
	for _, path := range []string{"/forgot", "/forgot/link", "/reset", "/reset/password"} {
		if got := v.do(http.MethodPost, path, "email=a%40b.example&code=qr_x&password=x", "Origin", "https://evil.example",
			"Sec-Fetch-Site", "cross-site"); got.status != http.StatusForbidden {
			t.Errorf("%s from another site: %d", path, got.status)
		}
	}
	for _, address := range []string{"", "plain", "a@b\r\nBcc: c@d.example",
		"a@b\x00", strings.Repeat("a", 2000) + "@b.example", "\xff@b.example"} {
		if got := v.post("/forgot/link", "email", address); got.status != http.StatusUnprocessableEntity ||
			!strings.Contains(got.body, `id="email-fault"`) || strings.Contains(got.body, "Bcc") {
			t.Errorf("%q: %d", address, got.status)
		}
	}
	if got := v.do(http.MethodPost, "/forgot/link", "email="+strings.Replace(s.email, "@", "%40", 1), "X-Forwarded-Host",
		"evil.example", "Forwarded", "host=evil.example"); got.status != http.StatusSeeOther ||
		strings.Contains(got.header.Get("Location"), "evil") {
		t.Errorf("with headers of a proxy: %d to %s", got.status, got.header.Get("Location"))
	}
	if mail := s.mail(t, s.email, identity.MailPasswordReset); strings.Contains(fmt.Sprintf("%+v %s", mail,
		mail.Secret.Reveal()), "evil") {
		t.Errorf("a header of the request is in the mail: %+v", mail)
	}
	limited := 0
	for range 12 {
		if got := v.post("/forgot/link", "email", "nobody@example.com"); got.status == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited != 2 {
		t.Errorf("%d requests of 12 are refused, want 2", limited)
	}
	if got := v.post("/forgot/link", "email", "other@example.com"); got.status != http.StatusSeeOther {
		t.Errorf("another address from this source: %d", got.status)
	}
}

// TestForgottenPasswordKeepsSecondFactor checks that after a reset the login still needs the second factor, and that a
// user with a first password need not change the password again.
func TestForgottenPasswordKeepsSecondFactor(t *testing.T) {
	t.Parallel()
	s := sendsMail(t, first())
	s.loggedIn(t).enroll()
	v := s.visitor(t)
	v.post("/forgot/link", "email", s.email)
	v.post("/reset/password", "code", s.mail(t, s.email, identity.MailPasswordReset).Secret.Reveal(),
		"password", strong).wantTo(t, "/login?notice=good.password_reset")
	v.post("/login", "email", s.email, "password", strong).wantTo(t, "/login/code")
	v.get("/account").wantTo(t, "/login?next=%2Faccount")

	s.newcomer(t, "new@example.com")
	n := s.visitor(t)
	n.post("/forgot/link", "email", "new@example.com")
	n.post("/reset/password", "code", s.mail(t, "new@example.com", identity.MailPasswordReset).Secret.Reveal(),
		"password", strong).wantTo(t, "/login?notice=good.password_reset")
	n.login("new@example.com", strong)
	if got := n.get("/account"); got.status != http.StatusOK {
		t.Errorf("after the reset of a first password: %d to %s", got.status, got.header.Get("Location"))
	}
}

// TestForgottenPasswordInBrowser checks the pages in Chromium, in English and Arabic: the address goes along from the
// login page, the secret of the link leaves the address at once, and the form needs the keyboard alone.
func TestForgottenPasswordInBrowser(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := sendsMail(t, first())
		b := newBrowser(t, s.base)
		b.open("/login")
		b.fill("#email", s.email)
		b.inspect("login-forgot")
		b.click("#forgot")
		b.until(
			fmt.Sprintf(
				`location.pathname === "/forgot" && location.search === "" && document.querySelector("#email").value === %q`,
				s.email))
		b.inspect("forgot")
		b.fill("#email", "a@b c")
		b.do(chromedp.Evaluate(`document.querySelector("#forgot").noValidate = true`, nil))
		b.click("form#forgot button")
		b.until(`document.querySelector("#email-fault")`)
		b.refused("422")
		b.inspect("forgot-fault")
		b.fill("#email", s.email)
		b.click("form#forgot button")
		b.until(`location.pathname === "/forgot/sent"`)
		b.inspect("forgot-sent")
		mail := s.mail(t, s.email, identity.MailPasswordReset)
		b.open("/reset")
		b.inspect("reset-code")
		b.open("/reset#qr_wrong")
		b.until(`document.querySelector(".notice.bad")`)
		b.refused("422")
		b.inspect("reset-unusable")
		b.open("/reset#" + mail.Secret.Reveal())
		b.until(`document.querySelector("form#reset") && location.hash === "" && !location.href.includes("qr_")`)
		b.inspect("reset")
		b.tabTo("#password")
		b.press(strong + "\r")
		b.until(`location.pathname === "/login" && document.querySelector(".notice.good")`)
		b.inspect("login-after-reset")
		b.wantQuiet("the reset")
		b.fill("#email", s.email)
		b.fill("#password", strong)
		b.click("form button")
		b.until(`location.pathname === "/"`)

		a := newBrowser(t, s.base)
		a.open("/login")
		a.click(`.language button[value="ar"]`)
		a.until(`document.documentElement.lang === "ar" && document.querySelector("#forgot")`)
		a.inspectArabic("login-forgot")
		a.click("#forgot")
		a.until(`location.pathname === "/forgot"`)
		a.inspectArabic("forgot")
		a.fill("#email", s.email)
		a.click("form#forgot button")
		a.until(`location.pathname === "/forgot/sent"`)
		a.inspectArabic("forgot-sent")
		mail = s.mail(t, s.email, identity.MailPasswordReset)
		if mail.Language != "ar" {
			t.Errorf("the language of the mail is %q", mail.Language)
		}
		a.open("/reset")
		a.inspectArabic("reset-code")
		a.open("/reset#" + mail.Secret.Reveal())
		a.until(`document.querySelector("form#reset")`)
		a.inspectArabic("reset")
	})
}
