package secret

import (
	"crypto/sha256"
	"crypto/subtle"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// redacted is printed in place of a secret.
const redacted = "[redacted]"

// ErrSecret is returned by every attempt to encode, store or transmit a secret other than through [Text.Reveal].
var ErrSecret = errors.New("secret: a secret value cannot be encoded")

// opaque is embedded in types that must not be shown. Printing succeeds and writes "[redacted]", because a log line
// must not fail. Encoding fails, because a "[redacted]" that is stored or sent would silently destroy the value.
type opaque struct{}

// String returns "[redacted]".
func (opaque) String() string { return redacted }

// GoString returns "[redacted]".
func (opaque) GoString() string { return redacted }

// Format writes "[redacted]" for every verb and flag.
func (opaque) Format(f fmt.State, _ rune) {
	// Format cannot return an error; fmt.State keeps that of its own writer.
	_, _ = io.WriteString(f, redacted)
}

// LogValue returns "[redacted]" as the value of a log attribute.
func (opaque) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON returns [ErrSecret].
func (opaque) MarshalJSON() ([]byte, error) { return nil, ErrSecret }

// MarshalText returns [ErrSecret].
func (opaque) MarshalText() ([]byte, error) { return nil, ErrSecret }

// MarshalBinary returns [ErrSecret].
func (opaque) MarshalBinary() ([]byte, error) { return nil, ErrSecret }

// GobEncode returns [ErrSecret].
func (opaque) GobEncode() ([]byte, error) { return nil, ErrSecret }

// Value returns [ErrSecret], so that a secret cannot be a SQL parameter: store a [Digest] or a sealed value.
func (opaque) Value() (driver.Value, error) { return nil, ErrSecret }

// Text is a secret text. The zero value is the empty secret. It is safe for concurrent use.
//
// The content is inside a closure, out of reach of fmt, which calls no methods on unexported fields of a struct, and of
// printers that follow every pointer. As a consequence == does not compile; use [Text.Equal].
type Text struct {
	opaque
	content func() string
}

// New returns s as a secret.
func New(s string) Text {
	if s == "" {
		return Text{}
	}
	return Text{content: func() string { return s }}
}

// Reveal returns the content. It is the only exit: pass the result directly to the function that needs it, and do not
// store it.
func (t Text) Reveal() string {
	if t.content == nil {
		return ""
	}
	return t.content()
}

// IsZero reports whether the secret is empty.
func (t Text) IsZero() bool { return t.content == nil }

// Equal reports whether two secrets are the same. Its run time depends on the lengths only, not on where they differ.
func (t Text) Equal(other Text) bool {
	a, b := sha256.Sum256([]byte(t.Reveal())), sha256.Sum256([]byte(other.Reveal()))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// fingerprintLabel separates a fingerprint from every other digest of the same secret, above all from [Digest].
const fingerprintLabel = "quittance/secret/fingerprint/v1\x00"

// Fingerprint returns 12 lowercase hex characters by which people recognise a provider credential. It may be shown and
// logged. It is meant for credentials of high entropy: a person who guesses a secret can confirm the guess with it.
func Fingerprint(t Text) string {
	sum := sha256.Sum256([]byte(fingerprintLabel + t.Reveal()))
	return hex.EncodeToString(sum[:6])
}
