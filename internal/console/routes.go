package console

import (
	"net/http"
	"slices"

	"quittance/internal/router"
)

// route is one page, or one thing that a page does.
type route struct {
	method, path string
	serve        func(req *request) error
	// public routes require no login.
	public bool
	// always routes are open also to a session whose user has to change the password first.
	always bool
	// large routes take forms with many fields. Their input is kept when a session ends.
	large bool
}

// routes are all pages. A new page adds its own list here and, where people go to it by themselves, its row in sections.
func routes() []route {
	return slices.Concat(
		[]route{{method: http.MethodGet, path: "/", serve: func(req *request) error { return req.redirect("/invoices") }}},
		sessionRoutes(),
		invoiceRoutes(),
		draftRoutes(),
		creditRoutes(),
		incomingRoutes(),
		webhookRoutes(),
		undeliveredRoutes(),
		accountRoutes(),
		passwordRoutes(),
	)
}

// newRouter returns the router of some pages.
func newRouter(routes []route) *router.Router[route] {
	return router.New(routes, func(rt *route) (method, path string) { return rt.method, rt.path })
}

// section is one entry of the navigation.
type section struct {
	// Name is its key below "nav." in the messages, and what a page says it belongs to.
	Name, Path string
}

// sections is the navigation, top to bottom.
var sections = []section{ //nolint:gochecknoglobals // a constant table
	{"invoices", "/invoices"},
	{"credits", "/credit-notes"},
	{"incoming", "/incoming"},
	{"webhooks", "/webhooks"},
	{"account", "/account"},
}
