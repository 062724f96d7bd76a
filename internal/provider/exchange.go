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
	"strings"

	"quittance/api"
)

// call is one request of the protocol.
type call struct {
	method    string
	path      string // escaped, below the base URL
	query     string
	reference string // Idempotency-Key of a submission
	body      []byte // nil for a question
	keep      int64  // bytes of the answer that are retained
	scan      int64  // bytes that are read for the digest; at least keep
	accepts   func(status int) bool
}

// attempts bounds how often a call is begun anew after a connection turned out to be dead before a byte was written.
const attempts = 3

// exchange makes one call within the adapter's time-out.
func (h *HTTP) exchange(ctx context.Context, c call) Response {
	started := h.clock()
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	answer := h.try(ctx, c)
	answer.Duration = max(h.clock().Sub(started), 0)
	return answer
}

// try sends the request. It begins anew only when certainly nothing was sent, because an idle connection had died.
func (h *HTTP) try(ctx context.Context, c call) Response {
	for n := 1; ; n++ {
		wire := &wire{}
		request, err := h.request(httptrace.WithClientTrace(ctx, wire.trace()), c)
		if err != nil {
			return Response{Kind: NotSent, ErrorClass: ClassProtocol}
		}
		response, err := h.transport.RoundTrip(request)
		if err == nil {
			return h.read(ctx, c, response)
		}
		if wire.shut() {
			return Response{Kind: Ambiguous, ErrorClass: classify(ctx, err)}
		}
		if !wire.reused || n == attempts || ctx.Err() != nil {
			return Response{Kind: NotSent, ErrorClass: classify(ctx, err)}
		}
	}
}

// wire remembers the connections that net/http gave to one request.
type wire struct {
	taken  []taken
	reused bool
}

type taken struct {
	gate *gate
	mark int
}

func (w *wire) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		// Every connection comes from the dialer; anything else would be a connection whose writes are not counted,
		// and the failed assertion stops the program in its first test.
		g := info.Conn.(*gate)
		w.taken = append(w.taken, taken{gate: g, mark: g.mark()})
		w.reused = info.Reused
	}}
}

// shut ends the connections of a failed request and tells whether a byte of it may have left.
func (w *wire) shut() bool {
	begun := false
	for _, t := range w.taken {
		if t.gate.shutSince(t.mark) {
			begun = true
		}
	}
	return begun
}

func (h *HTTP) request(ctx context.Context, c call) (*http.Request, error) {
	url := h.base + c.path
	if c.query != "" {
		url += "?" + c.query
	}
	var body io.Reader
	if c.body != nil {
		body = bytes.NewReader(c.body)
	}
	request, err := http.NewRequestWithContext(ctx, c.method, url, body)
	if err != nil {
		return nil, err
	}
	// Without GetBody net/http cannot send a body a second time; it would, for a request with an Idempotency-Key.
	request.GetBody = nil
	request.Header.Set("Authorization", "Bearer "+h.credential.Reveal())
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "Quittance/1")
	if c.body != nil {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", c.reference)
	}
	return request, nil
}

// read turns a response into an answer and closes it.
func (h *HTTP) read(ctx context.Context, c call, response *http.Response) Response {
	answer := Response{
		HTTPStatus: response.StatusCode,
		MediaType:  mediaType(response.Header.Get("Content-Type")),
		RetryAfter: api.ParseRetryAfter(response.Header.Get("Retry-After"), h.clock(), MaxRetryAfter),
	}
	var failure error
	if response.StatusCode == http.StatusSwitchingProtocols {
		failure = io.ErrUnexpectedEOF // nothing was asked to switch: what follows is no HTTP and is not read
		answer.Truncated = true
	} else {
		failure = readBody(&answer, response.Body, c)
	}
	// What is wanted of the body was read: closing it cannot change what was seen.
	_ = response.Body.Close()
	answer.Echoed = h.echoed([]byte(head(response)), answer.Truncated) || h.echoed(answer.Body, answer.Truncated)
	answer.Kind, answer.ErrorClass = judge(c, response, answer)
	if failure != nil {
		answer.ErrorClass = classify(ctx, failure)
		if answer.Kind != Refused {
			answer.Kind = Ambiguous
		}
	}
	return answer
}

// judge says what the protocol says about a response whose body was read.
func judge(c call, response *http.Response, answer Response) (Kind, ErrorClass) {
	status := response.StatusCode
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusTooManyRequests:
		return Refused, ClassNone
	case status >= 300 && status < 400:
		return Ambiguous, ClassRedirect
	case c.accepts(status) && encoded(response):
		return Ambiguous, ClassProtocol
	case c.accepts(status) && !answer.Truncated:
		return Answered, ClassNone
	case c.accepts(status) && c.scan > c.keep:
		return Answered, ClassTooLarge
	case answer.Truncated:
		return Ambiguous, ClassTooLarge
	case status == http.StatusNotFound && c.body == nil && errorCode(answer.Body) == codeUnknownReference:
		return UnknownReference, ClassNone
	default:
		return Ambiguous, ClassNone
	}
}

// encoded tells that a body is compressed although no encoding was asked for: its bytes are then no document.
func encoded(response *http.Response) bool {
	encoding := response.Header.Get("Content-Encoding")
	return encoding != "" && !strings.EqualFold(encoding, "identity")
}

// readBody reads what c allows into the answer. The error is that of the connection.
func readBody(answer *Response, body io.Reader, c call) error {
	digest := sha256.New()
	retained, err := io.ReadAll(io.TeeReader(io.LimitReader(body, c.keep), digest))
	answer.Body, answer.Size = retained, int64(len(retained))
	if err != nil {
		answer.Truncated = true
		return err
	}
	rest, ended, err := drain(digest, body, max(c.scan-c.keep, 0), answer.Size == c.keep)
	answer.Size += rest
	answer.Truncated = rest > 0 || !ended
	if ended {
		answer.SHA256 = hex.EncodeToString(digest.Sum(nil))
	}
	if answer.Truncated && c.scan > c.keep {
		answer.Body = nil
	}
	return err
}

// drain reads at most limit bytes more into the digest and tells whether the end of the body was seen. Only a body
// that filled the retained part can have more.
func drain(digest hash.Hash, body io.Reader, limit int64, full bool) (read int64, ended bool, err error) {
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

// mediaType returns a Content-Type that is safe to keep.
func mediaType(value string) string {
	visible := func(r rune) bool { return r >= ' ' && r <= '~' }
	if len(value) > 255 || strings.ContainsFunc(value, func(r rune) bool { return !visible(r) }) {
		return ""
	}
	return value
}
