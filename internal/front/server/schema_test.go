package server_test

import (
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/sdk/samples"
)

// document is the API document.
type document struct {
	OpenAPI    string                                    `json:"openapi"`
	Info       map[string]jsontext.Value                 `json:"info"`
	Servers    []map[string]string                       `json:"servers"`
	Tags       []map[string]string                       `json:"tags"`
	Paths      map[string]map[string]documentedOperation `json:"paths"`
	Webhooks   map[string]map[string]documentedOperation `json:"webhooks"`
	Components struct {
		Schemas  map[string]*schema        `json:"schemas"`
		Headers  map[string]jsontext.Value `json:"headers"`
		Examples map[string]struct {
			Summary string         `json:"summary"`
			Value   jsontext.Value `json:"value"`
		} `json:"examples"`
		Security map[string]jsontext.Value `json:"securitySchemes"`
	} `json:"components"`
}

// documentedOperation is one operation of the document.
type documentedOperation struct {
	ID          string                `json:"operationId"`
	Summary     string                `json:"summary"`
	Description string                `json:"description"`
	Deprecated  bool                  `json:"deprecated"`
	Tags        []string              `json:"tags"`
	Security    []map[string][]string `json:"security"`
	Order       int                   `json:"x-order"`
	Roles       []string              `json:"x-roles"`
	Samples     []samples.Program     `json:"x-codeSamples"`
	Scopes      []string              `json:"x-scopes"`
	Parameters  []struct {
		Name        string  `json:"name"`
		In          string  `json:"in"`
		Description string  `json:"description"`
		Required    bool    `json:"required"`
		Schema      *schema `json:"schema"`
	} `json:"parameters"`
	Body *struct {
		Required bool               `json:"required"`
		Content  map[string]content `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Description string                    `json:"description"`
		Headers     map[string]jsontext.Value `json:"headers"`
		Content     map[string]content        `json:"content"`
	} `json:"responses"`
}

type content struct {
	Schema   *schema                      `json:"schema"`
	Example  jsontext.Value               `json:"example"`
	Examples map[string]map[string]string `json:"examples"` // of an error: references to examples by code
}

// schema is a JSON Schema (2020-12) with the keywords that the document uses. The strict decoder rejects all others.
type schema struct {
	Type        jsontext.Value     `json:"type"` // a name or a list of names
	Ref         string             `json:"$ref"`
	Description string             `json:"description"`
	Format      string             `json:"format"`
	Examples    []jsontext.Value   `json:"examples"`
	Default     jsontext.Value     `json:"default"`
	Enum        []jsontext.Value   `json:"enum"`
	Minimum     jsontext.Value     `json:"minimum"`
	Above       jsontext.Value     `json:"exclusiveMinimum"`
	Maximum     jsontext.Value     `json:"maximum"`
	MinLength   *int               `json:"minLength"`
	MaxLength   *int               `json:"maxLength"`
	Pattern     string             `json:"pattern"`
	Items       *schema            `json:"items"`
	MinItems    *int               `json:"minItems"`
	MaxItems    *int               `json:"maxItems"`
	Properties  map[string]*schema `json:"properties"`
	Additional  jsontext.Value     `json:"additionalProperties"` // false or a schema
	Required    []string           `json:"required"`
	AnyOf       []*schema          `json:"anyOf"`
}

// faults returns the rules of a schema that a value breaks. With closed, a member that the schema does not name is a
// fault too: later versions may add fields to responses, but a schema must have all fields of its own version.
func (d *document) faults(at string, s *schema, value jsontext.Value, closed bool) []string {
	if s.Ref != "" {
		target := d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		if target == nil {
			return []string{at + ": no schema " + s.Ref}
		}
		return d.faults(at, target, value, closed)
	}
	if len(s.AnyOf) > 0 {
		var all []string
		for _, one := range s.AnyOf {
			faults := d.faults(at, one, value, closed)
			if len(faults) == 0 {
				return nil
			}
			all = append(all, faults...)
		}
		return append(all, at+": none of the alternatives")
	}
	if faults := s.shallow(at, value); len(faults) > 0 {
		return faults
	}
	switch value.Kind() {
	case '{':
		return d.members(at, s, value, closed)
	case '[':
		var elements []jsontext.Value
		mustDecode(value, &elements)
		var out []string
		for n, element := range elements {
			if s.Items == nil {
				return []string{at + ": a list without items"}
			}
			out = append(out, d.faults(fmt.Sprintf("%s[%d]", at, n), s.Items, element, closed)...)
		}
		return out
	default:
		return nil // shallow has checked all rules of a scalar
	}
}

func (d *document) members(at string, s *schema, value jsontext.Value, closed bool) []string {
	var members map[string]jsontext.Value
	mustDecode(value, &members)
	var out []string
	for _, name := range s.Required {
		if _, ok := members[name]; !ok {
			out = append(out, at+"."+name+": is required")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		property := s.Properties[name]
		switch {
		case property != nil:
			out = append(out, d.faults(at+"."+name, property, members[name], closed)...)
		case s.Additional.Kind() == '{':
			var every schema
			mustDecode(s.Additional, &every)
			out = append(out, d.faults(at+"."+name, &every, members[name], closed)...)
		case closed || s.Additional.Kind() == 'f':
			out = append(out, at+"."+name+": is not in the schema")
		}
	}
	return out
}

// shallow checks the rules about a value itself, not those about its members and elements.
func (s *schema) shallow(at string, value jsontext.Value) []string {
	var out []string
	breaks := func(broken bool, rule string) {
		if broken {
			out = append(out, fmt.Sprintf("%s: %s: %.80s", at, rule, value))
		}
	}
	breaks(s.Type != nil && !s.hasType(value), "type "+string(s.Type))
	breaks(s.Enum != nil && !slices.ContainsFunc(s.Enum,
		func(v jsontext.Value) bool { return string(v) == string(value) }), "enum")
	switch value.Kind() {
	case '0':
		n, _ := new(big.Rat).SetString(string(value))
		bound := func(v jsontext.Value) *big.Rat { b, _ := new(big.Rat).SetString(string(v)); return b }
		breaks(s.Minimum != nil && n.Cmp(bound(s.Minimum)) < 0, "minimum")
		breaks(s.Above != nil && n.Cmp(bound(s.Above)) <= 0, "exclusiveMinimum")
		breaks(s.Maximum != nil && n.Cmp(bound(s.Maximum)) > 0, "maximum")
	case '"':
		var text string
		mustDecode(value, &text)
		length := utf8.RuneCountInString(text)
		breaks(s.MinLength != nil && length < *s.MinLength, "minLength")
		breaks(s.MaxLength != nil && length > *s.MaxLength, "maxLength")
		breaks(s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(text), "pattern")
		breaks(!hasFormat(s.Format, text), "format "+s.Format)
	case '[':
		var elements []jsontext.Value
		mustDecode(value, &elements)
		breaks(s.MinItems != nil && len(elements) < *s.MinItems, "minItems")
		breaks(s.MaxItems != nil && len(elements) > *s.MaxItems, "maxItems")
	default: // other kinds have no bounds
	}
	return out
}

func (s *schema) hasType(value jsontext.Value) bool {
	names := []string{strings.Trim(string(s.Type), `"`)}
	if s.Type.Kind() == '[' {
		mustDecode(s.Type, &names)
	}
	for _, name := range names {
		switch value.Kind() {
		case 'n':
			if name == "null" {
				return true
			}
		case 't', 'f':
			if name == "boolean" {
				return true
			}
		case '0':
			if name == "number" || name == "integer" && !strings.ContainsAny(string(value), ".eE") {
				return true
			}
		case '"':
			if name == "string" {
				return true
			}
		case '[':
			if name == "array" {
				return true
			}
		case '{':
			if name == "object" {
				return true
			}
		default: // not a JSON value
		}
	}
	return false
}

var uuidForm = regexp.MustCompile(`\A[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\z`)

func hasFormat(format, text string) bool {
	switch format {
	case "uuid":
		return uuidForm.MatchString(text)
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		return err == nil
	case "date-time": // RFC 3339, UTC, microseconds
		_, err := time.Parse("2006-01-02T15:04:05.000000Z", text)
		return err == nil
	}
	return true
}

func mustDecode(value jsontext.Value, out any) {
	if err := json.Unmarshal(value, out, json.RejectUnknownMembers(true)); err != nil {
		panic(err)
	}
}
