// Package httpcall makes one call to a provider over HTTP, and says for certain whether a byte of it may have left. It
// also reads the parts of JSON that adapters need, however the rest looks.
//
// Start reading at [Client.Do].
package httpcall

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
	"quittance/internal/provider"
)

// Spec describes one request.
type Spec struct {
	Method      string
	Path        string // escaped, below the base URL
	Query       string
	ContentType string // of the body
	Key         string // Idempotency-Key; "" for none
	Body        []byte // nil for a GET
	MaxRetained int64  // bytes of the response body that are retained
	MaxRead     int64  // bytes that are read for the digest; at least maxRetained
	// AcceptsStatus reports whether a status makes a response [provider.Complete].
	AcceptsStatus func(status int) bool
	// Refuses reports whether the provider's own description says that it sends this response only before it takes a
	// document; nil means that it says so of no status but those of [Client].refusesUnread.
	Refuses func(status int, body []byte) bool
	// SaysUnknown reports whether a response says that the provider has no such document; nil means that none does.
	SaysUnknown func(status int, body []byte) bool
}

// maxAttempts limits how often a call is tried on a connection that turns out to be dead before a byte is written.
const maxAttempts = 3

// Do makes one call within the adapter's time-out.
func (c *Client) Do(ctx context.Context, call Spec) provider.Response {
	started := c.clock()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	response := c.roundTrip(ctx, call)
	response.Duration = max(c.clock().Sub(started), 0)
	return response
}

// roundTrip sends the request and reads the response. It tries again only if certainly nothing was sent because an idle
// connection was dead.
func (c *Client) roundTrip(ctx context.Context, call Spec) provider.Response {
	for attempt := 1; ; attempt++ {
		tracker := &connTracker{}
		request, err := c.newRequest(httptrace.WithClientTrace(ctx, tracker.trace()), call)
		if err != nil {
			return provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassProtocol}
		}
		received, err := c.transport.RoundTrip(request)
		if err == nil {
			return c.readResponse(ctx, call, received)
		}
		if tracker.closeAndReport() {
			return provider.Response{Kind: provider.Ambiguous, ErrorClass: classifyError(ctx, err)}
		}
		if !tracker.reused || attempt == maxAttempts || ctx.Err() != nil {
			return provider.Response{Kind: provider.NotSent, ErrorClass: classifyError(ctx, err)}
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

func (c *Client) newRequest(ctx context.Context, call Spec) (*http.Request, error) {
	url := c.base + call.Path
	if call.Query != "" {
		url += "?" + call.Query
	}
	var body io.Reader
	if call.Body != nil {
		body = bytes.NewReader(call.Body)
	}
	request, err := http.NewRequestWithContext(ctx, call.Method, url, body)
	if err != nil {
		return nil, err
	}
	// Without GetBody, net/http cannot send a body a second time. Otherwise it would, because of the Idempotency-Key.
	request.GetBody = nil
	request.Header.Set(c.credentialHeader, c.credentialPrefix+c.credential.Reveal())
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "Quittance/1")
	if call.Body != nil {
		request.Header.Set("Content-Type", call.ContentType)
	}
	if call.Key != "" {
		request.Header.Set("Idempotency-Key", call.Key)
	}
	return request, nil
}

// readResponse reads an HTTP response and closes it.
func (c *Client) readResponse(ctx context.Context, call Spec, received *http.Response) provider.Response {
	response := provider.Response{
		HTTPStatus: received.StatusCode,
		MediaType:  mediaType(received.Header.Get("Content-Type")),
		RetryAfter: api.ParseRetryAfter(received.Header.Get("Retry-After"), c.clock(), provider.MaxRetryAfter),
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
		if response.Kind != provider.Refused {
			response.Kind = provider.Ambiguous
		}
	}
	return response
}

// classifyResponse returns what the protocol says about a response whose body was read.
func (c *Client) classifyResponse(
	call Spec,
	received *http.Response,
	response provider.Response,
) (provider.Kind, provider.ErrorClass) {
	status := received.StatusCode
	switch {
	case slices.Contains(c.refusesUnread, status):
		return provider.Refused, provider.ClassNone
	case call.Refuses != nil && !response.Truncated && call.Refuses(status, response.Body):
		return provider.Refused, provider.ClassNone
	case status >= 300 && status < 400:
		return provider.Ambiguous, provider.ClassRedirect
	case call.AcceptsStatus(status) && isCompressed(received):
		return provider.Ambiguous, provider.ClassProtocol
	case call.AcceptsStatus(status) && !response.Truncated:
		return provider.Complete, provider.ClassNone
	case call.AcceptsStatus(status) && call.MaxRead > call.MaxRetained:
		return provider.Complete, provider.ClassTooLarge
	case response.Truncated:
		return provider.Ambiguous, provider.ClassTooLarge
	case call.SaysUnknown != nil && call.SaysUnknown(status, response.Body):
		return provider.UnknownReference, provider.ClassNone
	default:
		return provider.Ambiguous, provider.ClassNone
	}
}

// isCompressed reports whether a body is compressed although no encoding was requested. Its bytes are then not a
// document.
func isCompressed(received *http.Response) bool {
	encoding := received.Header.Get("Content-Encoding")
	return encoding != "" && !strings.EqualFold(encoding, "identity")
}

// readBody reads the body into the response, as far as call allows. The error is the connection's.
func readBody(response *provider.Response, body io.Reader, call Spec) error {
	digest := sha256.New()
	retained, err := io.ReadAll(io.TeeReader(io.LimitReader(body, call.MaxRetained), digest))
	response.Body, response.Size = retained, int64(len(retained))
	if err != nil {
		response.Truncated = true
		return err
	}
	rest, ended, err := digestRest(
		digest,
		body,
		max(call.MaxRead-call.MaxRetained, 0),
		response.Size == call.MaxRetained,
	)
	response.Size += rest
	response.Truncated = rest > 0 || !ended
	if ended {
		response.SHA256 = hex.EncodeToString(digest.Sum(nil))
	}
	if response.Truncated && call.MaxRead > call.MaxRetained {
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
