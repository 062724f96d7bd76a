package console

import (
	"net/http"
	"slices"
	"strings"
)

// route is one page, or one thing that a page does.
type route struct {
	method, path string
	serve        func(req *request) error
	// public routes need nobody logged in.
	public bool
	// always routes are open also to a session whose user has to change the password first.
	always bool
	// large routes take forms with many fields. What was typed into them survives the end of a session.
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

// match finds the route of a request and the values of its {parameters}; known tells that the path has routes, whatever
// their methods. A literal path is no other route's parameter.
func match(routes []route, method, path string) (found *route, values map[string]string, known bool) {
	if method == http.MethodHead {
		method = http.MethodGet // net/http leaves the body out
	}
	literal := slices.ContainsFunc(routes, func(rt route) bool { return rt.path == path })
	for n := range routes {
		rt := &routes[n]
		if literal && rt.path != path {
			continue
		}
		parameters, ok := matchPath(rt.path, path)
		if !ok {
			continue
		}
		known = true
		if rt.method == method {
			return rt, parameters, true
		}
	}
	return nil, nil, known
}

// matchPath compares a path with a pattern whose segments may be {parameters}. Nothing is decoded: identifiers and the
// names of pages need no escaping.
func matchPath(pattern, path string) (map[string]string, bool) {
	wanted, given := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(wanted) != len(given) {
		return nil, false
	}
	values := map[string]string{}
	for n, want := range wanted {
		name, parameter := strings.CutPrefix(want, "{")
		switch {
		case parameter && given[n] != "":
			values[strings.TrimSuffix(name, "}")] = given[n]
		case want != given[n]:
			return nil, false
		}
	}
	return values, true
}

// allowed are the methods that a path has routes for, as the header Allow lists them (RFC 9110, section 10.2.1).
func allowed(routes []route, path string) string {
	var out []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		if found, _, _ := match(routes, method, path); found != nil {
			out = append(out, method)
		}
	}
	return strings.Join(out, ", ")
}
