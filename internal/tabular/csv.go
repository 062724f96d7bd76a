package tabular

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// separators are the characters that may be between the cells of a CSV file. Spreadsheet programs write a semicolon in countries whose
// decimal separator is the comma.
const separators = ",;\t"

// readCSV reads a CSV file (RFC 4180) in UTF-8. A guess at another encoding would change names unseen, so such a file is refused.
func readCSV(file []byte) (*Table, error) {
	file = bytes.TrimPrefix(file, []byte(byteOrderMark))
	switch {
	case bytes.HasPrefix(file, []byte("\xff\xfe")) || bytes.HasPrefix(file, []byte("\xfe\xff")):
		return nil, &Error{Rule: ruleEncoding, Message: "is in UTF-16: save it as CSV in UTF-8, or as XLSX"}
	case !utf8.Valid(file):
		return nil, &Error{Rule: ruleEncoding, Message: "is not in UTF-8: save it as CSV in UTF-8, or as XLSX"}
	}
	reader := csv.NewReader(bytes.NewReader(file))
	reader.Comma, reader.FieldsPerRecord = separatorOf(file), -1
	table, breaks := &Table{}, 0 // breaks counts the line breaks within cells, which spreadsheets do not count as rows
	for {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return table.checked()
		}
		if broken, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, &Error{Row: broken.StartLine - breaks, Rule: ruleFormat, Message: "is not valid CSV: a quotation mark is missing, or one within a cell is not doubled"}
		}
		if err != nil {
			return nil, err
		}
		line, _ := reader.FieldPos(0)
		row := Row{Number: line - breaks, Cells: cells}
		for n, cell := range cells {
			breaks += strings.Count(cell, "\n")
			cells[n] = unguard(cell)
		}
		if err := table.add(row); err != nil {
			return nil, err
		}
	}
}

// separatorOf returns the separator that occurs most often in the first line that is not empty.
func separatorOf(file []byte) rune {
	line, _, _ := bytes.Cut(bytes.TrimLeft(file, "\r\n"), []byte("\n"))
	best, most := ',', 0
	for _, separator := range separators {
		if n := bytes.Count(line, []byte(string(separator))); n > most {
			best, most = separator, n
		}
	}
	return best
}
