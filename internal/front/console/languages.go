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

// sharedFiles are the templates that all pages of the console have beside those of the kit.
var sharedFiles = []string{"components.html", "fields.html", "history.html", "status.html"} //nolint:gochecknoglobals // a constant list

// catalogue holds all texts of the pages in one language.
type catalogue struct{ page.Texts }

// words are the texts and the names of codes in one language.
type words struct {
	messages catalogue
	// codes are the names of code lists in the language of the messages.
	codes map[string]*codeNames
}

func newWords(texts page.Texts) *words {
	messages := catalogue{texts}
	return &words{messages: messages, codes: messages.codeNames()}
}

// funcs returns the functions of the templates beside those of the kit.
func (w *words) funcs() template.FuncMap {
	suggested := suggestedCodes(w.codes)
	functions := viewFuncs(w.messages)
	functions["suggestedCodes"] = func() []suggestions { return suggested }
	functions["place"], functions["unit"] = w.place, w.unitName
	functions["categoryName"] = func(code *string) string { return w.codeName("tax-categories", deref(code)) }
	return functions
}
