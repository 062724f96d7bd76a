package document

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/platform/strictjson"
)

// The rules of the API, which decide what a draft may say.
//
//nolint:gochecknoglobals // plans of types, read only
var (
	draftRules   = strictjson.For[api.Draft]()
	profileRules = strictjson.For[api.Profile]()
	creditRules  = strictjson.For[api.CreditNoteRequest]()
)

// DocumentOf is the inverse of [Statement]: it returns the document that says in a profile what a statement says, such
// as one that was read from UBL. A credit note becomes one that credits the whole of its invoice, of which it tells
// what is known. Its draft and its company profile have the form that the API asks for, but may lack what it requires.
//
// refused says why the API does not accept what the document lacks for that, by the paths of findings. Nothing is cut.
func DocumentOf(p Profile, said *api.ParsedDocument) (d Document, refused api.Faults) {
	draft, refused := accepted(draftRules, draftOf(said))
	seller, unfit := accepted(profileRules, sellerOf(said))
	for path, faults := range unfit {
		refused[invoice.SellerPath+path] = faults
	}
	d = Document{ID: text(said.UUID), Draft: draft, Seller: seller}
	given := d.Draft.TypeCode
	d.Draft.TypeCode = nil
	if m, _ := compute(p, d); text(given) != m.typeCode() { // it is not the one that its lines make it
		d.Draft.TypeCode = given
	}
	if isCreditNote(said) {
		d.Credit = creditOf(p, said, d.Draft)
	}
	return d, refused
}

// outOfScopeCredit is the type of a credit note of an invoice out of scope of tax (UNCL1001).
const outOfScopeCredit = "81"

func isCreditNote(said *api.ParsedDocument) bool {
	return said.Type == api.ReceivedCreditNote || said.Type == api.ReceivedSelfBilledCreditNote
}

// accepted returns a value without what the API does not accept of it, and why. What is absent is no fault.
func accepted[T any](rules *strictjson.Decoder[T], of *T) (*T, api.Faults) {
	encoded, err := json.Marshal(of)
	if err != nil { // these types have no value that cannot be encoded
		return new(T), api.Faults{}
	}
	value, err := strictjson.Parse(encoded)
	if err != nil { // nor one whose text is not one of JSON
		return new(T), api.Faults{}
	}
	out, faults := rules.Decode(value)
	refused := api.Faults{}
	for path, of := range faults {
		if of[0].Rule != ruleRequired {
			refused[path] = of
		}
	}
	return &out, refused
}

// draftOf returns the draft of a statement, that of the credited invoice for a credit note.
func draftOf(said *api.ParsedDocument) *api.Draft {
	d := &api.Draft{InvoiceNumber: said.Number, RecipientName: said.Buyer.Name, RecipientNetworkID: said.Buyer.NetworkID}
	draftTexts.take(d, said)
	referenceNames.take(d, &said.References)
	referenceTexts.take(d, &said.References)
	buyerTexts.take(d, &said.Buyer)
	paymentTexts.take(d, &said.Payment)
	takeMeans(d, &said.Payment)
	withoutStandIn(&d.OrderReference, d.SalesOrderReference)
	withoutStandIn(&d.ContractReference, d.ContractValue)
	d.Note = optional(strings.Join(said.Notes, "\n"))
	if time := text(d.IssueTime); len(time) > len("15:04") {
		d.IssueTime = new(time[:len("15:04")])
	}
	preceding := said.References.PrecedingInvoices
	if isCreditNote(said) {
		if d.TypeCode, d.Note = nil, nil; text(said.TypeCode) == outOfScopeCredit {
			d.TypeCode = new(outOfScopeInvoice)
		}
		switch {
		case len(preceding) > 0:
			d.InvoiceNumber, d.IssueDate, preceding = preceding[0].Number, preceding[0].IssueDate, preceding[1:]
		case text(said.ReasonCode) != volumeDiscount: // which is the only one that names no invoice
			d.InvoiceNumber, d.IssueDate = nil, nil
		}
	}
	for n := range preceding {
		d.PrecedingInvoices = append(d.PrecedingInvoices, api.PrecedingInvoice{})
		precedingTexts.take(&d.PrecedingInvoices[n], &preceding[n])
	}
	if len(invoice.Faults(&api.Draft{Currency: d.Currency})) > 0 {
		d.Currency = nil
	}
	for n := range said.Lines {
		d.Items = append(d.Items, itemOf(d.Currency, &said.Lines[n]))
	}
	for n := range said.Allowances {
		x := &said.Allowances[n]
		list := into(&d.Allowances, &d.Charges, x)
		line := allowanceOf(d.Currency, x)
		*list = append(*list, api.Allowance{Amount: line.Amount, BaseAmount: line.BaseAmount, Percent: line.Percent,
			Reason: line.Reason, ReasonCode: line.ReasonCode, VATCategory: x.VATCategory,
			VATRate: rateOf(x.VATCategory, x.VATRate)})
	}
	takeExemptions(d, said.TaxBreakdown)
	takeTotals(d, said)
	return d
}

