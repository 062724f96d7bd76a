package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"time"
)

// Limits of an exchange.
const (
	exchangeTimeout = time.Minute
	maxResponse     = 16 << 20
	readBuffer      = 16 << 10
)

// clientConn is one client's connection: HTTP/1.1 with keep-alive, one request at a time. It sends prepared requests
// and reads no more of a response than necessary, because the load competes with the server for the CPU.
type clientConn struct {
	address string
	tls     *tls.Config // nil for plain HTTP
	now     func() time.Time

	conn   net.Conn
	reader *bufio.Reader
	body   []byte // of the last response; the next one overwrites it
}

// newClientConn returns a client of the server at base, an http or https URL. secure is the TLS configuration for
// https.
func newClientConn(base *url.URL, secure *tls.Config, now func() time.Time) *clientConn {
	w := &clientConn{address: base.Host, now: now}
	if base.Scheme == "https" {
		w.tls = secure.Clone()
		w.tls.ServerName = base.Hostname()
	}
	if base.Port() == "" {
		w.address = net.JoinHostPort(base.Hostname(), map[string]string{"http": "80", "https": "443"}[base.Scheme])
	}
	return w
}

// request returns the bytes of a request, for any number of exchanges.
func request(method string, base *url.URL, path, token string, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: quittance-bench\r\n", method, base.EscapedPath()+path,
		base.Host)
	if token != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", token)
	}
	if body != nil {
		fmt.Fprintf(&b, "Content-Type: application/json\r\n")
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return b.Bytes()
}

// statusError is an unexpected status of a response.
type statusError int

func (e statusError) Error() string { return "HTTP " + strconv.Itoa(int(e)) }

// errConnection reports a broken exchange. It has no details, so that all of them count as one kind.
var errConnection = errors.New("connection failed")

// expect makes an exchange and returns an error unless the response has the status.
func (w *clientConn) expect(ctx context.Context, status int, request []byte) error {
	got, err := w.exchange(ctx, request)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return errConnection
	case got != status:
		return statusError(got)
	}
	return nil
}

// exchange sends a request and reads the response. It never sends a request twice: a broken exchange has failed.
func (w *clientConn) exchange(ctx context.Context, request []byte) (status int, err error) {
	if w.conn == nil {
		if err := w.connect(ctx); err != nil {
			return 0, err
		}
	}
	keep := false
	defer func() {
		if err != nil || !keep {
			err = errors.Join(err, w.close())
		}
	}()
	if err := w.conn.SetDeadline(w.now().Add(exchangeTimeout)); err != nil {
		return 0, err
	}
	if _, err := w.conn.Write(request); err != nil {
		return 0, err
	}
	status, keep, err = w.readResponse()
	return status, err
}

func (w *clientConn) connect(ctx context.Context) (err error) {
	dialer := net.Dialer{Timeout: exchangeTimeout}
	if w.tls != nil {
		w.conn, err = (&tls.Dialer{NetDialer: &dialer, Config: w.tls}).DialContext(ctx, "tcp", w.address)
	} else {
		w.conn, err = dialer.DialContext(ctx, "tcp", w.address)
	}
	if err != nil {
		w.conn = nil
		return err
	}
	w.reader = bufio.NewReaderSize(w.conn, readBuffer)
	return nil
}

// close closes the connection; the next exchange opens another one.
func (w *clientConn) close() error {
	if w.conn == nil {
		return nil
	}
	err := w.conn.Close()
	w.conn = nil
	return err
}

// errResponse reports a response that this client does not understand.
var errResponse = errors.New("not an HTTP/1.1 answer within bounds")

// readResponse reads a response. keep tells whether the connection can be used again.
func (w *clientConn) readResponse() (status int, keep bool, err error) {
	line, err := w.reader.ReadSlice('\n')
	if err != nil {
		return 0, false, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, false, errResponse
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, false, errResponse
	}
	length, keep, err := w.readHeader()
	if err != nil {
		return 0, false, err
	}
	w.body = w.body[:0]
	if length >= 0 {
		return status, keep, w.readBody(length)
	}
	return status, keep, w.readChunks()
}

// readHeader reads the header: the length of the body, -1 for chunks, and whether the connection is kept.
func (w *clientConn) readHeader() (length int, keep bool, err error) {
	keep = true
	for {
		line, err := w.reader.ReadSlice('\n')
		if err != nil {
			return 0, false, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			return length, keep, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 {
				return 0, false, errResponse
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			length = -1
		case bytes.EqualFold(name, []byte("Connection")):
			keep = !bytes.EqualFold(value, []byte("close"))
		}
	}
}

// readBody appends bytes to the body.
func (w *clientConn) readBody(length int) error {
	at := len(w.body)
	if at+length > maxResponse {
		return errResponse
	}
	w.body = append(w.body, make([]byte, length)...)
	_, err := io.ReadFull(w.reader, w.body[at:])
	return err
}

// readChunks reads a chunked body and its trailer.
func (w *clientConn) readChunks() error {
	for {
		line, err := w.reader.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseUint(string(bytes.TrimRight(line, "\r\n")), 16, 31)
		if err != nil {
			return errResponse
		}
		if size == 0 {
			_, _, err := w.readHeader()
			return err
		}
		if err := w.readBody(int(size)); err != nil {
			return err
		}
		if _, err := w.reader.Discard(2); err != nil {
			return err
		}
	}
}
