package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"quittance/api"
)

// document generates the OpenAPI 3.1 document from the route table and the types of package api.
func document(routes []route, version string) ([]byte, error) {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	registry.RegisterTypeAlias(reflect.TypeFor[api.Decimal](), reflect.TypeFor[float64]())
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{Title: "Quittance", Version: version,
			Description: "E-invoicing client API: drafts, one regulated submission an invoice, four independent states, signed webhooks. Beta; sandbox data is synthetic.",
			License:     &huma.License{Name: "Apache-2.0", URL: "https://www.apache.org/licenses/LICENSE-2.0"}},
		Servers: []*huma.Server{{URL: "/", Description: "This server"}},
		Components: &huma.Components{Schemas: registry, SecuritySchemes: map[string]*huma.SecurityScheme{
			"bearer": {Type: "http", Scheme: "bearer", Description: "The token of a login."}}},
		Tags: []*huma.Tag{{Name: "Authentication"}, {Name: "Invoices"}, {Name: "Webhooks"}},
	}
	for n := range routes {
		if !routes[n].hidden {
			doc.AddOperation(routes[n].document(registry))
		}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("API document: %w", err)
	}
	return text, nil
}

var parameterName = regexp.MustCompile(`\{(\w+)\}`)

// document describes one route.
func (rt *route) document(registry huma.Registry) *huma.Operation {
	operation := &huma.Operation{Method: rt.method, Path: rt.path, OperationID: rt.name, Tags: []string{rt.tag}, Summary: rt.summary,
		Description: rt.text, Deprecated: rt.deprecated, Responses: map[string]*huma.Response{}}
	if !rt.public {
		operation.Security = []map[string][]string{{"bearer": {}}}
	}
	for _, found := range parameterName.FindAllStringSubmatch(rt.path, -1) {
		operation.Parameters = append(operation.Parameters, &huma.Param{Name: found[1], In: "path", Required: true,
			Description: "Identifier.", Schema: &huma.Schema{Type: huma.TypeString, Format: "uuid"}})
	}
	for _, name := range rt.query {
		operation.Parameters = append(operation.Parameters, queryParameters[name])
	}
	if rt.operation.in != reflect.TypeFor[none]() {
		operation.RequestBody = &huma.RequestBody{Required: true, Content: jsonContent(registry, rt.operation.in)}
	}
	rt.documentAnswers(operation, registry)
	return operation
}

// queryParameters describes every query parameter of the API by its name.
var queryParameters = map[string]*huma.Param{
	"page":     {Name: "page", In: "query", Description: "Page number, from 1.", Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: new(1.0), Default: 1}},
	"per_page": {Name: "per_page", In: "query", Description: "Entries a page, from 1; more than 100 is served as 100.", Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: new(1.0), Default: defaultPerPage}},
}

func jsonContent(registry huma.Registry, of reflect.Type) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: registry.Schema(of, true, "")}}
}

// documentAnswers describes the successes and every refusal that the route can give, by status.
func (rt *route) documentAnswers(operation *huma.Operation, registry huma.Registry) {
	header := map[string]*huma.Param{api.HeaderRequestID: {Description: "Identifies the request to support.", Schema: &huma.Schema{Type: huma.TypeString}}}
	success := func(status int, text string) {
		operation.Responses[strconv.Itoa(status)] = &huma.Response{Description: text, Headers: header, Content: jsonContent(registry, rt.operation.out)}
	}
	success(rt.status, http.StatusText(rt.status))
	for status, text := range rt.also {
		success(status, text)
	}
	for _, code := range append(rt.commonCodes(), rt.codes...) {
		entry := statuses[code]
		text := fmt.Sprintf("`%s`: %s", code, entry.message)
		if known, ok := operation.Responses[strconv.Itoa(entry.status)]; ok {
			known.Description += "\n\n" + text
			continue
		}
		operation.Responses[strconv.Itoa(entry.status)] = &huma.Response{Description: text, Headers: header,
			Content: jsonContent(registry, reflect.TypeFor[api.ErrorBody]())}
	}
}

// commonCodes are the refusals that follow from what a route is.
func (rt *route) commonCodes() []api.Code {
	codes := []api.Code{api.CodeMalformedRequest}
	if !rt.public {
		codes = append(codes, api.CodeUnauthenticated, api.CodeRateLimited)
	}
	if parameterName.MatchString(rt.path) {
		codes = append(codes, api.CodeNotFound)
	}
	if rt.method != http.MethodGet {
		codes = append(codes, api.CodePayloadTooLarge, api.CodeUnsupportedMediaType, api.CodeValidationFailed)
	}
	return append(codes, api.CodeInternal, api.CodeUnavailable)
}
