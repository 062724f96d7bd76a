package router_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"quittance/internal/platform/router"
)

type route struct{ method, path string }

func newRouter() *router.Router[route] {
	return router.New([]route{
		{http.MethodGet, "/"},
		{http.MethodGet, "/invoices"},
		{http.MethodPost, "/invoices"},
		{http.MethodPost, "/invoices/preflight"},
		{http.MethodGet, "/invoices/{id}"},
		{http.MethodDelete, "/invoices/{id}"},
		{http.MethodGet, "/invoices/{id}/revisions/{number}"},
	}, func(rt *route) (method, path string) { return rt.method, rt.path })
}

// A request finds the route with its method and path, and the values of the parameters exactly as they were sent.
func TestFind(t *testing.T) {
	for name, test := range map[string]struct {
		method, path, want string
		values             map[string]string
	}{
		"the root":                    {http.MethodGet, "/", "/", nil},
		"a literal path":              {http.MethodPost, "/invoices", "/invoices", nil},
		"HEAD of a GET route":         {http.MethodHead, "/invoices", "/invoices", nil},
		"a literal beats a parameter": {http.MethodPost, "/invoices/preflight", "/invoices/preflight", nil},
		"a parameter":                 {http.MethodGet, "/invoices/7", "/invoices/{id}", map[string]string{"id": "7"}},
		"an escaped slash": {http.MethodGet, "/invoices/7%2F8",
			"/invoices/{id}", map[string]string{"id": "7%2F8"}},
		"two dots as a parameter": {http.MethodGet, "/invoices/..", "/invoices/{id}", map[string]string{"id": ".."}},
		"a pattern as a parameter": {http.MethodGet, "/invoices/%7Bid%7D",
			"/invoices/{id}", map[string]string{"id": "%7Bid%7D"}},
		"several parameters": {http.MethodGet, "/invoices/7/revisions/2", "/invoices/{id}/revisions/{number}",
			map[string]string{"id": "7", "number": "2"}},
		"a parameter with other verbs": {http.MethodDelete, "/invoices/7", "/invoices/{id}", map[string]string{"id": "7"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, values, allowed := newRouter().Find(test.method, test.path)
			if found == nil || found.path != test.want || !maps.Equal(values, test.values) || allowed != nil {
				t.Errorf("found %v, values %v, allowed %v, want %s and %v", found, values, allowed, test.want, test.values)
			}
		})
	}
}

// A path without a route for the method returns the methods that it has, and an unknown path returns none. Paths are
// not decoded, cleaned or completed.
func TestFindNothing(t *testing.T) {
	for name, test := range map[string]struct {
		method, path string
		allowed      []string
	}{
		"another method":              {http.MethodPut, "/invoices", []string{"GET", "HEAD", "POST"}},
		"a method in lower case":      {"get", "/invoices", []string{"GET", "HEAD", "POST"}},
		"a parameter, another method": {http.MethodPost, "/invoices/7", []string{"DELETE", "GET", "HEAD"}},
		"a literal, another method":   {http.MethodGet, "/invoices/preflight", []string{"POST"}},
		"an unknown path":             {http.MethodGet, "/customers", nil},
		"an empty path":               {http.MethodGet, "", nil},
		"an asterisk":                 {http.MethodOptions, "*", nil},
		"a trailing slash":            {http.MethodGet, "/invoices/", nil},
		"an empty parameter":          {http.MethodGet, "/invoices//revisions/2", nil},
		"a doubled slash":             {http.MethodGet, "//invoices", nil},
		"an escaped literal":          {http.MethodGet, "/%69nvoices", nil},
		"a path to be cleaned":        {http.MethodGet, "/customers/../invoices", nil},
		"a longer path":               {http.MethodGet, "/invoices/7/revisions/2/3", nil},
	} {
		t.Run(name, func(t *testing.T) {
			found, values, allowed := newRouter().Find(test.method, test.path)
			if found != nil || values != nil || !slices.Equal(allowed, test.allowed) {
				t.Errorf("found %v, values %v, allowed %v, want %v", found, values, allowed, test.allowed)
			}
		})
	}
}
