package server

import (
	"net/http"
	"slices"
	"strings"

	"quittance/api"
)

// route is one operation of the API.
type route struct {
	method, path string
	operation    operation
	// public routes need no token.
	public bool
	// query names the query parameters; any other is refused.
	query []string
	// mediaTypes are accepted beside application/json.
	mediaTypes []string
	// hidden routes are no part of the API document.
	hidden bool
	// The rest is the API document: a name for generated clients, one line, a paragraph, the success status with what
	// it means, other successes, and the refusals that are particular to the operation.
	name, tag, summary, text string
	status                   int
	also                     map[int]string
	codes                    []api.Code
	deprecated               bool
}

const (
	client   = "/api/v1/client"
	webhooks = "/api/v1/webhooks"
)

// routes is the whole API, in the order of the specification, part 4.
func routes() []route {
	submit := bare((*call).submit)
	return []route{
		{method: http.MethodPost, path: client + "/auth/login", public: true, operation: endpoint((*call).login),
			name: "login", tag: "Authentication", summary: "Log in", status: 200, text: loginText,
			codes: []api.Code{api.CodeInvalidCredentials, api.CodeAccountSuspended, api.CodeRateLimited}},
		{method: http.MethodPost, path: client + "/invoices", operation: endpoint((*call).createInvoice),
			name: "createInvoice", tag: "Invoices", summary: "Create a draft", status: 201, text: createText},
		{method: http.MethodGet, path: client + "/invoices", operation: bare((*call).listInvoices), query: []string{"page", "per_page"},
			name: "listInvoices", tag: "Invoices", summary: "List invoices", status: 200, text: listText},
		{method: http.MethodGet, path: client + "/invoices/{invoice_id}", operation: bare((*call).readInvoice),
			name: "readInvoice", tag: "Invoices", summary: "Read an invoice", status: 200, text: readText},
		{method: http.MethodPost, path: client + "/invoices/{invoice_id}/submit", operation: submit,
			name: "submitInvoice", tag: "Invoices", summary: "Submit a complete draft", status: 200, text: submitText,
			also: map[int]string{202: submitUnknown}, codes: submitCodes},
		{method: http.MethodPost, path: client + "/invoices/{invoice_id}/submit-provider", operation: submit,
			name: "submitInvoiceProvider", tag: "Invoices", summary: "Submit a complete draft (deprecated alias)", status: 200,
			text: "Deprecated alias of submit; it behaves the same.", also: map[int]string{202: submitUnknown}, codes: submitCodes, deprecated: true},
		{method: http.MethodPost, path: webhooks + "/subscriptions", operation: endpoint((*call).createSubscription),
			name: "createSubscription", tag: "Webhooks", summary: "Create a webhook subscription", status: 201, text: subscribeText,
			codes: []api.Code{api.CodeUnsafeDestination, api.CodeLimitReached}},
		{method: http.MethodGet, path: "/openapi.json", public: true, hidden: true, operation: bare((*call).serveDocument), status: 200},
		{method: http.MethodGet, path: "/healthz", public: true, hidden: true, operation: bare((*call).health), status: 200},
		{method: http.MethodGet, path: "/readyz", public: true, hidden: true, operation: bare((*call).ready), status: 200},
	}
}

// match finds the route of a request. Without one it returns the methods that the path has, none for an unknown path.
// Paths are compared as they are: nothing is cleaned and nothing redirected.
func match(routes []route, method, path string) (found *route, allowed []string, values map[string]string) {
	if method == http.MethodHead {
		method = http.MethodGet // net/http leaves the body out
	}
	for n := range routes {
		rt := &routes[n]
		parameters, ok := matchPath(rt.path, path)
		if !ok {
			continue
		}
		if rt.method == method {
			return rt, nil, parameters
		}
		allowed = append(allowed, rt.method)
		if rt.method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	slices.Sort(allowed)
	return nil, slices.Compact(allowed), nil
}

// matchPath compares a path with a pattern whose segments may be {parameters}. A fixed segment that another route
// names, such as preflight, is no parameter: those routes stand first in the table.
func matchPath(pattern, path string) (map[string]string, bool) {
	var values map[string]string
	for {
		want, moreWanted, nextPattern := segment(pattern)
		got, moreGot, nextPath := segment(path)
		if name, ok := strings.CutPrefix(want, "{"); ok && got != "" {
			if values == nil {
				values = map[string]string{}
			}
			values[strings.TrimSuffix(name, "}")] = got
		} else if want != got {
			return nil, false
		}
		if moreWanted != moreGot {
			return nil, false
		}
		if !moreWanted {
			return values, true
		}
		pattern, path = nextPattern, nextPath
	}
}

// segment cuts the first segment off a path.
func segment(path string) (first string, more bool, rest string) {
	first, rest, more = strings.Cut(path, "/")
	return first, more, rest
}
