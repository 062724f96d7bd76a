package webhook_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/exchange/webhook"
)

// loopbackToo returns p with 127.0.0.0/8 allowed as well.
func loopbackToo(p webhook.Policy) webhook.Policy {
	p.AllowCIDRs = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	return p
}

// drip writes text byte by byte, with pauses, again and again, until the peer closes the connection.
func drip(conn net.Conn, text string) {
	go untilClosed(conn) // a pipe has no buffer for what the peer says at the end
	for {
		for i := range len(text) {
			if _, err := io.WriteString(conn, text[i:i+1]); err != nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// TestSendEndsInTime checks that an attempt ends with its time-out wherever the destination stops. Each of the cases
// would otherwise never end.
func TestSendEndsInTime(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, serve := range map[string]func(net.Conn){
		"silence before the status line":  untilClosed,
		"silence inside the status line":  func(conn net.Conn) { fmt.Fprint(conn, "HTTP/1."); untilClosed(conn) },
		"silence inside the header":       func(conn net.Conn) { fmt.Fprint(conn, ok+"X-A: "); untilClosed(conn) },
		"trickling status line":           func(conn net.Conn) { drip(conn, "HTTP/1.1 200 OK") },
		"trickling header":                func(conn net.Conn) { fmt.Fprint(conn, ok); drip(conn, "X-A: a\r\n") },
		"trickling informational answers": func(conn net.Conn) { drip(conn, "HTTP/1.1 103 Early Hints\r\n\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, timedOut(t, nil, false, afterRequest(serve)), unreachable(webhook.ClassTimeout))
		})
	}
	t.Run("a request that is not read", func(t *testing.T) {
		t.Parallel()
		serve := func(conn net.Conn) {
			if err := conn.(*tls.Conn).Handshake(); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * attemptLimit)
		}
		check(t, timedOut(t, make([]byte, 32<<20), false, serve), unreachable(webhook.ClassTimeout))
	})
	t.Run("a silent handshake", func(t *testing.T) {
		t.Parallel()
		check(t, timedOut(t, nil, true, untilClosed), unreachable(webhook.ClassTimeout))
	})
}

// TestSendUsesTheStatusOfAnEndlessResponse checks that the status alone decides about the attempt. A body that never
// ends only costs the rest of the attempt's time.
func TestSendUsesTheStatusOfAnEndlessResponse(t *testing.T) {
	t.Parallel()
	t.Run("silence after the header", func(t *testing.T) {
		t.Parallel()
		got := timedOut(t, nil, false, afterRequest(func(conn net.Conn) {
			fmt.Fprint(conn, "HTTP/1.1 500 Oops\r\nContent-Length: 10\r\n\r\nabc")
			untilClosed(conn)
		}))
		check(t, got, webhook.Result{Verdict: webhook.Retry, HTTPStatus: 500, ResponseBody: []byte("abc")})
	})
	t.Run("trickling body", func(t *testing.T) {
		t.Parallel()
		got := timedOut(t, nil, false, afterRequest(func(conn net.Conn) {
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
			drip(conn, "a")
		}))
		if strings.Trim(string(got.ResponseBody), "a") != "" || len(got.ResponseBody) < 100 {
			t.Errorf("answer %q", got.ResponseBody)
		}
		got.ResponseBody = nil
		check(t, got, webhook.Result{Verdict: webhook.Delivered, HTTPStatus: 200})
	})
	t.Run("switching protocols", func(t *testing.T) {
		t.Parallel()
		d := newRawServer(t, func(conn net.Conn) {
			fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			untilClosed(conn)
		})
		sender := newSender(t, webhook.Config{Policy: d.policy})
		check(t, sender.Send(t.Context(), requestTo(d.url("/"))), webhook.Result{Verdict: webhook.Failed, HTTPStatus: 101})
	})
}

func TestSendReadsAKilobyteOfAHugeResponse(t *testing.T) {
	t.Parallel()
	const size = 300 << 20
	written := make(chan int64, 1)
	_, d := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(w, io.LimitReader(endless{}, size))
		written <- n
	})
	sender := newSender(t, webhook.Config{Policy: d.policy})
	want := webhook.Result{Verdict: webhook.Delivered, HTTPStatus: 200,
		ResponseBody: []byte(strings.Repeat("x", webhook.MaxResponseBody))}
	check(t, sender.Send(t.Context(), requestTo(d.url("/"))), want)
	if n := <-written; n > size/10 {
		t.Errorf("%d bytes left the server, want no more than the sockets hold", n)
	}
}

