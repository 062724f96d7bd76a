package console

import (
	"testing"

	"golang.org/x/text/language"

	"quittance/internal/ledger/base"
)

// TestEveryActHasAText checks that the catalogue has a text for every act of the audit log.
func TestEveryActHasAText(t *testing.T) {
	t.Parallel()
	messages := testWords(t, language.English).messages
	for _, act := range base.Acts() {
		if text, known := messages.Lookup("activity." + act); !known || text == "" {
			t.Errorf("no text for %s", act)
		}
	}
}
