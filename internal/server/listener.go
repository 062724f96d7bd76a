package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"

	"quittance/api"
)

// Listener returns a listener for [Server.HTTP] that keeps the promise of an envelope and a request id where the handler
// is never asked: net/http answers a request that it cannot read by itself, in plain text. With a certificate it speaks
// TLS; nil is for none. It speaks HTTP/1.1 alone, because net/http's HTTP/2 has such answers too, out of reach.
func (s *Server) Listener(inner net.Listener, certificate *tls.Certificate) net.Listener {
	if certificate != nil {
		inner = tls.NewListener(inner, &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	}
	return &listener{Listener: inner, server: s}
}

// connectionsPerRequest is how many connections may be open for each request that may be worked on.
const connectionsPerRequest = 8

type listener struct {
	net.Listener
	server *Server
	open   atomic.Int64
}

// Accept implements [net.Listener]. A connection beyond the bound is closed unheard: it may be TLS, and then nothing can be
// said before its handshake.
func (l *listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= int64(connectionsPerRequest*l.server.MaxRequests) {
			return &conn{Conn: inner, server: l.server, leave: sync.OnceFunc(func() { l.open.Add(-1) })}, nil
		}
		l.open.Add(-1)
		l.server.Observe("", "", http.StatusServiceUnavailable, 0)
		if err := inner.Close(); err != nil {
			l.server.Log.Debug("a connection too many", "error", err)
		}
	}
}

// conn replaces the answers that are net/http's own.
type conn struct {
	net.Conn
	server *Server
	// plain is the connection below TLS when what came was not TLS but HTTP.
	plain net.Conn
	// leave makes room for another connection.
	leave func()
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok && looksLikeHTTP(record.RecordHeader) {
		c.plain = record.Conn
	}
	return n, err
}

// looksLikeHTTP tells whether the first bytes of a connection are those of a request in plain HTTP.
func looksLikeHTTP(first [5]byte) bool {
	switch string(first[:]) {
	case "GET /", "HEAD ", "POST ", "PATCH", "PUT /", "DELET", "OPTIO":
		return true
	}
	return false
}

// CloseWrite lets net/http hang up without losing an answer that is still on its way.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Write implements [net.Conn].
func (c *conn) Write(p []byte) (int, error) {
	status, ok := ownAnswer(p)
	if !ok {
		return c.Conn.Write(p)
	}
	if err := c.refuse(status); err != nil {
		return 0, err
	}
	return len(p), nil
}

// ownAnswer recognises an answer that net/http has made by itself: the handler's bear a request id, and each has its
// whole head in the first write. Only refusals are such answers; 100 Continue stays what it is.
func ownAnswer(p []byte) (status int, ok bool) {
	if !bytes.HasPrefix(p, []byte("HTTP/1.")) {
		return 0, false
	}
	head, _, whole := bytes.Cut(p, []byte("\r\n\r\n"))
	if !whole || bytes.Contains(head, []byte("\r\n"+api.HeaderRequestID+": ")) {
		return 0, false
	}
	fields := bytes.SplitN(head, []byte(" "), 3)
	if len(fields) != 3 {
		return 0, false
	}
	status, err := strconv.Atoi(string(fields[1]))
	return status, err == nil && status >= http.StatusBadRequest
}

// refuse answers in net/http's place, with its status, and writes the line of the request into the log.
func (c *conn) refuse(status int) error {
	s, to, id := c.server, c.Conn, c.server.newRequestID()
	shown := errorBody(refuse(api.CodeMalformedRequest))
	if c.plain != nil {
		to, shown.Error.Message = c.plain, "This address speaks HTTPS."
	}
	body, err := json.Marshal(shown)
	if err != nil {
		return err
	}
	body = append(body, '\n')
	var answer bytes.Buffer
	answer.WriteString("HTTP/1.1 " + strconv.Itoa(status) + " " + http.StatusText(status) + "\r\n")
	header := http.Header{"Connection": {"close"}, "Content-Length": {strconv.Itoa(len(body))}, "Content-Type": {"application/json"},
		"Date": {s.Now().UTC().Format(http.TimeFormat)}}
	setCommon(header, id)
	if err := header.Write(&answer); err != nil {
		return err
	}
	answer.WriteString("\r\n")
	answer.Write(body)
	ctx := context.Background()
	if _, err := to.Write(answer.Bytes()); err != nil {
		s.Log.DebugContext(ctx, "the client did not take the answer", "error", err) // a failed TLS handshake ends here, too
		return err
	}
	s.Observe("", "", status, 0)
	s.Log.LogAttrs(ctx, slog.LevelInfo, "request", slog.String("request_id", id), slog.String("method", ""), slog.String("route", ""),
		slog.Int("status", status), slog.Int("bytes", len(body)), slog.Int64("duration_us", 0), slog.String("source", hostOf(c.RemoteAddr().String())),
		slog.String("code", string(api.CodeMalformedRequest)))
	return nil
}
