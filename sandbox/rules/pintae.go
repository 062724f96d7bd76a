package rules

import (
	"math/big"
	"regexp"

	"quittance/internal/document/codelist"
)

var (
	flagsForm = regexp.MustCompile(`^[01]{8}$`)
	trnForm   = regexp.MustCompile(`^1\d{12}03$`)
	tinForm   = regexp.MustCompile(`^1\d{9}$`)
)

// emiratiDocument checks the rules of PINT-AE about the whole document.
func (j *judge) emiratiDocument() {
	r := j.root
	check := func(holds bool, at *element, id, text string) { j.check(holds, at, rule{pintAE: id}, text) }
	kind := r.get("cbc:" + r.name + "TypeCode")
	types := map[string]map[string]bool{"Invoice": {"380": true, "480": true}, "CreditNote": {"381": true, "81": true}}
	check(kind == "" || types[r.name][kind], r, "ibr-cl-01",
		"The type of the document is not on the code list of the format.")
	check(flagsForm.MatchString(r.get("cbc:ProfileExecutionID")), r, "ibr-154-ae",
		"The kinds of supply must be eight digits 0 or 1.")
	check(r.get("cbc:UUID") != "", r, "ibr-193-ae", "The document needs a unique identifier.")
	taxed := false
	for _, line := range r.lines() {
		category := line.get(linesCategory + "/cbc:ID")
		taxed = taxed || category != "E" && category != "O"
	}
	check(taxed || j.outOfScope(), r, "ibr-151-ae",
		"A document whose lines are all exempt or out of scope must have the type 480 or 81.")
	deemed := j.flag(2)
	if r.name == "Invoice" {
		payable := r.number("cac:LegalMonetaryTotal/cbc:PayableAmount").Sign() > 0
		check(r.get("cbc:DueDate") != "" || !payable || deemed, r, "ibr-127-ae", "The invoice must say when payment is due.")
		check(r.get("cac:PaymentMeans/cbc:PaymentMeansCode") != "" || deemed, r, "ibr-191-ae",
			"The invoice must say how it is paid.")
	} else {
		reason := r.first("cac:DiscrepancyResponse/cbc:ResponseCode")
		check(reason != nil || kind != "381", r, "ibr-158-ae", "The credit note needs the code of its reason.")
		check(reason == nil || codelist.CreditReasons().Has(reason.value()), reason.or(r), "ibr-001-ae",
			"The reason of the credit note is not on the code list of the format.")
		check(reason != nil && (reason.value() == "VD") != (r.first("cac:BillingReference") != nil), r, "ibr-055-ae",
			"The credit note must name the invoice, unless it is a volume discount.")
	}
	for _, means := range r.all("cac:PaymentMeans") {
		code := means.get("cbc:PaymentMeansCode")
		check(code != "", means, "ibr-049", "The payment needs its means.")
		check(code == "" || codelist.PaymentMeans().Accepts(code, j.sets...), means, "ibr-cl-16",
			"The means of payment is not on the code list of the format.")
		check(code != "30" || means.get("cac:PayeeFinancialAccount/cbc:ID") != "", means, "ibr-192-ae",
			"A credit transfer needs the account to pay to.")
	}
	for _, c := range append(r.all("cac:TaxTotal/cac:TaxSubtotal/cac:TaxCategory"),
		r.all("cac:AllowanceCharge/cac:TaxCategory")...) {
		if c.get("cbc:ID") == "S" {
			check(c.number("cbc:Percent").Cmp(big.NewRat(5, 1)) == 0, c, "ibr-190-ae", "The standard rate is 5 percent.")
			check(c.get("cbc:TaxExemptionReason")+c.get("cbc:TaxExemptionReasonCode") == "", c, "aligned-ibrp-s-10",
				"A reason why no tax is charged is present where tax is charged.")
		}
	}
	j.dirhams()
}

// outOfScope reports whether the type of the document is one for exempt supplies and those out of scope.
func (j *judge) outOfScope() bool {
	return j.root.get("cbc:InvoiceTypeCode") == "480" || j.root.get("cbc:CreditNoteTypeCode") == "81"
}