// endless is a reader that returns x without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestSendRetainsResponsesUpToTheLimit(t *testing.T) {
	t.Parallel()
	for _, length := range []int{0, 1, webhook.MaxResponseBody - 1, webhook.MaxResponseBody, webhook.MaxResponseBody + 1} {
		body := strings.Repeat("\x00\xff", length/2+1)[:length]
		_, d := newServer(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, body) })
		sender := newSender(t, webhook.Config{Policy: d.policy})
		want := webhook.Result{Verdict: webhook.Delivered, HTTPStatus: 200,
			ResponseBody: []byte(body[:min(length, webhook.MaxResponseBody)])}
		check(t, sender.Send(t.Context(), requestTo(d.url("/"))), want)
	}
}

func TestSendDoesNotFollowRedirects(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	_, other := newServer(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	for _, location := range []string{other.url("/"), "http://169.254.169.254/latest/meta-data/", "/again", ""} {
		for _, status := range []int{300, 301, 302, 303, 304, 307, 308} {
			var here atomic.Int32
			_, d := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				here.Add(1)
				w.Header().Set("Location", location)
				w.WriteHeader(status)
			})
			policy := d.policy
			policy.AllowAddrs = append(policy.AllowAddrs, other.addr)
			sender := newSender(t, webhook.Config{Policy: policy})
			want := webhook.Result{Verdict: webhook.Blocked, Reason: webhook.ReasonRedirect, HTTPStatus: status}
			check(t, sender.Send(t.Context(), requestTo(d.url("/"))), want)
			if here.Load() != 1 {
				t.Errorf("%d requests at the destination, want 1", here.Load())
			}
		}
	}
	if elsewhere.Load() != 0 {
		t.Errorf("%d redirects followed", elsewhere.Load())
	}
}

func TestSendRejectsResponsesThatAreNotHTTP(t *testing.T) {
	t.Parallel()
	for name, response := range map[string]string{
		"nothing":                  "",
		"garbage":                  "SSH-2.0-OpenSSH_9.6\r\n",
		"garbage status":           "HTTP/1.1 abc OK\r\n\r\n",
		"status of two digits":     "HTTP/1.1 20 OK\r\n\r\n",
		"status of four digits":    "HTTP/1.1 2000 OK\r\n\r\n",
		"negative status":          "HTTP/1.1 -20 OK\r\n\r\n",
		"status 000":               "HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n",
		"status 099":               "HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n",
		"broken header":            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
		"two lengths":              "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"huge header":              "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", 65<<10) + "\r\n\r\n",
		"many headers":             "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: a\r\n", 10<<10) + "\r\n",
		"endless informational":    strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n", 4<<10),
		"broken inside the header": "HTTP/1.1 200 OK\r\nX-A",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newRawServer(t, func(conn net.Conn) { fmt.Fprint(conn, response) })
			sender := newSender(t, webhook.Config{Policy: d.policy})
			check(t, sender.Send(t.Context(), requestTo(d.url("/"))), unreachable(webhook.ClassProtocol))
		})
	}
}

// TestSendWritesARequestOnce checks that an attempt writes its request at most once, even if a reused connection
// breaks.
func TestSendWritesARequestOnce(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	_, d := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 2 {
			panic(http.ErrAbortHandler)
		}
	})
	sender := newSender(t, webhook.Config{Policy: d.policy})
	delivered := webhook.Result{Verdict: webhook.Delivered, HTTPStatus: 200}
	check(t, sender.Send(t.Context(), requestTo(d.url("/"))), delivered)
	check(t, sender.Send(t.Context(), requestTo(d.url("/"))), unreachable(webhook.ClassProtocol))
	check(t, sender.Send(t.Context(), requestTo(d.url("/"))), delivered)
	if requests.Load() != 3 {
		t.Errorf("%d requests for 3 attempts", requests.Load())
	}
}

