// Package connlimit bounds the connections of a listener: in total, and for each source they come from.
//
// Its invariants: no source has more connections than its share; when there is no room for a new connection, the
// connection that has waited longest for a request is closed for it, and only when none is waiting is the new one closed;
// a connection counts from Accept to Close. Requests under way are never cut off for somebody else.
//
// Start reading at [New]; [Limiter.Listener] and [Limiter.ConnState] go together.
package connlimit

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"quittance/internal/source"
)

// WideFactor is how many times as many connections, or whatever else is bounded by source, the /48 of an IPv6 source may have.
const WideFactor = 4

// Config is what a limiter is made from.
type Config struct {
	// Total is how many connections may be open at a time; from 1.
	Total int
	// PerSource is how many of them one source may have, an IPv4 address or the /64 of an IPv6 address; a /48 may have four
	// times as many. 0 is for no such bound.
	PerSource int
	// Exempt tells which addresses the bound per source does not hold for, such as those of trusted proxies; nil for none.
	Exempt func(netip.Addr) bool
	// Closed is told of each connection that is closed for want of room; nil for nobody.
	Closed func(Reason)
}

// Reason is why a connection was closed.
type Reason string

// The reasons.
const (
	// Refused is a new connection while no connection is waiting for a request.
	Refused Reason = "refused"
	// Idle is the connection that has waited longest for a request, closed for a new one.
	Idle Reason = "idle"
)

// Limiter bounds the connections of its listeners together. It is safe for concurrent use.
type Limiter struct {
	config Config

	mu  sync.Mutex
	all group
	// bySource has a group for each narrow and each wide prefix with connections that the bounds per source hold for.
	bySource map[netip.Prefix]*group
}

// group is a number of connections that one bound holds for.
type group struct {
	prefix netip.Prefix // invalid for the group of all
	most   int
	open   int
	// waiting are those without a request under way, the one that has waited longest first.
	waiting list.List
}

// New returns a limiter.
func New(config Config) *Limiter {
	return &Limiter{config: config, all: group{most: config.Total}, bySource: map[netip.Prefix]*group{}}
}

// Listener returns a listener whose connections count. An http.Server on it, or on TLS on it, needs [Limiter.ConnState].
func (l *Limiter) Listener(inner net.Listener) net.Listener {
	return &listener{Listener: inner, limiter: l}
}

// Open is how many connections are open.
func (l *Limiter) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.open
}

// ConnState is for [http.Server.ConnState]: it keeps account of which connections wait for a request.
func (l *Limiter) ConnState(c net.Conn, state http.ConnState) {
	if secured, ok := c.(interface{ NetConn() net.Conn }); ok { // *tls.Conn
		c = secured.NetConn()
	}
	known, ok := c.(*conn)
	if !ok || known.limiter != l {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateIdle:
		known.wait()
	case http.StateActive, http.StateHijacked:
		known.stopWaiting()
	case http.StateNew, http.StateClosed: // Accept and Close see to these
	}
}

// admit counts a new connection if there is room for it, which may take the place of another one, to be closed.
func (l *Limiter) admit(c *conn, address netip.Addr) (admitted bool, evicted *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	groups := []*group{&l.all}
	if l.config.PerSource > 0 && (l.config.Exempt == nil || !l.config.Exempt(address)) {
		from := source.Of(address)
		groups = append(groups, l.group(from.Narrow(), l.config.PerSource))
		if from.HasWide() {
			groups = append(groups, l.group(from.Wide(), WideFactor*l.config.PerSource))
		}
	}
	// The narrowest bound last: what gives way there makes room in the wider ones, too.
	for n := len(groups) - 1; n >= 0 && evicted == nil; n-- {
		if g := groups[n]; g.open >= g.most {
			first := g.waiting.Front()
			if first == nil {
				l.forget(groups)
				return false, nil
			}
			evicted, _ = first.Value.(*conn)
			l.leave(evicted)
		}
	}
	for _, g := range groups {
		g.open++
		if g.prefix.IsValid() {
			l.bySource[g.prefix] = g // the one that gave way may have been its last
		}
	}
	c.groups, c.waiting = groups, make([]*list.Element, len(groups))
	c.wait()
	return true, evicted
}

// group returns the group of a prefix, a new one if need be.
func (l *Limiter) group(prefix netip.Prefix, most int) *group {
	g, ok := l.bySource[prefix]
	if !ok {
		g = &group{prefix: prefix, most: most}
		l.bySource[prefix] = g
	}
	return g
}

// forget removes groups without connections.
func (l *Limiter) forget(groups []*group) {
	for _, g := range groups {
		if g.open == 0 && g.prefix.IsValid() {
			delete(l.bySource, g.prefix)
		}
	}
}

// leave takes a connection out of its groups, once.
func (l *Limiter) leave(c *conn) {
	c.stopWaiting()
	for _, g := range c.groups {
		g.open--
	}
	l.forget(c.groups)
	c.groups = nil
}

// closed tells the observer.
func (l *Limiter) closed(reason Reason) {
	if l.config.Closed != nil {
		l.config.Closed(reason)
	}
}

type listener struct {
	net.Listener
	limiter *Limiter
}

// Accept implements [net.Listener]. A connection for which there is no room is closed without a word: it may be TLS, and
// then nothing can be said before its handshake.
func (l *listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address, _ := source.ParseAddr(inner.RemoteAddr().String())
		c := &conn{Conn: inner, limiter: l.limiter}
		admitted, evicted := l.limiter.admit(c, address)
		if evicted != nil {
			l.limiter.closed(Idle)
			_ = evicted.Conn.Close() // nobody reads from it any more
		}
		if admitted {
			return c, nil
		}
		l.limiter.closed(Refused)
		_ = inner.Close() // nobody has read from it
	}
}

// conn is a connection that counts. Its other fields belong to the limiter.
type conn struct {
	net.Conn
	limiter *Limiter
	groups  []*group // none once it has left
	waiting []*list.Element
}

// wait puts the connection at the end of those that wait for a request.
func (c *conn) wait() {
	for n, g := range c.groups {
		if c.waiting[n] == nil {
			c.waiting[n] = g.waiting.PushBack(c)
		}
	}
}

// stopWaiting is for a connection whose request has come, or that ends.
func (c *conn) stopWaiting() {
	for n, g := range c.groups {
		if c.waiting[n] != nil {
			g.waiting.Remove(c.waiting[n])
			c.waiting[n] = nil
		}
	}
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.limiter.mu.Lock()
	c.limiter.leave(c)
	c.limiter.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite lets net/http end a connection without losing an answer that is still on its way.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
