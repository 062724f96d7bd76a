package tabular_test

import (
	"errors"
	"fmt"
	"html"
	"strings"
	"testing"

	"quittance/internal/document/tabular"
)

// TestDamagedTexts checks that what a spreadsheet program has put in the place of a text is a fault in every form of
// file.
func TestDamagedTexts(t *testing.T) {
	for _, text := range []string{"1.23457E+09", "1,23457E+09", "2.02603E+13", "1E+14", "-1.5E+10", "########", "##",
		"#REF!", "#N/A", "#VALUE!", "#NAME?", "#DIV/0!", "#NUM!", "#NULL!", " #N/A ", "1.23457e+09", "#SPILL!", "#ERROR!",
		"#BEZUG!", "#NV", "#¡REF!", "#¿NOMBRE?", "Err:502"} {
		for _, column := range tabular.Columns() {
			if column.Kind != tabular.Text {
				continue
			}
			rows := [][]string{{column.Name}, {text}}
			for form, file := range map[string][]byte{"CSV": csvFile(t, ',', rows), "XLSX": textWorkbook(t, rows)} {
				if !hasFault(readOf(t, file, column.Name), 2, column.Name, "damaged_value") {
					t.Errorf("%s: %q in %s is no fault", form, text, column.Name)
				}
			}
			if text != "1.23457E+09" {
				break // one column for each text, and one text for each column
			}
		}
	}
	for _, text := range []string{"1e5", "E+14", "12E+5", "1.5E-05", "#", "#1", "No. #N/A", "#sale", "1.2.3E+10"} {
		if hasFault(readOf(t, csvFile(t, ',', [][]string{{"note"}, {text}}), "note"), 2, "note", "damaged_value") {
			t.Errorf("%q is a fault", text)
		}
	}
}

// TestNumbersThatShowSomethingElse checks that a number in a column of texts is a fault if its format makes the cell
// show another text, and is read otherwise.
func TestNumbersThatShowSomethingElse(t *testing.T) {
	for code, altered := range map[string]bool{
		"General": false, "[Red]General": false, "[$-409]General": false, "@": false, "0": false, "0000;-0000": false,
		`"INV-"0000`: true, "0.00": true, "#,##0": true, "00000_)": true, `000000\ `: true, "[$-1000000]00000": true,
		"[$€-407]0": true, "dd-mmm": true, "[h]:mm": true, "0%": true, "0000000000000000": true, `General" pieces"`: true,
	} {
		styles := `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="` + html.EscapeString(code) +
			`"/></numFmts><cellXfs><xf/><xf numFmtId="164"/></cellXfs></styleSheet>`
		for column, want := range map[string]bool{"note": altered, "quantity": false} {
			file := partsFile(t, map[string]string{stylesPart: styles,
				sheetPart: sheetOf(inline(column) + `<row><c s="1"><v>42</v></c></row>`)})
			if got := hasFault(readOf(t, file, column), 2, column, "shown_differently"); got != want {
				t.Errorf("42 in %s with the format %s: a fault %t", column, code, got)
			}
		}
	}
}

// TestAmountsInScientificNotation checks that amounts from which a spreadsheet program has taken digits are faults, and
// that a number of a workbook is read whatever its notation.
func TestAmountsInScientificNotation(t *testing.T) {
	for _, text := range []string{"1.23457E+06", "1E+2", "1e5", "-1.5E-3"} {
		for form, file := range map[string][]byte{"CSV": csvFile(t, ',', [][]string{{"total_amount"}, {text}}),
			"XLSX": textWorkbook(t, [][]string{{"total_amount"}, {text}})} {
			if !hasFault(readOf(t, file, "total_amount"), 2, "total_amount", "damaged_value") {
				t.Errorf("%s: %q is no fault", form, text)
			}
		}
	}
	file := partsFile(t,
		map[string]string{sheetPart: sheetOf(inline("total_amount") + `<row><c><v>1.23457E+6</v></c></row>`)})
	if got := readOf(t, file, "total_amount"); len(got.Faults) > 0 || got.Drafts[0].TotalAmount.String() != "1234570" {
		t.Errorf("a number: %+v", got)
	}
}

