package secret

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"strings"
)

// An API key has the form qk_ENVIRONMENT_RANDOMCHECKSUM, in which RANDOM is 256 bits of random and CHECKSUM the CRC-32
// (IEEE 802.3) of all characters before it. Both are numbers in base 62 (digits, lower-case and upper-case letters)
// with leading zeros. A scanner that finds the prefix can verify the checksum without asking the service, so that it
// reports no text by chance, and a double click selects a whole key.
const (
	// APIKeyPrefix begins every API key.
	APIKeyPrefix = "qk_"

	apiKeyRandom   = 43 // digits of 256 bits in base 62
	apiKeyChecksum = 6  // digits of 32 bits in base 62
	apiKeyDigits   = apiKeyRandom + apiKeyChecksum
)

// The environments that an API key may name.
const (
	APIKeySandbox    = "sandbox"
	APIKeyProduction = "production"
)

// apiKeyPrefixes are the beginnings of the keys of both environments.
var apiKeyPrefixes = [...]string{APIKeyPrefix + APIKeySandbox + "_", APIKeyPrefix + APIKeyProduction + "_"} //nolint:gochecknoglobals // a constant list

// The reasons why a text is not an API key.
var (
	// ErrNoAPIKey says that a text does not begin like an API key.
	ErrNoAPIKey = errors.New("secret: not an API key")
	// ErrMistypedAPIKey says that a text begins like an API key, but is incomplete or has a wrong checksum.
	ErrMistypedAPIKey = errors.New("secret: an API key with a wrong length or checksum")
)

// NewAPIKey returns a new API key for an environment, [APIKeySandbox] or [APIKeyProduction]. It fails if random does,
// or for another environment.
func NewAPIKey(environment string, random io.Reader) (Text, error) {
	if environment != APIKeySandbox && environment != APIKeyProduction {
		return Text{}, fmt.Errorf("secret: no API key is for the environment %q", environment)
	}
	var raw [tokenBytes]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return Text{}, fmt.Errorf("secret: new API key: %w", err)
	}
	text := APIKeyPrefix + environment + "_" + base62(new(big.Int).SetBytes(raw[:]), apiKeyRandom)
	return New(text + apiKeyChecksumOf(text)), nil
}

// base62 returns a number with at least the given count of digits.
func base62(n *big.Int, digits int) string {
	text := n.Text(62)
	return strings.Repeat("0", max(0, digits-len(text))) + text
}

func apiKeyChecksumOf(text string) string {
	return base62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(text)))), apiKeyChecksum)
}

// ParseAPIKey returns the environment of an API key. The error is [ErrNoAPIKey] or [ErrMistypedAPIKey]. A key without
// an error has the form of one; only a look-up tells whether it was ever issued.
func ParseAPIKey(t Text) (environment string, err error) {
	text := t.Reveal()
	if !strings.HasPrefix(text, APIKeyPrefix) {
		return "", ErrNoAPIKey
	}
	for _, prefix := range apiKeyPrefixes {
		digits, found := strings.CutPrefix(text, prefix)
		if !found || len(digits) != apiKeyDigits || strings.ContainsFunc(digits, notBase62) {
			continue
		}
		if unsigned := len(text) - apiKeyChecksum; text[unsigned:] == apiKeyChecksumOf(text[:unsigned]) {
			return strings.TrimSuffix(strings.TrimPrefix(prefix, APIKeyPrefix), "_"), nil
		}
	}
	return "", ErrMistypedAPIKey
}

func notBase62(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// APIKeyHint returns the two parts of a key that may be shown and stored: its prefix up to the environment, and its
// last four characters. They are part of the checksum, so that they give away 24 bits of 256 at most.
func APIKeyHint(t Text) (prefix, lastFour string) {
	text := t.Reveal()
	const shown = 4
	return text[:len(text)-apiKeyDigits], text[len(text)-shown:]
}

// ContainsAPIKey reports whether a text contains an API key whose checksum is right, so that a key that was sent in the
// wrong place is noticed and no other text is.
func ContainsAPIKey(text []byte) bool {
	for {
		at := bytes.Index(text, []byte(APIKeyPrefix))
		if at < 0 {
			return false
		}
		text = text[at:]
		for _, prefix := range apiKeyPrefixes {
			if length := len(prefix) + apiKeyDigits; len(text) >= length {
				if _, err := ParseAPIKey(New(string(text[:length]))); err == nil {
					return true
				}
			}
		}
		text = text[len(APIKeyPrefix):]
	}
}
