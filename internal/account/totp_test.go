package account_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"quittance/internal/account"
	"quittance/internal/platform/secret"
)

// rfcSecret is the key of RFC 6238, appendix B, in base32.
const rfcSecret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

// TestTOTPOfTheRFC checks the values of RFC 6238, appendix B, of which an authenticator app shows the last six digits.
func TestTOTPOfTheRFC(t *testing.T) {
	for _, vector := range []struct {
		at   int64
		code string
	}{{59, "287082"}, {1111111109, "081804"}, {1111111111, "050471"}, {1234567890, "005924"}, {2000000000, "279037"},
		{20000000000, "353130"}} {
		step, valid := account.TOTPStep(secret.New(rfcSecret), vector.code, time.Unix(vector.at, 0), 0)
		if !valid || step != vector.at/30 {
			t.Errorf("%d: step %d, %v", vector.at, step, valid)
		}
	}
}

func TestTOTPStep(t *testing.T) {
	shared, now := secret.New(rfcSecret), time.Unix(1111111109, 0) // the last second but two of step 37037036
	const step, code = 37037036, "081804"
	for _, c := range []struct {
		name  string
		code  string
		at    time.Duration
		last  int64
		valid bool
	}{
		{"now", code, 0, 0, true},
		{"with a space", "081 804", 0, 0, true},
		{"a step late", code, 30 * time.Second, 0, true},
		{"a step early", code, -30 * time.Second, 0, true},
		{"two steps late", code, 60 * time.Second, 0, false},
		{"two steps early", code, -60 * time.Second, 0, false},
		{"after an earlier code", code, 0, step - 1, true},
		{"a second time", code, 0, step, false},
		{"a second time in the next step", code, 30 * time.Second, step, false},
		{"after a later code", code, 0, step + 1, false},
		{"another code", "081805", 0, 0, false},
		{"no code", "", 0, 0, false},
		{"five digits", "08180", 0, 0, false},
		{"the eight digits of the standard", "07081804", 0, 0, false},
		{"letters", "o81804", 0, 0, false},
		{"hostile", "081804\x00' or 1=1 --", 0, 0, false},
	} {
		got, valid := account.TOTPStep(shared, c.code, now.Add(c.at), c.last)
		if valid != c.valid || valid && got != step {
			t.Errorf("%s: step %d, %v", c.name, got, valid)
		}
	}
	if _, valid := account.TOTPStep(shared, "755224", time.Unix(0, 0), -1); !valid { // RFC 4226, appendix D
		t.Error("the code of step 0 is not valid")
	}
}

// TestNewTOTPSecret checks that secrets have 160 bits, differ, and come with an address that authenticator apps read.
func TestNewTOTPSecret(t *testing.T) {
	shared, err := account.NewTOTPSecret(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := account.NewTOTPSecret(rand.Reader)
	if err != nil || other.Reveal() == shared.Reveal() || len(shared.Reveal()) != 32 {
		t.Fatalf("secrets of %d characters, %v", len(shared.Reveal()), err)
	}
	at, err := url.Parse(account.TOTPAddress(shared, "zoë+x@example.com").Reveal())
	if err != nil {
		t.Fatal(err)
	}
	q := at.Query()
	if at.Scheme != "otpauth" || at.Host != "totp" || at.Path != "/Quittance:zoë+x@example.com" ||
		q.Get("secret") != shared.Reveal() || q.Get("issuer") != "Quittance" {
		t.Errorf("address %s", at.Redacted())
	}
	broken := errors.New("broken")
	if _, err := account.NewTOTPSecret(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a broken source of random: %v", err)
	}
}

// TestRecoveryCodes checks that ten codes differ, that people may type them carelessly, and that each belongs to its
// owner.
func TestRecoveryCodes(t *testing.T) {
	codes, err := account.NewRecoveryCodes(rand.Reader)
	if err != nil || len(codes) != account.RecoveryCodes {
		t.Fatalf("%d codes, %v", len(codes), err)
	}
	ada, bob := []byte("ada"), []byte("bob")
	digests := map[[32]byte]bool{}
	for _, code := range codes {
		digest, valid := account.RecoveryDigest(ada, code.Reveal())
		careless, alsoValid := account.RecoveryDigest(ada, " "+strings.ToUpper(strings.ReplaceAll(code.Reveal(), "-", " ")))
		others, _ := account.RecoveryDigest(bob, code.Reveal())
		if !valid || !alsoValid || careless != digest || others == digest || len(code.Reveal()) != 19 {
			t.Errorf("code of %d characters: %v, %v", len(code.Reveal()), valid, alsoValid)
		}
		digests[digest] = true
	}
	if len(digests) != account.RecoveryCodes {
		t.Errorf("%d different codes", len(digests))
	}
	for _, typed := range []string{"", "123456", "ab2d-ef3h-ij4l-mn5", "ab2d-ef3h-ij4l-mn5pp", "ab1d-ef3h-ij4l-mn5p",
		"ab2d-ef3h-ij4l-mn5\x00", strings.Repeat("a", 1<<16)} {
		if _, valid := account.RecoveryDigest(ada, typed); valid {
			t.Errorf("%.40q is accepted", typed)
		}
	}
	broken := errors.New("broken")
	if _, err := account.NewRecoveryCodes(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a broken source of random: %v", err)
	}
	if bytes.Equal([]byte(codes[0].String()), []byte(codes[0].Reveal())) {
		t.Error("a code prints itself")
	}
}
