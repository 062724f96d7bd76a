package document_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
)

var update = flag.Bool("update", false, "write the golden documents anew")

// number is a decimal of a literal.
func number(text string) *api.Decimal { return new(api.MustDecimal(text)) }

// emiratiSeller is a company in Dubai with a trade licence.
func emiratiSeller() *api.Profile {
	return &api.Profile{
		LegalName: new("Gulf Works LLC"), Street: new("Sheikh Zayed Road 1"), City: new("Dubai"), Subdivision: new("DXB"),
		Country: new("AE"), EndpointScheme: new("0235"), EndpointID: new("1357902468"),
		TaxRegistrationNumber: new("135790246801003"), LegalRegistration: new("CN-1234567"), LegalRegistrationType: new("TL"),
		LegalRegistrationAuthority: new("Department of Economy and Tourism"),
		PayeeAccount:               new("AE070331234567890123456"),
	}
}

// emiratiDraft is an ordinary invoice with one line: 10 hours at 100.00 and 5 % tax.
func emiratiDraft() *api.Draft {
	return &api.Draft{
		InvoiceNumber: new("INV-2026-0001"), RecipientName: new("Palm Trading LLC"), RecipientNetworkID: new("1234567890"),
		BuyerEndpointScheme: new("0235"), BuyerStreet: new("12 Harbour Road"), BuyerCity: new("Dubai"),
		BuyerSubdivision: new("DXB"), BuyerCountry: new("AE"), TotalAmount: number("1050.00"), Currency: new("AED"),
		IssueDate: new("2026-03-01"), DueDate: new("2026-03-31"),
		PaymentMeansCode: new("30"),
		Items: []api.Item{{
			Name: new("Consulting"), Description: new("Integration workshop"), UnitCode: new("HUR"), Quantity: number("10"),
			NetUnitPrice: number("100.00"), GrossUnitPrice: number("100.00"), VATCategory: new("S"), VATRate: number("5"),
		}},
	}
}

const goldenID = "0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90"

// emirati is the ordinary invoice after a change.
func emirati(change func(d *api.Draft)) document.Document {
	d := document.Document{ID: goldenID, Draft: emiratiDraft(), Seller: emiratiSeller()}
	if change != nil {
		change(d.Draft)
	}
	return d
}

// another is a copy of the draft's first line after a change.
func another(d *api.Draft, change func(item *api.Item)) api.Item {
	item := d.Items[0]
	change(&item)
	return item
}

// credited is a credit note of a document's invoice.
func credited(t *testing.T, d document.Document, reason string, items ...api.CreditItemRequest) document.Document {
	t.Helper()
	request := api.CreditNoteRequest{Kind: new(api.CreditFull)}
	if len(items) > 0 {
		request.Kind, request.Items = new(api.CreditPartial), items
	}
	credit, faults := invoice.NewCredit(d.Draft, nil, &request, document.PINTAE.Arithmetic())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	d.ID = "0195b1f0-4c00-7a3e-9d2b-000000000001"
	d.Credit = &api.CreditNote{ID: d.ID, CreditNoteNumber: "CN-2026-0001", IssueDate: "2026-03-15",
		Reason: "Two hours were not worked.", ReasonCode: &reason, Kind: credit.Kind, Currency: *d.Draft.Currency,
		TotalAmount: credit.Total, Items: credit.Items}
	return d
}

// mixed adds lines of the other categories in which a seller charges no tax.
func mixed(d *api.Draft) {
	d.Items = append(d.Items,
		another(d, func(item *api.Item) {
			item.Name, item.VATCategory, item.VATRate = new("Export"), new("Z"), number("0")
			item.ItemCode, item.CommodityCode, item.CommodityScheme = new("SKU-7"), new("84713000"), new("HS")
		}),
		another(d, func(item *api.Item) {
			item.Name, item.VATCategory, item.VATRate = new("Flat"), new("E"), number("0")
			item.TaxExemptionCode, item.TaxExemptionReason = new("DL8.46.2"), new("Supply of residential units")
		}),
		another(d, func(item *api.Item) {
			item.Name, item.VATCategory, item.VATRate = new("Deposit"), new("O"), nil
			item.GrossUnitPrice, item.DiscountAmount, item.BaseQuantity = number("110.00"), number("10.00"), number("3")
		}))
	d.TotalAmount = number("3383.33")
}

