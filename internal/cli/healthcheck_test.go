package cli

import "testing"

// TestLocalAddress: a server that listens on all addresses is reached on the loopback address of its family.
func TestLocalAddress(t *testing.T) {
	for listen, want := range map[string]string{":8080": "127.0.0.1:8080", "0.0.0.0:80": "127.0.0.1:80",
		"[::]:80": "[::1]:80", "[::1]:80": "[::1]:80", "localhost:80": "localhost:80", "10.1.2.3:80": "10.1.2.3:80"} {
		if got, err := localAddress(listen); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", listen, got, err, want)
		}
	}
	if got, err := localAddress("8080"); err == nil {
		t.Errorf("an address without a port: %s", got)
	}
}
