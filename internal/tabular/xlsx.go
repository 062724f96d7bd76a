package tabular

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"
)

// The limits of an XLSX file beside those of every file. The library keeps everything but the worksheets as a tree in memory, in which each
// element takes up to a hundred times the bytes that it takes in the file.
const (
	maxParts    = 1_000
	maxElements = 1_000_000 // outside of worksheets
	// maxUnusable is how many cells without a usable value are found. More are not needed to refuse the file.
	maxUnusable = 10_000
)

// The rules that a cell of an XLSX file can break.
const (
	ruleFormula = "formula_without_value"
	ruleError   = "error_value"
	ruleDigits  = "too_many_digits"
)

// unreadable is the error for a file that is no workbook.
func unreadable() error {
	return &Error{Rule: ruleFormat, Message: "is not a readable XLSX workbook: open it in a spreadsheet program and save it as XLSX again"}
}

// readXLSX reads a worksheet of a workbook.
func readXLSX(file []byte, sheet string) (table *Table, err error) {
	defer func() {
		// The library does not promise to survive every file.
		if cause := recover(); cause != nil {
			table, err = nil, unreadable()
		}
	}()
	if err := checkParts(file); err != nil {
		return nil, err
	}
	book, err := excelize.OpenReader(bytes.NewReader(file), excelize.Options{UnzipSizeLimit: MaxUnpacked, UnzipXMLSizeLimit: MaxUnpacked})
	if err != nil {
		return nil, unreadable()
	}
	defer func() { err = errors.Join(err, book.Close()) }()
	names := book.GetSheetList()
	if sheet == "" && len(names) > 0 {
		sheet = names[0]
	}
	if !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, sheet) }) {
		return nil, &Error{Rule: ruleSheet, Message: fmt.Sprintf("has no worksheet %q", sheet)}
	}
	plainFormats(book)
	unusable, err := unusableCells(book, sheet)
	if err != nil {
		return nil, err
	}
	return readSheet(book, sheet, unusable)
}

// checkParts checks the limits of the parts of a file, of which a small file may hold very large ones.
func checkParts(file []byte) error {
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return unreadable()
	}
	if len(archive.File) > maxParts {
		return &Error{Rule: ruleSize, Message: fmt.Sprintf("must have at most %d parts", maxParts)}
	}
	unpacked, elements := 0, 0
	for _, part := range archive.File {
		content, err := part.Open()
		if err != nil {
			return unreadable()
		}
		text, err := io.ReadAll(io.LimitReader(content, int64(MaxUnpacked-unpacked+1)))
		if err := errors.Join(err, content.Close()); err != nil {
			return unreadable()
		}
		if unpacked += len(text); unpacked > MaxUnpacked {
			return &Error{Rule: ruleSize, Message: fmt.Sprintf("must have at most %d MiB when it is unpacked", MaxUnpacked>>20)}
		}
		if !strings.HasPrefix(strings.ToLower(part.Name), "xl/worksheets/") {
			elements += bytes.Count(text, []byte("<"))
		}
	}
	if elements > maxElements {
		return &Error{Rule: ruleSize, Message: fmt.Sprintf("must have at most %d elements outside of its worksheets", maxElements)}
	}
	return nil
}

// The formats in which plainFormats shows numbers.
const (
	dateFormat    = "yyyy-mm-dd"
	timeFormat    = "hh:mm"
	percentFormat = "0.############%"
)

// plainFormats replaces the number formats of a workbook, so that a cell has the text that the API takes, whatever the spreadsheet shows:
// a date as YYYY-MM-DD, a time of day as HH:MM, a percentage with its sign, and any other number with all its digits.
func plainFormats(book *excelize.File) {
	if book.Styles == nil || book.Styles.CellXfs == nil {
		return
	}
	codes := map[int]string{}
	if book.Styles.NumFmts != nil {
		for _, format := range book.Styles.NumFmts.NumFmt {
			codes[format.NumFmtID] = format.FormatCode
		}
	}
	const general = 0
	plain := map[string]int{}
	for n := range book.Styles.CellXfs.Xf {
		id := general
		if given := book.Styles.CellXfs.Xf[n].NumFmtID; given != nil {
			id = *given
		}
		as, format := general, builtInFormat(id)
		if code, custom := codes[id]; custom {
			format = plainFormat(code)
		}
		if format != "" {
			if plain[format] == 0 {
				style, err := book.NewStyle(&excelize.Style{CustomNumFmt: &format})
				if err != nil {
					continue
				}
				plain[format] = *book.Styles.CellXfs.Xf[style].NumFmtID
			}
			as = plain[format]
		}
		book.Styles.CellXfs.Xf[n].NumFmtID = &as
	}
}

// The built-in formats of percentages, dates and times, those of East Asian languages included (ECMA-376, part 1, 18.8.30).
var builtInFormats = map[string][]int{ //nolint:gochecknoglobals // a constant table
	percentFormat: {9, 10},
	dateFormat:    {14, 15, 16, 17, 22, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58},
	timeFormat:    {18, 19, 20, 21, 32, 33, 34, 35, 45, 46, 47, 55, 56},
}

// builtInFormat returns the format in which numbers with a built-in format are read, "" for plain numbers.
func builtInFormat(id int) string {
	for format, ids := range builtInFormats {
		if slices.Contains(ids, id) {
			return format
		}
	}
	return ""
}

