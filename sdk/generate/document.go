package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schema is the part of a JSON Schema that the API document uses for the form of a value.
type schema struct {
	Ref                  string             `json:"$ref"`
	Type                 oneOrMore          `json:"type"`
	Enum                 []string           `json:"enum"`
	AnyOf                []*schema          `json:"anyOf"`
	Items                *schema            `json:"items"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties json.RawMessage    `json:"additionalProperties"` // a schema, or false
	Required             []string           `json:"required"`
	Description          string             `json:"description"`
}

// name returns the name of the schema that s refers to, or "" if it is no reference.
func (s *schema) name() string { return strings.TrimPrefix(s.Ref, "#/components/schemas/") }

// contains reports whether s refers to a schema, itself or in its parts.
func (s *schema) contains(name string) bool {
	if s == nil || s.name() == name {
		return s != nil
	}
	values, err := s.values()
	return err == nil && values.contains(name) || s.Items.contains(name) ||
		slices.ContainsFunc(s.AnyOf, func(part *schema) bool { return part.contains(name) })
}

// values returns the schema of the values of a map, or nil if s is not one.
func (s *schema) values() (*schema, error) {
	if len(s.AdditionalProperties) == 0 || string(s.AdditionalProperties) == "false" {
		return nil, nil
	}
	values := &schema{}
	if err := json.Unmarshal(s.AdditionalProperties, values); err != nil {
		return nil, fmt.Errorf("additionalProperties: %w", err)
	}
	return values, nil
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

// object is a named type of the SDKs.
type object struct {
	name string
	*schema
	// request means that clients send it. Its decimals may be numbers or texts.
	request bool
}

// fields returns the names of the properties in alphabetical order.
func (o object) fields() []string { return slices.Sorted(maps.Keys(o.Properties)) }

// objects returns the types of the API document in alphabetical order: its schemas, except the envelopes of responses,
// and the merge patches, which the document has only in its operations. A merge patch is called after its operation:
// patchInvoice takes an InvoicePatch.
func objects(document []byte) ([]object, error) {
	var doc struct {
		Components struct {
			Schemas map[string]*schema `json:"schemas"`
		} `json:"components"`
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			RequestBody struct {
				Content map[string]struct {
					Schema *schema `json:"schema"`
				} `json:"content"`
			} `json:"requestBody"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, fmt.Errorf("read the API document: %w", err)
	}
	var found []object
	for name, s := range doc.Components.Schemas {
		if !isEnvelope(s) {
			found = append(found, object{name: name, schema: s, request: strings.HasSuffix(name, "Request")})
		}
	}
	for _, operations := range doc.Paths {
		for _, o := range operations {
			if body, ok := o.RequestBody.Content["application/merge-patch+json"]; ok {
				_, target, _ := strings.Cut(o.OperationID, verb(o.OperationID))
				body.Schema.Description = "A merge patch (RFC 7396): null removes a field; an absent one is not changed."
				found = append(found, object{name: target + "Patch", schema: body.Schema, request: true})
			}
		}
	}
	slices.SortFunc(found, func(a, b object) int { return strings.Compare(a.name, b.name) })
	return found, nil
}

// verb returns the first word of the name of an operation: patch of patchInvoice.
func verb(operation string) string {
	end := strings.IndexFunc(operation, func(r rune) bool { return 'A' <= r && r <= 'Z' })
	return operation[:max(end, 0)]
}

// isEnvelope reports whether s is the envelope of a response, which the SDKs remove.
func isEnvelope(s *schema) bool {
	for name := range s.Properties {
		if name != "data" && name != "pagination" && name != "error" {
			return false
		}
	}
	return true
}
