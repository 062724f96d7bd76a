package server_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
)

// hostileHeads are requests that net/http rejects without calling the handler, and the status of each response.
var hostileHeads = []struct {
	name, head string
	status     int
}{
	{"an invalid escape", "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"an incomplete escape", "GET /healthz%2 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"no path", "GET HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"a path without a slash", "GET healthz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"two spaces", "GET  /healthz  HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"no version", "GET /healthz\r\nHost: a\r\n\r\n", 400},
	{"an invalid version", "GET /healthz HTTP/eleven\r\nHost: a\r\n\r\n", 400},
	{"another protocol", "GET /healthz ICY/1.0\r\nHost: a\r\n\r\n", 400},
	{"an old version", "GET /healthz HTTP/0.9\r\nHost: a\r\n\r\n", 505},
	{"a future version", "GET /healthz HTTP/3.0\r\nHost: a\r\n\r\n", 505},
	{"an invalid method", "G@T /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"a control character in the path", "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"an invalid host in the path", "GET http://[::1 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"no host", "GET /healthz HTTP/1.1\r\n\r\n", 400},
	{"two hosts", "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
	{"an invalid host", "GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
	{"a header without a colon", "GET /healthz HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n", 400},
	{"a header without a name", "GET /healthz HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", 400},
	{"a space in a name", "GET /healthz HTTP/1.1\r\nHost: a\r\nX y: z\r\n\r\n", 400},
	{"a space before the colon", "POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nContent-Length : 2\r\n\r\n{}",
		400},
	{"a NUL in a header", "GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n", 400},
	{"a folded first header", "GET /healthz HTTP/1.1\r\n Host: a\r\n\r\n", 400},
	{"an invalid length", "POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nContent-Length: two\r\n\r\n{}", 400},
	{"a negative length", "POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nContent-Length: -2\r\n\r\n{}", 400},
	{"two lengths",
		"POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400},
	{"two transfer codings",
		"POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501},
	{"an unknown transfer coding",
		"POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n{}", 501},
	{"an unknown expectation",
		"POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\nContent-Length: 2\r\n\r\n{}", 417},
	{"an unknown expectation in HTTP/1.0", "GET /healthz HTTP/1.0\r\nHost: a\r\nExpect: miracles\r\n\r\n", 417},
	{"a long header", "GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", 431},
	{"many headers", "GET /healthz HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: y\r\n", 20<<10) + "\r\n", 431},
	{"a long path", "GET /" + strings.Repeat("x", 80<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", 431},
	{"bytes that are not HTTP", "\x00\x01\x02\x03\x04\r\n\r\n", 400},
	{"a bad request after a good one", "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /%zz HTTP/1.1\r\nHost: a\r\n\r\n",
		400},
}

// TestUnreadableRequests checks that net/http itself rejects requests that are not valid HTTP, with and without TLS,
// and closes the connection.
func TestUnreadableRequests(t *testing.T) {
	t.Parallel()
	certificate, key, authority := keyPair(t)
	for name, change := range map[string]func(*service.Config){
		"plain": func(*service.Config) {},
		"TLS":   func(c *service.Config) { c.TLSCert, c.TLSKey = certificate, key },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serve(t, io.Discard, change)
			dial := func() (net.Conn, error) { return net.Dial("tcp", address) }
			if name == "TLS" {
				dial = func() (net.Conn, error) { return tls.Dial("tcp", address, &tls.Config{RootCAs: authority}) }
			}
			for _, hostile := range hostileHeads {
				t.Run(hostile.name, func(t *testing.T) {
					conn, err := dial()
					if err != nil {
						t.Fatal(err)
					}
					defer conn.Close()
					checkRefused(t, conn, hostile.head, hostile.status)
				})
			}
		})
	}
}

// TestPlainHTTPToATLSPort checks that a plain HTTP request to a TLS port gets a response that mentions HTTPS.
func TestPlainHTTPToATLSPort(t *testing.T) {
	t.Parallel()
	certificate, key, _ := keyPair(t)
	address := serve(t, io.Discard, func(c *service.Config) { c.TLSCert, c.TLSKey = certificate, key })
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "OPTIONS"} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, method+" /healthz HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(text), "HTTP/1.0 400 ") ||
			!strings.Contains(string(text), "HTTPS") {
			t.Errorf("%s: answered %q %v", method, text, err)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("\x00\x01\x02 neither of the two\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	// TLS has an alert of seven bytes for this; closing the connection is enough, too.
	if text, err := io.ReadAll(conn); bytes.Contains(text, []byte("HTTP")) {
		t.Errorf("bytes that are neither TLS nor HTTP got an HTTP response: %q %v", text, err)
	}
}

// TestHTTP2 checks that clients that offer HTTP/2 over TLS get it, with the same responses and a bound on the size of
// headers.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	certificate, key, authority := keyPair(t)
	address := serve(t, io.Discard, func(c *service.Config) { c.TLSCert, c.TLSKey = certificate, key })
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	for _, want := range []struct {
		path, header string
		status       int
	}{{"/healthz", "", 200}, {"/nowhere", "", 404}, {"/healthz", strings.Repeat("x", 80<<10), 431},
		{"/healthz", strings.Repeat("x", 32<<10), 200}} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+want.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Padding", want.header)
		response, err := transport.RoundTrip(request)
		if want.status == 431 && err != nil {
			continue // the client knows the bound and rejects the request itself
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if response.ProtoMajor != 2 || response.StatusCode != want.status {
			t.Errorf("%s with a header of %d bytes: %s %d, want HTTP/2 %d", want.path, len(want.header), response.Proto,
				response.StatusCode, want.status)
		}
		if want.status != 431 && response.Header.Get(api.HeaderRequestID) == "" {
			t.Errorf("%s: no request id", want.path)
		}
	}
}

// TestConnectionIsReused checks that one TLS connection serves several requests, including errors, a long response and
// 100 Continue.
func TestConnectionIsReused(t *testing.T) {
	t.Parallel()
	certificate, key, authority := keyPair(t)
	address := serve(t, io.Discard, func(c *service.Config) { c.TLSCert, c.TLSKey = certificate, key })
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: authority, NextProtos: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if protocol := conn.ConnectionState().NegotiatedProtocol; protocol != "http/1.1" {
		t.Errorf("the protocol is %q", protocol)
	}
	reader := bufio.NewReader(conn)
	for _, good := range []struct {
		head   string
		status int
	}{
		{"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 200},
		{"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n", 200},
		{"GET /docs HTTP/1.1\r\nHost: a\r\n\r\n", 200},
		{"GET /nowhere HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine\r\n\r\n", 404},
		{"POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", 100},
		{"{}", 422},
		{"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 200},
	} {
		if _, err := io.WriteString(conn, good.head); err != nil {
			t.Fatal(err)
		}
		if good.status == http.StatusContinue {
			for _, want := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
				if line, err := reader.ReadString('\n'); line != want || err != nil {
					t.Fatalf("%q instead of %q: %v", line, want, err)
				}
			}
			continue
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != good.status || response.Header.Get(api.HeaderRequestID) == "" {
			t.Errorf("%q answered %d with %v", good.head, response.StatusCode, response.Header)
		}
	}
}

// checkRefused sends a head and checks that the last response has the status of an error and closes the connection.
func checkRefused(t *testing.T, conn net.Conn, head string, status int) {
	t.Helper()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.WriteString(conn, head) // the server may close the connection before it has read the whole head
	}()
	reader := bufio.NewReader(conn)
	good := strings.Count(head, "\r\n\r\nGET ") // the number of requests before the hostile one
	for n := range good + 1 {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if n == good && (response.StatusCode != status || !response.Close || len(text) > 200) {
			t.Errorf("answered %d %q, want %d and the end", response.StatusCode, text, status)
		}
	}
	<-sent
}

// serve runs a service until the test ends and returns the address of its API.
func serve(t *testing.T, log io.Writer, change func(*service.Config)) string {
	t.Helper()
	return serveService(t, log, change).Address()
}

// serveService runs a service until the test ends.
func serveService(t *testing.T, log io.Writer, change func(*service.Config)) *service.Service {
	t.Helper()
	keys, err := secret.Generate()
	if err != nil {
		t.Fatal(err)
	}
	config := service.Config{Environment: service.Local, Database: "sqlite:" + filepath.Join(t.TempDir(), "quittance.db"),
		Keys: keys, API: true, Listen: "127.0.0.1:0", MaxBody: 1 << 20, TokenTTL: time.Hour, IdempotencyTTL: time.Hour,
		PollFirst: time.Second, PollMax: time.Minute, ProviderTimeout: time.Second, PurchaseInterval: time.Hour,
		RetryFirst: time.Second, RetryAttempts: 1, AttemptTimeout: time.Second, PrintTimeout: 10 * time.Minute,
		ImportTimeout: 10 * time.Minute, Grace: 10 * time.Second, Version: "test",
		Log: slog.New(slog.NewJSONHandler(log, nil))}
	change(&config)
	running, err := service.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- running.Run(t.Context()) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return running
}

// keyPair writes a certificate for 127.0.0.1 and its key into files, and returns a pool that trusts it.
func keyPair(t *testing.T) (certificate, key string, authority *x509.CertPool) {
	t.Helper()
	model := httptest.NewTLSServer(http.NotFoundHandler())
	defer model.Close()
	pair := model.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "certificate.pem"), filepath.Join(dir, "key.pem")
	if err := errors.Join(os.WriteFile(certificate,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)); err != nil {
		t.Fatal(err)
	}
	authority = x509.NewCertPool()
	authority.AddCert(model.Certificate())
	return certificate, key, authority
}
