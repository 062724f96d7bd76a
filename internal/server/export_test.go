package server

import (
	"reflect"
	"slices"

	"quittance/api"
)

// Route is what the tests from outside know of a route: what the API document says of it, and no more.
type Route struct {
	Name, Method, Path string
	// Public routes need no token; hidden ones are no part of the API document.
	Public, Hidden bool
	// HasBody tells that the route wants a body.
	HasBody bool
	// Patch tells that the body is a merge patch, Keyed that the route takes an Idempotency-Key.
	Patch, Keyed bool
	// Conditional tells that the route honours If-Match.
	Conditional bool
	Query       []string
	// Status is the ordinary success, 0 for a route that always refuses; Also are the others.
	Status int
	Also   []int
	// Codes are the documented refusals.
	Codes []api.Code
}

// Routes returns the route table.
func Routes() []Route {
	var out []Route
	for _, rt := range routes() {
		known := Route{Name: rt.name, Method: rt.method, Path: rt.path, Public: rt.public, Hidden: rt.hidden,
			HasBody: rt.operation.in != reflect.TypeFor[none](), Patch: rt.operation.patch, Keyed: rt.keyed, Conditional: rt.conditional, Query: rt.query, Status: rt.status,
			Codes: append(rt.commonCodes(), rt.codes...)}
		for status := range rt.also {
			known.Also = append(known.Also, status)
		}
		slices.Sort(known.Also)
		out = append(out, known)
	}
	return out
}

// Refusals returns the error catalogue: the status and the sentence of every code.
func Refusals() map[api.Code]Refusal {
	out := map[api.Code]Refusal{}
	for code, entry := range statuses {
		out[code] = Refusal{Status: entry.status, Message: entry.message}
	}
	return out
}

// Refusal is one entry of the error catalogue.
type Refusal struct {
	Status  int
	Message string
}
