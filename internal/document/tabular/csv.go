package tabular

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// separators are the characters that may be between the cells of a CSV file. Spreadsheet programs write a semicolon
// in countries whose decimal separator is the comma.
const separators = ",;\t"

// maxEmptyCells is how many cells a row may have, those included that are empty: as many as a spreadsheet has columns.
const maxEmptyCells = 16_384

// readCSV reads a CSV file (RFC 4180) in UTF-8. A guess at another encoding would change names unseen, so such a file
// is refused.
func readCSV(ctx context.Context, file []byte) (*Table, error) {
	for bytes.HasPrefix(file, []byte(byteOrderMark)) { // some programs write another one before that of the file
		file = file[len(byteOrderMark):]
	}
	switch {
	case bytes.HasPrefix(file, []byte("\xff\xfe")) || bytes.HasPrefix(file, []byte("\xfe\xff")):
		return nil, &Error{Rule: ruleEncoding, Message: "is in UTF-16: save it as CSV in UTF-8, or as XLSX"}
	case !utf8.Valid(file):
		return nil, &Error{Rule: ruleEncoding, Message: "is not in UTF-8: save it as CSV in UTF-8, or as XLSX"}
	}
	file = withLineFeeds(file)
	separator, file := separatorOf(file)
	if row, wide := firstWideRow(file, separator); wide {
		return nil, tooManyColumns(row)
	}
	reader := csv.NewReader(bytes.NewReader(file))
	reader.Comma, reader.FieldsPerRecord, reader.ReuseRecord = rune(separator), -1, true
	table := &Table{point: separator == ','}
	breaks := 0 // within cells, which spreadsheets do not count as rows
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("read CSV: %w", err)
		}
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return table.checked()
		}
		if broken, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, &Error{Row: broken.StartLine - breaks, Rule: ruleFormat, Message: "is not valid CSV: " +
				"a quotation mark is missing, or one within a cell is not doubled"}
		}
		if err != nil {
			return nil, err
		}
		line, _ := reader.FieldPos(0)
		row := Row{Number: line - breaks, Cells: cells}
		for n, cell := range cells {
			breaks += strings.Count(cell, "\n")
			cells[n] = unguard(unquoted(cell))
		}
		if err := table.add(row); err != nil {
			return nil, err
		}
	}
}

// unquoted returns the text of a cell with a formula that is nothing but a text, ="00123", with which programs keep
// spreadsheets from taking a text for a number.
func unquoted(cell string) string {
	text, found := strings.CutPrefix(cell, `="`)
	if text, ends := strings.CutSuffix(text, `"`); found && ends &&
		!strings.Contains(strings.ReplaceAll(text, `""`, ""), `"`) {
		return strings.ReplaceAll(text, `""`, `"`)
	}
	return cell
}

// separatorOf returns the separator of a file, and its rows: the one that the first line names (sep=;), which Excel
// takes for no row, or the one that occurs most often in the first line that is not empty.
func separatorOf(file []byte) (separator byte, rows []byte) {
	line, rest, _ := bytes.Cut(bytes.TrimLeft(file, "\r\n"), []byte("\n"))
	const named, length = "sep=", len("sep=;")
	if line := bytes.TrimRight(line, "\r"); len(line) == length && strings.EqualFold(string(line[:len(named)]), named) {
		if last := line[length-1]; strings.IndexByte(separators+"|", last) >= 0 {
			return last, rest
		}
	}
	separator = ','
	most := 0
	for _, candidate := range []byte(separators) {
		if n := bytes.Count(line, []byte{candidate}); n > most {
			separator, most = candidate, n
		}
	}
	return separator, file
}

// withLineFeeds returns a file whose lines end with carriage returns, as some programs write them, with line feeds
// instead. The first line decides. Within quotation marks nothing changes.
func withLineFeeds(file []byte) []byte {
	quoted := false
	var out []byte
	for n, c := range file {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n':
			if out == nil {
				return file
			}
		case c == '\r' && out == nil && n+1 < len(file) && file[n+1] == '\n':
			return file
		case c == '\r':
			if out == nil {
				out = bytes.Clone(file)
			}
			out[n] = '\n'
		}
	}
	if out == nil {
		return file
	}
	return out
}

// firstWideRow returns the number of the first row with more than [maxEmptyCells] cells, before the library makes a
// slice of them.
func firstWideRow(file []byte, separator byte) (row int, wide bool) {
	row = 1
	cells, quoted := 1, false
	for _, c := range file {
		switch {
		case c == '"': // one that is doubled within a cell ends and begins it
			quoted = !quoted
		case quoted:
		case c == '\n':
			row++
			cells = 1
		case c == separator:
			if cells++; cells > maxEmptyCells {
				return row, true
			}
		}
	}
	return 0, false
}
