package console

import (
	"slices"

	"quittance/internal/access"
	"quittance/internal/router"
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

// section is one entry of the navigation.
type section struct {
	// Name is its key below "nav." in the messages, what a page says it belongs to, and its icon n-NAME in the sprite.
	Name, Path string
	// Needs is the permission of those who see the entry; zero for everybody.
	Needs access.Permission
}

// sectionGroup is a group of the navigation.
type sectionGroup struct {
	// Name is the key of the heading below "nav.group." in the messages, or "" for none.
	Name     string
	Sections []section
}

// sections is the navigation, top to bottom: what accountants use, what developers use, and, at the bottom, the
// company.
var sections = []sectionGroup{ //nolint:gochecknoglobals // a constant table
	{"", []section{
		{Name: "overview", Path: "/"},
		{Name: "invoices", Path: "/invoices"},
		{Name: "credits", Path: "/credit-notes"},
		{Name: "incoming", Path: "/incoming"},
		{Name: "customers", Path: "/customers"},
		{Name: "items", Path: "/items"},
	}},
	{"developers", []section{
		{Name: "webhooks", Path: "/webhooks"},
		{Name: "keys", Path: apiKeysPath, Needs: access.ManageKeys},
		{Name: "docs", Path: "/docs"},
	}},
	{"company", []section{
		{Name: "users", Path: usersPath, Needs: access.ManageUsers},
		{Name: "audit", Path: auditPath, Needs: access.ReadAudit},
		{Name: "account", Path: "/account"},
	}},
}

// sectionsFor returns the navigation of somebody with some permissions, without groups that have become empty.
func sectionsFor(permissions access.Permissions) []sectionGroup {
	var groups []sectionGroup
	for _, group := range sections {
		group.Sections = slices.DeleteFunc(slices.Clone(group.Sections),
			func(s section) bool { return s.Needs != 0 && !permissions.Has(s.Needs) })
		if len(group.Sections) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}
