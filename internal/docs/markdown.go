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
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// page is one page of the site.
type page struct {
	// Path is the path of the page, Title its first heading, and About a summary.
	Path, Title, About string
	// Sections are the headings of the second level.
	Sections []section
	// Body is the rendered document.
	Body template.HTML
	// Reference is set on pages of the API reference, and Cards on the page that lists the guides.
	Reference, Cards bool
}

// section is a heading of a page. Method and Path are those of an operation; empty for other headings.
type section struct{ ID, Title, Method, Path string }

// view is the data of the page template: the page, and for the navigation all guides, and on a page of the reference all of its pages.
type view struct {
	page
	All, Chapters []page
}

// task is something that a reader wants to do, and the path where it is explained.
type task struct{ Title, Path string }

// Tasks lists the tasks in the order in which an integration meets them.
func (view) Tasks() []task {
	return []task{
		{"Submit your first invoice", "/docs/sdk#submit-an-invoice"},
		{"Handle an unknown outcome", "/docs/guides/unknown-outcome"},
		{"Receive webhooks", "/docs/webhooks#subscribe"},
		{"Move from polling to webhooks", "/docs/guides/polling-to-webhooks"},
		{"Test your integration", "/docs/testing"},
		{"Go to production", "/docs/guides/production"},
	}
}

// advice are the columns of the guide's table of error codes: when an error occurs, and what to do.
type advice [2]template.HTML

// sources lists the documents in display order: file, path and summary.
var sources = [...]struct{ file, path, about string }{ //nolint:gochecknoglobals // a constant table
	{"docs/guide.md", "/docs/guide", "From login to four final states, step by step; every error code, every limit."},
	{"docs/guides/unknown-outcome.md", "/docs/guides/unknown-outcome", "What to do when nobody knows whether the provider has a document, played in the sandbox."},
	{"docs/guides/polling-to-webhooks.md", "/docs/guides/polling-to-webhooks", "From reading every invoice to the events feed and webhooks, in steps."},
	{"docs/guides/production.md", "/docs/guides/production", "A checklist for your program, your company and your deployment."},
	{"docs/access.md", "/docs/access", "Roles and scopes: who may call which operation and see which page."},
	{"docs/audit.md", "/docs/audit", "What leaves an entry in the audit log, and who reads it."},
	{"docs/webhooks.md", "/docs/webhooks", "Signatures in Go, Python and Node, retries, redelivery, and the complete event feed."},
	{"docs/console.md", "/docs/console", "The web pages for people who write no code, and what their symbols mean."},
	{"docs/import.md", "/docs/import", "Drafts from a CSV or XLSX file: the columns, the limits, and what is a fault."},
	{"docs/sandbox.md", "/docs/sandbox", "What the sandbox contains, the recipients for each outcome, and what it does not prove."},
	{"docs/cli.md", "/docs/cli", "Commands for developers: log in, receive webhooks on your own machine, play scenarios, read and write records."},
	{"docs/sdk.md", "/docs/sdk", "The SDKs for Go, TypeScript and Python: one task in all three, and what they have in common."},
	{"docs/testing.md", "/docs/testing", "Test a program against a complete Quittance in ten lines of Go, TypeScript or Python: failures, webhooks, the clock."},
	{"docs/documents.md", "/docs/documents", "The XML documents, field by field: what each format needs, what is computed, and with which rules it is tested."},
	{"docs/providers.md", "/docs/providers", "Which providers there are adapters for, what each can do, and how to connect one."},
	{"docs/providers/phoss-ap.md", "/docs/providers/phoss-ap", "How invoices travel through a Peppol access point that runs phoss-ap, and what each of its words means."},
	{"docs/providers/e-invoice-be.md", "/docs/providers/e-invoice-be", "How invoices travel through the Peppol access point e-invoice.be, and what each of its words means."},
	{"docs/providers/storecove.md", "/docs/providers/storecove", "How invoices travel through Storecove, and why it says so little about them."},
	{"docs/provider-protocol.md", "/docs/provider-protocol", "How to put a gateway in front of a real provider."},
	{"docs/operators.md", "/docs/operators", "The pages of the people who run the service: accounts, connections, unknown outcomes, deliveries, the audit log."},
	{"docs/install.md", "/docs/install", "Archives, packages, the container image: how to verify, install, upgrade and remove them."},
	{"docs/operations.md", "/docs/operations", "Serving, keys, production approval, administration, backup."},
	{"docs/monitoring.md", "/docs/monitoring", "Metrics, alerts, a dashboard and logs: what each says, and what to do about it."},
	{"CHANGELOG.md", changelogPath, "New features, changes and deprecations."},
}

