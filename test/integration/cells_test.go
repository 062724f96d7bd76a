package integration_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/test/kit"
	"quittance/test/pgtest"
)

// The names under which the cells of deploy/router/nginx.conf are reached.
const (
	northName = "palm.example"
	southName = "cedar.example"
)

// cellRouter is nginx with the configuration of the repository.
type cellRouter struct {
	dir, address string
	process      *process
	roots        *x509.CertPool
	cells        map[string]string // addresses of the cells, by those in the configuration
}

// newCellRouter starts a router whose cells are at the base addresses north and south. It ends with the test.
func newCellRouter(t *testing.T, north, south string) *cellRouter {
	t.Helper()
	r := &cellRouter{dir: t.TempDir(), cells: map[string]string{"10.0.1.1:8080": strings.TrimPrefix(north, "http://"),
		"10.0.2.1:8080": strings.TrimPrefix(south, "http://")}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.address = listener.Addr().String()
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	r.makeCertificate(t)
	r.configure(t)
	command := exec.Command("nginx", "-e", "stderr", "-p", r.dir, "-c", r.config(), "-g", "daemon off;")
	command.ExtraFiles = []*os.File{socket}
	command.Env = []string{"NGINX=3;"} // it takes over the socket, as from a former process of its own
	if r.process, err = startCommand(r.dir, "nginx", command); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.process.stop(); err != nil {
			t.Errorf("nginx: %v", err)
		}
	})
	for _, closer := range []io.Closer{socket, listener} {
		if err := closer.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *cellRouter) config() string { return filepath.Join(r.dir, "nginx.conf") }

// configure writes the configuration of the repository with the addresses, the certificate and the directories of this
// test.
func (r *cellRouter) configure(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "router", "nginx.conf"))
	if err != nil {
		t.Fatal(err)
	}
	changes := map[string]string{"listen 443": "listen " + r.address, "/etc/nginx/quittance.crt": filepath.Join(r.dir,
		"router.crt"), "/etc/nginx/quittance.key": filepath.Join(r.dir, "router.key"),
		"worker_processes auto;": "worker_processes 1; pid " + filepath.Join(r.dir, "pid") + ";",
		"http {\n":               "http {\naccess_log off;\n"}
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		changes["http {\n"] += kind + "_temp_path " + filepath.Join(r.dir, kind) + ";\n"
	}
	maps.Copy(changes, r.cells)
	config := string(text)
	for old, changed := range changes {
		if strings.Count(config, old) != 1 {
			t.Fatalf("the configuration of the router has %q %d times", old, strings.Count(config, old))
		}
		config = strings.Replace(config, old, changed, 1)
	}
	if err := os.WriteFile(r.config(), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
}

