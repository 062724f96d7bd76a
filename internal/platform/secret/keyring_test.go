package secret_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"quittance/internal/platform/secret"
)

func generate(t testing.TB) *secret.Keyring {
	t.Helper()
	ring, err := secret.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func rotate(t testing.TB, ring *secret.Keyring) *secret.Keyring {
	t.Helper()
	added, id, err := ring.Add()
	if err != nil {
		t.Fatal(err)
	}
	next, err := added.Promote(id)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func binding() secret.Binding {
	return secret.Binding{Tenant: []byte("tenant-1"), Table: "provider_connection", Column: "credential",
		Row: []byte("row-1")}
}

func TestSealedValueOpensWithItsOwnBindingOnly(t *testing.T) {
	ring := generate(t)
	sealed, err := ring.SealText(secret.New(canary), binding())
	if err != nil {
		t.Fatal(err)
	}
	assertHidden(t, "sealed value", string(sealed))
	opened, err := ring.OpenText(sealed, binding())
	if err != nil || opened.Reveal() != canary {
		t.Fatalf("opened %q, %v", opened.Reveal(), err)
	}
	moves := map[string]func(*secret.Binding){
		"another tenant":   func(p *secret.Binding) { p.Tenant = []byte("tenant-2") },
		"no tenant":        func(p *secret.Binding) { p.Tenant = nil },
		"another table":    func(p *secret.Binding) { p.Table = "subscription" },
		"another column":   func(p *secret.Binding) { p.Column = "secret" },
		"another row":      func(p *secret.Binding) { p.Row = []byte("row-2") },
		"a longer row":     func(p *secret.Binding) { p.Row = []byte("row-1\x00") },
		"a shifted border": func(p *secret.Binding) { p.Table, p.Column = "provider_connectionc", "redential" },
	}
	for name, move := range moves {
		elsewhere := binding()
		move(&elsewhere)
		if plain, err := ring.Open(sealed, elsewhere); !errors.Is(err, secret.ErrSealed) || plain != nil {
			t.Errorf("%s: opened %q, %v, want ErrSealed", name, plain, err)
		}
	}
}

func TestBindingsAreUnambiguous(t *testing.T) {
	ring := generate(t)
	part := rapid.StringOfN(rapid.SampledFrom([]rune("ab\x00\x01")), 0, 4, -1)
	filled := rapid.StringOfN(rapid.SampledFrom([]rune("ab\x00\x01")), 1, 4, -1)
	bindings := rapid.Custom(func(t *rapid.T) secret.Binding {
		return secret.Binding{Tenant: []byte(part.Draw(t, "tenant")), Table: filled.Draw(t, "table"),
			Column: filled.Draw(t, "column"), Row: []byte(filled.Draw(t, "row"))}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := bindings.Draw(t, "a"), bindings.Draw(t, "b")
		same := bytes.Equal(a.Tenant, b.Tenant) && a.Table == b.Table && a.Column == b.Column && bytes.Equal(a.Row, b.Row)
		sealed, err := ring.Seal([]byte("x"), a)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ring.Open(sealed, b); (err == nil) != same {
			t.Fatalf("a value sealed with %q, opened with %q: %v", a, b, err)
		}
	})
}

func TestIncompleteBindingIsRejected(t *testing.T) {
	ring := generate(t)
	sealed, err := ring.Seal([]byte("x"), binding())
	if err != nil {
		t.Fatal(err)
	}
	for name, empty := range map[string]func(*secret.Binding){
		"table":  func(p *secret.Binding) { p.Table = "" },
		"column": func(p *secret.Binding) { p.Column = "" },
		"row":    func(p *secret.Binding) { p.Row = nil },
	} {
		at := binding()
		empty(&at)
		if _, err := ring.Seal([]byte("x"), at); !errors.Is(err, secret.ErrBinding) {
			t.Errorf("seal without %s: %v", name, err)
		}
		if _, err := ring.Open(sealed, at); !errors.Is(err, secret.ErrBinding) {
			t.Errorf("open without %s: %v", name, err)
		}
	}
}

func TestAlteredValueDoesNotOpen(t *testing.T) {
	ring := generate(t)
	plain := []byte("plain text")
	sealed, err := ring.Seal(plain, binding())
	if err != nil {
		t.Fatal(err)
	}
	if len(sealed) != len(plain)+33 {
		t.Errorf("sealed value has %d bytes, want %d", len(sealed), len(plain)+33)
	}
	again, err := ring.Seal(plain, binding())
	if err != nil || bytes.Equal(sealed, again) {
		t.Errorf("sealing twice gives the same bytes (%v)", err)
	}
	for n := range sealed {
		if _, err := ring.Open(sealed[:n], binding()); !errors.Is(err, secret.ErrSealed) {
			t.Errorf("cut to %d bytes: %v, want ErrSealed", n, err)
		}
		altered := slices.Clone(sealed)
		altered[n] ^= 1
		want := secret.ErrSealed
		if 1 <= n && n <= 4 { // the number of the key
			want = secret.ErrUnknownKey
		}
		if _, err := ring.Open(altered, binding()); !errors.Is(err, want) {
			t.Errorf("byte %d altered: %v, want %v", n, err, want)
		}
	}
	if _, err := ring.Open(append(slices.Clone(sealed), 0), binding()); !errors.Is(err, secret.ErrSealed) {
		t.Errorf("one byte more: %v, want ErrSealed", err)
	}
	if _, err := generate(t).Open(sealed, binding()); !errors.Is(err, secret.ErrUnknownKey) {
		t.Errorf("under a strange keyring: %v, want ErrUnknownKey", err)
	}
}

func TestRotationKeepsOldValuesReadable(t *testing.T) {
	old := generate(t)
	sealed, err := old.Seal([]byte("old"), binding())
	if err != nil {
		t.Fatal(err)
	}
	ring := rotate(t, old)
	if plain, err := ring.Open(sealed, binding()); err != nil || string(plain) != "old" {
		t.Fatalf("opened %q, %v", plain, err)
	}
	fresh, err := ring.Seal([]byte("new"), binding())
	if err != nil {
		t.Fatal(err)
	}
	if !ring.NeedsReseal(sealed) || ring.NeedsReseal(fresh) || old.NeedsReseal(sealed) || !ring.NeedsReseal([]byte("?")) {
		t.Error("NeedsReseal does not follow the primary key")
	}
	if id, ok := secret.KeyID(fresh); !ok || id != ring.PrimaryID() {
		t.Errorf("KeyID = %d, %v, want %d", id, ok, ring.PrimaryID())
	}
	if id, ok := secret.KeyID(sealed); !ok || id != old.PrimaryID() {
		t.Errorf("KeyID = %d, %v, want %d", id, ok, old.PrimaryID())
	}
	if _, err := old.Open(fresh, binding()); !errors.Is(err, secret.ErrUnknownKey) {
		t.Errorf("the old keyring opens a new value: %v", err)
	}
	keys := ring.List()
	want := []secret.Key{{ID: old.PrimaryID(), Status: "enabled"},
		{ID: ring.PrimaryID(), Status: "enabled", Primary: true}}
	if !slices.Equal(keys, want) {
		t.Errorf("List = %+v, want %+v", keys, want)
	}
	keys[0].ID = 0
	if ring.List()[0].ID == 0 {
		t.Error("List gives its own memory away")
	}
	if len(old.List()) != 1 {
		t.Error("Add or Promote changed the keyring it was called on")
	}
}

func TestKeyringShowsNothing(t *testing.T) {
	ring := generate(t)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if got := fmt.Sprintf(format, ring); got != "[redacted]" {
			t.Errorf("%s prints %q", format, got)
		}
		if got := fmt.Sprintf(format, *ring); got != "[redacted]" {
			t.Errorf("%s of the value prints %q", format, got)
		}
	}
	if _, err := json.Marshal(ring); !errors.Is(err, secret.ErrSecret) {
		t.Errorf("encoding a keyring: %v, want ErrSecret", err)
	}
}

func TestKeyringIsSafeForConcurrentUse(t *testing.T) {
	ring := generate(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			at := binding()
			at.Row = []byte{byte(i)}
			plain := []byte{byte(i)}
			sealed, err := ring.Seal(plain, at)
			if err != nil {
				t.Error(err)
				return
			}
			if _, _, err := ring.Add(); err != nil {
				t.Error(err)
			}
			if opened, err := ring.Open(sealed, at); err != nil || !bytes.Equal(opened, plain) {
				t.Errorf("opened %q, %v", opened, err)
			}
		})
	}
	group.Wait()
}

