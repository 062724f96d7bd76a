package provider

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"

	"quittance/client/api"
)

// callSpec describes one request.
type callSpec struct {
	method      string
	path        string // escaped, below the base URL
	query       string
	contentType string // of the body
	key         string // Idempotency-Key; "" for none
	body        []byte // nil for a GET
	maxRetained int64  // bytes of the response body that are retained
	maxRead     int64  // bytes that are read for the digest; at least maxRetained
	// acceptsStatus reports whether a status makes a response [Complete].
	acceptsStatus func(status int) bool
	// refuses reports whether the provider's own description says that it sends this response only before it takes a
	// document; nil means that it says so of no status but those of [client].refusesUnread.
	refuses func(status int, body []byte) bool
	// saysUnknown reports whether a response says that the provider has no such document; nil means that none does.
	saysUnknown func(status int, body []byte) bool
}

// maxAttempts limits how often a call is tried on a connection that turns out to be dead before a byte is written.
const maxAttempts = 3

// do makes one call within the adapter's time-out.
func (c *client) do(ctx context.Context, call callSpec) Response {
	started := c.clock()
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	response := c.roundTrip(ctx, call)
	response.Duration = max(c.clock().Sub(started), 0)
	return response
}

// roundTrip sends the request and reads the response. It tries again only if certainly nothing was sent because an idle
// connection was dead.
func (c *client) roundTrip(ctx context.Context, call callSpec) Response {
	for attempt := 1; ; attempt++ {
		tracker := &connTracker{}
		request, err := c.newRequest(httptrace.WithClientTrace(ctx, tracker.trace()), call)
		if err != nil {
			return Response{Kind: NotSent, ErrorClass: ClassProtocol}
		}
		received, err := c.transport.RoundTrip(request)
		if err == nil {
			return c.readResponse(ctx, call, received)
		}
		if tracker.closeAndReport() {
			return Response{Kind: Ambiguous, ErrorClass: classifyError(ctx, err)}
		}
		if !tracker.reused || attempt == maxAttempts || ctx.Err() != nil {
			return Response{Kind: NotSent, ErrorClass: classifyError(ctx, err)}
		}
	}
}

// connTracker records the connections that net/http used for one request.
type connTracker struct {
	conns  []trackedConn
	reused bool
}

type trackedConn struct {
	conn         *writeTrackingConn
	writesBefore int
}

func (t *connTracker) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		// Every connection comes from the dialer. The writes of any other connection would not be counted, so the type
		// assertion panics in the first test.
		conn := info.Conn.(*writeTrackingConn)
		t.conns = append(t.conns, trackedConn{conn: conn, writesBefore: conn.writeCount()})
		t.reused = info.Reused
	}}
}

// closeAndReport closes the connections of a failed request and reports whether a byte of the request may have left.
func (t *connTracker) closeAndReport() bool {
	begun := false
	for _, used := range t.conns {
		if used.conn.closeAndReport(used.writesBefore) {
			begun = true
		}
	}
	return begun
}

func (c *client) newRequest(ctx context.Context, call callSpec) (*http.Request, error) {
	url := c.base + call.path
	if call.query != "" {
		url += "?" + call.query
	}
	var body io.Reader
	if call.body != nil {
		body = bytes.NewReader(call.body)
	}
	request, err := http.NewRequestWithContext(ctx, call.method, url, body)
	if err != nil {
		return nil, err
	}
	// Without GetBody, net/http cannot send a body a second time. Otherwise it would, because of the Idempotency-Key.
	request.GetBody = nil
	request.Header.Set(c.credentialHeader, c.credentialPrefix+c.credential.Reveal())
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "Quittance/1")
	if call.body != nil {
		request.Header.Set("Content-Type", call.contentType)
	}
	if call.key != "" {
		request.Header.Set("Idempotency-Key", call.key)
	}
	return request, nil
}

