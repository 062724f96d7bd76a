package tabular

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
)

// The limits of a file.
const (
	// MaxBytes is the largest size of a file, and MaxUnpacked the largest size of the parts of an XLSX file that are
	// read, in bytes.
	MaxBytes    = 8 << 20
	MaxUnpacked = 64 << 20
	// MaxText is the largest size of the texts of all cells together in bytes. Cells of an XLSX file may share a
	// text, so it can have more of them than bytes.
	MaxText = 16 << 20
	// MaxRows is the largest number of rows below the header that are not empty.
	MaxRows = 10_000
	// MaxColumns is the largest number of columns.
	MaxColumns = 200
	// MaxCell is the largest size of the text in a cell in bytes: a text of the API has at most 1024 characters.
	MaxCell = 8 << 10
)

// Error says why a file is not read at all.
type Error struct {
	// Row is the row that the reader has come to, from 1 as spreadsheets count; 0 for the file as a whole.
	Row int
	// Rule is the name of the broken rule, and Message continues a sentence about the file.
	Rule, Message string
}

func (e *Error) Error() string {
	if e.Row > 0 {
		return fmt.Sprintf("row %d: the file %s", e.Row, e.Message)
	}
	return "the file " + e.Message
}

// The rules that a file can break.
const (
	ruleFormat   = "file_format"
	ruleEncoding = "file_encoding"
	ruleSize     = "file_size"
	ruleRows     = "file_rows"
	ruleColumns  = "file_columns"
	ruleCell     = "file_cell"
	ruleSheet    = "file_sheet"
)

// Table is the text of a file. Its first row is the header.
type Table struct {
	Header []string
	// HeaderRow is the number of the row with the header.
	HeaderRow int
	Rows      []Row
	// Sheet is the name of the worksheet that was read, "" for a CSV file.
	Sheet string
	// point reports that a point is the decimal separator, because commas are between the cells.
	point bool
	// text is the size of the texts in bytes.
	text int
}

// inSheet names the worksheet that was read in a message, "" for a CSV file.
func (t *Table) inSheet() string {
	if t.Sheet == "" {
		return ""
	}
	return fmt.Sprintf(" in the worksheet %q", t.Sheet)
}

// Row is one row below the header. It has at least one cell that is not empty.
type Row struct {
	// Number is the number of the row, as spreadsheets count: the header is row 1 unless empty rows precede it.
	Number int
	// Cells may be fewer or more than the columns.
	Cells []string
	// unusable has the cells without a usable value, by their position, with the rules that they break.
	unusable map[int]string
	// shown has what cells show, by their position, where that differs from their text: numbers with zeros before them.
	shown map[int]string
	// numbers are the cells with a number, and not a text that looks like one. altered are those with a number or a
	// date that show something else than its text here, such as a currency or the name of a month.
	numbers, altered columnSet
}

// cell returns the text of the cell at a position, "" if there is none.
func (r *Row) cell(at int) string {
	if at < len(r.Cells) {
		return r.Cells[at]
	}
	return ""
}

// columnSet is a set of positions of columns.
type columnSet [(MaxColumns + 63) / 64]uint64

func (s *columnSet) add(at int) { s[at/64] |= 1 << (at % 64) }

func (s *columnSet) has(at int) bool { return at < MaxColumns && s[at/64]&(1<<(at%64)) != 0 }

// mark records that a cell has no usable value.
func (r *Row) mark(at int, rule string) {
	if r.unusable == nil {
		r.unusable = map[int]string{}
	}
	r.unusable[at] = rule
}

// Read reads a file in CSV or XLSX. Its content says which of them it is. sheet is the name of the worksheet of an
// XLSX file, "" for the first that is visible. The error is an [*Error] if the file is not usable, and that of the
// context if it ends first.
func Read(ctx context.Context, file []byte, sheet string) (*Table, error) {
	switch {
	case len(file) > MaxBytes:
		return nil, &Error{Rule: ruleSize, Message: fmt.Sprintf("must have at most %d MiB", MaxBytes>>20)}
	case bytes.HasPrefix(file, []byte("PK\x03\x04")):
		return readXLSX(ctx, file, sheet)
	// a compound file, which holds an old or an encrypted workbook
	case bytes.HasPrefix(file, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return nil, &Error{Rule: ruleFormat,
			Message: "is an XLS file or is protected by a password: save it as XLSX without a password"}
	}
	return readCSV(ctx, file)
}

// add adds a copy of a row unless it is empty. The first row that is added is the header.
func (t *Table) add(r Row) error {
	last := len(r.Cells)
	for last > 0 && strings.TrimSpace(r.Cells[last-1]) == "" && r.unusable[last-1] == "" {
		last--
	}
	switch {
	case last == 0:
		return nil
	case last > MaxColumns:
		return tooManyColumns(r.Number)
	case len(t.Rows) == MaxRows:
		message := fmt.Sprintf("must have at most %d rows below the header", MaxRows)
		return &Error{Row: r.Number, Rule: ruleRows, Message: message}
	}
	for _, cell := range r.Cells[:last] {
		if len(cell) > MaxCell {
			return &Error{Row: r.Number, Rule: ruleCell, Message: fmt.Sprintf("must have at most %d bytes in a cell", MaxCell)}
		}
		if t.text += len(cell); t.text > MaxText {
			message := fmt.Sprintf("must have at most %d MiB of texts in its cells", MaxText>>20)
			return &Error{Row: r.Number, Rule: ruleSize, Message: message}
		}
	}
	r.Cells = slices.Clip(slices.Clone(r.Cells[:last])) // the reader uses its cells again
	if t.Header == nil {
		t.Header, t.HeaderRow = r.Cells, r.Number
		return nil
	}
	t.Rows = append(t.Rows, r)
	return nil
}

// checked returns the table if it has a header and a row.
func (t *Table) checked() (*Table, error) {
	if len(t.Rows) == 0 {
		return nil, &Error{Rule: ruleRows, Message: "has no rows" + t.inSheet() +
			": its first row has the names of the columns, and each row below is an item"}
	}
	return t, nil
}
