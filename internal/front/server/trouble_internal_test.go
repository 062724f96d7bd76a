package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/exchange/submission"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/problem"
	"quittance/test/ledgertest"
)

// inside is a text that may appear only in the log.
const inside = "pgx: SQLSTATE 42P01 in internal/store/secret.go: canary"

// newTestServer starts a server with additional routes on a real store. The server writes its log to log.
func newTestServer(t *testing.T, log io.Writer, more ...route) (*httptest.Server, *ledgertest.Store) {
	t.Helper()
	db := ledgertest.Open(t, ledgertest.Engines()[0])
	s := New(Config{DB: db.DB, Random: rand.Reader, Now: db.Clock.Now, MaxBody: 1 << 20, RateLimit: 2, Version: "test",
		Accounts: &account.Service{DB: db.DB, Random: rand.Reader, Now: db.Clock.Now, TokenTTL: time.Hour, LoginRate: 1,
			Hasher: account.NewHasher(0, account.DefaultCost())},
		Log:     slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Observe: func(string, string, int, time.Duration) {},
		Ready:   func(context.Context) error { return errors.New(inside) }})
	s.router = newRouter(append(routes(), more...))
	running := httptest.NewServer(s)
	t.Cleanup(running.Close)
	return running, db
}

// TestInternalErrors checks that an internal error is reported with its code and a request id. The log has the request
// id and the cause.
func TestInternalErrors(t *testing.T) {
	fails := func(err error) func(context.Context, *call) (int, any, error) {
		return func(context.Context, *call) (int, any, error) { return 0, nil, err }
	}
	for _, test := range []struct {
		name   string
		serve  func(context.Context, *call) (int, any, error)
		status int
		code   api.Code
	}{
		{"a panic", func(context.Context, *call) (int, any, error) { panic(inside) }, 500, api.CodeInternal},
		{"a panic with an error", func(context.Context, *call) (int, any, error) { panic(errors.New(inside)) },
			500, api.CodeInternal},
		{"a runtime error", func(context.Context, *call) (int, any, error) {
			list := strings.Fields(inside)
			return len(list[len(inside)]), nil, nil
		}, 500, api.CodeInternal},
		{"an aborted handler", func(context.Context, *call) (int, any, error) { panic(http.ErrAbortHandler) },
			500, api.CodeInternal},
		{"an unknown error", fails(errors.New(inside)), 500, api.CodeInternal},
		{"an unavailable database", fails(fmt.Errorf("%w: %s", base.ErrUnavailable, inside)), 503, api.CodeUnavailable},
		{"a time-out", fails(fmt.Errorf("%s: %w", inside, context.DeadlineExceeded)), 503, api.CodeUnavailable},
		{"a provider that accepted nothing", fails(fmt.Errorf("%s: %w", inside, submission.ErrNotSubmitted)), 502,
			api.CodeProviderError},
		{"a result that JSON cannot represent", func(context.Context, *call) (int, any, error) {
			return 200, map[string]any{inside: func() {}}, nil
		}, 500, api.CodeInternal},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			running, _ := newTestServer(t, &log, route{method: http.MethodGet, path: "/trouble", needs: access.Public,
				operation: operation{serve: test.serve}})
			wantErrorResponse(t, running.URL+"/trouble", test.status, test.code)
			if !strings.Contains(log.String(), `"my-id"`) {
				t.Errorf("the log does not have the request id: %s", log.String())
			}
			if test.status != http.StatusBadGateway && test.name != "a runtime error" && test.name != "an aborted handler" &&
				!strings.Contains(log.String(), "canary") {
				t.Errorf("the log does not have the cause: %s", log.String())
			}
			wantErrorResponse(t, running.URL+"/trouble", test.status, test.code) // the server still works
		})
	}
	t.Run("a process that is not ready", func(t *testing.T) {
		running, _ := newTestServer(t, io.Discard)
		wantErrorResponse(t, running.URL+"/readyz", http.StatusServiceUnavailable, api.CodeUnavailable)
	})
	t.Run("a closed store", func(t *testing.T) {
		running, db := newTestServer(t, io.Discard)
		other := db.Again(t)
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		s := Server{Config: Config{DB: other}}
		_, err := s.authenticate(t.Context(),
			&call{request: &http.Request{Header: http.Header{"Authorization": {"Bearer x"}}}, ticket: &ticket{exempt: true}})
		if err == nil || problem.Of(err).Status() < 500 {
			t.Errorf("a token that could not be checked was rejected as an error of the caller: %v", err)
		}
		if response := get(t, running.URL+"/healthz"); response.status != http.StatusOK {
			t.Errorf("the health check answered %d", response.status)
		}
	})
}

// failsInside is the function that the stack of the panic must name.
func failsInside() { panic(inside) }

