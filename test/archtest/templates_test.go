package archtest_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"unicode/utf8"
)

// hasNoBreak matches a line without a place to break: it has spaces only in its indentation and inside quotes, such as
// those of an attribute.
var hasNoBreak = regexp.MustCompile(`^\s*([^\s"']|"[^"]*"|'[^']*')+$`)

// testTemplates holds that lines of HTML templates fit on half a screen, because a diff shows whole lines: a template
// with one element on a line shows what a change is about. A wide tag breaks between its attributes, a wide action
// between its arguments, and a text between its words; the trim markers of actions keep a break out of what is sent.
func testTemplates(t *testing.T) {
	var read int
	err := filepath.WalkDir("internal", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".html" {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		read++
		for n, line := range bytes.Split(text, []byte("\n")) {
			if columns := utf8.RuneCount(line); columns > maxColumns && !hasNoBreak.Match(line) {
				t.Errorf("%s:%d has %d columns, and %d is the most", name, n+1, columns, maxColumns)
			}
		}
		return nil
	})
	if err != nil || read < 50 {
		t.Fatalf("%d templates were read: %v", read, err)
	}
}
