package document_test

import (
	"strings"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
)

// coded are the texts that are not free: what they may be depends on other fields.
const coded = " external_id transaction_flags unit_code vat_category buyer_subdivision buyer_endpoint_scheme " +
	"recipient_network_id buyer_tax_id buyer_legal_id buyer_legal_id_scheme buyer_legal_id_issuer buyer_identifier_scheme " +
	"commodity_code commodity_scheme tax_exemption_code tax_exemption_reason standard_item_code standard_item_scheme " +
	"street city subdivision endpoint_scheme endpoint_id tax_registration_number legal_registration_number " +
	"legal_registration_type legal_registration_authority logo payee_account identifier_scheme invoiced_object_scheme " +
	"service_code tax_point_code tax_registration_id "

// freeTexts sets some of the texts of a struct that are absent and may be anything, so that a new field is written too.
// Groups are those of [random.groups].
func freeTexts[T any](r random, of *T) {
	for _, field := range invoice.FieldsOf[T]() {
		tag := field.Tag
		if field.Number || strings.Contains(field.Name, ".") || field.Text(of) != "" || !r.chance(30) ||
			strings.Contains(coded, " "+field.Name+" ") || tag.Get("pattern")+tag.Get("codelist")+tag.Get("codes") != "" {
			continue
		}
		text := r.plain()
		switch {
		case tag.Get("format") == "date":
			text = new("2026-02-28")
		case tag.Get("text") == "multi":
			text = r.word()
		}
		field.Set(of, text)
	}
}

// groups adds groups of terms: all of a group's texts, or what it must have alone.
func (r random) groups(of *document.Document) {
	d := of.Draft
	flags := text(d.TransactionFlags) + "00000000"
	if r.chance(30) {
		d.BuyerContact = &api.Contact{Name: maybe(r, 70, r.plain()), Phone: maybe(r, 50, r.plain()),
			Email: maybe(r, 50, new("ap@example.com"))}
	}
	if flags[3] == '1' || flags[4] == '1' || r.chance(30) {
		d.Period = &api.Period{Start: new("2026-02-01"), End: maybe(r, 70, new(pick(r, "2026-02-01", "2026-02-28"))),
			Frequency: maybe(r, 50, new(pick(r, "MTH", "Q15", "DLY"))), Description: maybe(r, 30, r.plain())}
	}
	r.delivery(d, flags[6] == '1' || flags[7] == '1' || uses(d, "K"))
	if flags[0] == '1' {
		d.BeneficiaryID = new("189098765401003")
	}
	if flags[5] == '1' {
		d.PrincipalID = new("155667745601003")
	}
	if r.chance(20) {
		d.Payee = &api.Payee{Name: new("Factor & Co"), Identifier: maybe(r, 50, new("4012345000009")),
			IdentifierScheme: new("0088"), LegalID: maybe(r, 50, new("123456785")),
			LegalIDScheme: maybe(r, 50, new("0060"))}
		of.Seller.Identifier = nil
	}
	if of.Seller.Identifier != nil || r.chance(10) {
		of.Seller.Identifier, of.Seller.IdentifierScheme = new("4012345000016"), new("0088")
	}
	if r.chance(20) {
		of.Seller.TaxRegistrationID = new(map[string]string{"SE": "Godkänd för F-skatt", "IT": "ABCDEF12G34H567I",
			"AE": "1234567890"}[text(of.Seller.Country)])
	}
	if d.Delivery != nil && d.Delivery.Country != nil {
		d.Delivery.City, d.Delivery.PostalCode = r.plain(), new("111") // which some countries ask for
	}
	if d.TaxPointDate == nil && r.chance(20) {
		d.TaxPointCode = new(pick(r, "3", "35", "432"))
	}
	if d.InvoicedObject != nil {
		d.InvoicedObjectScheme = maybe(r, 50, new(pick(r, "MG", "ABT", "AVE")))
	}
	r.representative(d)
	r.payment(of)
}

// delivery adds a delivery, with its address if it is needed.
func (r random) delivery(d *api.Draft, needed bool) {
	if !needed && !r.chance(30) {
		return
	}
	out := &api.DeliveryInformation{Date: maybe(r, 60, new("2026-02-27")), Name: maybe(r, 40, r.plain()),
		Incoterms: maybe(r, 30, new("CIF"))}
	if r.chance(30) {
		out.LocationID, out.LocationScheme = new("4012345000009"), maybe(r, 50, new("0088"))
	}
	if needed || r.chance(50) {
		out.Street, out.City, out.Subdivision, out.Country = r.plain(), r.plain(), new("Muscat"), new("OM")
		out.PostalCode, out.StreetAdditional, out.AddressLine = maybe(r, 50, new("111")), maybe(r, 30, r.plain()),
			maybe(r, 30, r.plain())
		if r.chance(50) {
			out.Country, out.Subdivision = new("AE"), new("DXB")
		}
	}
	if uses(d, "K") {
		out.Country, out.Date = new("AT"), new("2026-02-27")
	}
	d.Delivery = out
}

