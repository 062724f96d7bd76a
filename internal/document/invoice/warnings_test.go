package invoice

import (
	"regexp"
	"strings"
	"testing"

	"quittance/client/api"
)

// TestWarnings: each edit of a complete draft causes exactly one warning, with its path, our own rule name and the
// official identifier.
func TestWarnings(t *testing.T) {
	type edit = func(*api.Draft, *api.Profile)
	tests := []struct {
		name, path, rule, ruleID string
		edit                     edit
	}{
		{"unknown scheme", "buyer_endpoint_scheme", ruleSchemeUnknown,
			"BR-CL-25", func(d *api.Draft, _ *api.Profile) { d.BuyerEndpointScheme = new("1") }},
		{"removed scheme", "buyer_endpoint_scheme", ruleSchemeInactive,
			"PEPPOL-EN16931-CL008", func(d *api.Draft, _ *api.Profile) { d.BuyerEndpointScheme = new("0037") }},
		{"unknown country", "buyer_country", ruleCountry,
			"BR-CL-14", func(d *api.Draft, _ *api.Profile) { d.BuyerCountry = new("ZZ") }},
		{"unknown emirate", "buyer_subdivision", ruleEmirate,
			"ibr-128-ae", func(d *api.Draft, _ *api.Profile) { d.BuyerSubdivision = new("Dubai") }},
		{"emirate in ISO", "buyer_subdivision", ruleEmirate,
			"ibr-128-ae", func(d *api.Draft, _ *api.Profile) { d.BuyerSubdivision = new("AE-DU") }},
		{"unknown means", "payment_means_code", rulePaymentMeans,
			"BR-CL-16", func(d *api.Draft, _ *api.Profile) { d.PaymentMeansCode = new("030") }},
		{"unknown unit", "items[1].unit_code", ruleUnit,
			"BR-CL-23", func(d *api.Draft, _ *api.Profile) { d.Items[1].UnitCode = new("PCS") }},
		{"unknown category", "items[0].vat_category", ruleTaxCategory,
			"BR-CL-18", func(d *api.Draft, _ *api.Profile) { d.Items[0].VATCategory = new("X") }},
		{"Greek category", "items[0].vat_category", ruleTaxCategory,
			"BR-CL-18", func(d *api.Draft, _ *api.Profile) { d.Items[0].VATCategory = new("\u039d") }},
		{"base quantity 0", "items[1].base_quantity", ruleBaseQuantity,
			"PEPPOL-EN16931-R121", func(d *api.Draft, _ *api.Profile) { d.Items[1].BaseQuantity = dec("0.00") }},
		{"gross less discount", "items[0].net_unit_price", ruleNetPrice,
			"PEPPOL-EN16931-R046", func(d *api.Draft, _ *api.Profile) { d.Items[0].DiscountAmount = dec("9.999999") }},
		{"gross without discount", "items[0].net_unit_price", ruleNetPrice,
			"PEPPOL-EN16931-R046", func(d *api.Draft, _ *api.Profile) { d.Items[0].DiscountAmount = nil }},
		{"due before issued", "due_date", ruleDueDate,
			"", func(d *api.Draft, _ *api.Profile) { d.DueDate = new("2026-02-28") }},
		{"total too high", "total_amount", ruleTotal,
			"BR-CO-15", func(d *api.Draft, _ *api.Profile) { d.TotalAmount = dec("1050.03") }},
		{"total too low", "total_amount", ruleTotal,
			"BR-CO-15", func(d *api.Draft, _ *api.Profile) { d.TotalAmount = dec("1049.97") }},
		{"total of the wrong sign", "total_amount", ruleTotal,
			"BR-CO-15", func(d *api.Draft, _ *api.Profile) { d.TotalAmount = dec("-1050") }},
		{"name", "seller.legal_name", ruleProfile, "BR-06", func(_ *api.Draft, p *api.Profile) { p.LegalName = new(" ") }},
		{"street", "seller.street", ruleProfile, "ibr-143-ae", func(_ *api.Draft, p *api.Profile) { p.Street = nil }},
		{"city", "seller.city", ruleProfile, "ibr-143-ae", func(_ *api.Draft, p *api.Profile) { p.City = nil }},
		{"emirate", "seller.subdivision", ruleProfile,
			"ibr-143-ae", func(_ *api.Draft, p *api.Profile) { p.Subdivision = nil }},
		{"seller's unknown emirate", "seller.subdivision", ruleEmirate,
			"ibr-128-ae", func(_ *api.Draft, p *api.Profile) { p.Subdivision = new("X") }},
		{"country", "seller.country", ruleProfile, "BR-09", func(_ *api.Draft, p *api.Profile) { p.Country = nil }},
		{"seller's unknown country", "seller.country", ruleCountry,
			"BR-CL-14", func(_ *api.Draft, p *api.Profile) { p.Country = new("ZZ") }},
		{"scheme", "seller.endpoint_scheme", ruleProfile,
			"BR-62", func(_ *api.Draft, p *api.Profile) { p.EndpointScheme = nil }},
		{"seller's unknown scheme", "seller.endpoint_scheme", ruleSchemeUnknown,
			"BR-CL-25", func(_ *api.Draft, p *api.Profile) { p.EndpointScheme = new("1") }},
		{"endpoint", "seller.endpoint_id", ruleProfile,
			"PEPPOL-EN16931-R020", func(_ *api.Draft, p *api.Profile) { p.EndpointID = nil }},
		{"tax registration", "seller.tax_registration_number", ruleProfile,
			"ibr-134-ae", func(_ *api.Draft, p *api.Profile) { p.TaxRegistrationNumber = nil }},
		{"tax registration elsewhere", "seller.tax_registration_number", ruleProfile,
			"", func(_ *api.Draft, p *api.Profile) { p.Country, p.TaxRegistrationNumber = new("DE"), nil }},
		{"legal registration", "seller.legal_registration_number", ruleProfile,
			"ibr-150-ae", func(_ *api.Draft, p *api.Profile) { p.LegalRegistration = nil }},
		{"type of registration", "seller.legal_registration_type", ruleProfile,
			"ibr-173-ae", func(_ *api.Draft, p *api.Profile) { p.LegalRegistrationType = nil }},
		{"account", "seller.payee_account", ruleProfile,
			"BR-61", func(_ *api.Draft, p *api.Profile) { p.PayeeAccount = nil }},
		{"buyer reference", "seller.buyer_reference", ruleProfile,
			"PEPPOL-EN16931-R003", func(_ *api.Draft, p *api.Profile) { p.BuyerReference = nil }},
		{"seller's unknown type of registration", "seller.legal_registration_type", ruleLegalType,
			"ibr-173-ae", func(_ *api.Draft, p *api.Profile) { p.LegalRegistrationType = new("CRN") }},
		{"authority of a trade licence", "seller.legal_registration_authority", ruleProfile,
			"ibr-172-ae", func(_ *api.Draft, p *api.Profile) { p.LegalRegistrationAuthority = nil }},
		{"country of a passport", "seller.legal_registration_authority", ruleProfile,
			"ibr-012-ae", func(_ *api.Draft, p *api.Profile) {
				p.LegalRegistrationType, p.LegalRegistrationAuthority = new("PAS"), new(" ")
			}},
		{"buyer's unknown type of registration", "buyer_legal_id_scheme", ruleLegalType,
			"ibr-183-ae", func(d *api.Draft, _ *api.Profile) { d.BuyerLegalIDScheme = new("0088") }},
		{"unknown exemption", "items[1].tax_exemption_code", ruleTaxExemption,
			"", func(d *api.Draft, _ *api.Profile) { d.Items[1].TaxExemptionCode = new("DL8.46.9") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, p := completeDraft(), completeProfile()
			tt.edit(d, p)
			got := Warnings(d, p, Arithmetic{})
			if len(got) != 1 || len(got[tt.path]) != 1 || got[tt.path][0].Rule != tt.rule ||
				got[tt.path][0].RuleID != tt.ruleID || got[tt.path][0].Message == "" {
				t.Errorf("warnings %v, want only %s at %s", got, tt.rule, tt.path)
			}
		})
	}
}

