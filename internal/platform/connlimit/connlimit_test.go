package connlimit_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/platform/connlimit"
	"quittance/test/kit/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m.Run)) }

// memory is a listener for connections in memory, from addresses that the test chooses.
type memory struct {
	coming chan net.Conn
	ended  chan struct{}
}

func newMemory() *memory { return &memory{coming: make(chan net.Conn), ended: make(chan struct{})} }

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.coming:
		return c, nil
	case <-m.ended:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { close(m.ended); return nil }
func (m *memory) Addr() net.Addr { return &net.TCPAddr{} }

// from is a connection with a chosen remote address.
type from struct {
	net.Conn
	address net.Addr
}

func (f from) RemoteAddr() net.Addr { return f.address }

// world is a server with a limiter. Its handler responds at once, and to /slow when the test says so.
type world struct {
	t       *testing.T
	limiter *connlimit.Limiter
	memory  *memory
	closed  map[connlimit.Reason]*atomic.Int64
	inside  chan struct{}
	letGo   chan struct{}
	// idle gets a value whenever a connection becomes idle after a request.
	idle chan struct{}
}

func start(t *testing.T, config connlimit.Config) *world {
	t.Helper()
	w := &world{t: t, memory: newMemory(), inside: make(chan struct{}), letGo: make(chan struct{}),
		idle: make(chan struct{}, 1000), closed: map[connlimit.Reason]*atomic.Int64{connlimit.Idle: {},
			connlimit.Refused: {}}}
	config.Closed = func(reason connlimit.Reason) { w.closed[reason].Add(1) }
	w.limiter = connlimit.New(config)
	server := &http.Server{ReadHeaderTimeout: time.Minute, ConnState: w.state,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				w.inside <- struct{}{}
				<-w.letGo
			}
		})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(w.limiter.Listener(w.memory)); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	}()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-ended
		if open := w.limiter.Open(); open != 0 {
			t.Errorf("%d connections are open after the end", open)
		}
	})
	return w
}

// state calls the limiter and then notifies the test.
func (w *world) state(c net.Conn, state http.ConnState) {
	w.limiter.ConnState(c, state)
	if state == http.StateIdle {
		w.idle <- struct{}{}
	}
}

// dial opens a connection from an address and returns when it is accepted.
func (w *world) dial(address string) *client {
	w.t.Helper()
	near, far := net.Pipe()
	w.t.Cleanup(func() { _ = near.Close() })
	w.memory.coming <- from{far, net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(address), 40000))}
	return &client{t: w.t, idle: w.idle, conn: near, reader: bufio.NewReader(near)}
}

// client is the client side of a connection.
type client struct {
	t      *testing.T
	idle   chan struct{}
	conn   net.Conn
	reader *bufio.Reader
}

// get sends a request and reports whether it succeeded. When it returns, the connection is idle.
func (c *client) get() bool {
	if _, err := io.WriteString(c.conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		return false
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil || response.StatusCode != http.StatusOK {
		return false
	}
	<-c.idle
	return true
}

// begin sends a request, which is running when begin returns.
func (c *client) begin(w *world) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		c.t.Fatal(err)
	}
	<-w.inside
}

// ended waits for the end of the connection.
func (c *client) ended() {
	c.t.Helper()
	if _, err := c.reader.ReadByte(); err == nil {
		c.t.Fatal("the connection is open and has data")
	}
}

func (w *world) want(idle, refused int64) {
	w.t.Helper()
	if i, r := w.closed[connlimit.Idle].Load(), w.closed[connlimit.Refused].Load(); i != idle || r != refused {
		w.t.Errorf("%d idle connections were closed and %d new ones refused; want %d and %d", i, r, idle, refused)
	}
}

// TestLongestIdleIsClosed: when the limit is reached, a new connection replaces the one that has been idle longest.
func TestLongestIdleIsClosed(t *testing.T) {
	w := start(t, connlimit.Config{Total: 3})
	first, second, third := w.dial("192.0.2.1"), w.dial("192.0.2.2"), w.dial("192.0.2.3")
	for _, c := range []*client{second, third} { // the first has sent nothing yet
		if !c.get() {
			t.Fatal("the request failed")
		}
	}
	fourth := w.dial("192.0.2.4")
	first.ended()
	if !fourth.get() || !third.get() {
		t.Error("a request on a remaining connection failed")
	}
	w.dial("192.0.2.5")
	second.ended()
	w.want(2, 0)
}

