// Package router finds the route of an HTTP request by its method and path. The API and the console share it.
//
// Its invariant: a path is compared as the client sent it. The router decodes nothing, cleans nothing and redirects
// nothing, so that an escaped slash never separates segments and each resource has one spelling.
//
// Start reading at [Router.Find].
package router

import (
	"net/http"
	"slices"
	"strings"
)

// Router holds routes of type T. It is immutable and safe for concurrent use.
type Router[T any] struct{ entries []entry[T] }

type entry[T any] struct {
	method, pattern string
	route           *T
}

// New returns a router of the given routes. pattern returns the method of a route and the pattern of its path, whose
// segments may be parameters, such as /invoices/{invoice_id}. A GET route also answers HEAD.
func New[T any](routes []T, pattern func(*T) (method, path string)) *Router[T] {
	r := &Router[T]{entries: make([]entry[T], len(routes))}
	for n := range routes {
		e := &r.entries[n]
		e.route = &routes[n]
		e.method, e.pattern = pattern(e.route)
	}
	return r
}

// Find returns the route of a request and the values of its parameters. If the path has no route for the method, Find
// returns nil and the methods that the path does have, sorted, as the Allow header lists them (RFC 9110, section
// 10.2.1); these are empty for an unknown path.
//
// A path that equals a pattern belongs to the routes of this pattern alone, whatever their methods: /invoices/preflight
// is never the invoice "preflight".
func (r *Router[T]) Find(method, path string) (route *T, values map[string]string, allowed []string) {
	if method == http.MethodHead {
		method = http.MethodGet // net/http omits the body
	}
	literal := slices.ContainsFunc(r.entries, func(e entry[T]) bool { return e.pattern == path })
	for _, e := range r.entries {
		if literal && e.pattern != path {
			continue
		}
		parameters, ok := match(e.pattern, path)
		if !ok {
			continue
		}
		if e.method == method {
			return e.route, parameters, nil
		}
		allowed = append(allowed, e.method)
		if e.method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	slices.Sort(allowed)
	return nil, nil, slices.Compact(allowed)
}

// match compares a path with a pattern segment by segment. A parameter matches any segment that is not empty.
func match(pattern, path string) (values map[string]string, ok bool) {
	for {
		want, patternRest, morePattern := strings.Cut(pattern, "/")
		got, pathRest, morePath := strings.Cut(path, "/")
		if name, isParameter := strings.CutPrefix(want, "{"); isParameter && got != "" {
			if values == nil {
				values = map[string]string{}
			}
			values[strings.TrimSuffix(name, "}")] = got
		} else if want != got {
			return nil, false
		}
		if morePattern != morePath {
			return nil, false
		}
		if !morePattern {
			return values, true
		}
		pattern, path = patternRest, pathRest
	}
}
