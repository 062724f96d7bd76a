package protocol_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quittance/internal/provider"
	"quittance/test/kit"
	"quittance/test/providertest"
)

// unresolvable has a label that is too long for a name, so no resolver and no network is needed.
const unresolvable = "https://xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.invalid"

// raw is a server of bare connections, which can violate HTTP in any way.
type raw struct {
	listener net.Listener
	conns    atomic.Int64
	bytes    atomic.Int64
	group    sync.WaitGroup
}

// rawServe runs handle for each connection until the test ends.
func rawServe(t *testing.T, handle func(n int64, conn net.Conn)) *raw {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &raw{listener: listener}
	ended := make(chan struct{})
	r.group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			n := r.conns.Add(1)
			r.group.Go(func() {
				stop := context.AfterFunc(contextOf(ended), func() { _ = conn.Close() })
				defer stop()
				defer conn.Close()
				handle(n, &counted{Conn: conn, bytes: &r.bytes})
			})
		}
	})
	t.Cleanup(func() {
		close(ended)
		listener.Close()
		r.group.Wait()
	})
	return r
}

func (r *raw) url() string { return "http://" + r.listener.Addr().String() }

// contextOf returns a context that ends when a channel is closed.
func contextOf(ended <-chan struct{}) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-ended; cancel() }()
	return ctx
}

// counted counts what the client has sent.
type counted struct {
	net.Conn
	bytes *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

// readRequest reads one complete request.
func readRequest(conn net.Conn) error {
	request, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, request.Body)
	return err
}

// afterRequest responds to the first request of every connection with text, and then calls last.
func afterRequest(text string, last func(net.Conn)) func(int64, net.Conn) {
	return func(_ int64, conn net.Conn) {
		if readRequest(conn) != nil {
			return
		}
		// The adapter may disconnect at any time.
		_, _ = io.WriteString(conn, text)
		if last != nil {
			last(conn)
		}
	}
}

// hang waits until the client or the test ends the connection.
func hang(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// flood sends as long as the client reads.
func flood(text string, most int) func(net.Conn) {
	return func(conn net.Conn) {
		for range most/len(text) + 1 {
			if _, err := io.WriteString(conn, text); err != nil {
				return
			}
		}
	}
}

// trickle sends a byte from time to time.
func trickle(conn net.Conn) {
	for {
		if _, err := io.WriteString(conn, " "); err != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestHangingProvidersTimeOut checks that a call ends with its time-out wherever the provider stops. The connections
// are pipes in a bubble of synctest, where time passes only while everybody waits.
func TestHangingProvidersTimeOut(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	const limit = 20 * time.Second
	for name, c := range map[string]struct {
		handle func(int64, net.Conn)
		status int
	}{
		"before the answer":   {afterRequest("", hang), 0},
		"without reading":     {func(int64, net.Conn) { time.Sleep(2 * limit) }, 0},
		"in the headers":      {afterRequest(ok, hang), 0},
		"in the body":         {afterRequest(ok+"Content-Length: 10\r\n\r\n{", hang), 200},
		"in trickled headers": {afterRequest(ok+"X: ", trickle), 0},
		"in a trickled body":  {afterRequest(ok+"\r\n{", trickle), 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var running sync.WaitGroup
				var conns atomic.Int64
				h := adapter(t, "http://127.0.0.1:1", func(config *provider.Config) {
					config.Timeout = limit
					config.Dial = func(context.Context, string, string) (net.Conn, error) {
						client, server := net.Pipe()
						n := conns.Add(1)
						running.Go(func() {
							defer server.Close()
							c.handle(n, server)
						})
						return client, nil
					}
				})
				began := time.Now()
				response := h.Submit(t.Context(), providertest.Document("ref-1"))
				if took := time.Since(began); took != limit {
					t.Errorf("the call took %v of %v", took, limit)
				}
				response.Body = nil
				if response.Kind != provider.Ambiguous || response.ErrorClass != provider.ClassTimeout ||
					response.HTTPStatus != c.status {
					t.Errorf("want unclear, timeout, %d; got %+v", c.status, response)
				}
				h.Close()
				running.Wait()
				if n := conns.Load(); n != 1 {
					t.Errorf("the document was sent over %d connections", n)
				}
			})
		})
	}
}

