// Package webhook delivers signed events to the destinations that customers choose.
//
// Its invariant: a request is sent only over TLS, to an address that was checked for this attempt, with the bytes that
// were stored with the event and their signature. A hostile destination costs at most one bounded attempt.
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

	"quittance/client/api"
)

// Limits of one attempt.
const (
	// DefaultTimeout is the default limit of one attempt, from the name look-up to the last byte of the response.
	DefaultTimeout = 10 * time.Second
	// MaxResponseBody is how much of the body of a response is recorded, in bytes.
	MaxResponseBody = 1 << 10
)

const (
	// As many idle connections to a destination are kept as there may be concurrent attempts. With fewer, a burst makes
	// new connections, whose handshakes cost more than the rest of a delivery.
	defaultMaxIdle               = 1024
	defaultMaxIdlePerDestination = 64
	// maxDrain is how many further bytes of a response are read and discarded so that its connection can be reused.
	maxDrain  = 32 << 10
	userAgent = "Quittance-Webhook/1"
)

// Verdict is the consequence of an attempt for its delivery.
type Verdict string

// The verdicts on an attempt, as docs/webhooks.md lists them.
const (
	// Delivered: the destination responded with 2xx. It proves nothing beyond that.
	Delivered Verdict = "delivered"
	// Retry: there was no response, or its status was 408, 409, 425, 429 or 5xx.
	Retry Verdict = "retry"
	// Failed: any other status.
	Failed Verdict = "failed"
	// Blocked: a redirect, or an address that is not public. The subscription must be deactivated.
	Blocked Verdict = "blocked"
)

// The reasons of a [Blocked] verdict.
const (
	ReasonRedirect      = "redirect"
	ReasonUnsafeAddress = "unsafe_address"
)

// The error classes of attempts without a response.
const (
	// ClassDNS: the resolver returned no address.
	ClassDNS = "dns"
	// ClassConnect: no address accepted the connection.
	ClassConnect = "connect"
	// ClassTLS: the handshake failed or the certificate is not valid for the host.
	ClassTLS = "tls"
	// ClassTimeout: the attempt timed out.
	ClassTimeout = "timeout"
	// ClassUnsafeAddress: the destination is not public.
	ClassUnsafeAddress = "unsafe_address"
	// ClassProtocol: the connection broke, or the response was not HTTP or too large.
	ClassProtocol = "protocol"
	// ClassCanceled: the caller canceled the attempt; it is not a failure of the destination.
	ClassCanceled = "canceled"
	// ClassAbandoned: the process ended or failed before it recorded the attempt; the destination may have received it.
	ClassAbandoned = "abandoned"
)

// Config configures a [Sender]. Zero fields mean the defaults.
type Config struct {
	// Policy defines which destinations are allowed.
	Policy Policy
	// Resolver looks up the addresses of host names; the default is that of the system, without its search list.
	Resolver Resolver
	// Dial opens a connection to an address that has been checked; the default is a [net.Dialer] that checks it again
	// when the socket connects.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Timeout is the longest duration of an attempt; the default is [DefaultTimeout].
	Timeout time.Duration
	// Now is the clock, for durations and for a Retry-After that is a date; the default is [time.Now].
	Now func() time.Time
	// MaxIdle is the number of idle connections to all destinations; the default is 1024.
	MaxIdle int
	// MaxIdlePerDestination is the number of idle connections to one destination; the default is 64.
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

// Request is a stored delivery. Every attempt sends the same bytes.
type Request struct {
	// URL is the subscription's destination.
	URL string
	// Event and EventID are the event's kind and UUID.
	Event   api.EventKind
	EventID string
	// Timestamp is the time of the event in the form of [FormatTimestamp]; Signature is the [Signature] of it and Body.
	Timestamp, Signature string
	// Body is the JSON envelope.
	Body []byte
}

// Result is the result of one attempt.
type Result struct {
	// Verdict is the consequence for the delivery.
	Verdict Verdict
	// Reason is [ReasonRedirect] or [ReasonUnsafeAddress] when Verdict is [Blocked], and empty otherwise.
	Reason string
	// HTTPStatus is the status of the response, from 100 to 999, or 0 if there was none.
	HTTPStatus int
	// ErrorClass is one of the Class constants if there was no response, and empty otherwise.
	ErrorClass string
	// ResponseBody holds the first bytes of the response body, at most [MaxResponseBody]. They can be any bytes.
	ResponseBody []byte
	// RetryAfter is the wait that the destination requested, from 0 to [MaxWait]; it is set only if Verdict is [Retry].
	RetryAfter time.Duration
	// Duration is the duration of the attempt.
	Duration time.Duration
}

// Send makes one attempt. It returns within the time-out, whatever the destination does. If ctx is canceled, it returns
// at once with [Retry] and [ClassCanceled]. It checks the URL again, so that a destination that the policy no longer
// permits is blocked.
func (s *Sender) Send(ctx context.Context, r Request) Result {
	start := s.now()
	result := s.attempt(ctx, r)
	result.Duration = s.now().Sub(start)
	return result
}

func (s *Sender) attempt(parent context.Context, r Request) Result {
	destination, err := s.policy.ParseDestination(r.URL)
	if err != nil {
		return classifyError(parent, err)
	}
	ctx, cancel := context.WithTimeout(parent, s.timeout)
	defer cancel()
	response, err := s.egress.post(ctx, destination, Header(r), r.Body)
	if err != nil {
		return classifyError(parent, err)
	}
	if response.StatusCode < 100 {
		return classifyError(parent, errors.Join(errors.New("status below 100"), response.Body.Close()))
	}
	result := classifyStatus(response.StatusCode)
	result.HTTPStatus = response.StatusCode
	if result.Verdict == Retry {
		result.RetryAfter = api.ParseRetryAfter(response.Header.Get("Retry-After"), s.now(), MaxWait)
	}
	// The body of a 101 response is the connection itself, which has no end and to which the time-out does not apply.
	if response.StatusCode != http.StatusSwitchingProtocols {
		result.ResponseBody = readResponseBody(response.Body)
	}
	// Close drops the connection if the body has unread bytes. An error could say no more than that.
	_ = response.Body.Close()
	return result
}

// readResponseBody returns the beginning of the body. If the body is interrupted or times out, readResponseBody returns
// the part that it received: only the status matters for the delivery. It reads a short body to its end, which is
// cheaper than a new connection.
func readResponseBody(body io.Reader) []byte {
	response, err := io.ReadAll(io.LimitReader(body, MaxResponseBody))
	if err == nil && len(response) == MaxResponseBody {
		_, _ = io.CopyN(io.Discard, body, maxDrain)
	}
	return response
}

// Header returns the request header of a delivery.
func Header(r Request) http.Header {
	h := make(http.Header, 6)
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", userAgent)
	h.Set(api.HeaderEvent, string(r.Event))
	h.Set(api.HeaderDelivery, r.EventID)
	h.Set(api.HeaderTimestamp, r.Timestamp)
	h.Set(api.HeaderSignature, r.Signature)
	return h
}

// classifyStatus returns the verdict on an HTTP status.
func classifyStatus(status int) Result {
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

// classifyError returns the result of an attempt without a response.
func classifyError(parent context.Context, err error) Result {
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
		// An alert after the handshake: the destination requires a client certificate, for example (RFC 8446, section
		// 4.4.2.4).
		return Result{Verdict: Retry, ErrorClass: ClassTLS}
	}
	return Result{Verdict: Retry, ErrorClass: ClassProtocol}
}
