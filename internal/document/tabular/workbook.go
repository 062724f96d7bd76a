package tabular

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"
)

// Workbook is an XLSX file with one sheet. A sheet of more than 16 MiB is in a temporary file until the workbook is
// closed.
type Workbook struct {
	file  *excelize.File
	sheet string
	// header, dates and times are styles, and decimals those of numbers by their scale.
	header, dates, times int
	decimals             map[int]int
}

// ErrLongText says that a text has more than 32,767 characters, which no cell of a spreadsheet holds.
var ErrLongText = errors.New("a text is too long for a spreadsheet")

// ErrManyRows says that a sheet would have more rows than a spreadsheet holds.
var ErrManyRows = errors.New("there are too many rows for a spreadsheet")

// NewWorkbook returns a workbook with a sheet of the given name: a header that stays visible and has filters, and rows
// as in [WriteCSV]. Numbers and dates are numbers and dates of the spreadsheet, times too, in UTC and without fractions
// of a second. A number that Excel cannot hold exactly is a text. A text is never a formula. The error is that of rows,
// if they have one.
func NewWorkbook(sheet string, columns []Column, rows iter.Seq2[[]string, error]) (*Workbook, error) {
	b := &Workbook{file: excelize.NewFile(), sheet: sheet, decimals: map[int]int{}}
	if err := b.fill(columns, rows); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Workbook) fill(columns []Column, rows iter.Seq2[[]string, error]) error {
	out, err := b.begin(columns)
	if err != nil {
		return err
	}
	last := 1
	cells := make([]any, len(columns))
	for row, err := range rows {
		if err != nil {
			return err
		}
		for n, text := range row {
			if cells[n], err = b.cell(columns[n].Kind, text); err != nil {
				return err
			}
		}
		if last++; last > excelize.TotalRows {
			return ErrManyRows
		}
		if err := out.SetRow("A"+strconv.Itoa(last), cells); err != nil {
			return fmt.Errorf("row %d of a workbook: %w", last, err)
		}
	}
	corner, err := excelize.CoordinatesToCellName(len(columns), last)
	if err == nil {
		err = b.file.AutoFilter(b.sheet, "A1:"+corner, nil)
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("end a workbook: %w", err)
	}
	return nil
}

// begin makes the styles, and the sheet with its header.
func (b *Workbook) begin(columns []Column) (*excelize.StreamWriter, error) {
	out, err := b.beginSheet()
	if err != nil {
		return nil, fmt.Errorf("begin a workbook: %w", err)
	}
	header := make([]any, len(columns))
	for n, c := range columns {
		if err := out.SetColWidth(n+1, n+1, c.Kind.width(c.Name)); err != nil {
			return nil, fmt.Errorf("width of column %s: %w", c.Name, err)
		}
		header[n] = excelize.Cell{StyleID: b.header, Value: c.Name}
	}
	if err := out.SetRow("A1", header); err != nil {
		return nil, fmt.Errorf("header of a workbook: %w", err)
	}
	return out, nil
}

func (b *Workbook) beginSheet() (*excelize.StreamWriter, error) {
	if err := b.file.SetSheetName(b.file.GetSheetName(0), b.sheet); err != nil {
		return nil, err
	}
	if err := b.file.SetDocProps(&excelize.DocProperties{Creator: "Quittance"}); err != nil {
		return nil, err
	}
	var err error
	if b.header, err = b.file.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true}}); err != nil {
		return nil, err
	}
	if b.dates, err = b.numbered("yyyy-mm-dd"); err != nil {
		return nil, err
	}
	if b.times, err = b.numbered("yyyy-mm-dd hh:mm:ss"); err != nil {
		return nil, err
	}
	out, err := b.file.NewStreamWriter(b.sheet)
	if err != nil {
		return nil, err
	}
	return out, out.SetPanes(&excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"})
}

// numbered returns the style of a number format.
func (b *Workbook) numbered(format string) (int, error) {
	return b.file.NewStyle(&excelize.Style{CustomNumFmt: &format})
}

// cell returns the cell of a text in a column of a kind; nil for "".
func (b *Workbook) cell(kind Kind, text string) (any, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // nil is the empty cell
	}
	switch kind {
	case Decimal:
		if value, scale, exact := exactNumber(text); kind.isValue(text) && exact {
			style, err := b.scaled(scale)
			return excelize.Cell{StyleID: style, Value: value}, err
		}
	case Date:
		if day, err := time.Parse(time.DateOnly, text); err == nil && !day.Before(firstDay) {
			return excelize.Cell{StyleID: b.dates, Value: day}, nil
		}
	case Time:
		if at, err := time.Parse(time.RFC3339, text); err == nil && !at.Before(firstDay) {
			return excelize.Cell{StyleID: b.times, Value: at.UTC().Truncate(time.Second)}, nil
		}
	case Text:
	}
	if len(utf16.Encode([]rune(text))) > excelize.TotalCellChars {
		return nil, ErrLongText
	}
	return text, nil
}

// firstDay is the first day that all spreadsheets number in the same way: Excel has a 29 February 1900.
var firstDay = time.Date(1900, time.March, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

// scaled returns the style of numbers with a scale, the number of digits after the decimal point.
func (b *Workbook) scaled(scale int) (int, error) {
	if style, ok := b.decimals[scale]; ok {
		return style, nil
	}
	format := "0"
	if scale > 0 {
		format += "." + strings.Repeat("0", scale)
	}
	style, err := b.numbered(format)
	b.decimals[scale] = style
	return style, err
}

// exactDigits is the number of significant decimal digits that Excel keeps.
const exactDigits = 15

// exactNumber returns a decimal number as spreadsheets hold it, its scale, and whether nothing is lost.
func exactNumber(text string) (value float64, scale int, exact bool) {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	value, err := strconv.ParseFloat(text, 64)
	significant := strings.TrimLeft(whole+fraction, "0")
	negativeZero := value == 0 && math.Signbit(value)
	return value, len(fraction), err == nil && len(significant) <= exactDigits && !negativeZero
}

// width returns the width of a column in characters.
func (k Kind) width(name string) float64 {
	least := map[Kind]int{Text: 22, Decimal: 14, Date: 12, Time: 20}[k]
	return float64(max(least, len(name)+4)) // the header also has the button of its filter
}

// WriteTo writes the file. It holds only a part of it in memory.
func (b *Workbook) WriteTo(w io.Writer) (int64, error) {
	counted := &counter{to: w}
	// The library collects the file in memory before it writes it, but leaves it to the caller where its archive is
	// written.
	b.file.SetZipWriter(func(io.Writer) excelize.ZipWriter { return zip.NewWriter(counted) })
	if _, err := b.file.WriteTo(io.Discard); err != nil {
		return counted.n, fmt.Errorf("write a workbook: %w", err)
	}
	return counted.n, nil
}

// Close removes the temporary file.
func (b *Workbook) Close() error {
	if err := b.file.Close(); err != nil {
		return fmt.Errorf("close a workbook: %w", err)
	}
	return nil
}

// counter counts the bytes that are written to it.
type counter struct {
	to io.Writer
	n  int64
}

// Write writes and counts.
func (c *counter) Write(text []byte) (int, error) {
	n, err := c.to.Write(text)
	c.n += int64(n)
	return n, err
}
