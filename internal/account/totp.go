package account

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/pquerna/otp/hotp"

	"quittance/internal/platform/secret"
)

// The second factor of a login: a code of an authenticator app, which is a time-based one-time password (RFC 6238) with
// SHA-1, six digits and steps of 30 seconds, because every app knows these; or a recovery code, which works once.
const (
	totpPeriod      = 30 * time.Second
	totpSecretBytes = 20 // RFC 4226, section 4: 160 bits
	// totpSkew is how many steps the clock of the authenticator may be ahead or behind (RFC 6238, section 5.2).
	totpSkew = 1

	// RecoveryCodes is how many recovery codes a person gets.
	RecoveryCodes     = 10
	recoveryCodeBytes = 10 // 80 bits: nobody guesses one, so a plain digest protects it
	recoveryGroup     = 4
)

// issuer names the service in an authenticator app.
const issuer = "Quittance"

// unpadded is the alphabet of a secret, as authenticator apps read it.
var unpadded = base32.StdEncoding.WithPadding(base32.NoPadding) //nolint:gochecknoglobals // a constant encoding

// NewTOTPSecret returns the secret that the service and an authenticator app share, in base32. It fails only if random
// does.
func NewTOTPSecret(random io.Reader) (secret.Text, error) {
	var raw [totpSecretBytes]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return secret.Text{}, fmt.Errorf("secret of an authenticator: %w", err)
	}
	return secret.New(unpadded.EncodeToString(raw[:])), nil
}

// TOTPAddress returns the otpauth address of a secret, which authenticator apps read from a QR code. person is the
// e-mail address that the app shows.
func TOTPAddress(shared secret.Text, person string) secret.Text {
	at := url.URL{Scheme: "otpauth", Host: "totp", Path: "/" + issuer + ":" + person,
		RawQuery: "secret=" + shared.Reveal() + "&issuer=" + issuer + "&algorithm=SHA1&digits=6&period=30"}
	return secret.New(at.String())
}

// TOTPStep returns the time step (RFC 6238, section 4.2) for which a code of an authenticator app is valid now, and
// false if the code is wrong. Steps up to last are used up: no code works twice. The caller stores the returned step in
// the transaction that the code allows, on the condition that the stored step is less. A code may contain spaces.
func TOTPStep(shared secret.Text, code string, now time.Time, last int64) (step int64, valid bool) {
	code = strings.Join(strings.Fields(code), "")
	current := now.Unix() / int64(totpPeriod/time.Second)
	for candidate := max(current-totpSkew, last+1, 0); candidate <= current+totpSkew; candidate++ {
		if hotp.Validate(code, uint64(candidate), shared.Reveal()) {
			return candidate, true
		}
	}
	return 0, false
}

// NewRecoveryCodes returns [RecoveryCodes] different codes such as ab2d-ef3h-ij4l-mn5p. It fails only if random does.
func NewRecoveryCodes(random io.Reader) ([]secret.Text, error) {
	codes := make([]secret.Text, RecoveryCodes)
	for n := range codes {
		var raw [recoveryCodeBytes]byte
		if _, err := io.ReadFull(random, raw[:]); err != nil {
			return nil, fmt.Errorf("recovery codes: %w", err)
		}
		text := strings.ToLower(unpadded.EncodeToString(raw[:]))
		groups := make([]string, 0, len(text)/recoveryGroup)
		for ; len(text) > 0; text = text[recoveryGroup:] {
			groups = append(groups, text[:recoveryGroup])
		}
		codes[n] = secret.New(strings.Join(groups, "-"))
	}
	return codes, nil
}

// RecoveryDigest returns the digest by which the recovery code of a person is stored, and whether the text has the form
// of one. Case, spaces and hyphens do not matter. person is the identifier of the code's owner, so that equal codes of
// two people have different digests.
func RecoveryDigest(person []byte, typed string) (digest [sha256.Size]byte, valid bool) {
	text := strings.ToUpper(strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, typed))
	raw, err := unpadded.DecodeString(text)
	if err != nil || len(raw) != recoveryCodeBytes || len(text) != unpadded.EncodedLen(recoveryCodeBytes) {
		return digest, false
	}
	return sha256.Sum256(fmt.Appendf(nil, "quittance/recovery/v1\x00%x\x00%s", person, text)), true
}

// IsTOTPSecret reports whether a text has the form of a secret that [NewTOTPSecret] returns.
func IsTOTPSecret(shared secret.Text) bool {
	raw, err := unpadded.DecodeString(shared.Reveal())
	return err == nil && len(raw) == totpSecretBytes
}
