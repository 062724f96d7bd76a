package document

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// national checks the rules that BIS Billing 3.0 has for the sellers of some countries.
func (c *checker) national() {
	s, d := c.seller(), c.Draft
	tax := text(s.TaxRegistrationNumber)
	registered := cmp.Or(tax, c.representativeTaxID())
	registered = registered[:min(2, len(registered))]
	seller, buyer := text(s.Country), text(d.BuyerCountry)
	country := cmp.Or(registered, seller) // whose rules apply, as the rules find it out
	switch {
	case country == "EL" || country == "GR":
		c.add("seller.country", ruleNotSupported, both("GR-R-004-1"),
			"invoices of Greek sellers need the MARK number of the Greek tax authority, which there is no field for")
	case seller == "NL":
		c.dutch(buyer)
	case seller == "IS":
		c.icelandic(buyer)
	case c.withinGermany():
		c.german()
	case seller == "DK":
		c.danish(buyer)
	case seller == "SE":
		c.swedish(tax)
	}
	if country == "IT" {
		c.address("seller.", "IT-R-002", "IT-R-003", "IT-R-004")
		if id := text(s.TaxRegistrationID); id != "" && !codiceFiscale.MatchString(id) {
			c.add("seller.tax_registration_id", ruleIdentifier, both("IT-R-001"),
				"must be a codice fiscale: 11 to 16 capital letters and digits")
		}
	}
	if tax != "" && registered == "NO" && (len(tax) != 14 || !validNorwegian(tax[2:11]) || tax[11:] != "MVA") {
		c.add("seller.tax_registration_number", ruleIdentifier, both("NO-R-001"),
			"must be NO, nine digits with a check digit, and MVA")
	}
}

// codiceFiscale is the form of an Italian tax registration that is not that of the value added tax.
var codiceFiscale = regexp.MustCompile(`^[A-Z0-9]{11,16}$`)

// address requires street, city and postal code of the seller or the buyer, each with the rule that asks for it; "" for
// one that may be absent.
func (c *checker) address(of, street, city, postalCode string) {
	s, d := c.seller(), c.Draft
	who, path := "seller's", func(field string) string { return of + field }
	values := [...]*string{s.Street, s.City, s.PostalCode}
	if of == "buyer_" {
		who, path = "buyer's", func(field string) string { return c.draftPath(of + field) }
		values = [...]*string{d.BuyerStreet, d.BuyerCity, d.BuyerPostalCode}
	}
	for n, field := range [...]struct{ name, rule, what string }{
		{"street", street, "a street"}, {"city", city, "a city"}, {"postal_code", postalCode, "a postal code"},
	} {
		if field.rule != "" {
			c.need(text(values[n]), path(field.name), both(field.rule), "the "+who+" address needs "+field.what)
		}
	}
}

// registered requires that a legal registration, if there is one, is in one of some schemes.
func (c *checker) registered(number, scheme *string, path, rule, message string, schemes ...string) {
	if text(number) != "" && !slices.Contains(schemes, text(scheme)) {
		c.add(path, ruleLegalScheme, both(rule), message)
	}
}

// means requires that the means of payment, if there is one, is among some codes.
func (c *checker) means(rule, message string, codes ...string) {
	if means := text(c.Draft.PaymentMeansCode); c.Credit == nil && means != "" && !slices.Contains(codes, means) {
		c.add("payment_means_code", ruleNotSupported, both(rule), message)
	}
}

