package site_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ops/service"
	"quittance/sandbox"
	"quittance/test/accounttest"
	"quittance/test/kit"
	"quittance/test/kit/chromium"
	"quittance/test/ledgertest"
	"quittance/test/pgtest"
)

func TestMain(m *testing.M) { os.Exit(chromium.Run(func() int { return pgtest.Run(m) })) }

// system is a complete Quittance with its provider sandbox and receiver, over real HTTP.
type system struct {
	*sandbox.Sandbox
	base            string
	email, password string
}

// start runs a system until the test ends. empty omits the synthetic data.
func start(t testing.TB, engine string, empty bool, pace time.Duration, edits ...func(*service.Config)) *system {
	t.Helper()
	return startAt(t, nil, engine, empty, pace, edits...)
}

// startAt is start with a clock.
func startAt(t testing.TB, now func() time.Time, engine string, empty bool, pace time.Duration,
	edits ...func(*service.Config)) *system {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	config := service.Config{Listen: "127.0.0.1:0", MaxBody: 1 << 20, TokenTTL: 12 * time.Hour, IdempotencyTTL: time.Hour,
		PollFirst: pace, PollMax: time.Second, ProviderTimeout: kit.Patience(), PurchaseInterval: time.Hour,
		RetryFirst: 50 * time.Millisecond, RetryAttempts: 3, AttemptTimeout: kit.Patience(), PrintTimeout: 10 * time.Minute,
		ImportTimeout: kit.Patience(), Grace: kit.Patience(), Version: "test", PasswordCost: accounttest.Cheap(), Log: log,
		Database: ledgertest.Database(t, engine)}
	for _, edit := range edits {
		edit(&config)
	}
	ctx, cancel := context.WithCancel(context.Background())
	started, err := sandbox.Start(ctx, sandbox.Config{Data: t.TempDir(), ProviderListen: "127.0.0.1:0", Pace: pace,
		Empty: empty, Now: now, Log: log, Service: config})
	if err != nil {
		cancel()
		t.Fatalf("start: %v", err)
	}
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- started.Run(ctx, func(sandbox.Info) error {
			close(ready)
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		ended <- nil
		t.Fatalf("run: %v", err)
	}
	return &system{Sandbox: started, base: started.Info.BaseURL, email: started.Info.Email,
		password: started.Info.Password}
}

// forEachEngine runs a test on every engine. Most tests of pages need only [first], because the SQL behind them has its
// tests on both engines in packages view and store. These are the main ways of a user from the first page to the last.
func forEachEngine(t *testing.T, test func(t *testing.T, engine string)) {
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, engine)
		})
	}
}

// first returns the engine of tests that do not depend on it.
func first() string { return ledgertest.Engines()[0] }

// tenant returns the tenant of the sandbox.
func (s *system) tenant(t testing.TB) *base.Tenant {
	t.Helper()
	id, err := base.ParseID(s.Info.AccountID)
	kit.Must(t, err)
	tenant, err := s.DB().Tenant(t.Context(), id)
	kit.Must(t, err)
	return tenant
}

// company creates another account with a user.
func (s *system) company(t testing.TB, email, password string) base.Account {
	t.Helper()
	hash, err := accounttest.Cheap().Hash(password)
	kit.Must(t, err)
	made, err := identity.CreateAccount(t.Context(), s.DB(), "Another LLC", identity.NewUser{Email: email, Name: "Another",
		PasswordHash: hash, Proved: true})
	kit.Must(t, err)
	return made
}

// visitor is an HTTP client that keeps cookies and follows no redirects.
type visitor struct {
	t      testing.TB
	base   string
	client *http.Client
	// password is that of the last login.
	password string
}

func (s *system) visitor(t testing.TB) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	kit.Must(t, err)
	return &visitor{t: t, base: s.base, client: &http.Client{Jar: jar, Timeout: kit.Patience(),
		Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// response is the response that a visitor got.
type response struct {
	status int
	header http.Header
	body   string
}

// do makes one request. Headers with an empty value are left out.
func (v *visitor) do(method, path, body string, headers ...string) response {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(body))
	kit.Must(v.t, err)
	request.Header.Set("Accept", "text/html")
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", v.base)
	}
	for n := 0; n < len(headers); n += 2 {
		request.Header.Set(headers[n], headers[n+1])
	}
	received, err := v.client.Do(request)
	kit.Must(v.t, err)
	defer received.Body.Close()
	text, err := io.ReadAll(received.Body)
	kit.Must(v.t, err)
	return response{status: received.StatusCode, header: received.Header, body: string(text)}
}

