package webhook_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"quittance/client/api"
	"quittance/internal/exchange/webhook"
)

// ample is longer than any attempt that ends takes.
const ample = 5 * time.Minute

// attemptLimit is the time-out of attempts in a bubble of synctest, where it passes at once when everybody waits.
const attemptLimit = 15 * time.Second

// timedOut makes an attempt at a destination whose connections are pipes without buffers, in a bubble, and checks that
// it takes exactly its time-out. serve speaks TLS unless plain.
func timedOut(t *testing.T, body []byte, plain bool, serve func(net.Conn)) (got webhook.Result) {
	t.Helper()
	model := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(model.Close)
	synctest.Test(t, func(t *testing.T) {
		var running sync.WaitGroup
		d := targetOf(model, model.Listener)
		sender := webhook.NewSender(webhook.Config{Policy: d.policy, Timeout: attemptLimit,
			Dial: func(context.Context, string, string) (net.Conn, error) {
				client, server := net.Pipe()
				running.Go(func() {
					defer server.Close()
					if plain {
						serve(server)
						return
					}
					serve(tls.Server(server, &tls.Config{Certificates: model.TLS.Certificates}))
				})
				return client, nil
			}})
		request := requestTo(d.url("/"))
		if body != nil {
			request.Body = body
		}
		began := time.Now()
		got = sender.Send(t.Context(), request)
		if took := time.Since(began); took != attemptLimit {
			t.Errorf("the attempt took %v of %v", took, attemptLimit)
		}
		sender.Close()
		running.Wait()
	})
	return got
}

// afterRequest reads a whole request, and lets serve respond.
func afterRequest(serve func(net.Conn)) func(net.Conn) {
	return func(conn net.Conn) {
		request, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, request.Body); err == nil {
			serve(conn)
		}
	}
}

// target is a destination on loopback: its address, and the policy that allows exactly it.
type target struct {
	addr   netip.AddrPort
	policy webhook.Policy
}

// url returns the URL of path at the address itself.
func (d target) url(path string) string { return "https://" + d.addr.String() + path }

// named returns the URL of path at a host name.
func (d target) named(host, path string) string {
	return "https://" + net.JoinHostPort(host, portOf(d.addr)) + path
}

func portOf(addr netip.AddrPort) string {
	_, port, _ := net.SplitHostPort(addr.String())
	return port
}

// newServer starts an HTTPS server whose certificate is good for 127.0.0.1, example.com and *.example.com.
func newServer(t testing.TB, handler http.HandlerFunc) (*httptest.Server, target) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, targetOf(server, server.Listener)
}

func targetOf(server *httptest.Server, listener net.Listener) target {
	addr := listener.Addr().(*net.TCPAddr).AddrPort()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return target{addr, webhook.Policy{AllowAddrs: []netip.AddrPort{addr}, RootCAs: roots}}
}

// newRawServer starts a TLS server that reads a whole request from each connection and calls serve to respond.
func newRawServer(t *testing.T, serve func(net.Conn)) target {
	t.Helper()
	model := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(model.Close)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: model.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	serveRaw(t, listener, afterRequest(serve))
	return targetOf(model, listener)
}

// serveRaw runs serve for every connection until the end of the test, which closes the open ones.
func serveRaw(t *testing.T, listener net.Listener, serve func(net.Conn)) {
	t.Helper()
	var running sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			running.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		if err := listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Errorf("close the listener: %v", err)
		}
		mu.Lock()
		for _, conn := range open {
			conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
}

// untilClosed blocks until the peer has closed the connection.
func untilClosed(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

func newSender(t testing.TB, config webhook.Config) *webhook.Sender {
	t.Helper()
	if config.Timeout == 0 {
		config.Timeout = ample
	}
	sender := webhook.NewSender(config)
	t.Cleanup(sender.Close)
	return sender
}

// resolver returns one list of addresses after the other, and the last one for all further calls.
type resolver struct {
	mu        sync.Mutex
	asked     []string
	responses [][]string
}

func (r *resolver) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, network+" "+host)
	var addrs []netip.Addr
	for _, text := range r.responses[0] {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	if len(r.responses) > 1 {
		r.responses = r.responses[1:]
	}
	return addrs, nil
}

func responses(lists ...[]string) *resolver { return &resolver{responses: lists} }

// resolverFunc is a function as a resolver.
type resolverFunc func(ctx context.Context, host string) ([]netip.Addr, error)

func (f resolverFunc) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	return f(ctx, host)
}

// requestTo returns the delivery that the tests send.
func requestTo(url string) webhook.Request {
	const timestamp = "2026-03-01T09:30:00.123456Z"
	body := []byte(
		`{"schema_version":"service-webhook-v2","id":"0195500e-7c00-7000-8000-000000000001","event":"einvoice.terminal"}`)
	return webhook.Request{
		URL:       url,
		Event:     api.EventTerminal,
		EventID:   "0195500e-7c00-7000-8000-000000000001",
		Timestamp: timestamp,
		Signature: webhook.Signature([]byte("whsec_test"), timestamp, body),
		Body:      body,
	}
}

// check compares a result, except its duration, with want.
func check(t *testing.T, got webhook.Result, want webhook.Result) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(webhook.Result{}, "Duration"), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("the result (-want +got):\n%s", d)
	}
}

func unreachable(class string) webhook.Result {
	return webhook.Result{Verdict: webhook.Retry, ErrorClass: class}
}

func unsafeAddress() webhook.Result {
	return webhook.Result{Verdict: webhook.Blocked, Reason: webhook.ReasonUnsafeAddress,
		ErrorClass: webhook.ClassUnsafeAddress}
}