// move changes the address of a cell while the router runs.
func (r *cellRouter) move(t *testing.T, placed, base string) {
	t.Helper()
	r.cells[placed] = strings.TrimPrefix(base, "http://")
	r.configure(t)
	if err := r.process.command.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// makeCertificate makes the certificate of the router, which is its own authority.
func (r *cellRouter) makeCertificate(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1),
		DNSNames: []string{northName, southName, "stranger.example"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, text := range map[string][]byte{"router.crt": certificate,
		"router.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(filepath.Join(r.dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.roots = x509.NewCertPool()
	r.roots.AppendCertsFromPEM(certificate)
}

// transport reaches the router under every name, from an address that is not that of the router.
func (r *cellRouter) transport() *http.Transport {
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	return &http.Transport{ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{RootCAs: r.roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return from.DialContext(ctx, network, r.address)
		}}
}

// TestCells runs two installations with databases and keys of their own behind a router. A request reaches the cell of
// its host name and no other. While one cell is down, is migrated, and comes back at another address, no call of the
// other fails. Each cell sends only its own documents and events.
func TestCells(t *testing.T) {
	if !pgtest.Enabled() {
		return // the migration under load is one of PostgreSQL
	}
	t.Parallel()
	behind := []string{"--behind-proxy", "--trusted-proxy", "127.0.0.1/32", "--provider-timeout", "20s"}
	north, south := newFleet(t, product, pgtest.URL(t), behind...), newFleet(t, product, pgtest.URL(t), behind...)
	northBase, southBase := north.address(t, north.world.running["first"]), south.address(t, south.world.running["first"])
	router := newCellRouter(t, northBase, southBase)
	shared := router.transport()
	t.Cleanup(shared.CloseIdleConnections)
	client := caller{client: &http.Client{Transport: shared, Timeout: kit.Patience()}}
	kit.Eventually(t, func() error { return wantStatus(client, "https://"+northName+"/readyz", "", http.StatusOK) })
	checkRouting(t, client, north, south)

	south.transport = router.transport()
	l := startLoad(south, "https://"+southName, 4, 50*time.Millisecond)
	north.transport = router.transport()
	before := startLoad(north, "https://"+northName, 4, 50*time.Millisecond)
	if err := kit.Poll(func() error { return wantAtLeast(4, before.submitted.Load()) }); err != nil {
		t.Error(err)
	}
	_, submittedBefore, failures := before.end()
	if failures != nil {
		t.Errorf("calls of the north cell failed: %v", failures)
	}
	if err := north.world.kill9([]string{"first"}); err != nil {
		t.Fatal(err)
	}
	if err := kit.Poll(func() error {
		got, err := client.call(http.MethodGet, "https://"+northName+"/api/v1/client/invoices", north.token, "")
		if err != nil {
			return err
		}
		return unavailable(got)
	}); err != nil {
		t.Errorf("a cell that is down: %v", err)
	}
	north.migrateAhead(t)
	router.move(t, "10.0.1.1:8080", north.start(t, "second"))
	kit.Eventually(t, func() error { return wantStatus(client, "https://"+northName+"/readyz", "", http.StatusOK) })
	after := startLoad(north, "https://"+northName, 4, 50*time.Millisecond)
	after.numbers.Store(100_000)
	if err := kit.Poll(func() error { return wantAtLeast(4, after.submitted.Load()) }); err != nil {
		t.Error(err)
	}
	_, submittedAfter, failures := after.end()
	if failures != nil {
		t.Errorf("calls of the north cell failed after its return: %v", failures)
	}
	calls, submittedSouth, failures := l.end()
	if failures != nil || submittedSouth < 8 {
		t.Errorf("of %d calls of the south cell, with %d submissions, failed: %v", calls, submittedSouth, failures)
	}
	north.settled(t, north.address(t, north.world.running["second"]))
	south.settled(t, southBase)
	north.checkDocuments(t, submittedBefore+submittedAfter, 1)
	south.checkDocuments(t, submittedSouth, 1)
	t.Logf("north: %d submissions before and %d after; south: %d calls, %d submissions", submittedBefore, submittedAfter,
		calls, submittedSouth)
}

// checkRouting checks what passes through the router, and what does not.
func checkRouting(t *testing.T, client caller, north, south *fleet) {
	t.Helper()
	const path = "/api/v1/client/invoices"
	made, err := client.call(http.MethodPost, "https://"+northName+path, north.token, draftBody("INV-CELL", "1234567890"))
	if err != nil || made.status != http.StatusCreated {
		t.Fatalf("a draft: %v, status %d: %s", err, made.status, made.body)
	}
	id := at0(t, made.body, "/data/id")
	large := draftBody("INV-LARGE", strings.Repeat("1", 2<<20))
	for what, test := range map[string]struct {
		url, token, body string
		want             int
		code             api.Code
	}{
		"the draft": {"https://" + northName + path + "/" + id, north.token, "", http.StatusOK, ""},
		"the token of the other cell": {"https://" + northName + path, south.token, "", http.StatusUnauthorized,
			api.CodeUnauthenticated},
		"the draft in the other cell": {"https://" + southName + path + "/" + id, south.token, "", http.StatusNotFound,
			api.CodeNotFound},
		"a name without a cell": {"https://stranger.example" + path, north.token, "", http.StatusMisdirectedRequest,
			""},
		"a body that is much too large": {"https://" + northName + path, north.token, large,
			http.StatusRequestEntityTooLarge, api.CodePayloadTooLarge},
		"the page on which people log in": {"https://" + southName + "/login", "", "", http.StatusOK, ""},
	} {
		method := http.MethodGet
		if test.body != "" {
			method = http.MethodPost
		}
		got, err := client.call(method, test.url, test.token, test.body)
		if err != nil || got.status != test.want {
			t.Errorf("%s: %v, status %d: %.200s", what, err, got.status, got.body)
			continue
		}
		if test.code != "" && at0(t, got.body, "/error/code") != string(test.code) {
			t.Errorf("%s: %s", what, got.body)
		}
	}
	checkForwarded(t, client, north)
}

// checkForwarded checks that a cell sees the address of the client, whatever the client claims, and that the router
// speaks HTTP/2.
func checkForwarded(t *testing.T, client caller, f *fleet) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"https://"+northName+"/api/v1/client/auth/login",
		strings.NewReader(fmt.Sprintf(`{"email":"owner@palm.example","password":%q}`, f.password)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Forwarded-For", "203.0.113.9")
	response, err := client.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Error(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	if response.StatusCode != http.StatusOK || response.ProtoMajor != 2 {
		t.Errorf("a login: status %d over %s", response.StatusCode, response.Proto)
	}
	if _, err := f.world.running["first"].says(regexp.MustCompile(`(source=127\.0\.0\.2)`)); err != nil {
		t.Errorf("the address of the client: %v", err)
	}
	if n := f.lines(t, "first", "203.0.113.9"); n != 0 {
		t.Errorf("%d lines of the log have the address that the client claims", n)
	}
}

// wantStatus returns an error unless a call gets a status.
func wantStatus(client caller, url, token string, want int) error {
	got, err := client.call(http.MethodGet, url, token, "")
	if err == nil && got.status != want {
		err = fmt.Errorf("%s: status %d, want %d", url, got.status, want)
	}
	return err
}

// wantAtLeast returns an error while a number is too small.
func wantAtLeast(least, got int64) error {
	if got < least {
		return fmt.Errorf("%d, want at least %d", got, least)
	}
	return nil
}
