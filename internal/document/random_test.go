package document_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
)

// random makes random complete documents.
type random struct {
	*rand.Rand
	profile document.Profile
}

func newRandom(p document.Profile, seed uint64) random {
	return random{Rand: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)), profile: p}
}

func (r random) chance(percent int) bool { return r.IntN(100) < percent }

// text returns an optional text.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func pick[T any](r random, from ...T) T { return from[r.IntN(len(from))] }

// decimal returns a number from 0 up to limit with at most scale digits after the point.
func (r random) decimal(limit int64, scale int) *api.Decimal {
	scale = r.IntN(scale + 1)
	power := int64(1)
	for range scale {
		power *= 10
	}
	n := big.NewRat(r.Int64N(limit*power), power)
	return new(api.MustDecimal(n.FloatString(scale)))
}

// word returns a text with characters that need care in XML.
func (r random) word() *string {
	words := []string{"Harbour", "Palm & Sons", "<Trading>", "شركة النخيل", "\"quoted\"", "naïve", "O'Neill", "日本",
		"line\nbreak", "tab\tstop", "😀"}
	text := ""
	for range 1 + r.IntN(3) {
		text += pick(r, words...) + " "
	}
	return &text
}

// plain returns a text of one line.
func (r random) plain() *string {
	return new(pick(r, "Harbour Road 12", "Palm & Sons LLC", "شركة النخيل", "Müller <Söhne>", "ACME \"Gulf\"", " padded "))
}

// maybe returns the value or nil.
func maybe[T any](r random, percent int, value *T) *T {
	if r.chance(percent) {
		return value
	}
	return nil
}

// document returns a random complete invoice, or a credit note of one.
func (r random) document(t *testing.T, ordinal int) document.Document {
	t.Helper()
	d := document.Document{ID: fmt.Sprintf("0195b1f0-4c00-7a3e-9d2b-%012x", ordinal)}
	d.Seller = r.seller()
	d.Draft = r.draft()
	if r.profile == document.BIS3 {
		r.unionSeller(d.Seller, d.Draft)
	}
	freeTexts(r, d.Draft)
	freeTexts(r, d.Seller)
	for i := range d.Draft.Items {
		freeTexts(r, &d.Draft.Items[i])
		r.lineGroups(&d.Draft.Items[i])
	}
	r.groups(&d)
	r.allowances(&d)
	r.entries(&d)
	computed := document.Totals(r.profile, d)
	if computed.Total == nil {
		t.Fatalf("document %d has no totals: %+v", ordinal, d.Draft)
	}
	d.Draft.TotalAmount = new(api.MustDecimal(string(*computed.Total)))
	if r.chance(20) { // rounded by its author, by as much as rounding explains
		r.restate(&d)
	}
	if r.chance(40) {
		r.credit(t, &d)
	}
	return d
}

// restate changes the total by some minor units of the currency, at most one for each line. An invoice of PINT-AE is
// not below zero.
func (r random) restate(d *document.Document) {
	unit := big.NewRat(1, 100)
	if currency := *d.Draft.Currency; currency == "JPY" || currency == "ISK" {
		unit = big.NewRat(1, 1)
	}
	total, _ := new(big.Rat).SetString(d.Draft.TotalAmount.String())
	total.Add(total, unit.Mul(unit, big.NewRat(r.Int64N(int64(len(d.Draft.Items)+1)), 1)))
	d.Draft.TotalAmount = new(api.MustDecimal(total.FloatString(2)))
}

