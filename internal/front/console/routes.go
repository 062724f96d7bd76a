package console

import (
	"slices"

	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/platform/router"
)

// route is one page, or one thing that a page does.
type route struct {
	method, path string
	serve        func(req *request) error
	// needs is the permission that a caller needs. [access.Public] routes require no login.
	needs access.Permission
	// changesPassword routes are open also to a session whose user has to change the password first, and enrols routes to
	// one whose user has to set up a second factor first.
	changesPassword, enrols bool
	// takesFile routes take a form with a file.
	takesFile bool
	// large routes take forms with many fields. Their input is kept when a session ends.
	large bool
}

// routes are all pages. A new page adds its own list here and, where people go to it by themselves, its row in
// sections.
func routes() []route {
	return slices.Concat(overviewRoutes(),
		sessionRoutes(),
		loginCodeRoutes(),
		sessionRecordRoutes(),
		signOnRoutes(),
		languageRoutes(),
		secondFactorRoutes(),
		passkeyRoutes(),
		joinRoutes(),
		addressRoutes(),
		passwordResetRoutes(),
		invoiceRoutes(),
		draftRoutes(),
		importRoutes(),
		creditRoutes(),
		incomingRoutes(),
		bookRoutes(),
		webhookRoutes(),
		undeliveredRoutes(),
		apiKeyRoutes(),
		userRoutes(),
		loginPolicyRoutes(),
		auditRoutes(),
		exportRoutes(),
		accountRoutes(),
		passwordRoutes(),
		styleguideRoutes(),
	)
}

// newRouter returns the router of some pages.
func newRouter(routes []route) *router.Router[route] {
	return router.New(routes, func(rt *route) (method, path string) { return rt.method, rt.path })
}

// section is an entry of the navigation, which those with a permission see; zero for everybody.
type section struct {
	page.Section
	Needs access.Permission
}

// sectionGroup is a group of the navigation; see [page.SectionGroup].
type sectionGroup struct {
	Name     string
	Sections []section
}

// sections is the navigation, top to bottom: what accountants use, what developers use, and, at the bottom, the
// company.
var sections = []sectionGroup{ //nolint:gochecknoglobals // a constant table
	{"", []section{
		{page.Section{Name: "overview", Path: "/"}, 0},
		{page.Section{Name: "invoices", Path: "/invoices"}, 0},
		{page.Section{Name: "credits", Path: "/credit-notes"}, 0},
		{page.Section{Name: "incoming", Path: "/incoming"}, 0},
		{page.Section{Name: "customers", Path: "/customers"}, 0},
		{page.Section{Name: "items", Path: "/items"}, 0},
	}},
	{"developers", []section{
		{page.Section{Name: "webhooks", Path: "/webhooks"}, 0},
		{page.Section{Name: "keys", Path: apiKeysPath}, access.ManageKeys},
		{page.Section{Name: "docs", Path: "/docs"}, 0},
	}},
	{"company", []section{
		{page.Section{Name: "users", Path: usersPath}, access.ManageUsers},
		{page.Section{Name: "audit", Path: auditPath}, access.ReadAudit},
		{page.Section{Name: "account", Path: "/account"}, 0},
	}},
}

// sectionsFor returns the navigation of somebody with some permissions, without groups that would be empty.
func sectionsFor(permissions access.Permissions) (groups []page.SectionGroup) {
	for _, group := range sections {
		var shown []page.Section
		for _, s := range group.Sections {
			if s.Needs == 0 || permissions.Has(s.Needs) {
				shown = append(shown, s.Section)
			}
		}
		if len(shown) > 0 {
			groups = append(groups, page.SectionGroup{Name: group.Name, Sections: shown})
		}
	}
	return groups
}