// emiratiGolden are the golden documents of PINT-AE by the names of their files.
func emiratiGolden(t *testing.T) map[string]document.Document {
	abroad := func(d *api.Draft) {
		d.RecipientName, d.BuyerStreet, d.BuyerCity, d.BuyerSubdivision, d.BuyerCountry = new("Müller & Söhne GmbH"),
			new("Hauptstraße 5"), new("München"), new("Bayern"), new("DE")
		d.BuyerEndpointScheme, d.RecipientNetworkID = new("0088"), new("4012345000009")
		d.BuyerTaxID, d.BuyerLegalID, d.BuyerLegalIDScheme = new("DE123456789"), new("123456785"), new("0060")
		d.Currency, d.TaxExchangeRate, d.IssueTime, d.Note = new("USD"), number("3.6725"), new("09:30"),
			new("Delivered\nin two parts.")
		d.Items[0].VATCategory, d.Items[0].VATRate = new("Z"), number("0")
		d.TotalAmount = number("1000.00")
	}
	return map[string]document.Document{
		"standard": emirati(func(d *api.Draft) {
			d.BuyerReference, d.OrderReference, d.ContractReference, d.Items[0].OrderLine = new("COST-7"), new("PO-4711"),
				new("FRAME-2026"), new("10")
		}),
		"mixed-categories": emirati(mixed),
		"foreign-currency": emirati(func(d *api.Draft) {
			d.Currency, d.TaxExchangeRate, d.Items[0].Quantity, d.TotalAmount = new("EUR"), number("4.012345"), number("3.33"),
				number("349.65")
		}),
		"foreign-buyer": emirati(abroad),
		"yen": emirati(func(d *api.Draft) {
			d.Currency, d.TaxExchangeRate, d.Items[0].NetUnitPrice, d.Items[0].GrossUnitPrice = new("JPY"), number("0.0245"),
				number("100.05"), number("100.05")
			d.TotalAmount = number("1051")
		}),
		"reverse-charge": emirati(func(d *api.Draft) {
			d.BuyerTaxID = new("123456789012303")
			item := &d.Items[0]
			item.VATCategory, item.VATRate, item.TaxExemptionCode = new("AE"), number("5"), new("DL8.48.8.1")
			item.CommodityCode, item.CommodityScheme = new("04012345123456"), new("0160")
			d.TotalAmount = number("1000.00")
		}),
		"margin-scheme": emirati(func(d *api.Draft) {
			d.TransactionFlags, d.Items[0].VATCategory, d.TotalAmount = new("00100000"), new("N"), number("1000.00")
		}),
		"commercial": emirati(func(d *api.Draft) {
			d.BuyerLegalID, d.BuyerLegalIDScheme = new("784-1990-1234567-1"), new("EID")
			d.Items[0].VATCategory, d.Items[0].VATRate, d.TotalAmount = new("O"), nil, number("1000.00")
		}),
		"half-cent": emirati(func(d *api.Draft) {
			d.Items[0].Quantity, d.Items[0].NetUnitPrice, d.Items[0].GrossUnitPrice = number("1"), number("0.145"),
				number("0.145")
			d.TotalAmount = number("0.16")
		}),
		"negative-line": emirati(func(d *api.Draft) {
			d.Items = append(d.Items, another(d, func(item *api.Item) {
				item.Name, item.Quantity = new("Returned"),
					number("-2")
			}))
			d.TotalAmount = number("840.00")
		}),
		"trade-licence": emirati(func(d *api.Draft) {
			d.BuyerLegalID, d.BuyerLegalIDScheme, d.BuyerLegalIDIssuer = new("CN-7654321"), new("TL"),
				new("Department of Economy and Tourism")
			d.RecipientNetworkID, d.BuyerTaxID, d.BuyerIdentifier = new("9900000098"), nil, new("C-1042")
			texts(d)
		}),
		"credit-note-full": credited(t, emirati(mixed), "DL8.61.1.D"),
		"credit-note-quantity": credited(t, emirati(nil),
			"DL8.61.1.C", api.CreditItemRequest{Position: new(0), Quantity: number("2")}),
		"credit-note-amount": credited(t, emirati(mixed),
			"DL8.61.1.C", api.CreditItemRequest{Position: new(1), NetAmount: number("12.5")}),
		"credit-note-discount": credited(t, emirati(nil), "VD"),
		"credit-note-of-exempt": credited(t, emirati(mixed2),
			"DL8.61.1.A", api.CreditItemRequest{Position: new(2), Quantity: number("1")}),
		"credit-note-foreign": credited(t, emirati(abroad), "DL8.61.1.A"),
	}
}

