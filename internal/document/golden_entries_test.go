package document_test

import (
	"maps"
	"testing"

	"quittance/client/api"
	"quittance/internal/document"
)

// entries gives an invoice preceding invoices and its first line attributes, one of each without a value.
func entries(d *api.Draft) {
	d.PrecedingInvoices = []api.PrecedingInvoice{{Number: new("ADV-2026-0001"), IssueDate: new("2026-01-15")}, {},
		{Number: new(" ADV-2026-0002 ")}}
	d.Items[0].Attributes = []api.Attribute{{Name: new("Colour"), Value: new("Black & white")}, {Value: new(" ")},
		{Name: new("Width"), Value: new("12 cm")}}
}

// withEntries adds golden documents with entries of lists, other types of invoices and a tax in another currency.
func withEntries(t *testing.T, p document.Profile, all map[string]document.Document) map[string]document.Document {
	t.Helper()
	if p == document.PINTAE {
		zero := func() document.Document {
			return emirati(func(d *api.Draft) {
				d.TypeCode, d.BuyerLegalID, d.BuyerLegalIDScheme = new("480"), new("784-1990-1234567-1"), new("EID")
				d.Items[0].VATCategory, d.Items[0].VATRate, d.TotalAmount = new("Z"), number("0"), number("1000.00")
			})
		}
		maps.Copy(all, map[string]document.Document{
			"after-advance": emirati(func(d *api.Draft) {
				entries(d)
				d.TypeCode, d.TaxCurrency = new("380"), new("AED")
			}),
			"zero-rated-480":             zero(),
			"credit-note-zero-rated-480": credited(t, zero(), "DL8.61.1.A"),
		})
		return all
	}
	foreign := func() document.Document {
		return union(func(d *api.Draft) {
			entries(d)
			d.TypeCode, d.Currency, d.TaxCurrency, d.TaxExchangeRate = new("386"), new("SEK"), new("EUR"), number("0.088123")
		})
	}
	corrected := germany()
	corrected.Draft.TypeCode = new("384")
	entries(corrected.Draft)
	maps.Copy(all, map[string]document.Document{
		"prepayment":               foreign(),
		"credit-note-tax-currency": credited(t, foreign(), ""),
		"corrected":                corrected,
	})
	return all
}

// TestEntriesThatNoDocumentHas: what the official rules refuse of entries, types and currencies of the tax makes a
// draft incomplete.
func TestEntriesThatNoDocumentHas(t *testing.T) {
	both := func(change func(d *api.Draft)) []document.Document {
		return []document.Document{emirati(change), union(change)}
	}
	for name, test := range map[string]struct {
		change           func(d *api.Draft)
		path             string
		emirati, inUnion string // the official rules, "" if the format has none
	}{
		"a preceding invoice without a number": {func(d *api.Draft) {
			d.PrecedingInvoices = []api.PrecedingInvoice{{}, {IssueDate: new("2026-01-15")}}
		}, "preceding_invoices[1].number", "ibr-055", "BR-55"},
		"an attribute without a name": {func(d *api.Draft) {
			d.Items[0].Attributes = []api.Attribute{{Value: new("Black")}}
		}, "items[0].attributes[0].name", "ibr-054", "BR-54"},
		"an attribute without a value": {func(d *api.Draft) {
			d.Items[0].Attributes = []api.Attribute{{Name: new("Colour"), Value: new(" ")}}
		}, "items[0].attributes[0].value", "ibr-054", "BR-54"},
		"a type of credit notes": {func(d *api.Draft) { d.TypeCode = new("381") },
			"type_code", "ibr-cl-01", "BR-CL-01"},
		"a self-billed invoice": {func(d *api.Draft) { d.TypeCode = new("389") },
			"type_code", "ibr-cl-01", "PEPPOL-EN16931-P0100"},
		"a corrected invoice": {func(d *api.Draft) { d.TypeCode = new("384") },
			"type_code", "ibr-cl-01", "PEPPOL-EN16931-P0112"},
		"taxed and out of scope": {func(d *api.Draft) { d.TypeCode = new("480") },
			"type_code", "ibr-122-ae", "BR-CL-01"},
		"another currency of tax": {func(d *api.Draft) {
			d.Currency, d.TaxCurrency, d.TaxExchangeRate = new("SEK"), new("USD"), number("0.1")
		}, "tax_currency", "ibr-140-ae", ""},
		"no rate for the tax": {func(d *api.Draft) { d.TaxCurrency = new("SEK") },
			"tax_exchange_rate", "", "BR-53"},
		"no currency": {func(d *api.Draft) { d.Currency, d.TaxCurrency = new("SEK"), new("XYZ") },
			"tax_currency", "ibr-140-ae", "BR-CL-05"},
		"the currency of the rest": {func(d *api.Draft) { d.TaxCurrency = d.Currency }, "tax_currency", "", ""},
		"exempt and not of its type": {func(d *api.Draft) {
			d.TypeCode, d.Items[0].VATCategory, d.Items[0].VATRate = new("380"), new("O"), nil
		}, "type_code", "ibr-151-ae", ""},
	} {
		for n, of := range both(test.change) {
			want, found := [...]string{test.emirati, test.inUnion}[n], ""
			findings := document.Check(document.Profiles[n], of)
			for _, f := range findings {
				if f.Path == test.path {
					found = f.RuleID
				}
			}
			if found != want {
				t.Errorf("%s in %s: %q at %s instead of %q: %v", name, document.Profiles[n], found, test.path, want, findings)
			}
		}
	}
}

