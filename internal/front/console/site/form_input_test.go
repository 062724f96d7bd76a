package site_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFormTakesWhatPeopleType checks that names, numbers and dates can be typed as people write them, without
// JavaScript, and the form of the stored draft shows names and grouped numbers.
func TestFormTakesWhatPeopleType(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	form := complete("INV-1")
	for name, typed := range map[string]string{"currency": "uae dirham", "buyer_country": "UAE",
		"buyer_subdivision": "dubai", "payment_means_code": "Bank transfer", "buyer_endpoint_scheme": "TIN",
		"issue_date": "1 Mar 2026", "due_date": "31/03/2026", "total_amount": "AED 13,125.00", "items.quantity": "١٠",
		"items.unit_code": "Hours", "items.net_unit_price": "1 250,00", "items.vat_category": "standard rate",
		"items.vat_rate": "5%"} {
		form.Set(name, typed)
	}
	id := v.created(form)
	d := s.invoiceAt(t, token, id).Draft
	item := d.Items[0]
	got := []string{*d.Currency, *d.BuyerCountry, *d.BuyerSubdivision, *d.PaymentMeansCode, *d.BuyerEndpointScheme,
		*d.IssueDate, *d.DueDate, d.TotalAmount.String(), item.Quantity.String(), *item.UnitCode, item.NetUnitPrice.String(),
		*item.VATCategory, item.VATRate.String()}
	if want := []string{"AED", "AE", "DXB", "30", "0235", "2026-03-01", "2026-03-31", "13125.00", "10", "HUR", "1250.00",
		"S", "5"}; !slices.Equal(got, want) {
		t.Errorf("stored %v, want %v", got, want)
	}
	edit := controls(t, v.read("/invoices/"+id+"/edit").body)
	for name, want := range map[string]string{"currency": "UAE Dirham", "buyer_country": "United Arab Emirates",
		"buyer_subdivision": "Dubai", "payment_means_code": "Credit transfer", "total_amount": "13,125.00",
		"items.unit_code": "hour", "items.net_unit_price": "1,250.00", "items.vat_category": "Standard rate",
		"due_date": "2026-03-31"} {
		if edit.Get(name) != want {
			t.Errorf("%s is shown as %q, want %q", name, edit.Get(name), want)
		}
	}
	edit.Set("currency", "dirham")
	edit.Set("items.unit_code", "kilo")
	edit.Set("issue_date", "03/04/2026")
	at := notesAt(t, v.send("/invoices/"+id+"/edit", edit, "save").body)
	if at["currency"] != "Several match. Choose one: UAE Dirham (AED), Moroccan Dirham (MAD)" ||
		!strings.HasPrefix(at["issue_date"], "Day or month first?") {
		t.Errorf("ambiguous: %q, %q", at["currency"], at["issue_date"])
	}
	if at["items-0-unit_code"] != "" { // kilo is another word for kilogram
		t.Errorf("kilo: %q", at["items-0-unit_code"])
	}
}