// take gives the texts of b to a, the other way round than give.
func (p pairing[A, B]) take(a *A, b *B) {
	for _, pair := range p {
		if value := strings.TrimSpace(pair.to.Text(b)); value != "" {
			pair.from.Set(a, &value)
		}
	}
}

// withoutStandIn removes a text that stands there only because the schema wants one beside another.
func withoutStandIn(value **string, beside *string) {
	if text(*value) == notStated && beside != nil {
		*value = nil
	}
}

// takeMeans gives a draft the first way to pay.
func takeMeans(d *api.Draft, payment *api.ParsedPayment) {
	if len(payment.Means) == 0 {
		return
	}
	m := &payment.Means[0]
	meansTexts.take(d, m)
	kindTexts.take(d, m)
	debitTexts.take(d, m)
	if card := m.Card; card != nil {
		if d.PaymentCard == nil {
			d.PaymentCard = &api.PaymentCard{}
		}
		d.PaymentCard.Number = card
		withoutStandIn(&d.PaymentCard.Network, card)
	}
	if id := payment.CreditorID; id != nil {
		if d.DirectDebit == nil {
			d.DirectDebit = &api.DirectDebit{}
		}
		d.DirectDebit.CreditorID = id
	}
}

// itemOf returns the line of a draft.
func itemOf(currency *string, l *api.ParsedLine) api.Item {
	item := api.Item{}
	itemTexts.take(&item, l)
	withoutStandIn(&item.OrderLine, item.OrderReference)
	item.Quantity, item.BaseQuantity = decimalOf(l.Quantity), decimalOf(l.BaseQuantity)
	item.NetUnitPrice, item.GrossUnitPrice = decimalOf(l.NetUnitPrice), decimalOf(l.GrossUnitPrice)
	item.DiscountAmount, item.VATRate = decimalOf(l.DiscountAmount), rateOf(l.VATCategory, l.VATRate)
	for n := range l.Allowances {
		x := &l.Allowances[n]
		list := into(&item.Allowances, &item.Charges, x)
		*list = append(*list, allowanceOf(currency, x))
	}
	for n := range l.Attributes {
		item.Attributes = append(item.Attributes, api.Attribute{})
		attributeTexts.take(&item.Attributes[n], &l.Attributes[n])
	}
	return item
}

// into returns the list of an allowance or a charge.
func into[T any](allowances, charges *[]T, x *api.ParsedAllowance) *[]T {
	if x.Charge {
		return charges
	}
	return allowances
}

// allowanceOf returns an allowance or a charge. An amount of nothing follows from its percentage, because a credit note
// does not have one that is stated.
func allowanceOf(currency *string, x *api.ParsedAllowance) api.LineAllowance {
	out := api.LineAllowance{Amount: moneyOf(currency, x.Amount), BaseAmount: decimalOf(x.BaseAmount),
		Percent: decimalOf(x.Percent), Reason: x.Reason, ReasonCode: x.ReasonCode}
	if out.BaseAmount != nil && out.Percent != nil && isZero(number(out.Amount)) {
		out.Amount = nil
	}
	return out
}

// decimalOf returns a number of a draft, nil for one that the API does not accept.
func decimalOf(a *api.Amount) *api.Decimal {
	if a == nil {
		return nil
	}
	for _, spelling := range [...]string{string(*a), invoice.Shortest(string(*a))} {
		if d, err := api.ParseDecimal(spelling); err == nil {
			return &d
		}
	}
	return nil
}

// moneyOf is the same for an amount that has no more digits than the minor unit of its currency.
func moneyOf(currency *string, a *api.Amount) *api.Decimal {
	d := decimalOf(a)
	if len(invoice.Faults(&api.Draft{Currency: currency, TotalAmount: d})) > 0 {
		return nil
	}
	return d
}

// rateOf returns the rate of a category. A draft states that of 0 which some formats leave out.
func rateOf(category *string, rate *api.Amount) *api.Decimal {
	if code := text(category); rate == nil && code != "" && code != outOfScope && !invoice.Taxed(code) {
		return new(api.MustDecimal("0"))
	}
	return decimalOf(rate)
}

