package server_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
	"quittance/sandbox"
	"quittance/test/accounttest"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// onEngines runs a test against a system on each engine, or only on the first one with -short.
func onEngines(t *testing.T, change func(*service.Config), test func(t *testing.T, s *system)) {
	t.Helper()
	t.Parallel()
	engines := ledgertest.Engines()
	if testing.Short() {
		engines = engines[:1]
	}
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, start(t, engine, change))
		})
	}
}

// onFirst runs a test against a system on one engine, because the code under test does not depend on the engine.
func onFirst(t *testing.T, change func(*service.Config), test func(t *testing.T, s *system)) {
	t.Helper()
	t.Parallel()
	test(t, start(t, ledgertest.Engines()[0], change))
}

// system is a whole Quittance with its provider sandbox and receiver, over real HTTP.
type system struct {
	base    string
	sandbox *sandbox.Sandbox
	db      *base.DB
	http    *http.Client
	// clock is that of the service if the test's configuration has one; otherwise the service uses its own, and clock is
	// nil.
	clock *clock
	// hash is the hash of the password that every user of these tests has.
	hash    string
	sources atomic.Uint32
	names   atomic.Uint32
}

// clock is a clock that a test can stop, so that a minute of a limit does not end while a busy machine makes the calls.
type clock struct {
	now func() time.Time

	mu      sync.Mutex
	stopped time.Time     // zero while the clock runs
	ahead   time.Duration // of now
}

// Now returns the time.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped.IsZero() {
		return c.stopped
	}
	return c.now().Add(c.ahead)
}

// advance puts a running clock forward.
func (c *clock) advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += by
}

// stop stops the clock until the test ends. Then it has the time that it would have had.
func (c *clock) stop(t *testing.T) {
	t.Helper()
	at := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = at
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stopped = time.Time{}
	})
}

const password = "correct horse battery staple"

