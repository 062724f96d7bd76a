package ledger_test

import (
	"slices"
	"strings"
	"testing"

	"quittance/internal/ledger/base"
	"quittance/test/audittest"
	"quittance/test/ledgertest/fixture"
)

// TestActNames checks that the names of acts follow their convention and occur once.
func TestActNames(t *testing.T) {
	t.Parallel()
	names := base.Acts()
	for _, name := range names {
		noun, verb, ok := strings.Cut(name, ".")
		if !ok || strings.Trim(noun, "abcdefghijklmnopqrstuvwxyz_") != "" ||
			strings.Trim(verb, "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("act %q", name)
		}
	}
	fixture.WantEqual(t, "the acts in docs/audit.md", slices.Sorted(slices.Values(audittest.Read(t).Names)),
		slices.Sorted(slices.Values(names)))
	if slices.Sort(names); len(slices.Compact(names)) != len(base.Acts()) {
		t.Error("an act occurs twice")
	}
}