// dirhams checks the amounts in dirhams of a document in another currency.
func (j *judge) dirhams() {
	r := j.root
	check := func(holds bool, id, text string) { j.check(holds, r, rule{pintAE: id}, text) }
	currency, second := r.get("cbc:DocumentCurrencyCode"), r.get("cbc:TaxCurrencyCode")
	if currency == "AED" || currency == "" {
		return
	}
	exchange := r.first("cac:TaxExchangeRate")
	var inDirhams, own *element
	for _, t := range r.all("cac:TaxTotal/cbc:TaxAmount") {
		switch t.attribute("currencyID") {
		case "AED":
			inDirhams = t
		case currency:
			own = t
		}
	}
	total := false
	for _, d := range r.all("cac:AdditionalDocumentReference") {
		total = total || d.get("cbc:DocumentTypeCode") == "aedtotal-incl-vat" && d.get("cbc:DocumentDescription") != ""
	}
	check(second == "AED" && inDirhams != nil && total, "ibr-175-ae",
		"A document in another currency needs its tax and its total in dirhams.")
	check(second != "AED" || exchange.get("cbc:SourceCurrencyCode") == currency &&
		exchange.get("cbc:TargetCurrencyCode") == "AED" && exchange.get("cbc:CalculationRate") != "",
		"ibr-153-ae", "A document in another currency needs its exchange rate to dirhams.")
	if inDirhams != nil && own != nil && exchange != nil {
		converted := new(big.Rat).Mul(own.parent.number("cbc:TaxAmount"), exchange.number("cbc:CalculationRate"))
		check(within(inDirhams.parent.number("cbc:TaxAmount"), converted, 1), "IBT-111",
			"The tax in dirhams is not the tax times the exchange rate.")
	}
}

// emiratiParties checks the rules of PINT-AE about seller and buyer.
func (j *judge) emiratiParties() {
	check := func(holds bool, at *element, id, text string) { j.check(holds, at, rule{pintAE: id}, text) }
	seller, buyer := j.root.first(sellerPath).or(j.root), j.root.first(buyerPath).or(j.root)
	for n, party := range []*element{seller, buyer} {
		id := [...]string{"ibr-143-ae", "ibr-144-ae"}[n]
		address := party.first("cac:PostalAddress")
		if address == nil {
			continue // ibr-008 and ibr-010
		}
		check(address.get("cbc:StreetName") != "" && address.get("cbc:CityName") != "" &&
			address.get("cbc:CountrySubentity") != "", address, id, "The address needs a street, a city and a subdivision.")
		if address.get("cac:Country/cbc:IdentificationCode") == "AE" {
			check(codelist.Emirates().Has(address.get("cbc:CountrySubentity")), address, "ibr-128-ae",
				"The subdivision of an address in the United Arab Emirates must be the code of an emirate.")
			tax := vatID(party)
			check(tax == "" || trnForm.MatchString(tax), party, "ibr-132-ae",
				"The tax registration number must have 15 digits, begin with 1 and end with 03.")
		}
	}
	registration, scheme := seller.first("cac:PartyLegalEntity/cbc:CompanyID"),
		seller.first("cbc:EndpointID").attribute("schemeID")
	agency, issuer := registration.attribute("schemeAgencyID"), registration.attribute("schemeAgencyName")
	check(scheme != "0235" || registration != nil, seller, "ibr-150-ae", "The seller needs a legal registration.")
	check(scheme != "0235" || registration == nil || agency != "", seller, "ibr-181-ae",
		"The type of the seller's legal registration is missing.")
	check(agency != "TL" || issuer != "", seller, "ibr-172-ae", "The authority of the seller's trade licence is missing.")
	check(agency != "PAS" || codelist.Countries().Has(issuer), seller, "ibr-012-ae",
		"The country of the seller's passport is missing.")
	check(j.outOfScope() || vatID(seller) != "", seller, "ibr-134-ae", "The seller needs a tax registration number.")
	check(!j.outOfScope() || buyer.get("cac:PartyLegalEntity/cbc:CompanyID") != "", buyer, "ibr-136-ae",
		"The buyer needs a legal registration if every line is exempt or out of scope.")
	endpoint := buyer.first("cbc:EndpointID")
	known := endpoint.attribute("schemeID") != "0235" || tinForm.MatchString(endpoint.value()) || j.flag(8)
	check(known || buyer.get("cac:PartyTaxScheme/cbc:CompanyID")+buyer.get("cac:PartyIdentification/cbc:ID") != "",
		buyer, "ibr-135-ae",
		"The buyer needs a tax identifier, because the electronic address is not a tax number that begins with 1.")
}

