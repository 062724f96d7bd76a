package docs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// apiDocument is the part of the OpenAPI document that the reference shows.
type apiDocument struct {
	Info struct {
		Version     string `json:"version"`
		Description string `json:"description"`
	} `json:"info"`
	Tags []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tags"`
	Paths      map[string]map[string]*operation `json:"paths"`
	Webhooks   map[string]map[string]*operation `json:"webhooks"`
	Components struct {
		Schemas  map[string]*schema   `json:"schemas"`
		Headers  map[string]parameter `json:"headers"`
		Examples map[string]example   `json:"examples"`
	} `json:"components"`
}

// operation is one operation of the API, or one callback.
type operation struct {
	Method, Path string      `json:"-"`
	ID           string      `json:"operationId"`
	Order        int         `json:"x-order"`
	Tags         []string    `json:"tags"`
	Summary      string      `json:"summary"`
	Description  string      `json:"description"`
	Deprecated   bool        `json:"deprecated"`
	Roles        []string    `json:"x-roles"`
	Scopes       []string    `json:"x-scopes"`
	Samples      []sample    `json:"x-codeSamples"`
	Parameters   []parameter `json:"parameters"`
	Body         struct {
		Content map[string]content `json:"content"`
	} `json:"requestBody"`
	Responses map[string]response `json:"responses"`
}

// sample is a program that calls an operation.
type sample struct {
	Language string `json:"lang"`
	Label    string `json:"label"`
	Source   string `json:"source"`
}

type parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Description string  `json:"description"`
	Required    bool    `json:"required"`
	Schema      *schema `json:"schema"`
}

type response struct {
	Description string               `json:"description"`
	Headers     map[string]parameter `json:"headers"`
	Content     map[string]content   `json:"content"`
}

type content struct {
	Schema   *schema            `json:"schema"`
	Example  json.RawMessage    `json:"example"`
	Examples map[string]example `json:"examples"`
}

type example struct {
	Ref     string          `json:"$ref"`
	Summary string          `json:"summary"`
	Value   json.RawMessage `json:"value"`
}

// schema is a JSON Schema of the document.
type schema struct {
	Ref              string             `json:"$ref"`
	Type             oneOrMore          `json:"type"`
	Format           string             `json:"format"`
	Description      string             `json:"description"`
	Enum             []json.RawMessage  `json:"enum"`
	Default          json.RawMessage    `json:"default"`
	Examples         []json.RawMessage  `json:"examples"`
	Minimum          json.RawMessage    `json:"minimum"`
	ExclusiveMinimum json.RawMessage    `json:"exclusiveMinimum"`
	Maximum          json.RawMessage    `json:"maximum"`
	MinLength        int                `json:"minLength"`
	MaxLength        int                `json:"maxLength"`
	MinItems         int                `json:"minItems"`
	MaxItems         int                `json:"maxItems"`
	Pattern          string             `json:"pattern"`
	Items            *schema            `json:"items"`
	Properties       map[string]*schema `json:"properties"`
	Additional       json.RawMessage    `json:"additionalProperties"` // false or a schema
	Required         []string           `json:"required"`
	AnyOf            []*schema          `json:"anyOf"`
}

// oneOrMore is a JSON text, or a list of them.
type oneOrMore []string

// UnmarshalJSON reads either form.
func (o *oneOrMore) UnmarshalJSON(text []byte) error {
	if strings.HasPrefix(string(text), "[") {
		return json.Unmarshal(text, (*[]string)(o))
	}
	*o = make([]string, 1)
	return json.Unmarshal(text, &(*o)[0])
}

const schemaPrefix = "#/components/schemas/"

// readAPI reads the OpenAPI document.
func readAPI(text []byte) (*apiDocument, error) {
	d := &apiDocument{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("docs: API document: %w", err)
	}
	for path, methods := range d.Paths {
		for method, o := range methods {
			o.Method, o.Path = strings.ToUpper(method), path
		}
	}
	return d, nil
}

// operations returns the operations with a tag, in the order of the reference.
func (d *apiDocument) operations(tag string) []*operation {
	var out []*operation
	for _, methods := range d.Paths {
		for _, o := range methods {
			if slices.Contains(o.Tags, tag) {
				out = append(out, o)
			}
		}
	}
	slices.SortFunc(out, func(a, b *operation) int { return cmp.Compare(a.Order, b.Order) })
	return out
}

// named returns the schema that s refers to, and its name; s itself and "" if it is no reference.
func (d *apiDocument) named(s *schema) (*schema, string) {
	name, ok := strings.CutPrefix(s.Ref, schemaPrefix)
	if !ok {
		return s, ""
	}
	return d.Components.Schemas[name], name
}

// values returns the schema of the values of a map, or nil if s is not one.
func (s *schema) values() (*schema, error) {
	if len(s.Additional) == 0 || string(s.Additional) == "false" {
		return nil, nil
	}
	values := &schema{}
	if err := json.Unmarshal(s.Additional, values); err != nil {
		return nil, fmt.Errorf("docs: additionalProperties: %w", err)
	}
	return values, nil
}

// object returns the schema with properties that a value of s, or an element of it, has, and its name; nil if there is
// none.
func (d *apiDocument) object(s *schema) (*schema, string, error) {
	s, name := d.named(s)
	switch {
	case s == nil:
		return nil, "", fmt.Errorf("docs: there is no schema %s", name)
	case len(s.Properties) > 0:
		return s, name, nil
	case s.Items != nil:
		return d.object(s.Items)
	}
	for _, part := range s.AnyOf {
		if found, name, err := d.object(part); found != nil || err != nil {
			return found, name, err
		}
	}
	values, err := s.values()
	if values == nil || err != nil {
		return nil, "", err
	}
	return d.object(values)
}

// typeText describes the type of a value in words, such as "list of Item" or "string or null".
func (d *apiDocument) typeText(s *schema) (string, error) {
	if _, name := d.named(s); name != "" {
		return name, nil
	}
	var parts []string
	for _, one := range s.AnyOf {
		text, err := d.typeText(one)
		if err != nil {
			return "", err
		}
		parts = append(parts, text)
	}
	for _, name := range s.Type {
		text := map[string]string{"array": "list", "number": "decimal"}[name]
		switch {
		case name == "array" && s.Items != nil:
			element, err := d.typeText(s.Items)
			if err != nil {
				return "", err
			}
			text += " of " + element
		case name == "string" && s.Format != "":
			text = s.Format
		case name == "object":
			values, err := s.values()
			if values != nil && err == nil {
				element, elementErr := d.typeText(values)
				text, err = "map of "+element, elementErr
			}
			if err != nil {
				return "", err
			}
		}
		parts = append(parts, cmp.Or(text, name))
	}
	return strings.Join(slices.Compact(parts), " or "), nil
}

// sortedStatuses returns the statuses of the responses in ascending order.
func (o *operation) sortedStatuses() []string { return slices.Sorted(maps.Keys(o.Responses)) }
