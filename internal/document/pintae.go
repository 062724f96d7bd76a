package document

import (
	"fmt"
	"math/big"
	"strings"

	"quittance/internal/document/codelist"
)

const (
	emirates = "AE"
	// emiratiScheme is the electronic address scheme of UAE tax identification numbers.
	emiratiScheme = "0235"
	// The schemes of commodity_code that PINT-AE has elements for: tariff numbers of goods, accounting codes of services,
	// and GTIN.
	tariffScheme  = "HS"
	serviceScheme = "SAC"
	articleScheme = "0160"
	// volumeDiscount is the reason of a credit note that refers to no invoice (ibr-055-ae).
	volumeDiscount = "VD"
	// The kinds of legal registration that need a name beside the number.
	tradeLicence = "TL"
	passport     = "PAS"
)

// The positions of the transaction flags (BTAE-02).
const (
	flagFreeZone = iota
	flagDeemed
	flagMargin
	flagSummary
	flagContinuous
	flagAgent
	flagCommerce
	flagExport
)

// noFlags are the transaction flags of an ordinary supply.
const noFlags = "00000000"

// flags returns the transaction flags, eight digits.
func (d Document) flags() string {
	if flags := text(d.Draft.TransactionFlags); flags != "" {
		return flags
	}
	return noFlags
}

// pintAE adds what PINT-AE needs beyond both profiles.
func (c *checker) pintAE() {
	c.emiratiSeller()
	c.emiratiBuyer()
	c.emiratiFlags()
	for i := range c.lines {
		c.emiratiLine(&c.lines[i])
	}
	c.oneRate(reverseCharge, "aligned-ibrp-ae-08-ae")
	c.oneRate(marginScheme, "ibr-105-ae")
	if c.Credit != nil {
		reason := text(c.Credit.ReasonCode)
		c.need(reason, "reason_code", both("ibr-158-ae"),
			"a credit note needs its coded reason: DL8.61.1.A to E, or VD for a volume discount")
		if reason != "" && !codelist.CreditReasons().Has(reason) {
			c.add("reason_code", ruleReasonCode, both("ibr-001-ae"),
				"is not a reason for a credit note in the UAE: DL8.61.1.A to E, or VD for a volume discount")
		}
	}
}

func (c *checker) emiratiSeller() {
	s := c.seller()
	address := both("ibr-143-ae")
	c.need(text(s.Street), "seller.street", address, "the seller's address needs a street")
	c.need(text(s.City), "seller.city", address, "the seller's address needs a city")
	c.need(text(s.Subdivision), "seller.subdivision", address, "the seller's address needs its emirate or subdivision")
	c.emirate(s.Country, s.Subdivision, "seller.subdivision")
	if !c.outsideTax(c.lines, c.allowances) {
		c.need(text(s.TaxRegistrationNumber), "seller.tax_registration_number", both("ibr-134-ae"),
			"a tax invoice needs the seller's tax registration number")
	}
	c.taxNumber(s.Country, s.TaxRegistrationNumber, "seller.tax_registration_number")
	if id := text(s.TaxRegistrationID); id != "" && (!digits(id, 10) || id[0] != '1') {
		c.add("seller.tax_registration_id", ruleIdentifier, both("ibr-148-ae"),
			"must be a tax identification number (TIN): ten digits that begin with 1")
	}

	number, kind, issuer := text(s.LegalRegistration), text(s.LegalRegistrationType), text(s.LegalRegistrationAuthority)
	local := text(s.EndpointScheme) == emiratiScheme
	if local {
		c.need(number, "seller.legal_registration_number", both("ibr-150-ae"),
			"a seller with a UAE electronic address gives its legal registration number")
	} else if text(s.TaxRegistrationNumber) == "" {
		c.need(number, "seller.legal_registration_number", both("ibr-co-26"),
			"the seller is identified by its tax registration or its legal registration")
	}
	if number == "" {
		return
	}
	if local {
		c.need(kind, "seller.legal_registration_type", both("ibr-181-ae"),
			"say what the legal registration is: TL trade licence, EID Emirates ID, PAS passport or CD cabinet decision")
	}
	if kind != "" && !codelist.LegalRegistrationTypes().Has(kind) {
		c.add("seller.legal_registration_type", ruleLegalType, both("ibr-173-ae"),
			"must be TL trade licence, EID Emirates ID, PAS passport or CD cabinet decision")
	}
	switch kind {
	case tradeLicence:
		c.need(issuer, "seller.legal_registration_authority", both("ibr-172-ae"),
			"a trade licence needs the name of the authority that issued it")
	case passport:
		c.passport(s.LegalRegistrationAuthority, "seller.legal_registration_authority", "ibr-012-ae")
	}
}

