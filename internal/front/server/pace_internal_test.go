package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quittance/internal/ledger/access"
)

// pacedServer is a server with a minimum rate, in a bubble of synctest: its connections are pipes without buffers, and
// time passes only while everybody waits.
type pacedServer struct {
	handler *Server
	// accepted are the connections for the server, and closed is closed when it takes no more.
	accepted chan net.Conn
	closed   chan struct{}
	close    sync.Once
	// ended receives the status of each request that has ended.
	ended chan int
}

// paced runs a test with a server that has a minimum rate and additional routes.
func paced(t *testing.T, least pace, test func(t *testing.T, s *pacedServer), more ...route) {
	t.Helper()
	running, _ := newTestServer(t, io.Discard, more...)
	handler, ok := running.Config.Handler.(*Server)
	if !ok {
		t.Fatal("another handler")
	}
	synctest.Test(t, func(t *testing.T) {
		quick := *handler
		s := &pacedServer{handler: &quick, accepted: make(chan net.Conn), closed: make(chan struct{}),
			ended: make(chan int, 10)}
		quick.pace = least
		quick.Observe = func(_, _ string, status int, _ time.Duration) { s.ended <- status }
		server := &http.Server{Handler: &quick, ReadHeaderTimeout: time.Minute}
		served := make(chan error, 1)
		go func() { served <- server.Serve(s) }()
		defer func() {
			_ = server.Close() // with every connection
			if err := <-served; !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		}()
		test(t, s)
	})
}

// Accept implements [net.Listener].
func (s *pacedServer) Accept() (net.Conn, error) {
	select {
	case conn := <-s.accepted:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (s *pacedServer) Close() error {
	s.close.Do(func() { close(s.closed) })
	return nil
}

// Addr implements [net.Listener].
func (s *pacedServer) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// atHome is the server's end of a pipe, which a client on this machine has made.
type atHome struct{ net.Conn }

// RemoteAddr implements [net.Conn].
func (atHome) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (s *pacedServer) dial(t *testing.T) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { _ = client.Close() })
	s.accepted <- atHome{server}
	return client
}

const slowLogin = "POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 30000\r\n\r\n{"

// TestSlowBodyIsRejected checks that a client that sends its body more slowly than the minimum rate gets 400 and loses
// the connection.
func TestSlowBodyIsRejected(t *testing.T) {
	paced(t, pace{grace: 10 * time.Second, rate: 1 << 20}, func(t *testing.T, s *pacedServer) {
		conn := s.dial(t)
		if _, err := io.WriteString(conn, slowLogin); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || response.StatusCode != http.StatusBadRequest || !response.Close {
			t.Fatalf("answered %+v %v, want 400 and the end", response, err)
		}
		if status := <-s.ended; status != http.StatusBadRequest {
			t.Errorf("ended with %d", status)
		}
	})
}

// TestBodyAtTheMinimumRateIsRead checks that a client that keeps the minimum rate may take many times the grace period.
func TestBodyAtTheMinimumRateIsRead(t *testing.T) {
	paced(t, pace{grace: 10 * time.Second, rate: 100}, func(t *testing.T, s *pacedServer) {
		conn := s.dial(t)
		write := func(text string) {
			t.Helper()
			if _, err := io.WriteString(conn, text); err != nil {
				t.Fatal(err)
			}
		}
		write(slowLogin)
		for range 30 {
			write(strings.Repeat(" ", 999))
			time.Sleep(9900 * time.Millisecond)
		}
		write(strings.Repeat(" ", 29))
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil || !strings.Contains(string(text), "column") {
			t.Errorf("answered %s %v, want the fault at the end of the body", text, err)
		}
	})
}

// TestHandlersHaveNoMinimumRate checks that the minimum rate applies to bodies and responses only: a handler may take
// longer, and its context is not canceled.
func TestHandlersHaveNoMinimumRate(t *testing.T) {
	const grace = 10 * time.Second
	paced(t, pace{grace: grace, rate: 1 << 20}, func(t *testing.T, s *pacedServer) {
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return s.dial(t),
				nil
		}}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport}
		for range 2 { // the second on the same connection
			response, err := client.Post("http://server/work", "application/json", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, response.Body); err != nil {
				t.Error(err)
			}
			if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("answered %d %v", response.StatusCode, err)
			}
		}
	}, route{method: http.MethodPost, path: "/work", needs: access.Public, operation: operation{
		serve: func(ctx context.Context, _ *call) (int, any, error) {
			select {
			case <-ctx.Done():
				return 0, nil, ctx.Err()
			case <-time.After(10 * grace):
				return http.StatusOK, map[string]any{}, nil
			}
		}}})
}

// TestSlowReaderIsDisconnected checks that a client that does not read its response loses the connection.
func TestSlowReaderIsDisconnected(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	paced(t, pace{grace: 10 * time.Second, rate: 1 << 30}, func(t *testing.T, s *pacedServer) {
		conn := s.dial(t)
		if _, err := io.WriteString(conn, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-s.ended // although the client has read nothing
		if got, err := io.Copy(io.Discard, conn); got > 0 {
			t.Errorf("the client got %d bytes of the response: %v", got, err)
		}
	}, route{method: http.MethodGet, path: "/large", needs: access.Public, operation: operation{
		serve: func(context.Context, *call) (int, any, error) { return http.StatusOK, large, nil }}})
}

// TestUnexpectedBodiesAreNotRead checks that the server does not wait for the body of a request that reads or deletes,
// if a client sends one, and closes the connection.
func TestUnexpectedBodiesAreNotRead(t *testing.T) {
	paced(t, defaultPace, testUnexpectedBodies, route{method: http.MethodDelete, path: "/thing", needs: access.Public,
		operation: withoutBody(func(*call, context.Context) (int, any, error) {
			return http.StatusOK, map[string]any{},
				nil
		})})
}

func testUnexpectedBodies(t *testing.T, s *pacedServer) {
	t.Helper()
	for _, request := range []string{"GET /healthz", "HEAD /healthz", "GET /nowhere", "DELETE /thing",
		"GET /api/v1/client/account", "DELETE /api/v1/client/account"} {
		for _, length := range []string{"Content-Length: 100000000000", "Transfer-Encoding: chunked", "Content-Length: 5"} {
			conn := s.dial(t)
			if _, err := io.WriteString(conn, request+
				" HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=x\r\n"+length+"\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			method, _, _ := strings.Cut(request, " ")
			reader := bufio.NewReader(conn)
			response, err := http.ReadResponse(reader, &http.Request{Method: method})
			if err != nil {
				t.Fatalf("%s with %s: %v", request, length, err)
			}
			<-s.ended
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