func TestNoWarnings(t *testing.T) {
	for name, edit := range map[string]func(*api.Draft, *api.Profile){
		"complete":                func(*api.Draft, *api.Profile) {},
		"one minor unit per item": func(d *api.Draft, _ *api.Profile) { d.TotalAmount = dec("1050.02") },
		"one minor unit less":     func(d *api.Draft, _ *api.Profile) { d.TotalAmount = dec("1049.98") },
		"due on the day of issue": func(d *api.Draft, _ *api.Profile) { d.DueDate = d.IssueDate },
		"a subdivision elsewhere": func(d *api.Draft, _ *api.Profile) {
			d.BuyerCountry, d.BuyerSubdivision = new("DE"),
				new("BY")
		},
		"discount without gross": func(d *api.Draft, _ *api.Profile) { d.Items[0].GrossUnitPrice = nil },
		"total that is not computed": func(d *api.Draft, _ *api.Profile) {
			d.Items[0].VATRate, d.TotalAmount = nil,
				dec("1")
		},
		"dates without a form": func(d *api.Draft, _ *api.Profile) { d.DueDate = new("2026-02-30") },
		"no account for cash": func(d *api.Draft, p *api.Profile) {
			d.PaymentMeansCode, p.PayeeAccount = new("10"),
				nil
		},
		"no registration type abroad": func(_ *api.Draft, p *api.Profile) {
			p.Country, p.LegalRegistrationType = new("DE"),
				nil
		},
		"the draft's own reference": func(d *api.Draft, p *api.Profile) {
			d.BuyerReference, p.BuyerReference = new("B-1"),
				nil
		},
		"an order reference": func(d *api.Draft, p *api.Profile) {
			d.OrderReference, p.BuyerReference = new("PO-1"),
				nil
		},
		"an Emirates ID": func(_ *api.Draft, p *api.Profile) {
			p.LegalRegistrationType, p.LegalRegistrationAuthority = new("EID"), nil
		},
		"a type of registration": func(d *api.Draft, _ *api.Profile) { d.BuyerLegalIDScheme = new("PAS") },
		"a scheme abroad": func(d *api.Draft, _ *api.Profile) {
			d.BuyerCountry, d.BuyerSubdivision, d.BuyerLegalIDScheme = new("DE"), nil, new("0204")
		},
		"an exemption of the UAE": func(d *api.Draft, _ *api.Profile) { d.Items[0].TaxExemptionCode = new("DL8.46.4") },
		"an exemption of the EU": func(d *api.Draft,
			_ *api.Profile) {
			d.Items[0].TaxExemptionCode = new("VATEX-EU-132")
		},
		"tax registration is enough": func(_ *api.Draft, p *api.Profile) { p.Country, p.LegalRegistration = new("DE"), nil },
	} {
		d, p := completeDraft(), completeProfile()
		edit(d, p)
		if got := Warnings(d, p, Arithmetic{}); got == nil || len(got) != 0 {
			t.Errorf("%s: warnings %v, want none, not nil", name, got)
		}
	}
}

