package simulation

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
)

// network holds all listeners and connections. Nothing leaves the process.
type network struct {
	w         *world
	mu        sync.Mutex
	listeners map[string]*listener
	servers   []*http.Server
	conns     map[*conn]struct{}
}

func newNetwork(w *world) *network {
	return &network{w: w, listeners: map[string]*listener{}, conns: map[*conn]struct{}{}}
}

// serve runs a server at an address until the network is closed.
func (n *network) serve(address string, server *http.Server, wrap func(net.Listener) net.Listener) {
	l := &listener{address: address, arriving: make(chan net.Conn), closed: make(chan struct{})}
	n.listeners[address] = l
	n.servers = append(n.servers, server)
	wrapped := net.Listener(l)
	if wrap != nil {
		wrapped = wrap(l)
	}
	n.w.running.Go(func() {
		if err := server.Serve(wrapped); !errors.Is(err, http.ErrServerClosed) {
			n.w.violate("the server at %s stopped: %v", address, err)
		}
	})
}

// close closes every server and every connection.
func (n *network) close() {
	for _, server := range n.servers {
		if err := server.Close(); err != nil {
			n.w.violate("close a server: %v", err)
		}
	}
	n.cut(nil)
}

// cut closes the connections of a process, as its death does, or all connections if of is nil.
func (n *network) cut(of *process) {
	n.mu.Lock()
	var all []*conn
	for c := range n.conns {
		if of == nil || c.owner == of {
			all = append(all, c)
		}
	}
	n.mu.Unlock()
	for _, c := range all {
		_ = c.Close() // net.Pipe always returns nil
	}
}

// dialFor returns the dialler of a process.
func (n *network) dialFor(p *process) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		n.mu.Lock()
		l := n.listeners[address]
		n.mu.Unlock()
		if strings.HasPrefix(address, privateAddress) {
			n.w.violate("the private address %s was dialled", address)
		}
		if l == nil || p.dead {
			return nil, refused
		}
		budget := -1
		if !n.w.isParallel() && n.w.chance("dial "+address, 0.04) {
			switch n.w.randomFor("dial kind "+address) % 3 {
			case 0:
				n.w.count("connection refused")
				return nil, refused
			case 1:
				n.w.count("connection hangs")
				<-ctx.Done()
				return nil, ctx.Err()
			default:
				if l.secure {
					break // TLS records vary in size, so runs of a seed would differ
				}
				n.w.count("connection cut after some bytes")
				budget = int(n.w.randomFor("cut "+address) % 3000)
			}
		}
		near, far := net.Pipe()
		c := &conn{Conn: near, network: n, owner: p, budget: budget}
		n.mu.Lock()
		n.conns[c] = struct{}{}
		n.mu.Unlock()
		select {
		case l.arriving <- &conn{Conn: far, network: n, budget: -1}:
			return c, nil
		case <-l.closed:
			return nil, errors.Join(refused, c.Close())
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), c.Close())
		}
	}
}

// conn is one end of a connection. It breaks after budget bytes in both directions; a negative budget is unlimited.
type conn struct {
	net.Conn
	network *network
	owner   *process
	mu      sync.Mutex
	budget  int
}

// consume takes n bytes from the budget and returns how many of them may pass.
func (c *conn) consume(n int) (allowed int, broken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.budget < 0 {
		return n, false
	}
	if n >= c.budget {
		allowed = c.budget
		c.budget = 0
		return allowed, true
	}
	c.budget -= n
	return n, false
}

func (c *conn) Write(b []byte) (int, error) {
	allowed, broken := c.consume(len(b))
	if !broken {
		return c.Conn.Write(b)
	}
	n, err := 0, error(nil)
	if allowed > 0 {
		n, err = c.Conn.Write(b[:allowed])
	}
	return n, errors.Join(err, c.Close(), syscall.ECONNRESET)
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if allowed, broken := c.consume(n); broken && n > 0 {
		return allowed, errors.Join(c.Close(), syscall.ECONNRESET)
	}
	return n, err
}

func (c *conn) Close() error {
	c.network.mu.Lock()
	delete(c.network.conns, c)
	c.network.mu.Unlock()
	return c.Conn.Close()
}

// RemoteAddr returns a TCP address, so that net/http logs it as usual.
func (c *conn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// listener passes connections to a server.
type listener struct {
	address  string
	secure   bool
	arriving chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.arriving:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// resolver resolves the receivers' only name: usually to a public address, sometimes to none or to a private one.
type resolver struct{ w *world }

// receiverAddress is public, as deliveries require. privateAddress is what a hostile name may resolve to.
const (
	receiverAddress = "8.8.4.4"
	privateAddress  = "10.0.0.7"
)

func (r resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	switch {
	case r.w.chance("resolve", 0.02):
		r.w.count("name not found")
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	case r.w.chance("rebind", 0.004):
		r.w.count("name at a private address")
		return []netip.Addr{netip.MustParseAddr(privateAddress)}, nil
	}
	return []netip.Addr{netip.MustParseAddr(receiverAddress)}, nil
}