func TestSealAndOpenAnyBytes(t *testing.T) {
	ring := generate(t)
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		sealed, err := ring.Seal(plain, binding())
		if err != nil {
			t.Fatal(err)
		}
		opened, err := ring.Open(sealed, binding())
		if err != nil || !bytes.Equal(opened, plain) {
			t.Fatalf("opened %q, %v, want %q", opened, err, plain)
		}
	})
}

// FuzzOpen checks that Open rejects bytes that were not sealed, and does not panic.
func FuzzOpen(f *testing.F) {
	ring := generate(f)
	sealed, err := ring.Seal([]byte("plain"), binding())
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(nil))
	f.Add([]byte{1})
	f.Add(sealed[:5])
	f.Add(sealed[:len(sealed)-1])
	f.Add(bytes.Repeat([]byte{1}, 64))
	f.Fuzz(func(t *testing.T, tail []byte) {
		// Bytes without the key number never reach the cipher, so they are also tried after it.
		for _, forged := range [][]byte{tail, append(slices.Clone(sealed[:5]), tail...)} {
			plain, err := ring.Open(forged, binding())
			if err == nil || plain != nil {
				t.Fatalf("%x opens as %q", forged, plain)
			}
			if !errors.Is(err, secret.ErrSealed) && !errors.Is(err, secret.ErrUnknownKey) {
				t.Fatalf("%x: %v", forged, err)
			}
		}
	})
}
