// Package webhook delivers signed events to the destinations that customers choose (specification, part 6).
//
// Its invariant: a request leaves only over TLS, to an address that was checked for this very attempt, carrying the
// bytes and the signature that were stored with the event, and what a destination does, however hostile, costs at most
// one bounded attempt.
//
// Start reading at [Sender.Send], one attempt; then [Policy.ParseDestination], where an attempt may go, and
// [Backoff.Next], when the next one is due.
package webhook

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"quittance/api"
)

// Limits of one attempt.
const (
	// DefaultTimeout is how long one attempt lasts at most, from the resolver to the last byte of the answer
	// (contract, section 9).
	DefaultTimeout = 10 * time.Second
	// MaxAnswer is how much of the body of an answer is kept, in bytes (contract, section 9).
	MaxAnswer = 1 << 10
)

const (
	// As many connections to a destination are kept as may be under way to it: one fewer, and a burst makes new ones, whose
	// handshakes cost more than all the rest of a delivery.
	defaultMaxIdle               = 1024
	defaultMaxIdlePerDestination = 64
	// maxDrained is how much more of an answer is read and thrown away, so that its connection can be used again.
	maxDrained = 32 << 10
	userAgent  = "Quittance-Webhook/1"
)

// Verdict says what an attempt means for its delivery.
type Verdict string

// The verdicts (specification, part 6.5; contract, section 9).
const (
	// Delivered: the destination answered 2xx. It proves nothing beyond that.
	Delivered Verdict = "delivered"
	// Retry: there was no answer, or it was 408, 409, 425, 429 or 5xx.
	Retry Verdict = "retry"
	// Failed: any other status.
	Failed Verdict = "failed"
	// Blocked: a redirect, or an address that is not public. The subscription is to be deactivated.
	Blocked Verdict = "blocked"
)

// The reasons of a [Blocked] verdict.
const (
	ReasonRedirect      = "redirect"
	ReasonUnsafeAddress = "unsafe_address"
)

// The classes of an attempt that ended without an answer.
const (
	// ClassDNS: the resolver gave no address.
	ClassDNS = "dns"
	// ClassConnect: no address took the connection.
	ClassConnect = "connect"
	// ClassTLS: the handshake failed or the certificate is not the host's.
	ClassTLS = "tls"
	// ClassTimeout: the time was used up.
	ClassTimeout = "timeout"
	// ClassUnsafeAddress: the destination is not public.
	ClassUnsafeAddress = "unsafe_address"
	// ClassProtocol: the connection broke, or what came was not an HTTP answer within bounds.
	ClassProtocol = "protocol"
	// ClassCanceled: the caller gave up; the destination is not to blame.
	ClassCanceled = "canceled"
	// ClassAbandoned: the process ended, or failed, before it recorded what came of the attempt; the destination may have got it.
	ClassAbandoned = "abandoned"
)

// Config says how a [Sender] works. Zero fields take the defaults.
type Config struct {
	// Policy says where deliveries may go.
	Policy Policy
	// Resolver finds the addresses of host names; the default is the system's, without its search list.
	Resolver Resolver
	// Dial opens a connection to an address that has been checked; the default is that of a [net.Dialer], which checks it
	// once more when the socket connects.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Timeout is how long one attempt lasts at most; the default is [DefaultTimeout].
	Timeout time.Duration
	// Now is the clock, for durations and for a Retry-After that is a date; the default is [time.Now].
	Now func() time.Time
	// MaxIdle is the number of idle connections that are kept in all; the default is 1024.
	MaxIdle int
	// MaxIdlePerDestination is the number of them that one destination may hold; the default is 64.
	MaxIdlePerDestination int
}

// Sender makes attempts. It is safe for concurrent use.
type Sender struct {
	egress  *egress
	policy  Policy
	timeout time.Duration
	now     func() time.Time
}

