package console

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/feature/plural"
)

// The templates and messages.
//
//go:embed templates/*.html messages/*.json
var texts embed.FS

// catalogue holds all texts of the pages in one language, by key. Placeholders are those of package fmt, with explicit
// argument indexes where another language may need another order.
type catalogue struct {
	tongue
	texts map[string]string
}

// readCatalogue reads the messages of a language.
func readCatalogue(of tongue) (catalogue, error) {
	messages := catalogue{tongue: of}
	text, err := texts.ReadFile("messages/" + of.tag.String() + ".json")
	if err != nil {
		return messages, fmt.Errorf("console: %w", err)
	}
	if err := json.Unmarshal(text, &messages.texts); err != nil {
		return messages, fmt.Errorf("console: messages of %s: %w", of.tag, err)
	}
	return messages, nil
}

// lookup returns the message of a key and whether it exists.
func (c catalogue) lookup(key string) (text string, known bool) {
	text, known = c.texts[key]
	return text, known
}

// text returns a message with its placeholders filled. It fails when there is no such message; a test finds unknown
// keys.
func (c catalogue) text(key string, values ...any) (string, error) {
	text, known := c.texts[key]
	if !known {
		return "", fmt.Errorf("console: no message %q", key)
	}
	if len(values) == 0 {
		return text, nil
	}
	return fmt.Sprintf(text, values...), nil
}

// plural returns the message for a number of things, which is not negative and is the first argument of the message.
// The language has a message for each of its plural forms (CLDR): English key.one and key.other, Arabic also key.zero,
// key.two, key.few and key.many.
func (c catalogue) plural(key string, n int, values ...any) (string, error) {
	form := pluralForms[plural.Cardinal.MatchPlural(c.tag, n, 0, 0, 0, 0)]
	return c.text(key+form, append([]any{grouped(fmt.Sprint(n))}, values...)...)
}

// pluralForms are the endings of the keys of plural forms.
var pluralForms = map[plural.Form]string{ //nolint:gochecknoglobals // a constant table
	plural.Zero: ".zero", plural.One: ".one", plural.Two: ".two", plural.Few: ".few",
	plural.Many: ".many", plural.Other: ".other",
}

// textOr returns the message of a key, or otherwise if there is none: for values of others, only some of which are
// known.
func (c catalogue) textOr(key, otherwise string) string {
	if text, known := c.texts[key]; known {
		return text
	}
	return otherwise
}

// templates holds the pages, each with the shared files. A page is parsed when it is first needed: its copy of the
// shared files takes some 200 KB, and most processes show few of the pages in few languages.
type templates struct {
	messages catalogue
	// codes are the names of code lists in the language of the messages.
	codes  map[string]*codeNames
	byPage map[string]func() (*template.Template, error)
}

// shared lists the files that every page includes.
var shared = []string{"templates/layout.html", "templates/components.html", "templates/fields.html", "templates/history.html", "templates/status.html"} //nolint:gochecknoglobals // a constant list

// partsFile is a file that the pages of another package share.
const partsFile = "templates/parts.html"

// errorPage is the page of errors, which the pages of another package have too.
const errorPage = "templates/error.html"

// newTemplates prepares the pages of files with the shared files of the console, and its page of errors.
func newTemplates(messages catalogue, assets *assetFiles, files fs.FS) (*templates, error) {
	t := &templates{messages: messages, codes: messages.codeNames(),
		byPage: map[string]func() (*template.Template, error){}}
	suggested := suggestedCodes(t.codes)
	base, err := template.New("layout.html").Funcs(viewFuncs(messages, assets)).Funcs(template.FuncMap{
		"suggestedCodes": func() []suggestions { return suggested }, "place": t.place, "unit": t.unitName,
		"categoryName": func(code *string) string {
			return t.codeName("tax-categories",
				deref(code))
		}}).Option("missingkey=error").ParseFS(texts, shared...)
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	pages, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	if slices.Contains(pages, partsFile) {
		if base, err = base.ParseFS(files, partsFile); err != nil {
			return nil, fmt.Errorf("console: %w", err)
		}
	}
	for _, file := range pages {
		if slices.Contains(shared, file) || file == partsFile {
			continue
		}
		t.add(base, files, file)
	}
	t.add(base, texts, errorPage)
	return t, nil
}

// add adds the page of a file.
func (t *templates) add(base *template.Template, files fs.FS, file string) {
	t.byPage[strings.TrimSuffix(path.Base(file), ".html")] = sync.OnceValues(func() (*template.Template, error) {
		page, err := base.Clone()
		if err != nil {
			return nil, err
		}
		return page.ParseFS(files, file)
	})
}

// execute renders a template of a page's file.
func (t *templates) execute(w io.Writer, page, name string, data any) error {
	parsed, ok := t.byPage[page]
	if !ok {
		return fmt.Errorf("console: no page %q", page)
	}
	found, err := parsed()
	if err != nil {
		return fmt.Errorf("console: %s: %w", page, err)
	}
	if err := found.ExecuteTemplate(w, name, data); err != nil {
		return fmt.Errorf("console: %s: %w", page, err)
	}
	return nil
}

// notice returns the notice of a key below "flash.", and nil for an unknown key, because the key comes from the
// address.
func (t *templates) notice(key string) *notice {
	text, known := t.messages.lookup("flash." + key)
	if !known {
		return nil
	}
	return &notice{Good: strings.HasPrefix(key, "good."), Text: text}
}
