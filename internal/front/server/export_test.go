package server

import (
	"reflect"
	"slices"

	"quittance/client/api"
	"quittance/internal/ledger/access"
)

// Route is the part of a route that the API document describes, for the tests outside the package.
type Route struct {
	Name, Method, Path string
	// Needs is the permission that a caller needs. Public routes need no token.
	Needs  access.Permission
	Public bool
	// Hidden routes are not in the API document.
	Hidden bool
	// HasBody means that the route requires a body.
	HasBody bool
	// FileBody means that the body is a file, of one of BodyTypes.
	FileBody  bool
	BodyTypes []string
	// Patch means that the body is a merge patch, Idempotent that the route takes an Idempotency-Key.
	Patch, Idempotent bool
	// Conditional means that the route honours If-Match.
	Conditional bool
	// File means that a success is a file and not JSON, of the media type FileType.
	File     bool
	FileType string
	Query    []string
	// Status is the usual status of a success, 0 for a route that always fails. Also has the other ones.
	Status int
	Also   []int
	// Codes are the documented errors.
	Codes []api.Code
}

// Routes returns the route table.
func Routes() []Route {
	var out []Route
	for _, rt := range routes() {
		known := Route{Name: rt.name, Method: rt.method, Path: rt.path, Needs: rt.needs, Public: rt.needs == access.Public,
			Hidden: rt.hidden, HasBody: rt.operation.in != reflect.TypeFor[noBody](), FileBody: rt.takesFile(),
			BodyTypes: rt.bodyTypes(), Patch: rt.operation.patch, Idempotent: rt.idempotent, Conditional: rt.conditional,
			File: rt.sendsFile(), FileType: rt.fileMediaType(), Query: rt.query, Status: rt.status,
			Codes: append(rt.commonCodes(), rt.codes...)}
		for status := range rt.also {
			known.Also = append(known.Also, status)
		}
		slices.Sort(known.Also)
		out = append(out, known)
	}
	return out
}
