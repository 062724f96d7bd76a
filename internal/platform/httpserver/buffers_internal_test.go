package httpserver

import (
	"net"
	"testing"
	"time"
)

// TestSendBufferIsBounded checks that a client that reads nothing occupies little memory of the kernel.
func TestSendBufferIsBounded(t *testing.T) {
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	conn, err := sendBuffers{inner}.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(2 * time.Second)); err != nil {
		t.Fatal(err)
	}
	const most = 512 << 10 // twice the send buffer, and what the client's kernel has received
	written, err := conn.Write(make([]byte, 16<<20))
	if err == nil || written > most {
		t.Errorf("%d bytes were written to a client that reads nothing (%v), want at most %d", written, err, most)
	}
}
