package account

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"quittance/test/kit"
)

// key is a key in PHC form, for hashes that match no password.
const key = "seQ2T+K2WQIrX5WXyZmfiU3zDNMX5R9noIQQbEs8mzE"

// TestHasher checks that a hash is a PHC string with its own salt that matches its password and no other.
func TestHasher(t *testing.T) {
	h, ctx := NewHasher(2, DefaultCost()), t.Context()
	hash, err := h.Hash(ctx, Turn{}, password)
	kit.Must(t, err)
	if again, err := DefaultCost().Hash(password); err != nil || again == hash {
		t.Errorf("two hashes of one password are %q and %q, error %v", hash, again, err)
	}
	for given, want := range map[string]bool{password: true, password + " ": false, "": false} {
		if right, err := h.Matches(ctx, Turn{}, hash, given); err != nil || right != want {
			t.Errorf("%q matches: %v, error %v", given, right, err)
		}
	}
	read, err := parseHash(hash)
	kit.Must(t, err)
	if len(read.salt) != saltLength || len(read.key) != keyLength || read.String() != hash ||
		!strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hash %q of a salt of %d and a key of %d bytes", hash, len(read.salt), len(read.key))
	}
	if right, err := h.Matches(ctx, Turn{}, "", ""); err != nil || right {
		t.Errorf("the empty hash matches: %v, error %v", right, err)
	}
}

// TestOtherParameters checks that a hash is verified with its own parameters, whatever the configured cost is.
func TestOtherParameters(t *testing.T) {
	for _, known := range []string{
		// These were computed with Argon2id of the Python package cryptography 48.0.0, for a salt of sixteen times 's'.
		"$argon2id$v=19$m=19456,t=2,p=1$c3Nzc3Nzc3Nzc3Nzc3Nzcw$seQ2T+K2WQIrX5WXyZmfiU3zDNMX5R9noIQQbEs8mzE",
		"$argon2id$v=19$m=65536,t=3,p=4$c3Nzc3Nzc3Nzc3Nzc3Nzcw$2f5SavVaE2sBQUM6r1moWQrIG19oSHPsrrx39Zj+/dQ",
		"$argon2id$v=19$m=64,t=1,p=1$c3Nzc3Nzc3Nzc3Nzc3Nzcw$CEbBXgGea0QthEyE//qSCh/FhT6IPgZ1jhx9vv0F+qg",
	} {
		for _, own := range []Cost{DefaultCost(), {Memory: 12288, Passes: 3, Lanes: 2}} {
			h := NewHasher(1, own)
			if right, err := h.Matches(t.Context(), Turn{}, known, password); err != nil || !right {
				t.Errorf("%v: %s matches: %v, error %v", own, known, right, err)
			}
			if right, err := h.Matches(t.Context(), Turn{}, known, password+" "); err != nil || right {
				t.Errorf("%v: %s matches another password: %v, error %v", own, known, right, err)
			}
		}
	}
}

// TestHostileHash checks that a stored hash with too high a cost or an invalid format is rejected before any hash is
// computed.
func TestHostileHash(t *testing.T) {
	h := NewHasher(1, DefaultCost())
	h.derive = func(c Cost, _ string, _ []byte, _ uint32) []byte {
		t.Errorf("%v was computed", c)
		return nil
	}
	const salt = "c3Nzc3Nzc3Nzc3Nzc3Nzcw"
	for _, parameters := range []string{
		"m=104857600,t=1,p=1", "m=262145,t=1,p=1", "m=262144,t=5,p=1", "m=19456,t=4294967295,p=1",
		"m=19456,t=99999999999,p=1", "m=19456,t=2,p=17", "m=19456,t=2,p=255", "m=19456,t=2,p=256", "m=127,t=2,p=16",
		"m=0,t=2,p=1", "m=19456,t=0,p=1", "m=19456,t=2,p=0", "m=-1,t=2,p=1", "t=2,m=19456,p=1", "m=19456,t=2", "",
	} {
		hash := "$argon2id$v=19$" + parameters + "$" + salt + "$" + key
		if right, err := h.Matches(t.Context(), Turn{}, hash, password); err == nil || right {
			t.Errorf("%q: matches %v, error %v", hash, right, err)
		}
	}
	const prefix = "$argon2id$v=19$m=19456,t=2,p=1$"
	for _, hash := range []string{
		"plain", "$argon2i$v=19$m=19456,t=2,p=1$" + salt + "$" + key, "$argon2id$v=16$m=19456,t=2,p=1$" + salt + "$" + key,
		prefix, prefix + salt, prefix + "!$!", prefix + salt + "$!", prefix + salt + "$aGFzaA", prefix + "c2FsdA$" + key,
		prefix + salt + "$" + key + "$", prefix + salt + "$" + strings.Repeat("A", 90),
		prefix + salt + "$" + strings.Repeat("A", 4096), " " + prefix + salt + "$" + key, prefix + salt + "$" + key + "\n",
	} {
		if right, err := h.Matches(t.Context(), Turn{}, hash, password); err == nil || right {
			t.Errorf("%q: matches %v, error %v", hash, right, err)
		}
	}
}