// render returns a page for each document, and what the guide says about each error code.
func render(documents fs.FS) (pages []page, codes map[string]advice, err error) {
	codes = map[string]advice{}
	for _, source := range sources {
		content, err := fs.ReadFile(documents, source.file)
		if err != nil {
			return nil, nil, fmt.Errorf("docs: %w", err)
		}
		p, err := renderOne(content, source.file, codes)
		if err != nil {
			return nil, nil, fmt.Errorf("docs: %s: %w", source.file, err)
		}
		p.Path, p.About = source.path, source.about
		pages = append(pages, p)
	}
	return pages, codes, nil
}

// newMarkdown returns the converter of Markdown, which leaves HTML out.
func newMarkdown() goldmark.Markdown {
	// Align tables with attributes, because the content security policy forbids inline styles.
	tables := extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))
	return goldmark.New(goldmark.WithExtensions(tables), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
}

// markdown converts a text of the API document.
func markdown(source string) (template.HTML, error) {
	if source == "" {
		return "", nil
	}
	var html bytes.Buffer
	if err := newMarkdown().Convert([]byte(source), &html); err != nil {
		return "", fmt.Errorf("docs: %w", err)
	}
	return template.HTML(html.String()), nil //nolint:gosec // rendered by goldmark; raw HTML is left out
}

// renderOne returns the page of a document, without any HTML in the document. It adds what the document says about error codes.
func renderOne(content []byte, file string, codes map[string]advice) (page, error) {
	markdown := newMarkdown()
	document := markdown.Parser().Parse(text.NewReader(content))
	var p page
	err := ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Heading:
			p.heading(node, content)
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
	if file == guideFile {
		if err := readAdvice(markdown, document, content, codes); err != nil {
			return page{}, err
		}
	}
	var html bytes.Buffer
	if err := markdown.Renderer().Render(&html, content, document); err != nil {
		return page{}, err
	}
	p.Body = template.HTML(html.String()) //nolint:gosec // rendered by goldmark from the program's own files; raw HTML is left out
	return p, nil
}

// guideFile is the guide with the table of error codes: status, code, when, what to do.
const guideFile = "docs/guide.md"

// readAdvice adds the rows of the table of error codes. Their links have been resolved.
func readAdvice(markdown goldmark.Markdown, document ast.Node, content []byte, codes map[string]advice) error {
	return ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if _, isRow := node.(*extensionast.TableRow); !isRow || !entering || node.ChildCount() != len(advice{})+2 {
			return ast.WalkContinue, nil
		}
		cell := node.FirstChild().NextSibling()
		code := plainText(cell, content)
		var row advice
		for n := range row {
			cell = cell.NextSibling()
			var html bytes.Buffer
			for part := cell.FirstChild(); part != nil; part = part.NextSibling() {
				if err := markdown.Renderer().Render(&html, content, part); err != nil {
					return ast.WalkStop, err
				}
			}
			row[n] = template.HTML(html.String()) //nolint:gosec // rendered by goldmark; raw HTML is left out
		}
		codes[code] = row
		return ast.WalkSkipChildren, nil
	})
}

// heading records a heading and adds a link to itself.
func (p *page) heading(node *ast.Heading, content []byte) {
	id, _ := node.AttributeString("id")
	name, ok := id.([]byte)
	if title := plainText(node, content); node.Level == 1 {
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

// plainText returns the text of a node without markup.
func plainText(node ast.Node, content []byte) string {
	var out strings.Builder
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		switch child := child.(type) {
		case *ast.Text:
			out.Write(child.Segment.Value(content))
		case *ast.String:
			out.Write(child.Value)
		default:
			out.WriteString(plainText(child, content))
		}
	}
	return out.String()
}

// resolve converts a link between files to a link between pages.
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