// mixed2 is mixed with what a credit note of the exempt line alone needs.
func mixed2(d *api.Draft) {
	mixed(d)
	d.BuyerLegalID, d.BuyerLegalIDScheme = new("784-1990-1234567-1"), new("CD")
}

// golden returns the golden documents of a profile.
func golden(t *testing.T, p document.Profile) map[string]document.Document {
	t.Helper()
	if p == document.PINTAE {
		return withAllowances(t, withEntries(t, p, emiratiGolden(t)), func() document.Document {
			return emirati(func(d *api.Draft) { reduce(d, "5", "1011.36") })
		})
	}
	return withAllowances(t, withEntries(t, p, unionGolden(t)), func() document.Document {
		return union(func(d *api.Draft) { reduce(d, "19", "1146.20") })
	})
}

// union is an ordinary invoice of BIS Billing 3.0 from Vienna to Bonn after a change.
func union(change func(d *api.Draft)) document.Document {
	d := document.Document{ID: goldenID, Seller: &api.Profile{
		LegalName: new("Donau Werke GmbH"), Street: new("Ringstraße 1"), City: new("Wien"), Country: new("AT"),
		EndpointScheme: new("0088"), EndpointID: new("4012345000009"), TaxRegistrationNumber: new("ATU12345678"),
		LegalRegistration: new("FN123456a"),
		PayeeAccount:      new("AT611904300234573201"),
	}, Draft: &api.Draft{
		InvoiceNumber: new("INV-2026-0001"), RecipientName: new("Rhein Handel GmbH"), RecipientNetworkID: new("991-01234-44"),
		BuyerEndpointScheme: new("0204"), BuyerStreet: new("Hauptstraße 5"), BuyerCity: new("Bonn"), BuyerCountry: new("DE"),
		BuyerTaxID: new("DE123456789"), BuyerReference: new("COST-7"), TotalAmount: number("1190.00"), Currency: new("EUR"),
		IssueDate:        new("2026-03-01"),
		DueDate:          new("2026-03-31"),
		PaymentMeansCode: new("58"),
		Items: []api.Item{{
			Name: new("Consulting"), UnitCode: new("HUR"), Quantity: number("10"), NetUnitPrice: number("100.00"),
			VATCategory: new("S"), VATRate: number("19"),
		}},
	}}
	if change != nil {
		change(d.Draft)
	}
	return d
}

// unionMixed adds lines of other categories and rates.
func unionMixed(d *api.Draft) {
	d.Items = append(d.Items,
		another(d, func(item *api.Item) { item.Name, item.VATRate = new("Book"), number("7.00") }),
		another(d, func(item *api.Item) {
			item.Name, item.VATCategory, item.VATRate, item.TaxExemptionCode = new("Insurance"), new("E"), number("0"),
				new("VATEX-EU-132-1A")
			item.CommodityCode, item.CommodityScheme, item.ItemCode, item.Description = new("84713000"), new("HS"), new("SKU-7"),
				new("Premium")
		}),
		another(d, func(item *api.Item) {
			item.Name, item.VATCategory, item.VATRate, item.TaxExemptionReason = new("Works"), new("AE"), number("0"),
				new("Reverse charge")
			item.GrossUnitPrice, item.DiscountAmount, item.BaseQuantity = number("110.00"), number("10.00"), number("3")
		}),
		another(d, func(item *api.Item) {
			item.Name, item.VATCategory, item.VATRate = new("Nothing"), new("Z"), number("0")
		}))
	d.TotalAmount = number("4593.33")
}

// texts adds to an invoice the texts that every document may have.
func texts(d *api.Draft) {
	d.BuyerTradingName, d.BuyerStreetAdditional, d.BuyerAddressLine, d.BuyerPostalCode = new("Rhein"), new("Hinterhaus"),
		new("3. Stock"), new("53113")
	d.SalesOrderReference, d.ProjectReference, d.DespatchReference, d.ReceiptReference, d.TenderReference = new("SO-118"),
		new("PROJECT-9"), new("DN-5530"), new("GR-2201"), new("TENDER-12")
	d.AccountingReference, d.TaxPointDate, d.PaymentTerms, d.PaymentReference = new("4217-100"), new("2026-02-28"),
		new("30 days net"), new("RF18539007547034")
	item := &d.Items[0]
	item.Note, item.BuyerItemCode, item.OriginCountry, item.AccountingReference = new("Replaces\nthe order of May."),
		new("B-77"), new("AT"), new("4217-300")
	item.StandardItemCode, item.StandardItemScheme = new("04012345123456"), new("0160")
}

