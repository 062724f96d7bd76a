package tabular

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/platform/strictjson"
)

// assembly is a draft that is made of its rows, as JSON, for the API's decoder. The first row has the fields of the
// invoice. Each row adds a line, entries to lists of the invoice and of the last line, or both.
type assembly struct {
	*reading
	rows    []Row
	given   Given
	fields  values // of the invoice
	invoice whole
	lines   []whole
	text    []byte // the lines before the last
}

// whole is an invoice or a line: what it has beside its lists, and for each of the [lists] its entries.
type whole struct {
	// row is the position of the row that has it.
	row     int
	object  strictjson.Object
	entries [len(lists)]entries
}

// entries are the entries of a list, and the positions of the rows that have them.
type entries struct {
	objects []strictjson.Object
	rows    []int
}

// readDraft reads the draft of some rows.
func (r *reading) readDraft(ctx context.Context, rows []Row) error {
	a := &assembly{reading: r, rows: rows,
		given: Given{Currency: r.cell(&rows[0], "currency"), Countries: map[string]string{}}}
	for _, path := range countries {
		a.given.Countries[path] = r.cell(&rows[0], invoice.FlatName(path))
	}
	text, err := a.asJSON(ctx)
	if err != nil {
		return err
	}
	body, err := strictjson.Parse(text)
	if err != nil {
		return fmt.Errorf("rows as JSON: %w", err)
	}
	draft, faults := drafts.Decode(body)
	for path, broken := range faults.With(invoice.Faults(&draft)) {
		at, column := a.placeOf(path)
		row := &rows[at]
		position, known := r.at[column]
		if !known {
			column = ""
		}
		if known && row.unusable[position] != "" {
			continue // only the absence of a value that nobody can read
		}
		for _, fault := range broken {
			if column == "" {
				fault.Message = path + " " + fault.Message
			}
			r.add(row, column, fault)
		}
	}
	r.Drafts = append(r.Drafts, Draft{Draft: draft, Row: rows[0].Number})
	return nil
}

// readable returns the rows of a draft up to the first line that is more than one too many. Nothing else bounds them
// but [MaxRows]: a thousand lines may have twenty thousand allowances, each in a row of its own. What is made of the
// rows is bounded all the same, because a list gets one entry too many at most, and each row is read once.
func (r *reading) readable(rows []Row) []Row {
	lines := 0
	for n := range rows {
		if r.addsLine(&rows[n]) {
			lines++
		}
		if lines > maxItems+1 {
			return rows[:n]
		}
	}
	return rows
}

// addsLine reports whether a row adds a line. One without a cell of an item does so only if it has nothing else to say,
// which is a fault of the line.
func (r *reading) addsLine(row *Row) bool {
	if r.first(row, ofItem) != "" {
		return true
	}
	for at := range lists {
		if r.first(row, ofLists+owner(at)) != "" {
			return false
		}
	}
	return true
}

// first returns the name of the first column of an owner in which a row has anything, "" if there is none.
func (r *reading) first(row *Row, of owner) string {
	for _, c := range r.owned[of] {
		if row.unusable[c.at] != "" || strings.TrimSpace(row.cell(c.at)) != "" {
			return c.Name
		}
	}
	return ""
}

// asJSON returns the draft as JSON.
func (a *assembly) asJSON(ctx context.Context) (text []byte, err error) {
	if a.fields, err = a.readCells(&a.rows[0], ofInvoice, a.given); err != nil {
		return nil, err
	}
	a.invoice.object = a.fields.object()
	a.text = append(make([]byte, 0, a.size()), `{"items":[`...)
	for n := range a.rows {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("read a draft: %w", err)
		}
		if err := a.addRow(n); err != nil {
			return nil, err
		}
	}
	a.endLine()
	a.refuseRepeated()
	text = append(bytes.TrimSuffix(a.text, []byte{','}), ']')
	end := len(text)
	if text = a.invoice.appendTo(text); string(text[end:]) == "{}" { // no cell of the invoice has a usable value
		return append(text[:end], '}'), nil
	}
	text[end] = ','
	return text, nil
}

// size returns about the size of the lines as JSON in bytes, so that the text of a large draft is not copied as it
// grows.
func (a *assembly) size() (bytes int) {
	const around = 32 // the name of a column, quotation marks and some escapes
	for _, c := range slices.Concat(a.owned[ofItem:]...) {
		for n := range a.rows {
			if text := a.rows[n].cell(c.at); text != "" {
				bytes += len(text) + around
			}
		}
	}
	return bytes
}

// addRow adds what the row at a position says.
func (a *assembly) addRow(n int) error {
	row := &a.rows[n]
	if a.addsLine(row) {
		a.endLine()
		item, err := a.readCells(row, ofItem, a.given)
		if err != nil {
			return err
		}
		a.lines = append(a.lines, whole{row: n, object: item.object()})
	}
	if n > 0 {
		if err := a.compareInvoice(&a.rows[0], a.fields, row, a.given); err != nil {
			return err
		}
	}
	for at := range lists {
		if err := a.addEntry(at, n); err != nil {
			return err
		}
	}
	return nil
}

