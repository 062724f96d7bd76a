package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// pythonWidth is the maximum length of a line of the Python file, which PEP 8 allows.
const pythonWidth = 99

const pythonHead = `"""The types of the API: what its requests take and its responses contain.

go run ./sdk/generate writes this file from the OpenAPI document; do not edit it.

The types are those of JSON: a response is a dictionary with the field names of the API, and null
is None. Later versions of the service may add fields, and values where a Literal lists the known
ones. Decimals are decimal.Decimal, exact and with their scale. Times are texts (RFC 3339, UTC).
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, NotRequired, TypedDict
`

// python writes the types as TypedDict classes.
func python(objects []object) (string, error) {
	var out strings.Builder
	out.WriteString(pythonHead)
	for _, o := range objects {
		fmt.Fprintf(&out, "\n\nclass %s(TypedDict):\n", o.name)
		fmt.Fprintf(&out, "    \"\"\"%s\"\"\"\n\n", pythonDocstring(o, objects))
		for _, field := range o.fields() {
			property := o.Properties[field]
			hint, err := pythonType(property, o.request)
			if err != nil {
				return "", fmt.Errorf("%s.%s: %w", o.name, field, err)
			}
			if !slices.Contains(o.Required, field) {
				hint = "NotRequired[" + hint + "]"
			}
			for _, line := range wrap(property.Description, pythonWidth-len("    #: ")) {
				out.WriteString("    #: " + line + "\n")
			}
			out.WriteString(pythonField(field, hint))
		}
	}
	return out.String(), nil
}

// pythonDocstring says what a type is, or which other types contain it.
func pythonDocstring(o object, objects []object) string {
	if o.Description != "" {
		return o.Description
	}
	var containers []string
	for _, other := range objects {
		for _, property := range other.Properties {
			if property.contains(o.name) && !slices.Contains(containers, other.name) {
				containers = append(containers, other.name)
			}
		}
	}
	switch {
	case len(containers) > 3:
		return fmt.Sprintf("A part of %s, %s and other types.", containers[0], containers[1])
	case len(containers) > 0:
		return "A part of " + strings.Join(containers, " and of ") + "."
	case o.request:
		return "The body of a request."
	default:
		return "What a response contains."
	}
}

// pythonField writes a field, with the values of a Literal below each other if they do not fit in a line.
func pythonField(name, hint string) string {
	line := "    " + name + ": " + hint + "\n"
	if len(line) <= pythonWidth+1 {
		return line
	}
	begin, end := strings.Index(line, "Literal[")+len("Literal["), strings.Index(line, "\"]")+1
	values := strings.ReplaceAll(line[begin:end], ", ", ",\n        ")
	return line[:begin] + "\n        " + values + ",\n    " + line[end:]
}

// pythonType returns the type hint of a schema.
func pythonType(s *schema, request bool) (string, error) {
	if s.Ref != "" {
		return s.name(), nil
	}
	var hints []string
	add := func(s *schema) error {
		hint, err := pythonType(s, request)
		hints = append(hints, strings.Split(hint, " | ")...)
		return err
	}
	for _, part := range s.AnyOf {
		if err := add(part); err != nil {
			return "", err
		}
	}
	for _, kind := range s.Type {
		hint, err := pythonKind(s, kind, request)
		if err != nil {
			return "", err
		}
		hints = append(hints, hint)
	}
	if len(hints) == 0 {
		return "", fmt.Errorf("a schema without a type")
	}
	if n := slices.Index(hints, "None"); n >= 0 { // None comes last
		hints = append(slices.Delete(hints, n, n+1), "None")
	}
	return strings.Join(hints, " | "), nil
}

// pythonKind returns the type hint of one of the types that a schema allows.
func pythonKind(s *schema, kind string, request bool) (string, error) {
	switch kind {
	case "null":
		return "None", nil
	case "boolean":
		return "bool", nil
	case "integer":
		return "int", nil
	case "number":
		if request {
			return "Decimal | int", nil
		}
		return "Decimal", nil
	case "string":
		if len(s.Enum) == 0 {
			return "str", nil
		}
		var values []string
		for _, value := range s.Enum {
			values = append(values, strconv.Quote(value))
		}
		return "Literal[" + strings.Join(values, ", ") + "]", nil
	case "array":
		item, err := pythonType(s.Items, request)
		return "list[" + item + "]", err
	case "object":
		values, err := s.values()
		if err != nil || values == nil {
			return "dict[str, object]", err
		}
		hint, err := pythonType(values, request)
		return "dict[str, " + hint + "]", err
	default:
		return "", fmt.Errorf("no type of Python is known for %q", kind)
	}
}

// wrap breaks a text into lines of at most width bytes where words end.
func wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
