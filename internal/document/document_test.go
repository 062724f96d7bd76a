package document_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
)

// TestCompleteDocuments checks the promise of the package with random documents: what [document.Check] accepts is
// written without a violation of the rules, and writing it twice gives the same bytes.
func TestCompleteDocuments(t *testing.T) {
	for _, p := range document.Profiles {
		credits := 0
		for n := range 500 {
			d := newRandom(p, uint64(n)).document(t, n)
			first, err := document.Write(p, d)
			if err != nil {
				t.Errorf("%s, document %d: %v: %+v", p, n, err, document.Check(p, d))
				continue
			}
			if violated := judge(p, first); len(violated) > 0 {
				t.Errorf("%s, document %d violates %v:\n%s", p, n, violated, first)
			}
			second, err := document.Write(p, d)
			if err != nil || string(first) != string(second) {
				t.Fatalf("%s, document %d: the second time %v, %s", p, n, err, second)
			}
			if d.Credit != nil {
				credits++
			}
		}
		if credits < 100 {
			t.Errorf("%s: only %d credit notes", p, credits)
		}
	}
}

// TestRemovedFields removes every optional field of random complete documents, one at a time. The document then either
// is complete without it and violates no rule, or is refused with a finding at that path or at one that names what is
// missing now.
func TestRemovedFields(t *testing.T) {
	for _, p := range document.Profiles {
		refused := map[string]int{}
		for n := range 80 {
			d := newRandom(p, uint64(n)).document(t, n)
			if d.Credit != nil {
				continue
			}
			for _, target := range fields(&d) {
				kept := reflect.New(target.value.Type()).Elem()
				kept.Set(target.value)
				target.value.SetZero()
				if text, err := document.Write(p, d); err == nil {
					if violated := judge(p, text); len(violated) > 0 {
						t.Errorf("%s, document %d without %s violates %v", p, n, target.path, violated)
					}
				} else {
					refused[shape(target.path)]++
				}
				target.value.Set(kept)
			}
		}
		for _, field := range requiredFields(p) {
			if refused[field] == 0 && field != "buyer_reference" { // an order reference or that of the company can replace it
				t.Errorf("%s: no document without %s was refused", p, field)
			}
		}
	}
}

// TestRequiredFields removes each field that every document needs: the finding is at its path, with a sentence and, if
// there is one, the official rule.
func TestRequiredFields(t *testing.T) {
	for _, p := range document.Profiles {
		for _, field := range requiredFields(p) {
			d := ordinary(p)
			for _, target := range fields(&d) {
				if shape(target.path) == field {
					target.value.SetZero()
				}
			}
			faults := document.Check(p, d).Faults()
			path := strings.ReplaceAll(field, "[]", "[0]")
			if !faults.Has(path) || faults[path][0].Message == "" {
				t.Errorf("%s: without %s the findings are %v", p, field, faults)
			}
			var incomplete *document.IncompleteError
			if _, err := document.Write(p, d); !errors.As(err, &incomplete) ||
				!slices.Contains(incomplete.Findings.Paths(), path) {
				t.Errorf("%s: without %s Write returns %v", p, field, err)
			}
		}
	}
}

// ordinary is a complete invoice of a profile with one line.
func ordinary(p document.Profile) document.Document {
	if p == document.PINTAE {
		return emirati(nil)
	}
	return union(nil)
}

// requiredFields are the fields that every document of a profile needs, with [] for the position of an item.
func requiredFields(p document.Profile) []string {
	required := []string{"invoice_number", "recipient_name", "recipient_network_id", "buyer_endpoint_scheme",
		"buyer_street", "buyer_city", "buyer_country", "total_amount", "currency", "issue_date", "due_date",
		"payment_means_code", "items[].name", "items[].unit_code", "items[].quantity", "items[].net_unit_price",
		"items[].vat_category", "items[].vat_rate", "seller.legal_name", "seller.country", "seller.endpoint_scheme",
		"seller.endpoint_id", "seller.tax_registration_number", "seller.payee_account"}
	if p == document.BIS3 {
		return append(required, "buyer_reference")
	}
	return append(required, "buyer_subdivision", "items[].description", "items[].gross_unit_price", "seller.street",
		"seller.city", "seller.subdivision", "seller.legal_registration_number", "seller.legal_registration_type",
		"seller.legal_registration_authority")
}

// target is an optional field of a document that is present.
type target struct {
	path  string
	value reflect.Value
}

