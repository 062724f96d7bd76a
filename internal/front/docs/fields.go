package docs

import (
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
)

// field is a parameter, a header field, or a member of an object, as the reference shows it.
type field struct {
	// ID is the anchor, Name the name of the field, and Type its type in words.
	ID, Name, Type string
	Required       bool
	Description    template.HTML
	// Limits are the constraints in words, such as "at most 64 characters".
	Limits []string
	// Values are those of an enumeration, and Example is one valid value.
	Values  []string
	Example string
	// Fields are the members of a nested object.
	Fields []field
}

// objectView is an object as the reference shows it.
type objectView struct {
	Name        string
	Description template.HTML
	Fields      []field
}

// fields returns the members of an object: the required ones first, both in the order of their names. outer are the
// names of the objects around it, whose members are not shown again.
func (d *apiDocument) fields(id string, object *schema, outer []string) ([]field, error) {
	names := slices.SortedFunc(maps.Keys(object.Properties), func(a, b string) int {
		first, second := slices.Contains(object.Required, a), slices.Contains(object.Required, b)
		switch {
		case first == second:
			return strings.Compare(a, b)
		case first:
			return -1
		}
		return 1
	})
	var out []field
	for _, name := range names {
		f, err := d.field(id, name, object.Properties[name], outer)
		if err != nil {
			return nil, err
		}
		f.Required = slices.Contains(object.Required, name)
		out = append(out, f)
	}
	return out, nil
}

// field returns a field with its nested members.
func (d *apiDocument) field(id, name string, s *schema, outer []string) (f field, err error) {
	f = field{ID: id + "." + name, Name: name, Limits: limits(s)}
	if f.Type, err = d.typeText(s); err != nil {
		return f, err
	}
	description := s.Description
	if target, _ := d.named(s); description == "" && target != nil {
		description = target.Description
	}
	if f.Description, err = markdown(description); err != nil {
		return f, err
	}
	enumeration := s
	if s.Items != nil {
		enumeration = s.Items
	}
	for _, value := range enumeration.Enum {
		if string(value) != "null" {
			f.Values = append(f.Values, plainValue(value))
		}
	}
	if len(s.Examples) > 0 {
		f.Example = plainValue(s.Examples[0])
	}
	nested, nestedName, err := d.object(s)
	if nested == nil || err != nil || slices.Contains(outer, nestedName) {
		return f, err
	}
	f.Fields, err = d.fields(f.ID, nested, append(slices.Clip(outer), nestedName))
	return f, err
}

// plainValue returns a JSON value as people write it in a sentence: a text without quotation marks.
func plainValue(value json.RawMessage) string {
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return string(value) // not a text
	}
	return text
}

// limits returns the constraints of a value in words.
func limits(s *schema) (out []string) {
	for _, part := range s.AnyOf {
		if part.Ref == "" {
			out = append(out, limits(part)...)
		}
	}
	if slices.Contains(s.Type, "string") && len(s.AnyOf) == 0 && strings.Contains(s.Pattern, "[eE]") {
		return nil // the text of a number
	}
	between := func(least, most int, unit string) {
		switch {
		case least > 0 && most > 0:
			out = append(out, fmt.Sprintf("%d to %d %s", least, most, unit))
		case most > 0:
			out = append(out, fmt.Sprintf("at most %d %s", most, unit))
		case least > 0:
			out = append(out, fmt.Sprintf("at least %d %s", least, unit))
		}
	}
	between(s.MinLength, s.MaxLength, "characters")
	between(s.MinItems, s.MaxItems, "entries")
	for _, bound := range []struct {
		text  string
		value json.RawMessage
	}{{"at least ", s.Minimum}, {"more than ", s.ExclusiveMinimum}, {"at most ", s.Maximum}, {"default ", s.Default}} {
		if len(bound.value) > 0 {
			out = append(out, bound.text+plainValue(bound.value))
		}
	}
	if s.Pattern != "" {
		out = append(out, "matches "+s.Pattern)
	}
	return out
}
