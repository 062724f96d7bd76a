package console

import (
	"quittance/internal/ledger/access"
	"quittance/test/accesstest"
)

// Routes returns the route table.
func Routes() []accesstest.Route {
	var out []accesstest.Route
	for _, rt := range routes() {
		out = append(out, accesstest.Route{Method: rt.method, Path: rt.path, Needs: rt.needs})
	}
	return out
}

// RouteFinder returns a function that returns the path of the route that serves a request, and the permission that it
// needs.
func RouteFinder() func(method, path string) (route string, needs access.Permission, found bool) {
	router := newRouter(routes())
	return func(method, path string) (string, access.Permission, bool) {
		rt, _, _ := router.Find(method, path)
		if rt == nil {
			return "", 0, false
		}
		return rt.path, rt.needs, true
	}
}
