package console

import (
	"embed"
	"html/template"

	"quittance/internal/front/page"
)

// The templates and the texts.
//
//go:embed templates/*.html messages/*.json
var files embed.FS

// Catalogue holds all texts of the pages in one language.
type Catalogue struct{ page.Texts }

// Words are the texts and the names of codes in one language.
type Words struct {
	Messages Catalogue
	// Codes are the names of code lists in the language of the messages.
	Codes map[string]*CodeNames
}

// ReadWords reads the words of a language.
func ReadWords(of page.Language) (*Words, error) {
	texts, err := page.ReadTexts(of, files)
	if err != nil {
		return nil, err
	}
	messages := Catalogue{texts}
	return &Words{Messages: messages, Codes: messages.codeNames()}, nil
}

// funcs returns the functions of the templates beside those of the kit and of the subjects.
func (w *Words) funcs() template.FuncMap {
	suggested := suggestedCodes(w.Codes)
	functions := viewFuncs(w.Messages)
	functions["suggestedCodes"] = func() []suggestions { return suggested }
	functions["place"], functions["unit"] = w.Place, w.UnitName
	functions["categoryName"] = func(code *string) string { return w.CodeName("tax-categories", Deref(code)) }
	return functions
}
