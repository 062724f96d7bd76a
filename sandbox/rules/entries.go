package rules

import "quittance/internal/document/codelist"

// entries checks the references to preceding invoices and the attributes of items.
func (j *judge) entries() {
	for _, reference := range j.root.all("cac:BillingReference") {
		j.has(reference, "cac:InvoiceDocumentReference/cbc:ID", rule{"ibr-055", "BR-55"},
			"A preceding invoice needs its number.")
	}
	for _, line := range j.root.lines() {
		for _, attribute := range line.all("cac:Item/cac:AdditionalItemProperty") {
			j.check(attribute.get("cbc:Name") != "" && attribute.get("cbc:Value") != "", attribute,
				rule{"ibr-054", "BR-54"}, "A property of an item needs its name and its value.")
		}
	}
}

// taxCurrency checks the currency of the tax, and the total tax in it.
func (j *judge) taxCurrency() {
	r := j.root
	code, at := r.get("cbc:TaxCurrencyCode"), r.first("cbc:TaxCurrencyCode").or(r)
	inTaxCurrency, bare, signs := false, 0, map[int]bool{}
	for _, total := range r.all("cac:TaxTotal") {
		inTaxCurrency = inTaxCurrency || total.first("cbc:TaxAmount").attribute("currencyID") == code
		signs[total.number("cbc:TaxAmount").Sign()] = true
		if total.first("cac:TaxSubtotal") == nil {
			bare++
		}
	}
	if code == "" {
		j.check(bare == 0, r, rule{bis3: "PEPPOL-EN16931-R054"}, "Only a tax in another currency is a total of its own.")
		return
	}
	j.check(bare == 1, r, rule{bis3: "PEPPOL-EN16931-R054"}, "The tax in the other currency is a total of its own.")
	j.check(inTaxCurrency, at, rule{"ibr-053", "BR-53"}, "The document needs its tax in the currency of the tax.")
	j.check(!signs[1] || !signs[-1], r, rule{"ibr-084", "PEPPOL-EN16931-R055"},
		"The tax has another sign in the currency of the tax.")
	j.check(codelist.Currencies().Accepts(code, j.sets...), at, rule{"ibr-cl-05", "BR-CL-05"},
		"The currency of the tax is not on the code list of the format.")
	j.check(code != r.get("cbc:DocumentCurrencyCode"), at, rule{"ibr-077", "PEPPOL-EN16931-R005"},
		"The currency of the tax must be another one than that of the document.")
	j.check(code == "AED", at, rule{pintAE: "ibr-140-ae"}, "The currency of the tax is the dirham.")
}
