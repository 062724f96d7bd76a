package document

import (
	"slices"
	"strings"

	"quittance/internal/document/codelist"
)

// bis3 adds what BIS Billing 3.0 needs beyond both profiles.
func (c *checker) bis3() {
	d, s := c.Draft, c.seller()
	if text(d.BuyerReference)+text(d.OrderReference)+text(s.BuyerReference) == "" {
		c.need("", c.draftPath("buyer_reference"), both("PEPPOL-EN16931-R003"),
			"the buyer needs a reference: a buyer reference or an order reference")
	}
	if means := text(d.PaymentMeansCode); (c.Credit == nil || c.withinGermany()) && isDirectDebit(means) {
		c.need(c.mandate(), c.draftPath("direct_debit.mandate"), both("PEPPOL-EN16931-R061"),
			"a direct debit needs the reference of its mandate")
	}
	c.taxNumbers()
	if scheme := text(d.BuyerLegalIDScheme); text(d.BuyerLegalID) != "" && !codelist.LegalRegistrationTypes().Has(scheme) {
		c.legalScheme(scheme, text(d.BuyerLegalID))
	}
	if kind := text(s.LegalRegistrationType); interchangeScheme(kind) {
		c.identifier(kind, text(s.LegalRegistration), "seller.legal_registration_number")
	}
	for i := range c.lines {
		c.unionLine(&c.lines[i])
	}
	c.reasons()
	c.national()
}

// has tells whether a line has a category, or an allowance or a charge on the document.
func (c *checker) has(category string) bool {
	return slices.ContainsFunc(c.lines, func(l line) bool { return l.category == category }) ||
		slices.ContainsFunc(c.allowances, func(x allowance) bool { return x.Category == category })
}

// taxNumbers checks the tax numbers of both parties. A document that is not subject to tax shows none (BR-O-02).
func (c *checker) taxNumbers() {
	s, d := c.seller(), c.Draft
	number, registration := text(s.TaxRegistrationNumber), text(s.LegalRegistration)
	if c.has(outOfScope) {
		c.need(registration+text(s.Identifier), "seller.legal_registration_number", both("BR-CO-26"),
			"an invoice that is not subject to tax identifies the seller by its legal registration")
		return
	}
	known := number + c.representativeTaxID()
	if !c.has(intraUnion) && !c.has(export) { // which need a number of the value added tax
		known += text(s.TaxRegistrationID)
	}
	c.need(known, "seller.tax_registration_number", both("BR-S-02"),
		"the invoice needs the seller's tax registration number")
	if number == "" {
		c.need(registration+text(s.Identifier), "seller.legal_registration_number", both("BR-CO-26"),
			"a seller without a number of the value added tax is identified by its legal registration")
	}
	c.countryPrefix(number, "seller.tax_registration_number")
	c.countryPrefix(text(d.BuyerTaxID), c.draftPath("buyer_tax_id"))
	if c.has(reverseCharge) && text(d.BuyerTaxID) == "" {
		c.need(text(d.BuyerLegalID), c.draftPath("buyer_tax_id"), both("BR-AE-02"),
			"reverse charge needs the buyer's tax registration number")
	}
	if c.has(intraUnion) {
		c.intraUnion()
	}
}

// intraUnion checks a supply to another country of the EU.
func (c *checker) intraUnion() {
	c.need(text(c.Draft.BuyerTaxID), c.draftPath("buyer_tax_id"), both("BR-IC-02"),
		"a supply within the EU needs the buyer's tax registration number")
	c.need(text(c.delivered().Country), c.draftPath("delivery.country"), both("BR-IC-12"),
		"a supply within the EU names the country of the delivery")
	if !c.dated() {
		c.need("", c.draftPath("delivery.date"), both("BR-IC-11"),
			"a supply within the EU needs the date of the delivery, or its period")
	}
}

// countryPrefix checks that a tax number begins with the code of a country; Greece uses EL.
func (c *checker) countryPrefix(number, path string) {
	if number == "" || len(number) > 2 && (number[:2] == "EL" ||
		codelist.Countries().Accepts(number[:2], codelist.EN16931)) {
		return
	}
	c.add(path, ruleIdentifier, both("BR-CO-09"), "must begin with the code of its country, such as DE123456789")
}

