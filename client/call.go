package client

import (
	"bytes"
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

	"quittance/api"
)

// The waits between the attempts of one call: the first, doubled each time up to the last, each spread by the jitter.
const (
	retryFirst = 200 * time.Millisecond
	retryMax   = 5 * time.Second
)

// What is wrong with an answer that is not what the contract promises.
var (
	// ErrUnreadable: the answer is not one of this API: no JSON, no data, a redirect, the page of a proxy. After a 2xx
	// the operation has probably had its effect.
	ErrUnreadable = errors.New("the answer is not one of this API")
	// ErrTooLarge: the answer has more than [MaxResponse] bytes. Ask for fewer entries per page.
	ErrTooLarge = errors.New("the answer is too large")
)

// ResponseError is an answer that is not a success, or cannot be read. What the service said is behind it: errors.As
// finds the [api.Error], and errors.Is finds [ErrUnreadable] or [ErrTooLarge] when there is none.
type ResponseError struct {
	// Status is the HTTP status. It is a 2xx when the answer was a success that cannot be read.
	Status int
	// RequestID is the X-Request-Id of the answer: quote it to support. Empty when the answer had none.
	RequestID string
	// Err is what the service said, nil when the answer is not one of this API.
	Err *api.Error
	// RetryAfter is how long the service asks to be left alone, 0 when it does not say.
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

// says tells whether err is the service's refusal with this code.
func says(err error, code api.Code) bool {
	said, ok := errors.AsType[*api.Error](err)
	return ok && said.Code == code
}

// CallOption changes one call.
type CallOption func(*request)

// IdempotencyKey makes the call under your own key, of 1 to 255 visible ASCII characters, instead of a random one. A
// call with the same key and the same content within 24 hours is answered as the first one was, and has no further
// effect: use it when your program itself may stop and begin again (contract, section 1).
func IdempotencyKey(key string) CallOption {
	return func(r *request) { r.key, r.keyed = key, true }
}

// request is one operation with its arguments.
type request struct {
	method, path string
	query        url.Values
	body         any // nil for none
	// repeatable says that sending it twice has the effect of sending it once, once that it takes no Idempotency-Key to
	// make it so.
	repeatable, once bool
	// key is the Idempotency-Key. What is neither gets one, and is repeatable under it: the caller's, which keyed tells,
	// or a random one.
	key   string
	keyed bool
	// public says that it needs no token.
	public bool

	encoded []byte // the body, the same bytes in every attempt, because the key's fingerprint covers them
}

// get is the request that reads a path.
func get(path string, query url.Values) request {
	return request{method: http.MethodGet, path: path, query: query, repeatable: true}
}

// post is the request that makes or changes something, under an Idempotency-Key. A nil body is none.
func post(path string, body any) request {
	return request{method: http.MethodPost, path: path, body: body}
}

// one makes a call whose answer is one thing.
func one[T any](ctx context.Context, c *Client, r request, options ...CallOption) (T, error) {
	data, _, err := call[T, struct{}](ctx, c, r, options...)
	return data, err
}

// list makes a call whose answer is a page of a list.
func list[T any](ctx context.Context, c *Client, r request) (out api.List[T], err error) {
	out.Data, out.Pagination, err = call[[]T, api.Pagination](ctx, c, r)
	return out, err
}

// call makes a call and returns what is in the envelope of its answer. Every operation is one line on top of it.
// Fields that this version does not know are no fault; an answer without data is one, since it would pass for an empty
// invoice.
func call[Content, Position any](ctx context.Context, c *Client, r request, options ...CallOption) (data Content, at Position, err error) {
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

// prepare encodes the body and sees to the key, once for all attempts.
func (c *Client) prepare(r *request) (err error) {
	if r.body != nil {
		if r.encoded, err = json.Marshal(r.body); err != nil {
			return fmt.Errorf("encode the body: %w", err)
		}
	}
	if r.repeatable || r.once {
		return nil
	}
	if !r.keyed {
		var random [16]byte
		c.random.Lock()
		defer c.random.Unlock()
		if _, err := io.ReadFull(c.reader, random[:]); err != nil {
			return fmt.Errorf("make an Idempotency-Key: %w", err)
		}
		r.key = hex.EncodeToString(random[:])
	}
	invisible := func(r rune) bool { return r <= ' ' || r > '~' }
	if r.key == "" || len(r.key) > 255 || strings.ContainsFunc(r.key, invisible) {
		return errors.New("an Idempotency-Key has 1 to 255 visible ASCII characters")
	}
	r.repeatable = true
	return nil
}

// send makes the attempts of a call with a session, and once more with a new session when the token is refused. That
// is safe for every operation: the service looks at the token before anything else.
func (c *Client) send(ctx context.Context, r *request) (answer, error) {
	if r.public {
		return c.attempts(ctx, r, nil)
	}
	s, err := c.session(ctx, nil)
	if err != nil {
		return answer{}, err
	}
	a, err := c.attempts(ctx, r, s)
	if !says(err, api.CodeUnauthenticated) {
		return a, err
	}
	if s, err = c.session(ctx, s); err != nil {
		return answer{}, err
	}
	return c.attempts(ctx, r, s)
}

// attempts sends a request until it succeeds, fails for good, or was sent often enough.
func (c *Client) attempts(ctx context.Context, r *request, s *session) (answer, error) {
	for n := 1; ; n++ {
		a, err := c.exchange(ctx, r, s)
		if err == nil || ctx.Err() != nil || n == c.maxAttempts {
			return a, err
		}
		wait, again := c.next(r, n, err)
		if !again {
			return a, err
		}
		if ended := c.sleep(ctx, wait); ended != nil {
			return a, fmt.Errorf("client: %w; before that: %w", ended, err)
		}
	}
}

// next decides after attempt n has failed whether there is another, and when.
func (c *Client) next(r *request, n int, err error) (wait time.Duration, again bool) {
	wait = c.jittered(min(retryFirst<<min(n-1, 10), retryMax))
	refusal, answered := errors.AsType[*ResponseError](err)
	if !answered {
		return wait, r.repeatable // the connection failed: nobody knows how far the request came
	}
	switch refusal.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return max(wait, refusal.RetryAfter), r.repeatable && refusal.RetryAfter <= MaxRetryAfter
	default:
		return 0, false
	}
}

// exchange sends a request once. The error is a [ResponseError] when there was an answer.
func (c *Client) exchange(ctx context.Context, r *request, s *session) (answer, error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.encoded))
	if err != nil {
		return answer{}, fmt.Errorf("client: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", c.userAgent)
	if r.key != "" {
		request.Header.Set("Idempotency-Key", r.key)
	}
	if s != nil {
		request.Header.Set("Authorization", "Bearer "+s.token())
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("client: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // what matters of it has been read
	a := answer{operation: r.method + " " + r.path, status: response.StatusCode, requestID: response.Header.Get(api.HeaderRequestID),
		retryAfter: api.ParseRetryAfter(response.Header.Get("Retry-After"), c.now(), math.MaxInt64)}
	if a.body, err = io.ReadAll(io.LimitReader(response.Body, MaxResponse+1)); err != nil {
		return answer{}, fmt.Errorf("client: %s: read the answer: %w", a.operation, err)
	}
	return a, a.check()
}

// answer is what came back for one attempt.
type answer struct {
	operation  string
	status     int
	requestID  string
	retryAfter time.Duration
	body       []byte
}

// check returns nil when the answer is a success whose body can be looked at.
func (a answer) check() error {
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

func (a answer) failure(cause error) *ResponseError {
	return &ResponseError{Status: a.status, RequestID: a.requestID, RetryAfter: a.retryAfter, operation: a.operation, cause: cause}
}
