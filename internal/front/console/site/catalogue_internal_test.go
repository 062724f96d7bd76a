package site

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/language"

	"quittance/internal/account"
	"quittance/internal/front/console"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/consoletest"
	"quittance/test/ledgertest"
)

var (
	// Expressions for the message keys in templates and handlers, and for those that are composed.
	messageKey  = regexp.MustCompile(`(?:\b(?:t|tn|tOr)\s+|\b(?:Text|Lookup|TextOr|Plural)\(|\bShow\([^"]*"[a-z_-]+", )"([a-z][a-z0-9_.]*)"`)
	noticeKey   = regexp.MustCompile(`WithNotice\([^\n]*"((?:good|bad)\.[a-z0-9_]+)"\)`)
	messagePart = regexp.MustCompile(`"((?:[a-z0-9_]+\.)+)(?:%[sd]((?:\.[a-z]+)?))?"`)
)

// TestMessages checks that every message key in use exists, and every message is used.
func TestMessages(t *testing.T) {
	wantQuotaPages(t, consoletest.Words(t, language.English).Messages)
	messages := textsIn(t, language.English)
	source := sourceText(t, "..", "../*", "../../page")
	used := map[string]bool{}
	for _, found := range messageKey.FindAllStringSubmatch(source, -1) {
		key := found[1]
		if strings.HasSuffix(key, ".") {
			continue // a family, below
		}
		if strings.Contains(found[0], "tn ") || strings.Contains(found[0], "Plural(") {
			used[key+".one"], used[key+".other"] = true, true
			continue
		}
		used[key] = true
	}
	for key := range used {
		if _, ok := messages[key]; !ok {
			t.Errorf("message %q does not exist", key)
		}
	}
	for _, found := range noticeKey.FindAllStringSubmatch(source, -1) {
		if _, ok := messages["flash."+found[1]]; !ok {
			t.Errorf("notice %q does not exist", found[1])
		}
	}
	var families []string
	for _, found := range messagePart.FindAllStringSubmatch(source, -1) {
		families = append(families, found[1])
	}
	families = append(families, "flash.") // their keys come from handlers and addresses
	if len(used) < 80 || len(families) < 8 {
		t.Fatalf("only %d keys and %d families were found", len(used), len(families))
	}
	all := source + sourceText(t, "../../operator")
	for key, text := range messages {
		known := used[key] || strings.Contains(all, `"`+key+`"`)
		for _, family := range families {
			known = known || strings.HasPrefix(key, family)
		}
		if !known {
			t.Errorf("message %q is not used", key)
		}
		if strings.TrimSpace(text) == "" {
			t.Errorf("%q is empty", key)
		}
	}
}

