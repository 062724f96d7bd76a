package webhook_test

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"quittance/internal/exchange/webhook"
)

// TestSignatureKnownValues checks signatures computed with OpenSSL: printf '%s' "$timestamp.$body" | openssl dgst
// -sha256 -hmac "$secret".
func TestSignatureKnownValues(t *testing.T) {
	const secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	const timestamp = "2026-03-01T09:30:00.123456Z"
	for body, want := range map[string]string{
		`{"schema_version":"service-webhook-v2","id":"0195500e-7c00-7000-8000-000000000001","event":"einvoice.status.changed"}`: "v1=3b9c546f113c4bf1ab36320643fa3792989e6c708d722ce5c4215aaad58c64bb",
		"":             "v1=81b4ac9affee889fefabdf520a7b6fccba17fc4ed1ca588ccbf6bf6ffdd54196",
		"\xff\x00\xc3": "v1=c91e8c5c8a4b5397a82d787d095db08529c1b431270d764df8cec7b44f46525e",
	} {
		if got := webhook.Signature([]byte(secret), timestamp, []byte(body)); got != want {
			t.Errorf("signature of %q is %s, want %s", body, got, want)
		}
	}
}

func TestFormatTimestampIsUTCWithMicroseconds(t *testing.T) {
	dubai := time.FixedZone("Dubai", 4*60*60)
	for want, at := range map[string]time.Time{
		"2026-03-01T09:30:00.000000Z": time.Date(2026, 3, 1, 13, 30, 0, 0, dubai),
		"2026-03-01T09:30:00.123456Z": time.Date(2026, 3, 1, 9, 30, 0, 123_456_999, time.UTC),
		"2026-12-31T23:59:59.999999Z": time.Date(2027, 1, 1, 3, 59, 59, 999_999_999, dubai),
	} {
		if got := webhook.FormatTimestamp(at); got != want {
			t.Errorf("FormatTimestamp(%v) = %s, want %s", at, got, want)
		}
	}
}

func TestNewSecret(t *testing.T) {
	counting := make([]byte, 32)
	for i := range counting {
		counting[i] = byte(i)
	}
	for want, random := range map[string]io.Reader{
		"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8": iotest.OneByteReader(bytes.NewReader(counting)),
		"whsec_" + strings.Repeat("_", 42) + "8":            bytes.NewReader(bytes.Repeat([]byte{0xff}, 32)),
	} {
		got, err := webhook.NewSecret(random)
		if err != nil || got != want {
			t.Errorf("NewSecret = %q, %v; want %q", got, err, want)
		}
		if !regexp.MustCompile(`^whsec_[A-Za-z0-9_-]{43}$`).MatchString(got) {
			t.Errorf("%q does not have the form of a secret", got)
		}
	}
}

func TestNewSecretFailsWithTooLittleRandomness(t *testing.T) {
	broken := errors.New("broken")
	for name, random := range map[string]io.Reader{
		"short":  bytes.NewReader(make([]byte, 31)),
		"broken": iotest.ErrReader(broken),
	} {
		if secret, err := webhook.NewSecret(random); err == nil || secret != "" {
			t.Errorf("%s: NewSecret = %q, %v; want an error and no secret", name, secret, err)
		}
	}
	if _, err := webhook.NewSecret(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("the error does not wrap its cause: %v", err)
	}
}
