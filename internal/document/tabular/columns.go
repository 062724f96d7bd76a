package tabular

import (
	"slices"

	"quittance/client/api"
	"quittance/internal/document/invoice"
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
	// Member is the JSON path of the field in the invoice, or in the item.
	Member string
	// text returns the text of the field of a draft, or of its item at a position.
	text func(d *api.Draft, item int) string
}

// columns are the columns of drafts, made from the types of the API, so that a new field becomes a column.
//
//nolint:gochecknoglobals // a constant table
var columns = slices.Concat(
	columnsOf(false, func(d *api.Draft, _ int) *api.Draft { return d }),
	columnsOf(true, func(d *api.Draft, item int) *api.Item { return &d.Items[item] }))

// Columns returns the columns of drafts: the fields of the invoice in the order of the API reference, then those of the
// item.
func Columns() []Column { return slices.Clone(columns) }

// columnsOf returns the columns of the fields of an invoice, or of an item, which part returns.
func columnsOf[T any](item bool, part func(d *api.Draft, item int) *T) []Column {
	var out []Column
	for _, field := range invoice.FieldsOf[T]() {
		c := Column{Name: columnName(field.Name, item), Item: item, Required: field.Tag.Get("required") == "true",
			Meaning: field.Tag.Get("doc"), Example: field.Tag.Get("example"), Member: field.Name,
			text: func(d *api.Draft, item int) string { return field.Text(part(d, item)) }}
		switch {
		case field.Number:
			c.Kind = Decimal
		case field.Tag.Get("format") == "date":
			c.Kind = Date
		}
		out = append(out, c)
	}
	return out
}

// columnName returns the name of the column of a field.
func columnName(member string, item bool) string {
	if item && slices.ContainsFunc(draftFields, func(f invoice.Field[api.Draft]) bool { return f.Name == member }) {
		return "line_" + invoice.FlatName(member)
	}
	return invoice.FlatName(member)
}

var draftFields = invoice.FieldsOf[api.Draft]() //nolint:gochecknoglobals // a constant table

// Rows returns the rows of a draft, one for each item and at least one. Each has a text for each of [Columns], empty
// for an absent field.
func Rows(d *api.Draft) [][]string {
	rows := make([][]string, max(1, len(d.Items)))
	for n := range rows {
		rows[n] = make([]string, len(columns))
		for at := range columns {
			if c := &columns[at]; !c.Item || n < len(d.Items) {
				rows[n][at] = c.text(d, n)
			}
		}
	}
	return rows
}
