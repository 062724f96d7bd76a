package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// typescriptWidth is the maximum length of a line of a comment in the TypeScript file.
const typescriptWidth = 120

const typescriptHead = `// The types of the API: what its requests take and its responses contain.
//
// go run ./sdk/generate writes this file from the OpenAPI document; do not edit it.
//
// Later versions of the service may add fields, and values where a union lists the known ones. Times are texts (RFC 3339, UTC).

/** An exact decimal in plain notation, with its scale: "1050.00". */
export type Decimal = string;
`

// typescript writes the types as interfaces.
func typescript(objects []object) (string, error) {
	var out strings.Builder
	out.WriteString(typescriptHead)
	for _, o := range objects {
		out.WriteString("\n")
		if o.Description != "" {
			out.WriteString("/** " + o.Description + " */\n")
		}
		fmt.Fprintf(&out, "export interface %s {\n", o.name)
		for _, field := range o.fields() {
			property := o.Properties[field]
			hint, err := typescriptType(field, property)
			if err != nil {
				return "", fmt.Errorf("%s.%s: %w", o.name, field, err)
			}
			required := slices.Contains(o.Required, field)
			if required && o.request {
				hint = strings.TrimSuffix(hint, " | null") // the service refuses null for a required field
			}
			writeDocComment(&out, property.Description)
			out.WriteString("  " + field)
			if !required {
				out.WriteString("?")
			}
			out.WriteString(": " + hint + ";\n")
		}
		out.WriteString("}\n")
	}
	return out.String(), nil
}

// writeDocComment writes a comment of a field, on one line if it fits.
func writeDocComment(out *strings.Builder, text string) {
	lines := wrap(text, typescriptWidth-len("  /**  */"))
	if len(lines) == 1 {
		out.WriteString("  /** " + lines[0] + " */\n")
	}
	if len(lines) < 2 {
		return
	}
	out.WriteString("  /**\n")
	for _, line := range lines {
		out.WriteString("   * " + line + "\n")
	}
	out.WriteString("   */\n")
}

// typescriptType returns the type of a field, with null last.
func typescriptType(field string, s *schema) (string, error) {
	var union []string
	add := func(hint string) {
		if !slices.Contains(union, hint) {
			union = append(union, hint)
		}
	}
	for _, one := range s.AnyOf {
		hint, err := typescriptType(field, one)
		if err != nil {
			return "", err
		}
		for part := range strings.SplitSeq(hint, " | ") {
			if !(part == "string" && slices.Contains(union, "Decimal")) { // a request takes a decimal as a text
				add(part)
			}
		}
	}
	if s.Ref != "" {
		add(s.name())
	}
	for _, name := range s.Type {
		if name == "null" {
			continue
		}
		hint, err := typescriptPlain(name, field, s)
		if err != nil {
			return "", err
		}
		add(hint)
	}
	if len(union) == 0 && slices.Equal(s.Type, []string{"null"}) {
		return "null", nil
	}
	if len(union) == 0 {
		return "", fmt.Errorf("a schema without a type")
	}
	union = slices.DeleteFunc(union, func(hint string) bool { return hint == "null" && slices.Contains(s.Type, "null") })
	if n := slices.Index(union, "null"); n >= 0 {
		union = append(slices.Delete(union, n, n+1), "null")
	}
	if slices.Contains(s.Type, "null") {
		union = append(union, "null")
	}
	return strings.Join(union, " | "), nil
}

// typescriptPlain returns the type for the name of a JSON type.
func typescriptPlain(name, field string, s *schema) (string, error) {
	switch name {
	case "string":
		var values []string
		for _, value := range s.Enum {
			if value != "" { // null, which the type says too
				values = append(values, strconv.Quote(value))
			}
		}
		if len(values) > 0 {
			return strings.Join(values, " | "), nil
		}
		return "string", nil
	case "boolean":
		return "boolean", nil
	case "integer":
		return "number", nil
	case "number":
		if isMeasured(field) {
			return "number", nil
		}
		return "Decimal", nil
	case "array":
		if s.Items == nil {
			return "", fmt.Errorf("an array without items")
		}
		items, err := typescriptType(field, s.Items)
		if strings.Contains(items, " | ") {
			items = "(" + items + ")"
		}
		return items + "[]", err
	case "object":
		values, err := s.values()
		if err != nil || values == nil {
			return "Record<string, unknown>", err
		}
		hint, err := typescriptType(field, values)
		return "Record<string, " + hint + ">", err
	}
	return "", fmt.Errorf("the unknown type %q", name)
}

// isMeasured reports whether the number in a field is a measured time, which is no decimal.
func isMeasured(field string) bool { return strings.HasSuffix(field, "_ms") }

const decimalsHead = `// The names of the fields whose numbers are decimals, in any object except pagination.
//
// go run ./sdk/generate writes this file from the OpenAPI document; do not edit it.

`

// typescriptDecimals writes the list of the names of decimal fields. It is an error if one is also the name of an
// integer, except in the position of a page, which has a total of entries.
func typescriptDecimals(objects []object) (string, error) {
	var decimals, integers []string
	for _, o := range objects {
		if o.name == "Pagination" {
			continue
		}
		for _, field := range o.fields() {
			types := o.Properties[field].Type
			for _, one := range o.Properties[field].AnyOf {
				types = slices.Concat(types, one.Type)
			}
			switch {
			case slices.Contains(types, "number") && !isMeasured(field):
				decimals = append(decimals, field)
			case slices.Contains(types, "integer"):
				integers = append(integers, field)
			}
		}
	}
	slices.Sort(decimals)
	decimals = slices.Compact(decimals)
	var out strings.Builder
	out.WriteString(decimalsHead + "export const decimalFields = new Set([\n")
	for _, name := range decimals {
		if slices.Contains(integers, name) {
			return "", fmt.Errorf("%s is the name of a decimal and of an integer", name)
		}
		out.WriteString("  " + strconv.Quote(name) + ",\n")
	}
	out.WriteString("]);\n")
	return out.String(), nil
}
