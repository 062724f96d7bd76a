// Package receiver verifies the webhook callbacks of Quittance in a customer's own service. It imports nothing but the
// wire contract and the standard library.
//
// Its invariant: an [Event] comes out of [Verifier.Verify] only when the raw bytes of the body and the timestamp carry a
// signature under one of the subscription's secrets, the timestamp is within the tolerance, and the headers that are
// not signed say what the signed body says.
//
// Start reading at [Verifier.Verify]; [Handler] puts it behind an HTTP endpoint and [Once] drops duplicates.
package receiver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"quittance/api"
)

const (
	// DefaultTolerance is the greatest age of an event. A delivery is retried for about a day and can be redelivered
	// later, always with the event's own timestamp and signature, so a window of minutes, as other services have it,
	// would refuse honest retries. Replays inside the window are harmless to a receiver that drops duplicates by UUID.
	DefaultTolerance = 7 * 24 * time.Hour
	// MaxAhead is how far the timestamp may lie in the future, for clocks that disagree.
	MaxAhead = 5 * time.Minute
)

// What is wrong with a callback. Every error of [Verifier.Verify] is one of these to errors.Is.
var (
	// ErrNoSecret: the verifier has no secret, or an empty one. It is a fault of the receiver's own configuration.
	ErrNoSecret = errors.New("receiver: no signing secret, or an empty one")
	// ErrSignature: the signature is missing or is not the one of timestamp and body under any secret.
	ErrSignature = errors.New("receiver: the signature does not match")
	// ErrTimestamp: the signed timestamp is not RFC 3339, too old, or too far ahead.
	ErrTimestamp = errors.New("receiver: the timestamp is outside the tolerance")
	// ErrBody: the signed body is not an envelope of the version this library knows.
	ErrBody = errors.New("receiver: the body is not an event envelope")
	// ErrMismatch: the header names another event than the signed body.
	ErrMismatch = errors.New("receiver: header and body name different events")
)

// Event is a verified callback. Its payload is left as JSON: unmarshal it into [api.SubmissionPayload] when
// ResourceType is [api.ResourceSubmission], and into [api.IncomingPayload] when it is [api.ResourceIncomingInvoice].
type Event = api.Event[json.RawMessage]

// Verifier checks callbacks. It is safe for concurrent use as long as nobody changes it.
type Verifier struct {
	// Secrets holds the subscription's signing secret, and during a rotation those of the old and the new
	// subscription. A callback is good under any of them.
	Secrets []string
	// Tolerance is the greatest age of an event; 0 means [DefaultTolerance].
	Tolerance time.Duration
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// Signature returns the value of the signature header (specification, part 6.3): "v1=" and the lowercase hex HMAC
// SHA-256 of timestamp, a dot and the raw body, keyed with all bytes of the secret, "whsec_" included. Receivers need it
// only to make callbacks for their own tests.
func Signature(key []byte, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

// Verify returns the event of a callback whose header and raw body these are. The body must be the bytes as they came:
// JSON that was read and written again has another signature.
//
// The signature is compared in constant time before anything else is looked at. What is not signed, the event and
// delivery headers, must agree with the body. The error is one of ErrNoSecret, [ErrSignature], [ErrTimestamp],
// [ErrBody] and [ErrMismatch]; on all but the first the specification wants the answer 401 (part 6.3).
func (v Verifier) Verify(header http.Header, body []byte) (Event, error) {
	timestamp := header.Get(api.HeaderTimestamp)
	if err := v.checkSignature(header.Get(api.HeaderSignature), timestamp, body); err != nil {
		return Event{}, err
	}
	if err := v.checkTimestamp(timestamp); err != nil {
		return Event{}, err
	}
	var event Event
	if err := json.Unmarshal(body, &event); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrBody, err)
	}
	if event.SchemaVersion != api.SchemaVersion || event.ID == "" || event.Event == "" {
		return Event{}, fmt.Errorf("%w: schema_version %q, id %q, event %q", ErrBody, event.SchemaVersion, event.ID, event.Event)
	}
	if header.Get(api.HeaderDelivery) != event.ID || header.Get(api.HeaderEvent) != string(event.Event) {
		return Event{}, ErrMismatch
	}
	return event, nil
}

// checkSignature tries every secret, always all of them, so that the time does not tell which one matched.
func (v Verifier) checkSignature(signature, timestamp string, body []byte) error {
	if len(v.Secrets) == 0 {
		return ErrNoSecret
	}
	good := false
	for _, secret := range v.Secrets {
		if secret == "" {
			return ErrNoSecret // anyone could sign with it
		}
		want := Signature([]byte(secret), timestamp, body)
		good = hmac.Equal([]byte(signature), []byte(want)) || good
	}
	if !good {
		return ErrSignature
	}
	return nil
}

func (v Verifier) checkTimestamp(timestamp string) error {
	at, err := time.Parse(time.RFC3339Nano, timestamp)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTimestamp, err)
	}
	tolerance, now := v.Tolerance, v.Now
	if tolerance == 0 {
		tolerance = DefaultTolerance
	}
	if now == nil {
		now = time.Now
	}
	if age := now().Sub(at); age > tolerance || age < -MaxAhead {
		return fmt.Errorf("%w: %s is %s old", ErrTimestamp, timestamp, age)
	}
	return nil
}
