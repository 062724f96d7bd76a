package archtest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// maxDocument is how many bytes a document may have, which takes ten minutes to read, and smaller are the limits of
// those that everybody reads.
const maxDocument = 24 << 10

var smallDocuments = map[string]int{"ARCHITECTURE.md": 15 << 10, "CONTRIBUTING.md": 6 << 10, "README.md": 10 << 10,
	"SECURITY.md": 10 << 10}

// maxDecision is how many bytes a record of a decision may have, which is a page.
const maxDecision = 3 << 10

// documents returns the paths of all documents: the Markdown files of the repository, without those that tests read and
// what tools leave.
func documents(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (slices.Contains([]string{"testdata", "node_modules", "bin", "dist"}, entry.Name()) ||
			len(name) > 1 && strings.HasPrefix(entry.Name(), ".")) {
			return fs.SkipDir
		}
		if strings.HasSuffix(name, ".md") {
			paths = append(paths, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d documents were found: %v", len(paths), err)
	}
	return paths
}

// TestSizesOfDocuments holds that each document can be read in one sitting.
func TestSizesOfDocuments(t *testing.T) {
	for _, name := range documents(t) {
		limit, small := smallDocuments[name]
		if !small {
			limit = maxDocument
		}
		if strings.HasPrefix(name, "docs/decisions/") && path.Base(name) != "README.md" {
			limit = maxDecision
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > int64(limit) {
			t.Errorf("%s has %d bytes, and %d is the most: split it by what a reader wants to do", name, info.Size(), limit)
		}
	}
}

// markdownLink matches the text and the target of a link in Markdown.
var markdownLink = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)

// TestLinksOfDocuments checks that every relative link leads to a file or directory, and to a heading of it if the link
// names one. The text of a link to a Go file below a directory names the directory, because several packages have files
// of the same name.
func TestLinksOfDocuments(t *testing.T) {
	links, headings := 0, map[string][]string{}
	for _, document := range documents(t) {
		content, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range markdownLink.FindAllStringSubmatch(string(content), -1) {
			target, heading, _ := strings.Cut(found[2], "#")
			if strings.HasPrefix(target, "/") || strings.Contains(target, ":") {
				continue // at a running server, or elsewhere
			}
			links++
			file := document
			if target != "" {
				file = path.Join(path.Dir(document), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %v", document, err)
				continue
			}
			if heading != "" && headings[file] == nil {
				headings[file] = headingsOf(t, file)
			}
			if heading != "" && !slices.Contains(headings[file], heading) {
				t.Errorf("%s: %s has no heading #%s", document, file, heading)
			}
			if text := found[1]; strings.HasSuffix(text, ".go") && path.Dir(text) == "." && path.Dir(target) != "." {
				t.Errorf("%s: the link text %s does not say which file it is: want %s", document, text,
					path.Join(path.Base(path.Dir(target)), text))
			}
		}
	}
	if links < 500 {
		t.Errorf("%d links were found", links)
	}
}

// headingsOf returns the identifiers of the headings of a document, as the pages of a server have them.
func headingsOf(t *testing.T, file string) (ids []string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	document := goldmark.New(goldmark.WithParserOptions(parser.WithAutoHeadingID())).Parser().Parse(
		text.NewReader(content))
	for node := document.FirstChild(); node != nil; node = node.NextSibling() {
		if heading, ok := node.(*ast.Heading); ok {
			if id, ok := heading.AttributeString("id"); ok {
				ids = append(ids, string(id.([]byte)))
			}
		}
	}
	return ids
}

// vendoredRow matches the row of a file and its digest in VENDORED.md.
var vendoredRow = regexp.MustCompile("(?m)^\\| (\\S+) \\|.*`([0-9a-f]{64})` \\|$")

// TestVendored checks that vendored files have the digests in the VENDORED.md beside them.
func TestVendored(t *testing.T) {
	files := 0
	for _, document := range documents(t) {
		if path.Base(document) != "VENDORED.md" {
			continue
		}
		content, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range vendoredRow.FindAllStringSubmatch(string(content), -1) {
			files++
			file, err := os.ReadFile(path.Join(path.Dir(document), row[1]))
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(file); hex.EncodeToString(sum[:]) != row[2] {
				t.Errorf("%s: %s has the digest %x", document, row[1], sum)
			}
		}
	}
	if files != 10 {
		t.Errorf("%d vendored files were found", files)
	}
}
