package site_test

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ops/service"
	"quittance/test/accounttest"
	"quittance/test/kit"
)

// invitationLink is the link of an invitation in a page.
var invitationLink = regexp.MustCompile(`(http://[0-9.:]+)(/join)#(qi_[\w-]{43})`)

// lines collects the lines of a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) contains(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// TestInvitedPerson checks that an owner gets a link once, that the invited person chooses a password with it and is
// logged in with the given role, and that the secret is in no log and no address of the server.
func TestInvitedPerson(t *testing.T) {
	t.Parallel()
	var log lines
	s := start(t, first(), true, time.Hour, func(c *service.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	owner := s.loggedIn(t)
	made := owner.post("/users/invitations", "email", " Books@Example.com", "role", "accountant")
	link := invitationLink.FindStringSubmatch(made.body)
	if made.status != http.StatusCreated || link == nil || link[1] != s.base ||
		made.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("invite: %d %v", made.status, link)
	}
	code := link[3]
	if listed := owner.get("/users"); !strings.Contains(listed.body, "books@example.com") ||
		strings.Contains(listed.body, "qi_") {
		t.Error("the list does not show the invitation, or shows its secret")
	}

	guest := s.visitor(t)
	if got := guest.get("/join"); got.status != http.StatusOK || !strings.Contains(got.body, `data-fragment="code"`) ||
		got.header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the page of the link: %d", got.status)
	}
	got := guest.post("/join", "code", code)
	if got.status != http.StatusOK || !strings.Contains(got.body, "Sandbox Trading LLC") ||
		!strings.Contains(got.body, "books@example.com") {
		t.Fatalf("open the invitation: %d %s", got.status, got.body)
	}
	for password, fault := range map[string]string{"short": "15", "passwordpassword": "common",
		"aaaaaaaaaaaaaaaaaa": "common"} {
		if got := guest.post("/join/password", "code", code, "name", "Books",
			"password", password); got.status != http.StatusUnprocessableEntity ||
			!strings.Contains(got.body, fault) || strings.Contains(got.body, `value="`+password) {
			t.Errorf("password %q: %d", password, got.status)
		}
	}
	const chosen = "three mild walruses sing"
	if got := guest.post("/join/password", "code", code, "name", "<b>Books</b>",
		"password", chosen); got.status != http.StatusSeeOther ||
		!strings.HasPrefix(got.header.Get("Location"), "/invoices?") {
		t.Fatalf("join: %d %s", got.status, got.body)
	}
	if got := guest.get("/invoices/new"); got.status != http.StatusOK {
		t.Errorf("the accountant cannot write: %d", got.status)
	}
	if got := guest.get("/users"); got.status != http.StatusForbidden {
		t.Errorf("the accountant sees the people: %d", got.status)
	}
	if got := owner.get("/users"); !strings.Contains(got.body, "&lt;b&gt;Books&lt;/b&gt;") ||
		strings.Contains(got.body, "<b>Books") {
		t.Error("the name is not escaped")
	}
	stranger := s.visitor(t)
	for _, spent := range []response{stranger.post("/join", "code", code),
		stranger.post("/join/password", "code", code, "password", chosen)} {
		if spent.status != http.StatusUnprocessableEntity || strings.Contains(spent.body, "Sandbox Trading") {
			t.Errorf("a used invitation: %d", spent.status)
		}
	}
	s.visitor(t).login("books@example.com", chosen)
	if log.contains(code) || log.contains(code[3:20]) || log.contains(chosen) {
		t.Error("a secret is in the log")
	}
	if !log.contains("/join") {
		t.Error("the log has no requests")
	}
	id, err := base.ParseID(s.Info.AccountID)
	kit.Must(t, err)
	entries, err := s.DB().Audit(context.Background(), base.AuditFilter{Account: &id, Act: "user", Limit: 10})
	kit.Must(t, err)
	var acts []string
	for _, e := range entries {
		acts = append(acts, e.Act+" by "+e.Name)
	}
	if text := strings.Join(acts, ", "); !strings.Contains(text, "user.invite by "+s.email) ||
		!strings.Contains(text, "user.join by books@example.com") {
		t.Errorf("audited %s", text)
	}
}

