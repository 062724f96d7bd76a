package webhooks

import (
	"embed"
	"html/template"
	"slices"

	"quittance/internal/front/console"
	"quittance/internal/front/page"
)

//go:embed templates/*.html
var templates embed.FS

// Subject returns the pages of destinations of events and their deliveries.
func Subject() console.Subject {
	return console.Subject{Templates: templates, Routes: slices.Concat(exportRoutes(), webhookRoutes(),
		undeliveredRoutes()), Funcs: funcs}
}

// funcs returns the functions of its templates.
func funcs(w *console.Words) template.FuncMap {
	return template.FuncMap{
		"health": func(h subscriptionHealth) (page.Pill, error) { return health(w.Messages, h) },
	}
}