func TestEmptyProfile(t *testing.T) {
	want := []string{
		"seller.legal_name", "seller.street", "seller.city", "seller.country", "seller.endpoint_scheme", "seller.endpoint_id",
		"seller.tax_registration_number", "seller.legal_registration_number", "seller.payee_account",
		"seller.buyer_reference",
	}
	for name, p := range map[string]*api.Profile{"nil": nil, "empty": {}} {
		got := Warnings(completeDraft(), p, Arithmetic{})
		for _, path := range want {
			if !got.Has(path) {
				t.Errorf("%s profile: no warning at %s", name, path)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s profile: %d warnings, want %d: %v", name, len(got), len(want), got)
		}
		if rule := got["seller.tax_registration_number"][0].RuleID; rule != "BR-CO-26" {
			t.Errorf("%s profile: rule %s", name, rule)
		}
	}
}

// TestRuleNamesAreOurOwn: no rule name in the API is the name of a network or the identifier of a rule set.
func TestRuleNamesAreOurOwn(t *testing.T) {
	d, p := completeDraft(), &api.Profile{Country: new("XX"), EndpointScheme: new("1"), Subdivision: new("X")}
	d.BuyerEndpointScheme, d.BuyerCountry, d.PaymentMeansCode, d.TotalAmount, d.DueDate = new("0037"), new("ZZ"), new("0"),
		dec("1"), new("2020-01-01")
	d.Items[0].UnitCode, d.Items[0].VATCategory, d.Items[0].TaxExemptionCode, d.Items[0].DiscountAmount = new("PCS"),
		new("X"), new("X"), dec("1")
	word := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	official := 0
	for path, list := range Warnings(d, p, Arithmetic{}) {
		for _, fault := range list {
			if !word.MatchString(fault.Rule) || strings.Contains(strings.ToLower(fault.Rule+fault.Message), "peppol") {
				t.Errorf("%s: %+v", path, fault)
			}
			if fault.RuleID != "" {
				official++
			}
		}
	}
	if official < 12 {
		t.Errorf("%d official identifiers", official)
	}
}

// TestTotalOfManyItems: the tolerance grows with the number of items.
func TestTotalOfManyItems(t *testing.T) {
	d := completeDraft()
	d.Currency, d.Items = new("JPY"), nil
	for range 10 {
		d.Items = append(d.Items, api.Item{Name: new("x"), UnitCode: new("C62"), Quantity: dec("1"), NetUnitPrice: dec("10"),
			VATCategory: new("O")})
	}
	for total, warned := range map[string]bool{"100": false, "110": false, "90": false, "111": true, "89": true} {
		d.TotalAmount = dec(total)
		if got := Warnings(d, completeProfile(), Arithmetic{}).Has("total_amount"); got != warned {
			t.Errorf("total %s: warned %t", total, got)
		}
	}
}