// reset closes a connection with RST instead of FIN.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*counted).Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func TestHostileProvidersAreAmbiguous(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for _, c := range []struct {
		name   string
		handle func(int64, net.Conn)
		class  provider.ErrorClass
		status int
	}{
		{"endless headers", afterRequest(ok, flood("X-Padding: "+strings.Repeat("x", 1000)+"\r\n", 8<<20)),
			provider.ClassProtocol, 0},
		{"300 MiB", afterRequest(ok+"Content-Length: 314572800\r\n\r\n", flood(strings.Repeat("x", 1<<16), 300<<20)),
			provider.ClassTooLarge, 200},
		{"endless chunks", afterRequest(ok+"Transfer-Encoding: chunked\r\n\r\n",
			flood("400\r\n"+strings.Repeat("x", 1024)+"\r\n", 16<<20)), provider.ClassTooLarge, 200},
		{"a truncated body", afterRequest(ok+"Content-Length: 10\r\n\r\n{\"a\"", nil), provider.ClassProtocol, 200},
		{"a truncated chunk", afterRequest(ok+"Transfer-Encoding: chunked\r\n\r\n9\r\n{\"a\"", nil), provider.ClassProtocol,
			200},
		{"garbage", afterRequest("\x16\x03\x01\x00garbage\r\n\r\n", nil), provider.ClassProtocol, 0},
		{"no HTTP at all", afterRequest("220 mail.example.com ESMTP\r\n", hang), provider.ClassProtocol, 0},
		{"two lengths", afterRequest(ok+"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", nil), provider.ClassProtocol, 0},
		{"closed after the request", afterRequest("", nil), provider.ClassProtocol, 0},
		{"reset after the request", afterRequest("", reset), provider.ClassProtocol, 0},
		{"a redirect", afterRequest("HTTP/1.1 307 Temporary Redirect\r\nLocation: /v1/elsewhere\r\nContent-Length: 0\r\n\r\n",
			hang), provider.ClassRedirect, 307},
		{"switching protocols", afterRequest("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
			hang), provider.ClassProtocol, 101},
		{"compressed unasked", afterRequest(ok+"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", hang),
			provider.ClassProtocol, 200},
		{"endless informational answers", afterRequest("", flood("HTTP/1.1 103 Early Hints\r\n\r\n", 1<<20)),
			provider.ClassProtocol, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := rawServe(t, c.handle)
			h := adapter(t, server.url(), nil)
			response := h.Submit(t.Context(), providertest.Document("ref-1"))
			if len(response.Body) > provider.MaxResponse {
				t.Errorf("%d bytes retained", len(response.Body))
			}
			response.Body = nil
			if response.Kind != provider.Ambiguous || response.ErrorClass != c.class || response.HTTPStatus != c.status {
				t.Errorf("want unclear, %s, %d; got %+v", c.class, c.status, response)
			}
			if n := server.conns.Load(); n != 1 {
				t.Errorf("the document was sent over %d connections", n)
			}
		})
	}
}

func TestRefusalsNeedNoWholeBody(t *testing.T) {
	server := rawServe(t, afterRequest("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\nContent-Length: 100\r\n\r\n{",
		nil))
	response := adapter(t, server.url(), nil).Submit(t.Context(), providertest.Document("ref-1"))
	if response.Kind != provider.Refused || response.RetryAfter != 3*time.Second || !response.Truncated ||
		response.ErrorClass != provider.ClassProtocol {
		t.Fatalf("%+v", response)
	}
}

