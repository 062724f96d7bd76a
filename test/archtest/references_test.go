package archtest_test

import (
	"go/ast"
	"path"
	"regexp"
	"strings"
	"testing"
)

// goFileName matches the name of a Go file in a comment.
var goFileName = regexp.MustCompile(`\b[a-z0-9_/]+\.go\b`)

// TestFilesInComments checks that every Go file that a comment names exists, in the package of the comment or
// elsewhere.
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