func TestSendChecksTheCertificate(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	count := func(http.ResponseWriter, *http.Request) { requests.Add(1) }
	_, d := newServer(t, count)
	names := responses([]string{"127.0.0.1"})
	old := httptest.NewUnstartedServer(http.HandlerFunc(count))
	old.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	old.Config.ErrorLog = log.New(io.Discard, "", 0)
	old.StartTLS()
	t.Cleanup(old.Close)
	outdated := targetOf(old, old.Listener)
	plain := httptest.NewServer(http.HandlerFunc(count))
	t.Cleanup(plain.Close)
	plainAddr := plain.Listener.Addr().(*net.TCPAddr).AddrPort()
	personal := httptest.NewUnstartedServer(http.HandlerFunc(count))
	personal.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	personal.Config.ErrorLog = log.New(io.Discard, "", 0)
	personal.StartTLS()
	t.Cleanup(personal.Close)
	asking := targetOf(personal, personal.Listener)

	for name, c := range map[string]struct {
		url    string
		policy webhook.Policy
	}{
		"wrong name":        {d.named("hooks.example.net", "/"), d.policy},
		"wrong address":     {"https://127.0.0.1.example.com:" + portOf(d.addr) + "/", d.policy},
		"unknown authority": {d.url("/"), webhook.Policy{AllowAddrs: d.policy.AllowAddrs}},
		"TLS 1.1":           {outdated.url("/"), outdated.policy},
		"no TLS": {"https://" + plainAddr.String() + "/",
			webhook.Policy{AllowAddrs: []netip.AddrPort{plainAddr}}},
		"wants a certificate too": {asking.url("/"), asking.policy},
	} {
		sender := newSender(t, webhook.Config{Policy: c.policy, Resolver: names})
		if got := sender.Send(t.Context(), requestTo(c.url)); got.ErrorClass != webhook.ClassTLS ||
			got.Verdict != webhook.Retry || got.HTTPStatus != 0 {
			t.Errorf("%s: %+v, want class tls", name, got)
		}
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests were sent", requests.Load())
	}
}

// TestSendBlocksNamesWithUnsafeAddresses checks that no request goes to an address that is not public, whatever a name
// resolves to at the time of an attempt.
func TestSendBlocksNamesWithUnsafeAddresses(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	_, d := newServer(t, func(http.ResponseWriter, *http.Request) { requests.Add(1) })
	for _, unsafe := range []string{
		"127.0.0.2", "10.0.0.1", "169.254.169.254", "100.64.0.1", "192.168.0.1", "0.0.0.0", "255.255.255.255", "224.0.0.1",
		"198.18.0.1", "203.0.113.1", "::", "::1", "fe80::1", "fe80::1%lo", "fd00::1", "ff02::1", "2001:db8::1",
		"::ffff:10.0.0.1", "::ffff:127.0.0.2", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1",
		"2001:0:4136:e378:8000:63bf:3fff:fdd2", "2606:4700::5efe:7f00:1",
	} {
		for _, list := range [][]string{{unsafe}, {"127.0.0.1", unsafe}, {unsafe, "127.0.0.1"},
			{"8.8.8.8", "127.0.0.1", "2606:4700::1", "1.1.1.1", "9.9.9.9", unsafe}} {
			sender := newSender(t, webhook.Config{Policy: d.policy, Resolver: responses(list)})
			check(t, sender.Send(t.Context(), requestTo(d.named("hooks.example.com", "/"))), unsafeAddress())
		}
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests arrived", requests.Load())
	}
}

