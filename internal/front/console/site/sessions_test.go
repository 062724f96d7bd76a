package site_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"quittance/internal/ledger/access"
)

var shownSession = regexp.MustCompile(`id="session-([0-9a-f-]{36})"`)

// TestSessionPages checks that users see and end their sessions, and owners those of colleagues; that an ended session
// leads to the login; and that a hostile User-Agent is shown as text.
func TestSessionPages(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour)
	owner, colleague := s.loggedIn(t), s.colleague(t, access.Viewer)
	list := colleague.get("/sessions")
	ids := shownSession.FindAllStringSubmatch(list.body, -1)
	if list.status != http.StatusOK || len(ids) == 0 || !strings.Contains(list.body, "this session") ||
		!strings.Contains(list.body, "with a password") {
		t.Fatalf("%d, %d sessions: %.2000s", list.status, len(ids), list.body)
	}
	users := owner.get("/users").body
	link := regexp.MustCompile(`/users/[0-9a-f-]{36}/sessions`).FindAllString(users, -1)
	if len(link) != 2 {
		t.Fatalf("%d links to sessions", len(link))
	}
	if got := owner.get(link[0]); got.status != http.StatusSeeOther || got.header.Get("Location") != "/sessions" {
		t.Errorf("the own sessions: %d", got.status)
	}
	theirs := owner.get(link[1])
	if got := shownSession.FindAllString(theirs.body, -1); len(got) != len(ids) ||
		strings.Contains(theirs.body, "this session") || strings.Contains(theirs.body, "sessions/others/end") {
		t.Errorf("the owner sees %d of %d sessions", len(got), len(ids))
	}
	own := shownSession.FindStringSubmatch(owner.get("/sessions").body)[1]
	if got := colleague.post("/sessions/" + own + "/end"); got.status != http.StatusNotFound {
		t.Errorf("a viewer ends a session of the owner: %d", got.status)
	}
	if got := colleague.get(link[0]); got.status != http.StatusForbidden {
		t.Errorf("a viewer sees the sessions of the owner: %d", got.status)
	}
	if got := owner.post("/sessions/" + ids[0][1] + "/end"); got.status != http.StatusSeeOther ||
		got.header.Get("Location") != link[1]+"?notice=good.session_ended" {
		t.Errorf("ended: %d %s", got.status, got.header.Get("Location"))
	}
	if got := colleague.get("/invoices"); got.status != http.StatusSeeOther ||
		!strings.HasPrefix(got.header.Get("Location"), "/login") {
		t.Errorf("an ended session: %d", got.status)
	}
	if got := owner.post("/sessions/" + own + "/end"); got.status != http.StatusSeeOther ||
		got.header.Get("Location") != "/login?notice=good.logged_out" {
		t.Errorf("the own session: %d %s", got.status, got.header.Get("Location"))
	}
}

// TestLogOutEverywhereElse checks in a browser, with keys only, that a user sees another device, whose User-Agent is
// hostile, and logs out there, and stays logged in.
func TestLogOutEverywhereElse(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), false, time.Hour)
		elsewhere := s.visitor(t)
		const hostile = `Mozilla/5.0 "><script>document.title="owned"</script> (iPhone) Firefox/1`
		if got := elsewhere.do(http.MethodPost, "/login", url.Values{"email": {s.email}, "password": {s.password}}.Encode(),
			"Content-Type", "application/x-www-form-urlencoded", "User-Agent", hostile); got.status != http.StatusSeeOther {
			t.Fatalf("login: %d", got.status)
		}
		b := newBrowser(t, s.base)
		b.open("/login")
		b.login(s.email, s.password)
		b.open("/sessions")
		b.until(`document.querySelectorAll("tr[id^=session-]").length === 2`)
		b.until(`document.title !== "owned" && document.body.innerText.includes("Firefox on iPhone")`)
		b.inspect("page-sessions-two")
		b.do(chromedp.Focus("#others"), chromedp.KeyEvent("\r"))
		b.until(`document.activeElement.closest("#confirm-others") !== null`)
		b.do(chromedp.KeyEvent("\r"))
		b.until(
			`document.querySelectorAll("tr[id^=session-]").length === 1 && document.body.innerText.includes("logged in only here")`)
		if got := elsewhere.get("/invoices"); got.status != http.StatusSeeOther {
			t.Errorf("the other device: %d", got.status)
		}
	})
}
