package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"quittance/client/api"
)

// The waits between the attempts of one call: retryFirst, doubled after each attempt up to retryMax, with jitter.
const (
	retryFirst = 200 * time.Millisecond
	retryMax   = 5 * time.Second
)

// The errors of a response that is not what the API promises.
var (
	// ErrUnreadable: the response is not one of this API: it is not JSON, has no data, is a redirect, or the page of a
	// proxy. After a 2xx status the operation has probably had its effect.
	ErrUnreadable = errors.New("the response is not one of this API")
	// ErrTooLarge: the response has more than [MaxResponse] bytes. Ask for fewer entries per page.
	ErrTooLarge = errors.New("the response is too large")
)

// ErrIdempotencyKey is the error of a call whose [IdempotencyKey] is not valid. Nothing was sent.
var ErrIdempotencyKey = errors.New("an Idempotency-Key must have 1 to 255 visible ASCII characters")

// ResponseError is a response that is not a success or cannot be decoded. It wraps the [api.Error] of the service for
// errors.As, or [ErrUnreadable] or [ErrTooLarge] if there is none.
type ResponseError struct {
	// Status is the HTTP status. It is a 2xx if the response is a success that cannot be decoded.
	Status int
	// RequestID is the X-Request-Id of the response, for support requests. It is empty if the response has none.
	RequestID string
	// Err is the error of the service, or nil if the response is not one of this API.
	Err *api.Error
	// RetryAfter is how long the service asks the client to wait, 0 if it does not say.
	RetryAfter time.Duration

	operation string // method and path
	cause     error  // why there is no Err
}

func (e *ResponseError) Error() string {
	text := fmt.Sprintf("client: %s: HTTP %d", e.operation, e.Status)
	if cause := e.Unwrap(); cause != nil {
		text += ": " + cause.Error()
	}
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

func (e *ResponseError) Unwrap() error {
	if e.Err != nil {
		return e.Err
	}
	return e.cause
}

// hasCode reports whether err wraps an error of the service with this code.
func hasCode(err error, code api.Code) bool {
	apiErr, ok := errors.AsType[*api.Error](err)
	return ok && apiErr.Code == code
}

// CallOption changes one call.
type CallOption func(*request)

// IdempotencyKey makes the call with your own key, of 1 to 255 visible ASCII characters, instead of a random one. A
// call with the same key and the same content within 24 hours gets the response of the first one and has no further
// effect. Use it if your program may stop and repeat the call after a restart.
func IdempotencyKey(key string) CallOption {
	return func(r *request) { r.key, r.keyed = key, true }
}

// RawBody makes the call with this JSON document in place of its argument, byte by byte and with the same retries. It
// is for documents that people write: the service judges what a Go value cannot hold, such as a name that occurs twice
// or is unknown.
func RawBody(document []byte) CallOption {
	return func(r *request) { r.body, r.file = nil, document }
}

// request is one operation with its arguments.
type request struct {
	method, path string
	query        url.Values
	body         any // nil for none
	// file is the body of a request that is sent as it is, and fileType its media type; "" for JSON.
	file     []byte
	fileType string
	// repeatable means that sending the request twice has the effect of sending it once. withoutKey means that it is not
	// repeatable, and that the operation takes no Idempotency-Key.
	repeatable, withoutKey bool
	// key is the Idempotency-Key. A request that is neither repeatable nor withoutKey gets one, and is repeatable with it:
	// that of the caller if keyed, or a random one.
	key   string
	keyed bool
	// public requests need no token.
	public bool
	// stream means that the caller reads the body of a success, which may take longer than the time-out.
	stream bool

	encoded []byte // the body: the same bytes in every attempt, because the fingerprint of the key covers them
}

// get returns the request that reads a path.
func get(path string, query url.Values) request {
	return request{method: http.MethodGet, path: path, query: query, repeatable: true}
}

// post returns a request with an Idempotency-Key that creates or changes something. A nil body means none.
func post(path string, body any) request {
	return request{method: http.MethodPost, path: path, body: body}
}

// callOne makes a call that returns a single value.
func callOne[T any](ctx context.Context, c *Client, r request, options ...CallOption) (T, error) {
	data, _, err := call[T, struct{}](ctx, c, r, options...)
	return data, err
}

// callList makes a call that returns a page of a list.
func callList[T any](ctx context.Context, c *Client, r request) (out api.List[T], err error) {
	out.Data, out.Pagination, err = call[[]T, api.Pagination](ctx, c, r)
	return out, err
}

// call makes a call and returns the content of the envelope of its response. It ignores fields that this version does
// not know. A response without data is an error, because it would look like an empty invoice.
func call[Content, Position any](ctx context.Context, c *Client, r request,
	options ...CallOption) (data Content, at Position, err error) {
	for _, option := range options {
		option(&r)
	}
	if err := c.prepare(&r); err != nil {
		return data, at, fmt.Errorf("client: %s %s: %w", r.method, r.path, err)
	}
	a, err := c.send(ctx, &r)
	if err != nil {
		return data, at, err
	}
	var envelope struct {
		Data       *Content `json:"data"`
		Pagination Position `json:"pagination"`
	}
	if err := json.Unmarshal(a.body, &envelope); err != nil {
		return data, at, a.failure(fmt.Errorf("%w: %w", ErrUnreadable, err))
	}
	if envelope.Data == nil {
		return data, at, a.failure(fmt.Errorf("%w: no data", ErrUnreadable))
	}
	return *envelope.Data, envelope.Pagination, nil
}

// prepare encodes the body and sets the key for all attempts.
func (c *Client) prepare(r *request) (err error) {
	if r.encoded = r.file; r.body != nil {
		if r.encoded, err = json.Marshal(r.body); err != nil {
			return fmt.Errorf("encode the body: %w", err)
		}
	}
	if r.repeatable || r.withoutKey {
		return nil
	}
	if !r.keyed {
		var random [16]byte
		c.random.Lock()
		defer c.random.Unlock()
		if _, err := io.ReadFull(c.reader, random[:]); err != nil {
			return fmt.Errorf("generate an Idempotency-Key: %w", err)
		}
		r.key = hex.EncodeToString(random[:])
	}
	invisible := func(r rune) bool { return r <= ' ' || r > '~' }
	if r.key == "" || len(r.key) > 255 || strings.ContainsFunc(r.key, invisible) {
		return ErrIdempotencyKey
	}
	r.repeatable = true
	return nil
}

// send makes the attempts of a call with the API key or a session, and again with a new session if the token is
// rejected. That is safe for every operation, because the service checks the token first.
func (c *Client) send(ctx context.Context, r *request) (response, error) {
	if r.public || c.key != nil {
		return c.attempts(ctx, r, c.key)
	}
	s, err := c.session(ctx, nil)
	if err != nil {
		return response{}, err
	}
	a, err := c.attempts(ctx, r, s)
	if !hasCode(err, api.CodeUnauthenticated) {
		return a, err
	}
	if s, err = c.session(ctx, s); err != nil {
		return response{}, err
	}
	return c.attempts(ctx, r, s)
}

// attempts sends a request until it succeeds, fails permanently, or has been sent maxAttempts times.
func (c *Client) attempts(ctx context.Context, r *request, s *session) (response, error) {
	for n := 1; ; n++ {
		a, err := c.roundTrip(ctx, r, s)
		if err == nil || ctx.Err() != nil || n == c.maxAttempts {
			return a, err
		}
		wait, again := c.retryDelay(r, n, err)
		if !again {
			return a, err
		}
		if ended := c.sleep(ctx, wait); ended != nil {
			return a, fmt.Errorf("client: %w; before that: %w", ended, err)
		}
	}
}

// retryDelay decides whether another attempt follows failed attempt n, and how long to wait for it.
func (c *Client) retryDelay(r *request, n int, err error) (wait time.Duration, again bool) {
	wait = c.jittered(min(retryFirst<<min(n-1, 10), retryMax))
	failed, responded := errors.AsType[*ResponseError](err)
	if !responded {
		return wait, r.repeatable // the connection failed, and the request may have arrived
	}
	switch failed.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return max(wait, failed.RetryAfter), r.repeatable && failed.RetryAfter <= MaxRetryAfter
	default:
		return 0, false
	}
}