// shape is a path without the position of an item.
func shape(path string) string {
	before, after, ok := strings.Cut(path, "[")
	if !ok {
		return path
	}
	_, after, _ = strings.Cut(after, "]")
	return before + "[]" + after
}

// fields returns the optional fields of the draft, its items and the seller that are present. It copies what it
// returns, so that a change does not reach a shared draft.
func fields(d *document.Document) (targets []target) {
	draft, seller := *d.Draft, *d.Seller
	draft.Items = slices.Clone(draft.Items)
	d.Draft, d.Seller = &draft, &seller
	var add func(prefix string, fields any)
	add = func(prefix string, fields any) {
		value := reflect.ValueOf(fields).Elem()
		for i := range value.NumField() {
			field := value.Field(i)
			if field.Kind() != reflect.Pointer || field.IsNil() {
				continue
			}
			name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
			targets = append(targets, target{prefix + name, field})
			if of := field.Type().Elem(); of.Kind() == reflect.Struct && of != reflect.TypeFor[api.Decimal]() {
				group := reflect.New(of)
				group.Elem().Set(field.Elem())
				field.Set(group)
				add(prefix+name+".", group.Interface())
			}
		}
	}
	add("", &draft)
	for i := range draft.Items {
		add("items["+string(rune('0'+i))+"].", &draft.Items[i])
	}
	add(invoice.SellerPath, &seller)
	return targets
}

