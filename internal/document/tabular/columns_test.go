package tabular_test

import (
	"slices"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/document/tabular"
)

// TestColumnsAreTheFieldsOfTheAPI fails if a text or number of the creation payload is no column, or if two columns
// have one name.
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

func TestRowsRepeatTheInvoice(t *testing.T) {
	draft := api.Draft{
		InvoiceNumber: new("A-1"), TotalAmount: new(api.MustDecimal("10.50")), IssueDate: new("2026-03-01"),
		Items: []api.Item{{Name: new("one"), Quantity: new(api.MustDecimal("1"))},
			{Name: new("two"), Quantity: new(api.MustDecimal("2.0"))}},
	}
	columns := tabular.Columns()
	var got []string
	for _, row := range tabular.Rows(&draft) {
		var filled []string
		for n, text := range row {
			if text != "" {
				filled = append(filled, columns[n].Name+"="+text)
			}
		}
		got = append(got, strings.Join(filled, " "))
	}
	want := []string{
		"invoice_number=A-1 total_amount=10.50 issue_date=2026-03-01 name=one quantity=1",
		"invoice_number=A-1 total_amount=10.50 issue_date=2026-03-01 name=two quantity=2.0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