// addEntry adds what the row at a position says of an entry of a list.
func (a *assembly) addEntry(list, n int) error {
	l, row, of := &lists[list], &a.rows[n], ofLists+owner(list)
	column := a.first(row, of)
	if column == "" {
		return nil
	}
	whose := &a.invoice
	if l.item {
		if len(a.lines) == 0 {
			a.add(row, column, api.Fault{Rule: ruleNoLine,
				Message: "must stand in the row of a line, or below it: the invoice has no line above this row"})
			return nil
		}
		whose = &a.lines[len(a.lines)-1]
	}
	e := &whose.entries[list]
	if len(e.rows) > l.most {
		return nil // one too many is enough for the fault
	}
	entry, err := a.readCells(row, of, a.given)
	e.objects, e.rows = append(e.objects, entry.object()), append(e.rows, n)
	return err
}

// endLine ends the last line, which gets no more entries.
func (a *assembly) endLine() {
	if len(a.lines) > 0 {
		a.text = append(a.lines[len(a.lines)-1].appendTo(a.text), ',')
	}
}

// appendTo appends the JSON text, and keeps only what faults need.
func (w *whole) appendTo(text []byte) []byte {
	for at := range lists {
		if e := &w.entries[at]; len(e.objects) > 0 {
			w.object.Add(lists[at].name, strictjson.Array(e.objects))
			e.objects = nil
		}
	}
	text = w.object.Append(text)
	w.object = strictjson.Object{}
	return text
}

// refuseRepeated refuses the entries of a list of the invoice if the rows of all its lines, at least two, have the same
// one. A program that joins the tables of invoices and of lines repeats in each row what the invoice has once, and the
// sum would count it as often.
func (a *assembly) refuseRepeated() {
	for at := range lists {
		of := ofLists + owner(at)
		if lists[at].item || len(a.lines) < 2 {
			continue
		}
		first, second := &a.rows[a.lines[0].row], &a.rows[a.lines[1].row]
		differs := func(line whole) bool {
			row := &a.rows[line.row]
			return slices.ContainsFunc(a.owned[of], func(c present) bool {
				return strings.TrimSpace(row.cell(c.at)) != strings.TrimSpace(first.cell(c.at))
			})
		}
		if column := a.first(first, of); column != "" && !slices.ContainsFunc(a.lines[1:], differs) {
			a.add(second, column, api.Fault{Rule: ruleRepeatedEntry, Message: "must stand in one row only: " +
				"it is on the whole invoice, and the same in the row of another line would count again"})
			a.invoice.entries[at] = entries{}
		}
	}
}

// placeOf returns the position of the row and the column that the path of a fault names: those of the third item and
// "name" for items[2].name, and those of its first charge and "line_charge_amount" for items[2].charges[0].amount. The
// place of a list as a whole is that of its last entry, which is one too many.
func (a *assembly) placeOf(path string) (row int, column string) {
	whose, item := &a.invoice, false
	if rest, ofItem := strings.CutPrefix(path, "items["); ofItem {
		number, field, _ := strings.Cut(rest, "].")
		if n, err := strconv.Atoi(number); err == nil && n < len(a.lines) {
			whose, item, path = &a.lines[n], true, field
		}
	}
	for at := range lists {
		rest, ofList := strings.CutPrefix(path, lists[at].name)
		rows := whose.entries[at].rows
		if !ofList || lists[at].item != item || len(rows) == 0 {
			continue
		}
		number, field, _ := strings.Cut(strings.TrimPrefix(rest, "["), "].")
		if n, err := strconv.Atoi(number); err == nil && n < len(rows) {
			return rows[n], columnName(lists[at].name, field, item)
		}
		return rows[len(rows)-1], ""
	}
	return whose.row, columnName("", path, item)
}

// values are the values of some cells by the paths of their fields in what they are of.
type values map[string]string

// readCells reads the cells of a row that belong to an owner.
func (r *reading) readCells(row *Row, of owner, given Given) (values, error) {
	out := values{}
	for _, c := range r.owned[of] {
		text := row.cell(c.at)
		if text == "" || row.unusable[c.at] != "" {
			continue
		}
		given.Point = r.table.point || row.numbers.has(c.at)
		value, fault, err := r.read(c.Column, text, given)
		switch {
		case err != nil:
			return nil, err
		case fault != nil:
			r.add(row, c.Name, *fault)
			row.mark(c.at, fault.Rule)
		case value != "":
			out[c.field] = value
		}
	}
	return out, nil
}

// object returns the values as a JSON object.
func (v values) object() (out strictjson.Object) {
	for _, path := range slices.Sorted(maps.Keys(v)) {
		out.AddText(path, v[path])
	}
	return out
}

// compareInvoice reports the cells of the invoice in a later row that differ from those of the first. An empty one is
// the same.
func (r *reading) compareInvoice(first *Row, fields values, row *Row, given Given) error {
	for _, c := range r.owned[ofInvoice] {
		text := row.cell(c.at)
		if strings.TrimSpace(text) == "" || text == first.cell(c.at) || row.unusable[c.at] != "" {
			continue
		}
		given.Point = r.table.point || row.numbers.has(c.at)
		value, fault, err := r.read(c.Column, text, given)
		switch {
		case err != nil:
			return err
		case fault != nil:
			r.add(row, c.Name, *fault)
			row.mark(c.at, fault.Rule)
		case !c.equal(value, fields[c.field]):
			r.add(row, c.Name, api.Fault{Rule: ruleDisagreement,
				Message: fmt.Sprintf("differs from row %d of the same invoice", first.Number)})
		}
	}
	return nil
}
