package page

import (
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"
)

// Pages holds the pages of a surface in one language, each with the files that all pages share. A page is parsed when
// it is first needed: its copy of the shared files takes some 200 KB, and most processes show few of the pages in few
// languages.
type Pages struct {
	Texts  Texts
	byName map[string]func() (*template.Template, error)
}

// The files of this package, and the one of a surface, that are part of each page; and the page of errors.
const (
	layoutFile = "templates/layout.html"
	partsFile  = "templates/parts.html"
	errorPage  = "templates/error.html"
)

func newPages(texts Texts, assets *assetFiles, config Config) (*Pages, error) {
	p := &Pages{Texts: texts, byName: map[string]func() (*template.Template, error){}}
	base := template.New("layout.html").Funcs(texts.funcs(assets)).Option("missingkey=error")
	if config.Funcs != nil {
		base = base.Funcs(config.Funcs(texts))
	}
	base, err := base.ParseFS(files, layoutFile, partsFile)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	for _, from := range append([]fs.FS{config.Files}, config.More...) {
		if err := p.addAll(base, from); err != nil {
			return nil, fmt.Errorf("page: %w", err)
		}
	}
	p.add(base, files, errorPage)
	return p, nil
}

// addAll adds the pages of some files, and adds the parts among them to base, which all pages share.
func (p *Pages) addAll(base *template.Template, from fs.FS) error {
	found, err := fs.Glob(from, "templates/*.html")
	if err != nil {
		return err
	}
	for _, file := range found {
		if !strings.HasPrefix(path.Base(file), "parts") {
			p.add(base, from, file)
		} else if _, err := base.ParseFS(from, file); err != nil {
			return err
		}
	}
	return nil
}

// add adds the page of a file.
func (p *Pages) add(base *template.Template, from fs.FS, file string) {
	p.byName[strings.TrimSuffix(path.Base(file), ".html")] = sync.OnceValues(func() (*template.Template, error) {
		page, err := base.Clone()
		if err != nil {
			return nil, err
		}
		return page.ParseFS(from, file)
	})
}

// Execute renders a template of a page's file.
func (p *Pages) Execute(w io.Writer, page, name string, data any) error {
	parsed, ok := p.byName[page]
	if !ok {
		return fmt.Errorf("page: no page %q", page)
	}
	found, err := parsed()
	if err != nil {
		return fmt.Errorf("page: %s: %w", page, err)
	}
	if err := found.ExecuteTemplate(w, name, data); err != nil {
		return fmt.Errorf("page: %s: %w", page, err)
	}
	return nil
}

// funcs returns the functions of the templates of every surface.
func (t Texts) funcs(assets *assetFiles) template.FuncMap {
	return template.FuncMap{
		"t":               t.Text,
		"tn":              t.Plural,
		"tOr":             t.TextOr,
		"asset":           assets.path,
		"instant":         t.Instant,
		"day":             t.Day,
		"money":           MoneyOf,
		"moneyText":       MoneyText,
		"grouped":         Grouped,
		"breakableParts":  breakableParts,
		"pill":            NewPill,
		"outcome":         t.Outcome,
		"delivery":        t.Delivery,
		"text":            plainText,
		"comma":           t.Comma,
		"joined":          func(list []string) string { return strings.Join(list, t.Comma()) },
		"tag":             t.Tag.String,
		"direction":       func() string { return t.Direction },
		"inc":             func(n int) int { return n + 1 },
		"newPassword":     newPassword,
		"currentPassword": currentPassword,
	}
}

// breakableParts splits an identifier after each character at which a line may break.
func breakableParts(text string) []string {
	var parts []string
	for {
		end := strings.IndexAny(text, "_.-") + 1
		if end == 0 || end == len(text) {
			return append(parts, text)
		}
		parts, text = append(parts, text[:end]), text[end:]
	}
}
