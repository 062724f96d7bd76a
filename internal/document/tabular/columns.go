package tabular

import (
	"cmp"
	"slices"
	"strings"

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
	// an invoice has too is line_ and its name. Before the name of a field of an allowance or a charge is what it is of:
	// allowance_reason, or line_charge_reason.
	Name string
	// Item reports that the field is one of an item. All rows of a draft agree in the other columns without a list.
	Item bool
	// List is the JSON name of the list that the field is one of an entry of, such as allowances; "" for a field of the
	// invoice or the item itself.
	List string
	Kind Kind
	// Required reports that every draft, or every item, has the field.
	Required bool
	// Meaning is the description of the field, and Example a value, both from the API reference.
	Meaning, Example string
	// Member is the JSON path of the field in the invoice, or in the item: allowances.reason in the list.
	Member string
	// owner is what the field is one of, and field its JSON path there.
	owner owner
	field string
	// percent reports that the field is a rate in per cent.
	percent bool
	// text returns the text of the field of a draft, or of its item at a position; nil for a field of an entry.
	text func(d *api.Draft, item int) string
}

// owner is what a column is a field of: the invoice, an item, or an entry of one of the [lists].
type owner int

const (
	ofInvoice owner = iota
	ofItem
	ofLists // the first list; the others follow
)

// list is a list of an invoice, or of an item, whose entries have columns.
type list struct {
	// name is its JSON name, and item reports that items have it.
	name string
	item bool
	// most is the largest number of entries.
	most int
	// columns are those of an entry, and texts returns the texts of the entries of a draft, or of its item at a position,
	// without those that say nothing.
	columns []Column
	texts   func(d *api.Draft, item int) [][]string
}

// lists are the lists of invoices and items.
//
//nolint:gochecknoglobals // a constant table
var lists = [...]list{
	listOf("allowances", false, maxAllowances, func(d *api.Draft, _ int) []api.Allowance { return d.Allowances }),
	listOf("charges", false, maxAllowances, func(d *api.Draft, _ int) []api.Allowance { return d.Charges }),
	listOf("allowances", true, maxLineAllowances,
		func(d *api.Draft, item int) []api.LineAllowance { return d.Items[item].Allowances }),
	listOf("charges", true, maxLineAllowances,
		func(d *api.Draft, item int) []api.LineAllowance { return d.Items[item].Charges }),
	listOf("preceding_invoices", false, maxPreceding,
		func(d *api.Draft, _ int) []api.PrecedingInvoice { return d.PrecedingInvoices }),
	listOf("attributes", true, maxProperties,
		func(d *api.Draft, item int) []api.Attribute { return d.Items[item].Attributes }),
}

// columns are the columns of drafts, made from the types of the API, so that a new field becomes a column.
//
//nolint:gochecknoglobals // a constant table
var columns = func() []Column {
	out := slices.Concat(columnsOf(Column{owner: ofInvoice}, func(d *api.Draft, _ int) *api.Draft { return d }),
		columnsOf(Column{owner: ofItem, Item: true}, func(d *api.Draft, item int) *api.Item { return &d.Items[item] }))
	for at := range lists {
		for _, c := range lists[at].columns {
			c.owner = ofLists + owner(at)
			out = append(out, c)
		}
	}
	return out
}()

// Columns returns the columns of drafts: the fields of the invoice in the order of the API reference, then those of the
// item, then those of the entries of lists.
func Columns() []Column { return slices.Clone(columns) }

// columnsOf returns the columns of the fields of an invoice, an item or an entry, which share what like has. of returns
// the invoice or the item; it is nil for an entry.
func columnsOf[T any](like Column, of func(d *api.Draft, item int) *T) []Column {
	var out []Column
	for _, field := range invoice.FieldsOf[T]() {
		c := like
		c.field, c.Member = field.Name, field.Name
		if c.List != "" {
			c.Member = c.List + "." + field.Name
		}
		c.Name = columnName(c.List, field.Name, c.Item)
		c.Required, c.percent = field.Tag.Get("required") == "true", field.Tag.Get("unit") == "percent"
		c.Meaning, c.Example = field.Tag.Get("doc"), field.Tag.Get("example")
		if c.List == "charges" { // whose reasons are not those of allowances, although the type is the same
			c.Example = cmp.Or(map[string]string{"reason": "Freight", "reason_code": "FC"}[field.Name], c.Example)
		}
		if of != nil {
			c.text = func(d *api.Draft, item int) string { return field.Text(of(d, item)) }
		}
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

// listOf returns a list of an invoice, or of an item, with its entries.
func listOf[T any](name string, item bool, most int, entries func(d *api.Draft, item int) []T) list {
	fields := invoice.FieldsOf[T]()
	return list{name: name, item: item, most: most,
		columns: columnsOf[T](Column{List: name, Item: item}, nil),
		texts: func(d *api.Draft, item int) (out [][]string) {
			all := entries(d, item)
			for n := range all {
				cells, blank := make([]string, len(fields)), true
				for at, field := range fields {
					cells[at] = field.Text(&all[n])
					blank = blank && strings.TrimSpace(cells[at]) == ""
				}
				if !blank {
					out = append(out, cells)
				}
			}
			return out
		}}
}

// columnName returns the name of the column of a field of the invoice or the item, or of an entry of its list.
func columnName(list, member string, item bool) string {
	name := invoice.FlatName(member)
	if list != "" {
		name = strings.TrimSuffix(list, "s") + "_" + name
	}
	if item && (list != "" ||
		slices.ContainsFunc(draftFields, func(f invoice.Field[api.Draft]) bool { return f.Name == member })) {
		return "line_" + name
	}
	return name
}

var draftFields = invoice.FieldsOf[api.Draft]() //nolint:gochecknoglobals // a constant table

// Rows returns the rows of a draft. Each has a text for each of [Columns], empty for an absent field. There is one for
// each item and at least one. The first entries of the lists of an item stand in its row, and those of the invoice in
// the first row; further ones stand in rows below that have the fields of the invoice too, but none of an item.
//
// The rows of other items have no entry of the invoice, even where they would save a row: if all had equal ones, they
// would look like the repetitions of a join.
func Rows(d *api.Draft) [][]string {
	var rows [][]string
	free := []int{0} // the rows for entries of the invoice
	further := func() {
		free = append(free, len(rows))
		rows = append(rows, cellsOf(d, len(d.Items)))
	}
	for n := range max(1, len(d.Items)) {
		first := len(rows)
		rows = append(rows, cellsOf(d, n))
		place(d, true, n, func(entry int) []string {
			if first+entry == len(rows) {
				further()
			}
			return rows[first+entry]
		})
	}
	place(d, false, 0, func(entry int) []string {
		if entry == len(free) {
			further()
		}
		return rows[free[entry]]
	})
	return rows
}

// cellsOf returns the texts of the fields of the invoice, and of the item at a position if there is one.
func cellsOf(d *api.Draft, item int) []string {
	out := make([]string, len(columns))
	for at := range columns {
		if c := &columns[at]; c.text != nil && (!c.Item || item < len(d.Items)) {
			out[at] = c.text(d, item)
		}
	}
	return out
}

// place writes the entries of the lists of an invoice, or of its item at a position, into the rows that row returns.
func place(d *api.Draft, ofItems bool, item int, row func(entry int) []string) {
	first := slices.IndexFunc(columns, func(c Column) bool { return c.List != "" })
	for at := range lists {
		l := &lists[at]
		if l.item == ofItems && (!ofItems || item < len(d.Items)) {
			for n, cells := range l.texts(d, item) {
				copy(row(n)[first:], cells)
			}
		}
		first += len(l.columns)
	}
}
