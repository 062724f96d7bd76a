package documents

import (
	"slices"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
)

// detail is a field that has a value, by its JSON name.
type detail struct{ Name, Value string }

// placed lists the fields of an invoice and of its lines that the layout of a document places. Every other field with a
// value is a detail, so that a new one is shown.
var placed = []string{ //nolint:gochecknoglobals // a constant list
	"invoice_number", "issue_date", "issue_time", "due_date", "currency", "total_amount", "payment_means_code",
	"recipient_name", "recipient_network_id", "buyer_endpoint_scheme", "buyer_street", "buyer_city", "buyer_subdivision",
	"buyer_country", "name", "item_code", "description", "quantity", "base_quantity", "unit_code", "net_unit_price",
	"vat_category", "vat_rate", "prepaid_amount", "rounding_amount"}

// unprinted lists the details that the layout of a print places, or that mean nothing to the buyer.
var unprinted = []string{"buyer_reference", "external_id", "transaction_flags"} //nolint:gochecknoglobals // a constant list

// The fields that are details.
//
//nolint:gochecknoglobals // constant lists
var (
	invoiceFields = unplaced[api.Draft](placed...)
	lineFields    = unplaced[api.Item](placed...)
)

// unplaced returns the fields of a type without those that have another place.
func unplaced[T any](placed ...string) []invoice.Field[T] {
	return slices.DeleteFunc(invoice.FieldsOf[T](),
		func(field invoice.Field[T]) bool { return slices.Contains(placed, field.Name) })
}

// detailsOf returns those of some fields that have a value, as people read it: a code with its name, and a date in
// words.
func detailsOf[T any](w *console.Words, fields []invoice.Field[T], of *T) []detail {
	var out []detail
	for n := range fields {
		field := &fields[n]
		value := field.Text(of)
		if value == "" {
			continue
		}
		if list := w.Codes[field.Tag.Get("codes")]; list != nil && list.Names[value] != "" {
			value = list.Names[value] + " (" + value + ")"
		}
		if field.Tag.Get("format") == "date" {
			value = w.Messages.DayText(&value)
		}
		if field.Tag.Get("unit") == "percent" {
			value += "%"
		}
		out = append(out, detail{field.Name, value})
	}
	return out
}

// precedingDetail returns the invoices that a document names as preceding ones, each in a line.
func precedingDetail[T api.PrecedingInvoice | api.ParsedPreceding](w *console.Words, all []T) detail {
	lines := make([]string, len(all))
	for n, one := range all {
		p := api.PrecedingInvoice(one)
		lines[n] = strings.TrimSpace(console.Deref(p.Number) + " " + w.Messages.DayText(p.IssueDate))
	}
	return detail{"preceding_invoices", strings.Join(lines, "\n")}
}

// nonEmpty returns the details that have a value.
func nonEmpty(all []detail) []detail {
	return slices.DeleteFunc(all, func(d detail) bool { return d.Value == "" })
}

// itemDetails returns the details of a line.
func itemDetails(w *console.Words, item api.Item) []detail { return detailsOf(w, lineFields, &item) }
