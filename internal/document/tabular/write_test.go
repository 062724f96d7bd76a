package tabular_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"iter"
	"strings"
	"testing"
	"unicode"

	"github.com/xuri/excelize/v2"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"quittance/internal/document/tabular"
)

// kinds are one column of each kind.
var kinds = []tabular.Column{{Name: "text"}, {Name: "amount", Kind: tabular.Decimal}, {Name: "day", Kind: tabular.Date},
	{Name: "at", Kind: tabular.Time}}

// hostile are texts that spreadsheets could take for formulas, or that a careless file loses.
var hostile = []string{
	"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", `"=1"`, "'=1", "''=1", "'", "' =1", "＝1", "＋1", "－1",
	"＠1", "\u200b=1", "\ufeff=1", "\u202e=1", "\u00a0=cmd|' /C calc'!A0", "“=1”", "a=1", "- none", "-", "plain",
	"two\nlines", "two\r\nlines", "a\rb", `say "hi"`, "a,b;c", "007", "1e5", "2026-03-01", "شركة النخيل", "<b>&amp;</b>",
	"_x0041_", "_x000D_", "TRUE", " spaces ", "\u200b",
}

func rowsOf(rows [][]string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// readCSV returns the cells of a file below its header, as a program that knows nothing of this package reads them.
func readCSV(t interface {
	Helper()
	Fatal(args ...any)
}, file []byte) [][]string {
	t.Helper()
	rest, found := bytes.CutPrefix(file, []byte("\xef\xbb\xbf"))
	if !found {
		t.Fatal("the file has no byte order mark")
	}
	rows, err := csv.NewReader(bytes.NewReader(rest)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

// isFormula reports whether a spreadsheet could take a cell for a formula: compatible characters are equal to it, and
// it may remove what is invisible before it looks.
func isFormula(cell string) bool {
	if cell != "" && strings.ContainsRune("\t\r\n", rune(cell[0])) {
		return true
	}
	visible := strings.TrimLeft(norm.NFKC.String(cell), " \t\r\n\"\u200b\ufeff\u202e“”«»")
	return visible != "" && strings.ContainsRune("=+-@", rune(visible[0]))
}

func TestCSVHasNoFormulas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.SampledFrom(hostile), rapid.String(),
			rapid.StringMatching("[ \\t\\r\\n\"'\u200b]{0,3}[=+\\-@＝＋－＠x][A-Z0-9]{0,3}")).Draw(t, "text")
		for strings.Contains(text, "\r\n") { // encoding/csv reads it as \n
			text = strings.ReplaceAll(text, "\r\n", "\n")
		}
		var out bytes.Buffer
		if err := tabular.WriteCSV(&out, kinds, rowsOf([][]string{{text, text, text, text}})); err != nil {
			t.Fatal(err)
		}
		for n, cell := range readCSV(t, out.Bytes())[0] {
			if isFormula(cell) && !(kinds[n].Kind == tabular.Decimal && tabular.IsNumber(cell)) {
				t.Errorf("column %s: %q became the formula %q", kinds[n].Name, text, cell)
			}
			if got := tabular.Unguard(cell); got != text {
				t.Errorf("column %s: %q became %q and is read as %q", kinds[n].Name, text, cell, got)
			}
		}
	})
}

// TestNoCharacterBeginsFormula tries every character of Unicode.
func TestNoCharacterBeginsFormula(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		if cell := tabular.Guard(string(r)); isFormula(cell) {
			t.Errorf("%q became the formula %q", r, cell)
		}
	}
}

func FuzzGuard(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cell := tabular.Guard(text)
		if isFormula(cell) {
			t.Errorf("%q became the formula %q", text, cell)
		}
		if got := tabular.Unguard(cell); got != text {
			t.Errorf("%q became %q and is read as %q", text, cell, got)
		}
	})
}

