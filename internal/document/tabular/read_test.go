package tabular_test

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"quittance/client/api"
	"quittance/internal/document/tabular"
)

// header returns the names of all columns.
func header() []string {
	var names []string
	for _, c := range tabular.Columns() {
		names = append(names, c.Name)
	}
	return names
}

// csvFile returns a CSV file of some rows.
func csvFile(t testing.TB, separator rune, rows [][]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.Comma = separator
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// bookFile returns an XLSX file that change has made.
func bookFile(t testing.TB, change func(f *excelize.File) error) []byte {
	t.Helper()
	f := excelize.NewFile()
	if err := change(f); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := errors.Join(f.Write(&out), f.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// textWorkbook returns an XLSX file whose cells are texts.
func textWorkbook(t testing.TB, rows [][]string) []byte {
	t.Helper()
	return bookFile(t, func(f *excelize.File) error {
		w, err := f.NewStreamWriter("Sheet1")
		if err != nil {
			return err
		}
		for n, row := range rows {
			cells := make([]any, len(row))
			for at, text := range row {
				cells[at] = text
			}
			if err := w.SetRow(fmt.Sprintf("A%d", n+1), cells); err != nil {
				return err
			}
		}
		return w.Flush()
	})
}

// imported reads a file as the API does.
func imported(t testing.TB, file []byte) *tabular.Import {
	t.Helper()
	table, err := tabular.Read(t.Context(), file, "")
	if err != nil {
		t.Fatal(err)
	}
	out, err := tabular.Drafts(t.Context(), table, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// faultsOf returns the faults as lines: row, column and rule.
func faultsOf(i *tabular.Import) string {
	var lines []string
	for _, f := range i.Faults {
		lines = append(lines, fmt.Sprintf("%d %s %s", f.Row, f.Column, f.Rule))
	}
	return strings.Join(lines, "\n")
}

// randomTexts are texts of drafts, hostile ones among them.
var randomTexts = []string{"plain", "=cmd|' /C calc'!A0", "+1", "-x", "@SUM(A1)", "'quoted", "'=x", "a,b;c\td",
	`say "hi"`, "line\nbreak", "<b>", "\u202eabc", "شركة", "  spaces  ", "007", "1e5", "2026-01-01"}

// fillRandomly gives the fields of a struct values: those that are required, and a choice of the others.
func fillRandomly(random *rand.Rand, into reflect.Value) {
	for n := range into.NumField() {
		f := into.Type().Field(n)
		if f.Tag.Get("required") != "true" && random.IntN(2) == 0 {
			continue
		}
		switch {
		case f.Type == reflect.TypeFor[*api.Decimal]():
			into.Field(n).Set(reflect.ValueOf(new(api.MustDecimal(fmt.Sprintf("%d.%02d", random.IntN(1e6)+1,
				random.IntN(100))))))
		case f.Type == reflect.TypeFor[[]api.Item]():
		case f.Type.Kind() == reflect.Slice:
			most, _ := strconv.Atoi(f.Tag.Get("maxItems"))
			fillList(random, into.Field(n), []int{0, 1, 2, 3, most}[random.IntN(5)])
		case f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct:
			group := reflect.New(f.Type.Elem())
			if fillRandomly(random, group.Elem()); !group.Elem().IsZero() { // an empty group is an absent one
				into.Field(n).Set(group)
			}
		case f.Tag.Get("text") == "multi":
			into.Field(n).Set(reflect.ValueOf(new(randomTexts[random.IntN(len(randomTexts))])))
		case f.Tag.Get("pattern") != "" || f.Tag.Get("format") != "" || f.Tag.Get("codelist") != "":
			into.Field(n).Set(reflect.ValueOf(new(f.Tag.Get("example"))))
		default:
			text := strings.NewReplacer("\n", " ", "\t", " ").Replace(randomTexts[random.IntN(len(randomTexts))])
			into.Field(n).Set(reflect.ValueOf(&text))
		}
	}
}

// fillList gives a list entries, of which none says nothing and many are equal.
func fillList(random *rand.Rand, list reflect.Value, count int) {
	for n := range count {
		entry := reflect.New(list.Type().Elem()).Elem()
		for entry.IsZero() {
			fillRandomly(random, entry)
		}
		if n > 0 && random.IntN(2) == 0 {
			entry = list.Index(n - 1)
		}
		list.Set(reflect.Append(list, entry))
	}
}

// randomDraft returns a valid draft with a random choice of fields and hostile texts.
func randomDraft(random *rand.Rand, number string) api.Draft {
	d := api.Draft{}
	fillRandomly(random, reflect.ValueOf(&d).Elem())
	d.InvoiceNumber = &number
	d.Items = make([]api.Item, random.IntN(4)+1)
	for n := range d.Items {
		fillRandomly(random, reflect.ValueOf(&d.Items[n]).Elem())
	}
	return d
}

// TestDraftsSurviveTheirRows writes drafts as rows, reads them again, and compares them, in every form of file.
func TestDraftsSurviveTheirRows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var want []api.Draft
	plain, escaped := [][]string{header()}, [][]string{header()}
	for n := range 100 {
		d := randomDraft(random, fmt.Sprintf("A-%d", n))
		want = append(want, d)
		for at, row := range tabular.Rows(&d) {
			if at > 0 && random.IntN(2) == 0 { // an empty field of the invoice is the same as above
				for column, c := range tabular.Columns() {
					if !c.Item && c.List == "" && c.Name != "invoice_number" {
						row[column] = ""
					}
				}
			}
			plain = append(plain, row)
			safe := slices.Clone(row)
			for column := range safe {
				safe[column] = tabular.Guard(safe[column])
			}
			escaped = append(escaped, safe)
		}
	}
	exported := func(yield func([]string, error) bool) {
		for _, row := range plain[1:] {
			if !yield(row, nil) {
				return
			}
		}
	}
	var written, book bytes.Buffer
	made, err := tabular.NewWorkbook("Invoices", tabular.Columns(), exported)
	if err == nil {
		_, err = made.WriteTo(&book)
	}
	if err := errors.Join(err, made.Close(), tabular.WriteCSV(&written, tabular.Columns(), exported)); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{
		"written CSV": written.Bytes(), "written workbook": book.Bytes(),
		"comma": csvFile(t, ',', escaped), "semicolon": csvFile(t, ';', escaped), "tab": csvFile(t, '\t', escaped),
		"byte order mark": append([]byte("\ufeff"), csvFile(t, ',', escaped)...), "workbook": textWorkbook(t, plain),
		"CR LF": bytes.ReplaceAll(csvFile(t, ',', escaped), []byte("\n"), []byte("\r\n")),
	}
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			got := imported(t, file)
			if len(got.Faults) > 0 {
				t.Fatalf("faults\n%s", faultsOf(got))
			}
			if len(got.Drafts) != len(want) {
				t.Fatalf("%d drafts, want %d", len(got.Drafts), len(want))
			}
			for n := range want {
				if name == "written workbook" { // whose numbers have no scale
					read, original := tabular.Rows(&got.Drafts[n].Draft), tabular.Rows(&want[n])
					withoutScale(read)
					withoutScale(original)
					if !reflect.DeepEqual(read, original) {
						t.Errorf("draft %d\n%q\nwant\n%q", n, read, original)
					}
				} else if !reflect.DeepEqual(got.Drafts[n].Draft, want[n]) {
					t.Errorf("draft %d\n%s\nwant\n%s", n, asJSON(t, got.Drafts[n].Draft), asJSON(t, want[n]))
				}
			}
		})
	}
}

func asJSON(t testing.TB, of any) string {
	t.Helper()
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// withoutScale removes the zeros at the end of decimals.
func withoutScale(rows [][]string) {
	for _, row := range rows {
		for n, c := range tabular.Columns() {
			if c.Kind == tabular.Decimal && strings.Contains(row[n], ".") {
				row[n] = strings.TrimRight(strings.TrimRight(row[n], "0"), ".")
			}
		}
	}
}

const someColumns = "invoice_number,recipient_name,total_amount,currency,issue_date,name,quantity,net_unit_price,note\n"

func TestFaultsNameRowAndColumn(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"valid": {someColumns + "A-1,Palm,10,AED,2026-03-01,x,1,10,\n", ""},
		"values": {someColumns + "A-1,Palm,ten,AED,2026-02-30,x,1,-1,\n\nA-2,Palm,10,XXY,2026-03-01,,1,10,\n",
			"2 total_amount type\n2 issue_date date\n2 net_unit_price minimum\n4 currency currency\n4 name required"},
		"header": {"invoice_number,recipent_name,currency,currency,colour\nA,B,C,D,E\n",
			"1 recipient_name missing_column\n1 total_amount missing_column\n1 issue_date missing_column\n1 name missing_column\n1 quantity missing_column\n1 net_unit_price missing_column"},
		"no number": {someColumns + ",Palm,10,AED,2026-03-01,x,1,10,\n", "2 invoice_number required"},
		"disagreement": {someColumns + "A-1,Palm,10,AED,2026-03-01,x,1,10,\nA-1,Oasis,10.0,,2026-03-01,y,1,10,\n",
			"3 recipient_name disagreement"},
		"later value": {someColumns + "A-1,Palm,10,AED,2026-03-01,x,1,10,\nA-1,,,,,y,1,10,late\n", "3 note disagreement"},
		"no column":   {someColumns + "A-1,Palm,10,AED,2026-03-01,x,1,10,,extra\n", "2  no_column"},
		"line breaks": {someColumns + "A-1,Palm,10,AED,2026-03-01,x,1,10,\"a\nb\"\nA-2,Palm,x,AED,2026-03-01,x,1,10,\n",
			"3 total_amount type"},
		"NUL":          {someColumns + "A-1,Pa\x00lm,10,AED,2026-03-01,x,1,10,\n", "2 recipient_name control_characters"},
		"large number": {someColumns + "A-1,Palm,1e999,AED,2026-03-01,x,1,10,\n", "2 total_amount damaged_value"},
		"spaced header": {strings.ReplaceAll(someColumns, "invoice_number", " Invoice Number") +
			"A-1,Palm,10,AED,2026-03-01,x,1,10,\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := faultsOf(imported(t, []byte(c.file)))
			if name == "header" { // the columns that are there come first
				if !strings.HasSuffix(got, c.want) && !strings.Contains(got, "1 recipent_name unknown_column") {
					t.Errorf("faults\n%s", got)
				}
				return
			}
			if got != c.want {
				t.Errorf("faults\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestUnknownColumnSuggestsTheNearest(t *testing.T) {
	got := imported(t, []byte("invoice_numbr\nA\n"))
	if got.Faults[0].Column != "invoice_numbr" || !strings.HasSuffix(got.Faults[0].Message, "invoice_number") {
		t.Errorf("fault %+v", got.Faults[0])
	}
}

// TestFilesThatAreNotRead checks the error of each kind of file that is refused as a whole.
func TestFilesThatAreNotRead(t *testing.T) {
	long := func(rows int) string { return someColumns + strings.Repeat("A,B,1,AED,2026-03-01,x,1,1,\n", rows) }
	bomb := func(parts int, text string) []byte {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for n := range parts {
			part, err := w.Create(fmt.Sprintf("xl/part%d.xml", n))
			if err == nil {
				_, err = part.Write([]byte(text))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	wide := make([]string, 16_384)
	for n := range wide {
		wide[n] = "x"
	}
	valid := textWorkbook(t, [][]string{{"a"}, {"b"}})
	for name, c := range map[string]struct {
		file  []byte
		rule  string
		sheet string
	}{
		"empty":              {file: nil, rule: "file_rows"},
		"header only":        {file: []byte(someColumns), rule: "file_rows"},
		"10,001 rows":        {file: []byte(long(10_001)), rule: "file_rows"},
		"too many bytes":     {file: make([]byte, tabular.MaxBytes+1), rule: "file_size"},
		"UTF-16":             {file: []byte("\xff\xfea\x00"), rule: "file_encoding"},
		"Windows-1252":       {file: []byte(someColumns + "Caf\xe9"), rule: "file_encoding"},
		"XLS":                {file: []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and more"), rule: "file_format"},
		"open quote":         {file: []byte(someColumns + "\"A"), rule: "file_format"},
		"long cell":          {file: []byte(someColumns + strings.Repeat("x", tabular.MaxCell+1)), rule: "file_cell"},
		"16,384 columns":     {file: []byte(strings.Join(wide, ",") + "\n"), rule: "file_columns"},
		"wide workbook":      {file: textWorkbook(t, [][]string{wide}), rule: "file_columns"},
		"zip without a book": {file: bomb(1, "<a/>"), rule: "file_format"},
		"many parts":         {file: bomb(10_001, ""), rule: "file_size"},
		"truncated":          {file: valid[:len(valid)/2], rule: "file_format"},
		"unknown sheet":      {file: valid, sheet: "Invoices", rule: "file_sheet"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tabular.Read(t.Context(), c.file, c.sheet)
			refused, ok := errors.AsType[*tabular.Error](err)
			if !ok || refused.Rule != c.rule {
				t.Errorf("error %v, want the rule %s", err, c.rule)
			}
		})
	}
}

func TestAsManyRowsAsAllowed(t *testing.T) {
	got := imported(t, []byte(someColumns+strings.Repeat("A,B,1,AED,2026-03-01,x,1,1,\n", tabular.MaxRows)))
	if got.Rows != tabular.MaxRows || faultsOf(got) != "2  max_items" {
		t.Errorf("%d rows, faults\n%s", got.Rows, faultsOf(got))
	}
}

// TestFaultsAreBounded checks that the faults beyond the limit are counted.
func TestFaultsAreBounded(t *testing.T) {
	got := imported(t, []byte(someColumns+strings.Repeat(",,,,,,,,\",\"\n", 3*tabular.MaxFaults)))
	if len(got.Faults) != tabular.MaxFaults || got.MoreFaults != 2*tabular.MaxFaults {
		t.Errorf("%d faults and %d more", len(got.Faults), got.MoreFaults)
	}
}

// TestCellsOfWorkbooks checks what numbers, dates, percentages and formulas are read as.
func TestCellsOfWorkbooks(t *testing.T) {
	type cell struct {
		value  any
		format string
	}
	for name, c := range map[string]struct {
		cell cell
		want string
	}{
		"text":                   {cell{value: "=1+1"}, "=1+1"},
		"number":                 {cell{value: 0.1}, "0.1"},
		"sum of floats":          {cell{value: 0.1 + 0.2}, "0.3"},
		"price":                  {cell{1250.5, "#,##0.00"}, "1250.5"},
		"negative price":         {cell{-3.25, "#,##0.00;[Red](#,##0.00)"}, "-3.25"},
		"currency format":        {cell{7.0, `"AED" #,##0.00`}, "7"},
		"date":                   {cell{46082.0, "dd/mm/yyyy"}, "2026-03-01"},
		"date with names":        {cell{46082.0, `[$-409]d\-mmm\-yy;@`}, "2026-03-01"},
		"month":                  {cell{46082.0, "mmm-yy"}, "2026-03-01"},
		"time":                   {cell{0.5, "h:mm AM/PM"}, "12:00"},
		"five percent":           {cell{0.05, "0%"}, "5%"},
		"fraction of a per cent": {cell{0.0825, "0.00%"}, "8.25%"},
		"built-in date":          {cell{value: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}, "2026-03-01"},
		"true":                   {cell{value: true}, "TRUE"},
		"small":                  {cell{value: 0.000001}, "0.000001"},
	} {
		t.Run(name, func(t *testing.T) {
			file := bookFile(t, func(f *excelize.File) error {
				err := errors.Join(f.SetCellValue("Sheet1", "A1", "name"), f.SetCellValue("Sheet1", "A2", c.cell.value))
				if c.cell.format != "" {
					style, styled := f.NewStyle(&excelize.Style{CustomNumFmt: &c.cell.format})
					err = errors.Join(err, styled, f.SetCellStyle("Sheet1", "A2", "A2", style))
				}
				return err
			})
			table, err := tabular.Read(t.Context(), file, "")
			if err != nil {
				t.Fatal(err)
			}
			if got := table.Rows[0].Cells[0]; got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestCellsWithoutAUsableValue(t *testing.T) {
	row := []any{"A-1", nil, 10, "AED", "2026-03-01", "x", 1, 10, nil}
	file := bookFile(t, func(f *excelize.File) error {
		names := strings.Split(strings.TrimSpace(someColumns), ",")
		return errors.Join(f.SetSheetRow("Sheet1", "A1", &names), f.SetSheetRow("Sheet1", "A2", &row),
			f.SetCellFormula("Sheet1", "B2", "A1&A2"), f.SetCellValue("Sheet1", "A2", 1234567890123456),
			f.SetCellFormula("Sheet1", "I2", "1/0"))
	})
	got := faultsOf(imported(t, file))
	if want := "2 invoice_number too_many_digits\n2 recipient_name formula_without_value\n2 note formula_without_value"; got != want {
		t.Errorf("faults\n%s\nwant\n%s", got, want)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte(someColumns + "A-1,Palm,10,AED,2026-03-01,x,1,10,\"a\nb\"\n"))
	f.Add([]byte(listColumns + line("x", "1", "a", "2", "3") + more("4", "", "", "", "5")))
	f.Add([]byte("\ufeffinvoice_number;name\r\n'=1;x\r\n"))
	f.Fuzz(func(t *testing.T, file []byte) { readAny(t, file) })
}

func FuzzXLSX(f *testing.F) {
	f.Add(textWorkbook(f, [][]string{header(), {"A-1"}}))
	f.Fuzz(func(t *testing.T, file []byte) { readAny(t, append([]byte("PK\x03\x04"), file...)) })
}

// readAny reads any file. It must be refused with a message, or read within the limits.
func readAny(t *testing.T, file []byte) {
	t.Helper()
	table, err := tabular.Read(t.Context(), file, "")
	if err != nil {
		if refused, ok := errors.AsType[*tabular.Error](err); !ok || refused.Message == "" {
			t.Fatalf("error %v", err)
		}
		return
	}
	got, err := tabular.Drafts(t.Context(), table, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Faults) > tabular.MaxFaults || got.Rows > tabular.MaxRows {
		t.Errorf("%d rows, %d faults", got.Rows, len(got.Faults))
	}
	for _, f := range got.Faults {
		if f.Row < 1 || f.Rule == "" || f.Message == "" {
			t.Errorf("fault %+v", f)
		}
	}
}

// BenchmarkRead reads 10,000 rows with a value in each column, as the API does.
func BenchmarkRead(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	rows := [][]string{header()}
	for n := 0; len(rows) <= tabular.MaxRows-200; n++ {
		d := randomDraft(random, fmt.Sprintf("A-%d", n))
		rows = append(rows, tabular.Rows(&d)...)
	}
	for name, file := range map[string][]byte{"CSV": csvFile(b, ',', rows), "XLSX": textWorkbook(b, rows)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				if got := imported(b, file); len(got.Faults) > 0 {
					b.Fatalf("faults\n%s", faultsOf(got))
				}
			}
		})
	}
}
