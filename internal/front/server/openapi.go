package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/tabular"
	"quittance/internal/ledger/access"
	"quittance/internal/platform/problem"
	"quittance/sdk/samples"
)

// OpenAPI returns the API document of a version of the service without starting one, for programs that generate code
// from it.
func OpenAPI(version string) ([]byte, error) { return openAPIDocument(routes(), version) }

// openAPIDocument generates the OpenAPI 3.1 document from the route table and the types of package api.
func openAPIDocument(routes []route, version string) ([]byte, error) {
	components := newSchemas(routes)
	all, err := samples.All()
	if err != nil {
		return nil, err
	}
	texts, err := operationTexts()
	if err != nil {
		return nil, err
	}
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{Title: "Quittance", Version: version,
			Description: "E-invoicing client API: drafts, one regulated submission an invoice, four independent states, signed webhooks. Beta; sandbox data is synthetic.",
			License:     &huma.License{Name: "Apache-2.0", URL: "https://www.apache.org/licenses/LICENSE-2.0"}},
		Servers: []*huma.Server{{URL: "/", Description: "This server"}},
		Components: &huma.Components{Schemas: components.all(), Headers: responseHeaders(), Examples: errorExamples(),
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"bearer": {Type: "http", Scheme: "bearer", Description: "The token of a login, or an API key."}}},
		Tags: []*huma.Tag{
			{Name: "Authentication", Description: "Logging in and out, passwords, and the account."},
			{Name: "API keys", Description: "The credentials of machines."},
			{Name: "Users", Description: "The people of the company, their roles, and invitations."},
			{Name: "Invoices",
				Description: "Drafts, their one submission, its four states, and the evidence of what the provider said."},
			{Name: "Credit notes", Description: "Internal drafts that credit an invoice."},
			{Name: "Incoming e-invoices", Description: "Purchase documents retained from the provider, with their revisions."},
			{Name: "Customers and items",
				Description: "The customer book and the item catalogue, from which drafts are filled."},
			{Name: "Webhooks", Description: "Signed callbacks: subscriptions, events, deliveries and their attempts."},
			{Name: "Audit log", Description: "Who changed what, and when."},
		},
	}
	for n := range routes {
		if !routes[n].hidden {
			operation := routes[n].document(components, texts[routes[n].name])
			operation.Extensions["x-order"] = n + 1 // the document itself has its operations in the order of their paths
			if sample, ok := all[routes[n].name]; ok {
				routes[n].addSample(operation, sample)
			}
			doc.AddOperation(operation)
		}
	}
	events, err := exampleEvents(all["listEvents"].Response)
	if err != nil {
		return nil, err
	}
	doc.Webhooks = documentWebhooks(components, events)
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("API document: %w", err)
	}
	return text, nil
}

func (c *call) serveOpenAPI(context.Context) (int, jsontext.Value, error) {
	document, err := c.openapi()
	return http.StatusOK, document, err
}

var parameterName = regexp.MustCompile(`\{(\w+)\}`)

// document describes one route.
func (rt *route) document(components schemas, text string) *huma.Operation {
	operation := &huma.Operation{Method: rt.method, Path: rt.path, OperationID: rt.name, Tags: []string{rt.tag},
		Summary: rt.summary, Description: text, Deprecated: rt.deprecated(), Responses: map[string]*huma.Response{},
		Extensions: rt.callers()}
	operation.Security = []map[string][]string{} // explicit: no authentication is required
	if rt.needs != access.Public {
		operation.Security = []map[string][]string{{"bearer": {}}}
	}
	for _, found := range parameterName.FindAllStringSubmatch(rt.path, -1) {
		parameter := &huma.Param{Name: found[1], In: "path", Required: true, Description: "Identifier.",
			Schema: &huma.Schema{Type: huma.TypeString, Format: "uuid"}}
		switch found[1] {
		case "revision":
			parameter.Description, parameter.Schema = "Number of the revision, from 1.",
				&huma.Schema{Type: huma.TypeInteger, Minimum: new(1.0)}
		case "attachment":
			parameter.Description, parameter.Schema = "Identifier of the attachment, from `parsed.attachments`.",
				&huma.Schema{Type: huma.TypeString}
		}
		operation.Parameters = append(operation.Parameters, parameter)
	}
	for _, name := range rt.query {
		operation.Parameters = append(operation.Parameters, queryParameter(name))
	}
	if rt.operation.in != reflect.TypeFor[noBody]() {
		operation.RequestBody = &huma.RequestBody{Required: true, Content: rt.requestContent(components)}
	}
	if rt.idempotent {
		operation.Parameters = append(operation.Parameters,
			&huma.Param{Name: headerIdempotencyKey, In: "header", Description: idempotencyText,
				Schema: &huma.Schema{Type: huma.TypeString, MinLength: new(1), MaxLength: new(maxIdempotencyKey),
					Pattern: "^[!-~]+$"}})
	}
	if rt.conditional {
		operation.Parameters = append(operation.Parameters, &huma.Param{Name: "If-Match", In: "header",
			Description: "ETag of the version to change.", Schema: &huma.Schema{Type: huma.TypeString}})
	}
	operation.Parameters = append(operation.Parameters, &huma.Param{Name: api.HeaderRequestID, In: "header",
		Description: "Your own identifier of the request, which the response then has: 1 to 128 letters, digits, dots, hyphens and underscores. Any other value is replaced.",
		Schema: &huma.Schema{Type: huma.TypeString, MinLength: new(1), MaxLength: new(128),
			Pattern: "^[A-Za-z0-9._-]+$"}})
	rt.documentResponses(operation, components)
	return operation
}