// passport checks the issuer of a passport.
func (c *checker) passport(issuer *string, path, rule string) {
	c.need(text(issuer), path, both(rule), "a passport needs the country that issued it, two capital letters")
	if country := text(issuer); country != "" && !isoCountry(country) {
		c.add(path, rulePassportIssuer, both(rule), "must be the country that issued the passport, two capital letters")
	}
}

// isoCountry tells whether a code is a country of ISO 3166-1. Kosovo and Northern Ireland have codes of their own in
// the list, which the rule for passports does not accept.
func isoCountry(code string) bool {
	return code != "1A" && code != "XI" && codelist.Countries().Accepts(code, codelist.PINTAE)
}

func (c *checker) emiratiBuyer() {
	d := c.Draft
	c.need(text(d.BuyerSubdivision), c.draftPath("buyer_subdivision"), both("ibr-144-ae"),
		"the buyer's address needs its emirate or subdivision")
	c.emirate(d.BuyerCountry, d.BuyerSubdivision, c.draftPath("buyer_subdivision"))
	c.taxNumber(d.BuyerCountry, d.BuyerTaxID, c.draftPath("buyer_tax_id"))

	local, address := text(d.BuyerEndpointScheme) == emiratiScheme, text(d.RecipientNetworkID)
	if local && (!digits(address, 10) || address[0] != '1') && c.flags()[flagExport] != '1' {
		c.need(text(d.BuyerTaxID)+text(d.BuyerIdentifier), c.draftPath("buyer_tax_id"), both("ibr-135-ae"),
			"a buyer whose UAE electronic address is not a ten-digit tax number that begins with 1 needs its tax registration "+
				"number or another identifier, buyer_identifier")
	}
	id, kind := text(d.BuyerLegalID), text(d.BuyerLegalIDScheme)
	if c.outsideTax(c.lines, c.allowances) {
		c.need(id, c.draftPath("buyer_legal_id"), both("ibr-136-ae"),
			"an invoice without any taxable line needs the buyer's legal registration")
	}
	if id == "" {
		return
	}
	switch {
	case kind == tradeLicence:
		c.need(text(d.BuyerLegalIDIssuer), c.draftPath("buyer_legal_id_issuer"), both("ibr-101-ae"),
			"a trade licence needs the name of the authority that issued it")
	case kind == passport:
		c.passport(d.BuyerLegalIDIssuer, c.draftPath("buyer_legal_id_issuer"), "ibr-010-ae")
	case codelist.LegalRegistrationTypes().Has(kind):
	case local:
		c.add(c.draftPath("buyer_legal_id_scheme"), ruleLegalType, both("ibr-180-ae"),
			"must say what the buyer's legal registration is: TL trade licence, EID Emirates ID, PAS passport or CD cabinet "+
				"decision")
	default:
		c.legalScheme(kind, id)
	}
}

// legalScheme checks the scheme of the buyer's legal registration, and the form of the number in it.
func (c *checker) legalScheme(scheme, id string) {
	if scheme != "" && !interchangeScheme(scheme) {
		c.add(c.draftPath("buyer_legal_id_scheme"), ruleLegalScheme, ruleIDs{"ibr-cl-11", "BR-CL-11"},
			"is not a scheme of ISO 6523, four digits such as 0060")
	}
	c.identifier(scheme, id, c.draftPath("buyer_legal_id"))
}

// emirate checks a subdivision of the United Arab Emirates. The official rule is never reached for seller and buyer, so
// the official rules let other texts pass.
func (c *checker) emirate(country, subdivision *string, path string) {
	if text(country) == emirates && text(subdivision) != "" && !codelist.Emirates().Has(text(subdivision)) {
		c.add(path, ruleEmirate, both("ibr-128-ae"), "must be the code of an emirate: AUH, DXB, SHJ, UAQ, FUJ, AJM or RAK")
	}
}

