// Package connlimit limits the connections of a listener, in total and for each source.
//
// Its invariants: no source has more connections than its limit; when a limit is reached, a new connection replaces the
// connection that has been idle longest, and is closed itself only if none is idle; a connection counts from Accept to
// Close. A connection with a running request is never closed for a new one.
//
// Start reading at [New]; [Limiter.Listener] and [Limiter.ConnState] go together.
package connlimit

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"quittance/internal/platform/source"
)

// WideFactor is how many times the limit of a source applies to the /48 of an IPv6 source, for connections and for all
// other limits by source.
const WideFactor = 4

// Config configures a [Limiter].
type Config struct {
	// Total is how many connections may be open at the same time; at least 1.
	Total int
	// PerSource is how many of them one source may have: an IPv4 address or the /64 of an IPv6 address. A /48 may have
	// [WideFactor] times as many. 0 means no limit.
	PerSource int
	// Exempt, if not nil, reports whether an address, such as one of a trusted proxy, is exempt from the limit per source.
	Exempt func(netip.Addr) bool
	// Closed, if not nil, is called for each connection that is closed because of a limit.
	Closed func(Reason)
}

// Reason says why a connection was closed.
type Reason string

// The reasons.
const (
	// Refused means that a new connection was closed, because a limit was reached and no connection was idle.
	Refused Reason = "refused"
	// Idle means that the connection that had been idle longest was closed for a new one.
	Idle Reason = "idle"
)

// Limiter limits the connections of all its listeners together. It is safe for concurrent use.
type Limiter struct {
	config Config

	mu  sync.Mutex
	all group
	// bySource has a group for each narrow and each wide prefix with connections that count by source.
	bySource map[netip.Prefix]*group
}

// group is the set of connections that one limit applies to.
type group struct {
	prefix netip.Prefix // invalid for the total
	limit  int
	open   int
	// idle has the connections without a running request, the one that has been idle longest first.
	idle list.List
}

// New returns a limiter.
func New(config Config) *Limiter {
	return &Limiter{config: config, all: group{limit: config.Total}, bySource: map[netip.Prefix]*group{}}
}

// Listener returns a listener with limited connections. An http.Server that serves it, directly or with TLS, must use
// [Limiter.ConnState].
func (l *Limiter) Listener(inner net.Listener) net.Listener {
	return &listener{Listener: inner, limiter: l}
}

// Open returns how many connections are open.
func (l *Limiter) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.open
}

// ConnState must be the [http.Server.ConnState] of the server: it records which connections are idle.
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
		known.startIdle()
	case http.StateActive, http.StateHijacked:
		known.stopIdle()
	case http.StateNew, http.StateClosed: // Accept and Close handle these
	}
}

// admit counts a new connection if the limits allow it. It may evict an idle connection, which the caller closes.
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
	// Begin with the narrowest limit: a connection that is evicted there counts in the wider ones too.
	for n := len(groups) - 1; n >= 0 && evicted == nil; n-- {
		if g := groups[n]; g.open >= g.limit {
			oldest := g.idle.Front()
			if oldest == nil {
				l.forget(groups)
				return false, nil
			}
			evicted, _ = oldest.Value.(*conn)
			l.remove(evicted)
		}
	}
	for _, g := range groups {
		g.open++
		if g.prefix.IsValid() {
			l.bySource[g.prefix] = g // evicting its last connection may have removed it
		}
	}
	c.groups, c.idle = groups, make([]*list.Element, len(groups))
	c.startIdle()
	return true, evicted
}

// group returns the group of a prefix and creates it if necessary.
func (l *Limiter) group(prefix netip.Prefix, limit int) *group {
	g, ok := l.bySource[prefix]
	if !ok {
		g = &group{prefix: prefix, limit: limit}
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

// remove removes a connection from its groups; a second call does nothing.
func (l *Limiter) remove(c *conn) {
	c.stopIdle()
	for _, g := range c.groups {
		g.open--
	}
	l.forget(c.groups)
	c.groups = nil
}

// closed calls config.Closed.
func (l *Limiter) closed(reason Reason) {
	if l.config.Closed != nil {
		l.config.Closed(reason)
	}
}

type listener struct {
	net.Listener
	limiter *Limiter
}

// Accept implements [net.Listener]. It closes connections beyond the limits without a response, because with TLS none
// can be sent before the handshake.
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
			_ = evicted.Conn.Close() // nothing reads from it any more
		}
		if admitted {
			return c, nil
		}
		l.limiter.closed(Refused)
		_ = inner.Close() // nothing has read from it
	}
}

// conn is a connection that counts. The mutex of the limiter guards groups and idle.
type conn struct {
	net.Conn
	limiter *Limiter
	groups  []*group        // nil after remove
	idle    []*list.Element // its elements in the idle lists of groups; nil while it is not idle
}

// startIdle puts the connection behind the other idle ones.
func (c *conn) startIdle() {
	for n, g := range c.groups {
		if c.idle[n] == nil {
			c.idle[n] = g.idle.PushBack(c)
		}
	}
}

// stopIdle removes the connection from the idle ones.
func (c *conn) stopIdle() {
	for n, g := range c.groups {
		if c.idle[n] != nil {
			g.idle.Remove(c.idle[n])
			c.idle[n] = nil
		}
	}
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.limiter.mu.Lock()
	c.limiter.remove(c)
	c.limiter.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite lets net/http close a connection without losing a response that is still being sent.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
