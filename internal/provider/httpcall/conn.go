package httpcall

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"quittance/internal/provider"
)

// writeTrackingConn is a connection that counts its writes, above TLS, so that it knows whether a request was begun.
// [provider.NotSent] is based on it: an error cannot tell whether bytes left before it, and net/http writes a request
// on a goroutine that may still run after the call has returned.
type writeTrackingConn struct {
	net.Conn

	mu     sync.Mutex
	writes int
	closed bool
}

var errCallOver = errors.New("the call that used this connection is over")

// Write counts the write before it happens, because a write that fails may have sent something.
func (c *writeTrackingConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return 0, errCallOver
	}
	c.writes++
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// writeCount returns the number of writes begun so far.
func (c *writeTrackingConn) writeCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes
}

// closeAndReport closes the connection for further writes and reports whether a write was begun after the first before
// writes.
func (c *writeTrackingConn) closeAndReport(before int) bool {
	c.mu.Lock()
	c.closed = true
	begun := c.writes > before
	c.mu.Unlock()
	// The connection is unusable either way, so an error from Close changes nothing.
	_ = c.Conn.Close()
	return begun
}

// stageError carries the class of a failure before the request was begun.
type stageError struct {
	class provider.ErrorClass
	err   error
}

func (e *stageError) Error() string { return string(e.class) + ": " + e.err.Error() }
func (e *stageError) Unwrap() error { return e.err }

// dialer opens connections that count their writes. net/http detaches a dial from the request that caused it, so the
// dialer has a time-out of its own.
type dialer struct {
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	timeout time.Duration
	tls     *tls.Config
}

// dialPlain opens a connection without TLS.
func (d dialer) dialPlain(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	conn, err := d.connect(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &writeTrackingConn{Conn: conn}, nil
}

// dialTLS opens a connection and performs the TLS handshake, which sends no byte of a request.
func (d dialer) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	conn, err := d.connect(ctx, network, address)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(conn, d.tls)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, &stageError{class: timeoutOr(provider.ClassTLS, err), err: errors.Join(err, conn.Close())}
	}
	return &writeTrackingConn{Conn: secured}, nil
}

func (d dialer) connect(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.dial(ctx, network, address)
	if err == nil {
		return conn, nil
	}
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return nil, &stageError{class: timeoutOr(provider.ClassDNS, err), err: err}
	}
	return nil, &stageError{class: timeoutOr(provider.ClassConnect, err), err: err}
}

// timeoutOr returns ClassTimeout if err is a time-out, and class otherwise.
func timeoutOr(class provider.ErrorClass, err error) provider.ErrorClass {
	var network net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout() {
		return provider.ClassTimeout
	}
	return class
}

// classifyError names the stage at which a call failed. ctx is the context of the call, including its time-out.
func classifyError(ctx context.Context, err error) provider.ErrorClass {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return provider.ClassCanceled
	case ctx.Err() != nil:
		return provider.ClassTimeout
	}
	if stage := (*stageError)(nil); errors.As(err, &stage) {
		return stage.class
	}
	return timeoutOr(provider.ClassProtocol, err)
}
