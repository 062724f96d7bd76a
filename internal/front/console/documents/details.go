package documents

import (
	"slices"

	"quittance/client/api"
	"quittance/internal/front/view"
)

// detail is a field that has a value, by its JSON name.
type detail struct{ Name, Value string }

// placed lists the fields of an invoice and of its lines that the layout of a document places. Every other field with a
// value is a detail, so that a new one is shown.
var placed = []string{ //nolint:gochecknoglobals // a constant list
	"invoice_number", "issue_date", "issue_time", "due_date", "currency", "total_amount", "payment_means_code",
	"recipient_name", "recipient_network_id", "buyer_endpoint_scheme", "buyer_street", "buyer_city", "buyer_subdivision",
	"buyer_country", "name", "item_code", "description", "quantity", "base_quantity", "unit_code", "net_unit_price",
	"vat_category", "vat_rate"}

// unprinted lists the details that the layout of a print places, or that mean nothing to the buyer.
var unprinted = []string{"buyer_reference", "external_id", "transaction_flags"} //nolint:gochecknoglobals // a constant list

// The fields that are details.
//
//nolint:gochecknoglobals // constant lists
var (
	invoiceFields = unplaced[api.Draft]()
	lineFields    = unplaced[api.Item]()
)

func unplaced[T any]() []view.Field[T] {
	return slices.DeleteFunc(view.FieldsOf[T](),
		func(field view.Field[T]) bool { return slices.Contains(placed, field.Name) })
}

// detailsOf returns those of some fields that have a value.
func detailsOf[T any](fields []view.Field[T], of *T) []detail {
	all := make([]detail, len(fields))
	for n, field := range fields {
		all[n] = detail{field.Name, field.Text(of)}
	}
	return nonEmpty(all)
}

// nonEmpty returns the details that have a value.
func nonEmpty(all []detail) []detail {
	return slices.DeleteFunc(all, func(d detail) bool { return d.Value == "" })
}

// itemDetails returns the details of a line.
func itemDetails(item api.Item) []detail { return detailsOf(lineFields, &item) }