// taxNumber checks a tax registration number of a party in the United Arab Emirates (TRN).
func (c *checker) taxNumber(country, number *string, path string) {
	n := text(number)
	if text(country) == emirates && n != "" && (!digits(n, 15) || n[0] != '1' || !strings.HasSuffix(n, "03")) {
		c.add(path, ruleIdentifier, both("ibr-132-ae"),
			"must be a tax registration number: 15 digits that begin with 1 and end with 03, without a country prefix")
	}
}

// emiratiFlags checks what the kinds of supply need.
func (c *checker) emiratiFlags() {
	is := func(flag int) bool { return c.flags()[flag] == '1' }
	d := c.Draft
	if is(flagFreeZone) {
		c.need(text(d.BeneficiaryID), c.draftPath("beneficiary_id"), both("ibr-007-ae"),
			"a supply that involves a free trade zone names its beneficiary")
	}
	if period := d.Period; is(flagSummary) && !said(period) {
		c.need("", c.draftPath("period.start"), both("ibr-138-ae"), "a summary invoice gives the period that it is for")
	}
	if is(flagAgent) {
		c.principal()
	}
	if is(flagCommerce) {
		c.deliveryAddress("ibr-142-ae", "electronic commerce")
	}
	if is(flagExport) {
		c.need(text(c.delivered().Country), c.draftPath("delivery.country"), both("ibr-152-ae"),
			"an export names the country that it goes to")
		if text(c.delivered().Country) != emirates {
			c.deliveryAddress("ibr-152-ae", "an export")
		}
	}
	if c.outsideTax(c.lines, c.allowances) && (is(flagDeemed) || is(flagMargin) || is(flagSummary)) {
		c.add(c.draftPath("transaction_flags"), ruleNotCombinable, both("ibr-157-ae"),
			"a deemed supply, the margin scheme or a summary invoice needs a taxable line")
	}
}

// deliveryAddress requires the address of the delivery.
func (c *checker) deliveryAddress(id, supply string) {
	d, path := c.delivered(), c.draftPath("delivery.")
	c.need(text(d.Street), path+"street", both(id), supply+" needs the street of the delivery")
	c.need(text(d.City), path+"city", both(id), supply+" needs the city of the delivery")
	c.need(text(d.Subdivision), path+"subdivision", both(id), supply+" needs the emirate or subdivision of the delivery")
}

// principal checks in whose name an agent invoices.
func (c *checker) principal() {
	principal, path := text(c.Draft.PrincipalID), c.draftPath("principal_id")
	c.need(principal, path, both("ibr-137-ae"), "an invoice of an agent names the tax registration of the principal")
	c.need(text(c.seller().TaxRegistrationNumber)+text(c.seller().TaxRegistrationID), "seller.tax_registration_number",
		both("ibr-177-ae"), "an agent is named with its own tax registration number")
	c.taxNumber(new(emirates), c.Draft.PrincipalID, path)
	if principal != "" && principal == text(c.seller().TaxRegistrationNumber) {
		c.add(path, rulePrincipal, both("ibr-176-ae"), "is the seller's own tax registration number")
	}
}

func (c *checker) emiratiLine(l *line) {
	c.need(text(l.item.Description), l.path+".description", both("ibr-125-ae"),
		"the line needs a description beside its name")
	if l.price != "" && decimal(l.discount).Sign() == 0 {
		c.need(l.gross, l.path+".gross_unit_price", both("ibr-126-ae"),
			"the line needs its gross price, which equals the net price without a discount")
	}
	c.emiratiTax(l)
	c.emiratiSupply(l)
}