// addSample adds the programs of a sample to an operation, and its body as the example of the request.
func (rt *route) addSample(operation *huma.Operation, sample samples.Sample) {
	call := samples.Call{Method: rt.method, Path: rt.path, Public: rt.needs == access.Public,
		Login: len(operation.Extensions["x-scopes"].([]access.Scope)) == 0}
	if rt.sendsFile() {
		mediaType, _, _ := strings.Cut(rt.fileMediaType(), ",")
		call.Output = map[string]string{xmlType: "document.xml", pdfType: "document.pdf", "text/csv": "export.csv"}[mediaType]
		call.Output = cmp.Or(call.Output, "attachment")
	}
	operation.Extensions["x-codeSamples"] = sample.Programs(call)
	if sample.Body != "" {
		operation.RequestBody.Content["application/json"].Example = json.RawMessage(sample.Example())
	}
	if sample.Response != nil {
		operation.Responses[strconv.Itoa(rt.status)].Content["application/json"].Example = sample.Response
	}
}

// callers returns who may call the operation, as extensions of the API document: the roles of users and the scopes of
// API keys.
func (rt *route) callers() map[string]any {
	if rt.needs == access.Public {
		return map[string]any{"x-scopes": []access.Scope{}}
	}
	roles, scopes := []access.Role{}, []access.Scope{}
	for _, role := range access.Roles {
		if role.Permissions().Has(rt.needs) {
			roles = append(roles, role)
		}
	}
	for _, scope := range access.Scopes {
		if scope.Permissions().Has(rt.needs) {
			scopes = append(scopes, scope)
		}
	}
	return map[string]any{"x-roles": roles, "x-scopes": scopes}
}

// idempotencyText describes the header Idempotency-Key.
const idempotencyText = "Makes a repeat safe: the response to a successful request is kept for 24 hours and given again, with `Idempotency-Replayed: true` and without a signing secret or an API key. " +
	"The same key with another request is refused with `idempotency_key_reused`."

// words returns the values of an enumeration.
func words[T ~string](list []T) (values []any) {
	for _, word := range list {
		values = append(values, string(word))
	}
	return values
}

