package site_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"quittance/internal/front/console/site"
	"quittance/internal/ledger/access"
)

// colleaguePassword is the password of those whom [system.colleague] adds.
const colleaguePassword = "a colleague's long password"

// wantHeld fails the test unless the session of a visitor is good for nothing but to set up a second factor, and to
// end.
func (v *visitor) wantHeld() {
	v.t.Helper()
	for _, route := range site.Routes() {
		if route.Needs == access.Public || route.Path == "/logout" {
			continue
		}
		got := v.do(route.Method, pathVariable.ReplaceAllString(route.Path, "00000000-0000-7000-8000-00000000000f"), "")
		switch route.Path {
		case "/second-factor/passkeys", "/second-factor/passkeys/options":
			if got.status != http.StatusNotFound { // an address without a host name has no passkeys
				v.t.Errorf("%s %s: %d", route.Method, route.Path, got.status)
			}
		case "/second-factor", "/second-factor/begin", "/second-factor/confirm":
			if got.status != http.StatusOK && got.status != http.StatusUnprocessableEntity &&
				!strings.HasPrefix(got.header.Get("Location"), "/second-factor") {
				v.t.Errorf("%s %s: %d, to %s", route.Method, route.Path, got.status, got.header.Get("Location"))
			}
		default:
			if got.status != http.StatusSeeOther || got.header.Get("Location") != "/second-factor" || got.body != "" &&
				route.Method != http.MethodGet {
				v.t.Errorf("%s %s: %d, to %s", route.Method, route.Path, got.status, got.header.Get("Location"))
			}
		}
	}
	if got := v.get("/invoices", "HX-Request", "true"); got.header.Get("HX-Redirect") != "/second-factor" ||
		got.body != "" {
		v.t.Errorf("a part of a page: %d %s", got.status, got.body)
	}
}

// TestSecondFactorRequired checks that an owner with a second factor can require one, and what that means for everybody
// of the company.
func TestSecondFactorRequired(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour)
	owner, viewer := s.loggedIn(t), s.colleague(t, access.Viewer)
	email, token := "viewer@colleagues.example", s.token(t, "viewer@colleagues.example", colleaguePassword)
	require := func(v *visitor, policy string) response { return v.post("/users/login-policy", "policy", policy) }
	if page := owner.get("/users").body; strings.Contains(page, `value="second_factor"`) ||
		!strings.Contains(page, "set up your own first") {
		t.Error("an owner without a second factor is offered to require one")
	}
	if got := require(owner, "second_factor"); got.header.Get("Location") != "/users?notice=bad.no_factor" {
		t.Errorf("an owner without a second factor requires one: %d, to %s", got.status, got.header.Get("Location"))
	}
	_, recovery := owner.enroll()
	if got := require(viewer, "second_factor"); got.status != http.StatusForbidden {
		t.Errorf("a viewer requires it: %d", got.status)
	}
	if page := owner.get("/users").body; !strings.Contains(page, `value="second_factor"`) {
		t.Error("an owner with a second factor cannot require one")
	}
	if got := require(owner, "second_factor"); got.header.Get("Location") != "/users?notice=good.factor_required" {
		t.Fatalf("require: %d, to %s", got.status, got.header.Get("Location"))
	}
	if got := viewer.get("/invoices"); !strings.HasPrefix(got.header.Get("Location"), "/login") {
		t.Errorf("the session of a password: %d, to %s", got.status, got.header.Get("Location"))
	}
	if got := s.api(t, token, http.MethodGet, "/api/v1/client/account", nil, nil); got != http.StatusUnauthorized {
		t.Errorf("the token of a password: %d", got)
	}
	if got := s.visitor(t).do(http.MethodPost, "/api/v1/client/auth/login",
		`{"email":"`+email+`","password":"`+colleaguePassword+`"}`, "Content-Type",
		"application/json"); got.status != http.StatusForbidden || !strings.Contains(got.body, `"second_factor_required"`) {
		t.Errorf("a password in the API: %d %s", got.status, got.body)
	}
	if got := owner.post("/second-factor/disable", "current", s.password,
		"otp", recovery[0]); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.body, "you cannot turn it off") {
		t.Errorf("turned off: %d", got.status)
	}

	intruder := s.visitor(t) // with the password alone
	viewer.login(email, colleaguePassword)
	intruder.login(email, colleaguePassword)
	viewer.wantHeld()
	viewer.enroll()
	if got := viewer.get("/invoices"); got.status != http.StatusOK {
		t.Errorf("with a second factor: %d", got.status)
	}
	if got := intruder.get("/invoices"); !strings.HasPrefix(got.header.Get("Location"), "/login") {
		t.Errorf("another session that was held: %d, to %s", got.status, got.header.Get("Location"))
	}
	if got := require(owner, "any"); got.header.Get("Location") != "/users?notice=good.factor_not_required" {
		t.Errorf("allow: %d, to %s", got.status, got.header.Get("Location"))
	}
	if got := owner.post("/second-factor/disable", "current", s.password,
		"otp", recovery[0]); got.header.Get("Location") != "/second-factor?notice=good.factor_disabled" {
		t.Errorf("turned off when nothing is required: %d", got.status)
	}
}

// TestInvitedWhereSecondFactorIsRequired checks that a person who was invited, and one with a password of an
// administrator, come to the page of the second factor after that of the password.
func TestInvitedWhereSecondFactorIsRequired(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour)
	owner := s.loggedIn(t)
	owner.enroll()
	invitation := invitationLink.FindStringSubmatch(owner.post("/users/invitations", "email", "new@palm.example", "role",
		"owner").body)
	owner.post("/users/login-policy", "policy", "second_factor").wantTo(t, "/users?notice=good.factor_required")
	joining := s.visitor(t)
	joining.post("/join/password", "code", invitation[3], "name", "New", "password", "a new long password").wantTo(t,
		"/invoices?notice=good.joined")
	joining.get("/invoices").wantTo(t, "/second-factor")
	joining.wantHeld()
	joining.password = "a new long password"
	joining.enroll()
	if got := joining.get("/users"); got.status != http.StatusOK {
		t.Errorf("with a second factor: %d", got.status)
	}
}

// TestSecondFactorRequiredInBrowser checks with keys only that a person who has to set up a second factor does it, and
// goes on.
func TestSecondFactorRequiredInBrowser(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, time.Hour)
		owner := s.loggedIn(t)
		owner.enroll()
		s.colleague(t, access.Viewer)
		owner.post("/users/login-policy", "policy", "second_factor").wantTo(t, "/users?notice=good.factor_required")
		b := newBrowser(t, s.base)
		b.open("/login")
		b.fill("#email", "viewer@colleagues.example")
		b.fill("#password", colleaguePassword)
		b.press("\r")
		b.until(`location.pathname === "/second-factor"`)
		b.inspect("page-second-factor-required")
		b.open("/second-factor")
		b.tabTo("#begin")
		b.press("\r")
		b.until(`document.querySelector("#secret") !== null`)
		b.inspect("page-second-factor-required-confirm")
		b.open("/second-factor/confirm")
		b.do(chromedp.KeyEvent(newAuthenticator(b.text("#secret")).code(t, 0)))
		b.fill("#current", colleaguePassword)
		b.press("\r")
		b.until(`document.querySelectorAll("#recovery li").length === 10 && document.querySelector("nav") !== null`)
		b.open("/invoices")
		b.until(`location.pathname === "/invoices"`)
	})
}
