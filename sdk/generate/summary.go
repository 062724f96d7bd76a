package main

import (
	_ "embed"
	"fmt"
	"go/format"
	"reflect"
	"strings"
	"text/template"

	"quittance/client/api"
)

// summaryText is the file of the summary of an invoice, without the fields of a draft.
//
//go:embed invoice_summary.go.tmpl
var summaryText string

// summaryField is a field of a draft as Go source.
type summaryField struct{ Name, Type, Tag string }

// summary returns the Go file of the summary of an invoice. It has the fields of a draft by name and not by embedding,
// because callers write it as a literal, and because it must not have the items and other lists.
func summary() (string, error) {
	var fields []summaryField
	for field := range reflect.TypeFor[api.Draft]().Fields() {
		if field.Type.Kind() != reflect.Slice {
			fields = append(fields, summaryField{field.Name, strings.Replace(field.Type.String(), "api.", "", 1),
				string(field.Tag)})
		}
	}
	file, err := template.New("summary").Parse(summaryText)
	if err != nil {
		return "", fmt.Errorf("summary: %w", err)
	}
	var text strings.Builder
	if err := file.Execute(&text, fields); err != nil {
		return "", fmt.Errorf("summary: %w", err)
	}
	formatted, err := format.Source([]byte(text.String()))
	if err != nil {
		return "", fmt.Errorf("summary: %w", err)
	}
	return string(formatted), nil
}
