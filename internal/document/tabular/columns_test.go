package tabular_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/document/tabular"
)

// listPrefixes returns what is before the names of the columns of each list of a type, which are those of allowances.
func listPrefixes[T any]() (out []string) {
	for field := range reflect.TypeFor[T]().Fields() {
		if field.Type.Kind() == reflect.Slice && field.Type != reflect.TypeFor[[]api.Item]() {
			out = append(out, strings.TrimSuffix(field.Tag.Get("json"), "s")+"_")
		}
	}
	return out
}

// TestColumnsAreTheFieldsOfTheAPI fails if a text or number of the creation payload, or of an entry of its lists, is no
// column, or if two columns have one name.
func TestColumnsAreTheFieldsOfTheAPI(t *testing.T) {
	var want []string
	add := func(path string) {
		name := invoice.FlatName(path)
		if slices.Contains(want, name) {
			name = "line_" + name
		}
		if slices.Contains(want, name) {
			t.Errorf("two columns are named %s", name)
		}
		want = append(want, name)
	}
	for _, field := range invoice.FieldsOf[api.Draft]() {
		add(field.Name)
	}
	for _, field := range invoice.FieldsOf[api.Item]() {
		add(field.Name)
	}
	for _, prefix := range []string{"allowance_", "charge_"} {
		addEntries[api.Allowance](add, prefix)
	}
	for _, prefix := range []string{"line_allowance_", "line_charge_"} {
		addEntries[api.LineAllowance](add, prefix)
	}
	addEntries[api.PrecedingInvoice](add, "preceding_invoice_")
	addEntries[api.Attribute](add, "line_attribute_")
	if lists := len(listPrefixes[api.Draft]()) + len(listPrefixes[api.Item]()); lists != 6 {
		t.Errorf("invoices and items have %d lists", lists)
	}
	var got []string
	for _, c := range tabular.Columns() {
		got = append(got, c.Name)
		if c.Meaning == "" || c.Example == "" {
			t.Errorf("column %s has no meaning or no example", c.Name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("columns %v\nfields  %v", got, want)
	}
}

// addEntries adds the names of the columns of the entries of a list.
func addEntries[T any](add func(name string), prefix string) {
	for _, field := range invoice.FieldsOf[T]() {
		add(prefix + field.Name)
	}
}

// filled returns the names and texts of the cells of rows that are not empty.
func filled(rows [][]string) []string {
	columns := tabular.Columns()
	var out []string
	for _, row := range rows {
		var cells []string
		for n, text := range row {
			if text != "" {
				cells = append(cells, columns[n].Name+"="+text)
			}
		}
		out = append(out, strings.Join(cells, " "))
	}
	return out
}

func TestRowsRepeatTheInvoice(t *testing.T) {
	draft := api.Draft{
		InvoiceNumber: new("A-1"), TotalAmount: new(api.MustDecimal("10.50")), IssueDate: new("2026-03-01"),
		Items: []api.Item{{Name: new("one"), Quantity: new(api.MustDecimal("1"))},
			{Name: new("two"), Quantity: new(api.MustDecimal("2.0"))}},
	}
	got := filled(tabular.Rows(&draft))
	want := []string{
		"invoice_number=A-1 total_amount=10.50 issue_date=2026-03-01 name=one quantity=1",
		"invoice_number=A-1 total_amount=10.50 issue_date=2026-03-01 name=two quantity=2.0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestRowsOfLists checks in which rows the entries of lists stand.
func TestRowsOfLists(t *testing.T) {
	reasons := func(texts ...string) (out []api.Allowance) {
		for _, text := range texts {
			out = append(out, api.Allowance{Reason: &text})
		}
		return out
	}
	ofLine := func(texts ...string) (out []api.LineAllowance) {
		for _, text := range texts {
			out = append(out, api.LineAllowance{Reason: &text})
		}
		return out
	}
	for name, c := range map[string]struct {
		draft api.Draft
		want  []string
	}{
		"no items": {api.Draft{Allowances: reasons("a"), Charges: reasons("b")},
			[]string{"allowance_reason=a charge_reason=b"}},
		"blank entries": {api.Draft{Allowances: append(make([]api.Allowance, 3), reasons(" ", "a")...)},
			[]string{"allowance_reason=a"}},
		"equal ones of the invoice": {api.Draft{Allowances: reasons("a", "a"),
			Items: []api.Item{{Name: new("one")}, {Name: new("two")}}},
			[]string{"name=one allowance_reason=a", "name=two", "allowance_reason=a"}},
		"further ones of lines first": {api.Draft{InvoiceNumber: new("A"), Allowances: reasons("a", "b", "c"),
			Charges: reasons("d", "e"), Items: []api.Item{{Name: new("one"), Charges: ofLine("f", "g")},
				{Name: new("two"), Allowances: ofLine("h", "i"), Charges: ofLine("j")}}},
			[]string{
				"invoice_number=A name=one allowance_reason=a charge_reason=d line_charge_reason=f",
				"invoice_number=A allowance_reason=b charge_reason=e line_charge_reason=g",
				"invoice_number=A name=two line_allowance_reason=h line_charge_reason=j",
				"invoice_number=A allowance_reason=c line_allowance_reason=i",
			}},
	} {
		if got := filled(tabular.Rows(&c.draft)); !slices.Equal(got, c.want) {
			t.Errorf("%s: rows\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
