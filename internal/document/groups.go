package document

import (
	"reflect"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/codelist"
)

// said tells whether a group has a text. One without is as good as absent: no document has empty elements.
func said[T any](group *T) bool {
	if group == nil {
		return false
	}
	for _, field := range reflect.ValueOf(group).Elem().Fields() {
		if value, isText := reflect.TypeAssert[*string](field); isText && text(value) != "" {
			return true
		}
	}
	return false
}

// groups checks the groups of terms, each of which a document may have or not.
func (c *checker) groups() {
	c.periods()
	c.taxPoint()
	if card := c.Draft.PaymentCard; said(card) && c.statesPaymentIn(c.profile) {
		c.need(text(card.Number), c.draftPath("payment_card.number"), ruleIDs{}, "a payment by card needs its number")
	}
	if delivery := c.Draft.Delivery; said(delivery) {
		c.delivery(delivery)
	}
	if payee := c.Draft.Payee; said(payee) {
		c.payee(payee)
	}
	if representative := c.Draft.TaxRepresentative; said(representative) {
		c.representative(representative)
	}
	c.object(c.Draft.InvoicedObject, c.Draft.InvoicedObjectScheme, c.draftPath("invoiced_object_scheme"))
	for i := range c.lines {
		item := c.lines[i].item
		c.object(item.InvoicedObject, item.InvoicedObjectScheme, c.lines[i].path+".invoiced_object_scheme")
	}
}

// periods checks the invoicing period, and that the period of each line is within it.
func (c *checker) periods() {
	whole := api.Period{}
	if c.Draft.Period != nil {
		whole = *c.Draft.Period
	}
	path := c.draftPath("period.")
	c.order(whole.Start, whole.End, path, ruleIDs{"ibr-029", "BR-29"})
	if c.profile == PINTAE {
		c.frequency(&whole, path)
	}
	for i := range c.lines {
		l := &c.lines[i]
		if l.item.Period == nil {
			continue
		}
		start, end := l.item.Period.Start, l.item.Period.End
		c.order(start, end, l.path+".period.", ruleIDs{"ibr-030", "BR-30"})
		if before(start, whole.Start) {
			c.add(l.path+".period.start", rulePeriodOrder, ruleIDs{"ibr-085", "PEPPOL-EN16931-R110"},
				"is before the period of the invoice")
		}
		if before(whole.End, end) {
			c.add(l.path+".period.end", rulePeriodOrder, ruleIDs{"ibr-086", "PEPPOL-EN16931-R111"},
				"is after the period of the invoice")
		}
	}
}

// order checks that a period does not end before it begins.
func (c *checker) order(start, end *string, path string, ids ruleIDs) {
	if before(end, start) {
		c.add(path+"end", rulePeriodOrder, ids, "is before the first day of the period")
	}
}

// before tells whether a date is before another one. In the form YYYY-MM-DD dates are ordered as texts.
func before(a, b *string) bool { return text(a) != "" && text(b) != "" && text(a) < text(b) }

// frequency checks how often a continuous supply is invoiced in the UAE.
func (c *checker) frequency(p *api.Period, path string) {
	code := text(p.Frequency)
	switch {
	case code == "" && text(p.Description) != "" && text(p.Start)+text(p.End) == "":
		c.need("", path+"start", both("ibr-co-19"), "a period has its first day, its last day or both")
	case code != "" && !codelist.BillingFrequencies().Has(code):
		c.add(path+"frequency", ruleFrequency, both("ibr-005-ae"),
			"is not a frequency of billing in the UAE: DLY, WKY, Q15, MTH, Q45, Q60, QTR, HYR, YRL or OTH")
	case code == "OTH" && c.Credit == nil:
		c.need(text(c.Draft.Note), "note", both("ibr-160-ae"), "another frequency of billing is explained in the note")
	}
}

// taxPoint checks the tax point date, and what sets it, which documents of the UAE do not say.
func (c *checker) taxPoint() {
	code, path := text(c.Draft.TaxPointCode), c.draftPath("tax_point_code")
	date := c.Draft.TaxPointDate
	if c.profile == PINTAE && c.Credit == nil && text(date) != "" && !before(date, c.Draft.IssueDate) {
		c.add("tax_point_date", ruleTaxPoint, both("ibr-141-ae"), "must be before the issue date in the UAE")
	}
	if c.profile != BIS3 || code == "" {
		return
	}
	if !codelist.TaxPoints().Has(code) {
		c.add(path, ruleTaxPoint, both("BR-CL-06"), "must be 3 for the issue date, 35 for the delivery or 432 for the payment")
	}
	if c.Credit == nil && text(date) != "" {
		c.add(path, ruleTaxPoint, both("BR-CO-03"), "and tax_point_date exclude each other")
	}
}

// delivery checks where the delivery went.
func (c *checker) delivery(d *api.DeliveryInformation) {
	path := c.draftPath("delivery.")
	if scheme := text(d.LocationScheme); text(d.LocationID) != "" && scheme != "" {
		c.interchange(scheme, path+"location_scheme", ruleIDs{"ibr-cl-26", "BR-CL-26"})
	}
	if addressOf(d) != "" {
		c.need(text(d.Country), path+"country", ruleIDs{"ibr-057", "BR-57"}, "the address of the delivery needs a country")
	}
	c.country(d.Country, path+"country", ruleIDs{"ibr-cl-14", "BR-CL-14"})
	if c.profile == PINTAE {
		c.emirate(d.Country, d.Subdivision, path+"subdivision")
	}
}

