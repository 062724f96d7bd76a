package server_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
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
	"sync"
	"testing"
	"time"

	"quittance/api"
	"quittance/internal/secret"
	"quittance/internal/server"
	"quittance/internal/service"
)

// hostileHeads are requests that net/http refuses before the handler is asked, and the status it gives each.
var hostileHeads = []struct {
	name, head string
	status     int
}{
	{"an escape that is none", "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"an escape that breaks off", "GET /healthz%2 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"no path", "GET HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"a path without a slash", "GET healthz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"two spaces", "GET  /healthz  HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"no version", "GET /healthz\r\nHost: a\r\n\r\n", 400},
	{"a version that is none", "GET /healthz HTTP/eleven\r\nHost: a\r\n\r\n", 400},
	{"another protocol", "GET /healthz ICY/1.0\r\nHost: a\r\n\r\n", 400},
	{"a version of the past", "GET /healthz HTTP/0.9\r\nHost: a\r\n\r\n", 505},
	{"a version of the future", "GET /healthz HTTP/3.0\r\nHost: a\r\n\r\n", 505},
	{"a method that is no token", "G@T /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"a control character in the path", "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"a host in the path that is none", "GET http://[::1 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"no host", "GET /healthz HTTP/1.1\r\n\r\n", 400},
	{"two hosts", "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
	{"a host that is none", "GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
	{"a header without a colon", "GET /healthz HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n", 400},
	{"a header without a name", "GET /healthz HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", 400},
	{"a space in a name", "GET /healthz HTTP/1.1\r\nHost: a\r\nX y: z\r\n\r\n", 400},
	{"a space before the colon", "POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nContent-Length : 2\r\n\r\n{}", 400},
	{"a NUL in a header", "GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n", 400},
	{"a folded first header", "GET /healthz HTTP/1.1\r\n Host: a\r\n\r\n", 400},
	{"a length that is none", "POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nContent-Length: two\r\n\r\n{}", 400},
	{"a negative length", "POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nContent-Length: -2\r\n\r\n{}", 400},
	{"two lengths", "POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400},
	{"two transfer codings", "POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501},
	{"an unknown transfer coding", "POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n{}", 501},
	{"an unknown expectation", "POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\nContent-Length: 2\r\n\r\n{}", 417},
	{"an unknown expectation of old", "GET /healthz HTTP/1.0\r\nHost: a\r\nExpect: miracles\r\n\r\n", 417},
	{"a header without end", "GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", 431},
	{"headers without end", "GET /healthz HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: y\r\n", 20<<10) + "\r\n", 431},
	{"a path without end", "GET /" + strings.Repeat("x", 80<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", 431},
	{"bytes that are no HTTP", "\x00\x01\x02\x03\x04\r\n\r\n", 400},
	{"a bad request behind a good one", "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
}

// TestEveryAnswerHasTheEnvelope: what net/http refuses by itself, over plain HTTP or TLS, is answered as everything else
// is, and stands in the log.
func TestEveryAnswerHasTheEnvelope(t *testing.T) {
	t.Parallel()
	certificate, key, authority := keyPair(t)
	for name, change := range map[string]func(*service.Config){
		"plain": func(*service.Config) {},
		"TLS":   func(c *service.Config) { c.TLSCert, c.TLSKey = certificate, key },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &lines{}
			address := serve(t, log, change)
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
					checkRefused(t, conn, log, hostile.head, hostile.status, server.Refusals()[api.CodeMalformedRequest].Message)
				})
			}
		})
	}
}

// TestPlainHTTPWhereTLSIsSpoken: who forgets the s of https is told so.
func TestPlainHTTPWhereTLSIsSpoken(t *testing.T) {
	t.Parallel()
	certificate, key, _ := keyPair(t)
	log := &lines{}
	address := serve(t, log, func(c *service.Config) { c.TLSCert, c.TLSKey = certificate, key })
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		checkRefused(t, conn, log, method+" /healthz HTTP/1.1\r\nHost: a\r\n\r\n", http.StatusBadRequest, "This address speaks HTTPS.")
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
	// TLS has an alert for this, of seven bytes; a broken connection says it, too.
	if text, err := io.ReadAll(conn); bytes.Contains(text, []byte("HTTP")) {
		t.Errorf("what is neither TLS nor HTTP is answered in HTTP: %q %v", text, err)
	}
}

// TestGoodRequestsPass: what the handler answers is left alone, 100 Continue and long bodies included, on a connection
// that stays open; and TLS offers HTTP/1.1 alone.
func TestGoodRequestsPass(t *testing.T) {
	t.Parallel()
	certificate, key, authority := keyPair(t)
	address := serve(t, &lines{}, func(c *service.Config) { c.TLSCert, c.TLSKey = certificate, key })
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: authority, NextProtos: []string{"h2", "http/1.1"}})
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

// checkRefused sends a head and wants the last answer to be a refusal of that status, whole, unique, and in the log.
func checkRefused(t *testing.T, conn net.Conn, log *lines, head string, status int, message string) {
	t.Helper()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.WriteString(conn, head) // the server hangs up on what it does not want to read to the end
	}()
	reader := bufio.NewReader(conn)
	good := strings.Count(head, "\r\n\r\nGET ") // that many requests come before the hostile one
	for n := range good + 1 {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if n < good {
			continue
		}
		want := []byte(`{"error":{"code":"malformed_request","message":"` + message + `","details":{}}}` + "\n")
		if !bytes.Equal(text, want) || response.StatusCode != status || !response.Close {
			t.Errorf("answered %d %q, want %d %q", response.StatusCode, text, status, want)
		}
		for header, want := range map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
			if got := response.Header.Get(header); got != want {
				t.Errorf("%s is %q, want %q", header, got, want)
			}
		}
		id := response.Header.Get(api.HeaderRequestID)
		if !requestIDs.MatchString(id) {
			t.Errorf("the request id is %q", id)
		}
		log.want(t, id, status)
	}
	if rest, err := io.ReadAll(reader); len(rest) > 0 {
		t.Errorf("behind the answer came %q %v", rest, err)
	}
	<-sent
}