// roundTrip sends a request once. The error is a [ResponseError] if there was a response.
func (c *Client) roundTrip(ctx context.Context, r *request, s *session) (response, error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.encoded))
	if err != nil {
		return response{}, fmt.Errorf("client: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", cmp.Or(r.fileType, "application/json"))
	request.Header.Set("User-Agent", c.userAgent)
	if r.key != "" {
		request.Header.Set("Idempotency-Key", r.key)
	}
	if s != nil {
		request.Header.Set("Authorization", "Bearer "+s.token())
	}
	sender := *c.http
	if r.stream {
		sender.Timeout = 0
	}
	got, err := sender.Do(request)
	if err != nil {
		return response{}, fmt.Errorf("client: %w", err)
	}
	a := response{operation: r.method + " " + r.path, status: got.StatusCode,
		requestID: got.Header.Get(api.HeaderRequestID), retryAfter: api.ParseRetryAfter(got.Header.Get("Retry-After"),
			c.now(), math.MaxInt64)}
	if r.stream && got.StatusCode == http.StatusOK {
		a.file = got.Body
		return a, nil
	}
	defer func() { _ = got.Body.Close() }() // the body has been read
	if a.body, err = io.ReadAll(io.LimitReader(got.Body, MaxResponse+1)); err != nil {
		return response{}, fmt.Errorf("client: %s: read the response: %w", a.operation, err)
	}
	return a, a.check()
}

// response is the response to one attempt.
type response struct {
	operation  string
	status     int
	requestID  string
	retryAfter time.Duration
	body       []byte
	file       io.ReadCloser // instead of body, of a request whose caller reads it
}

// check returns nil if the response is a success whose body can be decoded.
func (a response) check() error {
	switch {
	case len(a.body) > MaxResponse:
		return a.failure(ErrTooLarge)
	case 200 <= a.status && a.status <= 299:
		return nil
	case 300 <= a.status && a.status <= 399:
		return a.failure(fmt.Errorf("%w: redirects are not followed", ErrUnreadable))
	}
	var body api.ErrorBody
	if err := json.Unmarshal(a.body, &body); err != nil {
		return a.failure(fmt.Errorf("%w: %w", ErrUnreadable, err))
	}
	if body.Error.Code == "" {
		return a.failure(fmt.Errorf("%w: an error without a code", ErrUnreadable))
	}
	failure := a.failure(nil)
	failure.Err = &body.Error
	return failure
}

func (a response) failure(cause error) *ResponseError {
	return &ResponseError{Status: a.status, RequestID: a.requestID, RetryAfter: a.retryAfter, operation: a.operation,
		cause: cause}
}
