//go:build unix

package mail

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"
)

// TestAttemptIsBoundedAsAWhole checks that one bound holds for the connection and the dialogue together: a relay that
// is late with both must not hold a mail longer than its lease.
func TestAttemptIsBoundedAsAWhole(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"late with the connection": full(t),
		"late with the greeting": hostile(t, silent)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			r, began := relayAt(t, address), time.Now()
			err := r.Test(ctx, "ann@example.com", began)
			if err == nil {
				t.Fatal("the message was sent")
			}
			if took := time.Since(began); took > sendTimeout/2 {
				t.Errorf("the attempt took %v", took)
			}
			if reason, final := reasonOf(err); reason != reasonUnreachable || final {
				t.Errorf("%v: %s, final %v", err, reason, final)
			}
		})
	}
}

// full returns the address of a listener that accepts nothing and has no room for another connection.
func full(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	raw, err := listener.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var listening error
	if err := errors.Join(raw.Control(func(fd uintptr) { listening = syscall.Listen(int(fd), 0) }),
		listening); err != nil {
		t.Fatal(err)
	}
	for {
		waiting, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			return listener.Addr().String()
		}
		t.Cleanup(func() { _ = waiting.Close() })
	}
}