// emiratiSupply checks what the item is, and its classification.
func (c *checker) emiratiSupply(l *line) {
	code, scheme := text(l.item.CommodityCode), text(l.item.CommodityScheme)
	if code != "" && scheme != tariffScheme && scheme != serviceScheme && scheme != articleScheme {
		c.add(l.path+".commodity_scheme", ruleCommodity, both("ibr-188-ae"),
			"must be HS for a tariff number, SAC for a service accounting code or 0160 for a GTIN")
	}
	service := text(l.item.ServiceCode)
	if service != "" && code != "" && scheme == serviceScheme {
		c.add(l.path+".service_code", ruleCommodity, ruleIDs{}, "and commodity_scheme SAC exclude each other")
	}
	kind := text(l.item.SupplyType)
	if kind != "" && !codelist.SupplyTypes().Has(kind) {
		c.add(l.path+".supply_type", ruleSupplyType, both("ibr-184-ae"), "must be G for goods, S for services or B for both")
	}
	goods, services := code != "" && scheme == tariffScheme, service != "" || code != "" && scheme == serviceScheme
	if (kind == "G" || kind == "B") && !goods {
		c.need("", l.path+".commodity_code", both("ibr-184-ae"), "goods need their tariff number, with commodity_scheme HS")
	}
	if (kind == "S" || kind == "B") && !services {
		c.need("", l.path+".service_code", both("ibr-185-ae"), "services need their service accounting code")
	}
}

// emiratiTax checks the category of a line, its rate and what goes with it.
func (c *checker) emiratiTax(l *line) {
	path := l.path + ".vat_rate"
	if margin := c.flags()[flagMargin] == '1'; l.category != "" && margin != (l.category == marginScheme) {
		c.add(l.path+".vat_category", ruleNotCombinable, both("ibr-116-ae"),
			"category N and the transaction flag of the margin scheme go together, in every line")
	}
	rate := number(l.item.VATRate)
	if rate == "" {
		return
	}
	value := decimal(rate)
	switch l.category {
	case standardRate:
		if value.Sign() != 0 && value.Cmp(big.NewRat(5, 1)) != 0 { // 0 contradicts the category in every profile
			c.add(path, ruleTaxRate, both("ibr-190-ae"), "the standard rate in the UAE is 5")
		}
	case marginScheme:
		if value.Sign() == 0 {
			c.add(path, ruleTaxRate, both("ibr-111-ae"), "a line of the margin scheme needs the rate of the tax in its price")
		}
	}
	c.emiratiReason(l)
}

// emiratiReason checks why no tax is charged, where PINT-AE asks for it.
func (c *checker) emiratiReason(l *line) {
	code := text(l.item.TaxExemptionCode)
	path := l.path + ".tax_exemption_code"
	switch l.category {
	case exempt:
		c.need(code, path, both("ibr-167-ae"), "an exempt line needs the code of its exemption, DL8.46.1 to DL8.46.4")
	case reverseCharge:
		c.need(code, path, both("ibr-166-ae"),
			"a line with reverse charge needs the code of its goods or services, such as DL8.48.8.1")
		if reason, known := codelist.TaxExemptions().Lookup(code); code != "" && (!known || !reason.ReverseCharge) {
			c.add(path, ruleTaxExemption, both("ibr-006-ae"),
				"is not a kind of reverse charge: DL8.48.3.1 to DL8.48.3.3, DL8.48.8.1 or DL8.48.8.2")
		}
		c.need(text(c.Draft.BuyerTaxID), c.draftPath("buyer_tax_id"), both("ibr-103-ae"),
			"reverse charge needs the buyer's tax registration number")
		if !l.hasGTIN() {
			c.add(l.path+".commodity_code", ruleRequired, both("ibr-174-ae"),
				"a line with reverse charge needs its GTIN, with commodity_scheme 0160")
		}
	}
}

// hasGTIN tells whether a line has the GTIN of its item.
func (l *line) hasGTIN() bool {
	return text(l.item.StandardItemCode) != "" && text(l.item.StandardItemScheme) == articleScheme ||
		text(l.item.CommodityCode) != "" && text(l.item.CommodityScheme) == articleScheme
}

// oneRate requires that all lines of a category have one rate, because the rules allow it one entry in the tax
// breakdown.
func (c *checker) oneRate(category, id string) {
	first := ""
	for i := range c.lines {
		l := &c.lines[i]
		switch {
		case l.category != category || l.percent == "":
		case first == "":
			first = l.percent
		case l.percent != first:
			c.add(l.path+".vat_rate", ruleTaxRate, both(id),
				fmt.Sprintf("all lines of category %s need the same rate, here %s", category, first))
		}
	}
}
