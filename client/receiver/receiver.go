// Package receiver verifies the webhook callbacks of Quittance in a customer's own service. It imports only the wire
// contract and the standard library.
//
// Its invariant: [Verifier.Verify] returns an [Event] only if the raw body and the timestamp have a valid signature
// with one of the subscription's secrets, the timestamp is within the tolerance, and the unsigned headers agree with
// the signed body.
//
// Start reading at [Verifier.Verify]. [Handler] is an HTTP handler that uses it, and [Once] drops duplicates.
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
	"unicode/utf8"

	"quittance/client/api"
)

const (
	// DefaultTolerance is the greatest age of an event. A delivery is retried for about a day and can be redelivered
	// later, always with the event's own timestamp and signature, so a window of minutes, as other services have it,
	// would reject genuine retries. Replays within the window are harmless to a receiver that drops duplicates by UUID.
	DefaultTolerance = 7 * 24 * time.Hour
	// MaxAhead is how far the timestamp may be in the future, because clocks differ.
	MaxAhead = 5 * time.Minute
)

// The errors of [Verifier.Verify], for errors.Is.
var (
	// ErrNoSecret: the verifier has no secret, or an empty one. The receiver's own configuration is wrong.
	ErrNoSecret = errors.New("receiver: no signing secret, or an empty one")
	// ErrSignature: the signature is missing, or does not match the timestamp and the body with any secret.
	ErrSignature = errors.New("receiver: the signature does not match")
	// ErrTimestamp: the signed timestamp is not RFC 3339, too old, or too far in the future.
	ErrTimestamp = errors.New("receiver: the timestamp is outside the tolerance")
	// ErrBody: the signed body is not an envelope of the schema version that this library supports.
	ErrBody = errors.New("receiver: the body is not an event envelope")
	// ErrMismatch: the headers name another event than the signed body.
	ErrMismatch = errors.New("receiver: headers and body name different events")
)

// Event is a verified callback. Its payload is left as JSON: unmarshal it into [api.SubmissionPayload] when
// ResourceType is [api.ResourceSubmission], and into [api.IncomingPayload] when it is [api.ResourceIncomingInvoice].
type Event = api.Event[json.RawMessage]

// Verifier verifies callbacks. It is safe for concurrent use while its fields do not change.
type Verifier struct {
	// Secrets holds the subscription's signing secret, and during a rotation those of the old and the new
	// subscription. A callback may be signed with any of them.
	Secrets []string
	// Tolerance is the greatest age of an event; 0 means [DefaultTolerance].
	Tolerance time.Duration
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// Signature returns the value of the signature header: "v1=" and the lowercase hex HMAC SHA-256 of timestamp, a dot and
// the raw body, keyed with all bytes of the secret, "whsec_" included. Receivers need it only to make callbacks for
// their own tests.
func Signature(key []byte, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

// Verify verifies a callback and returns its event. The body must be the bytes that were received: JSON that was
// decoded and encoded again has another signature.
//
// The signature is compared in constant time before anything else is checked. The event and delivery headers, which are
// not signed, must agree with the body. The error is one of [ErrNoSecret], [ErrSignature], [ErrTimestamp], [ErrBody]
// and [ErrMismatch]. For all but the first the right response is 401.
func (v Verifier) Verify(header http.Header, body []byte) (Event, error) {
	timestamp := header.Get(api.HeaderTimestamp)
	if err := v.checkSignature(header.Get(api.HeaderSignature), timestamp, body); err != nil {
		return Event{}, err
	}
	if err := v.checkTimestamp(timestamp); err != nil {
		return Event{}, err
	}
	var event Event
	if !utf8.Valid(body) {
		return Event{}, fmt.Errorf("%w: not UTF-8", ErrBody) // the decoder would replace what is not
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrBody, err)
	}
	if event.SchemaVersion != api.SchemaVersion || event.ID == "" || event.Event == "" {
		return Event{}, fmt.Errorf("%w: schema_version %q, id %q, event %q", ErrBody, event.SchemaVersion, event.ID,
			event.Event)
	}
	if header.Get(api.HeaderDelivery) != event.ID || header.Get(api.HeaderEvent) != string(event.Event) {
		return Event{}, ErrMismatch
	}
	return event, nil
}

// checkSignature always tries every secret, so that the time does not reveal which one matched.
func (v Verifier) checkSignature(signature, timestamp string, body []byte) error {
	if len(v.Secrets) == 0 {
		return ErrNoSecret
	}
	good := false
	for _, secret := range v.Secrets {
		if secret == "" {
			return ErrNoSecret // anybody could sign with it
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
		return fmt.Errorf("%w: %s is %s old", ErrTimestamp, timestamp, age.Round(time.Second))
	}
	return nil
}
