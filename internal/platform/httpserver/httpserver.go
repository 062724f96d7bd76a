// Package httpserver makes every HTTP server of the program: that of the API, of the operators' pages, of the metrics,
// and of the parties that a sandbox plays.
//
// Its invariant: no server is without a limit of its connections, in total and for each source, of the time in which a
// request must have arrived, of the size of its head, of the memory of a connection, and of the signatures that
// handshakes ask for. A server that strangers can reach can therefore use up neither the memory nor the files that the
// other servers of the process need. Nothing else in the program listens, which a test of the repository holds.
//
// Start reading at [Listen].
package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"

	"quittance/internal/platform/connlimit"
)

// The limits of a connection.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	// pacedWriteTimeout limits the responses that net/http writes by itself where the handler limits all others.
	pacedWriteTimeout = time.Minute
)

// The limits of an HTTP/2 connection. The buffers hold the data that no handler has read yet, so a connection uses at
// most 256 KiB, whatever its streams do.
const (
	maxStreams           = 100
	connectionBuffer     = 256 << 10
	streamBuffer         = 64 << 10
	pingAfter            = 30 * time.Second
	pingTimeout          = 15 * time.Second
	writeProgressTimeout = 30 * time.Second
)

// Config configures a [Server].
type Config struct {
	// Handler responds to the requests.
	Handler http.Handler
	// Connections are the limits of the connections, whose total is at least 1.
	Connections connlimit.Config
	// Timeout is how long a request and, after it, its response may take. It is 0 if the handler itself limits both, by a
	// minimum pace; then it limits only the head of a request.
	Timeout time.Duration
	// Certificate, if not nil, returns the certificate of a handshake: the server speaks TLS 1.2 or 1.3.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// HTTP2 offers HTTP/2 to clients that speak TLS.
	HTTP2 bool
	// Log receives, as warnings, what net/http has to say about connections.
	Log *slog.Logger
}

// Server is an HTTP server that listens.
type Server struct {
	http        *http.Server
	listener    net.Listener
	connections *connlimit.Limiter
}

// Listen returns a server that listens at a TCP address. It accepts connections when [Server.Serve] runs. net/http
// itself responds, in plain text, to requests that it cannot read.
func Listen(ctx context.Context, address string, config Config) (*Server, error) {
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	connections := connlimit.New(config.Connections)
	s := &Server{connections: connections, listener: connections.Listener(sendBuffers{listener}), http: &http.Server{
		Handler:           config.Handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       config.Timeout,
		WriteTimeout:      config.Timeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnState:         connections.ConnState,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: connectionBuffer,
			MaxReceiveBufferPerStream: streamBuffer, SendPingTimeout: pingAfter, PingTimeout: pingTimeout,
			WriteByteTimeout: writeProgressTimeout},
		// By default net/http answers "OPTIONS *" itself, and handlers have an answer of their own.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(config.Log.Handler(), slog.LevelWarn),
	}}
	if config.Timeout == 0 {
		s.http.WriteTimeout = pacedWriteTimeout
	}
	if config.Certificate != nil {
		signing := newHandshakeLimiter(max(1, runtime.GOMAXPROCS(0)/2)) // the other half of the processors is for requests
		protocols := []string{"http/1.1"}
		if config.HTTP2 {
			protocols = []string{"h2", "http/1.1"}
		}
		s.listener = tls.NewListener(s.listener, &tls.Config{GetCertificate: signing.limit(config.Certificate),
			MinVersion: tls.VersionTLS12,
			NextProtos: protocols})
	}
	return s, nil
}

// Address returns the address at which the server listens, with the port that the system chose for port 0.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

// Connections is how many connections are open.
func (s *Server) Connections() int { return s.connections.Open() }

// Serve responds to requests until the server is closed or shut down, and then returns [http.ErrServerClosed].
func (s *Server) Serve() error { return s.http.Serve(s.listener) }

// Shutdown is that of [http.Server]: it closes the listener and the idle connections, and waits for the others until
// ctx ends.
func (s *Server) Shutdown(ctx context.Context) error { return s.http.Shutdown(ctx) }

// Close closes the listener, even if [Server.Serve] has never run, and all connections. It may be called again.
func (s *Server) Close() error {
	err := s.http.Close()
	if closed := s.listener.Close(); closed != nil && !errors.Is(closed, net.ErrClosed) && err == nil {
		err = closed
	}
	return err
}

// sendBuffers bounds the send buffers of the connections it accepts. The kernel would let each grow to some megabytes,
// so that a few thousand clients that ask for much and read nothing would use up the memory it has for all connections.
type sendBuffers struct{ net.Listener }

// sendBuffer is the size in bytes of a send buffer. Linux doubles it. With a round trip of 100 ms it allows about 1
// MB/s.
const sendBuffer = 64 << 10

// Accept implements [net.Listener].
func (l sendBuffers) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBuffer) // it fails on a broken connection alone, whose first read fails, too
	}
	return conn, err
}
