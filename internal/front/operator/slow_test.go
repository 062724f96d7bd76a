package operator

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// TestSlowFormsKeepNoPlace checks that forms that never arrive keep nobody else from the pages, however many of them
// there are. The server says with its status 100 that it waits for the rest of each.
func TestSlowFormsKeepNoPlace(t *testing.T) {
	s := newSystem(t, ledgertest.Engines()[0])
	address := strings.TrimPrefix(s.base[0], "http://")
	for range 2 * maxRequests {
		conn, err := net.Dial("tcp", address)
		kit.Must(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "POST /login HTTP/1.1\r\nHost: "+address+
			"\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n")
		kit.Must(t, err)
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
			t.Fatalf("the server does not read the form: %q %v", line, err)
		}
	}
	if got := s.visitor(t).do(0, http.MethodGet, "/login", nil); got.status != http.StatusOK {
		t.Errorf("status %d, want 200", got.status)
	}
}