// TestFindings checks one document for each rule beyond required fields: the change violates it, and the finding says
// so.
func TestFindings(t *testing.T) {
	tests := []findingTest{
		{"an ISO subdivision instead of an emirate", func(d *document.Document) { d.Draft.BuyerSubdivision = new("AE-DU") },
			"buyer_subdivision", "emirate_unknown", "ibr-128-ae"},
		{"the seller's emirate too", func(d *document.Document) { d.Seller.Subdivision = new("Dubai") }, "seller.subdivision",
			"emirate_unknown", "ibr-128-ae"},
		{"a tax number with a country prefix",
			func(d *document.Document) { d.Seller.TaxRegistrationNumber = new("AE135790246801003") },
			"seller.tax_registration_number", "identifier_format", "ibr-132-ae"},
		{"a buyer's tax number that is too short", func(d *document.Document) { d.Draft.BuyerTaxID = new("1234503") },
			"buyer_tax_id", "identifier_format", "ibr-132-ae"},
		{"a buyer without a tax number of its own",
			func(d *document.Document) { d.Draft.RecipientNetworkID = new("9900000098") }, "buyer_tax_id", "required",
			"ibr-135-ae"},
		{"a buyer's trade licence without its issuer", func(d *document.Document) {
			d.Draft.BuyerLegalID, d.Draft.BuyerLegalIDScheme = new("CN-1"), new("TL")
		}, "buyer_legal_id_issuer", "required", "ibr-101-ae"},
		{"a buyer's passport of no country", func(d *document.Document) {
			d.Draft.BuyerLegalID, d.Draft.BuyerLegalIDScheme, d.Draft.BuyerLegalIDIssuer = new("P-1"), new("PAS"), new("Dubai")
		}, "buyer_legal_id_issuer", "passport_country", "ibr-010-ae"},
		{"a buyer's GLN with a wrong check digit", func(d *document.Document) {
			d.Draft.BuyerIdentifier, d.Draft.BuyerIdentifierScheme = new("4012345000008"), new("0088")
		}, "buyer_identifier", "identifier_format", "ibr-068"},
		{"an identifier of no scheme", func(d *document.Document) {
			d.Draft.BuyerIdentifier, d.Draft.BuyerIdentifierScheme = new("1"), new("GLN")
		}, "buyer_identifier_scheme", "legal_id_scheme_unknown", "ibr-cl-10"},
		{"a standard item without its scheme", func(d *document.Document) { d.Draft.Items[0].StandardItemCode = new("1") },
			"items[0].standard_item_scheme", "required", "ibr-064"},
		{"an unknown origin", func(d *document.Document) { d.Draft.Items[0].OriginCountry = new("ZZ") },
			"items[0].origin_country", "country_unknown", "ibr-cl-15"},
		{"two GTINs", func(d *document.Document) {
			item := &d.Draft.Items[0]
			item.StandardItemCode, item.StandardItemScheme = new("04012345123456"), new("0160")
			item.CommodityCode, item.CommodityScheme = new("04012345123456"), new("0160")
		}, "items[0].commodity_scheme", "commodity_scheme_unknown", ""},
		{"a buyer's registration of no kind", func(d *document.Document) { d.Draft.BuyerLegalID = new("CN-1") },
			"buyer_legal_id_scheme", "legal_registration_type_unknown", "ibr-180-ae"},
		{"a passport without its country", func(d *document.Document) { d.Seller.LegalRegistrationType = new("PAS") },
			"seller.legal_registration_authority", "passport_country", "ibr-012-ae"},
		{"a seller's registration of an unknown kind",
			func(d *document.Document) { d.Seller.LegalRegistrationType = new("CRN") }, "seller.legal_registration_type",
			"legal_registration_type_unknown", "ibr-173-ae"},
		{"a GLN with a wrong check digit", func(d *document.Document) {
			d.Draft.BuyerEndpointScheme, d.Draft.RecipientNetworkID = new("0088"), new("4012345000008")
		}, "recipient_network_id", "identifier_format", "ibr-068"},
		{"a scheme that only others accept", func(d *document.Document) { d.Draft.BuyerEndpointScheme = new("0225") },
			"buyer_endpoint_scheme", "endpoint_scheme_unknown", "ibr-cl-25"},
		{"another country", func(d *document.Document) { d.Draft.BuyerCountry = new("ZZ") }, "buyer_country",
			"country_unknown", "ibr-cl-14"},
		{"an unknown means of payment", func(d *document.Document) { d.Draft.PaymentMeansCode = new("99") },
			"payment_means_code", "payment_means_unknown", "ibr-cl-16"},
		{"payment before the issue", func(d *document.Document) { d.Draft.DueDate = new("2026-02-28") }, "due_date",
			"due_date_before_issue_date", ""},
		{"pieces instead of a unit", func(d *document.Document) { d.Draft.Items[0].UnitCode = new("PCS") },
			"items[0].unit_code", "unit_unknown", "ibr-cl-23"},
		{"another standard rate", func(d *document.Document) { d.Draft.Items[0].VATRate = number("7.5") },
			"items[0].vat_rate", "tax_rate", "ibr-190-ae"},
		{"a zero rate of 5", func(d *document.Document) { d.Draft.Items[0].VATCategory = new("Z") }, "items[0].vat_rate",
			"tax_rate", "aligned-ibrp-z-05"},
		{"a category of the EU", func(d *document.Document) { d.Draft.Items[0].VATCategory = new("K") },
			"items[0].vat_category", "tax_category_unknown", "ibr-139-ae"},
		{"an exemption without its code", func(d *document.Document) { d.Draft.Items[0].VATCategory = new("E") },
			"items[0].tax_exemption_code", "required", "ibr-167-ae"},
		{"reverse charge without the nature of the goods",
			func(d *document.Document) { d.Draft.Items[0].VATCategory = new("AE") }, "items[0].tax_exemption_code", "required",
			"ibr-166-ae"},
		{"reverse charge without a GTIN", func(d *document.Document) { d.Draft.Items[0].VATCategory = new("AE") },
			"items[0].commodity_code", "required", "ibr-174-ae"},
		{"reverse charge without the buyer's tax number",
			func(d *document.Document) { d.Draft.Items[0].VATCategory = new("AE") }, "buyer_tax_id", "required", "ibr-103-ae"},
		{"only lines out of scope", func(d *document.Document) {
			d.Draft.Items[0].VATCategory, d.Draft.Items[0].VATRate = new("O"), nil
		}, "buyer_legal_id", "required", "ibr-136-ae"},
		{"the margin scheme without its category", func(d *document.Document) { d.Draft.TransactionFlags = new("00100000") },
			"items[0].vat_category", "tax_categories_not_combinable", "ibr-116-ae"},
		{"a classification of another list", func(d *document.Document) {
			d.Draft.Items[0].CommodityCode, d.Draft.Items[0].CommodityScheme = new("1"), new("CPV")
		}, "items[0].commodity_scheme", "commodity_scheme_unknown", "ibr-188-ae"},
		{"a price for no quantity", func(d *document.Document) { d.Draft.Items[0].BaseQuantity = number("0") },
			"items[0].base_quantity", "base_quantity_not_positive", "ibr-087"},
		{"a discount that is not in the price",
			func(d *document.Document) { d.Draft.Items[0].DiscountAmount = number("0.000001") }, "items[0].net_unit_price",
			"net_price_mismatch", "aligned-ibrp-004"},
		{"another currency without a rate", func(d *document.Document) { d.Draft.Currency = new("USD") }, "tax_exchange_rate",
			"required", "ibr-159-ae"},
		{"a currency of other rules", func(d *document.Document) { d.Draft.Currency = new("STD") }, "currency",
			"currency_unknown", "ibr-cl-04"},
		{"another total", func(d *document.Document) { d.Draft.TotalAmount = number("1050.02") }, "total_amount",
			"total_mismatch", "ibr-co-15"},
		{"a total below zero", func(d *document.Document) {
			d.Draft.Items[0].Quantity, d.Draft.TotalAmount = number("-10"), number("-1050")
		}, "total_amount", "negative_total", ""},
		{"a line too large for the receiver's arithmetic", func(d *document.Document) {
			d.Draft.Items[0].Quantity, d.Draft.Items[0].NetUnitPrice = number("5641221602.981"), number("6465.14")
		}, "items[0].quantity", "not_computable", "ibr-147-ae"},
		{"a character that XML does not have", func(d *document.Document) { d.Draft.Items[0].Name = new("A\uFFFF") },
			"items[0].name", "character_not_allowed", ""},
	}
	for _, tt := range tests {
		tt.run(t, document.PINTAE)
	}
}

