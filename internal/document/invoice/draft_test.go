package invoice

import (
	"reflect"
	"slices"
	"testing"

	"quittance/client/api"
)

// dec returns an optional decimal.
func dec(text string) *api.Decimal {
	d := api.MustDecimal(text)
	return &d
}

// completeDraft returns a draft without faults, missing fields or warnings: two lines, 1000.00 net, 50.00 tax.
func completeDraft() *api.Draft {
	return &api.Draft{
		InvoiceNumber: new("INV-1"), RecipientName: new("Palm Trading LLC"), RecipientNetworkID: new("1234567890"),
		BuyerEndpointScheme: new("0235"), BuyerStreet: new("12 Harbour Road"), BuyerCity: new("Dubai"),
		BuyerSubdivision: new("DXB"), BuyerCountry: new("AE"), TotalAmount: dec("1050.00"), Currency: new("AED"),
		IssueDate: new("2026-03-01"), IssueTime: new("09:30"), DueDate: new("2026-03-31"), PaymentMeansCode: new("30"),
		Items: []api.Item{{
			Name: new("Consulting"), UnitCode: new("HUR"), Quantity: dec("8"), BaseQuantity: dec("1"),
			NetUnitPrice: dec("100.00"), GrossUnitPrice: dec("110.00"), DiscountAmount: dec("10"), VATCategory: new("S"),
			VATRate: dec("5"),
		}, {
			Name: new("Licence"), UnitCode: new("C62"), Quantity: dec("2"),
			NetUnitPrice: dec("100"), VATCategory: new("S"), VATRate: dec("5.00"),
		}},
	}
}

// completeProfile returns a profile without missing fields for a seller in the United Arab Emirates.
func completeProfile() *api.Profile {
	return &api.Profile{
		LegalName: new("Quay LLC"), Street: new("1 Quay"), City: new("Abu Dhabi"), Subdivision: new("AUH"),
		Country: new("AE"), EndpointScheme: new("0235"), EndpointID: new("1987654321"),
		TaxRegistrationNumber: new("198765432100003"), LegalRegistration: new("CN-1"), LegalRegistrationType: new("TL"),
		LegalRegistrationAuthority: new("Example Registry"),
		PayeeAccount:               new("AE070331234567890123456"),
		BuyerReference:             new("REF-1"),
	}
}

func TestFaults(t *testing.T) {
	tests := []struct {
		name     string
		currency *string
		total    *api.Decimal
		path     string // "" wants no fault
		rule     string
	}{
		{"two digits", new("AED"), dec("100.25"), "", ""},
		{"zeros behind the minor unit", new("JPY"), dec("100.00"), "", ""},
		{"half a yen", new("JPY"), dec("100.5"), "total_amount", "minor_unit"},
		{"a tenth of a fils", new("AED"), dec("100.255"), "total_amount", "minor_unit"},
		{"negative", new("AED"), dec("-0.001"), "total_amount", "minor_unit"},
		{"three digits", new("BHD"), dec("0.125"), "", ""},
		{"no minor unit", new("XAU"), dec("0.123456"), "", ""},
		{"unknown currency", new("ABC"), dec("0.123456"), "currency", "currency"},
		{"small letters", new("aed"), dec("1"), "currency", "currency"},
		{"empty currency", new(""), dec("1"), "currency", "currency"},
		{"withdrawn currency", new("HRK"), dec("1"), "currency", "currency"},
		{"no currency", nil, dec("0.123456"), "", ""},
		{"no total", new("AED"), nil, "", ""},
		{"a total that is no number", new("AED"), &api.Decimal{}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := completeDraft()
			d.Currency, d.TotalAmount = tt.currency, tt.total
			got := Faults(d)
			if tt.path == "" {
				if got == nil || len(got) != 0 {
					t.Fatalf("faults %v, want none, not nil", got)
				}
				return
			}
			if len(got) != 1 || len(got[tt.path]) != 1 || got[tt.path][0].Rule != tt.rule || got[tt.path][0].Message == "" {
				t.Fatalf("faults %v, want %s at %s", got, tt.rule, tt.path)
			}
		})
	}
}