func (r random) draft() *api.Draft {
	d := &api.Draft{
		InvoiceNumber: new("INV-" + strconv.Itoa(r.IntN(1e6))), RecipientName: r.plain(), BuyerStreet: r.plain(),
		BuyerCity: r.plain(), Currency: new("AED"), IssueDate: new("2026-03-01"),
		DueDate:          new(pick(r, "2026-03-01", "2026-03-31", "2027-01-01")),
		IssueTime:        maybe(r, 50, new("09:30")),
		PaymentMeansCode: new(pick(r, "1", "10", "20", "30", "30", "42", "48", "54", "57", "58", "68", "91")),
		ExternalID:       maybe(r, 20, new("ERP-1")), Note: maybe(r, 40, r.word()),
		BuyerReference: maybe(r, 50, new("COST-7")), OrderReference: maybe(r, 50, new("PO-4711")),
		ContractReference: maybe(r, 30, new("FRAME-2026")),
	}
	r.buyer(d)
	if r.chance(30) {
		d.Currency = new(pick(r, "USD", "EUR", "JPY", "KWD", "XXX", "ISK"))
		d.TaxExchangeRate = new(api.MustDecimal(pick(r, "3.6725", "0.025", "12", "4.000001")))
	}
	categories := [][]string{{"S"}, {"S", "Z"}, {"Z"}, {"S", "E", "O"}, {"S", "Z", "E", "O"}, {"E"}, {"O"}, {"E", "O"},
		{"AE"}, {"S", "AE", "Z"}, {"N"}}
	if r.profile == document.BIS3 {
		categories = [][]string{{"S"}, {"S", "Z"}, {"Z"}, {"S", "E"}, {"E"}, {"O"}, {"AE"}, {"S", "AE", "Z", "E"}, {"G"},
			{"S", "G"}, {"K"}, {"S", "K"}, {"L"}, {"M"}}
	}
	use := pick(r, categories...)
	for i := range 1 + r.IntN(6) {
		d.Items = append(d.Items, r.item(use[min(i, len(use)-1)]))
	}
	r.complete(d, use)
	return d
}

// buyer fills in the buyer: at home or abroad, by any of some schemes.
func (r random) buyer(d *api.Draft) {
	d.BuyerCountry, d.BuyerSubdivision = new("AE"), new(pick(r, "AUH", "DXB", "SHJ", "UAQ", "FUJ", "AJM", "RAK"))
	d.BuyerEndpointScheme, d.RecipientNetworkID = new("0235"), new("1234567890")
	d.BuyerTaxID = maybe(r, 50, new("123456789012303"))
	if r.profile == document.BIS3 {
		d.BuyerTaxID = maybe(r, 50, new("AE123456789012303"))
	}
	switch r.IntN(5) {
	case 0:
		d.RecipientNetworkID, d.BuyerTaxID = new(pick(r, "123456789012303", "9900000098", "2345678901")),
			new("123456789012303")
		if r.profile == document.BIS3 {
			d.BuyerTaxID = new("AE123456789012303")
		}
	case 1:
		d.BuyerCountry, d.BuyerSubdivision, d.BuyerTaxID = new(pick(r, "DE", "SA", "XI")), new("Bavaria"),
			maybe(r, 50, new("DE123456789"))
		d.BuyerEndpointScheme, d.RecipientNetworkID = new("0088"), new("4012345000009")
		d.BuyerLegalID, d.BuyerLegalIDScheme = maybe(r, 50, new("123456785")), maybe(r, 50, new("0060"))
	case 2:
		d.BuyerLegalID, d.BuyerLegalIDScheme = new("784-1990-1234567-1"), new(pick(r, "EID", "CD"))
	case 3:
		d.BuyerLegalID, d.BuyerLegalIDScheme, d.BuyerLegalIDIssuer = new("CN-1234567"), new("TL"), new("DET & Co")
		if r.chance(50) {
			d.BuyerLegalIDScheme, d.BuyerLegalIDIssuer = new("PAS"), new(pick(r, "GB", "IN"))
		}
		if r.chance(50) {
			d.RecipientNetworkID, d.BuyerTaxID, d.BuyerIdentifier = new("9900000098"), nil, r.plain()
		}
	}
	if r.chance(20) {
		d.BuyerIdentifier, d.BuyerIdentifierScheme = new("4012345000009"), new("0088")
	}
}