// readOf reads a file of one column, to which it adds the others that are required.
func readOf(t *testing.T, file []byte, column string) *tabular.Import {
	t.Helper()
	table, err := tabular.Read(t.Context(), file, "")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"invoice_number": "A-1", "recipient_name": "Palm", "total_amount": "1", "currency": "AED",
		"issue_date": "2026-03-01", "name": "x", "quantity": "1", "net_unit_price": "1"}
	for _, c := range tabular.Columns() {
		if c.Required && c.Name != column {
			table.Header = append(table.Header, c.Name)
			table.Rows[0].Cells = append(table.Rows[0].Cells, values[c.Name])
		}
	}
	out, err := tabular.Drafts(t.Context(), table, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func hasFault(i *tabular.Import, row int, column, rule string) bool {
	for _, f := range i.Faults {
		if f.Row == row && f.Column == column && f.Rule == rule {
			return true
		}
	}
	return false
}

// TestCSVOfOtherPrograms checks the forms of CSV that programs on Windows and on old computers write.
func TestCSVOfOtherPrograms(t *testing.T) {
	row := "A-1,\"Pa\nlm\",10,AED,2026-03-01,x,1,10,\nA-2,Palm,ten,AED,2026-03-01,x,1,10,\n"
	plain := someColumns + strings.Replace(row, "Pa\nlm", "Palm", 1)
	for name, c := range map[string]struct{ file, want string }{
		"sep=;":             {"sep=;\r\n" + strings.ReplaceAll(plain, ",", ";"), "3 total_amount type"},
		"SEP=, and a mark":  {"\ufeffSEP=,\n" + plain, "3 total_amount type"},
		"sep=|":             {"sep=|\n" + strings.ReplaceAll(plain, ",", "|"), "3 total_amount type"},
		"two marks":         {"\ufeff\ufeff" + plain, "3 total_amount type"},
		"CR":                {strings.ReplaceAll(plain, "\n", "\r"), "3 total_amount type"},
		"texts as formulas": {strings.Replace(plain, "A-2,Palm", `"=""A-2""","=""P """"1"""" """`, 1), "3 total_amount type"},
		"CR and LF in text": {strings.ReplaceAll(someColumns+row, ",\n", ",\r"),
			"2 recipient_name control_characters\n3 total_amount type"},
	} {
		t.Run(name, func(t *testing.T) {
			file := c.file
			if name == "CR and LF in text" {
				file = strings.Replace(file, ",note\n", ",note\r", 1)
			}
			if got := faultsOf(imported(t, []byte(file))); got != c.want {
				t.Errorf("faults\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestCellsAsTheyAreStored checks cells that a program other than ours has written: dates as texts and numbers, zeros
// that only the format shows, texts with fonts, and what is not visible.
func TestCellsAsTheyAreStored(t *testing.T) {
	styles := `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="0000000000"/><numFmt numFmtId="165" formatCode="dd/mm/yyyy hh:mm"/></numFmts>` +
		`<cellXfs><xf/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="20"/></cellXfs></styleSheet>`
	shared := `<sst><si><t>plain</t></si><si><r><t>two </t></r><r><rPr><b/></rPr><t>fonts</t></r><rPh><t>said</t></rPh></si><si><t>_x0041_ _x005F_x0042_ _x_</t></si></sst>`
	for cell, want := range map[string]string{
		`<c t="d"><v>2026-03-01T00:00:00</v></c>`:           "2026-03-01",
		`<c t="d"><v>2026-03-01T23:59:59.999Z</v></c>`:      "2026-03-01",
		`<c t="d" s="1"><v>2026-03-01</v></c>`:              "2026-03-01",
		`<c t="d"><v>soon</v></c>`:                          "soon",
		`<c s="1"><v>46082</v></c>`:                         "2026-03-01",
		`<c s="3"><v>46082.9999999</v></c>`:                 "2026-03-01",
		`<c s="3"><v>46081.999999999996</v></c>`:            "2026-03-01",
		`<c s="1"><v>60</v></c>`:                            "1900-02-29",
		`<c s="1"><v>0</v></c>`:                             "1900-01-00",
		`<c s="1"><v>59</v></c>`:                            "1900-02-28",
		`<c s="1"><v>2958465.5</v></c>`:                     "9999-12-31",
		`<c s="1"><v>2958466</v></c>`:                       "2958466",
		`<c s="1"><v>-1</v></c>`:                            "-1",
		`<c s="4"><v>0.99999</v></c>`:                       "23:59",
		`<c s="2"><v>196</v></c>`:                           "196",
		`<c s="99"><v>3.3000000000000003</v></c>`:           "3.3",
		`<c><v>1.00123456700003E14</v></c>`:                 "100123456700003",
		`<c t="s"><v>0</v></c>`:                             "plain",
		`<c t="s"><v>1</v></c>`:                             "two fonts",
		`<c t="s"><v>2</v></c>`:                             "A _x0042_ _x_",
		`<c t="b"><v>1</v></c>`:                             "TRUE",
		`<c t="str"><f>A1</f><v>1.050</v></c>`:              "1.050",
		`<c t="str"><v>a_x000D_&#10;_xD83D__xDE00_</v></c>`: "a\n\U0001F600",
		`<c t="inlineStr"><is><t>a &amp; b</t></is></c>`:    "a & b",
	} {
		file := partsFile(t, map[string]string{stylesPart: styles, sharedPart: shared,
			sheetPart: sheetOf(inline("name") + `<row>` + cell + `</row>`)})
		table, err := tabular.Read(t.Context(), file, "")
		if err != nil {
			t.Errorf("%s: %v", cell, err)
			continue
		}
		if got := table.Rows[0].Cells[0]; got != want {
			t.Errorf("%s is read as %q, want %q", cell, got, want)
		}
	}
	zeros := `<row><c s="2"><v>4711</v></c><c t="str"><v>Palm</v></c><c s="2"><v>10</v></c><c t="str"><v>AED</v></c><c t="d"><v>2026-03-01</v></c><c t="str"><v>x</v></c><c><v>1</v></c><c><v>10</v></c></row>`
	file := partsFile(t, map[string]string{stylesPart: styles,
		sheetPart: sheetOf(inline(strings.Split(strings.TrimSpace(someColumns), ",")...) + zeros)})
	got := imported(t, file)
	if len(got.Faults) > 0 || *got.Drafts[0].InvoiceNumber != "0000004711" || got.Drafts[0].TotalAmount.String() != "10" {
		t.Errorf("zeros: faults %s, drafts %+v", faultsOf(got), got.Drafts)
	}
}

// The name spaces of worksheets and of extensions that newer programs add.
const (
	mainSpace  = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	otherSpace = "http://schemas.microsoft.com/office/spreadsheetml/2010/11/main"
)

// TestDaysFrom1904 checks the calendar of old workbooks of the Macintosh, with the extensions of newer programs, whose
// elements have the same names.
func TestDaysFrom1904(t *testing.T) {
	file := partsFile(t, map[string]string{
		workbookPart: `<workbook xmlns="` + mainSpace +
			`"><workbookPr date1904="1"/><sheets><sheet name="S" id="r1"/></sheets>` +
			`<extLst><ext><workbookPr xmlns="` + otherSpace +
			`" chartTrackingRefBase="1"/><workbookPr/></ext></extLst></workbook>`,
		stylesPart: `<styleSheet xmlns="` + mainSpace +
			`"><numFmts><numFmt numFmtId="164" formatCode="yyyy-mm-dd"/></numFmts><cellXfs><xf numFmtId="164"/></cellXfs>` +
			`<extLst><numFmt xmlns="` + otherSpace + `" numFmtId="164" formatCode="0"/></extLst></styleSheet>`,
		sheetPart: sheetOf(inline("name") + `<row><c s="0"><v>44620</v></c></row>`),
	})
	table, err := tabular.Read(t.Context(), file, "")
	if err != nil || table.Rows[0].Cells[0] != "2026-03-01" {
		t.Errorf("%+v %v", table, err)
	}
}

// TestTheSheetIsNamed checks that the first visible worksheet is read, and that messages say which one it is.
func TestTheSheetIsNamed(t *testing.T) {
	parts := map[string]string{
		workbookPart: `<workbook><sheets><sheet name="Lists" state="hidden" id="r1"/><sheet name="Chart" id="r2"/><sheet name="March" id="r3"/></sheets></workbook>`,
		relationPart: relationships("worksheet", "worksheets/sheet1.xml", "chartsheet",
			"chartsheets/sheet1.xml", "worksheet", "worksheets/sheet2.xml"),
		sheetPart:                  sheetOf(inline("countries") + inline("AE")),
		"xl/worksheets/sheet2.xml": sheetOf(inline("invoice_numbr") + inline("A-1")),
	}
	got := imported(t, partsFile(t, parts))
	for _, f := range got.Faults {
		if !strings.Contains(f.Message, `in the worksheet "March"`) {
			t.Errorf("fault %+v", f)
		}
	}
	if !hasFault(got, 1, "invoice_numbr", "unknown_column") {
		t.Errorf("faults\n%s", faultsOf(got))
	}
	parts["xl/worksheets/sheet2.xml"] = sheetOf("")
	_, err := tabular.Read(t.Context(), partsFile(t, parts), "")
	if refused, ok := errors.AsType[*tabular.Error](err); !ok ||
		!strings.Contains(refused.Message, `in the worksheet "March"`) {
		t.Errorf("an empty worksheet: %v", err)
	}
	table, err := tabular.Read(t.Context(), partsFile(t, parts), "lists")
	if err != nil || table.Sheet != "Lists" {
		t.Errorf("the hidden worksheet by its name: %s", fmt.Sprint(table, err))
	}
}
