package site

import (
	"embed"
	"slices"

	"quittance/internal/front/console"
	"quittance/internal/front/console/book"
	"quittance/internal/front/console/documents"
	"quittance/internal/front/console/drafts"
	"quittance/internal/front/console/people"
	"quittance/internal/front/console/webhooks"
	"quittance/internal/ledger/access"
)

//go:embed templates/*.html
var templates embed.FS

// New returns a console with all pages.
func New(config console.Config) (*console.Console, error) {
	return console.New(config, sections, subjects()...)
}

// subjects are all pages. A new page has its route in its subject and, where people go to it by themselves, its row in
// sections.
func subjects() []console.Subject {
	return []console.Subject{people.Subject(), webhooks.Subject(), documents.Subject(), drafts.Subject(), book.Subject(),
		{Templates: templates, Routes: slices.Concat(overviewRoutes(), languageRoutes(), styleguideRoutes())}}
}

// sections is the navigation, top to bottom: what accountants use, what developers use, and, at the bottom, the
// company.
var sections = []console.SectionGroup{ //nolint:gochecknoglobals // a constant table
	{Sections: []console.Section{
		{Name: "overview", Path: "/"},
		{Name: "invoices", Path: "/invoices"},
		{Name: "credits", Path: "/credit-notes"},
		{Name: "incoming", Path: "/incoming"},
		{Name: "customers", Path: "/customers"},
		{Name: "items", Path: "/items"},
	}},
	{Name: "developers", Sections: []console.Section{
		{Name: "webhooks", Path: "/webhooks"},
		{Name: "keys", Path: people.APIKeysPath, Needs: access.ManageKeys},
		{Name: "docs", Path: "/docs"},
	}},
	{Name: "company", Sections: []console.Section{
		{Name: "users", Path: people.UsersPath, Needs: access.ManageUsers},
		{Name: "audit", Path: people.AuditPath, Needs: access.ReadAudit},
		{Name: "account", Path: "/account"},
	}},
}