// TestCost checks that a cost is parsed from the form that hashes contain, and that a cost that is too low or too high
// is rejected.
func TestCost(t *testing.T) {
	for text, fine := range map[string]bool{
		DefaultCost().String(): true, "m=47104,t=1,p=1": true, "m=12288,t=3,p=1": true, "m=9216,t=4,p=1": true,
		"m=7168,t=5,p=1": true, "m=65536,t=3,p=4": true, "m=262144,t=4,p=16": true, "m=19456,t=1,p=1": false,
		"m=7167,t=6,p=1": false, "m=4096,t=20,p=1": false, "m=262145,t=1,p=1": false, "m=262144,t=5,p=1": false,
		"m=19456,t=2,p=17": false,
	} {
		var cost Cost
		kit.Must(t, cost.UnmarshalText([]byte(text)))
		if cost.String() != text {
			t.Errorf("%s is read as %v", text, cost)
		}
		if err := cost.Check(); (err == nil) != fine {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", "m=19456", "m=19456,t=2,p=1,", "19456,2,1", "m=19456,t=2,p=x"} {
		if new(Cost).UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is a cost", text)
		}
	}
}

// TestEqualWork checks that a wrong password costs the same work for an unknown address, a hash of the configured cost,
// and a hash of a lower cost.
func TestEqualWork(t *testing.T) {
	own := Cost{Memory: 65536, Passes: 3, Lanes: 1}
	h := NewHasher(1, own)
	var work atomic.Uint64
	h.derive = func(c Cost, _ string, _ []byte, length uint32) []byte {
		work.Add(c.work())
		return make([]byte, length)
	}
	for _, parameters := range []string{"", own.String(), DefaultCost().String(), "m=7168,t=5,p=1", "m=64,t=1,p=1",
		"m=65536,t=1,p=4", "m=196607,t=1,p=1"} {
		hash := ""
		if parameters != "" {
			hash = "$argon2id$v=19$" + parameters + "$c3Nzc3Nzc3Nzc3Nzc3Nzcw$" + key
		}
		work.Store(0)
		if right, err := h.Matches(t.Context(), Turn{}, hash, password); err != nil || right {
			t.Errorf("%q matches: %v, error %v", hash, right, err)
		}
		// The rest of a pass is too small to be noticed.
		if got, want := work.Load(), own.work(); got > want || want-got >= uint64(own.Passes)*laneMemory {
			t.Errorf("%q: %d KiB were written, want %d", hash, got, want)
		}
	}
}

// TestHasherWithdraws checks that a caller whose context ends while it waits gets an error and uses no slot.
func TestHasherWithdraws(t *testing.T) {
	h := NewHasher(1, DefaultCost())
	release, err := h.turns.acquire(t.Context(), Turn{})
	kit.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h.Hash(ctx, Turn{}, password)
	wantErr(t, err, context.Canceled)
	release()
	_, err = h.Hash(t.Context(), Turn{}, password)
	kit.Must(t, err)
}
