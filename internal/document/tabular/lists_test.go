package tabular_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/document/tabular"
)

// listColumns are the columns of files of these tests.
const listColumns = "invoice_number,recipient_name,total_amount,currency,issue_date,name,quantity,net_unit_price," +
	"allowance_amount,allowance_reason,charge_amount,line_allowance_percent,line_charge_amount,line_charge_reason\n"

// line is the row of a line with further cells, and more that of none.
func line(name string, cells ...string) string {
	return "A-1,Palm,10,AED,2026-03-01," + name + ",1,10," + strings.Join(cells, ",") + "\n"
}

func more(cells ...string) string { return "A-1,,,,,,,," + strings.Join(cells, ",") + "\n" }

// listsOf returns the lists of a draft: those of the invoice, and those of each line after its name.
func listsOf(d *api.Draft) string {
	var out strings.Builder
	write := func(sign string, number *api.Decimal, text *string) {
		out.WriteString(sign)
		if number != nil {
			out.WriteString(number.String())
		}
		if text != nil {
			out.WriteString(*text)
		}
		out.WriteString(" ")
	}
	for _, a := range d.Allowances {
		write("-", a.Amount, a.Reason)
	}
	for _, c := range d.Charges {
		write("+", c.Amount, c.Reason)
	}
	for _, item := range d.Items {
		out.WriteString(*item.Name + ": ")
		for _, a := range item.Allowances {
			write("-%", a.Percent, nil)
		}
		for _, c := range item.Charges {
			write("+", c.Amount, c.Reason)
		}
	}
	return strings.TrimSpace(out.String())
}

// TestEntriesStandInRows checks to what the cells of lists belong.
func TestEntriesStandInRows(t *testing.T) {
	for name, c := range map[string]struct{ rows, want string }{
		"in the row of the line": {line("x", "1", "a", "2", "3", "4", "b"), "-1a +2 x: -%3 +4b"},
		"below it": {line("x", "1") + more("", "a", "2", "3%") + more("", "", "", "", "4", "b"),
			"-1 -a +2 x: -%3 +4b"},
		"of the line above, and in order": {line("x") + line("y", "1", "", "", "", "5") + more("", "", "", "6", "7") +
			line("z") + more("2", "", "", "8"), "-1 -2 x: y: -%6 +5 +7 z: -%8"},
		"before all lines": {"A-1,Palm,10,AED,2026-03-01,,,,1,a\n" + line("x") + line("y"), "-1a x: y:"},
		"other invoices between": {line("x") + strings.Replace(line("z"), "A-1", "A-2", 1) + more("1", "", "", "2"),
			"-1 x: -%2"},
		"blank rows between":       {line("x") + "\n,,,\n" + more("1"), "-1 x:"},
		"blank cells are none":     {line("x", " ", "\t") + more("1", " ", "  "), "-1 x:"},
		"equal ones in two rows":   {line("x", "1") + more("1") + more("1"), "-1 -1 -1 x:"},
		"equal ones in some lines": {line("x", "1") + line("y", "1") + line("z"), "-1 -1 x: y: z:"},
		"others in some lines":     {line("x", "1") + line("y", "2"), "-1 -2 x: y:"},
		"equal ones of two lines":  {line("x", "", "", "", "5") + line("y", "", "", "", "5"), "x: -%5 y: -%5"},
		"the invoice agrees":       {line("x") + "A-1,Palm,10.00,,2026-03-01,,,,1\n", "-1 x:"},
	} {
		t.Run(name, func(t *testing.T) {
			got := imported(t, []byte(listColumns+c.rows))
			if len(got.Faults) > 0 {
				t.Fatalf("faults\n%s", faultsOf(got))
			}
			if lists := listsOf(&got.Drafts[0].Draft); lists != c.want {
				t.Errorf("%s, want %s", lists, c.want)
			}
		})
	}
}

