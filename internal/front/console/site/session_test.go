package site_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ops/service"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

const strong = "a long enough new password"

// TestSession checks that a login creates a session whose cookie is limited to this host and hidden from scripts. A
// session is not a bearer token, a bearer token is not a session, and the API ignores cookies.
func TestSession(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.visitor(t)
	if got := v.get("/invoices?stage=draft"); got.status != http.StatusSeeOther ||
		got.header.Get("Location") != "/login?next=%2Finvoices%3Fstage%3Ddraft" {
		t.Errorf("a caller who is not logged in gets %d to %q", got.status, got.header.Get("Location"))
	}
	got := v.post("/login", "email", strings.ToUpper(s.email), "password", s.password, "next", "/invoices?stage=draft")
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "/invoices?stage=draft" {
		t.Fatalf("login: %d to %q", got.status, got.header.Get("Location"))
	}
	set := got.header.Get("Set-Cookie")
	for _, want := range []string{"quittance=qs_", "Path=/", "HttpOnly", "SameSite=Lax", "Expires="} {
		if !strings.Contains(set, want) {
			t.Errorf("cookie %q has no %s", set, want)
		}
	}
	if strings.Contains(set, "Secure") || strings.Contains(set, "Domain") {
		t.Errorf("cookie %q", set)
	}
	if got := v.get("/invoices"); got.status != http.StatusOK {
		t.Errorf("after the login: %d", got.status)
	}
	session := v.cookie()
	if status := s.api(t, session, http.MethodGet, "/api/v1/client/account", nil, nil); status != http.StatusUnauthorized {
		t.Errorf("a session as a bearer token: %d", status)
	}
	if got := v.get("/api/v1/client/account"); got.status != http.StatusUnauthorized {
		t.Errorf("the API with a cookie: %d", got.status)
	}
	token := s.token(t, s.email, s.password)
	if got := s.visitor(t).get("/invoices", "Cookie", "quittance="+token); got.status != http.StatusSeeOther {
		t.Errorf("a bearer token as a session: %d", got.status)
	}
	if got := s.visitor(t).get("/invoices", "Authorization", "Bearer "+token); got.status != http.StatusSeeOther {
		t.Errorf("the pages with a bearer token: %d", got.status)
	}
	v.login(s.email, s.password)
	if v.cookie() == session {
		t.Error("a second login kept the session")
	}
	if got := s.visitor(t).get("/invoices", "Cookie", "quittance="+session); got.status != http.StatusSeeOther {
		t.Errorf("the session before the second login: %d", got.status)
	}
	last := v.cookie()
	if got := v.post("/logout"); got.status != http.StatusSeeOther ||
		!strings.Contains(got.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("logout: %d %q", got.status, got.header.Get("Set-Cookie"))
	}
	if got := s.visitor(t).get("/invoices", "Cookie", "quittance="+last); got.status != http.StatusSeeOther {
		t.Errorf("after the logout: %d", got.status)
	}
}

