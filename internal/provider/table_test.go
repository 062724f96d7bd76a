package provider_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"

	"quittance/internal/provider"
)

// TestPublishedTables: retained answers are read again with the table that they were read with, so a table that was
// published never changes. One that has to gets a new name, and the old one stays.
func TestPublishedTables(t *testing.T) {
	for name, want := range map[string]string{
		"http/1": "6848d0369c354677", "http/2": "c8d47f5adad1ce4c", "simulator/1": "00f9c163e98efea1", "simulator/2": "3038954b2d4f7b96",
	} {
		table, published := provider.PublishedVocabulary(name)
		if !published || table.Name != name {
			t.Errorf("there is no table %s: %q", name, table.Name)
		}
		text, err := json.Marshal(table)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(text))[:16]; got != want {
			t.Errorf("the table %s has changed: %s", name, got)
		}
	}
	if _, published := provider.PublishedVocabulary("http/0"); published {
		t.Error("there is a table http/0")
	}
}