// TestRunningRequestsStay: connections with running requests stay open; if there are no others, a new one is refused.
func TestRunningRequestsStay(t *testing.T) {
	w := start(t, connlimit.Config{Total: 2})
	busy := []*client{w.dial("192.0.2.1"), w.dial("192.0.2.2")}
	for _, c := range busy {
		c.begin(w)
	}
	w.dial("192.0.2.3").ended()
	w.want(0, 1)
	close(w.letGo)
	for _, c := range busy {
		if response, err := http.ReadResponse(c.reader, nil); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("a running request was interrupted: %v", err)
		}
	}
}

// TestSourcesAreLimited: a source at its limit replaces connections of its own, and none of others.
func TestSourcesAreLimited(t *testing.T) {
	for _, c := range []struct {
		name      string
		addresses func(n int) string
		most      int
	}{
		{"one IPv4 address", func(int) string { return "192.0.2.1" }, 4},
		{"one IPv4 address written as IPv6", func(int) string { return "::ffff:192.0.2.1" }, 4},
		{"one IPv6 network", func(n int) string { return fmt.Sprintf("2001:db8::%x", n+1) }, 4},
		{"networks of one site", func(n int) string { return fmt.Sprintf("2001:db8:0:%x::1", n) }, 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := start(t, connlimit.Config{Total: 100, PerSource: 4})
			others := w.dial("198.51.100.1")
			if !others.get() {
				t.Fatal("the request failed")
			}
			var open []*client
			for n := range c.most + 3 {
				open = append(open, w.dial(c.addresses(n)))
			}
			for _, early := range open[:3] {
				early.ended()
			}
			if got := w.limiter.Open(); got != c.most+1 {
				t.Errorf("%d connections are open, want %d and that of the other source", got, c.most)
			}
			for _, stays := range append(open[3:], others) {
				if !stays.get() {
					t.Error("a request on a remaining connection failed")
				}
			}
			w.want(3, 0)
		})
	}
}

// TestABusySourceIsRefused: a source at its limit whose connections all have running requests gets no more, and others
// do.
func TestABusySourceIsRefused(t *testing.T) {
	w := start(t, connlimit.Config{Total: 100, PerSource: 2})
	for range 2 {
		w.dial("192.0.2.1").begin(w)
	}
	w.dial("192.0.2.1").ended()
	if !w.dial("192.0.2.2").get() {
		t.Error("a request of another source failed")
	}
	w.want(0, 1)
	close(w.letGo)
}

// TestExemptSources: the limit per source does not apply to trusted proxies, but the total does.
func TestExemptSources(t *testing.T) {
	w := start(t, connlimit.Config{Total: 6, PerSource: 2,
		Exempt: func(a netip.Addr) bool { return a == netip.MustParseAddr("192.0.2.1") }})
	var open []*client
	for range 6 {
		open = append(open, w.dial("192.0.2.1"))
	}
	for _, c := range open {
		if !c.get() {
			t.Fatal("the request failed")
		}
	}
	w.want(0, 0)
	w.dial("192.0.2.1")
	open[0].ended()
	w.want(1, 0)
}

// TestWithin: file descriptors are kept for the database, providers and webhooks, however few there are.
func TestWithin(t *testing.T) {
	for _, c := range []struct{ wanted, files, want int }{
		{16384, 0, 16384}, {16384, 1 << 20, 16384}, {16384, 20000, 15904}, {16384, 1024, 512}, {100, 1024, 100},
		{16384, 1, 1},
	} {
		if got := connlimit.Within(c.wanted, c.files); got != c.want {
			t.Errorf("Within(%d, %d) = %d, want %d", c.wanted, c.files, got, c.want)
		}
	}
	if connlimit.Files() < 0 {
		t.Error("the limit is negative")
	}
}