func TestNothingGiven(t *testing.T) {
	d := &api.Draft{Items: []api.Item{{}}}
	if got := Faults(d); got == nil || len(got) != 0 {
		t.Errorf("faults %v", got)
	}
	want := []string{
		"invoice_number", "recipient_name", "recipient_network_id", "buyer_endpoint_scheme", "buyer_street", "buyer_city",
		"buyer_country", "total_amount", "currency", "issue_date", "due_date", "payment_means_code", "items[0].name",
		"items[0].unit_code", "items[0].quantity", "items[0].net_unit_price", "items[0].vat_category", "items[0].vat_rate",
	}
	if got := Missing(d); !slices.Equal(got, want) {
		t.Errorf("missing %q, want %q", got, want)
	}
	for path := range Warnings(d, completeProfile(), Arithmetic{}) {
		t.Errorf("warning at %s of an empty draft", path)
	}
	if got := (Arithmetic{}).Compute(d); got != (Totals{}) {
		t.Errorf("totals %+v", got)
	}
	if got := Missing(&api.Draft{}); !slices.Contains(got, "items") {
		t.Errorf("missing %q does not name items", got)
	}
}

func TestMissing(t *testing.T) {
	tests := []struct {
		name string
		edit func(*api.Draft)
		want []string
	}{
		{"complete", func(*api.Draft) {}, []string{}},
		{"what is never missing", func(d *api.Draft) {
			d.BuyerSubdivision, d.IssueTime, d.Items[0].BaseQuantity = nil, nil, nil
			d.Items[0].ItemCode, d.Items[0].Description, d.Items[0].GrossUnitPrice, d.Items[0].DiscountAmount = nil, nil,
				nil, nil
		}, []string{}},
		{"white space", func(d *api.Draft) { d.BuyerCity, d.Items[1].UnitCode = new(" \t\u00a0"), new("") },
			[]string{"buyer_city", "items[1].unit_code"}},
		{"rate of S", func(d *api.Draft) { d.Items[1].VATRate = nil }, []string{"items[1].vat_rate"}},
		{"rate of O", func(d *api.Draft) { d.Items[1].VATRate, d.Items[1].VATCategory = nil, new("O") }, []string{}},
		{"rate of an unknown category", func(d *api.Draft) { d.Items[1].VATRate, d.Items[1].VATCategory = nil, new("o") },
			[]string{"items[1].vat_rate"}},
		{"no items", func(d *api.Draft) { d.Items = []api.Item{} }, []string{"items"}},
		{"zero is given", func(d *api.Draft) {
			d.TotalAmount, d.Items[0].Quantity, d.Items[0].VATRate = dec("0"), dec("0"), dec("0.00")
		}, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := completeDraft()
			tt.edit(d)
			if got := Missing(d); got == nil || !slices.Equal(got, tt.want) {
				t.Errorf("missing %q, want %q", got, tt.want)
			}
		})
	}
}

// TestEveryFieldIsConsidered: a submission needs exactly the fields listed here; every other field of a draft, also a
// new one, is optional.
func TestEveryFieldIsConsidered(t *testing.T) {
	required := []string{"InvoiceNumber", "RecipientName", "RecipientNetworkID", "BuyerEndpointScheme", "BuyerStreet",
		"BuyerCity", "BuyerCountry", "TotalAmount", "Currency", "IssueDate", "DueDate", "PaymentMeansCode", "Items", "Name",
		"UnitCode", "Quantity", "NetUnitPrice", "VATCategory", "VATRate"}
	without := func(whole reflect.Value, d *api.Draft) {
		for i := range whole.NumField() {
			name := whole.Type().Field(i).Name
			saved := reflect.New(whole.Field(i).Type()).Elem()
			saved.Set(whole.Field(i))
			whole.Field(i).SetZero()
			if got := len(Missing(d)); (got == 1) != slices.Contains(required, name) {
				t.Errorf("without %s %d paths are missing", name, got)
			}
			whole.Field(i).Set(saved)
		}
	}
	d := completeDraft()
	without(reflect.ValueOf(d).Elem(), d)
	without(reflect.ValueOf(&d.Items[0]).Elem(), d)
}