// refusing returns an address at which nobody listens until the end of the test. It is the client's end of a
// connection, so no other test gets its port.
func refusing(t *testing.T) string {
	t.Helper()
	conn, err := net.Dial("tcp", rawServe(t, func(_ int64, conn net.Conn) { hang(conn) }).listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.LocalAddr().String()
}

func TestNothingIsSentWhenNoConnectionIsMade(t *testing.T) {
	silent := rawServe(t, func(_ int64, conn net.Conn) { hang(conn) })
	ender := rawServe(t, func(_ int64, conn net.Conn) { _, _ = conn.Read(make([]byte, 1)) })
	for _, c := range []struct {
		url     string
		timeout time.Duration
		class   provider.ErrorClass
	}{
		{"http://" + refusing(t), time.Minute, provider.ClassConnect},
		{unresolvable, time.Minute, provider.ClassDNS},
		{strings.Replace(silent.url(), "http", "https", 1), 2 * time.Second, provider.ClassTimeout},
		{strings.Replace(ender.url(), "http", "https", 1), time.Minute, provider.ClassTLS},
	} {
		h := adapter(t, c.url, func(config *provider.Config) { config.Timeout = c.timeout })
		response := h.Submit(t.Context(), providertest.Document("ref-1"))
		if response.Kind != provider.NotSent || response.ErrorClass != c.class {
			t.Errorf("%s: want not_sent and %s, got %+v", c.url, c.class, response)
		}
	}
}

// TestACallThatWaitsForAConnectionIsNotSent checks that the number of connections is limited, and that a call that
// waits for one sends nothing.
func TestACallThatWaitsForAConnectionIsNotSent(t *testing.T) {
	arrived := make(chan struct{})
	server := rawServe(t, func(_ int64, conn net.Conn) {
		if readRequest(conn) == nil {
			close(arrived)
		}
		hang(conn)
	})
	h := adapter(t, server.url(), func(config *provider.Config) { config.MaxConns = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan provider.Response, 1)
	go func() { first <- h.Submit(ctx, providertest.Document("ref-1")) }()
	<-arrived
	short, done := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer done()
	if response := h.Submit(short, providertest.Document("ref-2")); response.Kind != provider.NotSent ||
		response.ErrorClass != provider.ClassTimeout {
		t.Errorf("waiting: %+v", response)
	}
	cancel()
	if response := <-first; response.Kind != provider.Ambiguous || response.ErrorClass != provider.ClassCanceled {
		t.Errorf("cancelled after the request: %+v", response)
	}
}

// TestADeadReusedConnectionNeverSendsASubmissionTwice checks that the adapter prevents net/http from sending a request
// with an Idempotency-Key again if a pooled connection turns out to be dead.
func TestADeadReusedConnectionNeverSendsASubmissionTwice(t *testing.T) {
	for name, end := range map[string]func(net.Conn){"closed": func(net.Conn) {}, "reset": reset} {
		for _, received := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, request read %t", name, received), func(t *testing.T) {
				kit.Until(t, "a connection is reused", func() bool {
					var submissions atomic.Int64
					server := rawServe(t, func(_ int64, conn net.Conn) {
						if readRequest(conn) != nil {
							return
						}
						_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
						if received {
							if readRequest(conn) != nil {
								return
							}
						} else if _, err := conn.Read(make([]byte, 1)); err != nil {
							return
						}
						submissions.Add(1)
						end(conn)
					})
					h := adapter(t, server.url(), nil)
					if response := h.Status(t.Context(), provider.Query{Reference: "ref-1"}); response.Kind != provider.Complete {
						t.Fatalf("%+v", response)
					}
					response := h.Submit(t.Context(), providertest.Document("ref-1"))
					if submissions.Load() == 0 && server.conns.Load() == 2 {
						// net/http has given up the first connection, because it was not told within 50 ms that the query is written
						return false
					}
					if response.Kind != provider.Ambiguous || response.ErrorClass != provider.ClassProtocol ||
						submissions.Load() != 1 || server.conns.Load() != 1 {
						t.Fatalf("%d submissions over %d connections: %+v", submissions.Load(), server.conns.Load(), response)
					}
					return true
				})
			})
		}
	}
}

