package document_test

import (
	"testing"

	"quittance/client/api"
	"quittance/internal/document"
)

// TestGroupFindings checks what the groups of terms need, as far as both formats ask for the same.
func TestGroupFindings(t *testing.T) {
	tests := []struct {
		name       string
		change     func(d *api.Draft)
		path, rule string
		ids        [2]string // of PINT-AE and of BIS Billing 3.0
	}{
		{"a period that ends before it begins", func(d *api.Draft) {
			d.Period = &api.Period{Start: new("2026-02-02"), End: new("2026-02-01")}
		}, "period.end", "period_order", [2]string{"ibr-029", "BR-29"}},
		{"a line's period that ends before it begins", func(d *api.Draft) {
			d.Items[0].Period = &api.LinePeriod{Start: new("2026-02-02"), End: new("2026-02-01")}
		}, "items[0].period.end", "period_order", [2]string{"ibr-030", "BR-30"}},
		{"a line before the period", func(d *api.Draft) {
			d.Period = &api.Period{Start: new("2026-02-01")}
			d.Items[0].Period = &api.LinePeriod{Start: new("2026-01-31")}
		}, "items[0].period.start", "period_order", [2]string{"ibr-085", "PEPPOL-EN16931-R110"}},
		{"a line after the period", func(d *api.Draft) {
			d.Period = &api.Period{End: new("2026-02-28")}
			d.Items[0].Period = &api.LinePeriod{End: new("2026-03-01")}
		}, "items[0].period.end", "period_order", [2]string{"ibr-086", "PEPPOL-EN16931-R111"}},
		{"an address of no country", func(d *api.Draft) { d.Delivery = &api.DeliveryInformation{City: new("Muscat")} },
			"delivery.country", "required", [2]string{"ibr-057", "BR-57"}},
		{"a delivery to an unknown country",
			func(d *api.Draft) { d.Delivery = &api.DeliveryInformation{Country: new("ZZ")} },
			"delivery.country", "country_unknown", [2]string{"ibr-cl-14", "BR-CL-14"}},
		{"a place of no scheme", func(d *api.Draft) {
			d.Delivery = &api.DeliveryInformation{LocationID: new("1"), LocationScheme: new("GLN")}
		}, "delivery.location_scheme", "legal_id_scheme_unknown", [2]string{"ibr-cl-26", "BR-CL-26"}},
		{"a payee without a name", func(d *api.Draft) { d.Payee = &api.Payee{LegalID: new("1")} }, "payee.name",
			"required", [2]string{"ibr-017", "BR-17"}},
		{"a payee's GLN with a wrong check digit", func(d *api.Draft) {
			d.Payee = &api.Payee{Name: new("F"), Identifier: new("4012345000008"), IdentifierScheme: new("0088")}
		}, "payee.identifier", "identifier_format", [2]string{"ibr-068", "PEPPOL-COMMON-R040"}},
		{"a tax representative without a number",
			func(d *api.Draft) { d.TaxRepresentative = &api.TaxRepresentative{Name: new("T")} },
			"tax_representative.tax_id", "required", [2]string{"ibr-056", "BR-56"}},
		{"a tax representative without a country",
			func(d *api.Draft) { d.TaxRepresentative = &api.TaxRepresentative{Name: new("T")} },
			"tax_representative.country", "required", [2]string{"ibr-020", "BR-20"}},
		{"a tax representative without a name",
			func(d *api.Draft) { d.TaxRepresentative = &api.TaxRepresentative{Country: new("AE")} },
			"tax_representative.name", "required", [2]string{"ibr-018", "BR-18"}},
		{"a card without a number", func(d *api.Draft) { d.PaymentCard = &api.PaymentCard{Holder: new("A. Palm")} },
			"payment_card.number", "required", [2]string{}},
		{"an object of an unknown kind", func(d *api.Draft) {
			d.InvoicedObject, d.InvoicedObjectScheme = new("1"), new("meter")
		}, "invoiced_object_scheme", "object_scheme_unknown", [2]string{"ibr-cl-07", "BR-CL-07"}},
		{"a line's object of an unknown kind", func(d *api.Draft) {
			d.Items[0].InvoicedObject, d.Items[0].InvoicedObjectScheme = new("1"), new("meter")
		}, "items[0].invoiced_object_scheme", "object_scheme_unknown", [2]string{"ibr-cl-07", "BR-CL-07"}},
	}
	for _, tt := range tests {
		for n, p := range []document.Profile{document.PINTAE, document.BIS3} {
			findingTest{tt.name, func(d *document.Document) { tt.change(d.Draft) }, tt.path, tt.rule, tt.ids[n]}.run(t, p)
		}
	}
	empty := ordinary(document.BIS3)
	empty.Draft.Payee, empty.Draft.Delivery = &api.Payee{Name: new(" ")}, &api.DeliveryInformation{}
	empty.Draft.TaxRepresentative, empty.Draft.Items[0].Period = &api.TaxRepresentative{}, &api.LinePeriod{}
	if got := document.Check(document.BIS3, empty); len(got) > 0 {
		t.Errorf("groups without a value need %v", got)
	}
}