// queryParameter describes a query parameter of the API; an unknown name gets a general description.
func queryParameter(name string) *huma.Param {
	text := func(description string) *huma.Param {
		return &huma.Param{Name: name, In: "query", Description: description, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	number := func(description string, absent int) *huma.Param {
		return &huma.Param{Name: name, In: "query", Description: description,
			Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: new(1.0), Default: absent}}
	}
	oneOf := func(description string, values ...any) *huma.Param {
		param := text(description)
		param.Schema.Enum = values
		return param
	}
	switch name {
	case "page":
		return number("Page number, from 1.", 1)
	case "per_page":
		return number("Entries a page, from 1; more than 100 is served as 100.", defaultPerPage)
	case "limit":
		return number("Most events to return, from 1; more than 100 is served as 100.", defaultPerPage)
	case "dry_run":
		return oneOf("`true` reads the file and stores nothing.", "true", "false")
	case "submitted":
		return oneOf("Only submitted invoices, or only drafts.", "true", "false")
	case "attention":
		return oneOf(
			"Only invoices that need a person, or only the others: the outcome has been unknown for over ten minutes, the submission was rejected and is not "+
				"corrected yet, or the provider publishes that one of its words is negative.", "true", "false")
	case "recipient_name":
		param := text("Only invoices whose recipient's name holds this text, whatever the case of its letters.")
		param.Schema.MinLength, param.Schema.MaxLength = new(1), new(maxRecipientName)
		return param
	case "name":
		param := text(
			"Only entries that have this text, whatever the case of its letters, in the name, in recipient_name or recipient_network_id of a customer, or in item_code of an item.")
		param.Schema.MinLength, param.Schema.MaxLength = new(1), new(maxBookName)
		return param
	case "issue_date_from", "issue_date_to":
		param := text("Only documents issued on this date or " + map[string]string{"issue_date_from": "later.",
			"issue_date_to": "earlier."}[name])
		param.Schema.Format = "date"
		return param
	case "updated_since", "from", "to":
		param := text(
			map[string]string{"updated_since": "Only entries that changed at this time or later; an incoming e-invoice changes with each new revision", "from": "Only acts at this time or later",
				"to": "Only acts before this time"}[name] + " (RFC 3339; encode a plus sign as %2B).")
		param.Schema.Format = "date-time"
		return param
	case "sort":
		var values []any
		for _, by := range slices.Sorted(maps.Keys(sorts)) {
			values = append(values, by, "-"+by)
		}
		param := oneOf(
			"The order of the list; a hyphen means descending. Entries that are equal in it are in the order of their creation, then of their identifiers.", values...)
		param.Schema.Default = "-created_at"
		return param
	case "profile":
		return oneOf(
			"Document format: `pint-ae` is Peppol PINT for the United Arab Emirates, `bis3` is Peppol BIS Billing 3.0. The default is that of the company's connection, if it has one.",
			words(document.Profiles[:])...)
	case "format":
		return oneOf("File format: CSV (RFC 4180, UTF-8 with a byte order mark), which is the default, or XLSX.",
			string(tabular.CSV), string(tabular.XLSX))
	case "rows":
		return oneOf(
			"What a row is: an invoice, which is the default, or one of its items with the fields of the invoice repeated, in the columns of an import.", rowsOfInvoices, rowsOfItems)
	case "event":
		return oneOf("Only deliveries of this event kind.", words(api.EventKinds[:])...)
	case "state":
		return oneOf("Only deliveries in this state.", string(api.DeliveryPending), string(api.DeliveryDelivered),
			string(api.DeliveryFailed), string(api.DeliveryBlocked))
	default:
		return text(queryText(name))
	}
}

// queryText describes a query parameter that is any text.
func queryText(name string) string {
	return cmp.Or(map[string]string{
		"after": "The `next_cursor` of the previous call; absent for the beginning; `" + api.CursorLatest +
			"` for the end.",
		"sheet":      "Name of the worksheet of an XLSX file; the first one if absent.",
		"actor":      "Only acts of this user (e-mail address) or API key (identifier), or of `administrator` or `system`.",
		"act":        "Only this act, such as `draft.create`, or this family of acts, such as `draft`.",
		"subject_id": "Only acts on what has this identifier, such as an invoice.",
	}[name], "Only entries with exactly this value.")
}

// requestContent describes the body of a request.
func (rt *route) requestContent(components schemas) map[string]*huma.MediaType {
	if rt.takesFile() {
		content := map[string]*huma.MediaType{}
		for _, mediaType := range rt.mediaTypes {
			content[mediaType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString,
				Description: "The bytes of the file."}}
		}
		return content
	}
	if !rt.operation.patch {
		return jsonContent(components.request(rt.operation.in))
	}
	content := jsonContent(components.patch(rt.operation.in))
	for _, mediaType := range rt.mediaTypes {
		content[mediaType] = content["application/json"]
	}
	return content
}

func jsonContent(schema *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: schema}}
}

// documentResponses describes the successes and errors of the route by status.
func (rt *route) documentResponses(operation *huma.Operation, components schemas) {
	success := func(status int, text string) {
		operation.Responses[strconv.Itoa(status)] = &huma.Response{Description: text, Headers: rt.responseHeaders(status),
			Content: rt.responseContent(components)}
	}
	if rt.status != 0 {
		success(rt.status, http.StatusText(rt.status))
	}
	for status, text := range rt.also {
		success(status, text)
	}
	for _, code := range append(rt.commonCodes(), rt.codes...) {
		kind := problem.For(code)
		text := fmt.Sprintf("`%s`: %s", code, kind)
		response, known := operation.Responses[strconv.Itoa(kind.Status())]
		if known {
			response.Description += "\n\n" + text
		} else {
			content := jsonContent(components.response(reflect.TypeFor[api.ErrorBody]()))
			content["application/json"].Examples = map[string]*huma.Example{}
			response = &huma.Response{Description: text, Headers: rt.responseHeaders(kind.Status()), Content: content}
			operation.Responses[strconv.Itoa(kind.Status())] = response
		}
		response.Content["application/json"].Examples[string(code)] = &huma.Example{Ref: "#/components/examples/" +
			string(code)}
	}
}

// responseContent describes the body of a success.
func (rt *route) responseContent(components schemas) map[string]*huma.MediaType {
	if !rt.sendsFile() {
		return jsonContent(components.response(rt.operation.out))
	}
	content := map[string]*huma.MediaType{}
	for mediaType := range strings.SplitSeq(rt.fileMediaType(), ", ") {
		content[mediaType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString,
			Description: "The bytes of the file."}}
	}
	return content
}

// commonCodes returns the errors that follow from the properties of a route.
func (rt *route) commonCodes() []api.Code {
	codes := []api.Code{api.CodeMalformedRequest}
	if rt.needs != access.Public {
		codes = append(codes, api.CodeUnauthenticated, api.CodeRateLimited, api.CodeForbidden)
	}
	if parameterName.MatchString(rt.path) {
		codes = append(codes, api.CodeNotFound)
	}
	if rt.takesBody() {
		codes = append(codes, api.CodePayloadTooLarge, api.CodeUnsupportedMediaType, api.CodeValidationFailed)
	}
	if rt.idempotent {
		codes = append(codes, api.CodeIdempotencyKeyReused)
	}
	return append(codes, api.CodeInternal, api.CodeUnavailable)
}
