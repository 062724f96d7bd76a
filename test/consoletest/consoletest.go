// Package consoletest has what the tests of the console's packages share. Start reading at [Words].
package consoletest

import (
	"testing"

	"golang.org/x/text/language"

	"quittance/internal/front/console"
	"quittance/internal/front/page"
)

// Words returns the words of a language.
func Words(t testing.TB, tag language.Tag) *console.Words {
	t.Helper()
	w, err := console.ReadWords(page.Language{Tag: tag})
	if err != nil {
		t.Fatal(err)
	}
	return w
}
