package site

import (
	"io"
	"io/fs"
	"path"
	"strings"
	"testing"

	"quittance/internal/front/page"
)

// TestTemplatesParse parses every page in every language, as a server does when it first shows one.
func TestTemplatesParse(t *testing.T) {
	kit := testKit(t)
	names := []string{"preserved.html", "error.html"} // those that are no subject's
	for _, s := range subjects() {
		more, err := fs.Glob(s.Templates, "templates/*.html")
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, more...)
	}
	if len(names) < 40 {
		t.Fatalf("only %d pages", len(names))
	}
	for _, of := range page.Languages() {
		pages := kit.Named(of.Tag.String())
		for _, file := range names {
			name := path.Base(file)
			if strings.HasPrefix(name, "parts") {
				continue
			}
			if err := pages.Execute(io.Discard, strings.TrimSuffix(name, ".html"), "mark", nil); err != nil {
				t.Errorf("%s: %v", of.Tag, err)
			}
		}
	}
}
