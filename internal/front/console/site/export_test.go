package site

import (
	"quittance/internal/front/console"
	"quittance/internal/ledger/access"
	"quittance/internal/platform/router"
	"quittance/test/accesstest"
)

// routes returns the routes of all subjects.
func routes() (all []console.Route) {
	for _, s := range subjects() {
		all = append(all, s.Routes...)
	}
	return all
}

// Routes returns the route table.
func Routes() []accesstest.Route {
	var out []accesstest.Route
	for _, rt := range routes() {
		out = append(out, accesstest.Route{Method: rt.Method, Path: rt.Path, Needs: rt.Needs})
	}
	return out
}

// RouteFinder returns a function that returns the path of the route that serves a request, and the permission that it
// needs.
func RouteFinder() func(method, path string) (route string, needs access.Permission, found bool) {
	router := router.New(routes(), func(rt *console.Route) (method, path string) { return rt.Method, rt.Path })
	return func(method, path string) (string, access.Permission, bool) {
		rt, _, _ := router.Find(method, path)
		if rt == nil {
			return "", 0, false
		}
		return rt.Path, rt.Needs, true
	}
}
