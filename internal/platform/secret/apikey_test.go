package secret_test

import (
	"crypto/rand"
	"errors"
	"hash/crc32"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"quittance/internal/platform/secret"
)

// TestNewAPIKeyUses256Bits: a known source of randomness gives a known key, whose parts other programs can compute.
func TestNewAPIKeyUses256Bits(t *testing.T) {
	key, err := secret.NewAPIKey(secret.APIKeySandbox, counting())
	if err != nil {
		t.Fatal(err)
	}
	text := key.Reveal()
	if !regexp.MustCompile(`^qk_sandbox_[0-9A-Za-z]{49}$`).MatchString(text) {
		t.Fatalf("key %q has the wrong form", text)
	}
	random, ok := new(big.Int).SetString(text[len("qk_sandbox_"):len(text)-6], 62)
	if !ok || random.Text(16) != strings.TrimLeft("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		"0") {
		t.Errorf("the random part of %q is %x", text, random)
	}
	checksum, ok := new(big.Int).SetString(text[len(text)-6:], 62)
	if !ok || checksum.Uint64() != uint64(crc32.ChecksumIEEE([]byte(text[:len(text)-6]))) {
		t.Errorf("the checksum of %q is %d", text, checksum)
	}
	if prefix, last := secret.APIKeyHint(key); prefix != "qk_sandbox_" || !strings.HasSuffix(text, last) ||
		len(last) != 4 {
		t.Errorf("hint %q %q of %q", prefix, last, text)
	}
}

func TestAPIKeysDiffer(t *testing.T) {
	seen := map[string]bool{}
	const rounds = 200
	for range rounds {
		for _, environment := range []string{secret.APIKeySandbox, secret.APIKeyProduction} {
			key := newAPIKey(t, environment)
			if got, err := secret.ParseAPIKey(key); err != nil || got != environment {
				t.Fatalf("ParseAPIKey(%s) = %q, %v; want %q", key.Reveal(), got, err, environment)
			}
			seen[key.Reveal()] = true
		}
	}
	if len(seen) != 2*rounds {
		t.Errorf("%d keys differ, want %d", len(seen), 2*rounds)
	}
}

func TestNewAPIKeyErrors(t *testing.T) {
	broken := errors.New("broken")
	if key, err := secret.NewAPIKey(secret.APIKeySandbox, iotest.ErrReader(broken)); !errors.Is(err, broken) ||
		!key.IsZero() {
		t.Errorf("without random: %v", err)
	}
	if key, err := secret.NewAPIKey("local", rand.Reader); err == nil || !key.IsZero() {
		t.Error("a key for an environment that has none")
	}
}

// TestParseAPIKeyRejectsEveryTypo: a key with one wrong, missing or further character is mistyped, whatever it is.
func TestParseAPIKeyRejectsEveryTypo(t *testing.T) {
	text := newAPIKey(t, secret.APIKeyProduction).Reveal()
	try := func(typed string) {
		t.Helper()
		if environment, err := secret.ParseAPIKey(secret.New(typed)); err == nil || environment != "" {
			t.Errorf("%q (of %q) is accepted for %q", typed, text, environment)
		}
	}
	for i := range len(text) {
		try(text[:i] + text[i+1:])
		try(text[:i])
		for _, c := range []string{"0", "z", "A", "-", "_", " ", "\x00", "é"} {
			if c != text[i:i+1] {
				try(text[:i] + c + text[i+1:])
			}
			try(text[:i] + c + text[i:])
		}
	}
	try(strings.Replace(text, "production", "sandbox", 1))
	try(strings.ToLower(text) + " ")
	for typed, want := range map[string]error{"": secret.ErrNoAPIKey, "qt_" + text[3:]: secret.ErrNoAPIKey,
		"qk_": secret.ErrMistypedAPIKey, text + "0": secret.ErrMistypedAPIKey} {
		if _, err := secret.ParseAPIKey(secret.New(typed)); !errors.Is(err, want) {
			t.Errorf("ParseAPIKey(%q): %v, want %v", typed, err, want)
		}
	}
}

func TestContainsAPIKey(t *testing.T) {
	key := newAPIKey(t, secret.APIKeySandbox).Reveal()
	for text, want := range map[string]bool{
		key: true, `{"description":"` + key + `"}`: true, "qk_" + key: true, "qk_sandbox_" + key + "0": true,
		key + key[:20]: true, "": false, key[1:]: false, key[:len(key)-1]: false, "qk_sandbox_": false,
		"the prefix of a key is qk_sandbox_, and qk_production_ in production": false,
		strings.Replace(key, "_sandbox_", "_production_", 1):                   false,
		"qk_sandbox_" + strings.Repeat("0", 49):                                false,
	} {
		if got := secret.ContainsAPIKey([]byte(text)); got != want {
			t.Errorf("ContainsAPIKey(%q) = %v, want %v", text, got, want)
		}
	}
}

// FuzzParseAPIKey: no text makes the parser panic, and what it accepts is what [secret.NewAPIKey] makes.
func FuzzParseAPIKey(f *testing.F) {
	f.Add("qk_sandbox_")
	f.Add("qk_production_" + strings.Repeat("Z", 49))
	f.Add("qk_sandbox_" + strings.Repeat("\xff", 49))
	for _, environment := range []string{secret.APIKeySandbox, secret.APIKeyProduction} {
		f.Add(newAPIKey(f, environment).Reveal())
	}
	form := regexp.MustCompile(`^qk_(sandbox|production)_[0-9A-Za-z]{49}$`)
	f.Fuzz(func(t *testing.T, text string) {
		environment, err := secret.ParseAPIKey(secret.New(text))
		if (err == nil) != (environment != "") {
			t.Fatalf("ParseAPIKey(%q) = %q, %v", text, environment, err)
		}
		if err == nil && (!form.MatchString(text) || !strings.HasPrefix(text, "qk_"+environment+"_")) {
			t.Errorf("accepted %q for %q", text, environment)
		}
		if found := secret.ContainsAPIKey([]byte(text)); err == nil && !found {
			t.Errorf("no key is found in the key %q", text)
		}
	})
}

func newAPIKey(t testing.TB, environment string) secret.Text {
	t.Helper()
	key, err := secret.NewAPIKey(environment, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