// complete adds what the categories of the lines need of the document.
func (r random) complete(d *api.Draft, categories []string) {
	flags := "00000000"
	if r.chance(40) && categories[0] == "S" {
		flags = pick(r, "01000000", "00001000", "10000000", "00010000", "00000100", "00000010", "00000001", "10011111")
	}
	if categories[0] == "N" {
		flags = "00100000"
	}
	if flags != "00000000" || r.chance(50) {
		d.TransactionFlags = &flags
	}
	untaxable := !slices.ContainsFunc(categories, func(c string) bool { return c != "E" && c != "O" })
	if untaxable && d.BuyerLegalID == nil {
		d.BuyerLegalID, d.BuyerLegalIDScheme = new("784-1990-1234567-1"), new("EID")
	}
	if slices.Contains(categories, "AE") && d.BuyerTaxID == nil {
		d.BuyerTaxID = new("123456789012303")
		if *d.BuyerCountry != "AE" || r.profile == document.BIS3 {
			d.BuyerTaxID = new("DE123456789")
		}
	}
	if slices.Contains(categories, "K") {
		d.BuyerTaxID = new("DE123456789")
	}
	if d.BuyerReference == nil && d.OrderReference == nil {
		d.OrderReference = new("PO-1")
	}
}

func (r random) item(category string) api.Item {
	item := api.Item{
		ItemCode: maybe(r, 50, new("SKU-7")), Name: r.plain(), Description: r.word(),
		UnitCode: new(pick(r, "C62", "HUR", "KGM", "XBX", "EA")), Quantity: r.decimal(1000, 3), BaseQuantity: maybe(r, 60,
			new(api.MustDecimal(pick(r, "1", "10", "100", "3", "0.5", "12", "1.000")))),
		NetUnitPrice: r.decimal(10_000, 4), VATCategory: &category, OrderLine: maybe(r, 30, new("10")),
	}
	if r.chance(30) { // amounts of exactly half a cent
		item.Quantity, item.NetUnitPrice = new(api.MustDecimal("1")),
			new(api.MustDecimal(fmt.Sprintf("%d.%02d5", r.IntN(3000), r.IntN(100))))
	}
	item.GrossUnitPrice = item.NetUnitPrice
	if r.chance(40) {
		item.DiscountAmount = r.decimal(50, 3)
		gross, _ := new(big.Rat).SetString(item.NetUnitPrice.String())
		discount, _ := new(big.Rat).SetString(item.DiscountAmount.String())
		item.GrossUnitPrice = new(api.MustDecimal(gross.Add(gross, discount).FloatString(4)))
	}
	rates := []string{"5", "5.0", "5.00"}
	if r.profile == document.BIS3 {
		rates = []string{"19", "7.70", "21"}
	}
	rate := map[string]string{"S": pick(r, rates...), "N": "5", "L": "7", "M": pick(r, "4", "0")}[category]
	if rate == "" {
		rate = pick(r, "0", "0.00")
	}
	item.VATRate = new(api.MustDecimal(rate))
	switch category {
	case "O":
		item.VATRate = maybe(r, 50, item.VATRate)
		item.TaxExemptionReason = new("Not subject to tax")
	case "E":
		item.TaxExemptionCode, item.TaxExemptionReason = new("DL8.46.1"), maybe(r, 50, new("Financial services"))
	case "AE":
		item.TaxExemptionCode, item.CommodityCode, item.CommodityScheme = new("DL8.48.8.1"), new("04012345123456"),
			new("0160")
	case "G", "K":
		item.TaxExemptionReason = new("No tax is charged")
	}
	if r.profile == document.BIS3 && (category == "E" || category == "AE") {
		item.TaxExemptionCode, item.TaxExemptionReason = nil, new("No tax is charged")
	}
	if text(item.CommodityScheme) != "0160" && r.chance(30) {
		item.StandardItemCode, item.StandardItemScheme = new("04012345123456"), new("0160")
	}
	item.OriginCountry = maybe(r, 30, new(pick(r, "DE", "AE", "JP")))
	if item.CommodityCode == nil && r.chance(30) {
		item.CommodityCode, item.CommodityScheme = new("84713000"), new("HS")
		if r.profile == document.PINTAE && r.chance(40) {
			item.CommodityScheme = new("SAC")
		}
	}
	return item
}