// uses tells whether a line has a category.
func uses(d *api.Draft, category string) bool {
	for i := range d.Items {
		if text(d.Items[i].VATCategory) == category {
			return true
		}
	}
	return false
}

// representative adds a tax representative, except to what is not subject to tax.
func (r random) representative(d *api.Draft) {
	if !r.chance(15) || uses(d, "O") && r.profile == document.BIS3 {
		return
	}
	d.TaxRepresentative = &api.TaxRepresentative{Name: new("Tax & Agents"), TaxID: new("100200300400103"),
		Country: new("AE"), Subdivision: new("SHJ"), Street: maybe(r, 50, r.plain()), City: maybe(r, 50, r.plain())}
	if r.profile == document.BIS3 {
		d.TaxRepresentative = &api.TaxRepresentative{Name: new("Tax & Agents"), TaxID: new("NL123456789B01"),
			Country: new("NL"), PostalCode: new("1000"), Street: r.plain(), City: r.plain(),
			AddressLine: maybe(r, 50, r.plain())}
	}
}

// payment adds the card or the mandate that belongs to the means of payment.
func (r random) payment(of *document.Document) {
	d := of.Draft
	german := text(of.Seller.Country) == "DE" && text(d.BuyerCountry) == "DE"
	if text(of.Seller.Country) == "AE" && r.chance(10) {
		d.PaymentMeansCode = new(pick(r, "49", "59"))
	}
	if german && r.chance(30) {
		d.PaymentMeansCode = new(pick(r, "48", "59"))
	}
	switch means := text(d.PaymentMeansCode); means {
	case "49", "59":
		d.DirectDebit = &api.DirectDebit{Mandate: new("MANDATE-1"), CreditorID: maybe(r, 50, new("DE98ZZZ09999999999")),
			DebitedAccount: maybe(r, 50, new("DE02120300000000202051"))}
		if german {
			d.DirectDebit.CreditorID, d.DirectDebit.DebitedAccount = new("DE98ZZZ09999999999"), new("DE02120300000000202051")
		}
	case "48", "54":
		if german || r.chance(70) {
			d.PaymentCard = &api.PaymentCard{Number: new("412345****"), Network: maybe(r, 50, new("VISA")),
				Holder: maybe(r, 50, r.plain())}
		}
	}
}

// lineGroups adds the groups of a line, and the texts that depend on others.
func (r random) lineGroups(item *api.Item) {
	if r.chance(20) {
		item.Period = &api.LinePeriod{Start: new("2026-02-01"), End: maybe(r, 50, new("2026-02-01"))}
	}
	if item.InvoicedObject != nil {
		item.InvoicedObjectScheme = maybe(r, 50, new("MG"))
	}
	scheme := text(item.CommodityScheme)
	if scheme != "SAC" {
		item.ServiceCode = maybe(r, 20, new("998311"))
	}
	switch {
	case scheme == "HS" && item.ServiceCode != nil:
		item.SupplyType = maybe(r, 50, new("B"))
	case scheme == "HS":
		item.SupplyType = maybe(r, 50, new("G"))
	case scheme == "SAC" || item.ServiceCode != nil:
		item.SupplyType = maybe(r, 50, new("S"))
	}
}

// entries adds entries of lists, a type, and in the EU a tax in another currency.
func (r random) entries(of *document.Document) {
	d := of.Draft
	for range r.IntN(3) {
		d.PrecedingInvoices = append(d.PrecedingInvoices, api.PrecedingInvoice{Number: r.plain(),
			IssueDate: maybe(r, 50, new("2026-01-15"))})
	}
	for i := range d.Items {
		for range r.IntN(3) {
			d.Items[i].Attributes = append(d.Items[i].Attributes, api.Attribute{Name: r.plain(), Value: r.plain()})
		}
	}
	if r.profile == document.BIS3 {
		d.TypeCode = maybe(r, 30, new(pick(r, "380", "386", "383", "875", "71")))
		if r.chance(30) {
			d.TaxCurrency, d.TaxExchangeRate = new("GBP"), number(pick(r, "1.1", "0.000001", "12345.678901"))
		}
	}
}
