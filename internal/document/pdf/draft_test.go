package pdf_test

import (
	"testing"

	"quittance/client/api"
	"quittance/internal/document/pdf"
)

// TestRoundedCreditNote checks that the pages of a credit note whose total was rounded in another way than its lines
// state the computed tax, once, and the difference as the rounding amount.
func TestRoundedCreditNote(t *testing.T) {
	item := api.CreditNoteItem{Name: "x", NetAmount: new(api.Amount("0.10")), VATCategory: new("S"),
		VATRate: new(api.MustDecimal("5"))}
	credited := &api.Draft{Currency: new("EUR"), TotalAmount: new(api.MustDecimal("1.05")), Items: make([]api.Item, 1)}
	note := &api.CreditNote{Kind: api.CreditPartial, TotalAmount: "0.06", Items: []api.CreditNoteItem{item}}
	got := pdf.CreditNote(note, credited, &api.Profile{})
	for name, pair := range map[string][2]*api.Amount{
		"net": {got.Totals.Net, new(api.Amount("0.10"))}, "tax": {got.Totals.Tax, new(api.Amount("0.01"))},
		"breakdown": {got.TaxBreakdown[0].Tax, new(api.Amount("0.01"))},
		"total":     {got.Totals.Total, new(api.Amount("0.11"))}, "rounding": {got.Totals.Rounding, new(api.Amount("-0.05"))},
		"payable": {got.Totals.Payable, new(api.Amount("0.06"))},
	} {
		if pair[0] == nil || *pair[0] != *pair[1] {
			t.Errorf("%s is %v instead of %s", name, pair[0], *pair[1])
		}
	}
}
