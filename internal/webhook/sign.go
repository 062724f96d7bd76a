package webhook

import (
	"encoding/base64"
	"fmt"
	"io"
	"time"

	"quittance/client/receiver"
	"quittance/internal/store"
)

// secretPrefix marks a signing secret, so that scanners for leaked secrets recognise it. It is part of the key.
const secretPrefix = "whsec_"

// NewSecret draws the signing secret of a subscription from random: "whsec_" and 43 characters of base64url, which
// are 256 bits. The HMAC key is all its ASCII bytes, prefix included (contract, section 9). The error is random's.
func NewSecret(random io.Reader) (string, error) {
	var key [32]byte
	if _, err := io.ReadFull(random, key[:]); err != nil {
		return "", fmt.Errorf("draw a signing secret: %w", err)
	}
	return secretPrefix + base64.RawURLEncoding.EncodeToString(key[:]), nil
}

// FormatTimestamp writes an event's time as it stands in the timestamp header and in occurred_at: RFC 3339 in UTC with
// microseconds; finer parts are cut off.
func FormatTimestamp(t time.Time) string { return t.UTC().Format(store.TimestampLayout) }

// Signature returns the signature header of a delivery (specification, part 6.3). It is the function that the
// receiver library checks with, so that the two ends cannot come to differ.
func Signature(key []byte, timestamp string, body []byte) string {
	return receiver.Signature(key, timestamp, body)
}
