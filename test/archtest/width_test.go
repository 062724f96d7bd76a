package archtest_test

import (
	"bytes"
	"go/scanner"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	// maxColumns is how many characters a line of Go may have; a tab is one.
	maxColumns = 120
	// longText is from how many characters on a literal may stand on a line that is too long for it.
	longText = 40
)

// mayBeWide matches what cannot be broken: the tag of a field, a directive, a preformatted line of a comment.
var mayBeWide = regexp.MustCompile("`[a-z]+:\"|//(nolint|planted|go):|^\\s*//(\\t|  |\\s*https?:)")

// testWidth holds that lines of code fit on half a screen, unless what makes them wide is a text.
func (m *module) testWidth(t *testing.T) {
	m.each(func(_ string, f sourceFile) {
		text, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		var literals map[int]bool // the lines with a long literal
		for n, line := range bytes.Split(text, []byte("\n")) {
			if utf8.RuneCount(line) <= maxColumns || mayBeWide.Match(line) {
				continue
			}
			if literals == nil {
				literals = linesOfLiterals(text)
			}
			if !literals[n+1] {
				t.Errorf("%s:%d has %d columns, and %d is the most", f.path, n+1, utf8.RuneCount(line), maxColumns)
			}
		}
	})
}

// linesOfLiterals returns the numbers of the lines that a long literal is on, from 1.
func linesOfLiterals(text []byte) map[int]bool {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	lines := map[int]bool{}
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return lines
		}
		if kind != token.STRING || utf8.RuneCountInString(literal) < longText {
			continue
		}
		first := file.Line(pos)
		for n := range strings.Count(literal, "\n") + 1 {
			lines[first+n] = true
		}
	}
}
