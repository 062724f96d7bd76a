package tabular

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"quittance/client/api"
)

// Format is a file format.
type Format string

// The file formats.
const (
	CSV  Format = "csv"
	XLSX Format = "xlsx"
)

// Formats lists the file formats.
var Formats = [...]Format{CSV, XLSX} //nolint:gochecknoglobals // a constant list

// MediaType returns the media type of the format (RFC 7111, and the registration of Office Open XML).
func (f Format) MediaType() string {
	if f == XLSX {
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	}
	return "text/csv; charset=utf-8"
}

// byteOrderMark tells Excel that a CSV file is UTF-8.
const byteOrderMark = "\uFEFF"

// WriteCSV writes a header and rows as CSV (RFC 4180) in UTF-8 with a byte order mark. Each row has a text for each
// column, empty for an absent value. Numbers, dates and times are written as they are; every other text is guarded
// against being taken for a formula. It stops at the first error of rows and returns it; what is written then is the
// beginning of a file.
func WriteCSV(w io.Writer, columns []Column, rows iter.Seq2[[]string, error]) error {
	out := bufio.NewWriterSize(w, 64<<10)
	line := []byte(byteOrderMark)
	for n, c := range columns {
		line = appendCell(line, n, guard(c.Name))
	}
	line = append(line, "\r\n"...)
	for row, err := range rows {
		if err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("write CSV: %w", err)
		}
		line = line[:0]
		for n, text := range row {
			if !columns[n].Kind.isValue(text) {
				text = guard(text)
			}
			line = appendCell(line, n, text)
		}
		line = append(line, "\r\n"...)
	}
	if _, err := out.Write(line); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// appendCell adds the nth cell of a line. encoding/csv is not used, because it changes carriage returns in texts if
// lines end with CRLF.
func appendCell(line []byte, n int, text string) []byte {
	if n > 0 {
		line = append(line, ',')
	}
	if !strings.ContainsAny(text, "\",;\r\n\t ") && text != "" {
		return append(line, text...)
	}
	if text == "" {
		return line
	}
	line = append(line, '"')
	line = append(line, strings.ReplaceAll(text, `"`, `""`)...)
	return append(line, '"')
}

// isValue reports whether a text is a number, a date or a time as columns of this kind have them, and not any text.
func (k Kind) isValue(text string) bool {
	var err error
	switch k {
	case Decimal:
		_, err = api.ParseDecimal(text)
	case Date:
		_, err = time.Parse(time.DateOnly, text)
	case Time:
		_, err = time.Parse(time.RFC3339, text)
	case Text:
		return false
	}
	return err == nil
}
