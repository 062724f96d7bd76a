package provider

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// gate is a connection that knows, above TLS, whether a request was begun on it. It is what [NotSent] stands on: an
// error cannot tell whether bytes left before it, and net/http writes a request on a goroutine that may still run
// when the call has returned.
type gate struct {
	net.Conn

	mu     sync.Mutex
	writes int
	shut   bool
}

var errShut = errors.New("the call that used this connection is over")

// Write counts the write before it happens: a write that fails may have sent something.
func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	if g.shut {
		g.mu.Unlock()
		return 0, errShut
	}
	g.writes++
	g.mu.Unlock()
	return g.Conn.Write(p)
}

// mark returns the number of writes begun so far.
func (g *gate) mark() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.writes
}

// shutSince lets nothing more be written and tells whether a write was begun after mark.
func (g *gate) shutSince(mark int) bool {
	g.mu.Lock()
	g.shut = true
	begun := g.writes > mark
	g.mu.Unlock()
	// The connection is lost either way; a failure to close it leaves nothing to do.
	_ = g.Conn.Close()
	return begun
}

// stageError carries the class of a failure before the request was begun.
type stageError struct {
	class ErrorClass
	err   error
}

func (e *stageError) Error() string { return string(e.class) + ": " + e.err.Error() }
func (e *stageError) Unwrap() error { return e.err }

// dialer opens gated connections. net/http detaches a dial from the request that asked for it, so the time-out is the
// dialer's own.
type dialer struct {
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	timeout time.Duration
	tls     *tls.Config
}

// plain opens a connection without TLS.
func (d dialer) plain(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	conn, err := d.connect(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &gate{Conn: conn}, nil
}

// secure opens a connection and makes the TLS handshake, which sends no byte of a request.
func (d dialer) secure(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	conn, err := d.connect(ctx, network, address)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(conn, d.tls)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, &stageError{class: timeoutOr(ClassTLS, err), err: errors.Join(err, conn.Close())}
	}
	return &gate{Conn: secured}, nil
}

func (d dialer) connect(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.dial(ctx, network, address)
	if err == nil {
		return conn, nil
	}
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return nil, &stageError{class: timeoutOr(ClassDNS, err), err: err}
	}
	return nil, &stageError{class: timeoutOr(ClassConnect, err), err: err}
}

// timeoutOr is the class of err: a time-out, or else class.
func timeoutOr(class ErrorClass, err error) ErrorClass {
	var network net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout() {
		return ClassTimeout
	}
	return class
}

// classify names the stage at which a call failed. ctx is the call's own context, time-out included.
func classify(ctx context.Context, err error) ErrorClass {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ClassCanceled
	case ctx.Err() != nil:
		return ClassTimeout
	}
	if stage := (*stageError)(nil); errors.As(err, &stage) {
		return stage.class
	}
	return timeoutOr(ClassProtocol, err)
}