// serve runs a service until the test ends and returns the address of its API.
func serve(t *testing.T, log io.Writer, change func(*service.Config)) string {
	t.Helper()
	keys, err := secret.Generate()
	if err != nil {
		t.Fatal(err)
	}
	config := service.Config{Environment: service.Local, Database: "sqlite:" + filepath.Join(t.TempDir(), "quittance.db"), Keys: keys, API: true,
		Listen: "127.0.0.1:0", MaxBody: 1 << 20, TokenTTL: time.Hour, IdempotencyTTL: time.Hour, PollFirst: time.Second, PollMax: time.Minute,
		ProviderTimeout: time.Second, PurchaseInterval: time.Hour, RetryFirst: time.Second, RetryAttempts: 1, AttemptTimeout: time.Second,
		Grace: 10 * time.Second, Version: "test", Log: slog.New(slog.NewJSONHandler(log, nil))}
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
	return running.Address()
}

// keyPair writes a certificate for 127.0.0.1 and its key into files, and returns who trusts it.
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
	if err := errors.Join(os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)); err != nil {
		t.Fatal(err)
	}
	authority = x509.NewCertPool()
	authority.AddCert(model.Certificate())
	return certificate, key, authority
}

// lines is a log in memory.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// want wants exactly one line about a request. The line is written after the answer, so it is waited for.
func (l *lines) want(t *testing.T, id string, status int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		text := l.text.String()
		l.mu.Unlock()
		found := 0
		for line := range strings.Lines(text) {
			var entry struct {
				Msg       string
				RequestID string `json:"request_id"`
				Status    int
				Code      string
				Source    string
			}
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Fatal(err)
			}
			if entry.RequestID == id && entry.Msg == "request" && entry.Status == status && entry.Code == string(api.CodeMalformedRequest) && entry.Source == "127.0.0.1" {
				found++
			}
		}
		if found == 1 {
			return
		}
		if found > 1 || time.Now().After(deadline) {
			t.Fatalf("the request %s stands in %d lines of the log", id, found)
		}
	}
}
