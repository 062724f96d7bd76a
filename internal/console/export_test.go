package console

import (
	"quittance/internal/access"
	"quittance/internal/access/accesstest"
)

// Routes returns the route table.
func Routes() []accesstest.Route {
	var out []accesstest.Route
	for _, rt := range routes() {
		out = append(out, accesstest.Route{Method: rt.method, Path: rt.path, Needs: rt.needs})
	}
	return out
}

// RouteOf returns the path of the route that serves a request, and the permission that it needs.
func RouteOf(method, path string) (route string, needs access.Permission, found bool) {
	rt, _, _ := newRouter(routes()).Find(method, path)
	if rt == nil {
		return "", 0, false
	}
	return rt.path, rt.needs, true
}
