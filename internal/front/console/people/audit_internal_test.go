package people

import (
	"testing"

	"golang.org/x/text/language"

	"quittance/internal/ledger/base"
	"quittance/test/consoletest"
)

// TestEveryActHasAText checks that the catalogue has a text for every act of the audit log.
func TestEveryActHasAText(t *testing.T) {
	t.Parallel()
	messages := consoletest.Words(t, language.English).Messages
	for _, act := range base.Acts() {
		if text, known := messages.Lookup("activity." + act); !known || text == "" {
			t.Errorf("no text for %s", act)
		}
	}
}