// TestSessionsEnd checks that sessions end when the password changes, which starts a new session, and when the account
// is suspended.
func TestSessionsEnd(t *testing.T) {
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := start(t, engine, true, time.Millisecond)
			v, elsewhere, token := s.loggedIn(t), s.loggedIn(t), s.token(t, s.email, s.password)
			before := v.cookie()
			for fault, fields := range map[string][]string{
				"current-fault": {"current", "not it at all, no", "new", strong},
				"new-fault":     {"current", s.password, "new", "short"},
			} {
				if got := v.post("/account/password", fields...); got.status != http.StatusUnprocessableEntity ||
					!strings.Contains(got.body, `id="`+fault+`"`) {
					t.Errorf("%s: %d", fault, got.status)
				}
			}
			got := v.post("/account/password", "current", s.password, "new", strong)
			if got.status != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), "/account?") {
				t.Fatalf("change: %d to %q", got.status, got.header.Get("Location"))
			}
			if got := v.get("/account"); got.status != http.StatusOK || v.cookie() == before {
				t.Errorf("the browser that changed it: %d", got.status)
			}
			for name, cookie := range map[string]string{"the old session": before, "another session": elsewhere.cookie()} {
				if got := s.visitor(t).get("/account", "Cookie", "quittance="+cookie); got.status != http.StatusSeeOther {
					t.Errorf("%s: %d", name, got.status)
				}
			}
			if status := s.api(t, token, http.MethodGet, "/api/v1/client/account", nil, nil); status != http.StatusUnauthorized {
				t.Errorf("a token: %d", status)
			}
			id, err := base.ParseID(s.Info.AccountID)
			kit.Must(t, err)
			kit.Must(t, identity.SuspendAccount(t.Context(), s.DB(), id))
			if got := v.get("/account"); got.status != http.StatusSeeOther {
				t.Errorf("suspended: %d", got.status)
			}
			if got := v.get("/invoices", "HX-Request", "true"); got.header.Get("HX-Redirect") != "/login" || got.body != "" {
				t.Errorf("a live part of a suspended account: %d %q", got.status, got.body)
			}
			if got := v.post("/login", "email", s.email, "password", strong); got.status != http.StatusForbidden ||
				!strings.Contains(got.body, "suspended") {
				t.Errorf("login while suspended: %d", got.status)
			}
		})
	}
}

// TestLoginIsRejected checks that a wrong password and an unknown address get the same answer, limits apply, and the
// input is kept.
func TestLoginIsRejected(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond, func(c *service.Config) { c.LoginRate = 3 })
	v := s.visitor(t)
	wrong := v.post("/login", "email", s.email, "password", "no")
	unknown := v.post("/login", "email", "x"+s.email, "password", "no")
	if wrong.status != http.StatusUnauthorized || unknown.status != http.StatusUnauthorized ||
		wrong.header.Get("Set-Cookie") != "" {
		t.Errorf("%d and %d", wrong.status, unknown.status)
	}
	requestID := func(a response) string { return a.header.Get(api.HeaderRequestID) }
	same := strings.NewReplacer("x"+s.email, s.email, requestID(unknown), "")
	if strings.ReplaceAll(wrong.body, requestID(wrong), "") != same.Replace(unknown.body) ||
		!strings.Contains(wrong.body, `value="`+s.email+`"`) || strings.Contains(wrong.body, `value="no"`) {
		t.Error("the two pages differ, lack the e-mail address, or show the password")
	}
	for range 2 {
		v.post("/login", "email", s.email, "password", "no")
	}
	limited := v.post("/login", "email", s.email, "password", s.password)
	if seconds, err := strconv.Atoi(limited.header.Get("Retry-After")); limited.status != http.StatusTooManyRequests ||
		err != nil || seconds < 1 {
		t.Errorf("the fourth login: %d, Retry-After %q", limited.status, limited.header.Get("Retry-After"))
	}
	for _, odd := range []string{strings.Repeat("e", 5000), "nul\x00", "\xff"} {
		if got := s.visitor(t).post("/login", "email", odd, "password", "p"); got.status != http.StatusUnauthorized {
			t.Errorf("%q: %d", odd[:3], got.status)
		}
	}
}

// TestLoginLeadsToPagesOfTheConsole checks that a login leads only to pages of the console.
func TestLoginLeadsToPagesOfTheConsole(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	for next, want := range map[string]string{
		"/account": "/account", "/invoices?page=2": "/invoices?page=2", "": "/", "https://example.com/": "/",
		"//example.com/account": "/",
		`/\example.com`:         "/", "///example.com": "/", "javascript:alert(1)": "/", "/login": "/", "/logout": "/",
		"/api/v1/client/account": "/", "/nowhere": "/", "account": "/", "%": "/", "/account\r\nX: y": "/",
	} {
		got := s.visitor(t).post("/login", "email", s.email, "password", s.password, "next", next)
		if got.status != http.StatusSeeOther || got.header.Get("Location") != want {
			t.Errorf("next=%q: %d to %q", next, got.status, got.header.Get("Location"))
		}
	}
}

