package rules

import (
	"regexp"
	"slices"
	"strings"

	"quittance/internal/document/codelist"
)

var countryPrefix = regexp.MustCompile(`^[A-Z0-9][A-Z].`)

// european checks the rules of BIS Billing 3.0 and EN 16931 about references, payment, parties and tax.
func (j *judge) european() {
	r := j.root
	check := func(holds bool, at *element, id, text string) { j.check(holds, at, rule{bis3: id}, text) }
	check(r.get("cbc:BuyerReference") != "" || r.get("cac:OrderReference/cbc:ID") != "", r, "PEPPOL-EN16931-R003",
		"The document needs a buyer reference or an order reference.")
	kind := r.get("cbc:" + r.name + "TypeCode")
	if r.name == "Invoice" {
		check(codelist.DocumentTypes().Accepts(kind, j.sets...), r, "PEPPOL-EN16931-P0100",
			"The type of the invoice is not on the code list of the format.")
		german := country(r, sellerPath) == "DE" && country(r, buyerPath) == "DE"
		check(german || kind != "326" && kind != "384", r, "PEPPOL-EN16931-P0112",
			"This type of invoice is only for a seller and a buyer in Germany.")
	} else {
		check(slices.Contains(strings.Fields(creditNoteTypes), kind), r, "PEPPOL-EN16931-P0101",
			"The type of the credit note is not on the code list of the format.")
	}
	withBreakdown := 0
	for _, t := range r.all("cac:TaxTotal") {
		if t.first("cac:TaxSubtotal") != nil {
			withBreakdown++
		}
	}
	check(withBreakdown == 1, r, "PEPPOL-EN16931-R053", "The document needs one breakdown of tax.")
	for _, means := range r.all("cac:PaymentMeans") {
		code := means.get("cbc:PaymentMeansCode")
		check(code != "", means, "BR-49", "The payment needs its means.")
		check(code == "" || codelist.PaymentMeans().Accepts(code, j.sets...), means, "BR-CL-16",
			"The means of payment is not on the code list of the format.")
		check(code != "30" && code != "58" || means.get("cac:PayeeFinancialAccount/cbc:ID") != "", means, "BR-61",
			"A credit transfer needs the account to pay to.")
		check(code != "49" && code != "59" || means.get("cac:PaymentMandate/cbc:ID") != "", means, "PEPPOL-EN16931-R061",
			"A direct debit needs its mandate.")
	}
	j.europeanParties()
}

// creditNoteTypes are the types of credit notes for billing (PEPPOL-EN16931-P0101).
const creditNoteTypes = "381 396 81 83 532"

// country is the country of the party at a path.
func country(r *element, party string) string {
	return r.get(party + "/cac:PostalAddress/cac:Country/cbc:IdentificationCode")
}

// europeanParties checks the identifiers of the parties, which depend on the tax categories of the document.
func (j *judge) europeanParties() {
	r := j.root
	check := func(holds bool, at *element, id, text string) { j.check(holds, at, rule{bis3: id}, text) }
	seller, buyer := r.first(sellerPath).or(r), r.first(buyerPath).or(r)
	sellerTax, buyerTax := seller.get("cac:PartyTaxScheme/cbc:CompanyID"), buyer.get("cac:PartyTaxScheme/cbc:CompanyID")
	registered := seller.get("cac:PartyLegalEntity/cbc:CompanyID") + seller.get("cac:PartyIdentification/cbc:ID")
	check(vatID(seller) != "" || registered != "", seller, "BR-CO-26",
		"The seller needs a tax identifier, a legal registration or another identifier.")
	represented := r.get("cac:TaxRepresentativeParty/cac:PartyTaxScheme/cbc:CompanyID") != ""
	for _, party := range []*element{seller, buyer} {
		id := vatID(party)
		check(id == "" || countryPrefix.MatchString(id), party, "BR-CO-09",
			"The tax identifier must begin with the code of its country.")
	}
	for _, s := range r.all("cac:TaxTotal/cac:TaxSubtotal") {
		category := s.get("cac:TaxCategory/cbc:ID")
		if !codelist.TaxCategories().Accepts(category, j.sets...) {
			continue
		}
		reason := s.get("cac:TaxCategory/cbc:TaxExemptionReason") + s.get("cac:TaxCategory/cbc:TaxExemptionReasonCode")
		j.check((reason == "") == (charged(category) || category == "Z"), s, categoryRule(category, "10"),
			"A reason why no tax is charged is missing, or present where tax is charged.")
		if category == "O" {
			check(vatID(seller) == "" && vatID(buyer) == "" && !represented, r, "BR-O-02",
				"A document that is not subject to tax names no tax identifier.")
			continue
		}
		j.check(sellerTax != "" || represented, seller, categoryRule(category, "02"),
			"The seller needs a tax identifier in this category.")
		if category == "AE" {
			check(buyerTax != "" || buyer.get("cac:PartyLegalEntity/cbc:CompanyID") != "", buyer, "BR-AE-02",
				"The buyer needs a tax identifier or a legal registration for reverse charge.")
		}
	}
	categories := map[string]bool{}
	for _, id := range r.all("cac:TaxTotal/cac:TaxSubtotal/cac:TaxCategory/cbc:ID") {
		categories[id.value()] = true
	}
	check(!categories["O"] || len(categories) == 1, r, "BR-O-11",
		"A document that is not subject to tax has no other category.")
	for _, line := range r.lines() {
		category := line.first(linesCategory)
		if id := category.get("cbc:ID"); id == "O" {
			check(category.get("cbc:Percent") == "", line, "BR-O-05", "A line that is not subject to tax has no rate.")
		} else if codelist.TaxCategories().Accepts(id, j.sets...) && id != "L" && id != "M" {
			positive := category.number("cbc:Percent").Sign() > 0
			j.check(positive == charged(id), line, categoryRule(id, "05"),
				"The rate is zero where tax is charged, or another where it is not.")
		}
	}
}

// vatID is the identifier of a party for VAT.
func vatID(party *element) string {
	for _, scheme := range party.all("cac:PartyTaxScheme") {
		if scheme.get("cac:TaxScheme/cbc:ID") == "VAT" {
			return scheme.get("cbc:CompanyID")
		}
	}
	return ""
}