// start runs a system until the test ends. Its limits are off and loopback is a trusted proxy, unless change says
// otherwise.
func start(t testing.TB, engine string, change func(*service.Config)) *system {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	config := service.Config{Listen: "127.0.0.1:0", MaxBody: 1 << 20, TokenTTL: time.Hour, IdempotencyTTL: time.Hour,
		PollFirst: 20 * time.Millisecond, PollMax: time.Minute, ProviderTimeout: time.Minute, PurchaseInterval: time.Hour,
		RetryFirst: 50 * time.Millisecond, RetryAttempts: 3, AttemptTimeout: time.Minute, PrintTimeout: 10 * time.Minute,
		ImportTimeout: 10 * time.Minute, Grace: time.Minute, Version: "test", PasswordCost: accounttest.Cheap(), Log: log,
		Database: ledgertest.Database(t, engine)}
	if change != nil {
		change(&config)
	}
	s := &system{}
	if config.Now != nil {
		s.clock = &clock{now: config.Now}
		config.Now = s.clock.Now
	}
	ctx, cancel := context.WithCancel(context.Background())
	started, err := sandbox.Start(ctx, sandbox.Config{Data: t.TempDir(), ProviderListen: "127.0.0.1:0",
		Pace: time.Millisecond, Empty: true, Log: log, Now: config.Now, Service: config})
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
	s.base, s.sandbox, s.db, s.http = started.Info.BaseURL, started, started.DB(), newClient()
	t.Cleanup(func() {
		s.http.CloseIdleConnections()
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
	s.hash, err = config.PasswordCost.Hash(password)
	kit.Must(t, err)
	return s
}

// newClient returns a client that does not follow redirects, so that a test sees one.
func newClient() *http.Client {
	return &http.Client{Timeout: kit.Patience(), Transport: &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 64},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// company is an account of a system with its first user.
type company struct {
	*system
	id    base.ID
	email string
	user  base.User
	// delivered is the id of a delivered delivery; "" if there is none yet.
	delivered string
}

// company creates an account without a provider connection.
func (s *system) company(t testing.TB) *company {
	t.Helper()
	n := s.names.Add(1)
	c := &company{system: s, email: fmt.Sprintf("owner-%d@example.com", n)}
	made, err := identity.CreateAccount(t.Context(), s.db, fmt.Sprintf("Company %d", n),
		identity.NewUser{Email: c.email, Name: "Owner", PasswordHash: s.hash, Proved: true})
	if err != nil {
		t.Fatal(err)
	}
	c.id = made.ID
	if c.user, err = s.db.UserByEmail(t.Context(), c.email); err != nil {
		t.Fatal(err)
	}
	return c
}

// connected creates an account with an active connection to the provider sandbox.
func (s *system) connected(t testing.TB) *company {
	t.Helper()
	c := s.company(t)
	c.connect(t, s.sandbox.Info.ProviderURL, service.Sandbox)
	return c
}

// connect activates a connection to a provider.
func (c *company) connect(t testing.TB, url, environment string) {
	t.Helper()
	c.activate(t, invoices.NewConnection{Kind: "http", Environment: environment, BaseURL: url,
		Credential: secret.New(c.sandbox.Info.ProviderCredential)})
}

// connectIn activates a connection to the sandbox's provider with a document format.
func (c *company) connectIn(t testing.TB, format string) base.ID {
	t.Helper()
	return c.activate(t, invoices.NewConnection{Kind: "http", Environment: service.Sandbox,
		BaseURL: c.sandbox.Info.ProviderURL, Format: format, Credential: secret.New(c.sandbox.Info.ProviderCredential)})
}

// activate adds a connection and activates it.
func (c *company) activate(t testing.TB, add invoices.NewConnection) base.ID {
	t.Helper()
	made, err := invoices.AddConnection(t.Context(), c.db, c.id, add)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := invoices.ActivateConnection(t.Context(), c.db, made.ID); err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// token creates a token, like a login but without hashing a password.
func (c *company) token(t testing.TB) string {
	t.Helper()
	return c.tokenFor(t, time.Hour)
}

// tokenFor creates a token that expires after ttl. A negative ttl makes an expired token.
func (c *company) tokenFor(t testing.TB, ttl time.Duration) string {
	t.Helper()
	token, err := secret.NewToken(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := identity.CreateToken(t.Context(), c.db, c.user, identity.NewToken{Digest: secret.Digest(token),
		ExpiresAt: time.Now().Add(ttl), Means: identity.LoginBySingleSignOn}); err != nil {
		t.Fatal(err)
	}
	return token.Reveal()
}

// revoke revokes a token.
func (c *company) revoke(t testing.TB, token string) {
	t.Helper()
	if err := identity.RevokeToken(t.Context(), c.db, secret.Digest(secret.New(token))); err != nil {
		t.Fatal(err)
	}
}

// source returns an unused source address, so that tests do not share a login limit.
func (s *system) source() string {
	n := s.sources.Add(1)
	return fmt.Sprintf("198.51.%d.%d", 100+n/250%100, 1+n%250)
}

// request is a request to the service.
type request struct {
	method, path string // the path is sent unchanged, with its query
	token        string
	header       http.Header
	// body is sent as JSON unless header says otherwise; "" is no body.
	body string
	// chunked hides the length of the body.
	chunked bool
}

// answer is a response with the request that it belongs to.
type response struct {
	request request
	status  int
	header  http.Header
	text    string
}

// send sends a request and checks the rules for all responses.
func (s *system) send(t testing.TB, r request) response {
	t.Helper()
	a, err := s.try(t.Context(), r)
	if err != nil {
		t.Fatalf("%s %.200s: %v", r.method, r.path, err)
	}
	checkResponse(t, a)
	return a
}

// try sends a request. Any goroutine may call it.
func (s *system) try(ctx context.Context, r request) (response, error) {
	var body io.Reader = http.NoBody
	if r.body != "" {
		body = strings.NewReader(r.body)
	}
	if r.chunked {
		body = struct{ io.Reader }{body}
	}
	out, err := http.NewRequestWithContext(ctx, r.method, s.base+r.path, body)
	if err != nil {
		return response{}, err
	}
	if r.body != "" {
		out.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		out.Header.Set("Authorization", "Bearer "+r.token)
	}
	maps.Copy(out.Header, r.header)
	got, err := s.http.Do(out)
	if err != nil {
		return response{}, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	return response{request: r, status: got.StatusCode, header: got.Header, text: string(text)}, err
}

// get sends a GET request of the company, with a new token.
func (c *company) get(t testing.TB, path string) response {
	t.Helper()
	return c.send(t, request{method: http.MethodGet, path: path, token: c.token(t)})
}

func (c *company) post(t testing.TB, path, body string) response {
	t.Helper()
	return c.send(t, request{method: http.MethodPost, path: path, body: body, token: c.token(t)})
}

// draft creates a draft and returns its identifier.
func (c *company) draft(t testing.TB, body string) string {
	t.Helper()
	a := c.post(t, invoicesPath, body)
	a.want(t, http.StatusCreated, "")
	return a.textAt(t, "/data/id")
}

const (
	invoicesPath  = "/api/v1/client/invoices"
	subscriptions = "/api/v1/webhooks/subscriptions"
	loginPath     = "/api/v1/client/auth/login"
)

// want compares the status and, for an error, the code.
func (a response) want(t testing.TB, status int, code api.Code) {
	t.Helper()
	got := api.Code("")
	if a.status >= 400 && a.text != "" {
		got = api.Code(a.textAt(t, "/error/code"))
	}
	if a.status != status || got != code {
		t.Fatalf("%s %s\n%.300s\nanswered %d %s, want %d %s\n%.600s", a.request.method, a.request.path, a.request.body,
			a.status, got, status, code, a.text)
	}
}

// wantFaults compares the faults in the details of a 422: the rules by path.
func (a response) wantFaults(t testing.TB, code api.Code, want map[string][]string) {
	t.Helper()
	a.want(t, http.StatusUnprocessableEntity, code)
	var body struct {
		Error struct {
			Details map[string][]api.Fault `json:"details"`
		} `json:"error"`
	}
	a.decode(t, &body)
	got := map[string][]string{}
	for path, faults := range body.Error.Details {
		for _, fault := range faults {
			got[path] = append(got[path], fault.Rule)
		}
	}
	wantEqual(t, fmt.Sprintf("faults of %.2000s", a.request.body), got, want)
}

// numbered returns a complete draft with an unused number for the recipient to, or for the usual recipient if to is
// empty.
func (s *system) numbered(to string) string {
	text := edit(complete, "invoice_number", fmt.Sprintf(`"N-%d"`, s.names.Add(1)))
	return edit(text, "recipient_network_id", fmt.Sprintf("%q", cmp.Or(to, "1234567890")))
}