// TestOtherSites checks that a form from another origin has no effect, even with a valid cookie.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	created, err := invoices.Create(t.Context(), s.tenant(t), draft("INV-1", "1"))
	kit.Must(t, err)
	submit := "/invoices/" + created.ID.String() + "/submit"
	for _, headers := range [][]string{
		{"Origin", "https://example.com"}, {"Origin", "null"},
		{"Origin", strings.Replace(v.base, "http:", "https:", 1) + "1"}, {"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
	} {
		for _, path := range []string{submit, "/logout", "/account/password", "/login"} {
			if got := v.do(http.MethodPost, path, "", headers...); got.status != http.StatusForbidden {
				t.Errorf("%s with %q: %d", path, headers, got.status)
			}
		}
	}
	if found, err := invoices.Find(t.Context(), s.tenant(t), created.ID); err != nil || found.Submission != nil {
		t.Errorf("the invoice was submitted: %v", err)
	}
	if got := v.get("/account"); got.status != http.StatusOK {
		t.Errorf("the user was logged out: %d", got.status)
	}
	if got := v.post(submit); got.status != http.StatusSeeOther {
		t.Errorf("a form of the console: %d", got.status)
	}
}

// TestUnknownAddresses checks that an unknown address answers people with a page and programs with JSON. Things of
// another company are unknown.
func TestUnknownAddresses(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	s.company(t, "other@example.com", strong)
	stranger := s.visitor(t)
	stranger.login("other@example.com", strong)
	created, err := invoices.Create(t.Context(), s.tenant(t), draft("INV-1", "1"))
	kit.Must(t, err)
	path := "/invoices/" + created.ID.String()
	if got := v.get(path); got.status != http.StatusOK {
		t.Fatalf("the own invoice: %d", got.status)
	}
	withoutID := func(a response) string { return strings.ReplaceAll(a.body, a.header.Get(api.HeaderRequestID), "") }
	unknown := stranger.get("/invoices/01890000-0000-7000-8000-000000000000")
	for _, path := range []string{path, "/invoices/nonsense", "/invoices/00000000-0000-0000-0000-000000000000",
		"/evidence/" + created.ID.String()} {
		if got := stranger.get(path); got.status != http.StatusNotFound || withoutID(got) != withoutID(unknown) {
			t.Errorf("another company at %s: %d", path, got.status)
		}
	}
	if got := stranger.post(path + "/submit"); got.status != http.StatusNotFound {
		t.Errorf("submission by another company: %d", got.status)
	}
	for path, want := range map[string]int{"/nowhere": 404, "/invoices/": 404, "/invoices/x/y/z": 404, "/submit": 404} {
		if got := v.get(path); got.status != want || !strings.Contains(got.body, "<h1>") {
			t.Errorf("%s: %d", path, got.status)
		}
		got := v.get(path, "Accept", "application/json")
		if got.status != want || !strings.HasPrefix(got.body, `{"error":{"code":"not_found"`) {
			t.Errorf("%s for a program: %d %s", path, got.status, got.body)
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch} {
		if got := v.do(method, "/invoices", "", "Origin", v.base); got.status != http.StatusMethodNotAllowed ||
			got.header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d", method, got.status)
		}
	}
	if got := v.get("/api/nowhere"); got.status != http.StatusNotFound || !strings.HasPrefix(got.body, "{") {
		t.Errorf("an unknown path of the API: %d %s", got.status, got.body)
	}
	if got := v.get("/docs"); got.status != http.StatusOK || !strings.Contains(got.body, "<html") {
		t.Errorf("the documentation: %d", got.status)
	}
	if got := v.get("/"); got.status != http.StatusOK || !strings.Contains(got.body, "<h1>Overview</h1>") {
		t.Errorf("the root: %d", got.status)
	}
}