func (r random) seller() *api.Profile {
	s := &api.Profile{
		LegalName: r.plain(), Street: r.plain(), City: r.plain(), Subdivision: new("DXB"), Country: new("AE"),
		EndpointScheme: new("0235"), EndpointID: new("1357902468"), TaxRegistrationNumber: new("135790246801003"),
		LegalRegistration: new("CN-1234567"), LegalRegistrationType: new(pick(r, "TL", "EID", "PAS", "CD")),
		PayeeAccount: new("AE070331234567890123456"), BuyerReference: maybe(r, 30, new("DEFAULT")),
	}
	switch *s.LegalRegistrationType {
	case "TL":
		s.LegalRegistrationAuthority = new("Department of Economy & Tourism")
	case "PAS":
		s.LegalRegistrationAuthority = new(pick(r, "AE", "GB", "IN"))
	}
	if r.profile == document.BIS3 {
		s.TaxRegistrationNumber = new("AE135790246801003")
	}
	if r.chance(20) {
		s.EndpointScheme, s.EndpointID = new("0088"), new("4012345000009")
		s.LegalRegistration = maybe(r, 50, s.LegalRegistration)
	}
	return s
}

// unionSeller makes some sellers of BIS Billing 3.0 European ones, with the rules of their countries.
func (r random) unionSeller(s *api.Profile, d *api.Draft) {
	s.LegalRegistration = new("CN-1234567")
	switch r.IntN(9) {
	case 0:
		s.Country, s.Subdivision, s.TaxRegistrationNumber, s.LegalRegistrationType = new("FR"), nil, new("FR12345678901"),
			new("0009")
		s.EndpointScheme, s.EndpointID = new("0009"), new("12345678901234")
	case 1:
		s.Country, s.Subdivision, s.TaxRegistrationNumber = new("SE"), nil, new("SE556036079301")
		s.LegalRegistration, s.LegalRegistrationType = new("5560360793"), new("0007")
		s.EndpointScheme, s.EndpointID = new("0007"), new("5560360793")
		for i := range d.Items {
			if *d.Items[i].VATCategory == "S" {
				d.Items[i].VATRate = new(api.MustDecimal(pick(r, "25", "12.0", "6")))
			}
		}
	case 2:
		d.BuyerIdentifier, d.BuyerIdentifierScheme = new("4012345000009"), new("0088")
		s.Country, s.Street, s.City, s.Subdivision, s.TaxRegistrationNumber = new("DK"), nil, nil, nil, new("DK16356706")
		s.LegalRegistration, s.LegalRegistrationType = new("DK16356706"), new("0184")
		s.EndpointScheme, s.EndpointID = new("0184"), new("DK16356706")
		if r.chance(50) {
			d.BuyerCountry, d.PaymentMeansCode = new("DK"), new(pick(r, "1", "10", "48", "58", "97"))
			d.BuyerLegalID = nil
		}
	case 3:
		s.Country, s.TaxRegistrationNumber, s.EndpointScheme, s.EndpointID = new("NO"), new("NO974760673MVA"), new("0192"),
			new("974760673")
		s.LegalRegistration, s.LegalRegistrationType = new("974760673"), new("0192")
	case 4, 5, 6, 7:
		r.neighbour(s, d)
	}
}

