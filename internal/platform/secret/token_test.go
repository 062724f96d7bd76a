package secret_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"quittance/internal/platform/secret"
)

// counting returns the bytes 0, 1, 2 …, as a known source of randomness.
func counting() io.Reader {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return bytes.NewReader(all)
}

func TestNewTokenSpendsAll256Bits(t *testing.T) {
	token, err := secret.NewToken(counting())
	if err != nil {
		t.Fatal(err)
	}
	const want = "qt_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	if token.Reveal() != want {
		t.Fatalf("token %q, want %q", token.Reveal(), want)
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(want, secret.TokenPrefix))
	if err != nil || len(raw) != 32 {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	// printf qt_AAEC… | openssl sha256
	const wantDigest = "76bad3e7c34abcaa44048b1b621f7da8dbbb6be0dffbf549183dc2be801d6ba4"
	if digest := secret.Digest(token); hex.EncodeToString(digest[:]) != wantDigest {
		t.Errorf("Digest = %x, want %s", digest, wantDigest)
	}
}

func TestTokensAndPasswordsDiffer(t *testing.T) {
	form := regexp.MustCompile(`^[abcdefghjkmnpqrstuvwxyz2-9]{4}(-[abcdefghjkmnpqrstuvwxyz2-9]{4}){6}$`)
	tokens, passwords, letters := map[string]bool{}, map[string]bool{}, map[rune]bool{}
	const rounds = 200
	for range rounds {
		token, err := secret.NewToken(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		tokens[token.Reveal()] = true
		password, err := secret.NewPassword(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if !form.MatchString(password.Reveal()) {
			t.Fatalf("password %q has the wrong form", password.Reveal())
		}
		passwords[password.Reveal()] = true
		for _, letter := range password.Reveal() {
			letters[letter] = true
		}
	}
	if len(tokens) != rounds || len(passwords) != rounds {
		t.Errorf("%d tokens and %d passwords differ, want %d", len(tokens), len(passwords), rounds)
	}
	if bits := 28 * math.Log2(float64(len(letters)-1)); bits < 128 {
		t.Errorf("a password has %.1f bits, want at least 128", bits)
	}
}

func TestShortRandomIsAnError(t *testing.T) {
	broken := errors.New("broken")
	for name, random := range map[string]io.Reader{"empty": strings.NewReader(""), "short": strings.NewReader("123"),
		"broken": iotest.ErrReader(broken)} {
		if token, err := secret.NewToken(random); err == nil || !token.IsZero() {
			t.Errorf("%s: a token without random", name)
		}
		if password, err := secret.NewPassword(random); err == nil || !password.IsZero() {
			t.Errorf("%s: a password without random", name)
		}
	}
	if _, err := secret.NewToken(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error %v does not wrap the cause", err)
	}
}