// TestSupplyFindings checks what the kinds of supply of the UAE need.
func TestSupplyFindings(t *testing.T) {
	flags := func(flags string) func(d *document.Document) {
		return func(d *document.Document) { d.Draft.TransactionFlags = &flags }
	}
	for _, tt := range []findingTest{
		{"a free trade zone", flags("10000000"), "beneficiary_id", "required", "ibr-007-ae"},
		{"a summary invoice", flags("00010000"), "period.start", "required", "ibr-138-ae"},
		{"an agent", flags("00000100"), "principal_id", "required", "ibr-137-ae"},
		{"an agent for itself", func(d *document.Document) {
			flags("00000100")(d)
			d.Draft.PrincipalID = d.Seller.TaxRegistrationNumber
		}, "principal_id", "principal_is_seller", "ibr-176-ae"},
		{"electronic commerce", flags("00000010"), "delivery.street", "required", "ibr-142-ae"},
		{"an agent without a number", func(d *document.Document) {
			flags("00000100")(d)
			d.Seller.TaxRegistrationNumber = nil
			d.Draft.Items[0].VATCategory, d.Draft.Items[0].VATRate = new("O"), nil
		}, "seller.tax_registration_number", "incomplete_profile", "ibr-177-ae"},
		{"a principal's tax number", func(d *document.Document) {
			flags("00000100")(d)
			d.Draft.PrincipalID = new("X")
		}, "principal_id", "identifier_format", "ibr-132-ae"},
		{"a tax point on the issue date", func(d *document.Document) { d.Draft.TaxPointDate = d.Draft.IssueDate },
			"tax_point_date", "tax_point", "ibr-141-ae"},
		{"a representative without an emirate",
			func(d *document.Document) { d.Draft.TaxRepresentative = &api.TaxRepresentative{Country: new("AE")} },
			"tax_representative.subdivision", "required", "ibr-128-ae"},
		{"an export", flags("00000001"), "delivery.country", "required", "ibr-152-ae"},
		{"an export to no address", func(d *document.Document) {
			flags("00000001")(d)
			d.Draft.Delivery = &api.DeliveryInformation{Country: new("OM")}
		}, "delivery.city", "required", "ibr-152-ae"},
		{"a summary of what is not taxable", func(d *document.Document) {
			flags("00010000")(d)
			d.Draft.Items[0].VATCategory, d.Draft.Items[0].VATRate = new("O"), nil
		}, "transaction_flags", "tax_categories_not_combinable", "ibr-157-ae"},
		{"an unknown frequency", func(d *document.Document) { d.Draft.Period = &api.Period{Frequency: new("often")} },
			"period.frequency", "billing_frequency_unknown", "ibr-005-ae"},
		{"another frequency", func(d *document.Document) {
			d.Draft.Note, d.Draft.Period = nil, &api.Period{Frequency: new("OTH")}
		}, "note", "required", "ibr-160-ae"},
		{"a period in words", func(d *document.Document) { d.Draft.Period = &api.Period{Description: new("May")} },
			"period.start", "required", "ibr-co-19"},
		{"a place of delivery of no emirate", func(d *document.Document) {
			d.Draft.Delivery = &api.DeliveryInformation{Country: new("AE"), Subdivision: new("Dubai")}
		}, "delivery.subdivision", "emirate_unknown", "ibr-128-ae"},
		{"an item of no kind", func(d *document.Document) { d.Draft.Items[0].SupplyType = new("X") },
			"items[0].supply_type", "supply_type_unknown", "ibr-184-ae"},
		{"goods without a tariff number", func(d *document.Document) { d.Draft.Items[0].SupplyType = new("G") },
			"items[0].commodity_code", "required", "ibr-184-ae"},
		{"services without a code", func(d *document.Document) { d.Draft.Items[0].SupplyType = new("S") },
			"items[0].service_code", "required", "ibr-185-ae"},
		{"a representative's tax number", func(d *document.Document) {
			d.Draft.TaxRepresentative = &api.TaxRepresentative{Country: new("AE"), TaxID: new("AE1")}
		}, "tax_representative.tax_id", "identifier_format", "ibr-132-ae"},
	} {
		tt.run(t, document.PINTAE)
	}
	complete := ordinary(document.PINTAE)
	d := complete.Draft
	d.TransactionFlags, d.BeneficiaryID, d.PrincipalID = new("10010111"), new("1"), new("155667745601003")
	d.Period = &api.Period{Start: new("2026-02-01"), Frequency: new("MTH")}
	d.Delivery = &api.DeliveryInformation{Street: new("7 Quay Street"), City: new("Muscat"), Subdivision: new("MA"),
		Country: new("OM"), Incoterms: new("CIF")}
	if got := document.Check(document.PINTAE, complete); len(got) > 0 {
		t.Errorf("a complete supply needs %v", got)
	}
}