// TestHeaders checks that every page has strict security headers and no inline scripts or styles. Assets are cached
// under paths that change with them.
func TestHeaders(t *testing.T) {
	t.Parallel()
	s := start(t, first(), false, time.Millisecond)
	v := s.loggedIn(t)
	assets := map[string]bool{}
	for _, path := range []string{"/login", "/invoices", "/account", "/nowhere"} {
		from := v
		if path == "/login" {
			from = s.visitor(t)
		}
		got := from.get(path)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Frame-Options":         "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin", "Content-Type": "text/html; charset=utf-8",
		} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %s: %q", path, name, got.header.Get(name))
			}
		}
		if got.header.Get(api.HeaderRequestID) == "" || !strings.Contains(got.body,
			"All data here is synthetic and proves nothing about production.") {
			t.Errorf("%s has no request ID, or no sandbox banner", path)
		}
		elements(parse(t, got.body), func(node *html.Node) { wantNothingInline(t, path, node, assets) })
	}
	if len(assets) != 6 {
		t.Errorf("assets %v", assets)
	}
	for asset := range assets {
		got := s.visitor(t).get(asset)
		if got.status != http.StatusOK || got.header.Get("Cache-Control") != "public, max-age=31536000, immutable" ||
			got.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %v", asset, got.status, got.header)
		}
	}
	if got := v.get("/assets/0000000000000000/console.css"); got.status != http.StatusNotFound {
		t.Errorf("an asset with another tag: %d", got.status)
	}
}

// wantNothingInline fails the test for inline content that the policy forbids, and collects the assets.
func wantNothingInline(t *testing.T, path string, node *html.Node, assets map[string]bool) {
	t.Helper()
	if node.Data == "style" || node.Data == "script" && attribute(node, "src") == "" || node.Data == "iframe" ||
		node.Data == "base" {
		t.Errorf("%s: an inline <%s>", path, node.Data)
	}
	for _, a := range node.Attr {
		if a.Key == "style" || strings.HasPrefix(a.Key, "on") || strings.HasPrefix(a.Key, "hx-on") ||
			strings.HasPrefix(strings.ToLower(a.Val), "javascript:") {
			t.Errorf("%s: <%s %s=%q>", path, node.Data, a.Key, a.Val)
		}
		if strings.HasPrefix(a.Val, "/assets/") {
			path, _, _ := strings.Cut(a.Val, "#")
			assets[path] = true
		}
		if (a.Key == "src" || a.Key == "href") && !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") {
			t.Errorf("%s leads to %q", path, a.Val)
		}
	}
}

// TestEvidenceIsAnAttachment checks that a retained body is downloaded unchanged, and never in a form that a browser
// would show in this origin.
func TestEvidenceIsAnAttachment(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, 5*time.Millisecond)
	v := s.loggedIn(t)
	for number, network := range map[string]string{"INV-1": "sandbox-accepted", "INV-2": "sandbox-echo-body"} {
		created, err := invoices.Create(t.Context(), s.tenant(t), draft(number, network))
		kit.Must(t, err)
		v.post("/invoices/" + created.ID.String() + "/submit")
		evidence, err := view.Of(s.tenant(t)).EvidenceHistory(t.Context(), view.OfInvoice(created.ID), 1, 10)
		kit.Must(t, err)
		if evidence.Total == 0 {
			t.Fatal("there is no evidence")
		}
		got := v.get("/evidence/" + evidence.Entries[0].ID.String())
		if network == "sandbox-echo-body" {
			if got.status != http.StatusForbidden || strings.Contains(got.body, s.Info.ProviderCredential) ||
				!evidence.Entries[0].Withheld {
				t.Errorf("a body that echoes a credential: %d", got.status)
			}
			continue
		}
		sum := sha256.Sum256([]byte(got.body))
		if got.status != http.StatusOK || sum != evidence.Entries[0].SHA256 {
			t.Errorf("%d, digest %s", got.status, hex.EncodeToString(sum[:]))
		}
		for name, want := range map[string]string{"Content-Type": "application/octet-stream",
			"X-Content-Type-Options":  "nosniff",
			"Content-Security-Policy": "default-src 'none'; sandbox",
			"Content-Disposition":     `attachment; filename="evidence-1-` + evidence.Entries[0].ID.String() + `.json"`} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %q", name, got.header.Get(name))
			}
		}
	}
}

