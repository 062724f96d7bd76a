package pgtest

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Proxy is a proxy between a program and its database that simulates a failing network. It is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	url      string
	network  string
	server   string
	done     sync.WaitGroup

	mu     sync.Mutex
	relays map[*relay]struct{}
	flow   chan struct{} // closed while bytes may pass
	lose   func() bool
	closed bool
}

// relay is one connection through the proxy.
type relay struct {
	client, server net.Conn
	ended          chan struct{} // closed when the relay has ended
	end            sync.Once
}

// NewProxy starts a proxy for the database at address. It ends with the test.
func NewProxy(t testing.TB, address string) *Proxy {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	through, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{relays: map[*relay]struct{}{}, flow: make(chan struct{})}
	close(p.flow)
	p.network, p.server = pgconn.NetworkAddress(config.Host, config.Port)
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil { //nolint:noctx // it ends with the test
		t.Fatal(err)
	}
	through.Host = p.listener.Addr().String()
	query := through.Query()
	query.Del("host")
	query.Set("sslmode", "disable")
	through.RawQuery = query.Encode()
	p.url = through.String()
	p.done.Go(p.accept)
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Errorf("pgtest: close the proxy: %v", err)
		}
	})
	return p
}

// URL returns the address of the database through the proxy.
func (p *Proxy) URL() string { return p.url }

// Stall stops all bytes in both directions until [Proxy.Resume]. Connections stay open, and new ones are accepted.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flow = make(chan struct{})
}

// Resume ends a stall.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.flow)
}

// Cut breaks every connection, whatever its state.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for r := range p.relays {
		r.close()
	}
}

// LoseCommits calls lose at every commit of the database. If it returns true, the connection breaks before the response
// passes. A nil function ends that.
func (p *Proxy) LoseCommits(lose func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = lose
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial(p.network, p.server) //nolint:noctx // it ends with the proxy
		if err != nil {
			_ = client.Close() // as if the server had refused it itself
			continue
		}
		r := &relay{client: client, server: server, ended: make(chan struct{})}
		p.mu.Lock()
		if p.closed {
			r.close()
		} else {
			p.relays[r] = struct{}{}
		}
		p.mu.Unlock()
		p.done.Go(func() { p.pass(r, r.server, r.client, func([]byte) bool { return false }) })
		p.done.Go(func() { p.pass(r, r.client, r.server, p.loses) })
	}
}

// loses reports whether a response of the database must be lost, which requires that it acknowledges a commit.
func (p *Proxy) loses(response []byte) bool {
	if !bytes.Contains(response, []byte("COMMIT\x00")) { // the tag of a command that is complete
		return false
	}
	p.mu.Lock()
	lose := p.lose
	p.mu.Unlock()
	return lose != nil && lose()
}

// pass copies one direction of a connection until either side ends, or until a response must be lost.
func (p *Proxy) pass(r *relay, to, from net.Conn, loses func([]byte) bool) {
	defer func() {
		r.close()
		p.mu.Lock()
		delete(p.relays, r)
		p.mu.Unlock()
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		p.mu.Lock()
		flow := p.flow
		p.mu.Unlock()
		select {
		case <-flow:
		case <-r.ended:
			return
		}
		if loses(buffer[:n]) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// close ends a relay. Errors of a peer that has disconnected do not matter.
func (r *relay) close() {
	r.end.Do(func() {
		close(r.ended)
		_, _ = r.client.Close(), r.server.Close()
	})
}

func (p *Proxy) close() error {
	err := p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Cut()
	p.done.Wait()
	return err
}