// sourceText returns the text of all templates and handlers of some packages.
func sourceText(t *testing.T, directories ...string) string {
	t.Helper()
	var out bytes.Buffer
	for _, directory := range directories {
		for _, pattern := range []string{"templates/*.html", "*.go"} {
			names, err := filepath.Glob(filepath.Join(directory, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if strings.HasSuffix(name, "_test.go") {
					continue
				}
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				out.Write(text)
			}
		}
	}
	return out.String()
}

// textsIn returns the texts of the console and of the kit of pages in a language, as their files have them.
func textsIn(t *testing.T, of language.Tag) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, directory := range []string{"..", "../../page"} {
		text, err := os.ReadFile(directory + "/messages/" + of.String() + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// secured returns a production console that uses TLS, with its own store, and with some more pages.
func secured(t testing.TB, more ...console.Subject) (*console.Console, *ledgertest.Store) {
	t.Helper()
	s := ledgertest.Open(t, ledgertest.SQLite)
	c, err := console.New(console.Config{DB: s.DB, Random: rand.Reader, Now: s.Clock.Now, Environment: "production",
		Secure:  true,
		MaxBody: 1 << 20, Accounts: &account.Service{DB: s.DB, Random: rand.Reader, Now: s.Clock.Now, TokenTTL: time.Hour,
			Hasher: account.NewHasher(1, account.DefaultCost())}}, sections, append(subjects(), more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

// TestSecureCookie checks that with TLS, the cookie is bound to the host and to TLS, and a cookie with the plain name
// is ignored. Production pages have no sandbox banner.
func TestSecureCookie(t *testing.T) {
	t.Parallel()
	c, s := secured(t)
	const password = "correct horse battery staple"
	hash, err := account.DefaultCost().Hash(password)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := identity.CreateAccount(t.Context(), s.DB, "Palm", identity.NewUser{Email: "a@example.com",
		PasswordHash: hash}); err != nil {
		t.Fatal(err)
	}
	serve := func(method, path, body string, cookies ...*http.Cookie) *http.Response {
		request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
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
	in := serve(http.MethodPost, "/login", url.Values{"email": {"a@example.com"}, "password": {password}}.Encode())
	if len(in.Cookies()) != 1 {
		t.Fatalf("%d %v", in.StatusCode, in.Header)
	}
	cookie := in.Cookies()[0]
	if cookie.Name != "__Host-quittance" || !cookie.Secure || !cookie.HttpOnly ||
		cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" {
		t.Errorf("cookie %v, %v", cookie, in.Header)
	}
	if got := serve(http.MethodGet, "/invoices", "", cookie); got.StatusCode != http.StatusOK ||
		strings.Contains(bodyOf(t, got), "synthetic") {
		t.Errorf("with the cookie: %d", got.StatusCode)
	}
	plain := *cookie
	plain.Name = "quittance"
	if got := serve(http.MethodGet, "/invoices", "", &plain); got.StatusCode != http.StatusSeeOther {
		t.Errorf("with the plain cookie name: %d", got.StatusCode)
	}
}

func bodyOf(t *testing.T, response *http.Response) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := out.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestFailurePages checks that a panic or a lost database fails only its own request. The page shows the request ID and
// nothing about the cause.
func TestFailurePages(t *testing.T) {
	t.Parallel()
	c, s := secured(t, console.Subject{Routes: []console.Route{{Method: http.MethodGet, Path: "/panic",
		Needs: access.Public, Serve: func(*console.Request) error { panic("a secret cause") }}}})
	serve := func(path string) (console.Served, *httptest.ResponseRecorder) {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		request.AddCookie(&http.Cookie{Name: "__Host-quittance", Value: "qs_unknown"})
		recorder := httptest.NewRecorder()
		recorder.Header().Set("X-Request-Id", "request-77")
		return c.Serve(recorder, request, "", direct{c, request}), recorder
	}
	served, got := serve("/panic")
	if got.Code != http.StatusInternalServerError || served.Err == nil ||
		!strings.Contains(served.Err.Error(), "a secret cause") ||
		strings.Contains(got.Body.String(), "secret cause") || !strings.Contains(got.Body.String(), "request-77") {
		t.Errorf("a panic: %d %v", got.Code, served.Err)
	}
	if err := s.DB.Close(); err != nil {
		t.Fatal(err)
	}
	served, got = serve("/invoices")
	if got.Code != http.StatusServiceUnavailable || served.Err == nil || got.Header().Get("Retry-After") == "" ||
		strings.Contains(got.Body.String(), "database") {
		t.Errorf("a lost database: %d %v", got.Code, served.Err)
	}
}

// direct is an Admission without limits.
type direct struct {
	c *console.Console
	r *http.Request
}

func (d direct) Authenticate(ctx context.Context, digest [32]byte) (base.Session, error) {
	return d.c.DB.Authenticate(ctx, digest)
}
func (d direct) Acquire(context.Context) error { return nil }
func (d direct) ReadBody(_ context.Context, most int64) ([]byte, error) {
	return io.ReadAll(http.MaxBytesReader(nil, d.r.Body, most))
}
func (d direct) Reserve(int) error          { return nil }
func (d direct) Release(int)                {}
func (d direct) Charge(int64) error         { return nil }
func (d direct) Remember([32]byte, base.ID) {}
