package integration_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// abused is a server with a customer whose calls must continue to work while strangers misbehave.
type abused struct {
	*site
	address string // host and port
	base    string
	secured *tls.Config // nil for plain HTTP
	client  *http.Client
	token   string
}

// newAbused runs a server. program is quittance or a script that runs it.
func newAbused(t *testing.T, program, engine string, secure bool, flags ...string) *abused {
	t.Helper()
	a := &abused{}
	scheme := "http://"
	if secure {
		certificate, key, authority := serverCertificate(t)
		flags = append(flags, "--tls-cert", certificate, "--tls-key", key)
		a.secured, scheme = &tls.Config{RootCAs: authority, MinVersion: tls.VersionTLS12}, "https://"
	}
	a.site = newSite(t, newOriginal(t, program, engine), flags, victim{})
	a.serve(t)
	a.address = strings.TrimPrefix(a.site.base, "http://")
	a.base = scheme + a.address
	a.client = &http.Client{Timeout: kit.Patience(), Transport: &http.Transport{TLSClientConfig: a.secured.Clone(),
		ForceAttemptHTTP2: true}}
	t.Cleanup(a.client.CloseIdleConnections)
	var login api.Data[api.Login]
	status, body := a.ask(t, a.client, http.MethodPost,
		"/api/v1/client/auth/login", fmt.Sprintf(`{"email":%q,"password":%q}`, a.email, a.password))
	if err := json.Unmarshal(body, &login); err != nil || status != http.StatusOK {
		t.Fatalf("login: %d %s %v", status, body, err)
	}
	a.token = login.Data.Token
	return a
}

// ask makes one call of the customer.
func (a *abused) ask(t *testing.T, client *http.Client, method, path, body string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, a.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
		return 0, nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
	return response.StatusCode, text
}

// dial opens a connection from one of this machine's addresses.
func (a *abused) dial(ctx context.Context, from string, slow bool) (net.Conn, error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	if slow { // takes little that is not read
		dialer.Control = func(_, _ string, raw syscall.RawConn) error {
			var err error
			if controlled := raw.Control(func(fd uintptr) {
				err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET,
					syscall.SO_RCVBUF, 4<<10)
			}); controlled != nil {
				return controlled
			}
			return err
		}
	}
	if a.secured == nil {
		return dialer.DialContext(ctx, "tcp", a.address)
	}
	return (&tls.Dialer{NetDialer: dialer, Config: a.secured}).DialContext(ctx, "tcp", a.address)
}

