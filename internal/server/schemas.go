package server

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/api"
)

// schemas are the component schemas of the API document. What is sent and what is answered have schemas of their own,
// although they share types: a request lists the fields that are required of it, and takes no others; an answer has
// every field, those that are not known as null, and may get more of them in later versions.
type schemas struct{ requests, answers huma.Registry }

const schemaPrefix = "#/components/schemas/"

func newSchemas(routes []route) schemas {
	s := schemas{
		requests: huma.NewMapRegistry(schemaPrefix, func(t reflect.Type, hint string) string {
			return strings.TrimSuffix(huma.DefaultSchemaNamer(t, hint), "Request") + "Request"
		}),
		answers: huma.NewMapRegistry(schemaPrefix, huma.DefaultSchemaNamer),
	}
	for _, registry := range []huma.Registry{s.requests, s.answers} {
		registry.RegisterTypeAlias(reflect.TypeFor[api.Decimal](), reflect.TypeFor[float64]())
		registry.RegisterTypeAlias(reflect.TypeFor[api.Amount](), reflect.TypeFor[float64]())
	}
	s.answers.Schema(reflect.TypeFor[api.ErrorBody](), true, "")
	s.answers.Schema(reflect.TypeFor[api.Event[api.SubmissionPayload]](), true, "")
	s.answers.Schema(reflect.TypeFor[api.Event[api.IncomingPayload]](), true, "")
	for n := range routes {
		if operation := routes[n].operation; !routes[n].hidden {
			if operation.in != reflect.TypeFor[none]() {
				s.requests.Schema(operation.in, true, "")
			}
			if operation.out != reflect.TypeFor[none]() {
				s.answers.Schema(operation.out, true, "")
			}
		}
	}
	for name, schema := range s.requests.Map() {
		s.shape(schema, s.requests.TypeFromRef(schemaPrefix+name), true)
	}
	for name, schema := range s.answers.Map() {
		s.shape(schema, s.answers.TypeFromRef(schemaPrefix+name), false)
	}
	return s
}

// all returns the schemas by name.
func (s schemas) all() huma.Registry {
	maps.Copy(s.answers.Map(), s.requests.Map())
	return s.answers
}

// request refers to the schema of a body that is sent.
func (s schemas) request(of reflect.Type) *huma.Schema { return s.requests.Schema(of, true, "") }

// patch is the schema of a merge patch: the fields of its target, none of them required.
func (s schemas) patch(of reflect.Type) *huma.Schema {
	schema := *s.requests.SchemaFromRef(s.request(of).Ref)
	schema.Required = nil
	return &schema
}

// answer refers to the schema of a body that is answered.
func (s schemas) answer(of reflect.Type) *huma.Schema { return s.answers.Schema(of, true, "") }

// shape corrects the schema of a struct where the generator knows less than the codec does.
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
}

// decimalInput is the schema of a decimal that is sent: the number, or a string that holds the text of one. The bounds of
// the number hold for the string too, which no keyword can say.
func decimalInput(number *huma.Schema) *huma.Schema {
	out := &huma.Schema{Description: number.Description + " A number, or a string that holds one.", Examples: number.Examples}
	number.Description, number.Examples = "", nil
	text := &huma.Schema{Type: huma.TypeString, Pattern: `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`}
	out.AnyOf = []*huma.Schema{number, text}
	return out
}

// property corrects the schema of one field.
func (s schemas) property(p *huma.Schema, field reflect.StructField, optional bool) *huma.Schema {
	p.PatternDescription = "" // the description of the field says it, and it is no keyword of JSON Schema
	t := field.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[api.Decimal](), reflect.TypeFor[api.Amount]():
		p.Format = "double" // generators without it take a single; the text itself is exact
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
		p.Description += " Known values: " + strings.Join(kinds, ", ") + ". More may come: accept and ignore what you do not know."
	case reflect.TypeFor[jsontext.Value]():
		return &huma.Schema{Description: p.Description, AnyOf: []*huma.Schema{
			s.answer(reflect.TypeFor[api.SubmissionPayload]()), s.answer(reflect.TypeFor[api.IncomingPayload]())}}
	}
	if t == reflect.TypeFor[map[string]any]() { // the details of an error
		p.AdditionalProperties = &huma.Schema{AnyOf: []*huma.Schema{
			{Type: huma.TypeArray, Description: "The faults of a field.", Items: s.answer(reflect.TypeFor[api.Fault]())},
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

// knownCodes are the codes of the error catalogue, in order.
func knownCodes() []string {
	var codes []string
	for code := range statuses {
		codes = append(codes, string(code))
	}
	slices.Sort(codes)
	return codes
}
