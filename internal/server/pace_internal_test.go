package server

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"quittance/internal/access"
)

// newPacedServer starts a server with a minimum rate and additional routes. The channel receives the status of each request
// that has ended.
func newPacedServer(t *testing.T, least pace, more ...route) (address string, ended chan int) {
	t.Helper()
	running, _ := newTestServer(t, io.Discard, more...)
	s, ok := running.Config.Handler.(*Server)
	if !ok {
		t.Fatal("another handler")
	}
	quick := *s
	quick.pace, ended = least, make(chan int, 10)
	quick.Observe = func(_, _ string, status int, _ time.Duration) { ended <- status }
	server := httptest.NewServer(&quick)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), ended
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

const slowLogin = "POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 30000\r\n\r\n{"

// TestSlowBodyIsRejected checks that a client that sends its body more slowly than the minimum rate gets 400 and loses
// the connection.
func TestSlowBodyIsRejected(t *testing.T) {
	address, ended := newPacedServer(t, pace{grace: 50 * time.Millisecond, rate: 1 << 20})
	conn := dial(t, address)
	if _, err := io.WriteString(conn, slowLogin); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.StatusCode != http.StatusBadRequest || !response.Close {
		t.Fatalf("answered %+v %v, want 400 and the end", response, err)
	}
	if status := <-ended; status != http.StatusBadRequest {
		t.Errorf("ended with %d", status)
	}
}

// TestBodyAtTheMinimumRateIsRead checks that a client that keeps the minimum rate may take many times the grace period.
func TestBodyAtTheMinimumRateIsRead(t *testing.T) {
	address, _ := newPacedServer(t, pace{grace: 50 * time.Millisecond, rate: 100})
	conn := dial(t, address)
	begin := slowLogin // in one write with the first bytes of the body, which earn more time than any pause of this machine takes
	for range 30 {
		if _, err := io.WriteString(conn, begin+strings.Repeat(" ", 999)); err != nil {
			t.Fatal(err)
		}
		begin = ""
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := io.WriteString(conn, strings.Repeat(" ", 29)); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(text), "column") {
		t.Errorf("answered %s %v, want the fault at the end of the body", text, err)
	}
}

// TestHandlersHaveNoMinimumRate checks that the minimum rate applies to bodies and responses only: a handler may take
// longer, and its context is not canceled.
func TestHandlersHaveNoMinimumRate(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	const grace = 2 * time.Second
	address, _ := newPacedServer(t, pace{grace: grace, rate: 1 << 20}, route{method: http.MethodPost, path: "/work", needs: access.Public, operation: operation{
		serve: func(ctx context.Context, _ *call) (int, any, error) {
			select {
			case <-ctx.Done():
				return 0, nil, ctx.Err()
			case <-time.After(2 * grace):
				return http.StatusOK, map[string]any{}, nil
			}
		}}})
	for range 2 { // the second on the same connection
		response, err := http.Post("http://"+address+"/work", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("answered %d %v", response.StatusCode, err)
		}
	}
}

// TestSlowReaderIsDisconnected checks that a client that does not read its response loses the connection.
func TestSlowReaderIsDisconnected(t *testing.T) {
	large := strings.Repeat("x", 64<<20)
	address, ended := newPacedServer(t, pace{grace: 50 * time.Millisecond, rate: 1 << 30}, route{method: http.MethodGet, path: "/large", needs: access.Public, operation: operation{
		serve: func(context.Context, *call) (int, any, error) { return http.StatusOK, large, nil }}})
	conn := dial(t, address)
	if _, err := io.WriteString(conn, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-ended // although the client has read nothing
	got, err := io.Copy(io.Discard, conn)
	if got >= int64(len(large)) {
		t.Errorf("the client got %d bytes of the response: %v", got, err)
	}
}

// TestUnexpectedBodiesAreNotRead checks that the server does not wait for the body of a request that reads or deletes,
// if a client sends one, and closes the connection.
func TestUnexpectedBodiesAreNotRead(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	address, ended := newPacedServer(t, defaultPace, route{method: http.MethodDelete, path: "/thing", needs: access.Public, operation: withoutBody(func(*call, context.Context) (int, any, error) {
		return http.StatusOK, map[string]any{}, nil
	})})
	for _, request := range []string{"GET /healthz", "HEAD /healthz", "GET /nowhere", "DELETE /thing", "GET /api/v1/client/account", "DELETE /api/v1/client/account"} {
		for _, length := range []string{"Content-Length: 100000000000", "Transfer-Encoding: chunked", "Content-Length: 5"} {
			conn := dial(t, address)
			if _, err := io.WriteString(conn, request+" HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=x\r\n"+length+"\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			method, _, _ := strings.Cut(request, " ")
			reader := bufio.NewReader(conn)
			response, err := http.ReadResponse(reader, &http.Request{Method: method})
			if err != nil {
				t.Fatalf("%s with %s: %v", request, length, err)
			}
			<-ended
			if !response.Close {
				t.Errorf("%s with %s: the connection stays open", request, length)
			}
			if _, err := io.Copy(io.Discard, response.Body); err != nil {
				t.Errorf("%s with %s: %v", request, length, err)
			}
			if rest, err := io.ReadAll(reader); len(rest) > 0 {
				t.Errorf("%s with %s: %q %v after the response", request, length, rest, err)
			}
		}
	}
}