// serverCertificate writes a certificate for 127.0.0.1 and its key to files, and returns a pool that trusts it. The key
// has the type that certificate authorities use by default today.
func serverCertificate(t *testing.T) (certificate, key string, authority *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "certificate.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: signed},
		key: {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(signed)
	if err != nil {
		t.Fatal(err)
	}
	authority = x509.NewCertPool()
	authority.AddCert(parsed)
	return certificate, key, authority
}

// attack is what each of many connections sends; the server then waits for the rest of the request or for the client to
// read.
type attack struct {
	name, sent string
	// answered reports that the server answers at once and the connection does not read the answer.
	responded bool
}

// attackers keeps connections in an attack and reopens each one that the server closes.
type attackers struct {
	stop    context.CancelFunc
	holding atomic.Int64
	running sync.WaitGroup
}

// hold starts an attack with the given number of connections, from twenty addresses, and waits until all are open.
func (a *abused) hold(t *testing.T, what attack, connections int) *attackers {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	held := &attackers{stop: stop}
	opening := make(chan struct{}, 64) // bounds concurrent dials, so that the flood does not consist of handshakes
	for n := range connections {
		held.running.Go(func() {
			for ctx.Err() == nil {
				opening <- struct{}{}
				conn, err := a.dial(ctx, fmt.Sprintf("127.0.1.%d", 1+n%20), true)
				if err == nil {
					_, err = io.WriteString(conn, what.sent)
				}
				<-opening
				if err != nil {
					continue
				}
				held.holding.Add(1)
				ended := context.AfterFunc(ctx, func() { _ = conn.Close() })
				if what.responded {
					<-ctx.Done() // reading nothing
				} else {
					_, _ = bufio.NewReader(conn).ReadByte()
				}
				held.holding.Add(-1)
				ended()
				_ = conn.Close()
			}
		})
	}
	if err := kit.Poll(func() error {
		if holding := held.holding.Load(); holding < int64(connections*9/10) {
			return fmt.Errorf("%d of %d connections are open", holding, connections)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	return held
}

// end ends an attack.
func (h *attackers) end() {
	h.stop()
	h.running.Wait()
}

// p99 makes concurrent calls of the customer, all of which must succeed, and returns the 99th percentile of their
// latencies.
func (a *abused) p99(t *testing.T) time.Duration {
	t.Helper()
	const callers, calls = 4, 100
	latencies := make([]time.Duration, callers*calls)
	var running sync.WaitGroup
	for caller := range callers {
		running.Go(func() {
			for n := range calls {
				began := time.Now()
				if status, body := a.ask(t, a.client, http.MethodGet, "/api/v1/client/account", ""); status != http.StatusOK {
					t.Errorf("a customer's call got status %d: %s", status, body)
				}
				latencies[caller*calls+n] = time.Since(began)
			}
		})
	}
	running.Wait()
	slices.Sort(latencies)
	return latencies[len(latencies)*99/100]
}

// fresh makes a call on a new connection, like a health check.
func (a *abused) fresh(t *testing.T, path string) {
	t.Helper()
	client := &http.Client{Timeout: kit.Patience(), Transport: &http.Transport{TLSClientConfig: a.secured.Clone(),
		DisableKeepAlives: true}}
	if status, body := a.ask(t, client, http.MethodGet, path, ""); status != http.StatusOK {
		t.Errorf("%s: status %d: %s", path, status, body)
	}
}

// holdRatios enables the limits on the measured ratios, with thousands of connections: "make ratios", on an idle
// machine. Without it the attacks are smaller, and the tests check only what does not depend on speed: that no call
// fails.
var holdRatios = flag.Bool("ratios", false,
	"hold measured ratios to their bounds, with more connections; for a machine that does nothing else")

// anyEngine returns the engine of a test of what the database has no part in: one, but all with the flag -ratios.
func anyEngine() []string {
	if *holdRatios {
		return ledgertest.Engines()
	}
	return ledgertest.Engines()[:1]
}

// slowdown is the maximum ratio of the latencies of calls with and without an attack, in the median of the rounds.
const slowdown = 2

// TestSlowStrangers checks that thousands of connections that send one byte of a form, or do not read their response,
// cost users with a token only a little time: no call is rejected, and the process stays ready.
func TestSlowStrangers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	plain, secured := 600, 200
	if *holdRatios {
		plain, secured = 5000, 5000
	}
	for _, engine := range anyEngine() {
		for name, connections := range map[string]int{"plain": plain, "TLS": secured} {
			t.Run(engine+" "+name, func(t *testing.T) {
				a := newAbused(t, built(t, releasedProduct), engine, name == "TLS")
				for _, what := range []attack{
					{name: "one byte of a login",
						sent: "POST /login HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\ne"},
					{name: "assets that are not read", sent: strings.Repeat("GET "+a.script(t)+" HTTP/1.1\r\nHost: a\r\n\r\n", 100),
						responded: true},
				} {
					a.withstands(t, what, connections)
				}
			})
		}
	}
}

// withstands compares calls without and during an attack, alternately, so that other load on the machine affects both.
func (a *abused) withstands(t *testing.T, what attack, connections int) {
	t.Helper()
	rounds := 1
	if *holdRatios {
		rounds = 5
	}
	var ratios []float64
	for range rounds {
		a.p99(t) // the end of the round before is over
		before := a.p99(t)
		held := a.hold(t, what, connections)
		a.p99(t) // ignore the cost of opening the connections
		during := a.p99(t)
		for _, path := range []string{"/readyz", "/healthz", "/api/v1/client/account", "/login"} {
			a.fresh(t, path)
		}
		held.end()
		ratios = append(ratios, float64(during)/float64(before))
		t.Logf("%s: p99 of a call %v without, %v with %d connections", what.name, before, during, connections)
		if t.Failed() {
			return
		}
	}
	if median := slices.Sorted(slices.Values(ratios))[len(ratios)/2]; *holdRatios && median > slowdown {
		t.Errorf("%s: calls take %.1f times as long, want at most %d: %v", what.name, median, slowdown, ratios)
	}
}

var scriptPath = regexp.MustCompile(`/assets/[0-9a-f]+/htmx[^"]*`)

// script is the path of the largest asset.
func (a *abused) script(t *testing.T) string {
	t.Helper()
	_, body := a.ask(t, a.client, http.MethodGet, "/login", "")
	found := scriptPath.Find(body)
	if found == nil {
		t.Fatalf("the login page names no script: %s", body)
	}
	return string(found)
}

// TestBodiesOfPages checks that the server does not read the body of a request to a page that takes none, writes no
// part of it to a file, and closes the connection soon after the response however much is sent.
func TestBodiesOfPages(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	for _, engine := range anyEngine() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			temporary := t.TempDir()
			newAbused(t, script(t, "export TMPDIR="+temporary), engine, false).readsNoBody(t, temporary)
		})
	}
}

