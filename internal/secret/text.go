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

// redacted stands wherever a secret would have been printed.
const redacted = "[redacted]"

// ErrSecret is returned by every attempt to encode, store or transmit a secret other than through [Text.Reveal].
var ErrSecret = errors.New("secret: a secret value is not encoded")

// opaque is embedded in whatever must not be shown. Printing succeeds and shows nothing, because a log line must not
// fail; encoding fails, because a stored or sent "[redacted]" would silently destroy the value.
type opaque struct{}

// String returns "[redacted]".
func (opaque) String() string { return redacted }

// GoString returns "[redacted]".
func (opaque) GoString() string { return redacted }

// Format writes "[redacted]" for every verb and flag.
func (opaque) Format(f fmt.State, _ rune) {
	// fmt.State keeps the error of its own writer; Format has nowhere to return it.
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

// Value returns [ErrSecret], so that a secret is no SQL parameter: store a [Digest] or a sealed value.
func (opaque) Value() (driver.Value, error) { return nil, ErrSecret }

// Text is a secret text. The zero value is the empty secret. It is safe for concurrent use.
//
// The content stands behind a function: neither fmt inside a struct with unexported fields, where no method is called,
// nor a printer that follows every pointer can reach it. It also means that == does not compile; use [Text.Equal].
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

// Reveal returns the content. It is the only exit: pass the result straight to what needs it, and keep it nowhere.
func (t Text) Reveal() string {
	if t.content == nil {
		return ""
	}
	return t.content()
}

// IsZero tells whether the secret is empty.
func (t Text) IsZero() bool { return t.content == nil }

// Equal tells whether two secrets are the same. Its time depends on the lengths only, not on where they differ.
func (t Text) Equal(other Text) bool {
	a, b := sha256.Sum256([]byte(t.Reveal())), sha256.Sum256([]byte(other.Reveal()))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// fingerprintLabel separates a fingerprint from every other digest of the same secret, above all from [Digest].
const fingerprintLabel = "quittance/secret/fingerprint/v1\x00"

// Fingerprint returns 12 lowercase hex characters by which people recognise a provider credential; it may be shown and
// logged. It is meant for credentials of high entropy: whoever can guess a secret can confirm the guess with it.
func Fingerprint(t Text) string {
	sum := sha256.Sum256([]byte(fingerprintLabel + t.Reveal()))
	return hex.EncodeToString(sum[:6])
}
