package console

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"quittance/internal/front/page"
)

// TestTemplatesParse parses every page in every language, as a server does when it first shows one.
func TestTemplatesParse(t *testing.T) {
	kit := testConsole(t).kit
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil || len(names) < 40 {
		t.Fatalf("%d pages, %v", len(names), err)
	}
	for _, of := range page.Languages() {
		pages := kit.Named(of.Tag.String())
		for _, file := range append(names, "error.html") {
			name := path.Base(file)
			if slices.Contains(sharedFiles, name) {
				continue
			}
			if err := pages.Execute(io.Discard, strings.TrimSuffix(name, ".html"), "mark", nil); err != nil {
				t.Errorf("%s: %v", of.Tag, err)
			}
		}
	}
}
