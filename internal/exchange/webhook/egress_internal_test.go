package webhook

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// TestControlRejectsUnsafeAddresses checks that the check at the socket works by itself, in case an earlier step lets
// an unsafe address through.
func TestControlRejectsUnsafeAddresses(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	addr := listener.Addr().(*net.TCPAddr).AddrPort()
	e := newEgress(Config{Timeout: time.Minute})
	conn, err := e.dialTLS(t.Context(), "tcp", poolKey("hooks.example.com", []netip.AddrPort{addr}))
	if conn != nil || !errors.Is(err, ErrUnsafeDestination) {
		t.Errorf("connection %v, error %v; want none and ErrUnsafeDestination", conn, err)
	}
	if err := e.control("tcp", "not an address", nil); !errors.Is(err, ErrUnsafeDestination) {
		t.Errorf("error %v, want ErrUnsafeDestination", err)
	}
}

// nameRecorder is a resolver that only records the names.
type nameRecorder struct{ asked string }

func (r *nameRecorder) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	r.asked = network + " " + host
	return nil, nil
}

func TestSystemResolverLooksUpAbsoluteNames(t *testing.T) {
	var recorder nameRecorder
	if _, err := (absoluteResolver{&recorder}).LookupNetIP(t.Context(), "ip", "hooks.example.com"); err != nil ||
		recorder.asked != "ip hooks.example.com." {
		t.Errorf("asked %q, error %v", recorder.asked, err)
	}
}

func TestPoolKeyHasHostAndAddresses(t *testing.T) {
	for _, c := range []struct {
		host    string
		targets []string
		key     string
	}{
		{"hooks.example.com", []string{"8.8.8.8:443"}, "[hooks.example.com,8.8.8.8]:443"},
		{"hooks.example.com", []string{"8.8.8.8:8443", "[2606:4700::1]:8443"},
			"[hooks.example.com,8.8.8.8,2606:4700::1]:8443"},
		{"2606:4700::1", []string{"[2606:4700::1]:1"}, "[2606:4700::1,2606:4700::1]:1"},
	} {
		var targets []netip.AddrPort
		for _, text := range c.targets {
			targets = append(targets, netip.MustParseAddrPort(text))
		}
		key := poolKey(c.host, targets)
		if key != c.key {
			t.Errorf("key %q, want %q", key, c.key)
		}
		host, back, err := parsePoolKey(key)
		if err != nil || host != c.host || !slices.Equal(back, targets) {
			t.Errorf("%q is split into %q, %v, %v", key, host, back, err)
		}
	}
	for _, key := range []string{"hooks.example.com", "[hooks.example.com,8.8.8]:443",
		"[hooks.example.com,8.8.8.8]:65536"} {
		if _, _, err := parsePoolKey(key); err == nil {
			t.Errorf("%q can be split", key)
		}
	}
}