// TestCreditOfAWrongType: an invoice that was submitted without a document format may have a type that contradicts its
// lines. Its credit note has the type that the lines make.
func TestCreditOfAWrongType(t *testing.T) {
	note := credited(t, emirati(func(d *api.Draft) { d.TypeCode = new("480") }), "DL8.61.1.A")
	if findings := document.Check(document.PINTAE, note); len(findings) > 0 {
		t.Errorf("findings: %v", findings)
	}
	if said := document.Statement(document.PINTAE, note); *said.TypeCode != "381" {
		t.Errorf("the type is %s", *said.TypeCode)
	}
}

// TestWhatTheRulesAccept: identifiers and codes of official examples, which the rules let pass, are no finding.
func TestWhatTheRulesAccept(t *testing.T) {
	seller := func(d document.Document, scheme, id string) document.Document {
		d.Seller.EndpointScheme, d.Seller.EndpointID = &scheme, &id
		return d
	}
	item := func(change func(item *api.Item)) func(d *api.Draft) {
		return func(d *api.Draft) { change(&d.Items[0]) }
	}
	exempt := item(func(item *api.Item) {
		item.VATCategory, item.VATRate, item.TaxExemptionCode = new("E"), number("0"), new("VATEX-AE-EDU")
	})
	for name, test := range map[string]struct {
		profile document.Profile
		of      document.Document
		path    string
		ruleID  string // "" if it is accepted
	}{
		"a long GLN": {document.BIS3, seller(union(nil), "0088", "9482348239847239874"),
			"seller.endpoint_id", ""},
		"a wrong GLN": {document.BIS3, seller(union(nil), "0088", "4012345000008"),
			"seller.endpoint_id", "PEPPOL-COMMON-R040"},
		"no GLN": {document.PINTAE, seller(emirati(nil), "0088", "40123450000O9"),
			"seller.endpoint_id", "ibr-068"},
		"a Danish number": {document.BIS3, seller(union(nil), "0184", "16356706"),
			"seller.endpoint_id", ""},
		"a Danish number, PINT-AE": {document.PINTAE, seller(emirati(nil), "0184", "16356706"),
			"seller.endpoint_id", "ibr-070"},
		"an Italian code": {document.BIS3, seller(union(nil), "0210", "X"),
			"seller.endpoint_id", ""},
		"an Italian code, PINT-AE": {document.PINTAE, seller(emirati(nil), "0210", "X"),
			"seller.endpoint_id", "ibr-115"},
		"a Swedish number": {document.PINTAE, seller(emirati(nil), "0007", "5560360794"),
			"seller.endpoint_id", ""},
		"a wrong Swedish number": {document.BIS3, seller(union(nil), "0007", "5560360794"),
			"seller.endpoint_id", "PEPPOL-COMMON-R049"},
		"a GLN of another form as an item code": {document.BIS3, union(item(func(item *api.Item) {
			item.StandardItemCode, item.StandardItemScheme = new("1234567890121"), new("0088")
		})), "items[0].standard_item_code", ""},
		"an exemption of another list": {document.PINTAE, emirati(exempt), "items[0].tax_exemption_code", ""},
	} {
		got := ""
		for _, f := range document.Check(test.profile, test.of) {
			if f.Path == test.path {
				got = f.RuleID
			}
		}
		if got != test.ruleID {
			t.Errorf("%s: %q instead of %q", name, got, test.ruleID)
		}
	}
}
