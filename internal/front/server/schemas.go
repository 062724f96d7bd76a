package server

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/platform/problem"
)

// schemas are the component schemas of the API document. Requests and responses have separate schemas, although they
// share types: a request lists its required fields and takes no unknown ones; a response has every field, with null for
// unknown values, and may get more fields in later versions.
type schemas struct{ requests, responses huma.Registry }

const schemaPrefix = "#/components/schemas/"

func newSchemas(routes []route) schemas {
	s := schemas{
		requests: huma.NewMapRegistry(schemaPrefix, func(t reflect.Type, hint string) string {
			return strings.TrimSuffix(huma.DefaultSchemaNamer(t, hint), "Request") + "Request"
		}),
		responses: huma.NewMapRegistry(schemaPrefix, huma.DefaultSchemaNamer),
	}
	for _, registry := range []huma.Registry{s.requests, s.responses} {
		registry.RegisterTypeAlias(reflect.TypeFor[api.Decimal](), reflect.TypeFor[float64]())
		registry.RegisterTypeAlias(reflect.TypeFor[api.Amount](), reflect.TypeFor[float64]())
	}
	s.responses.Schema(reflect.TypeFor[api.ErrorBody](), true, "")
	s.responses.Schema(reflect.TypeFor[api.Event[api.SubmissionPayload]](), true, "")
	s.responses.Schema(reflect.TypeFor[api.Event[api.IncomingPayload]](), true, "")
	for n := range routes {
		if operation := routes[n].operation; !routes[n].hidden {
			if operation.in != reflect.TypeFor[noBody]() && operation.in != reflect.TypeFor[fileBody]() {
				s.requests.Schema(operation.in, true, "")
			}
			if operation.out != reflect.TypeFor[noBody]() && !routes[n].sendsFile() {
				s.responses.Schema(operation.out, true, "")
			}
		}
	}
	for name, schema := range s.requests.Map() {
		s.shape(schema, s.requests.TypeFromRef(schemaPrefix+name), true)
	}
	for name, schema := range s.responses.Map() {
		s.shape(schema, s.responses.TypeFromRef(schemaPrefix+name), false)
	}
	return s
}

// all returns the schemas by name.
func (s schemas) all() huma.Registry {
	maps.Copy(s.responses.Map(), s.requests.Map())
	return s.responses
}

// request refers to the schema of a request body.
func (s schemas) request(of reflect.Type) *huma.Schema { return s.requests.Schema(of, true, "") }

// patch returns the schema of a merge patch: the fields of its target, none of them required.
func (s schemas) patch(of reflect.Type) *huma.Schema {
	schema := *s.requests.SchemaFromRef(s.request(of).Ref)
	schema.Required = nil
	return &schema
}

// response refers to the schema of a response body.
func (s schemas) response(of reflect.Type) *huma.Schema { return s.responses.Schema(of, true, "") }

// shape corrects the schema of a struct where the generator knows less than the encoder.
func (s schemas) shape(schema *huma.Schema, t reflect.Type, request bool) {
	schema.Required, schema.AdditionalProperties = nil, nil
	if request {
		schema.AdditionalProperties = false
	}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		property := schema.Properties[name]
		if property == nil || field.Anonymous {
			continue
		}
		required := field.Tag.Get("required") == "true"
		if !request {
			required = !strings.Contains(options, "omitempty")
		}
		if required {
			schema.Required = append(schema.Required, name)
		}
		optional := field.Type.Kind() == reflect.Pointer
		if request {
			optional = !required // null is absent
		}
		schema.Properties[name] = s.property(property, field, optional)
		if t := field.Type; request && (t == reflect.TypeFor[api.Decimal]() || t == reflect.TypeFor[*api.Decimal]()) {
			schema.Properties[name] = decimalInput(schema.Properties[name])
		}
	}
	slices.Sort(schema.Required)
	if only, ok := resourceTypes()[t]; ok {
		schema.Properties["resource_type"].Enum = []any{only}
	}
}

// resourceTypes returns the resource type of the events that have one kind of payload, so that generated code can
// distinguish them by it.
func resourceTypes() map[reflect.Type]string {
	return map[reflect.Type]string{
		reflect.TypeFor[api.Event[api.SubmissionPayload]](): api.ResourceSubmission,
		reflect.TypeFor[api.Event[api.IncomingPayload]]():   api.ResourceIncomingInvoice,
	}
}

// decimalInput returns the schema of a decimal in a request: the number, or a string with its text. The bounds of the
// number also hold for the string, which no keyword can express.
func decimalInput(number *huma.Schema) *huma.Schema {
	out := &huma.Schema{Description: number.Description + " A number, or a string that holds one.",
		Examples: number.Examples}
	number.Description, number.Examples = "", nil
	text := &huma.Schema{Type: huma.TypeString, Pattern: `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`}
	out.AnyOf = []*huma.Schema{number, text}
	return out
}

// property corrects the schema of one field.
func (s schemas) property(p *huma.Schema, field reflect.StructField, optional bool) *huma.Schema {
	p.PatternDescription = "" // the description of the field has it, and it is not a keyword of JSON Schema
	t := field.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[api.Decimal](), reflect.TypeFor[api.Amount]():
		p.Format = "double" // without it, generated code has single precision; the text itself is exact
		if example, ok := field.Tag.Lookup("example"); ok {
			p.Examples = []any{json.RawMessage(example)} // with its scale
		}
	case reflect.TypeFor[api.Code]():
		p.Description += " Known values: " + strings.Join(knownCodes(), ", ") + ". More may come: go by the HTTP status then."
	case reflect.TypeFor[api.EventKind]():
		kinds := make([]string, len(api.EventKinds))
		for n, kind := range api.EventKinds {
			kinds[n] = string(kind)
		}
		p.Description += " Known values: " + strings.Join(kinds, ", ") +
			". More may come: accept and ignore what you do not know."
	case reflect.TypeFor[jsontext.Value]():
		return &huma.Schema{Description: p.Description, AnyOf: []*huma.Schema{
			s.response(reflect.TypeFor[api.SubmissionPayload]()), s.response(reflect.TypeFor[api.IncomingPayload]())}}
	}
	if t == reflect.TypeFor[map[string]any]() { // the details of an error
		p.AdditionalProperties = &huma.Schema{AnyOf: []*huma.Schema{
			{Type: huma.TypeArray, Description: "The faults of a field.", Items: s.response(reflect.TypeFor[api.Fault]())},
			{Type: huma.TypeString, Description: "A fact, such as invoice_id."},
			{Type: huma.TypeInteger, Description: "A number, such as the line of a malformed body."}}}
	}
	if values, ok := p.AdditionalProperties.(*huma.Schema); ok && values.Type == huma.TypeArray {
		values.Nullable = false
	}
	if p.Ref != "" && optional {
		return &huma.Schema{Description: p.Description, AnyOf: []*huma.Schema{{Ref: p.Ref}, {Type: "null"}}}
	}
	p.Nullable = optional && p.Ref == ""
	if p.Nullable && p.Enum != nil {
		p.Enum = append(p.Enum, nil)
	}
	return p
}

// knownCodes returns the codes of the error catalogue in order.
func knownCodes() []string {
	var codes []string
	for _, code := range problem.Codes() {
		codes = append(codes, string(code))
	}
	return codes
}
