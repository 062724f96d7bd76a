package bench

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func parse(t *testing.T, address string) *url.URL {
	t.Helper()
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// The client reads every form of response that Go's server sends, and keeps its connection as long as the server does.
func TestWireReadsResponses(t *testing.T) {
	long := strings.Repeat("0123456789", 100_000)
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		switch r.URL.Path {
		case "/prefix/echo":
			w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(r.Method + " " + r.Header.Get("Authorization") + " " + string(body)))
		case "/prefix/chunks":
			for part := range strings.SplitSeq("one two three", " ") {
				_, _ = w.Write([]byte(part))
				w.(http.Flusher).Flush()
			}
		case "/prefix/long":
			_, _ = w.Write([]byte(long))
		case "/prefix/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/prefix/last":
			w.Header().Set("Connection", "close")
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	defer server.Close()
	base := parse(t, server.URL+"/prefix")
	given := Given{Roots: x509.NewCertPool()}
	given.Roots.AddCert(server.Certificate())
	w := newClientConn(base, given.secure(), time.Now)
	defer func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range []struct {
		request     []byte
		status      int
		body        string
		connections int64
	}{
		{request("POST", base, "/echo", "token", []byte("{}")), 201, "POST Bearer token {}", 1},
		{request("GET", base, "/echo", "", nil), 201, "GET  ", 1},
		{request("GET", base, "/chunks", "", nil), 200, "onetwothree", 1},
		{request("GET", base, "/long", "", nil), 200, long, 1},
		{request("GET", base, "/empty", "", nil), 204, "", 1},
		{request("GET", base, "/last", "", nil), 200, "", 1},
		{request("GET", base, "/echo", "", nil), 201, "GET  ", 2},
	} {
		status, err := w.exchange(t.Context(), c.request)
		if err != nil || status != c.status || string(w.body) != c.body || connections.Load() != c.connections {
			t.Errorf("%.30q: %d %.50q over %d connections, %v", c.request, status, w.body, connections.Load(), err)
		}
	}
	if err := w.expect(t.Context(), 200, request("GET", base, "/echo", "", nil)); err == nil || err.Error() != "HTTP 201" {
		t.Errorf("an answer that was not wanted is %v", err)
	}
	if err := newClientConn(base, (&Given{}).secure(), time.Now).expect(t.Context(),
		200, request("GET", base, "/empty", "", nil)); !errors.Is(err, errConnection) {
		t.Errorf("a server that nobody vouches for: %v", err)
	}
}

// A malformed response ends the exchange, not the client.
func TestWireRefusesNonResponses(t *testing.T) {
	for _, response := range []string{
		"", "HTTP/1.1 2", "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 two OK\r\nContent-Length: 0\r\n\r\n",
		"SSH-2.0-OpenSSH_9.2 and more\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 9999999999999\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfour",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", readBuffer) + "\r\n\r\n",
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			conn, err := listener.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			// A client that rejects what it is still receiving resets the connection. The error that this end sees does
			// not matter.
			_, _ = io.WriteString(conn, response)
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn) // until the client ends it
		}()
		base := &url.URL{Scheme: "http", Host: listener.Addr().String()}
		w := newClientConn(base, nil, time.Now)
		if status, err := w.exchange(t.Context(), request("GET", base, "/", "", nil)); err == nil || w.conn != nil {
			t.Errorf("%.60q was read as %d, %v", response, status, err)
		}
		<-ended
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	base := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	if err := newClientConn(base, nil, time.Now).expect(ctx, 200, request("GET", base, "/", "", nil)); !errors.Is(err,
		context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// Only the digits of a template change.
func TestTemplateChangesItsNumber(t *testing.T) {
	body, err := draftBody("T-", 2, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	made, err := newTemplate(body, "T-")
	if err != nil {
		t.Fatal(err)
	}
	for number, text := range map[int64]string{0: "T-000000000000", 7: "T-000000000007", 123456789012: "T-123456789012"} {
		want := strings.Replace(string(body), "T-000000000000", text, 1)
		if got := string(made.with(number)); got != want {
			t.Errorf("%d: %s", number, got)
		}
	}
	if _, err := newTemplate(body, "U-"); !errors.Is(err, errTemplate) {
		t.Errorf("a template without its number: %v", err)
	}
}