// NewSender returns a Sender. Close it to free its connections.
func NewSender(c Config) *Sender {
	if c.Resolver == nil {
		c.Resolver = absoluteResolver{net.DefaultResolver}
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.MaxIdle <= 0 {
		c.MaxIdle = defaultMaxIdle
	}
	if c.MaxIdlePerDestination <= 0 {
		c.MaxIdlePerDestination = defaultMaxIdlePerDestination
	}
	return &Sender{egress: newEgress(c), policy: c.Policy, timeout: c.Timeout, now: c.Now}
}

// Close closes the idle connections. Attempts under way finish.
func (s *Sender) Close() { s.egress.transport.CloseIdleConnections() }

// Request is one delivery, as it is stored: every attempt sends the same bytes (contract, section 9).
type Request struct {
	// URL is the subscription's destination.
	URL string
	// Event and EventID are the event's kind and UUID.
	Event   api.EventKind
	EventID string
	// Timestamp is the event's time as written by [FormatTimestamp], Signature what [Signature] made of it and Body.
	Timestamp, Signature string
	// Body is the JSON envelope.
	Body []byte
}

// Result is what one attempt came to.
type Result struct {
	// Verdict says what follows for the delivery.
	Verdict Verdict
	// Reason is [ReasonRedirect] or [ReasonUnsafeAddress] when Verdict is [Blocked], and empty otherwise.
	Reason string
	// HTTPStatus is the status of the answer, from 100 to 999, or 0 when there was none.
	HTTPStatus int
	// ErrorClass is one of the Class constants when there was no answer, and empty otherwise.
	ErrorClass string
	// Answer holds the first bytes of the answer's body, at most [MaxAnswer], as they came: any bytes at all.
	Answer []byte
	// RetryAfter is what the destination asked to wait, from 0 to [MaxWait]; set only when Verdict is [Retry].
	RetryAfter time.Duration
	// Duration is how long the attempt took.
	Duration time.Duration
}

// Send makes one attempt. It ends within the timeout whatever the destination does. A canceled ctx ends it at once with
// [Retry] and [ClassCanceled]. The URL is checked again, so that a destination the policy no longer permits is blocked.
func (s *Sender) Send(ctx context.Context, r Request) Result {
	start := s.now()
	result := s.attempt(ctx, r)
	result.Duration = s.now().Sub(start)
	return result
}

func (s *Sender) attempt(parent context.Context, r Request) Result {
	destination, err := s.policy.ParseDestination(r.URL)
	if err != nil {
		return failure(parent, err)
	}
	ctx, cancel := context.WithTimeout(parent, s.timeout)
	defer cancel()
	response, err := s.egress.post(ctx, destination, header(r), r.Body)
	if err != nil {
		return failure(parent, err)
	}
	if response.StatusCode < 100 {
		return failure(parent, errors.Join(errors.New("status below 100"), response.Body.Close()))
	}
	result := judge(response.StatusCode)
	result.HTTPStatus = response.StatusCode
	if result.Verdict == Retry {
		result.RetryAfter = api.ParseRetryAfter(response.Header.Get("Retry-After"), s.now(), MaxWait)
	}
	// The body of 101 is the connection itself: it has no end, and the timeout does not reach it.
	if response.StatusCode != http.StatusSwitchingProtocols {
		result.Answer = readAnswer(response.Body)
	}
	// Closing with bytes left drops the connection, unread. That is all an error could say, and the answer is known.
	_ = response.Body.Close()
	return result
}

// readAnswer returns the beginning of the body. A body that breaks off or runs out of time is kept as far as it came:
// the status was the answer, the body is only evidence. A body that ends soon after is read to its end, which is
// cheaper than another connection.
func readAnswer(body io.Reader) []byte {
	answer, err := io.ReadAll(io.LimitReader(body, MaxAnswer))
	if err == nil && len(answer) == MaxAnswer {
		_, _ = io.CopyN(io.Discard, body, maxDrained)
	}
	return answer
}

// header returns the request header of a delivery (specification, part 6.2).
func header(r Request) http.Header {
	h := make(http.Header, 6)
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", userAgent)
	h.Set(api.HeaderEvent, string(r.Event))
	h.Set(api.HeaderDelivery, r.EventID)
	h.Set(api.HeaderTimestamp, r.Timestamp)
	h.Set(api.HeaderSignature, r.Signature)
	return h
}

// judge is the table of statuses (specification, part 6.5, rules 4 and 5).
func judge(status int) Result {
	switch {
	case 200 <= status && status <= 299:
		return Result{Verdict: Delivered}
	case 300 <= status && status <= 399:
		return Result{Verdict: Blocked, Reason: ReasonRedirect}
	case 500 <= status && status <= 599:
		return Result{Verdict: Retry}
	}
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return Result{Verdict: Retry}
	}
	return Result{Verdict: Failed}
}

// failure is the result of an attempt without an answer.
func failure(parent context.Context, err error) Result {
	var stage *stageError
	var network net.Error
	var op *net.OpError
	switch {
	case errors.Is(err, ErrUnsafeDestination):
		return Result{Verdict: Blocked, Reason: ReasonUnsafeAddress, ErrorClass: ClassUnsafeAddress}
	case errors.Is(parent.Err(), context.Canceled):
		return Result{Verdict: Retry, ErrorClass: ClassCanceled}
	case errors.As(err, &stage) && stage.class == ClassDNS:
		return Result{Verdict: Retry, ErrorClass: ClassDNS}
	case errors.As(err, &network) && network.Timeout():
		return Result{Verdict: Retry, ErrorClass: ClassTimeout}
	case stage != nil:
		return Result{Verdict: Retry, ErrorClass: stage.class}
	case errors.As(err, &op) && op.Op == "remote error":
		// An alert after the handshake: the destination wants a client certificate, for example (RFC 8446, section 4.4.2.4).
		return Result{Verdict: Retry, ErrorClass: ClassTLS}
	}
	return Result{Verdict: Retry, ErrorClass: ClassProtocol}
}