// germany is an invoice within Germany, with a cash discount.
func germany() document.Document {
	d := union(func(d *api.Draft) {
		texts(d)
		d.PaymentTerms = new("#SKONTO#TAGE=14#PROZENT=2.00#")
		d.BuyerIdentifier, d.BuyerIdentifierScheme = new("4012345000009"), new("0088")
	})
	s := d.Seller
	s.Country, s.PostalCode, s.TaxRegistrationNumber, s.LegalForm = new("DE"), new("10115"), new("DE123456789"),
		new("Gesellschaft mit beschränkter Haftung, Stammkapital 25.000 EUR")
	s.TradingName, s.StreetAdditional, s.AddressLine = new("Donau"), new("Hof 2"), new("Tor 3")
	s.ContactName, s.ContactPhone, s.ContactEmail = new("Buchhaltung"), new("+49 30 1234567"), new("ar@example.com")
	s.PayeeAccount, s.PayeeAccountName, s.PayeeBankID = new("DE02120300000000202051"), new("Donau Werke GmbH"),
		new("BYLADEM1001")
	return d
}

// unionGolden are the golden documents of BIS Billing 3.0.
func unionGolden(t *testing.T) map[string]document.Document {
	return map[string]document.Document{
		"standard": union(func(d *api.Draft) {
			d.OrderReference, d.ContractReference, d.Note, d.Items[0].OrderLine = new("PO-4711"), new("FRAME-2026"),
				new("Delivered in two parts."), new("10")
			d.BuyerLegalID, d.BuyerLegalIDScheme, d.IssueTime = new("123456785"), new("0060"), new("09:30")
		}),
		"mixed-categories": union(unionMixed),
		"out-of-scope": union(func(d *api.Draft) {
			item := &d.Items[0]
			item.VATCategory, item.VATRate, item.TaxExemptionCode, d.TotalAmount = new("O"), nil, new("VATEX-EU-O"),
				number("1000.00")
		}),
		"export": union(func(d *api.Draft) {
			d.BuyerCountry, d.BuyerTaxID, d.TotalAmount = new("AE"), nil, number("1000.00")
			d.Items[0].VATCategory, d.Items[0].VATRate, d.Items[0].TaxExemptionReason = new("G"), number("0"),
				new("Export outside the EU")
		}),
		"half-cent": union(func(d *api.Draft) {
			d.Items[0].Quantity, d.Items[0].NetUnitPrice, d.TotalAmount = number("1"), number("0.145"), number("0.18")
		}),
		"within-germany": germany(),
		"credit-note-germany": credited(t, germany(), "",
			api.CreditItemRequest{Position: new(0), Quantity: number("1")}),
		"credit-note-full":   credited(t, union(unionMixed), "C"),
		"credit-note-amount": credited(t, union(nil), "", api.CreditItemRequest{Position: new(0), NetAmount: number("12.5")}),
	}
}

// TestGolden compares the golden documents with their files, byte for byte. The files are judged by TestOfficialRules.
func TestGolden(t *testing.T) {
	for _, p := range document.Profiles {
		var names []string
		for name, d := range golden(t, p) {
			names = append(names, name+".xml")
			text, err := document.Write(p, d)
			if err != nil {
				t.Errorf("%s/%s: %v: %+v", p, name, err, document.Check(p, d))
				continue
			}
			file := filepath.Join("testdata", string(p), name+".xml")
			if *update {
				if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
					t.Fatal(err)
				}
				writeFile(t, file, text)
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(text) != string(want) {
				t.Errorf("%s is different: %s", file, firstDifference(string(want), string(text)))
			}
		}
		slices.Sort(names)
		files, err := filepath.Glob(filepath.Join("testdata", string(p), "*.xml"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range files {
			files[i] = filepath.Base(files[i])
		}
		if !slices.Equal(files, names) {
			t.Errorf("%s: the files are %v, the golden documents %v", p, files, names)
		}
	}
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(want, got string) string {
	wants, gots := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(wants), len(gots)) {
		if wants[i] != gots[i] {
			return "want " + wants[i] + ", got " + gots[i]
		}
	}
	return "one is longer"
}