// neighbour makes the seller, and sometimes the buyer, one of a country that asks for postal codes.
func (r random) neighbour(s *api.Profile, d *api.Draft) {
	country := pick(r, "DE", "NL", "IS", "IT")
	s.Country, s.Subdivision, s.PostalCode, s.LegalRegistrationType = &country, nil, new("1000"), nil
	s.EndpointScheme, s.EndpointID, d.BuyerPostalCode = new("0088"), new("4012345000009"), new("2000")
	if r.chance(50) {
		d.BuyerCountry = &country
		d.BuyerLegalID, d.BuyerLegalIDScheme, d.BuyerLegalIDIssuer = nil, nil, nil
	}
	switch country {
	case "DE":
		s.TaxRegistrationNumber, s.ContactName, s.ContactPhone, s.ContactEmail, d.BuyerReference = new("DE123456789"),
			r.plain(), new("+49 30 123"), new("ar@example.com"), new("04011000-1234512345-06")
		d.PaymentMeansCode, s.PayeeAccount = new(pick(r, "10", "30", "58")), new("DE02120300000000202051")
		d.PaymentTerms = maybe(r, 50, new("#SKONTO#TAGE=14#PROZENT=2.00#"))
		if slices.ContainsFunc(d.Items, func(item api.Item) bool { return *item.VATCategory == "O" }) {
			d.BuyerCountry = new("AT")
		}
	case "NL":
		s.TaxRegistrationNumber, s.LegalRegistration, s.LegalRegistrationType = new("NL123456789B01"), new("12345678"),
			new("0106")
		d.OrderReference, d.PaymentMeansCode = new("PO-1"), new(pick(r, "30", "48", "57", "58"))
	case "IS":
		s.TaxRegistrationNumber, s.LegalRegistration, s.LegalRegistrationType = new("IS12345"), new("4711000190"),
			new("0196")
		s.PayeeAccount, d.PaymentMeansCode = new("013326000001"), new(pick(r, "30", "42"))
		if *d.BuyerCountry == "IS" {
			d.BuyerLegalID, d.BuyerLegalIDScheme = new("4711000190"), new("0196")
		}
	case "IT":
		s.TaxRegistrationNumber = new("IT12345678901")
	}
}

// credit turns the document into a credit note of its invoice.
func (r random) credit(t *testing.T, d *document.Document) {
	t.Helper()
	request := api.CreditNoteRequest{Kind: new(api.CreditFull)}
	if r.chance(60) {
		request.Kind = new(api.CreditPartial)
		for i := range d.Draft.Items {
			quantity := d.Draft.Items[i].Quantity
			if i > 0 && r.chance(40) || quantity.String() == "0" {
				continue
			}
			item := api.CreditItemRequest{Position: new(i), Quantity: quantity}
			remaining := invoice.Remain(d.Draft, nil, r.profile.Arithmetic())
			if net := remaining.Lines[i].NetAmount; r.chance(40) && len(net) < 15 {
				amount, _ := new(big.Rat).SetString(string(net))
				if amount.Sign() != 0 {
					amount := api.MustDecimal(string(net))
					item.Quantity, item.NetAmount = nil, &amount
				}
			}
			request.Items = append(request.Items, item)
		}
	}
	if *request.Kind == api.CreditPartial && len(request.Items) == 0 {
		request.Kind = new(api.CreditFull)
	}
	credit, faults := invoice.NewCredit(d.Draft, nil, &request, r.profile.Arithmetic())
	if len(faults) > 0 {
		return // an invoice whose tax the format does not charge, so that the credit would exceed it
	}
	d.Credit = &api.CreditNote{
		ID: d.ID, CreditNoteNumber: "CN-" + strconv.Itoa(r.IntN(1e6)), IssueDate: "2026-04-01", Reason: *r.word(),
		Kind: credit.Kind, ReasonCode: new(pick(r, "DL8.61.1.A", "DL8.61.1.C", "DL8.61.1.E", "VD")),
		Currency: *d.Draft.Currency, TotalAmount: credit.Total, Items: credit.Items,
	}
}
