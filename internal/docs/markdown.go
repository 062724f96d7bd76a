package docs

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// page is one page of the site.
type page struct {
	// Path is where it is served, Title its first heading, About what a reader finds there.
	Path, Title, About string
	// Sections are its headings of the second level.
	Sections []section
	// Body is what was written.
	Body template.HTML
	// Viewer is set on pages that show the API reference, Cards on the one that lists the guides.
	Viewer, Cards bool
}

// section is one heading of a page.
type section struct{ ID, Title string }

// view is what a page is made from: itself, and all the guides for its navigation.
type view struct {
	page
	All []page
}

// sources are the documents in the order in which they are listed: file, path, and what a reader finds there.
var sources = [...]struct{ file, path, about string }{ //nolint:gochecknoglobals // a constant table
	{"docs/guide.md", "/docs/guide", "From login to four final states, step by step; every error code, every limit."},
	{"docs/webhooks.md", "/docs/webhooks", "Signatures in Go, Python and Node, retries, redelivery, and the feed that misses nothing."},
	{"docs/console.md", "/docs/console", "The pages for people who write no code, and what their shapes and words mean."},
	{"docs/sandbox.md", "/docs/sandbox", "What it holds, the recipients that bring about every outcome, what it proves and what it does not."},
	{"docs/provider-protocol.md", "/docs/provider-protocol", "How to put a gateway in front of a real provider."},
	{"docs/operations.md", "/docs/operations", "Serving, keys, production approval, administration, metrics, backup."},
	{"CHANGELOG.md", changelogPath, "What is new, what has changed, what will go."},
}

// render makes a page of every document.
func render(documents fs.FS) ([]page, error) {
	var pages []page
	for _, source := range sources {
		written, err := fs.ReadFile(documents, source.file)
		if err != nil {
			return nil, fmt.Errorf("docs: %w", err)
		}
		made, err := renderOne(written, source.file)
		if err != nil {
			return nil, fmt.Errorf("docs: %s: %w", source.file, err)
		}
		made.Path, made.About = source.path, source.about
		pages = append(pages, made)
	}
	return pages, nil
}

// renderOne makes a page of one document. HTML in it is left out.
func renderOne(written []byte, file string) (page, error) {
	// A table's alignment is an attribute: the policy of the pages allows no styles in place.
	tables := extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))
	markdown := goldmark.New(goldmark.WithExtensions(tables), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	document := markdown.Parser().Parse(text.NewReader(written))
	var made page
	err := ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Heading:
			made.heading(node, written)
		case *ast.Link:
			destination, err := resolve(file, string(node.Destination))
			node.Destination = []byte(destination)
			return ast.WalkContinue, err
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return page{}, err
	}
	var html bytes.Buffer
	if err := markdown.Renderer().Render(&html, written, document); err != nil {
		return page{}, err
	}
	made.Body = template.HTML(html.String()) //nolint:gosec // of our own files, without their HTML
	return made, nil
}

// heading takes note of a heading, and puts a link to itself behind it.
func (p *page) heading(node *ast.Heading, written []byte) {
	id, _ := node.AttributeString("id")
	name, ok := id.([]byte)
	if title := plain(node, written); node.Level == 1 {
		p.Title = title
		return
	} else if node.Level == 2 && ok {
		p.Sections = append(p.Sections, section{ID: string(name), Title: title})
	}
	link := ast.NewLink()
	link.Destination = []byte("#" + string(name))
	link.Title = []byte("Link to this section")
	link.AppendChild(link, ast.NewString([]byte("#")))
	node.AppendChild(node, link)
}

// plain is the text of a node without its marks.
func plain(node ast.Node, written []byte) string {
	var out strings.Builder
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		switch child := child.(type) {
		case *ast.Text:
			out.Write(child.Segment.Value(written))
		case *ast.String:
			out.Write(child.Value)
		default:
			out.WriteString(plain(child, written))
		}
	}
	return out.String()
}

// resolve turns a link as it stands in a file into one of the site: what is a file there is a page here.
func resolve(file, link string) (string, error) {
	if strings.HasPrefix(link, "https://") || strings.HasPrefix(link, "#") {
		return link, nil
	}
	name, fragment, marked := strings.Cut(link, "#")
	if marked {
		fragment = "#" + fragment
	}
	for _, source := range sources {
		if source.file == path.Join(path.Dir(file), name) {
			return source.path + fragment, nil
		}
	}
	return "", fmt.Errorf("the link %q leads to no page", link)
}
