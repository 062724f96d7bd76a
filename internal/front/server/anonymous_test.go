package server_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ops/service"
	"quittance/test/kit"
)

// anonymousRequests are requests without an accepted credential.
var anonymousRequests = []request{
	{method: http.MethodGet, path: "/api/v1/client/account", token: "random"},
	{method: http.MethodPost, path: "/api/v1/client/auth/login", header: http.Header{"Content-Type": {"application/json"}},
		body: "{}"},
	{method: http.MethodGet, path: "/login"},
	{method: http.MethodGet, path: "/invoices", header: http.Header{"Cookie": {"quittance=random"},
		"Accept": {"text/html"}}},
	{method: http.MethodGet, path: "/assets/nothing"},
	{method: http.MethodGet, path: "/docs"},
	{method: http.MethodPost, path: "/invoices/new",
		header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, body: "a=b"},
}

// from returns the request as it arrives from a source through a proxy.
func (r request) from(source string) request {
	header := http.Header{"X-Forwarded-For": {source}}
	maps.Copy(header, r.header)
	r.header = header
	return r
}

// TestAnonymousRequestsAreLimited checks that requests without an accepted credential are limited by their source,
// except for those whose errors precede the limit. Requests with a credential from the same source are not affected,
// and neither are other sources and health checks.
func TestAnonymousRequestsAreLimited(t *testing.T) {
	const most = 10
	onFirst(t, func(c *service.Config) {
		c.AnonymousRate, c.TrustedProxies, c.Now = most, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, time.Now
	}, func(t *testing.T, s *system) {
		s.clock.stop(t)
		c := s.company(t)
		token := c.token(t)
		account := request{method: http.MethodGet, path: "/api/v1/client/account", token: token}
		for _, test := range []struct {
			name    string
			address func(n int) string
			most    int
		}{
			{"one address", func(int) string { return "203.0.113.7" }, most},
			{"one address with ports", func(n int) string { return fmt.Sprintf("203.0.113.8:%d", 1024+n) }, most},
			{"one IPv6 network", func(n int) string { return fmt.Sprintf("2001:db8:7::%x", n) }, most},
			{"the networks of one site", func(n int) string { return fmt.Sprintf("2001:db8:8:%x::1", n) }, 4 * most},
		} {
			for n := range test.most {
				if a, err := s.try(t.Context(), anonymousRequests[n%len(anonymousRequests)].from(test.address(n))); err != nil ||
					a.status == http.StatusTooManyRequests || a.status >= 500 {
					t.Fatalf("%s: request %d answered %d: %v", test.name, n, a.status, err)
				}
				s.send(t, account.from(test.address(n))).want(t, http.StatusOK, "") // counts only for its token
			}
			for n, r := range anonymousRequests {
				a, err := s.try(t.Context(), r.from(test.address(n)))
				if err != nil || a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" || len(a.text) > 300 {
					t.Errorf("%s: %s %s answered %d after the limit, want a short 429: %v %s", test.name, r.method, r.path, a.status,
						err, a.text)
				}
				if a.header.Get("Content-Type") == "application/json" {
					a.want(t, http.StatusTooManyRequests, api.CodeRateLimited)
				}
				if strings.HasPrefix(r.path, "/api/") && (a.header.Get("RateLimit-Limit") == "" ||
					a.header.Get("RateLimit-Remaining") != "0" || a.header.Get("RateLimit-Reset") == "") {
					t.Errorf("%s: %s %s: the fields of the limit are missing: %v", test.name, r.method, r.path, a.header)
				}
			}
			for _, r := range []struct {
				request
				status int
				code   api.Code
			}{
				{request{method: http.MethodGet, path: "/api/v1/client/account"}, http.StatusUnauthorized, api.CodeUnauthenticated},
				{request{method: http.MethodGet, path: "/api/nowhere"}, http.StatusNotFound, api.CodeNotFound},
				{request{method: http.MethodPut, path: "/api/v1/client/invoices"}, http.StatusMethodNotAllowed,
					api.CodeMethodNotAllowed},
			} {
				s.send(t, r.from(test.address(0))).want(t, r.status, r.code)
			}
			s.send(t, account.from(test.address(0))).want(t, http.StatusOK, "")
			s.send(t, request{method: http.MethodGet, path: "/healthz"}.from(test.address(0))).want(t, http.StatusOK, "")
			s.send(t, request{method: http.MethodGet, path: "/readyz"}.from(test.address(0))).want(t, http.StatusOK, "")
			s.send(t, request{method: http.MethodGet, path: "/api/v1/client/account"}.from("198.51.100.1")).want(t,
				http.StatusUnauthorized, api.CodeUnauthenticated)
		}
	})
}

