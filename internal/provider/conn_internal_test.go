package provider

import (
	"errors"
	"io"
	"net"
	"testing"
)

func TestAShutGateLetsNothingPass(t *testing.T) {
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
		g := &gate{Conn: near}
		if _, err := g.Write([]byte("before ")); err != nil {
			t.Fatal(err)
		}
		mark, want := g.mark(), "before "
		if begun {
			if _, err := g.Write([]byte("begun")); err != nil {
				t.Fatal(err)
			}
			want += "begun"
		}
		if got := g.shutSince(mark); got != begun {
			t.Errorf("begun %v, said %v", begun, got)
		}
		if n, err := g.Write([]byte("late")); n != 0 || !errors.Is(err, errShut) {
			t.Errorf("a late write: %d, %v", n, err)
		}
		if text := string(<-arrived); text != want {
			t.Errorf("arrived %q, want %q", text, want)
		}
	}
}

func TestAWriteThatFailsCounts(t *testing.T) {
	near, far := net.Pipe()
	far.Close()
	g := &gate{Conn: near}
	if _, err := g.Write([]byte("x")); err == nil {
		t.Fatal("written to nobody")
	}
	if !g.shutSince(0) {
		t.Error("a failed write may have sent something")
	}
}