// addressOf is the address of a delivery without its country.
func addressOf(d *api.DeliveryInformation) string {
	return text(d.Street) + text(d.StreetAdditional) + text(d.AddressLine) + text(d.City) + text(d.PostalCode) +
		text(d.Subdivision)
}

// payee checks who is paid. A payee with a name or an identifier of the seller is the seller (BR-17).
func (c *checker) payee(p *api.Payee) {
	s, path := c.seller(), c.draftPath("payee.")
	ids := ruleIDs{"ibr-017", "BR-17"}
	c.need(text(p.Name), path+"name", ids, "the payee needs a name")
	same := func(a, b *string) bool { return text(a) != "" && text(a) == text(b) }
	if same(p.Name, s.TradingName) {
		c.add(path+"name", rulePayee, ids, "is the trading name of the seller: a payee is somebody else")
	}
	if same(p.Identifier, s.Identifier) {
		c.add(path+"identifier", rulePayee, ids, "is the identifier of the seller: a payee is somebody else")
	}
	if debit := c.Draft.DirectDebit; debit != nil && same(debit.CreditorID, s.Identifier) && c.statesPaymentIn(c.profile) {
		c.add(c.draftPath("direct_debit.creditor_id"), rulePayee, ids,
			"is the identifier of the seller, and the payee, whose creditor identifier it is, is somebody else")
	}
	c.partyNumber(p.Identifier, p.IdentifierScheme, path+"identifier", ruleIDs{"ibr-cl-10", "BR-CL-10"})
	c.partyNumber(p.LegalID, p.LegalIDScheme, path+"legal_id", ruleIDs{"ibr-cl-11", "BR-CL-11"})
}

// partyNumber checks the scheme of an identifier of a party, and the form that the identifier has in it.
func (c *checker) partyNumber(number, scheme *string, path string, ids ruleIDs) {
	if text(number) == "" || text(scheme) == "" {
		return
	}
	c.interchange(text(scheme), path+"_scheme", ids)
	c.identifier(text(scheme), text(number), path)
}

// representative checks who represents the seller towards the tax authority.
func (c *checker) representative(r *api.TaxRepresentative) {
	path := c.draftPath("tax_representative.")
	c.need(text(r.Name), path+"name", ruleIDs{"ibr-018", "BR-18"}, "the tax representative needs a name")
	c.need(text(r.TaxID), path+"tax_id", ruleIDs{"ibr-056", "BR-56"},
		"the tax representative needs its tax registration number")
	c.need(text(r.Country), path+"country", ruleIDs{"ibr-020", "BR-20"},
		"the address of the tax representative needs a country")
	c.country(r.Country, path+"country", ruleIDs{"ibr-cl-14", "BR-CL-14"})
	switch {
	case c.profile == PINTAE:
		if text(r.Country) == emirates {
			c.need(text(r.Subdivision), path+"subdivision", both("ibr-128-ae"),
				"the address of the tax representative needs its emirate")
		}
		c.emirate(r.Country, r.Subdivision, path+"subdivision")
		c.taxNumber(r.Country, r.TaxID, path+"tax_id")
	case c.has(outOfScope):
		c.add(path+"tax_id", ruleNotCombinable, both("BR-O-02"),
			"an invoice that is not subject to tax names no tax representative")
	default:
		c.countryPrefix(text(r.TaxID), path+"tax_id")
	}
}

// object checks the scheme of what is invoiced.
func (c *checker) object(object, scheme *string, path string) {
	if code := text(scheme); text(object) != "" && code != "" && !codelist.ObjectSchemes().Has(code) {
		c.add(path, ruleObjectScheme, ruleIDs{"ibr-cl-07", "BR-CL-07"},
			"is not a scheme of UNTDID 1153, such as MG for a meter")
	}
}

// representativeTaxID is the tax registration number of the tax representative, "" without one.
func (d Document) representativeTaxID() string {
	if d.Draft.TaxRepresentative == nil {
		return ""
	}
	return text(d.Draft.TaxRepresentative.TaxID)
}

// mandate is the reference of the mandate of a direct debit, "" without one.
func (d Document) mandate() string {
	if d.Draft.DirectDebit == nil {
		return ""
	}
	return text(d.Draft.DirectDebit.Mandate)
}

// delivered is the delivery, never nil.
func (d Document) delivered() *api.DeliveryInformation {
	if d.Draft.Delivery == nil {
		return &api.DeliveryInformation{}
	}
	return d.Draft.Delivery
}

// dated tells whether the document says when it was delivered, or for which period it is.
func (d Document) dated() bool {
	period := d.Draft.Period
	return text(d.delivered().Date) != "" || period != nil && text(period.Start)+text(period.End) != ""
}

// isDirectDebit tells whether a means of payment is one by which the seller collects the payment.
func isDirectDebit(means string) bool {
	return strings.Contains(" 49 59 ", " "+means+" ") && means != ""
}