func TestCSVIsExact(t *testing.T) {
	var out bytes.Buffer
	err := tabular.WriteCSV(&out, kinds, rowsOf([][]string{
		{"", "-1050.00", "2026-03-01", "2026-03-01T09:30:00.123456Z"},
		{"say \"hi\"\r\nor, not", "-1+1", "-1", "=1"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := "\ufefftext,amount,day,at\r\n,-1050.00,2026-03-01,2026-03-01T09:30:00.123456Z\r\n\"say \"\"hi\"\"\r\nor, not\",'-1+1,'-1,'=1\r\n"
	if out.String() != want {
		t.Errorf("file %q\nwant %q", out.String(), want)
	}
}

// workbook writes rows and opens the file again.
func workbook(t *testing.T, rows [][]string) *excelize.File {
	t.Helper()
	book, err := tabular.NewWorkbook("list", kinds, rowsOf(rows))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	n, err := book.WriteTo(&out)
	if err != nil || n != int64(out.Len()) {
		t.Fatalf("wrote %d of %d bytes: %v", n, out.Len(), err)
	}
	if err := book.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := excelize.OpenReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func TestWorkbookHasTypedCells(t *testing.T) {
	file := workbook(t, [][]string{
		{"007", "-1050.00", "2026-03-01", "2026-03-01T09:30:00.987654Z"},
		{"=1+1", "1234567890123.45", "1899-12-31", "not a time"},
		{"x", "12345678901234567.89", "2026-02-30", ""},
	})
	for cell, want := range map[string]struct {
		kind       excelize.CellType
		shown, raw string
	}{
		"A2": {excelize.CellTypeInlineString, "007", "007"},
		"B2": {excelize.CellTypeUnset, "-1050.00", "-1050"},
		"C2": {excelize.CellTypeUnset, "2026-03-01", "46082"},
		"D2": {excelize.CellTypeUnset, "2026-03-01 09:30:00", ""},
		"A3": {excelize.CellTypeInlineString, "=1+1", "=1+1"},
		"B3": {excelize.CellTypeUnset, "1234567890123.45", "1234567890123.45"},
		"C3": {excelize.CellTypeInlineString, "1899-12-31", "1899-12-31"},
		"D3": {excelize.CellTypeInlineString, "not a time", "not a time"},
		"B4": {excelize.CellTypeInlineString, "12345678901234567.89", "12345678901234567.89"},
		"C4": {excelize.CellTypeInlineString, "2026-02-30", "2026-02-30"},
	} {
		kind, err := file.GetCellType("list", cell)
		if err != nil || kind != want.kind {
			t.Errorf("cell %s has the type %d: %v; want %d", cell, kind, err, want.kind)
		}
		if shown, err := file.GetCellValue("list", cell); err != nil || shown != want.shown {
			t.Errorf("cell %s shows %q: %v; want %q", cell, shown, err, want.shown)
		}
		if raw, err := file.GetCellValue("list", cell, excelize.Options{RawCellValue: true}); err != nil || want.raw != "" &&
			raw != want.raw {
			t.Errorf("cell %s has %q: %v; want %q", cell, raw, err, want.raw)
		}
		if formula, err := file.GetCellFormula("list", cell); err != nil || formula != "" {
			t.Errorf("cell %s has the formula %q: %v", cell, formula, err)
		}
	}
	if panes, err := file.GetPanes("list"); err != nil || !panes.Freeze || panes.YSplit != 1 {
		t.Errorf("panes %+v: %v", panes, err)
	}
	if width, err := file.GetColWidth("list", "A"); err != nil || width < 20 {
		t.Errorf("width %v: %v", width, err)
	}
	names := file.GetDefinedName()
	if len(names) != 1 || !strings.Contains(names[0].RefersTo, "$A$1:$D$4") {
		t.Errorf("the filter covers %+v", names)
	}
}

func TestWorkbookKeepsTexts(t *testing.T) {
	var rows [][]string
	for _, text := range hostile {
		rows = append(rows, []string{text, text, text, text})
	}
	file := workbook(t, rows)
	got, err := file.GetRows("list")
	if err != nil {
		t.Fatal(err)
	}
	for n, text := range hostile {
		if got[n+1][0] != text {
			t.Errorf("text %q is read as %q", text, got[n+1][0])
		}
	}
}

func TestLongTextIsNoWorkbook(t *testing.T) {
	_, err := tabular.NewWorkbook("list", kinds,
		rowsOf([][]string{{strings.Repeat("x", excelize.TotalCellChars+1), "", "", ""}}))
	if !errors.Is(err, tabular.ErrLongText) {
		t.Errorf("error %v", err)
	}
}

func TestManyRowsAreNoWorkbook(t *testing.T) {
	_, err := tabular.NewWorkbook("list", kinds[:1], func(yield func([]string, error) bool) {
		for row := []string{""}; yield(row, nil); {
		}
	})
	if !errors.Is(err, tabular.ErrManyRows) {
		t.Errorf("error %v", err)
	}
}

// TestErrorOfRowsEndsTheFile fails if the error of a row is lost, which would make the beginning of a list look like
// all of it.
func TestErrorOfRowsEndsTheFile(t *testing.T) {
	broken := errors.New("broken")
	rows := func(yield func([]string, error) bool) {
		_ = yield([]string{"a", "1", "", ""}, nil) && yield(nil, broken)
	}
	var out bytes.Buffer
	if err := tabular.WriteCSV(&out, kinds, rows); !errors.Is(err, broken) {
		t.Errorf("CSV: error %v", err)
	}
	if _, err := tabular.NewWorkbook("list", kinds, rows); !errors.Is(err, broken) {
		t.Errorf("workbook: error %v", err)
	}
}

// TestLargeWorkbook writes more than the library keeps in memory.
func TestLargeWorkbook(t *testing.T) {
	const rows = 30_000
	text := strings.Repeat("x", 600)
	book, err := tabular.NewWorkbook("list", kinds, func(yield func([]string, error) bool) {
		for range rows {
			if !yield([]string{text, "1.5", "2026-03-01", ""}, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := book.Close(); err != nil {
			t.Error(err)
		}
	}()
	var out bytes.Buffer
	if _, err := book.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	file, err := excelize.OpenReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if last, err := file.GetCellValue("list", "A30001"); err != nil || last != text {
		t.Errorf("the last row has %d bytes: %v", len(last), err)
	}
}