// readsNoBody sends bodies of any length to pages that take none, to a process with a temporary directory of its own.
func (a *abused) readsNoBody(t *testing.T, temporary string) {
	t.Helper()
	for _, head := range []string{"GET /login", "HEAD /login", "GET /", "GET /invoices", "POST /login", "POST /nowhere",
		"GET /docs", "GET /api/v1/client/account", "POST /api/v1/client/auth/login"} {
		conn, err := a.dial(t.Context(), "127.0.0.1", false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn,
			head+
				" HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\nContent-Type: multipart/form-data; boundary=x\r\nTransfer-Encoding: chunked\r\n\r\n"+
				"4c\r\n--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n1234567890\r\n"); err != nil {
			t.Fatal(err)
		}
		const most = 256 << 20
		chunk := fmt.Appendf(nil, "%x\r\n%s\r\n", 1<<20, strings.Repeat("y", 1<<20))
		sent := 0
		for err == nil && sent < most {
			var n int
			n, err = conn.Write(chunk)
			sent += n
			if files, globErr := filepath.Glob(filepath.Join(temporary, "*")); globErr != nil || len(files) > 0 {
				t.Fatalf("%s: %v in the temporary directory: %v", head, files, globErr)
			}
		}
		if sent >= most {
			t.Errorf("%s: the server read %d bytes and did not stop", head, sent)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	a.fresh(t, "/readyz")
}

// script writes a program that runs quittance after a line of shell.
func script(t *testing.T, line string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "run")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+line+"\nexec quittance \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestIdleStrangers checks that a process with a low limit of open files keeps some for its customers, its database and
// its provider, however many connections are idle. It also checks that the process raises the soft limit to the hard
// limit.
func TestIdleStrangers(t *testing.T) {
	for _, engine := range anyEngine() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := newAbused(t, script(t, "ulimit -Sn 64; ulimit -Hn 512"), engine, false)
			var open []net.Conn
			defer func() {
				for _, conn := range open {
					_ = conn.Close()
				}
			}()
			for n := range 1500 {
				conn, err := a.dial(t.Context(), fmt.Sprintf("127.0.2.%d", 1+n%20), false)
				if err != nil {
					t.Fatalf("connection %d: %v", n, err)
				}
				open = append(open, conn)
				if n%3 == 0 { // some have asked for something
					if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
						t.Fatalf("connection %d: %v", n, err)
					}
				}
			}
			for n := range 5 {
				for _, path := range []string{"/readyz", "/healthz", "/api/v1/client/account"} {
					a.fresh(t, path)
				}
				status, body := a.ask(t, a.client, http.MethodPost,
					"/api/v1/client/invoices", draftBody(fmt.Sprintf("INV-%d", n), "1234567890"))
				id, err := pointed(body, "/data/id")
				if status != http.StatusCreated || err != nil {
					t.Fatalf("draft: status %d: %s", status, body)
				}
				if status, body := a.ask(t, a.client, http.MethodPost, "/api/v1/client/invoices/"+id+"/submit",
					""); status != http.StatusOK {
					t.Errorf("submission: status %d: %s", status, body)
				}
			}
			// The process keeps half of its files for itself. A closed connection may take a moment to arrive here.
			const limit = 512 / 2
			kit.Eventually(t, func() error {
				if open = standing(t, open); len(open) > limit {
					return fmt.Errorf("%d connections of strangers are open with a limit of 512 files", len(open))
				}
				return nil
			})
		})
	}
}

// standing returns the connections that the process has not closed, and closes the others.
func standing(t *testing.T, connections []net.Conn) []net.Conn {
	t.Helper()
	var open []net.Conn
	for _, conn := range connections {
		if err := conn.SetReadDeadline(time.Now().Add(2 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); os.IsTimeout(err) { // anything else is its end
			open = append(open, conn)
		} else {
			_ = conn.Close()
		}
	}
	return open
}