// unionLine checks the tax of a line, and its classification.
func (c *checker) unionLine(l *line) {
	c.unionCategory(l.category, l.path+".vat_category")
	if rate := number(l.item.VATRate); l.category == reverseCharge && rate != "" && decimal(rate).Sign() != 0 {
		c.add(l.path+".vat_rate", ruleTaxRate, both("BR-AE-05"), "the rate of a line with reverse charge is 0")
	}
	if scheme := text(l.item.CommodityScheme); text(l.item.CommodityCode) != "" && scheme != articleScheme &&
		!codelist.ItemClassifications().Has(scheme) {
		c.add(l.path+".commodity_scheme", ruleCommodity, both("BR-CL-13"),
			"is not a scheme of UNTDID 7143, such as HS for a tariff number, or 0160 for a GTIN")
	}
}

// unionCategory checks the tax category of a line, or of an allowance or a charge on the document.
func (c *checker) unionCategory(category, path string) {
	switch category {
	case "", standardRate, zeroRated, exempt, reverseCharge, export, outOfScope, intraUnion, canaryTax, ceutaTax:
	default:
		if codelist.TaxCategories().Accepts(category, c.profile.ruleSets()...) { // otherwise it is reported already
			c.add(path, ruleNotSupported, ruleIDs{}, "is a tax that documents here do not support")
		}
	}
	if category == outOfScope && c.subject {
		c.add(path, ruleNotCombinable, both("BR-O-12"),
			"what is not subject to tax cannot be on one invoice with what is")
	}
}

// unionReasons are the reasons that belong to one category (PEPPOL-EN16931-P0104 to P0111).
var unionReasons = map[string]struct{ category, id string }{ //nolint:gochecknoglobals // a constant table
	"VATEX-EU-G":  {export, "PEPPOL-EN16931-P0104"},
	"VATEX-EU-O":  {outOfScope, "PEPPOL-EN16931-P0105"},
	"VATEX-EU-IC": {intraUnion, "PEPPOL-EN16931-P0106"},
	"VATEX-EU-AE": {reverseCharge, "PEPPOL-EN16931-P0107"},
	"VATEX-EU-D":  {exempt, "PEPPOL-EN16931-P0108"},
	"VATEX-EU-F":  {exempt, "PEPPOL-EN16931-P0109"},
	"VATEX-EU-I":  {exempt, "PEPPOL-EN16931-P0110"},
	"VATEX-EU-J":  {exempt, "PEPPOL-EN16931-P0111"},
}

// categoryRule is the identifier of a rule of EN 16931 that exists for each tax category.
func categoryRule(category, number string) string {
	if category == intraUnion {
		category = "IC"
	}
	return "BR-" + category + "-" + number
}

// reasons checks why no tax is charged. The document says it once for each category, in the tax breakdown: one line, or
// an allowance or a charge, must say it, and no other anything else.
func (c *checker) reasons() {
	type given struct {
		path string
		reason
	}
	first, order := map[string]given{}, []string(nil)
	check := func(category string, found given) {
		if !reasoned(category) {
			return
		}
		said, known := first[category]
		if !known {
			order = append(order, category)
		}
		switch {
		case !known || !said.given() && found.given():
			first[category] = found
		case found.given() && (text(said.code) != text(found.code) || text(said.words) != text(found.words)):
			c.add(found.path+".tax_exemption_reason", ruleNotCombinable, both(categoryRule(category, "01")),
				"an invoice gives one reason for all that is of category "+category)
		}
	}
	for i := range c.lines {
		check(c.lines[i].category, given{c.lines[i].path, c.lines[i].reason()})
	}
	for i := range c.allowances {
		check(c.allowances[i].Category, given{c.allowances[i].path, c.allowances[i].exemption()})
	}
	for _, category := range order {
		found := first[category]
		code, path := text(found.code), found.path+".tax_exemption_code"
		if !found.given() {
			c.need("", found.path+".tax_exemption_reason", both(categoryRule(category, "10")),
				"the invoice must say why no tax is charged: a reason or its code")
		}
		if code != "" && !codelist.ExemptionReasons().Has(code) {
			c.add(path, ruleTaxExemption, both("BR-CL-22"), "is not a reason of the list VATEX, such as VATEX-EU-AE")
		}
		if of, ok := unionReasons[strings.ToUpper(code)]; ok && of.category != category {
			c.add(path, ruleTaxExemption, both(of.id), "is a reason of category "+of.category)
		}
	}
}