// TestInvalidFormsAreRejected checks that forms are bounded, and unreadable forms are rejected.
func TestInvalidFormsAreRejected(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	if got := v.post("/account/password",
		"current", strings.Repeat("x", 2<<20)); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("2 MiB: %d", got.status)
	}
	if got := v.do(http.MethodPost, "/account/password", "current=%zz"); got.status != http.StatusBadRequest {
		t.Errorf("a bad escape: %d", got.status)
	}
}

// TestTooManyRequests checks that a session may make as many requests in a minute as a token.
func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond, func(c *service.Config) { c.RateLimit = 5 })
	v := s.loggedIn(t)
	for range 5 {
		if got := v.get("/account"); got.status != http.StatusOK {
			t.Fatalf("%d", got.status)
		}
	}
	if got := v.get("/account"); got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("the sixth request: %d", got.status)
	}
}

// TestInvoiceListIsSmall checks that a page of a hundred invoices transfers less than 60 KB.
func TestInvoiceListIsSmall(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	for n := range 100 {
		_, err := invoices.Create(t.Context(), s.tenant(t), draft("INV-"+strconv.Itoa(n), "1"))
		kit.Must(t, err)
	}
	v := s.loggedIn(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/invoices?per=100", http.NoBody)
	kit.Must(t, err)
	request.Header.Set("Accept-Encoding", "gzip") // set explicitly, so that the compressed bytes are counted
	response, err := v.client.Do(request)
	kit.Must(t, err)
	defer response.Body.Close()
	packed, err := io.ReadAll(response.Body)
	kit.Must(t, err)
	if response.Header.Get("Content-Encoding") != "gzip" || len(packed) > 60_000 {
		t.Errorf("%d bytes, encoding %q", len(packed), response.Header.Get("Content-Encoding"))
	}
	page := v.get("/invoices?per=100")
	if rows := strings.Count(page.body, `class="row"`); rows != 100 {
		t.Errorf("%d rows", rows)
	}
	for path, want := range map[string]string{
		"/invoices?per=10&page=2": "11 to 20 of 100", "/invoices?per=10&page=99": "No entries",
		"/invoices?per=100000": "1 to 100 of 100", "/invoices?page=-1&per=x": "1 to 50 of 100",
		"/invoices?stage=submitted": "No invoices match", "/invoices?q=INV-77": "1 to 1 of 1",
		"/invoices?receiver_state=is:%00": "1 to 50 of 100",
	} {
		got := v.get(path)
		if got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d without %q", path, got.status, want)
		}
	}
}

// BenchmarkHundredRows requests a page of a hundred invoices, half of them submitted, over HTTP.
func BenchmarkHundredRows(b *testing.B) {
	s := start(b, first(), true, time.Millisecond)
	for n := range 100 {
		created, err := invoices.Create(b.Context(), s.tenant(b), draft("INV-"+strconv.Itoa(n), "1"))
		kit.Must(b, err)
		if n%2 == 0 {
			s.report(b, created.ID.String(), "accepted_by_provider")
		}
	}
	v := s.loggedIn(b)
	for b.Loop() {
		if got := v.get("/invoices?per=100", "Accept-Encoding", "gzip"); got.status != http.StatusOK {
			b.Fatal(got.status)
		}
	}
}
