package server

import (
	"strings"
	"testing"
)

// TestTexts checks that each operation of the API document has a description, and each description an operation.
func TestTexts(t *testing.T) {
	t.Parallel()
	texts, err := operationTexts()
	if err != nil {
		t.Fatal(err)
	}
	for _, rt := range routes() {
		if rt.hidden {
			continue
		}
		if texts[rt.name] == "" {
			t.Errorf("texts/%s.md is missing or empty", rt.name)
		}
		delete(texts, rt.name)
	}
	for name := range texts {
		if !strings.HasPrefix(name, "_") {
			t.Errorf("texts/%s.md belongs to no operation", name)
		}
	}
}
