package documents

import (
	"embed"
	"html/template"
	"slices"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
)

//go:embed templates/*.html
var templates embed.FS

// Subject returns the pages of invoices and credit notes as they are, and received documents.
func Subject() console.Subject {
	return console.Subject{Templates: templates, Routes: slices.Concat(exportRoutes(), invoiceRoutes(),
		incomingRoutes(), creditPageRoutes()), Funcs: funcs}
}

// funcs returns the functions of its templates.
func funcs(w *console.Words) template.FuncMap {
	messages := w.Messages
	return template.FuncMap{
		"statePill":     func(s StateView) (page.Pill, error) { return pillOf(messages, s) },
		"dotsText":      func(states []StateView) (string, error) { return dotsText(messages, states) },
		"figure":        figure,
		"receivedLabel": func(path string) (string, error) { return receivedLabel(messages, path) },
		"parts":         Parts,
		"itemDetails":   func(item api.Item) []detail { return itemDetails(w, item) },
	}
}
