package server

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"time"

	"quittance/internal/connlimit"
)

// connectionsPerRequest is how many connections may be open for each request that may be worked on.
const connectionsPerRequest = 8

// One source may have a sixteenth of the connections when the configuration does not say, and as many as the browsers of a
// small office in any case.
const (
	sourcePart  = 16
	leastSource = 64
)

// The bounds of a connection. Bodies and answers have a least pace instead of a time.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 64 << 10
	// backstop is the time for what net/http writes by itself.
	backstop = 60 * time.Second
)

// The bounds of a connection that speaks HTTP/2. What is received and not yet read by a handler is within the buffers, so
// a connection holds 256 KiB at most, whatever its streams do.
const (
	maxStreams           = 100
	connectionBuffer     = 256 << 10
	streamBuffer         = 64 << 10
	pingAfter            = 30 * time.Second
	pingTimeout          = 15 * time.Second
	writeProgressTimeout = 30 * time.Second
)

// connectionBounds returns the bounds of the connections. Connections from trusted proxies are of many customers, so the
// bound per source does not hold for them.
func connectionBounds(config *Config) connlimit.Config {
	wanted, files := connectionsPerRequest*config.MaxRequests, connlimit.Files()
	total := connlimit.Within(wanted, files)
	if total < wanted {
		note := config.Log.Warn
		if config.Trial {
			note = config.Log.Info
		}
		note("the limit of open files bounds the connections", "files", files, "connections", total, "wanted", wanted)
	}
	perSource := config.ConnectionsPerSource
	if perSource == 0 {
		perSource = max(leastSource, total/sourcePart)
	}
	return connlimit.Config{Total: total, PerSource: perSource, Closed: config.ConnectionClosed,
		Exempt: func(address netip.Addr) bool { return trusted(config.TrustedProxies, address) }}
}

// Connections is how many connections are open.
func (s *Server) Connections() int { return s.connections.Open() }

// Listener returns a listener for [Server.HTTP], whose connections are bounded. With a certificate it speaks TLS, and
// HTTP/2 with clients that want it; nil is for plain HTTP/1.1. Requests that net/http cannot read it answers by itself, in
// plain text.
func (s *Server) Listener(inner net.Listener, certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) net.Listener {
	bounded := s.connections.Listener(sendBuffers{inner})
	if certificate == nil {
		return bounded
	}
	signing := newHandshakes(max(1, runtime.GOMAXPROCS(0)/2)) // half of the processors are for the requests
	return tls.NewListener(bounded, &tls.Config{GetCertificate: signing.bound(certificate), MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
}

// sendBuffers bounds the send buffers of the connections it accepts. The kernel would let each grow to some megabytes, so
// that a few thousand clients that ask for much and read nothing would use up the memory it has for all connections.
type sendBuffers struct{ net.Listener }

// sendBuffer is the size in bytes of a send buffer. Linux doubles it. With a round trip of 100 ms it allows about 1 MB/s.
const sendBuffer = 64 << 10

// Accept implements [net.Listener].
func (l sendBuffers) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBuffer) // it fails on a broken connection alone, whose first read fails, too
	}
	return conn, err
}

// HTTP returns an http.Server with this server's handler and bounds.
func (s *Server) HTTP() *http.Server {
	return &http.Server{
		Handler:           s,
		ReadHeaderTimeout: readHeaderTimeout,
		WriteTimeout:      backstop,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnState:         s.connections.ConnState,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: connectionBuffer, MaxReceiveBufferPerStream: streamBuffer,
			SendPingTimeout: pingAfter, PingTimeout: pingTimeout, WriteByteTimeout: writeProgressTimeout},
		// net/http would answer "OPTIONS *" by itself, without an envelope.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
}