// TestSlowStreamsAreBounded checks that a source cannot have more active requests over one HTTP/2 connection than it
// may have connections.
func TestSlowStreamsAreBounded(t *testing.T) {
	t.Parallel()
	certificate, key, authority := keyPair(t)
	const most = 4
	address := serve(t, io.Discard, func(c *service.Config) {
		c.TLSCert, c.TLSKey, c.ConnectionsPerSource = certificate,
			key, most
	})
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	ask := func(method, path string, body io.Reader) int {
		r, err := http.NewRequestWithContext(t.Context(), method, "https://"+address+path, body)
		if err != nil {
			t.Error(err)
			return 0
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := transport.RoundTrip(r)
		if err != nil {
			return 0 // the test has closed the body
		}
		defer response.Body.Close()
		if response.ProtoMajor != 2 {
			t.Errorf("answered over %s", response.Proto)
		}
		return response.StatusCode
	}
	if status := ask(http.MethodGet, "/healthz", http.NoBody); status != http.StatusOK {
		t.Fatalf("answered %d", status)
	}
	responses := make(chan int)
	const streams = 3 * most
	var ends []*io.PipeWriter
	for range streams {
		body, end := io.Pipe()
		ends = append(ends, end)
		go func() { responses <- ask(http.MethodPost, "/login", body) }()
		go func() { _, _ = end.Write([]byte("e")) }()
	}
	for range streams - most {
		if status := <-responses; status != http.StatusServiceUnavailable {
			t.Errorf("a stream beyond the bound answered %d", status)
		}
	}
	if status := ask(http.MethodGet, "/healthz", http.NoBody); status != http.StatusOK {
		t.Errorf("healthz answered %d", status)
	}
	for _, end := range ends {
		if err := end.Close(); err != nil {
			t.Error(err)
		}
	}
	for range most {
		if status := <-responses; status == http.StatusServiceUnavailable {
			t.Error("a stream within the bound was refused")
		}
	}
}

// TestStrictTransportSecurity checks that every response over TLS has Strict-Transport-Security, and no response over
// plain HTTP.
func TestStrictTransportSecurity(t *testing.T) {
	t.Parallel()
	certificate, key, authority := keyPair(t)
	for name, change := range map[string]func(*service.Config){
		"https": func(c *service.Config) { c.TLSCert, c.TLSKey = certificate, key },
		"http":  func(*service.Config) {},
	} {
		address := serve(t, io.Discard, change)
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority,
			MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}, Timeout: kit.Patience()}
		for _, path := range []string{"/docs", "/docs/none", "/changelog", "/openapi.json", "/healthz",
			"/api/v1/client/account", "/login", "/assets/none", "/nowhere"} {
			response, err := client.Get(name + "://" + address + path)
			if err != nil {
				t.Fatal(err)
			}
			if err := response.Body.Close(); err != nil {
				t.Fatal(err)
			}
			if got := response.Header.Get("Strict-Transport-Security"); strings.HasPrefix(got, "max-age=") != (name == "https") {
				t.Errorf("%s://%s: Strict-Transport-Security %q", name, path, got)
			}
		}
	}
}
