package tabular

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"quittance/client/api"
	"quittance/internal/platform/strictjson"
)

// MaxFaults is the largest number of faults that are listed.
const MaxFaults = 1_000

// Import is what a table says.
type Import struct {
	// Drafts are in the order in which they begin. If there are faults, some are missing or incomplete, and none may be
	// stored.
	Drafts []Draft
	// Rows is the number of rows below the header that are not empty.
	Rows int
	// Faults are the first [MaxFaults] faults, in the order of the rows, and MoreFaults is the number of the others.
	Faults     []Fault
	MoreFaults int
}

// Draft is the draft of some rows.
type Draft struct {
	api.Draft
	// Row is the number of its first row.
	Row int
}

// Fault is one thing that is wrong with a table.
type Fault struct {
	api.Fault
	// Row is the number of the row.
	Row int
	// Column is the name of the column, "" if the fault is one of the row.
	Column string
	// Value is the beginning of the text in the cell.
	Value string
}

// The rules that a table can break, beside those of the fields.
const (
	ruleUnknownColumn  = "unknown_column"
	ruleMissingColumn  = "missing_column"
	ruleRepeatedColumn = "repeated_column"
	ruleNoColumn       = "no_column"
	ruleDisagreement   = "disagreement"
	ruleRepeatedEntry  = "repeated_entry"
	ruleNoLine         = "no_line"
	ruleControl        = "control_characters"
)

// Given is what is known of an invoice, and of a cell, when the cell is read.
type Given struct {
	Currency string
	// Countries are the countries of the addresses of the invoice, by the JSON paths of their fields.
	Countries map[string]string
	// Point reports that a point in the text is the decimal separator: the cell has a number, or commas are between the
	// cells of the file.
	Point bool
}

// Reader reads the text of a cell as the API takes it. The fault says why nobody can read it. A nil Reader takes texts
// as they are, numbers and dates without white space around them, and a rate also with a percent sign, as a workbook
// may have it.
type Reader func(c *Column, text string, given Given) (value string, fault *api.Fault, err error)

// drafts is the API's decoder of drafts.
var drafts = strictjson.For[api.Draft]() //nolint:gochecknoglobals // a plan of a type, read only

// countries are the paths of the fields of an invoice with a country.
var countries = func() (paths []string) { //nolint:gochecknoglobals // a constant list
	for _, field := range draftFields {
		if field.Tag.Get("codes") == "countries" {
			paths = append(paths, field.Name)
		}
	}
	return paths
}()

// The largest numbers of items of a draft, of allowances, and of charges, on the whole of it and on an item, of
// preceding invoices, and of attributes of an item. One more is decoded, which is a fault.
const (
	maxItems          = 1_000
	maxAllowances     = 100
	maxLineAllowances = 20
	maxPreceding      = 100
	maxProperties     = 20
)

// Drafts reads the drafts of a table. The error is one of read, or that of the context if it ends first.
func Drafts(ctx context.Context, t *Table, read Reader) (*Import, error) {
	if read == nil {
		read = readPlain
	}
	r := &reading{Import: &Import{Rows: len(t.Rows)}, read: read, table: t}
	if !r.readHeader(t.HeaderRow, t.Header) {
		return r.Import, nil
	}
	groups, order := map[string][]Row{}, []string(nil)
	for _, row := range t.Rows {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("read rows: %w", err)
		}
		r.checkRow(&row)
		number := strings.TrimSpace(r.cell(&row, "invoice_number"))
		if number == "" {
			r.add(&row, "invoice_number", api.Fault{Rule: "required", Message: "is required"})
			continue
		}
		if groups[number] == nil {
			order = append(order, number)
		}
		groups[number] = append(groups[number], row)
	}
	for _, number := range order {
		if err := r.readDraft(ctx, r.readable(groups[number])); err != nil {
			return nil, err
		}
	}
	r.finish()
	return r.Import, nil
}

// readPlain is the nil [Reader].
func readPlain(c *Column, text string, _ Given) (string, *api.Fault, error) {
	if c.Kind == Text {
		return text, nil, nil
	}
	if text = strings.TrimSpace(text); c.percent {
		text = strings.TrimSpace(strings.TrimSuffix(text, "%"))
	}
	return text, nil, nil
}

