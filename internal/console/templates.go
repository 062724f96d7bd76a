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
)

// The templates and messages.
//
//go:embed templates/*.html messages/*.json
var texts embed.FS

// catalogue holds all texts of the pages in one language, by key. Placeholders are those of package fmt, with explicit
// argument indexes where another language may need another order.
type catalogue map[string]string

// readCatalogue reads the messages. English is the only language so far.
func readCatalogue() (catalogue, error) {
	const language = "en"
	text, err := texts.ReadFile("messages/" + language + ".json")
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	messages := catalogue{}
	if err := json.Unmarshal(text, &messages); err != nil {
		return nil, fmt.Errorf("console: messages of %s: %w", language, err)
	}
	return messages, nil
}

// lookup returns the message of a key and whether it exists.
func (c catalogue) lookup(key string) (text string, known bool) {
	text, known = c[key]
	return text, known
}

// text returns a message with its placeholders filled. It fails when there is no such message; a test finds unknown keys.
func (c catalogue) text(key string, values ...any) (string, error) {
	text, known := c[key]
	if !known {
		return "", fmt.Errorf("console: no message %q", key)
	}
	if len(values) == 0 {
		return text, nil
	}
	return fmt.Sprintf(text, values...), nil
}

// plural returns the message of key.one or key.other for a number, which is the first argument of the message.
func (c catalogue) plural(key string, n int, values ...any) (string, error) {
	form := ".other"
	if n == 1 {
		form = ".one"
	}
	return c.text(key+form, append([]any{grouped(fmt.Sprint(n))}, values...)...)
}

// textOr returns the message of a key, or otherwise if there is none: for values of others, only some of which are known.
func (c catalogue) textOr(key, otherwise string) string {
	if text, known := c[key]; known {
		return text
	}
	return otherwise
}

// templates holds the parsed pages, each with the shared files.
type templates struct {
	messages catalogue
	byPage   map[string]*template.Template
}

// shared lists the files that every page includes.
var shared = []string{"templates/layout.html", "templates/components.html", "templates/fields.html", "templates/status.html"} //nolint:gochecknoglobals // a constant list

func newTemplates(messages catalogue, assets *assetFiles) (*templates, error) {
	t := &templates{messages: messages, byPage: map[string]*template.Template{}}
	base, err := template.New("layout.html").Funcs(viewFuncs(messages, assets)).Option("missingkey=error").ParseFS(texts, shared...)
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	files, err := fs.Glob(texts, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	for _, file := range files {
		if slices.Contains(shared, file) {
			continue
		}
		page, err := base.Clone()
		if err != nil {
			return nil, fmt.Errorf("console: %s: %w", file, err)
		}
		name := strings.TrimSuffix(path.Base(file), ".html")
		if t.byPage[name], err = page.ParseFS(texts, file); err != nil {
			return nil, fmt.Errorf("console: %s: %w", file, err)
		}
	}
	return t, nil
}

// execute renders a template of a page's file.
func (t *templates) execute(w io.Writer, page, name string, data any) error {
	found, ok := t.byPage[page]
	if !ok {
		return fmt.Errorf("console: no page %q", page)
	}
	if err := found.ExecuteTemplate(w, name, data); err != nil {
		return fmt.Errorf("console: %s: %w", page, err)
	}
	return nil
}

// notice returns the notice of a key below "flash.", and nil for an unknown key, because the key comes from the address.
func (t *templates) notice(key string) *notice {
	text, known := t.messages.lookup("flash." + key)
	if !known {
		return nil
	}
	return &notice{Good: strings.HasPrefix(key, "good."), Text: text}
}
