package drafts

import (
	"embed"
	"html/template"
	"slices"

	"quittance/internal/front/console"
	"quittance/internal/front/console/documents"
)

//go:embed templates/*.html
var templates embed.FS

// Subject returns the pages of the forms of drafts and credit notes.
func Subject() console.Subject {
	return console.Subject{Templates: templates, Routes: slices.Concat(draftRoutes(), importRoutes(), creditRoutes()),
		Funcs: funcs}
}

// funcs returns the functions of its templates.
func funcs(w *console.Words) template.FuncMap {
	messages := w.Messages
	return template.FuncMap{
		"controls":    controls,
		"keyLabel":    func(key string) string { return keyLabel(messages, key) },
		"moveButtons": func(l formLine) ([]moveButton, error) { return moveButtons(messages, l) },
		"dropButton":  func(e formEntry) (moveButton, error) { return newDropButton(messages, e) },
		"parts":       documents.Parts,
	}
}
