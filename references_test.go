package quittance_test

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// markdownLink matches the target of a link in Markdown.
var markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinksOfDocuments checks that every relative link in the documents of the repository leads to a file or directory.
func TestLinksOfDocuments(t *testing.T) {
	documents, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	guides, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, document := range append(documents, guides...) {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range markdownLink.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(found[1], "#")
			if target == "" || strings.HasPrefix(target, "/") || strings.Contains(target, ":") {
				continue // within the document, at a running server, or elsewhere
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(document), target)); err != nil {
				t.Errorf("%s: %v", document, err)
			}
		}
	}
	if links < 100 {
		t.Errorf("%d links were found", links)
	}
}

// goFileName matches the name of a Go file in a comment.
var goFileName = regexp.MustCompile(`\b[a-z0-9_/]+\.go\b`)

// TestFilesInComments checks that every Go file that a comment names exists, in the package of the comment or elsewhere.
func TestFilesInComments(t *testing.T) {
	m := loadModule(t)
	known := map[string]bool{}
	m.each(func(_ string, f sourceFile) { known[path.Base(f.path)] = true })
	named := 0
	m.each(func(_ string, f sourceFile) {
		for _, group := range f.syntax.Comments {
			for _, name := range goFileName.FindAllString(textOf(group), -1) {
				named++
				if !known[path.Base(name)] {
					t.Errorf("%s: there is no file %s", m.at(group), name)
				}
			}
		}
	})
	if named < 50 {
		t.Errorf("%d names were found", named)
	}
}

// textOf returns a comment as it stands in the source, directives included.
func textOf(group *ast.CommentGroup) string {
	var text strings.Builder
	for _, line := range group.List {
		text.WriteString(line.Text + "\n")
	}
	return text.String()
}
