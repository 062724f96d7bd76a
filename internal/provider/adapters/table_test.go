package adapters_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"

	"quittance/internal/provider/adapters"
)

// TestPublishedTables checks that a published table never changes, because retained responses are read again with the
// table that they were read with. A changed table gets a new name, and the old one stays.
func TestPublishedTables(t *testing.T) {
	for name, want := range map[string]string{
		"http/1": "3957718080825b50", "http/2": "983ddf886e3f0b1a", "phoss-ap/sending-report/1": "1fd8c0f98d6842e0",
		"phoss-ap/status/1": "e2d7e8c630c23259", "simulator/1": "7350a377b7dec710", "simulator/2": "1c6da8b19a0e2bc7",
		"e-invoice-be/document/1": "e5046699e981501e", "storecove/submission/1": "df089042d30ebf18",
		"storecove/event/1": "4c6ff6942dc6f5c7", "storecove/event-by-guid/1": "78b742f327e7b4c4",
	} {
		table, published := adapters.PublishedVocabulary(name)
		if !published || table.Name != name {
			t.Errorf("no table %s: %q", name, table.Name)
		}
		text, err := json.Marshal(table)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(text))[:16]; got != want {
			t.Errorf("the table %s has changed: %s", name, got)
		}
	}
	if _, published := adapters.PublishedVocabulary("http/0"); published {
		t.Error("an unpublished table http/0")
	}
}