// readResponse reads an HTTP response and closes it.
func (c *client) readResponse(ctx context.Context, call callSpec, received *http.Response) Response {
	response := Response{
		HTTPStatus: received.StatusCode,
		MediaType:  mediaType(received.Header.Get("Content-Type")),
		RetryAfter: api.ParseRetryAfter(received.Header.Get("Retry-After"), c.clock(), MaxRetryAfter),
	}
	var failure error
	if received.StatusCode == http.StatusSwitchingProtocols {
		failure = io.ErrUnexpectedEOF // no switch was requested: what follows is not HTTP and is not read
		response.Truncated = true
	} else {
		failure = readBody(&response, received.Body, call)
	}
	// The needed part of the body was read, so an error from Close changes nothing.
	_ = received.Body.Close()
	response.Echoed = c.detectEcho([]byte(statusAndHeaders(received)), response.Truncated) ||
		c.detectEcho(response.Body, response.Truncated)
	response.Kind, response.ErrorClass = c.classifyResponse(call, received, response)
	if failure != nil {
		response.ErrorClass = classifyError(ctx, failure)
		if response.Kind != Refused {
			response.Kind = Ambiguous
		}
	}
	return response
}

// classifyResponse returns what the protocol says about a response whose body was read.
func (c *client) classifyResponse(call callSpec, received *http.Response, response Response) (Kind, ErrorClass) {
	status := received.StatusCode
	switch {
	case slices.Contains(c.refusesUnread, status):
		return Refused, ClassNone
	case call.refuses != nil && !response.Truncated && call.refuses(status, response.Body):
		return Refused, ClassNone
	case status >= 300 && status < 400:
		return Ambiguous, ClassRedirect
	case call.acceptsStatus(status) && isCompressed(received):
		return Ambiguous, ClassProtocol
	case call.acceptsStatus(status) && !response.Truncated:
		return Complete, ClassNone
	case call.acceptsStatus(status) && call.maxRead > call.maxRetained:
		return Complete, ClassTooLarge
	case response.Truncated:
		return Ambiguous, ClassTooLarge
	case call.saysUnknown != nil && call.saysUnknown(status, response.Body):
		return UnknownReference, ClassNone
	default:
		return Ambiguous, ClassNone
	}
}

// isCompressed reports whether a body is compressed although no encoding was requested. Its bytes are then not a
// document.
func isCompressed(received *http.Response) bool {
	encoding := received.Header.Get("Content-Encoding")
	return encoding != "" && !strings.EqualFold(encoding, "identity")
}

// readBody reads the body into the response, as far as call allows. The error is the connection's.
func readBody(response *Response, body io.Reader, call callSpec) error {
	digest := sha256.New()
	retained, err := io.ReadAll(io.TeeReader(io.LimitReader(body, call.maxRetained), digest))
	response.Body, response.Size = retained, int64(len(retained))
	if err != nil {
		response.Truncated = true
		return err
	}
	rest, ended, err := digestRest(digest, body, max(call.maxRead-call.maxRetained, 0), response.Size == call.maxRetained)
	response.Size += rest
	response.Truncated = rest > 0 || !ended
	if ended {
		response.SHA256 = hex.EncodeToString(digest.Sum(nil))
	}
	if response.Truncated && call.maxRead > call.maxRetained {
		response.Body = nil
	}
	return err
}

// digestRest reads at most limit more bytes into the digest, and reports whether the end of the body was seen. full
// says that the body filled the retained part; otherwise there is nothing left to read.
func digestRest(digest hash.Hash, body io.Reader, limit int64, full bool) (read int64, ended bool, err error) {
	if !full {
		return 0, true, nil
	}
	if read, err = io.Copy(digest, io.LimitReader(body, limit)); err != nil {
		return read, false, err
	}
	if read < limit {
		return read, true, nil
	}
	var one [1]byte
	_, err = io.ReadFull(body, one[:])
	if errors.Is(err, io.EOF) {
		return read, true, nil
	}
	return read, false, err
}

// mediaType returns a Content-Type if it is safe to keep, and "" otherwise.
func mediaType(value string) string {
	visible := func(r rune) bool { return r >= ' ' && r <= '~' }
	if len(value) > 255 || strings.ContainsFunc(value, func(r rune) bool { return !visible(r) }) {
		return ""
	}
	return value
}