// TestUnionGroups checks what BIS Billing 3.0 asks of the groups, and what its national rules do.
func TestUnionGroups(t *testing.T) {
	german := func(means string, change func(d *api.Draft)) func(d *document.Document) {
		return func(d *document.Document) {
			*d = germany()
			d.Draft.PaymentMeansCode = &means
			change(d.Draft)
		}
	}
	none := func(*api.Draft) {}
	mandate := func(d *api.Draft) { d.DirectDebit = &api.DirectDebit{Mandate: new("M-1")} }
	intraUnion := func(d *document.Document) {
		d.Draft.Items[0].VATCategory, d.Draft.Items[0].VATRate = new("K"), number("0")
	}
	for _, tt := range []findingTest{
		{"two tax points", func(d *document.Document) {
			d.Draft.TaxPointCode, d.Draft.TaxPointDate = new("35"), new("2026-02-28")
		}, "tax_point_code", "tax_point", "BR-CO-03"},
		{"an unknown tax point", func(d *document.Document) { d.Draft.TaxPointCode = new("1") }, "tax_point_code",
			"tax_point", "BR-CL-06"},
		{"a direct debit", func(d *document.Document) { d.Draft.PaymentMeansCode = new("59") }, "direct_debit.mandate",
			"required", "PEPPOL-EN16931-R061"},
		{"a supply within the EU to nowhere", intraUnion, "delivery.country", "required", "BR-IC-12"},
		{"a supply within the EU at no time", intraUnion, "delivery.date", "required", "BR-IC-11"},
		{"a supply within the EU to nobody", func(d *document.Document) {
			intraUnion(d)
			d.Draft.BuyerTaxID = nil
		}, "buyer_tax_id", "required", "BR-IC-02"},
		{"a supply within the EU without a reason", intraUnion, "items[0].tax_exemption_reason", "required", "BR-IC-10"},
		{"a representative of what is not taxed", func(d *document.Document) {
			d.Draft.Items[0].VATCategory, d.Draft.Items[0].VATRate = new("O"), nil
			d.Draft.TaxRepresentative = &api.TaxRepresentative{Name: new("T"), TaxID: new("NL1"), Country: new("NL")}
		}, "tax_representative.tax_id", "tax_categories_not_combinable", "BR-O-02"},
		{"a representative's number of no country", func(d *document.Document) {
			d.Draft.TaxRepresentative = &api.TaxRepresentative{TaxID: new("123")}
		}, "tax_representative.tax_id", "identifier_format", "BR-CO-09"},
		{"a payee with the name of the seller", func(d *document.Document) {
			d.Seller.TradingName, d.Draft.Payee = new("Donau"), &api.Payee{Name: new("Donau")}
		}, "payee.name", "payee_is_seller", "BR-17"},
		{"a payee with the identifier of the seller", func(d *document.Document) {
			d.Seller.Identifier, d.Draft.Payee = new("1"), &api.Payee{Name: new("F"), Identifier: new("1")}
		}, "payee.identifier", "payee_is_seller", "BR-17"},
		{"a German card without its number", german("48", none), "payment_card.number", "required", "DE-R-024-1"},
		{"a German debit without its creditor", german("59", mandate), "direct_debit.creditor_id", "required", "DE-R-030"},
		{"a German debit without its account", german("59", mandate), "direct_debit.debited_account", "required",
			"DE-R-031"},
		{"a German credit transfer with a mandate", german("58", mandate), "direct_debit.mandate",
			"payment_combination", "DE-R-023-2"},
		{"a German card and a mandate", german("48", mandate), "direct_debit.mandate", "payment_combination", "DE-R-024-2"},
		{"a Danish debit without its account", func(d *document.Document) {
			d.Seller.Country, d.Draft.BuyerCountry, d.Draft.PaymentMeansCode = new("DK"), new("DK"), new("49")
			mandate(d.Draft)
		}, "direct_debit.debited_account", "required", "DK-R-007"},
		{"a Danish transfer without its bank", func(d *document.Document) {
			d.Seller.Country, d.Draft.BuyerCountry, d.Draft.PaymentMeansCode = new("DK"), new("DK"), new("42")
		}, "seller.payee_bank_id", "incomplete_profile", "DK-R-006"},
		{"a Greek representative", func(d *document.Document) {
			d.Seller.TaxRegistrationNumber, d.Draft.TaxRepresentative = nil,
				&api.TaxRepresentative{Name: new("T"), TaxID: new("EL123456789"), Country: new("GR")}
		}, "seller.country", "not_supported", "GR-R-004-1"},
		{"a creditor who is the seller beside a payee", func(d *document.Document) {
			d.Seller.Identifier, d.Draft.Payee = new("DE98ZZZ09999999999"), &api.Payee{Name: new("F")}
			d.Draft.DirectDebit = &api.DirectDebit{Mandate: new("M"), CreditorID: d.Seller.Identifier}
		}, "direct_debit.creditor_id", "payee_is_seller", "BR-17"},
		{"a Dutch representative without a street", func(d *document.Document) {
			d.Seller.Country, d.Draft.TaxRepresentative = new("NL"), &api.TaxRepresentative{Country: new("NL")}
		}, "tax_representative.street", "required", "NL-R-006"},
	} {
		tt.run(t, document.BIS3)
	}
	for _, means := range []string{"49", "59"} { // which the rules accept
		dutch := ordinary(document.BIS3)
		dutch.Draft.BuyerCountry, dutch.Draft.PaymentMeansCode = new("NL"), &means
		dutch.Seller.Country, dutch.Seller.PostalCode, dutch.Draft.BuyerPostalCode = new("NL"), new("1000"), new("1000")
		mandate(dutch.Draft)
		if faults := document.Check(document.BIS3, dutch).Faults(); faults.Has("payment_means_code") {
			t.Errorf("a Dutch direct debit needs %v", faults)
		}
	}
	seller := ordinary(document.BIS3)
	seller.Seller.TaxRegistrationNumber, seller.Draft.TaxRepresentative = nil,
		&api.TaxRepresentative{Name: new("T"), TaxID: new("NL123456789B01"), Country: new("NL")}
	if got := document.Check(document.BIS3, seller); len(got) > 0 {
		t.Errorf("a seller with a tax representative needs %v", got)
	}
}