// takeExemptions gives the reasons of the tax breakdown to the lines of its categories, or else to the allowances and
// charges.
func takeExemptions(d *api.Draft, rows []api.ParsedTax) {
	for n := range rows {
		why, found := reason{rows[n].ExemptionCode, rows[n].ExemptionReason}, false
		explain := func(category *string, code, words **string) {
			if text(category) != text(rows[n].Category) || !why.given() {
				return
			}
			if found = true; !(reason{*code, *words}).given() {
				*code, *words = why.code, why.words
			}
		}
		for i := range d.Items {
			explain(d.Items[i].VATCategory, &d.Items[i].TaxExemptionCode, &d.Items[i].TaxExemptionReason)
		}
		for _, list := range [...][]api.Allowance{d.Allowances, d.Charges} {
			for i := range list {
				if !found {
					explain(list[i].VATCategory, &list[i].TaxExemptionCode, &list[i].TaxExemptionReason)
				}
			}
		}
	}
}

// takeTotals gives a draft the totals that its author states, and the exchange rate. A total that cannot be paid in its
// currency is what is left of it after rounding.
func takeTotals(d *api.Draft, said *api.ParsedDocument) {
	t := &said.Totals
	d.TotalAmount, d.RoundingAmount = moneyOf(d.Currency, t.Total), moneyOf(d.Currency, t.Rounding)
	d.PrepaidAmount = moneyOf(d.Currency, t.Prepaid)
	if d.TotalAmount == nil && t.Total != nil && t.Rounding != nil {
		paid := plus(decimal(string(*t.Total)), decimal(string(*t.Rounding)))
		d.TotalAmount = moneyOf(d.Currency, new(api.Amount(paid.FloatString(api.MaxScale))))
		d.RoundingAmount = nil
	}
	if d.TaxExchangeRate = decimalOf(said.TaxExchangeRate); d.TaxExchangeRate == nil {
		d.TaxExchangeRate = exchangeRate(t)
	}
}

// exchangeRate returns the shortest rate at which the totals become those in the currency of the tax, nil if there is
// none.
func exchangeRate(t *api.ParsedTotals) *api.Decimal {
	into := [...][2]*api.Amount{{t.Total, t.TotalInTaxCurrency}, {t.Tax, t.TaxInTaxCurrency}}
	for scale := range api.MaxScale + 1 {
		least := decimal("1e-" + strconv.Itoa(scale))
		for _, pair := range into {
			if pair[0] == nil || pair[1] == nil {
				continue
			}
			rate := new(big.Rat)
			if amount := decimal(string(*pair[0])); amount.Sign() != 0 {
				rate.Quo(decimal(string(*pair[1])), amount)
			}
			if rate.Cmp(least) < 0 {
				rate = least
			}
			found, err := api.ParseDecimal(rate.FloatString(scale))
			if err == nil && converts(into[:], found) {
				return &found
			}
		}
	}
	return nil
}

// converts tells whether amounts become those beside them at a rate.
func converts(into [][2]*api.Amount, rate api.Decimal) bool {
	for _, pair := range into {
		if pair[0] != nil && pair[1] != nil && cents(times(decimal(string(*pair[0])), decimal(rate.String()))).
			Cmp(decimal(string(*pair[1]))) != 0 {
			return false
		}
	}
	return true
}

// sellerOf returns the company profile of a statement.
func sellerOf(said *api.ParsedDocument) *api.Profile {
	from := &said.Seller
	s := &api.Profile{LegalName: from.Name, TaxRegistrationNumber: from.TaxID, LegalRegistration: from.LegalID,
		LegalRegistrationType: from.LegalIDScheme, LegalRegistrationAuthority: from.LegalIDIssuer,
		EndpointID: from.NetworkID}
	sellerTexts.take(s, from)
	if len(said.Payment.Means) > 0 {
		accountTexts.take(s, &said.Payment.Means[0])
	}
	return s
}

// creditOf returns the credit note of the whole draft.
func creditOf(p Profile, said *api.ParsedDocument, d *api.Draft) *api.CreditNote {
	request, _ := accepted(creditRules, &api.CreditNoteRequest{CreditNoteNumber: said.Number, IssueDate: said.IssueDate,
		Reason: optional(strings.Join(said.Notes, "\n")), ReasonCode: said.ReasonCode, Kind: new(api.CreditFull)})
	note := &api.CreditNote{ID: text(said.UUID), CreditNoteNumber: text(request.CreditNoteNumber),
		IssueDate: text(request.IssueDate), Reason: text(request.Reason), ReasonCode: request.ReasonCode,
		Kind: api.CreditFull, Currency: text(d.Currency)}
	whole := *d
	if whole.TotalAmount == nil { // no total is as good as an empty one
		whole.TotalAmount = &api.Decimal{}
	}
	credit, _ := invoice.NewCredit(&whole, nil, &api.CreditNoteRequest{Kind: &note.Kind}, p.Arithmetic())
	note.TotalAmount, note.Items = credit.Total, credit.Items
	return note
}
