package webhook

import (
	"encoding/base64"
	"fmt"
	"io"
	"time"

	"quittance/client/receiver"
	"quittance/internal/ledger/events"
)

// secretPrefix begins every signing secret, so that scanners for leaked secrets recognise it. It is part of the key.
const secretPrefix = "whsec_"

// NewSecret returns a new signing secret: "whsec_" and 256 random bits as 43 characters of base64url. The HMAC key is
// all its ASCII bytes, including the prefix. It fails only if random does.
func NewSecret(random io.Reader) (string, error) {
	var key [32]byte
	if _, err := io.ReadFull(random, key[:]); err != nil {
		return "", fmt.Errorf("generate a signing secret: %w", err)
	}
	return secretPrefix + base64.RawURLEncoding.EncodeToString(key[:]), nil
}

// FormatTimestamp formats the time of an event for the timestamp header and occurred_at: RFC 3339 in UTC, truncated to
// microseconds.
func FormatTimestamp(t time.Time) string { return t.UTC().Format(events.TimestampLayout) }

// Signature returns the signature header of a delivery. It calls the function that the receiver library
// verifies with, so that the two cannot differ.
func Signature(key []byte, timestamp string, body []byte) string {
	return receiver.Signature(key, timestamp, body)
}