// plainFormat returns the format in which numbers with a number format are read, "" for plain numbers.
func plainFormat(code string) string {
	code, _, _ = strings.Cut(code, ";") // negative numbers have the second part
	var signs strings.Builder
	quoted, bracketed := false, false
	for n := 0; n < len(code); n++ {
		switch c := code[n]; {
		case c == '\\' || c == '_' || c == '*': // the next character is shown, or is as wide as a space
			n++
		case c == '"':
			quoted = !quoted
		case c == '[' && !quoted:
			bracketed = true
		case c == ']' && !quoted:
			bracketed = false
		case !quoted && !bracketed:
			signs.WriteByte(c)
		}
	}
	letters := strings.ToLower(signs.String())
	switch {
	case strings.Contains(letters, "general"):
		return ""
	case strings.ContainsAny(letters, "yd"):
		return dateFormat
	case strings.ContainsAny(letters, "hs"):
		return timeFormat
	case strings.Contains(letters, "m"):
		return dateFormat
	case strings.Contains(letters, "%"):
		return percentFormat
	}
	return ""
}

// cellName is the reference of a cell: the column from 0 and the row from 1.
type cellName struct{ row, column int }

// unusableCells returns the cells of a worksheet without a usable value, with the rules that they break. The library reads values, but does
// not say where they come from.
func unusableCells(book *excelize.File, sheet string) (map[cellName]string, error) {
	part, err := sheetPart(book, sheet)
	if err != nil {
		return nil, err
	}
	content, ok := book.Pkg.Load(part)
	if !ok {
		return nil, unreadable()
	}
	text, ok := content.([]byte)
	if !ok {
		return nil, unreadable()
	}
	type cell struct {
		Reference string    `xml:"r,attr"`
		Type      string    `xml:"t,attr"`
		Formula   *struct{} `xml:"f"`
		Value     *string   `xml:"v"`
	}
	out, row, column := map[cellName]string{}, 0, 0
	for decoder := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, unreadable()
		}
		start, ok := token.(xml.StartElement)
		switch {
		case ok && start.Name.Local == "row":
			row, column = row+1, 0
			if given := slices.IndexFunc(start.Attr, func(a xml.Attr) bool { return a.Name.Local == "r" }); given >= 0 {
				if row, err = strconv.Atoi(start.Attr[given].Value); err != nil {
					return nil, unreadable()
				}
			}
		case ok && start.Name.Local == "c":
			var c cell
			if err := decoder.DecodeElement(&c, &start); err != nil {
				return nil, unreadable()
			}
			column++
			if c.Reference != "" {
				if column, _, err = excelize.CellNameToCoordinates(c.Reference); err != nil {
					return nil, unreadable()
				}
			}
			if rule := unusableRule(c.Type, c.Formula != nil, c.Value); rule != "" && len(out) < maxUnusable {
				out[cellName{row, column - 1}] = rule
			}
		}
	}
}

// unusableRule returns the rule that a cell breaks, or "".
func unusableRule(kind string, formula bool, value *string) string {
	switch {
	case formula && value == nil:
		return ruleFormula
	case kind == "e":
		return ruleError
	case value != nil && (kind == "" || kind == "n"):
		// A program that keeps 15 digits has replaced the others, for example the last ones of a bank account.
		if number, err := strconv.ParseFloat(strings.TrimSpace(*value), 64); err == nil && (number >= 1e15 || number <= -1e15) {
			return ruleDigits
		}
	}
	return ""
}

// sheetPart returns the name of the part with a worksheet.
func sheetPart(book *excelize.File, sheet string) (string, error) {
	content, _ := book.Pkg.Load("xl/_rels/workbook.xml.rels")
	text, ok := content.([]byte)
	var relations struct {
		Relationship []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	if !ok || xml.Unmarshal(text, &relations) != nil {
		return "", unreadable()
	}
	for _, known := range book.WorkBook.Sheets.Sheet {
		if !strings.EqualFold(known.Name, sheet) {
			continue
		}
		for _, relation := range relations.Relationship {
			if relation.ID != known.ID {
				continue
			}
			if target, absolute := strings.CutPrefix(relation.Target, "/"); absolute {
				return target, nil
			}
			return path.Join("xl", relation.Target), nil
		}
	}
	return "", unreadable()
}

// readSheet reads the values of a worksheet row by row.
func readSheet(book *excelize.File, sheet string, unusable map[cellName]string) (table *Table, err error) {
	rows, err := book.Rows(sheet)
	if err != nil {
		return nil, unreadable()
	}
	defer func() {
		if rows.Close() != nil {
			table, err = nil, unreadable()
		}
	}()
	table = &Table{}
	for number := 1; rows.Next(); number++ {
		cells, err := rows.Columns()
		if err != nil {
			return nil, unreadable()
		}
		row := Row{Number: number, Cells: cells}
		for column := range min(len(cells), MaxColumns) {
			if rule := unusable[cellName{number, column}]; rule != "" {
				if row.unusable == nil {
					row.unusable = map[int]string{}
				}
				row.unusable[column] = rule
			}
		}
		if err := table.add(row); err != nil {
			return nil, err
		}
	}
	return table.checked()
}