// reading is the state of reading a table.
type reading struct {
	*Import
	read Reader
	// at are the positions of the columns by their names, and names are the names by their positions, "" where the header
	// has none.
	at    map[string]int
	names []string
	// owned are the columns of each owner that are there. kinds are the kinds of the columns by their positions, and table
	// is what is read.
	owned [int(ofLists) + len(lists)][]present
	kinds []Kind
	table *Table
}

// present is a column that a table has, and its position there.
type present struct {
	*Column
	at int
}

// add adds a fault of a row. The column is "" for the row as a whole.
func (r *reading) add(row *Row, column string, fault api.Fault) {
	r.report(Fault{Fault: fault, Row: row.Number, Column: column, Value: shortened(r.cell(row, column))})
}

// report adds a fault. A file of a few megabytes can have millions, so those that will not be listed are dropped in
// time.
func (r *reading) report(fault Fault) {
	if r.Faults = append(r.Faults, fault); len(r.Faults) >= 4*MaxFaults {
		r.finish()
	}
}

// cell returns the text of a cell, "" if there is none.
func (r *reading) cell(row *Row, column string) string {
	if at, known := r.at[column]; known {
		return row.cell(at)
	}
	return ""
}

// finish sorts the faults and drops those above the limit.
func (r *reading) finish() {
	slices.SortStableFunc(r.Faults, func(a, b Fault) int { return cmp.Or(a.Row-b.Row, r.at[a.Column]-r.at[b.Column]) })
	if more := len(r.Faults) - MaxFaults; more > 0 {
		r.MoreFaults += more
		r.Faults = r.Faults[:MaxFaults]
	}
}

// readHeader finds the columns, and reports whether all that the rows need are there.
func (r *reading) readHeader(number int, header []string) bool {
	row := Row{Number: number}
	r.at, r.names, r.kinds = map[string]int{}, make([]string, len(header)), make([]Kind, len(header))
	for at, cell := range header {
		name := strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(cell)))
		_, repeated := r.at[name]
		column := slices.IndexFunc(columns, func(c Column) bool { return c.Name == name })
		switch {
		case name == "": // a fault if the column has a cell
		case column < 0:
			message := "must be the name of a column" + r.table.inSheet() + "; the nearest is " + nearest(name)
			r.report(Fault{api.Fault{Rule: ruleUnknownColumn, Message: message}, number, shortened(cell), ""})
		case repeated:
			r.report(Fault{api.Fault{Rule: ruleRepeatedColumn, Message: "must be the name of one column only"}, number, name,
				""})
		default:
			c := &columns[column]
			r.at[name], r.names[at], r.kinds[at] = at, name, c.Kind
			r.owned[c.owner] = append(r.owned[c.owner], present{c, at})
		}
	}
	for _, c := range columns {
		if _, found := r.at[c.Name]; c.Required && !found {
			r.add(&row, c.Name, api.Fault{Rule: ruleMissingColumn,
				Message: "must be in the file" + r.table.inSheet() + ": the column is required"})
		}
	}
	return len(r.Faults) == 0
}

// shortened returns a text of a stranger for a message.
func shortened(text string) string {
	const most = 64
	count := 0
	for at := range text {
		if count == most {
			return text[:at] + "…"
		}
		count++
	}
	return text
}

// equal reports whether two values of the column are the same. 5 and 5.00 are the same number.
func (c *Column) equal(a, b string) bool {
	if a == b || c.Kind != Decimal {
		return a == b
	}
	plain := func(text string) (string, error) {
		number, err := api.ParseDecimal(text)
		if err != nil || !strings.Contains(number.String(), ".") {
			return number.String(), err
		}
		return strings.TrimRight(strings.TrimRight(number.String(), "0"), "."), nil
	}
	first, err := plain(a)
	second, otherErr := plain(b)
	return errors.Join(err, otherErr) == nil && first == second
}

// nearest returns the name of the column that differs from a text in the fewest letters.
func nearest(text string) string {
	text = shortened(text)
	return slices.MinFunc(columns, func(a, b Column) int { return distance(a.Name, text) - distance(b.Name, text) }).Name
}

// distance returns how many letters have to be added, removed or replaced to turn one text into another.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for n := range row {
		row[n] = n
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