func (c *checker) dutch(buyer string) {
	const message = "the scheme of a Dutch registration is 0106 for a KVK number or 0190 for an OIN"
	s, d := c.seller(), c.Draft
	c.address("seller.", "NL-R-002", "NL-R-002", "NL-R-002")
	c.registered(s.LegalRegistration, s.LegalRegistrationType, "seller.legal_registration_type", "NL-R-003", message,
		"0106", "0190")
	if r := d.TaxRepresentative; said(r) && text(r.Country) == "NL" {
		for _, field := range [...]struct {
			value      *string
			name, what string
		}{{r.Street, "street", "a street"}, {r.City, "city", "a city"}, {r.PostalCode, "postal_code", "a postal code"}} {
			c.need(text(field.value), c.draftPath("tax_representative."+field.name), both("NL-R-006"),
				"the address of a Dutch tax representative needs "+field.what)
		}
	}
	for i := range c.lines {
		if text(c.lines[i].item.OrderLine) != "" {
			c.need(text(d.OrderReference), c.draftPath("order_reference"), both("NL-R-009"),
				"a line refers to a line of the order, so the invoice needs the order")
			break
		}
	}
	c.belowZero("NL-R-007")
	if buyer != "NL" {
		return
	}
	c.address("buyer_", "NL-R-004", "NL-R-004", "NL-R-004")
	c.registered(d.BuyerLegalID, d.BuyerLegalIDScheme, c.draftPath("buyer_legal_id_scheme"), "NL-R-005", message, "0106",
		"0190")
	c.means("NL-R-008", "within the Netherlands an invoice can be paid by 30, 48, 49, 57, 58 or 59", "30", "48", "49", "57",
		"58", "59")
}

func (c *checker) icelandic(buyer string) {
	const scheme, message = "0196", "the scheme of an Icelandic registration is 0196"
	s, d := c.seller(), c.Draft
	c.need(text(s.LegalRegistration), "seller.legal_registration_number", both("IS-R-002"),
		"an Icelandic seller gives its registration number")
	c.registered(s.LegalRegistration, s.LegalRegistrationType, "seller.legal_registration_type", "IS-R-002", message,
		scheme)
	c.address("seller.", "IS-R-003", "", "IS-R-003")
	if means := text(d.PaymentMeansCode); c.Credit == nil && (means == "9" || means == "42") {
		id := map[string]string{"9": "IS-R-006", "42": "IS-R-007"}[means]
		if means == "9" {
			c.add("payment_means_code", ruleNotSupported, both(id), "a claim of an Icelandic bank is not supported")
		} else if len(text(s.PayeeAccount)) != 12 {
			c.add("seller.payee_account", ruleIdentifier, both(id), "must be an Icelandic account of 12 characters")
		}
	}
	if buyer == "IS" {
		c.need(text(d.BuyerLegalID), c.draftPath("buyer_legal_id"), both("IS-R-004"),
			"an Icelandic buyer is named with its registration number")
		c.registered(d.BuyerLegalID, d.BuyerLegalIDScheme, c.draftPath("buyer_legal_id_scheme"), "IS-R-004", message, scheme)
		c.address("buyer_", "IS-R-005", "", "IS-R-005")
	}
}

// discount is the form of a cash discount in the payment terms of an invoice within Germany.
var discount = regexp.MustCompile(`^#SKONTO#TAGE=[0-9]+#PROZENT=[0-9]+\.[0-9]{2}(#BASISBETRAG=-?[0-9]+\.[0-9]{2})?#$`)

// german checks an invoice within Germany.
func (c *checker) german() {
	s, d := c.seller(), c.Draft
	c.address("seller.", "", "DE-R-003", "DE-R-004")
	c.address("buyer_", "", "DE-R-008", "DE-R-009")
	c.need(text(s.ContactName), "seller.contact_name", both("DE-R-005"), "the invoice names whom the buyer may ask")
	c.need(text(s.ContactPhone), "seller.contact_phone", both("DE-R-006"),
		"the seller's contact needs a telephone number")
	c.need(text(s.ContactEmail), "seller.contact_email", both("DE-R-007"),
		"the seller's contact needs an e-mail address")
	c.need(text(d.BuyerReference)+text(s.BuyerReference), c.draftPath("buyer_reference"), both("DE-R-015"),
		"the buyer needs its reference, such as the Leitweg-ID of an authority")
	c.need(text(d.PaymentMeansCode), c.draftPath("payment_means_code"), both("DE-R-001"),
		"the document must say how it is paid")
	for i := range c.lines {
		if c.lines[i].category == outOfScope {
			c.add(c.lines[i].path+".vat_category", ruleNotSupported, both("DE-R-014"),
				"within Germany every tax category needs a rate, which O has not")
		}
	}
	if delivery := c.delivered(); addressOf(delivery)+text(delivery.Country) != "" {
		c.need(text(delivery.City), c.draftPath("delivery.city"), both("DE-R-010"),
			"the address of a delivery within Germany needs a city")
		c.need(text(delivery.PostalCode), c.draftPath("delivery.postal_code"), both("DE-R-011"),
			"the address of a delivery within Germany needs a postal code")
	}
	c.germanPayment()
	if c.Credit == nil && !discountsReadable(text(d.PaymentTerms)) {
		c.add("payment_terms", rulePaymentTerms, both("DE-R-018"), "a line that begins with # must be a cash discount, "+
			"such as #SKONTO#TAGE=14#PROZENT=2.00#, and no other line may have text between # signs")
	}
}

