package base_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"quittance/internal/ledger/base"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestID: an identifier is a UUIDv7 of the store's clock and randomness, with one spelling.
func TestID(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		f.Options.Random = bytes.NewReader(bytes.Repeat([]byte{0xff}, 10))
		db := f.Again(t)
		id, err := db.NewID()
		kit.Must(t, err)
		stamp := fmt.Sprintf("%012x", f.Clock.Now().UnixMilli())
		if want := stamp[:8] + "-" + stamp[8:] + "-7fff-bfff-ffffffffffff"; id.String() != want {
			t.Errorf("identifier %s, want %s", id, want)
		}
		if _, err := db.NewID(); err == nil {
			t.Error("an identifier was made without randomness")
		}
		text, err := json.Marshal(id)
		kit.Must(t, err)
		var back base.ID
		kit.Must(t, json.Unmarshal(text, &back))
		if back != id || back.IsZero() {
			t.Errorf("%s was read as %s", text, back)
		}
	})
}

// TestZeroID: the zero identifier is bound to no statement, so that one that forgot its tenant finds nothing.
func TestZeroID(t *testing.T) {
	if _, err := (base.ID{}).Value(); err == nil {
		t.Error("the zero identifier was bound")
	}
	for _, value := range []any{nil, "text", []byte{1}, int64(1)} {
		if err := new(base.ID).Scan(value); err == nil {
			t.Errorf("%v was read as an identifier", value)
		}
	}
}

// FuzzParseID: what is accepted is written back to the letter; everything else is no identifier.
func FuzzParseID(f *testing.F) {
	for _, seed := range []string{
		"019ca8a0-3e80-7fff-bfff-ffffffffffff", "019CA8A0-3E80-7FFF-BFFF-FFFFFFFFFFFF",
		"", "019ca8a03e807fffbfffffffffffffff", "019ca8a0-3e80-7fff-bfff-fffffffffffg",
		"019ca8a0-3e80-7fff-bfff-ffffffffffff ",
		"{19ca8a0-3e80-7fff-bfff-fffffffffff}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := base.ParseID(text)
		if err != nil {
			if !errors.Is(err, base.ErrBadID) || !id.IsZero() {
				t.Errorf("%q: %v, %v", text, id, err)
			}
			return
		}
		if id.String() != text || strings.ToLower(text) != text {
			t.Errorf("%q was read as %s", text, id)
		}
	})
}
