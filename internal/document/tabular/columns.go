package tabular

import (
	"reflect"
	"slices"
	"strings"

	"quittance/client/api"
)

// Kind is the kind of value that the cells of a column contain.
type Kind int

// The kinds of values.
const (
	Text    Kind = iota
	Decimal      // a number, exactly as the API writes it
	Date         // YYYY-MM-DD
	Time         // RFC 3339
)

// Column is one column. Other lists than those of drafts have columns with only a name and a kind.
type Column struct {
	// Name is the JSON name of a field of [api.Draft] or [api.Item], which no other column has: an item's field whose name
	// an invoice has too is line_ and its name.
	Name string
	// Item reports that the field is one of an item. All rows of a draft agree in the other columns.
	Item bool
	Kind Kind
	// Required reports that every draft, or every item, has the field.
	Required bool
	// Meaning is the description of the field, and Example a value, both from the API reference.
	Meaning, Example string
	// member is the JSON name, and field the index of the field in its struct.
	member string
	field  int
}

// columns are the columns of drafts, made from the types of the API, so that a new field becomes a column.
var columns = append(columnsOf(reflect.TypeFor[api.Draft](), false), columnsOf(reflect.TypeFor[api.Item](), true)...) //nolint:gochecknoglobals // a constant table

// Columns returns the columns of drafts: the fields of the invoice in the order of the API reference, then those of the
// item.
func Columns() []Column { return slices.Clone(columns) }

// columnsOf returns the columns of the fields of a struct. Items have columns of their own.
func columnsOf(t reflect.Type, item bool) []Column {
	var out []Column
	for n := range t.NumField() {
		f := t.Field(n)
		if f.Type.Kind() == reflect.Slice {
			continue
		}
		member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		c := Column{Name: columnName(member, item), Item: item, Required: f.Tag.Get("required") == "true",
			Meaning: f.Tag.Get("doc"), Example: f.Tag.Get("example"), member: member, field: n}
		switch {
		case f.Type == reflect.TypeFor[*api.Decimal]():
			c.Kind = Decimal
		case f.Tag.Get("format") == "date":
			c.Kind = Date
		}
		out = append(out, c)
	}
	return out
}

// columnName returns the name of the column of a field.
func columnName(member string, item bool) string {
	if item {
		for f := range reflect.TypeFor[api.Draft]().Fields() {
			if f.Tag.Get("json") == member {
				return "line_" + member
			}
		}
	}
	return member
}

// Rows returns the rows of a draft, one for each item and at least one. Each has a text for each of [Columns], empty
// for an absent field.
func Rows(d *api.Draft) [][]string {
	invoice := reflect.ValueOf(d).Elem()
	rows := make([][]string, max(1, len(d.Items)))
	for n := range rows {
		rows[n] = make([]string, len(columns))
		for at, c := range columns {
			switch {
			case !c.Item:
				rows[n][at] = c.text(invoice)
			case n < len(d.Items):
				rows[n][at] = c.text(reflect.ValueOf(&d.Items[n]).Elem())
			}
		}
	}
	return rows
}

// text returns the text of the column's field of a draft or an item.
func (c *Column) text(of reflect.Value) string {
	switch value := of.Field(c.field).Interface().(type) {
	case *string:
		if value != nil {
			return *value
		}
	case *api.Decimal:
		if value != nil {
			return value.String()
		}
	}
	return ""
}
