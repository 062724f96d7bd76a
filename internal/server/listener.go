package server

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"time"

	"quittance/internal/connlimit"
	"quittance/internal/source"
)

// connectionsPerRequest is the ratio of open connections to concurrent requests.
const connectionsPerRequest = 8

// By default one source may have a sixteenth of the connections, and at least as many as the browsers of a small office need.
const (
	sourcePart  = 16
	leastSource = 64
)

// The limits of a connection. Bodies and responses have a minimum pace instead of a time-out.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 64 << 10
	// writeTimeout limits the responses that net/http writes by itself.
	writeTimeout = 60 * time.Second
)

// The limits of an HTTP/2 connection. The buffers hold the data that no handler has read yet, so a connection uses at most
// 256 KiB, whatever its streams do.
const (
	maxStreams           = 100
	connectionBuffer     = 256 << 10
	streamBuffer         = 64 << 10
	pingAfter            = 30 * time.Second
	pingTimeout          = 15 * time.Second
	writeProgressTimeout = 30 * time.Second
)

// connectionLimits returns the limits of the connections. Connections from trusted proxies serve many customers, so the limit
// per source does not apply to them.
func connectionLimits(config *Config) connlimit.Config {
	wanted, files := connectionsPerRequest*config.MaxRequests, connlimit.Files()
	total := connlimit.Within(wanted, files)
	if total < wanted {
		level := slog.LevelWarn
		if config.Trial {
			level = slog.LevelInfo
		}
		config.Log.Log(context.Background(), level, "the limit of open files bounds the connections", "files", files, "connections", total, "wanted", wanted)
	}
	perSource := config.ConnectionsPerSource
	if perSource == 0 {
		perSource = max(leastSource, total/sourcePart)
	}
	return connlimit.Config{Total: total, PerSource: perSource, Closed: config.ConnectionClosed,
		Exempt: func(address netip.Addr) bool { return source.Within(address, config.TrustedProxies) }}
}

// Connections is how many connections are open.
func (s *Server) Connections() int { return s.connections.Open() }

// Listener returns a listener for [Server.HTTP], whose connections are bounded. With a certificate it speaks TLS, and
// HTTP/2 with clients that support it; without one, it speaks plain HTTP/1.1. net/http itself responds, in plain text, to
// requests that it cannot read.
func (s *Server) Listener(inner net.Listener, certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) net.Listener {
	bounded := s.connections.Listener(sendBuffers{inner})
	if certificate == nil {
		return bounded
	}
	signing := newHandshakeLimiter(max(1, runtime.GOMAXPROCS(0)/2)) // the other half of the processors is for requests
	return tls.NewListener(bounded, &tls.Config{GetCertificate: signing.limit(certificate), MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
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
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnState:         s.connections.ConnState,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: connectionBuffer, MaxReceiveBufferPerStream: streamBuffer,
			SendPingTimeout: pingAfter, PingTimeout: pingTimeout, WriteByteTimeout: writeProgressTimeout},
		// By default net/http answers "OPTIONS *" itself, without an envelope.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
}