// TestFaultsOfLists checks the row and the column of what is wrong with entries of lists.
func TestFaultsOfLists(t *testing.T) {
	for name, c := range map[string]struct{ rows, want string }{
		"a value": {line("x", "1") + line("y") + more("much", "", "", "-1", "2.003"),
			"4 allowance_amount type\n4 line_allowance_percent minimum\n4 line_charge_amount minor_unit"},
		"of the second entry": {line("x", "1", "", "", "", "3") + more("1.001", "", "", "", "2.001"),
			"3 allowance_amount minor_unit\n3 line_charge_amount minor_unit"},
		"a text that is too long": {line("x") + more("1", strings.Repeat("z", 257)), "3 allowance_reason max_length"},
		"nothing usable":          {line("x") + more("#N/A", "#N/A"), "3 allowance_reason damaged_value\n3 allowance_amount type"},
		"neither line nor entry":  {line("x") + "A-1,Palm\n", "3 name required\n3 quantity required\n3 net_unit_price required"},
		"an item that is damaged": {line("x") + "A-1,,,,,#N/A,,,1\n", "3 name damaged_value\n3 quantity required\n3 net_unit_price required"},
		"before any line": {"A-1,Palm,10,AED,2026-03-01,,,,1,,,,2\n" + line("x"),
			"2 line_charge_amount no_line"},
		"without any line": {"A-1,Palm,10,AED,2026-03-01,,,,1\n", "2  min_items"},
		"a join":           {line("x", "1", "a") + line("y", "1", "a"), "3 allowance_amount repeated_entry"},
		"a join of charges, and a further one": {line("x", "", "", "1 ") + line("y", "", "", " 1") + more("", "", "2"),
			"3 charge_amount repeated_entry"},
		"a row that disagrees": {line("x") + "A-1,Oasis,,,,,,,1\n", "3 recipient_name disagreement"},
		"nothing usable of an invoice": {"#N/A,,,,,x,1,1\n", "2 invoice_number damaged_value\n2 recipient_name required\n" +
			"2 total_amount required\n2 currency required\n2 issue_date required"},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := strings.Split(faultsOf(imported(t, []byte(listColumns+c.rows))), "\n"), strings.Split(c.want, "\n")
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("faults\n%s\nwant\n%s", strings.Join(got, "\n"), c.want)
			}
		})
	}
}

// TestListsAreAsLongAsInTheAPI checks that as many entries as the API takes are read, and that one more is the fault of
// its row.
func TestListsAreAsLongAsInTheAPI(t *testing.T) {
	for column, most := range map[string]int{"allowance_amount": 100, "charge_amount": 100,
		"line_allowance_percent": 20, "line_charge_amount": 20} {
		header := "invoice_number,recipient_name,total_amount,currency,issue_date,name,quantity,net_unit_price," + column + "\n"
		rows := line("x") + line("y", "1") + strings.Repeat(more("1"), most-1)
		if got := faultsOf(imported(t, []byte(header+rows))); got != "" {
			t.Errorf("%d of %s: faults\n%s", most, column, got)
		}
		// Those after it add nothing to the fault, not even if they are wrong.
		got := imported(t, []byte(header+rows+more("2")+strings.Repeat(more("wrong"), 1_000)))
		if faultsOf(got) != fmt.Sprintf("%d  max_items", most+3) {
			t.Errorf("1 more of %s: faults\n%s", column, faultsOf(got))
		}
		if message := got.Faults[0].Message; !strings.Contains(message, fmt.Sprintf("at most %d entries", most)) {
			t.Errorf("1 more of %s: %s", column, message)
		}
	}
}

// TestLinesWithFurtherRows checks that as many lines as the API takes are read whatever rows are between them, that a
// line too many is a fault, and that nothing after it is.
func TestLinesWithFurtherRows(t *testing.T) {
	rows := strings.Repeat(line("x", "", "", "", "1")+more("", "", "", "", "2")+more("", "", "", "3"), 1_000)
	got := imported(t, []byte(listColumns+rows))
	if len(got.Faults) > 0 || len(got.Drafts[0].Items) != 1_000 || len(got.Drafts[0].Items[999].Allowances) != 2 {
		t.Errorf("%d drafts, faults\n%s", len(got.Drafts), faultsOf(got))
	}
	got = imported(t, []byte(listColumns+rows+line("y")+line("z", "wrong")+more("wrong")))
	if faultsOf(got) != "2  max_items" {
		t.Errorf("faults\n%s", faultsOf(got))
	}
}

// TestPercentSignsOfLists checks that every rate in per cent may have its sign, as a workbook shows it.
func TestPercentSignsOfLists(t *testing.T) {
	for _, c := range tabular.Columns() {
		if !strings.HasSuffix(c.Name, "vat_rate") && !strings.HasSuffix(c.Name, "percent") {
			continue
		}
		if got := readOf(t, csvFile(t, ',', [][]string{{c.Name}, {" 5 %"}}), c.Name); len(got.Faults) > 0 {
			t.Errorf("%s: faults\n%s", c.Name, faultsOf(got))
		}
	}
}

// TestExampleOfTheDocuments reads the example of docs/import.md, which says what is in it.
func TestExampleOfTheDocuments(t *testing.T) {
	text, err := os.ReadFile("../../../docs/import.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```csv\n")
	example, _, found := strings.Cut(example, "```")
	got := imported(t, []byte(example))
	if !found || len(got.Faults) > 0 || len(got.Drafts) != 1 {
		t.Fatalf("%d drafts, faults\n%s", len(got.Drafts), faultsOf(got))
	}
	if lists, want := listsOf(&got.Drafts[0].Draft),
		"-20.00Discount +30.00Freight +10.00Packing Consulting: -%10 -%5 Travel:"; lists != want {
		t.Errorf("%s, want %s", lists, want)
	}
	for _, c := range tabular.Columns() {
		if c.List == "" || c.List == "charges" {
			continue // named by what is before their names
		}
		if !strings.Contains(string(text), "`"+c.Name+"`") {
			t.Errorf("docs/import.md does not name the column %s", c.Name)
		}
	}
}