// TestPanicInTransaction checks that the log of a panic inside a transaction has the stack of the panic, although
// another request's goroutine may have run the transaction.
func TestPanicInTransaction(t *testing.T) {
	var log bytes.Buffer
	var tenant *base.Tenant
	running, db := newTestServer(t, &log, route{method: http.MethodGet, path: "/trouble", needs: access.Public,
		operation: operation{
			serve: func(ctx context.Context, _ *call) (int, any, error) {
				_, _, err := invoices.Idempotent(ctx, tenant, "key", [32]byte{}, time.Hour,
					func(context.Context, *base.Tenant) (invoices.IdempotentResponse, error) {
						failsInside()
						return invoices.IdempotentResponse{}, nil
					})
				return 200, nil, err
			}}})
	created, err := identity.CreateAccount(t.Context(), db.DB, "Palm", identity.NewUser{Email: "a@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if tenant, err = db.Tenant(t.Context(), created.ID); err != nil {
		t.Fatal(err)
	}
	wantErrorResponse(t, running.URL+"/trouble", http.StatusInternalServerError, api.CodeInternal)
	if !strings.Contains(log.String(), "server.failsInside") {
		t.Errorf("the log does not say where the panic was: %s", log.String())
	}
}

// TestLimitBeforeHash checks that a login beyond the limit is refused before its password is hashed. The hasher here
// hashes nothing, so one login waits until its caller gives up, and the other one is refused at once.
func TestLimitBeforeHash(t *testing.T) {
	running, _ := newTestServer(t, io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	responses := make(chan *http.Response, 2)
	login := func() {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, running.URL+client+"/auth/login",
			strings.NewReader(`{"email":"a@b.c","password":"p"}`))
		if err != nil {
			t.Error(err)
		} else {
			request.Header.Set("Content-Type", "application/json")
			response, err := running.Client().Do(request)
			if err == nil {
				responses <- response
				return
			}
		}
		responses <- nil
	}
	var both sync.WaitGroup
	both.Go(login)
	both.Go(login)
	refused := <-responses
	cancel()
	both.Wait()
	if waited := <-responses; waited != nil {
		waited.Body.Close()
		t.Errorf("both logins got a response, the second %d", waited.StatusCode)
	}
	if refused == nil {
		t.Fatal("no login got a response")
	}
	defer refused.Body.Close()
	if refused.StatusCode != http.StatusTooManyRequests || refused.Header.Get("Retry-After") == "" ||
		refused.Header.Get("RateLimit-Remaining") != "0" {
		t.Errorf("a login answered %d with %v", refused.StatusCode, refused.Header)
	}
}

// TestSource checks that X-Forwarded-For counts only if a trusted proxy has sent it. Its last address that is not a
// trusted proxy is the source, because a client can invent those before it.
func TestSource(t *testing.T) {
	for _, test := range []struct {
		name, trusted, peer string
		forwarded           []string
		want                string
	}{
		{"no proxy is trusted", "", "10.0.0.9:1", []string{"192.0.2.1"}, "10.0.0.9"},
		{"another network is trusted", "10.1.0.0/16", "10.0.0.9:1", []string{"192.0.2.1"}, "10.0.0.9"},
		{"the peer is trusted", "10.0.0.0/8", "10.0.0.9:1", []string{"192.0.2.1"}, "192.0.2.1"},
		{"a trusted peer without the header", "10.0.0.0/8", "10.0.0.9:1", nil, "10.0.0.9"},
		{"an address that the client has added", "10.0.0.0/8", "10.0.0.9:1", []string{"203.0.113.1, 192.0.2.1"}, "192.0.2.1"},
		{"in two headers", "10.0.0.0/8", "10.0.0.9:1", []string{"203.0.113.1", "192.0.2.1"}, "192.0.2.1"},
		{"a chain of proxies", "10.0.0.0/8", "10.0.0.9:1", []string{"203.0.113.1, 192.0.2.1, 10.0.0.2,10.0.0.3"},
			"192.0.2.1"},
		{"only proxies", "10.0.0.0/8", "10.0.0.9:1", []string{"10.0.0.2, 10.0.0.3"}, "10.0.0.2"},
		{"no address", "10.0.0.0/8", "10.0.0.9:1", []string{"192.0.2.1, unknown"}, "10.0.0.9"},
		{"another spelling", "10.0.0.0/8", "10.0.0.9:1", []string{" ::ffff:192.0.2.1 "}, "192.0.2.1"},
		{"a peer in another spelling", "10.0.0.0/8", "[::ffff:10.0.0.9]:1", []string{"192.0.2.1"}, "192.0.2.1"},
		{"with a port", "10.0.0.0/8", "10.0.0.9:1", []string{"192.0.2.1:5678"}, "192.0.2.1"},
		{"a chain with ports", "10.0.0.0/8", "10.0.0.9:1", []string{"192.0.2.1:5678, 10.0.0.2:443"}, "192.0.2.1"},
		{"IPv6 with a port", "10.0.0.0/8", "10.0.0.9:1", []string{"[2001:db8::1]:5678"}, "2001:db8::1"},
		{"IPv6", "fd00::/8", "[fd00::1]:1", []string{"2001:db8::1"}, "2001:db8::1"},
	} {
		s := Server{}
		if test.trusted != "" {
			s.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(test.trusted)}
		}
		if got := s.source(&http.Request{RemoteAddr: test.peer,
			Header: http.Header{"X-Forwarded-For": test.forwarded}}); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

type got struct {
	status int
	header http.Header
	text   string
}

func get(t *testing.T, url string) got {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(api.HeaderRequestID, "my-id")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got{response.StatusCode, response.Header, string(text)}
}

// wantErrorResponse checks that a response is exactly the envelope of a code.
func wantErrorResponse(t *testing.T, url string, status int, code api.Code) {
	t.Helper()
	response := get(t, url)
	want, err := json.Marshal(errorBody(problem.For(code).Describe(), ""))
	if err != nil {
		t.Fatal(err)
	}
	if response.status != status || strings.TrimSpace(response.text) != string(want) ||
		response.header.Get(api.HeaderRequestID) != "my-id" ||
		response.header.Get("Content-Type") != "application/json" || response.header.Get("Cache-Control") != "no-store" {
		t.Errorf("answered %d %s with %v\nwant %d %s", response.status, response.text, response.header, status, want)
	}
	if after := response.header.Get("Retry-After"); (status == http.StatusServiceUnavailable) != (after != "") {
		t.Errorf("%d with Retry-After %q", status, after)
	}
}
