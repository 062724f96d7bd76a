package documents

import (
	"slices"
	"testing"

	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// TestPlacedFieldsExist checks that the lists of what pages place name fields of the API; that pages show the others is
// a test of the console.
func TestPlacedFieldsExist(t *testing.T) {
	t.Parallel()
	var names []string
	for _, field := range invoice.FieldsOf[api.Draft]() {
		names = append(names, field.Name)
	}
	for _, field := range invoice.FieldsOf[api.Item]() {
		names = append(names, field.Name)
	}
	for _, name := range slices.Concat(placed, unprinted) {
		if !slices.Contains(names, name) {
			t.Errorf("no field %q", name)
		}
	}
	if got, want := len(invoiceFields)+len(lineFields)+len(placed), len(names); got != want {
		t.Errorf("%d fields are placed or details, of %d", got, want)
	}
}