// findingTest is a change of an ordinary document and the finding that it causes.
type findingTest struct {
	name               string
	change             func(d *document.Document)
	path, rule, ruleID string
}

func (tt findingTest) run(t *testing.T, p document.Profile) {
	t.Helper()
	t.Run(tt.name, func(t *testing.T) {
		d := ordinary(p)
		tt.change(&d)
		for _, fault := range document.Check(p, d).Faults()[tt.path] {
			if fault.Rule == tt.rule && fault.RuleID == tt.ruleID && fault.Message != "" {
				return
			}
		}
		t.Errorf("the findings are %+v", document.Check(p, d))
	})
}

// TestUnionFindings is like TestFindings for BIS Billing 3.0.
func TestUnionFindings(t *testing.T) {
	country := func(code, number string) func(d *document.Document) {
		return func(d *document.Document) {
			d.Seller.Country, d.Seller.TaxRegistrationNumber, d.Seller.LegalRegistrationType = &code, &number, nil
		}
	}
	category := func(code, rate string) func(d *document.Document) {
		return func(d *document.Document) {
			d.Draft.Items[0].VATCategory, d.Draft.Items[0].VATRate = &code, number(rate)
		}
	}
	tests := []findingTest{
		{"no reference", func(d *document.Document) { d.Draft.BuyerReference = nil }, "buyer_reference", "required",
			"PEPPOL-EN16931-R003"},
		{"a tax number without its country",
			func(d *document.Document) { d.Seller.TaxRegistrationNumber = new("135790246801003") },
			"seller.tax_registration_number", "identifier_format", "BR-CO-09"},
		{"the buyer's too", func(d *document.Document) { d.Draft.BuyerTaxID = new("123456789") }, "buyer_tax_id",
			"identifier_format", "BR-CO-09"},
		{"a currency of other rules", func(d *document.Document) { d.Draft.Currency = new("STN") }, "currency",
			"currency_unknown", "PEPPOL-EN16931-CL007"},
		{"a scheme that only the norm accepts", func(d *document.Document) { d.Draft.BuyerEndpointScheme = new("0193") },
			"buyer_endpoint_scheme", "endpoint_scheme_unknown", "BR-CL-25"},
		{"a scheme of no list", func(d *document.Document) {
			d.Draft.BuyerLegalID, d.Draft.BuyerLegalIDScheme = new("1"), new("HRB")
		}, "buyer_legal_id_scheme", "legal_id_scheme_unknown", "BR-CL-11"},
		{"a category of the UAE", category("N", "5"), "items[0].vat_category", "tax_category_unknown", "BR-CL-18"},
		{"a split payment", category("B", "7"), "items[0].vat_category", "not_supported", ""},
		{"a standard rate of 0", category("S", "0"), "items[0].vat_rate", "tax_rate", "BR-S-05"},
		{"reverse charge with a rate", category("AE", "19"), "items[0].vat_rate", "tax_rate", "BR-AE-05"},
		{"an exemption without a reason", category("E", "0"), "items[0].tax_exemption_reason", "required", "BR-E-10"},
		{"a reason of the UAE", func(d *document.Document) {
			category("E", "0")(d)
			d.Draft.Items[0].TaxExemptionCode = new("DL8.46.1")
		}, "items[0].tax_exemption_code", "tax_exemption_unknown", "BR-CL-22"},
		{"a reason of another category", func(d *document.Document) {
			category("E", "0")(d)
			d.Draft.Items[0].TaxExemptionCode = new("VATEX-EU-AE")
		}, "items[0].tax_exemption_code", "tax_exemption_unknown", "PEPPOL-EN16931-P0107"},
		{"two reasons", func(d *document.Document) {
			category("E", "0")(d)
			d.Draft.Items[0].TaxExemptionReason = new("one")
			d.Draft.Items = append(d.Draft.Items,
				another(d.Draft, func(item *api.Item) { item.TaxExemptionReason = new("two") }))
		}, "items[1].tax_exemption_reason", "tax_categories_not_combinable", "BR-E-01"},
		{"out of scope beside a taxed line", func(d *document.Document) {
			d.Draft.Items = append(d.Draft.Items,
				another(d.Draft, func(item *api.Item) { item.VATCategory, item.TaxExemptionReason = new("O"), new("none") }))
		}, "items[1].vat_category", "tax_categories_not_combinable", "BR-O-12"},
		{"a classification of no list", func(d *document.Document) {
			d.Draft.Items[0].CommodityCode, d.Draft.Items[0].CommodityScheme = new("1"), new("SAC")
		}, "items[0].commodity_scheme", "commodity_scheme_unknown", "BR-CL-13"},
		{"a discount without the gross price", func(d *document.Document) { d.Draft.Items[0].DiscountAmount = number("1") },
			"items[0].gross_unit_price", "required", "PEPPOL-EN16931-R046"},
		{"a Greek seller", country("GR", "EL123456789"), "seller.country", "not_supported", "GR-R-004-1"},
		{"an Italian seller", country("IT", "IT12345678901"), "seller.postal_code", "incomplete_profile", "IT-R-004"},
		{"a Dutch seller", country("NL", "NL123456789B01"), "seller.postal_code", "incomplete_profile", "NL-R-002"},
		{"a Dutch registration", country("NL", "NL123456789B01"), "seller.legal_registration_type",
			"legal_id_scheme_unknown", "NL-R-003"},
		{"an Icelandic seller", country("IS", "IS12345"), "seller.postal_code", "incomplete_profile", "IS-R-003"},
		{"a Dutch seller with an Italian number", country("NL", "IT12345678901"), "seller.legal_registration_type",
			"legal_id_scheme_unknown", "NL-R-003"},
		{"a text between signs behind a cash discount", func(d *document.Document) {
			country("DE", "DE123456789")(d)
			d.Draft.PaymentTerms = new("#SKONTO#TAGE=14#PROZENT=2.00#\nsee order #12# please")
		}, "payment_terms", "payment_terms_format", "DE-R-018"},
		{"a line behind a cash discount that is none", func(d *document.Document) {
			country("DE", "DE123456789")(d)
			d.Draft.PaymentTerms = new("#SKONTO#TAGE=14#PROZENT=2.00#\u00a0\nfoo")
		}, "payment_terms", "payment_terms_format", "DE-R-018"},
		{"a seller within Germany", country("DE", "DE123456789"), "seller.contact_phone", "incomplete_profile", "DE-R-006"},
		{"a buyer within Germany", country("DE", "DE123456789"), "buyer_postal_code", "required", "DE-R-009"},
		{"a cash discount within Germany", func(d *document.Document) {
			country("DE", "DE123456789")(d)
			d.Draft.PaymentTerms = new("#SKONTO#TAGE=14#PROZENT=2#")
		}, "payment_terms", "payment_terms_format", "DE-R-018"},
		{"a Danish seller without the scheme", country("DK", "DK16356706"), "seller.legal_registration_type",
			"legal_registration_type_unknown", "DK-R-014"},
		{"an identifier without a scheme to Denmark", func(d *document.Document) {
			country("DK", "DK16356706")(d)
			d.Draft.BuyerIdentifier, d.Draft.BuyerCountry = new("C-1"), new("DK")
		}, "buyer_identifier_scheme", "required", "DK-R-013"},
		{"a Swedish rate", country("SE", "SE556036079301"), "items[0].vat_rate", "tax_rate", "SE-R-006"},
		{"a Swedish registration", country("SE", "SE556036079301"), "seller.legal_registration_number", "identifier_format",
			"SE-R-013"},
		{"a Norwegian tax number", country("NO", "NO974760674MVA"), "seller.tax_registration_number", "identifier_format",
			"NO-R-001"},
	}
	for _, tt := range tests {
		tt.run(t, document.BIS3)
	}
}