// TestPeople checks that an owner changes the roles of others, disables and enables them, and revokes invitations, that
// the last owner stays, and that others can do none of it.
func TestPeople(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour)
	owner, colleague := s.loggedIn(t), s.colleague(t, access.Viewer)
	page := owner.get("/users").body
	row := regexp.MustCompile(`id="user-([0-9a-f-]{36})"`).FindAllStringSubmatch(page, -1)
	if len(row) != 2 {
		t.Fatalf("%d users", len(row))
	}
	own, other := "/users/"+row[0][1], "/users/"+row[1][1]
	want := func(v *visitor, path, flash string, fields ...string) {
		t.Helper()
		if got := v.post(path, fields...); got.status != http.StatusSeeOther ||
			!strings.Contains(got.header.Get("Location"), flash) {
			t.Errorf("%s %v: %d %s, want %s", path, fields, got.status, got.header.Get("Location"), flash)
		}
	}
	want(owner, own+"/role", "bad.last_owner", "role", "viewer")
	want(owner, own+"/disable", "bad.last_owner")
	want(owner, other+"/role", "good.role_changed", "role", "accountant")
	if got := colleague.get("/invoices/new"); got.status != http.StatusOK {
		t.Errorf("the new role does not apply: %d", got.status)
	}
	for _, path := range []string{own + "/disable", other + "/role", "/users/invitations"} {
		if got := colleague.post(path, "role", "owner", "email", "x@example.com"); got.status != http.StatusForbidden {
			t.Errorf("an accountant: POST %s: %d", path, got.status)
		}
	}
	want(owner, other+"/disable", "good.user_disabled")
	if got := colleague.get("/invoices"); got.status != http.StatusSeeOther ||
		!strings.HasPrefix(got.header.Get("Location"), "/login") {
		t.Errorf("a disabled user: %d", got.status)
	}
	want(owner, other+"/enable", "good.user_enabled")
	for email, status := range map[string]int{"palm": http.StatusUnprocessableEntity,
		"accountant\x00@example.com": http.StatusUnprocessableEntity, s.email: http.StatusUnprocessableEntity} {
		if got := owner.post("/users/invitations", "email", email, "role", "viewer"); got.status != status {
			t.Errorf("invite %q: %d", email, got.status)
		}
	}
	for _, path := range []string{"/users/invitations", other + "/role"} {
		if got := owner.post(path, "email", "new@example.com", "role", "root"); got.status != http.StatusBadRequest {
			t.Errorf("a role that does not exist: POST %s: %d", path, got.status)
		}
	}
	made := invitationLink.FindStringSubmatch(owner.post("/users/invitations", "email", "new@example.com", "role",
		"owner").body)
	invited := regexp.MustCompile(`/users/invitations/[0-9a-f-]{36}/revoke`).FindString(owner.get("/users").body)
	want(owner, invited, "good.invitation_revoked")
	if got := s.visitor(t).post("/join", "code", made[3]); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a revoked invitation: %d", got.status)
	}
	want(owner, other+"/role", "good.role_changed", "role", "owner")
	want(owner, own+"/role", "/invoices?", "role", "viewer") // no longer the last one; the list is no longer for this user
	if got := owner.get("/users"); got.status != http.StatusForbidden {
		t.Errorf("an owner who gave up the role: %d", got.status)
	}
}

// TestWrongInvitations checks that wrong codes are limited like logins.
func TestWrongInvitations(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour, func(c *service.Config) { c.LoginRate = 5 })
	v := s.visitor(t)
	for n := range 7 {
		got := v.post([]string{"/join", "/join/password"}[n%2], "code", "qi_"+strings.Repeat("A", 43), "password",
			"three mild walruses sing")
		if n < 5 && got.status != http.StatusUnprocessableEntity || n >= 5 &&
			(got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "") {
			t.Errorf("attempt %d: %d", n+1, got.status)
		}
	}
}

// TestLinkOfInvitation checks that a browser opens the link, that its secret leaves the address at once, and that the
// person is logged in after choosing a password with the keyboard.
func TestLinkOfInvitation(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, time.Hour)
		b := newBrowser(t, s.base)
		link := invitationLink.FindStringSubmatch(s.loggedIn(t).post("/users/invitations", "email", "books@example.com",
			"role", "viewer").body)
		b.open("/join")
		b.inspect("join-code")
		b.open("/join#" + link[3])
		b.until(`document.querySelector("#join") && location.hash === "" && !location.href.includes("qi_")`)
		b.inspect("join")
		b.press("Bo")
		b.tabTo("#password")
		b.press("three mild walruses sing\r")
		b.until(`location.pathname === "/invoices"`)
		b.wantQuiet("joining")
		o := newBrowser(t, s.base)
		o.login(s.email, s.password)
		o.open("/users")
		o.inspect("users")
		o.wantQuiet("the people")
	})
}

// TestLastLogin checks that the list of people says when each of them last logged in, and who never did.
func TestLastLogin(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	owner := s.loggedIn(t)
	hash, err := accounttest.Cheap().Hash(strong)
	kit.Must(t, err)
	id, err := base.ParseID(s.Info.AccountID)
	kit.Must(t, err)
	_, err = identity.AddUser(t.Context(), s.DB(), id, identity.NewUser{Email: "books@example.com", Name: "Books",
		Role: access.Viewer, PasswordHash: hash})
	kit.Must(t, err)
	logins := func() []string {
		return regexp.MustCompile(`c-last"[^>]*>\s*<span>\s*(<time|<span class="quiet">Never)`).FindAllString(
			owner.get("/users").body, -1)
	}
	if got := strings.Join(logins(), " "); strings.Count(got, "<time") != 1 || strings.Count(got, "Never") != 1 {
		t.Errorf("before the login: %s", got)
	}
	s.visitor(t).login("books@example.com", strong)
	if got := strings.Join(logins(), " "); strings.Count(got, "<time") != 2 {
		t.Errorf("after the login: %s", got)
	}
}
