package console

import (
	"testing"

	"golang.org/x/text/language"

	"quittance/internal/front/page"
)

// testWords returns the words of a language.
func testWords(t testing.TB, tag language.Tag) *Words {
	t.Helper()
	w, err := ReadWords(page.Language{Tag: tag})
	if err != nil {
		t.Fatal(err)
	}
	return w
}
