package archtest_test

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// markdownLink matches the text and the target of a link in Markdown.
var markdownLink = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)

// TestLinksOfDocuments checks that every relative link in the documents of the repository leads to a file or directory, and that
// the text of a link to a Go file below a directory names the directory, because several packages have files of the same name.
func TestLinksOfDocuments(t *testing.T) {
	documents, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	guides, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	adapters, err := filepath.Glob("docs/providers/*.md")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, document := range slices.Concat(documents, guides, adapters) {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range markdownLink.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(found[2], "#")
			if target == "" || strings.HasPrefix(target, "/") || strings.Contains(target, ":") {
				continue // within the document, at a running server, or elsewhere
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(document), target)); err != nil {
				t.Errorf("%s: %v", document, err)
			}
			if text := found[1]; strings.HasSuffix(text, ".go") && path.Dir(text) == "." && path.Dir(target) != "." {
				t.Errorf("%s: the link text %s does not say which file it is: want %s", document, text, path.Join(path.Base(path.Dir(target)), text))
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

// outsideDocument matches a citation of a document that is not in the repository.
var outsideDocument = regexp.MustCompile(`(?i)\b(specification|contract)[,.]?\s+\(?(part|section)s?\b|\b(of|in|by) the specification\b|\bspecification requires\b`)

// TestCommentsCiteWhatIsHere checks that no comment cites a part of a document that readers do not have: the repository has its
// own, in docs.
func TestCommentsCiteWhatIsHere(t *testing.T) {
	for _, cited := range []string{"(contract, section 5)", "of the specification, part 6"} {
		if !outsideDocument.MatchString(cited) {
			t.Errorf("%q is not recognized", cited)
		}
	}
	m := loadModule(t)
	m.each(func(_ string, f sourceFile) {
		if path.Base(f.path) == "references_test.go" {
			return
		}
		for _, group := range f.syntax.Comments {
			if found := outsideDocument.FindString(strings.ReplaceAll(textOf(group), "\n//", "")); found != "" {
				t.Errorf("%s cites %q: state the fact, or cite a file in docs", m.at(group), found)
			}
		}
	})
}

// textOf returns a comment as it stands in the source, directives included.
func textOf(group *ast.CommentGroup) string {
	var text strings.Builder
	for _, line := range group.List {
		text.WriteString(line.Text + "\n")
	}
	return text.String()
}