// TestAConnectionThatDiedIdleCostsNothing checks that a call after a restart of the provider succeeds, although its
// pooled connection is dead.
func TestAConnectionThatDiedIdleCostsNothing(t *testing.T) {
	idle := make(chan net.Conn, 1)
	server := rawServe(t, func(n int64, conn net.Conn) {
		if readRequest(conn) != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		if n == 1 {
			idle <- conn
		}
		hang(conn)
	})
	h := adapter(t, server.url(), nil)
	h.Status(t.Context(), provider.Query{Reference: "ref-1"})
	reset(<-idle)
	// The adapter notices the reset at some moment; until then a call may find the connection dead.
	kit.Until(t, "a call succeeds", func() bool {
		response := h.Submit(t.Context(), providertest.Document("ref-1"))
		if response.Kind != provider.Complete && response.Kind != provider.Ambiguous {
			t.Fatalf("%+v", response)
		}
		return response.Kind == provider.Complete
	})
}

// TestNotSentIsTrueUnderRacingCancellation checks that for calls that are cancelled at any time, the adapter never
// claims NotSent for a call that the provider has seen.
func TestNotSentIsTrueUnderRacingCancellation(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	server := rawServe(t, func(_ int64, conn net.Conn) {
		reader := bufio.NewReader(conn)
		for {
			line, err := reader.ReadString('\n')
			if key, found := strings.CutPrefix(line, "Idempotency-Key: "); found {
				mu.Lock()
				seen[strings.TrimSpace(key)] = true
				mu.Unlock()
			}
			if strings.TrimSpace(line) == "" && err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			}
			if err != nil {
				return
			}
		}
	})
	h := adapter(t, server.url(), nil)
	notSent := map[string]bool{}
	const calls = 400
	for i := range calls {
		reference := fmt.Sprintf("ref-%d", i)
		limit := time.Duration(i) * 2 * time.Microsecond // the first has no time at all
		if i == calls-1 {
			limit = kit.Patience() // one arrives on the slowest machine
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		if response := h.Submit(ctx, provider.Document{Reference: reference,
			Body: []byte("{}")}); response.Kind == provider.NotSent {
			notSent[reference] = true
		}
		cancel()
	}
	h.Close()
	server.listener.Close()
	mu.Lock()
	defer mu.Unlock()
	for reference := range notSent {
		if seen[reference] {
			t.Errorf("%s arrived and is claimed as not sent", reference)
		}
	}
	if len(notSent) == 0 || len(seen) == 0 {
		t.Errorf("nothing raced: %d not sent, %d seen", len(notSent), len(seen))
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var calls atomic.Int64
	server := providertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		http.Redirect(w, r, "/v1/other", http.StatusFound)
	})
	h := adapter(t, server.URL, nil)
	for _, response := range []provider.Response{h.Submit(t.Context(), providertest.Document("ref-1")),
		h.Status(t.Context(), provider.Query{Reference: "ref-1"})} {
		if response.Kind != provider.Ambiguous || response.ErrorClass != provider.ClassRedirect ||
			response.HTTPStatus != http.StatusFound {
			t.Errorf("%+v", response)
		}
	}
	if calls.Load() != 2 {
		t.Errorf("%d calls", calls.Load())
	}
}

func TestNoProxyOfTheEnvironmentIsUsed(t *testing.T) {
	proxy := providertest.Serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy got a request") })
	t.Setenv("HTTPS_PROXY", proxy.URL)
	t.Setenv("HTTP_PROXY", proxy.URL)
	h := adapter(t, unresolvable, nil)
	if response := h.Status(t.Context(), provider.Query{Reference: "ref-1"}); response.Kind != provider.NotSent ||
		response.ErrorClass != provider.ClassDNS {
		t.Errorf("%+v", response)
	}
}