// emiratiLine checks the rules of PINT-AE about a line, and the amounts in dirhams that the official rules do not
// compute.
func (j *judge) emiratiLine(line *element) {
	check := func(holds bool, id, text string) { j.check(holds, line, rule{pintAE: id}, text) }
	c := line.first(linesCategory)
	category := c.get("cbc:ID")
	check(line.get("cac:Item/cbc:Description") != "", "ibr-125-ae", "The line needs a description of what was sold.")
	check(line.get("cac:Price/cac:AllowanceCharge/cbc:BaseAmount") != "" && line.get("cac:Price/cbc:BaseQuantity") != "",
		"ibr-126-ae", "The line needs a gross price and the quantity that the price is for.")
	j.typeAndCategory(line, category)
	if category != "N" {
		check(rightRate(c, category), categoryRule(category, "05").pintAE,
			"The rate is missing, or is not one of the category.")
	}
	switch category {
	case "N":
		check(c.number("cbc:Percent").Sign() > 0, "ibr-111-ae", "The rate of category N is not zero.")
	case "E":
		check(c.get("cbc:TaxExemptionReasonCode") != "", "ibr-167-ae", "An exempt line needs the code of its reason.")
	case "AE":
		check(line.get("cac:Item/cac:CommodityClassification/cbc:NatureCode") != "", "ibr-166-ae",
			"A line with reverse charge needs the type of the goods or services.")
		gtin := line.first("cac:Item/cac:StandardItemIdentification/cbc:ID")
		check(gtin != nil && (gtin.attribute("schemeID") == "0160" || gtin.attribute("schemeID") == ""), "ibr-174-ae",
			"A line with reverse charge needs a GTIN.")
		check(j.root.get(buyerPath+"/cac:PartyTaxScheme/cbc:CompanyID") != "", "ibr-103-ae",
			"The buyer needs a tax identifier for reverse charge.")
	}
	for _, code := range line.all("cac:Item/cac:CommodityClassification/cbc:ItemClassificationCode") {
		check(code.attribute("listID") == "HS", "ibr-188-ae", "The scheme of the item's classification must be HS.")
	}
	extension := line.first("cac:ItemPriceExtension")
	stated, shown := extension.get("cbc:Amount") != "", extension.get("cac:TaxTotal/cbc:TaxAmount") != ""
	check(stated, "ibr-194-ae", "The line needs its amount with tax in dirhams.")
	if category == "E" {
		check(!shown, "ibr-163-ae", "An exempt line has no tax in dirhams.")
	} else {
		check(stated && shown, "ibr-104-ae", "The line needs its tax in dirhams.")
	}
	// whose tax is on the margin, which is not shown
	if stated && extension.first("cbc:Amount").attribute("currencyID") == "AED" && category != "N" {
		j.extension(line, extension, category)
	}
}

// rightRate reports whether a line has a rate, if its category has rates: above zero where tax is charged.
func rightRate(c *element, category string) bool {
	rate, stated := decimal(c.get("cbc:Percent"))
	switch category {
	case "S":
		return stated && rate.Sign() > 0
	case "Z":
		return stated && rate.Sign() == 0
	case "AE":
		return stated
	case "E", "O":
		return c.first("cbc:Percent") == nil
	}
	return true // another rule refuses the category
}

// extension checks the amounts of a line in dirhams.
func (j *judge) extension(line, extension *element, category string) {
	net, tax := line.number("cbc:LineExtensionAmount"), new(big.Rat)
	if j.root.get("cac:TaxExchangeRate/cbc:CalculationRate") != "" {
		net.Mul(net, j.root.number("cac:TaxExchangeRate/cbc:CalculationRate"))
	}
	if category == "S" {
		tax.Mul(net, big.NewRat(5, 100))
	}
	j.check(within(extension.number("cac:TaxTotal/cbc:TaxAmount"), tax, 1), line, rule{pintAE: "BTAE-08"},
		"The tax of the line in dirhams is not its amount times the rate.")
	j.check(within(extension.number("cbc:Amount"), tax.Add(tax, net), 2), line, rule{pintAE: "BTAE-10"},
		"The amount of the line with tax in dirhams is not the sum of its amount and its tax.")
}