func (v *visitor) get(path string, headers ...string) response {
	v.t.Helper()
	return v.do(http.MethodGet, path, "", headers...)
}

// post sends a form, given as alternating names and values.
func (v *visitor) post(path string, fields ...string) response {
	v.t.Helper()
	form := url.Values{}
	for n := 0; n < len(fields); n += 2 {
		form.Add(fields[n], fields[n+1])
	}
	return v.do(http.MethodPost, path, form.Encode())
}

// login logs in and fails the test on an error.
func (v *visitor) login(email, password string) {
	v.t.Helper()
	if got := v.post("/login", "email", email, "password", password); got.status != http.StatusSeeOther {
		v.t.Fatalf("login: %d %s", got.status, got.body)
	}
	v.password = password
}

// loggedIn returns a visitor who is logged in as the sandbox's user.
func (s *system) loggedIn(t testing.TB) *visitor {
	t.Helper()
	v := s.visitor(t)
	v.login(s.email, s.password)
	return v
}

// cookie returns the visitor's session cookie.
func (v *visitor) cookie() string {
	at, err := url.Parse(v.base)
	kit.Must(v.t, err)
	for _, cookie := range v.client.Jar.Cookies(at) {
		if cookie.Name == "quittance" {
			return cookie.Value
		}
	}
	return ""
}

// api calls the API with a bearer token and decodes the data of the response.
func (s *system) api(t testing.TB, token, method, path string, body, out any) int {
	t.Helper()
	var text []byte
	if body != nil {
		var err error
		text, err = json.Marshal(body)
		kit.Must(t, err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, s.base+path, bytes.NewReader(text))
	kit.Must(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	kit.Must(t, err)
	defer response.Body.Close()
	received, err := io.ReadAll(response.Body)
	kit.Must(t, err)
	if out != nil {
		kit.Must(t, json.Unmarshal(received, &struct{ Data any }{out}))
	}
	if response.StatusCode >= 300 {
		t.Logf("%s %s: %s", method, path, received)
	}
	return response.StatusCode
}

// token returns a bearer token of a user.
func (s *system) token(t testing.TB, email, password string) string {
	t.Helper()
	var login api.Login
	if status := s.api(t, "", http.MethodPost, "/api/v1/client/auth/login", api.LoginRequest{Email: &email,
		Password: &password}, &login); status != http.StatusOK {
		t.Fatalf("login: %d", status)
	}
	return login.Token
}

// draft returns a complete draft.
func draft(number, network string) *api.Draft {
	amount := func(text string) *api.Decimal { return new(api.MustDecimal(text)) }
	return &api.Draft{InvoiceNumber: &number, RecipientName: new("Palm Trading LLC"), RecipientNetworkID: &network,
		BuyerEndpointScheme: new("0235"), BuyerStreet: new("12 Harbour Road"), BuyerCity: new("Dubai"),
		BuyerSubdivision: new("DXB"), BuyerCountry: new("AE"), TotalAmount: amount("1050.00"), Currency: new("AED"),
		IssueDate: new("2026-03-01"), DueDate: new("2026-03-31"),
		PaymentMeansCode: new("30"),
		Items: []api.Item{{Name: new("Consulting"), Description: new("Workshop"), UnitCode: new("HUR"),
			Quantity: amount("10"), NetUnitPrice: amount("100.00"), VATCategory: new("S"), VATRate: amount("5")}}}
}

// parse parses a page.
func parse(t testing.TB, page string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	kit.Must(t, err)
	return root
}

// elements calls visit for every element of a page, in order.
func elements(root *html.Node, visit func(*html.Node)) {
	for node := range root.Descendants() {
		if node.Type == html.ElementNode {
			visit(node)
		}
	}
}

// attribute returns the value of an attribute, or "".
func attribute(node *html.Node, name string) string {
	for _, a := range node.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// textOf returns the text of a node.
func textOf(node *html.Node) string {
	var out strings.Builder
	for below := range node.Descendants() {
		if below.Type == html.TextNode {
			out.WriteString(below.Data)
		}
	}
	return out.String()
}

// sentDocument returns a draft as the document of a submission, for [invoices.Intent].
func sentDocument(draft *api.Draft) ([]byte, api.Faults, error) {
	text, err := json.Marshal(map[string]any{"invoice": draft})
	return text, nil, err
}
