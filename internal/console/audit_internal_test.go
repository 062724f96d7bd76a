package console

import (
	"testing"

	"quittance/internal/store"
)

// TestEveryActHasAText checks that the catalogue has a text for every act of the audit log.
func TestEveryActHasAText(t *testing.T) {
	t.Parallel()
	messages, err := readCatalogue(tongues[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, act := range store.Acts() {
		if text, known := messages.lookup("activity." + act); !known || text == "" {
			t.Errorf("no text for %s", act)
		}
	}
}
