package httpcall

import (
	"errors"
	"io"
	"net"
	"testing"
)

// TestNothingIsWrittenAfterClose checks that closeAndReport stops later writes, and reports exactly whether a write was
// begun since the count.
func TestNothingIsWrittenAfterClose(t *testing.T) {
	for _, begun := range []bool{false, true} {
		near, far := net.Pipe()
		arrived := make(chan []byte, 1)
		go func() {
			text, err := io.ReadAll(far)
			if err != nil {
				t.Error(err)
			}
			arrived <- text
		}()
		c := &writeTrackingConn{Conn: near}
		if _, err := c.Write([]byte("before ")); err != nil {
			t.Fatal(err)
		}
		before, want := c.writeCount(), "before "
		if begun {
			if _, err := c.Write([]byte("begun")); err != nil {
				t.Fatal(err)
			}
			want += "begun"
		}
		if got := c.closeAndReport(before); got != begun {
			t.Errorf("begun %v, reported %v", begun, got)
		}
		if n, err := c.Write([]byte("late")); n != 0 || !errors.Is(err, errCallOver) {
			t.Errorf("a late write: %d, %v", n, err)
		}
		if text := string(<-arrived); text != want {
			t.Errorf("received %q, want %q", text, want)
		}
	}
}

// TestAFailedWriteCounts checks that a write that fails counts as begun, because it may have sent something.
func TestAFailedWriteCounts(t *testing.T) {
	near, far := net.Pipe()
	far.Close()
	c := &writeTrackingConn{Conn: near}
	if _, err := c.Write([]byte("x")); err == nil {
		t.Fatal("a write to a closed pipe succeeded")
	}
	if !c.closeAndReport(0) {
		t.Error("a failed write may have sent something")
	}
}
