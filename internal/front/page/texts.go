package page

import (
	"encoding/json"
	"fmt"
	"io/fs"

	"golang.org/x/text/feature/plural"
)

// Texts are all texts of a surface in one language, by key. Placeholders are those of package fmt, with explicit
// argument indexes where another language may need another order.
type Texts struct {
	Language
	texts map[string]string
}

// ReadTexts reads the texts of a language: those of this package and those of a surface, which has them in
// messages/LANGUAGE.json. No two have the same key.
func ReadTexts(of Language, surface fs.FS) (Texts, error) { return readTexts(of, files, surface) }

// readTexts reads the texts of a language from some files, no two of which have the same key.
func readTexts(of Language, from ...fs.FS) (Texts, error) {
	out := Texts{Language: of, texts: map[string]string{}}
	for _, source := range from {
		text, err := fs.ReadFile(source, "messages/"+of.Tag.String()+".json")
		if err != nil {
			return out, fmt.Errorf("page: %w", err)
		}
		var more map[string]string
		if err := json.Unmarshal(text, &more); err != nil {
			return out, fmt.Errorf("page: texts in %s: %w", of.Tag, err)
		}
		for key, text := range more {
			if _, known := out.texts[key]; known {
				return out, fmt.Errorf("page: the text %q exists twice in %s", key, of.Tag)
			}
			out.texts[key] = text
		}
	}
	return out, nil
}

// Lookup returns the text of a key and whether it exists.
func (t Texts) Lookup(key string) (text string, known bool) {
	text, known = t.texts[key]
	return text, known
}

// Text returns a text with its placeholders filled. It fails when there is no such text; a test finds unknown keys.
func (t Texts) Text(key string, values ...any) (string, error) {
	text, known := t.texts[key]
	if !known {
		return "", fmt.Errorf("page: no text %q", key)
	}
	if len(values) == 0 {
		return text, nil
	}
	return fmt.Sprintf(text, values...), nil
}

// TextOr returns the text of a key, or otherwise if there is none: for values of others, only some of which are known.
func (t Texts) TextOr(key, otherwise string) string {
	if text, known := t.texts[key]; known {
		return text
	}
	return otherwise
}

// Plural returns the text for a number of things, which is not negative and is the first argument of the text. The
// language has a text for each of its plural forms (CLDR): English key.one and key.other, Arabic also key.zero,
// key.two, key.few and key.many.
func (t Texts) Plural(key string, n int, values ...any) (string, error) {
	form := pluralForms[plural.Cardinal.MatchPlural(t.Tag, n, 0, 0, 0, 0)]
	return t.Text(key+form, append([]any{Grouped(fmt.Sprint(n))}, values...)...)
}

// pluralForms are the endings of the keys of plural forms.
var pluralForms = map[plural.Form]string{ //nolint:gochecknoglobals // a constant table
	plural.Zero: ".zero", plural.One: ".one", plural.Two: ".two", plural.Few: ".few",
	plural.Many: ".many", plural.Other: ".other",
}
