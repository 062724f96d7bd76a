package archtest_test

import (
	"bytes"
	"go/ast"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// The ceilings, which are there because the product should get smaller. To raise one is a decision that is
// written down in docs/decisions; to lower one needs no reason. Files are measured in lines; packages and the
// product in lines of code, which are neither blank nor only a comment, without tests.
const (
	maxFileLines = 500
	maxPackage   = 5000
	maxProduct   = 80000
)

// product are the directories of the product; everything else is beside it.
var product = []string{"client", "cmd", "internal"}

// inProduct reports whether a package belongs to the product.
func inProduct(pkg string) bool {
	top, _, _ := strings.Cut(pkg, "/")
	return slices.Contains(product, top)
}

// testSizes holds that a file can be read at once, tests included.
func (m *module) testSizes(t *testing.T) {
	m.each(func(_ string, f sourceFile) {
		if ast.IsGenerated(f.syntax) {
			return
		}
		if lines := m.set.File(f.syntax.Pos()).LineCount() - 1; lines > maxFileLines {
			t.Errorf("%s has %d lines, and %d is the most: split it by subject", f.path, lines, maxFileLines)
		}
	})
}

// testCeilings holds the ceilings of packages and of the whole.
func (m *module) testCeilings(t *testing.T) {
	packages, total := map[string]int{}, 0
	m.production(func(pkg string, f sourceFile) {
		if inProduct(pkg) {
			lines := linesOfCode(t, f.path)
			packages[pkg] += lines
			total += lines
		}
	})
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		if lines := packages[pkg]; lines > maxPackage {
			t.Errorf("%s has %d lines of code, and %d is the most", pkg, lines, maxPackage)
		}
	}
	if total > maxProduct {
		t.Errorf("the product has %d lines of code, and %d is the most", total, maxProduct)
	}
	t.Logf("the product has %d lines of code", total)
}

// linesOfCode returns how many lines of a file have more than a comment.
func linesOfCode(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file := token.NewFileSet().AddFile(path, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0) // without comments
	lines := map[int]bool{}
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return len(lines)
		}
		if kind == token.SEMICOLON && literal == "\n" {
			continue // the scanner adds it at the end of a line
		}
		first := file.Line(pos)
		for n := range bytes.Count([]byte(literal), []byte("\n")) + 1 {
			lines[first+n] = true
		}
	}
}
