package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// maxResponseHeader limits the status line and header of a response, including informational responses, in bytes.
	maxResponseHeader = 64 << 10
	// maxTargets is how many addresses of one name are tried.
	maxTargets = 4
	// idleTimeout is how long an idle connection is kept for the next delivery.
	idleTimeout = 30 * time.Second
	// maxSessions is how many TLS sessions are cached. Resuming one makes the next handshake with a host cheaper.
	maxSessions = 1024
)

// Resolver looks up the addresses of a host name without a trailing dot. *net.Resolver implements it.
type Resolver interface {
	// LookupNetIP returns all addresses of host; network is "ip".
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// absoluteResolver looks up exactly the given name. Without the trailing dot the system's resolver would try its search
// list, and a name in the operator's own network could match instead of the customer's.
type absoluteResolver struct{ Resolver }

func (r absoluteResolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return r.Resolver.LookupNetIP(ctx, network, host+".")
}

// stageError is a failure of a step before the request is written.
type stageError struct {
	class string // one of the Class constants
	err   error
}

func (e *stageError) Error() string { return e.class + ": " + e.err.Error() }
func (e *stageError) Unwrap() error { return e.err }

// egress makes all requests to destinations: without proxies and redirects, and only to addresses that were checked for
// this attempt.
type egress struct {
	policy    Policy
	resolver  Resolver
	dial      func(ctx context.Context, network, address string) (net.Conn, error)
	timeout   time.Duration // of a connection and its TLS handshake
	sessions  tls.ClientSessionCache
	transport *http.Transport
}

func newEgress(c Config) *egress {
	e := &egress{policy: c.Policy, resolver: c.Resolver, dial: c.Dial, timeout: c.Timeout,
		sessions: tls.NewLRUClientSessionCache(maxSessions)}
	if e.dial == nil {
		e.dial = (&net.Dialer{Control: e.control}).DialContext
	}
	e.transport = &http.Transport{
		DialTLSContext:         e.dialTLS,
		DisableCompression:     true, // the response is recorded as it was sent, and cannot expand
		MaxIdleConns:           c.MaxIdle,
		MaxIdleConnsPerHost:    c.MaxIdlePerDestination,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxResponseHeader,
		Protocols:              new(http.Protocols),
	}
	e.transport.Protocols.SetHTTP1(true)
	return e
}

// post resolves and checks the destination, and then sends one POST over a new connection or an idle one of an earlier
// delivery to the same name at the same addresses. The request is written at most once. Errors are
// [ErrUnsafeDestination], a *stageError, or the transport's own.
func (e *egress) post(ctx context.Context, d Destination, header http.Header, body []byte) (*http.Response, error) {
	targets, err := e.resolve(ctx, d)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.raw, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header
	request.Host = request.URL.Host
	request.URL.Host = poolKey(d.host, targets)
	return e.transport.RoundTrip(request)
}

// resolve returns the addresses of the destination, sorted and without duplicates. If any address is not allowed, the
// whole destination is rejected: a name with public and private addresses is an attack or a mistake.
func (e *egress) resolve(ctx context.Context, d Destination) ([]netip.AddrPort, error) {
	addrs := d.fixed
	if addrs == nil {
		var err error
		addrs, err = e.resolver.LookupNetIP(ctx, "ip", d.host)
		if err == nil && len(addrs) == 0 {
			err = errors.New("the name has no address")
		}
		if err != nil {
			return nil, &stageError{ClassDNS, err}
		}
	}
	targets := make([]netip.AddrPort, 0, len(addrs))
	for _, addr := range addrs {
		// net.Resolver returns IPv4 addresses in their mapped form; the connection uses IPv4.
		target := netip.AddrPortFrom(addr.Unmap(), d.port)
		if !e.policy.permits(target) { //planted:private-address-allowed
			return nil, ErrUnsafeDestination
		}
		targets = append(targets, target)
	}
	slices.SortFunc(targets, netip.AddrPort.Compare)
	targets = slices.Compact(targets)
	return targets[:min(len(targets), maxTargets)], nil
}

// poolKey encodes a destination and its checked addresses as the host of a URL: "[host,address,address]:port". The
// transport keeps idle connections under this key, so that it reuses one only while the name resolves to the same
// addresses. It also dials the addresses of the key, so that no name is resolved twice.
func poolKey(host string, targets []netip.AddrPort) string {
	var key strings.Builder
	key.WriteString("[" + host)
	for _, target := range targets {
		key.WriteString("," + target.Addr().String())
	}
	fmt.Fprintf(&key, "]:%d", targets[0].Port())
	return key.String()
}

// parsePoolKey parses the result of poolKey.
func parsePoolKey(key string) (host string, targets []netip.AddrPort, err error) {
	names, port, err := net.SplitHostPort(key)
	if err != nil {
		return "", nil, err
	}
	parts := strings.Split(names, ",")
	for _, part := range parts[1:] {
		target, err := netip.ParseAddrPort(net.JoinHostPort(part, port))
		if err != nil {
			return "", nil, err
		}
		targets = append(targets, target)
	}
	return parts[0], targets, nil
}

// dialTLS connects to an address of the key and verifies the certificate of its host.
func (e *egress) dialTLS(ctx context.Context, network, key string) (net.Conn, error) {
	host, targets, err := parsePoolKey(key)
	if err != nil {
		return nil, err
	}
	// The transport lets a dial outlive its request, so the dial needs a time-out of its own.
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	raw, err := e.connect(ctx, network, targets)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: host,
		RootCAs:    e.policy.RootCAs,
		NextProtos: []string{"http/1.1"},
		// A resumed session is of this host, whose certificate was verified and has not expired since.
		ClientSessionCache: e.sessions,
	})
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, &stageError{ClassTLS, errors.Join(err, raw.Close())}
	}
	return conn, nil
}

// connect tries the targets in turn. Each has an equal share of the time, so that an address that does not respond
// leaves time for the next.
func (e *egress) connect(ctx context.Context, network string, targets []netip.AddrPort) (net.Conn, error) {
	var failures []error
	for _, target := range targets {
		share, cancel := context.WithTimeout(ctx, e.timeout/time.Duration(len(targets)))
		conn, err := e.dial(share, network, target.String())
		cancel()
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
	}
	return nil, &stageError{ClassConnect, errors.Join(failures...)}
}

// control is the last check before a socket connects: no connection goes to an address that the policy does not permit,
// whatever the earlier steps did.
func (e *egress) control(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil || !e.policy.permits(target) {
		return ErrUnsafeDestination
	}
	return nil
}