// TestSendWithstandsRebinding checks that DNS rebinding fails, in which a name has a public address for the check and a
// private one for the connection. An attempt resolves the name once, and a connection is not reused after the addresses
// of its name have changed.
func TestSendWithstandsRebinding(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	_, d := newServer(t, func(http.ResponseWriter, *http.Request) { requests.Add(1) })
	names := responses([]string{"127.0.0.1"}, []string{"169.254.169.254"}, []string{"127.0.0.1"},
		[]string{"127.0.0.1", "10.0.0.1"})
	sender := newSender(t, webhook.Config{Policy: d.policy, Resolver: names})
	request := requestTo(d.named("hooks.example.com", "/"))
	for _, want := range []webhook.Result{{Verdict: webhook.Delivered, HTTPStatus: 200}, unsafeAddress(),
		{Verdict: webhook.Delivered, HTTPStatus: 200}, unsafeAddress()} {
		check(t, sender.Send(t.Context(), request), want)
	}
	if requests.Load() != 2 || len(names.asked) != 4 {
		t.Errorf("%d requests and %d look-ups for 4 attempts, want 2 and 4", requests.Load(), len(names.asked))
	}
}

// TestSendChecksTheURLAgain checks that a stored destination that the current policy does not permit is blocked.
func TestSendChecksTheURLAgain(t *testing.T) {
	t.Parallel()
	sender := newSender(t, webhook.Config{Resolver: resolverFunc(func(context.Context, string) ([]netip.Addr, error) {
		t.Error("a refused URL was resolved")
		return nil, nil
	})})
	for _, url := range []string{"", "https://127.0.0.1:8443/hook", "http://hooks.example.com/", "https://localhost/",
		"https://2130706433/", "https://hooks.example.com/?x"} {
		check(t, sender.Send(t.Context(), requestTo(url)), unsafeAddress())
	}
}

// refusing returns an address at which nobody listens until the end of the test. It is the client's end of a
// connection, so no other test gets its port.
func refusing(t *testing.T) netip.AddrPort {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveRaw(t, listener, untilClosed)
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.LocalAddr().(*net.TCPAddr).AddrPort()
}

func TestSendClassifiesConnectionErrors(t *testing.T) {
	t.Parallel()
	addr := refusing(t)
	policy := webhook.Policy{AllowAddrs: []netip.AddrPort{addr}}
	url := "https://hooks.example.com:" + portOf(addr) + "/"
	for name, c := range map[string]struct {
		resolver resolverFunc
		timeout  time.Duration
		class    string
	}{
		"unknown name": {func(context.Context, string) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
		}, ample, webhook.ClassDNS},
		"no address": {func(context.Context, string) ([]netip.Addr, error) { return nil, nil }, ample, webhook.ClassDNS},
		"broken": {func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("broken") }, ample,
			webhook.ClassDNS},
		"silent": {func(ctx context.Context, _ string) ([]netip.Addr, error) { <-ctx.Done(); return nil, ctx.Err() },
			time.Second, webhook.ClassDNS},
		"nobody listens": {func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{addr.Addr()}, nil },
			ample, webhook.ClassConnect},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sender := newSender(t, webhook.Config{Policy: policy, Resolver: c.resolver, Timeout: c.timeout})
			check(t, sender.Send(t.Context(), requestTo(url)), unreachable(c.class))
		})
	}
}

func TestSendEndsWithItsContext(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	_, d := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Errorf("read the request: %v", err)
		}
		close(arrived)
		<-r.Context().Done()
		panic(http.ErrAbortHandler) // without it net/http answers 200, which may still arrive
	})
	sender := newSender(t, webhook.Config{Policy: d.policy})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	check(t, sender.Send(ctx, requestTo(d.url("/"))), unreachable(webhook.ClassCanceled))
}

// TestSendUsesNoProxy checks that Send ignores the proxy settings of the environment. It is not parallel, because it
// changes the environment.
func TestSendUsesNoProxy(t *testing.T) {
	var proxied atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied.Add(1) }))
	t.Cleanup(proxy.Close)
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	_, d := newServer(t, func(http.ResponseWriter, *http.Request) {})
	sender := newSender(t, webhook.Config{Policy: d.policy, Resolver: responses([]string{"127.0.0.1"})})
	check(t, sender.Send(t.Context(), requestTo(d.named("hooks.example.com", "/"))),
		webhook.Result{Verdict: webhook.Delivered, HTTPStatus: 200})
	if proxied.Load() != 0 {
		t.Errorf("%d requests went to the proxy", proxied.Load())
	}
}
