package tabular

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// sheetReader reads a worksheet into a table, row by row.
type sheetReader struct {
	*book
	part  *part
	table *Table
	// row is the one that is read. Its cells are used again for the next one.
	row Row
}

// read reads the part of the worksheet.
func (r *sheetReader) read(name string) error {
	r.row.Cells = make([]string, 0, MaxColumns)
	return r.elements(name, func(p *part, e xml.StartElement) error {
		if e.Name.Local != "sheetData" {
			return nil
		}
		r.part = p
		return p.children(func(e xml.StartElement) error {
			if e.Name.Local != "row" {
				return nil
			}
			return r.readRow(e)
		})
	})
}

// readRow reads a row. One without a number is the next one.
func (r *sheetReader) readRow(e xml.StartElement) error {
	number := r.row.Number + 1
	if given := attribute(e, "r"); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil || n < number {
			return unreadable()
		}
		number = n
	}
	if number > lastRow {
		return unreadable()
	}
	clear(r.row.Cells)
	r.row = Row{Number: number, Cells: r.row.Cells[:0]}
	column := 0
	err := r.part.children(func(e xml.StartElement) error {
		if e.Name.Local != "c" {
			return nil
		}
		column++
		if given := attribute(e, "r"); given != "" {
			if column = columnOf(given); column == 0 {
				return unreadable()
			}
		}
		return r.readCell(e, column-1)
	})
	if err != nil {
		return err
	}
	return r.table.add(r.row)
}

// columnOf returns the number of the column of a reference, 28 for AB7, and 0 for a text that is none.
func columnOf(reference string) (column int) {
	letters := strings.TrimRight(reference, "0123456789")
	const most = 3 // XFD is the last column
	if len(letters) == 0 || len(letters) > most || len(letters) == len(reference) {
		return 0
	}
	for _, c := range []byte(strings.ToUpper(letters)) {
		if c < 'A' || c > 'Z' {
			return 0
		}
		column = column*26 + int(c-'A') + 1
	}
	return column
}

// readCell reads a cell of the row into its column, from 0.
func (r *sheetReader) readCell(e xml.StartElement, column int) error {
	kind, style := attribute(e, "t"), attribute(e, "s")
	text, hasValue, hasFormula := "", false, false
	err := r.part.children(func(e xml.StartElement) (err error) {
		switch e.Name.Local {
		case "v":
			hasValue = true
			r.part.text, err = r.part.appendText(r.part.text[:0])
			text = string(r.part.text)
		case "is":
			text, err = r.part.richText()
		case "f":
			hasFormula = true
		}
		return err
	})
	if err != nil {
		return err
	}
	rule := ""
	switch {
	case hasFormula && !hasValue:
		rule = ruleFormula
	case kind == "e":
		rule = ruleError
	case (kind == "" || kind == "n") && isLong(strings.TrimSpace(text)):
		rule = ruleDigits
	}
	return r.setValue(column, kind, style, text, rule)
}

// setValue sets a cell of the row to the value of a kind (ECMA-376, part 1, 18.18.11), unless it breaks a rule.
func (r *sheetReader) setValue(column int, kind, style, text, rule string) error {
	shown := ""
	switch kind {
	case "str":
		text = unescaped(text)
	case "s":
		if text = strings.TrimSpace(text); text != "" {
			var known bool
			if text, known = r.shared.at(text); !known {
				return unreadable()
			}
		}
	case "b":
		text = map[string]string{"0": "FALSE", "1": "TRUE"}[strings.TrimSpace(text)]
	case "d":
		text = dayOf(strings.TrimSpace(text))
		if column < MaxColumns {
			r.row.altered.add(column)
		}
	case "", "n":
		value := strings.TrimSpace(text)
		if rule == "" {
			text, shown = r.formatOf(style).read(value, r.from1904)
		}
		if _, isNumber := parseNumber(value); isNumber && column < MaxColumns {
			if r.row.numbers.add(column); !r.formatOf(style).exact {
				r.row.altered.add(column)
			}
		}
	}
	return r.set(column, text, shown, rule)
}

// set sets a cell of the row: its text, what it shows instead in a column of texts, and the rule that it breaks.
func (r *sheetReader) set(column int, text, shown, rule string) error {
	if column >= MaxColumns {
		if rule == "" && strings.TrimSpace(text) == "" {
			return nil
		}
		return tooManyColumns(r.row.Number)
	}
	for len(r.row.Cells) <= column {
		r.row.Cells = append(r.row.Cells, "")
	}
	r.row.Cells[column] = text
	if rule != "" {
		r.row.mark(column, rule)
	}
	if shown != "" {
		if r.row.shown == nil {
			r.row.shown = map[int]string{}
		}
		r.row.shown[column] = shown
	}
	return nil
}

// tooManyColumns is the error for a row with a cell beyond the last column.
func tooManyColumns(row int) error {
	return &Error{Row: row, Rule: ruleColumns, Message: fmt.Sprintf("must have at most %d columns", MaxColumns)}
}