// germanPayment checks that the means of payment has its own group of terms within Germany, and no other.
func (c *checker) germanPayment() {
	means, card, debit := text(c.Draft.PaymentMeansCode), c.Draft.PaymentCard, c.Draft.DirectDebit
	if debit == nil {
		debit = &api.DirectDebit{}
	}
	debited := text(debit.Mandate)+text(debit.DebitedAccount) != ""
	id, carded := "", said(card)
	switch means {
	case "30", "58":
		id = "DE-R-023-2"
	case "48", "54", "55":
		if id = "DE-R-024-2"; !carded {
			c.need("", c.draftPath("payment_card.number"), both("DE-R-024-1"), "a payment by card needs the card")
		}
		carded = false
	case "59":
		id = "DE-R-025-2"
	}
	if id != "" && carded {
		c.add(c.draftPath("payment_card.number"), ruleCombination, both(id), "is not for this payment method")
	}
	if id != "" && means != "59" && debited {
		c.add(c.draftPath("direct_debit.mandate"), ruleCombination, both(id), "is not for this payment method")
	}
	if debited {
		c.need(text(debit.CreditorID), c.draftPath("direct_debit.creditor_id"), both("DE-R-030"),
			"a direct debit within Germany needs the identifier of the creditor")
		c.need(text(debit.DebitedAccount), c.draftPath("direct_debit.debited_account"), both("DE-R-031"),
			"a direct debit within Germany needs the account that is debited")
	}
}

// between matches what the rule takes for a cash discount, wherever it stands in the payment terms.
var between = regexp.MustCompile(`#.+#`)

// discountsReadable tells whether the cash discounts in payment terms have the form of the rule: those at the
// beginnings of lines, and with nothing behind the last one on its line.
func discountsReadable(terms string) bool {
	found := false
	for line := range strings.SplitSeq(terms, "\n") {
		if line = strings.Trim(line, " \t\r"); strings.HasPrefix(line, "#") {
			found = true
			if !discount.MatchString(line) {
				return false
			}
		}
	}
	if !found {
		return true
	}
	all := between.FindAllStringIndex(terms, -1)
	rest := terms[all[len(all)-1][1]:] + "\n" // the document has it at the end
	return strings.HasPrefix(strings.TrimLeft(rest, " \t\r"), "\n")
}

