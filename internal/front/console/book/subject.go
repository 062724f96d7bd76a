package book

import (
	"embed"
	"slices"

	"quittance/internal/front/console"
)

//go:embed templates/*.html
var templates embed.FS

// Subject returns the pages of known customers and items.
func Subject() console.Subject {
	return console.Subject{Templates: templates, Routes: slices.Concat(exportRoutes(), bookRoutes())}
}
