package docs

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
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

// view is the data of the page template: the page, and for the navigation all groups of guides, and on a page of the
// reference all of its pages.
type view struct {
	page
	Groups   []group
	Chapters []page
}

// group is the guides that belong together: Title says for what.
type group struct {
	Title string
	Pages []page
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

// advice are the columns of the table of error codes: when an error occurs, and what to do.
type advice [2]template.HTML

// sources lists the documents of each group in display order: file and summary. Those of the last group are found by
// links alone.
var sources = [...]struct { //nolint:gochecknoglobals // a constant table
	group string
	pages [][2]string
}{
	{"Start", [][2]string{
		{"docs/guide.md", "From login to four final states, step by step."},
		{"docs/sandbox.md", "What the sandbox contains, the recipients for each outcome, and what it does not prove."},
		{"docs/cli.md",
			"Commands for developers: log in, receive webhooks on your own machine, play scenarios, read and write records."},
		{"docs/console.md", "The web pages for people who write no code, and what their symbols mean."},
	}},
	{"Build", [][2]string{
		{"docs/sdk.md", "The SDKs for Go, TypeScript and Python: one task in all three, and what they have in common."},
		{"docs/webhooks.md", "Signatures in Go, Python and Node, retries, redelivery, and the complete event feed."},
		{"docs/guides/unknown-outcome.md",
			"What to do when nobody knows whether the provider has a document, played in the sandbox."},
		{"docs/guides/polling-to-webhooks.md", "From reading every invoice to the events feed and webhooks, in steps."},
		{"docs/incoming.md", "What a company receives: the e-invoices, their revisions, and what is read from them."},
		{"docs/import.md", "Drafts from a CSV or XLSX file: the columns, the limits, and what is a fault."},
		{"docs/testing.md",
			"Test a program against a complete Quittance in ten lines of Go, TypeScript or Python: failures, webhooks, the clock."},
		{"docs/guides/uae.md", "Which invoice for which supply in the United Arab Emirates, with an example of each."},
		{"docs/guides/production.md", "A checklist for your program, your company and your deployment."},
	}},
	{"Run", [][2]string{
		{"docs/operations.md", "Which page has what you want to do."},
		{"docs/ops/on-call.md", "For the night: what is wrong, what to do, and what not to do."},
		{"docs/ops/install.md", "Archives, packages, the container image: how to verify, install, upgrade and remove them."},
		{"docs/ops/go-live.md", "From an empty machine to a production account."},
		{"docs/ops/serve.md", "Listeners, TLS, settings, limits and quotas of a server."},
		{"docs/ops/upgrade.md", "Replicas, and how one release replaces another without downtime."},
		{"docs/ops/keys.md", "The key file: make it, keep it, rotate it."},
		{"docs/ops/administer.md", "Accounts, users, connections and e-mail, on the command line."},
		{"docs/ops/operators.md",
			"The pages of the people who run the service: accounts, connections, unknown outcomes, deliveries, the audit log."},
		{"docs/ops/monitor.md", "Metrics, a dashboard and traces."},
		{"docs/ops/alerts.md", "Each alert: what it says, and what to do about it."},
		{"docs/ops/logs.md", "Each line of the log: what it says, and what to do about it."},
		{"docs/ops/backup.md", "Back up, restore, practise a disaster, and run a standby."},
		{"docs/ops/evidence.md", "The evidence of everything the provider said: verify it, export it, anchor it."},
		{"docs/ops/scaling.md", "More than one machine: PostgreSQL, replicas, pools, standbys, and what to measure."},
	}},
	{"Reference", [][2]string{
		{"docs/errors.md", "Every error code, pages of lists, idempotency keys, and every limit."},
		{"docs/access.md", "API keys, people, their roles, passwords and sessions."},
		{"docs/sign-on.md", "Single sign-on with an OpenID provider, and second factors."},
		{"docs/permissions.md", "Who may call which operation and see which page."},
		{"docs/audit.md", "What leaves an entry in the audit log, and who reads it."},
		{"docs/documents.md",
			"The XML documents and the pages: how they are made, what is computed, and with which rules they are tested."},
		{"docs/formats.md", "What each document format needs, field by field, and with which rule."},
		{"docs/terms.md", "Every field with its business term, its element, and its column in an import."},
		{"docs/providers.md", "Which providers there are adapters for, what each can do, and how to connect one."},
		{"docs/providers/phoss-ap.md",
			"How invoices travel through a Peppol access point that runs phoss-ap, and what each of its words means."},
		{"docs/providers/e-invoice-be.md",
			"How invoices travel through the Peppol access point e-invoice.be, and what each of its words means."},
		{"docs/providers/storecove.md", "How invoices travel through Storecove, and why it says so little about them."},
		{"docs/provider-protocol.md", "How to put a gateway in front of a real provider."},
		{"CHANGELOG.md", "New features, changes and deprecations."},
	}},
	{"", [][2]string{
		{"docs/changes/0.3.0.md", "What changed in release 0.3.0."},
		{"docs/changes/0.2.0.md", "What changed in release 0.2.0."},
		{"docs/changes/0.1.0.md", "What changed in release 0.1.0."},
	}},
}

// moved are the paths of pages that earlier releases had, and the pages that took their place.
var moved = map[string]string{ //nolint:gochecknoglobals // a constant table
	"/docs/install":    "/docs/ops/install",
	"/docs/monitoring": "/docs/ops/monitor",
	"/docs/operators":  "/docs/ops/operators",
}

// pagePath returns the path of the page of a document.
func pagePath(file string) string {
	if file == "CHANGELOG.md" {
		return changelogPath
	}
	return "/" + strings.TrimSuffix(file, ".md")
}

// hasPage reports whether a document has a page.
func hasPage(file string) bool {
	for _, g := range sources {
		if slices.ContainsFunc(g.pages, func(source [2]string) bool { return source[0] == file }) {
			return true
		}
	}
	return false
}

// render returns a page for each document, in groups, and what the guide says about each error code.
func render(documents fs.FS) (groups []group, codes map[string]advice, err error) {
	codes = map[string]advice{}
	for _, g := range sources {
		made := group{Title: g.group}
		for _, source := range g.pages {
			file := source[0]
			content, err := fs.ReadFile(documents, file)
			if err != nil {
				return nil, nil, fmt.Errorf("docs: %w", err)
			}
			p, err := renderOne(content, file, codes)
			if err != nil {
				return nil, nil, fmt.Errorf("docs: %s: %w", file, err)
			}
			p.Path, p.About = pagePath(file), source[1]
			made.Pages = append(made.Pages, p)
		}
		groups = append(groups, made)
	}
	return groups, codes, nil
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

// renderOne returns the page of a document, without any HTML in the document. It adds what the document says about
// error codes.
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
	if file == errorsFile {
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

// errorsFile is the document with the table of error codes: status, code, when, what to do.
const errorsFile = "docs/errors.md"

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
	if target := path.Join(path.Dir(file), name); hasPage(target) {
		return pagePath(target) + fragment, nil
	}
	return "", fmt.Errorf("the link %q leads to no page", link)
}