// TestCreditFindings checks what a credit note lacks: its own fields by their paths, those of the invoice below
// invoice.
func TestCreditFindings(t *testing.T) {
	d := credited(t, emirati(func(d *api.Draft) { d.BuyerStreet, d.DueDate = new(" "), nil }),
		"", api.CreditItemRequest{Position: new(0), Quantity: number("1")})
	want := []string{"invoice.buyer_street", "reason_code"}
	if got := document.Check(document.PINTAE, d).Paths(); !slices.Equal(got, want) {
		t.Errorf("the findings are at %v, want %v", got, want)
	}
	// The exempt line that is not credited needs nothing.
	d = credited(t, emirati(func(d *api.Draft) {
		mixed(d)
		d.Items[2].TaxExemptionCode, d.Items[2].Description = nil, nil
	}), "DL8.61.1.A", api.CreditItemRequest{Position: new(0), Quantity: number("1")})
	if got := document.Check(document.PINTAE, d); len(got) > 0 {
		t.Errorf("the findings are %+v", got)
	}
}

// TestTotals checks the figures that a document carries where they differ from the exact ones.
func TestTotals(t *testing.T) {
	tests := []struct {
		name            string
		profile         document.Profile
		change          func(d *api.Draft)
		net, tax, total api.Amount
	}{
		{"exact", document.PINTAE, func(*api.Draft) {}, "1000.00", "50.00", "1050.00"},
		{"half a cent that is less in binary", document.PINTAE, price("0.145"), "0.14", "0.01", "0.15"},
		{"half a cent in the other profile", document.BIS3, price("0.145"), "0.15", "0.01", "0.16"},
		{"half a cent that is more in binary", document.PINTAE, price("0.155"), "0.16", "0.01", "0.17"},
		{"negative half a cent", document.PINTAE,
			func(d *api.Draft) { price("0.155")(d); d.Items[0].Quantity = number("-1") }, "-0.15", "-0.01", "-0.16"},
		{"a rate of reverse charge", document.PINTAE, func(d *api.Draft) { d.Items[0].VATCategory = new("AE") }, "1000.00",
			"0.00", "1000.00"},
		{"a currency of mils", document.PINTAE, func(d *api.Draft) { price("1.234")(d); d.Currency = new("KWD") }, "1.23",
			"0.06", "1.29"},
		{"a currency without cents", document.PINTAE, func(d *api.Draft) { price("100.50")(d); d.Currency = new("JPY") },
			"100.50", "5.03", "106"},
	}
	for _, tt := range tests {
		d := emirati(tt.change)
		got := document.Totals(tt.profile, d)
		none := new(api.Amount("0.00"))
		if want := (api.Computed{Lines: &tt.net, Allowances: none, Charges: none, Net: &tt.net, Tax: &tt.tax,
			Total: &tt.total, AmountDue: &tt.total}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s", tt.name, asJSON(t, got))
		}
	}
	if got := document.Totals(document.PINTAE,
		emirati(func(d *api.Draft) { d.Items[0].NetUnitPrice = nil })); got != (api.Computed{}) {
		t.Errorf("without a price: %s", asJSON(t, got))
	}
}

// price changes the first line to one unit at a price.
func price(text string) func(d *api.Draft) {
	return func(d *api.Draft) {
		d.Items[0].Quantity, d.Items[0].NetUnitPrice, d.Items[0].GrossUnitPrice = number("1"), number(text), number(text)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestParseProfile checks that only the published names are profiles, and that each names the rules it was tested with.
func TestParseProfile(t *testing.T) {
	for _, p := range document.Profiles {
		if got, ok := document.ParseProfile(string(p)); !ok || got != p || p.Rules() == "" {
			t.Errorf("%s: %s, %t, %q", p, got, ok, p.Rules())
		}
	}
	for _, name := range []string{"", "PINT-AE", "ubl"} {
		if _, ok := document.ParseProfile(name); ok {
			t.Errorf("%q is a profile", name)
		}
	}
}