func (c *checker) danish(buyer string) {
	const scheme, message = "0184", "the scheme of a Danish registration is 0184"
	s, d := c.seller(), c.Draft
	c.need(text(s.LegalRegistration), "seller.legal_registration_number", both("DK-R-002"),
		"a Danish seller gives its registration number")
	if text(s.LegalRegistration) != "" && text(s.LegalRegistrationType) != scheme {
		c.add("seller.legal_registration_type", ruleLegalType, both("DK-R-014"), message)
	}
	if buyer != "DK" {
		return
	}
	const needed = "on an invoice within Denmark every identifier needs its scheme"
	if text(d.BuyerIdentifier) != "" {
		c.need(text(d.BuyerIdentifierScheme), c.draftPath("buyer_identifier_scheme"), both("DK-R-013"), needed)
	}
	if text(s.Identifier) != "" {
		c.need(text(s.IdentifierScheme), "seller.identifier_scheme", both("DK-R-013"), needed)
	}
	c.registered(d.BuyerLegalID, d.BuyerLegalIDScheme, c.draftPath("buyer_legal_id_scheme"), "DK-R-017", message, scheme)
	c.danishCharges()
	c.belowZero("DK-R-016")
	c.means("DK-R-005", "within Denmark an invoice here can be paid by 1, 10, 31, 42, 48, 49, 58, 59 or 97", "1", "10", "31",
		"42", "48", "49", "58", "59", "97")
	switch means := text(d.PaymentMeansCode); {
	case c.Credit != nil:
	case means == "31" || means == "42":
		c.need(text(s.PayeeAccount), "seller.payee_account", both("DK-R-006"), "a Danish transfer needs the account")
		c.need(text(s.PayeeBankID), "seller.payee_bank_id", both("DK-R-006"),
			"a Danish transfer needs the registration number of the bank")
	case means == "49" && (d.DirectDebit == nil || text(d.DirectDebit.DebitedAccount) == ""):
		c.need("", "direct_debit.debited_account", both("DK-R-007"),
			"a Danish direct debit needs the account that is debited")
	}
}

// belowZero refuses a credit note that asks for a payment.
func (c *checker) belowZero(id string) {
	if c.Credit != nil && strings.HasPrefix(string(c.Credit.TotalAmount), "-") {
		c.add("total_amount", ruleNegativeTotal, both(id), "a credit note here is not below zero: write an invoice instead")
	}
}

// danishCharges checks other taxes than the value added tax, which are charges with a code of their own.
func (c *checker) danishCharges() {
	check := func(all []allowance) {
		for i := range all {
			tax := text(all[i].reason)
			category := len(tax) == 4 && digits(tax, 4)
			named := strings.Contains(tax, "#") && !strings.HasPrefix(tax, "#") && !strings.HasSuffix(tax, "#")
			if text(all[i].reasonCode) == "ZZZ" && !category && !named {
				c.add(all[i].path+".reason", ruleAllowanceReason, both("DK-R-004"),
					"on an invoice within Denmark the reason of another tax, ZZZ, is its category of four digits, or has a # inside")
			}
		}
	}
	check(c.allowances)
	for i := range c.lines {
		check(c.lines[i].allowances)
	}
}

func (c *checker) swedish(tax string) {
	if strings.HasPrefix(tax, "SE") {
		if !digits(tax[2:], 12) {
			c.add("seller.tax_registration_number", ruleIdentifier, both("SE-R-001"), "must be SE and twelve digits")
		}
		for i := range c.lines {
			l := &c.lines[i]
			if l.category == standardRate && l.percent != "" && !slices.Contains([]string{"25", "12", "6"}, l.percent) {
				c.add(l.path+".vat_rate", ruleTaxRate, both("SE-R-006"), "the standard rates in Sweden are 25, 12 and 6")
			}
		}
		for i := range c.allowances {
			x := &c.allowances[i]
			if rate := invoice.Shortest(x.Rate); rate != "" && !slices.Contains([]string{"25", "12", "6"}, rate) &&
				x.Category == standardRate {
				c.add(x.path+".vat_rate", ruleTaxRate, both("SE-R-006"), "the standard rates in Sweden are 25, 12 and 6")
			}
		}
	}
	s := c.seller()
	if id := text(s.TaxRegistrationID); id != "" && text(s.LegalRegistration) != "" &&
		strings.ToUpper(id) != "GODKÄND FÖR F-SKATT" {
		c.add("seller.tax_registration_id", ruleIdentifier, both("SE-R-005"), "must say Godkänd för F-skatt")
	}
	if registration := text(s.LegalRegistration); registration != "" && !validSwedish(registration) {
		c.add("seller.legal_registration_number", ruleIdentifier, both("SE-R-013"),
			"must be a Swedish organisation number: ten digits with a check digit")
	}
}
