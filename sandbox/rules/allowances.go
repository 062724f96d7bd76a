package rules

import (
	"math/big"
	"strings"

	"quittance/internal/document/codelist"
)

// allowances checks the allowances and charges on the document and on its lines.
func (j *judge) allowances() {
	for _, c := range j.root.all("cac:AllowanceCharge") {
		j.allowance(c, rule{"ibr-033", "BR-33"}, rule{"ibr-038", "BR-38"})
		j.allowanceTax(c)
	}
	for _, line := range j.root.lines() {
		for _, c := range line.all("cac:AllowanceCharge") {
			j.allowance(c, rule{"ibr-042", "BR-42"}, rule{"ibr-044", "BR-44"})
		}
	}
}

// allowance checks what an allowance or a charge needs wherever it stands. A reason is asked for by the rule of
// allowances, or by that of charges.
func (j *judge) allowance(c *element, allowanceReason, chargeReason rule) {
	reason, list, listed := allowanceReason, codelist.AllowanceReasons(), rule{"ibr-cl-19", "BR-CL-19"}
	together, product := "aligned-ibrp-057", "ibr-131-ae"
	if isCharge(c) {
		reason, list, listed = chargeReason, codelist.ChargeReasons(), rule{"ibr-cl-20", "BR-CL-20"}
		together, product = "aligned-ibrp-058", "ibr-146-ae"
	}
	code := c.get("cbc:AllowanceChargeReasonCode")
	j.check(code+c.get("cbc:AllowanceChargeReason") != "", c, reason, "The allowance or charge needs its reason.")
	j.check(code == "" || list.Has(code), c, listed, "The reason is not on the code list.")
	base, percent := c.get("cbc:BaseAmount") != "", c.get("cbc:MultiplierFactorNumeric") != ""
	j.check(base || !percent, c, rule{together, "PEPPOL-EN16931-R041"}, "A percentage needs the amount that it is of.")
	j.check(percent || !base, c, rule{together, "PEPPOL-EN16931-R042"}, "A base amount needs its percentage.")
	if !base || !percent {
		return
	}
	want := new(big.Rat).Mul(c.number("cbc:BaseAmount"), c.number("cbc:MultiplierFactorNumeric"))
	want.Quo(want, big.NewRat(100, 1))
	tolerance := int64(2)
	if j.profile == PINTAE { // which compares in binary floating point, so that half a cent may go either way
		tolerance = 1
	}
	j.check(within(c.number("cbc:Amount"), want, tolerance), c, rule{product, "PEPPOL-EN16931-R040"},
		"The amount is not the percentage of its base.")
}

// typeAndCategory checks that a document of the UAE that is out of scope of tax has nothing with tax.
func (j *judge) typeAndCategory(at *element, category string) {
	if j.profile == PINTAE && j.outOfScope() {
		j.check(category == "E" || category == "O" || category == "Z", at, rule{pintAE: "ibr-122-ae"},
			"The category does not go with the type of the document.")
	}
}

// allowanceTax checks the tax of an allowance or a charge on the document.
func (j *judge) allowanceTax(c *element) {
	category, percent := c.get("cac:TaxCategory/cbc:ID"), c.get("cac:TaxCategory/cbc:Percent")
	needed, number := rule{"aligned-ibrp-032", "BR-32"}, "06"
	if isCharge(c) {
		needed, number = rule{"aligned-ibrp-037", "BR-37"}, "07"
	}
	j.check(category != "", c, needed, "The allowance or charge needs its tax category.")
	rates := rule{"aligned-ibrp-" + strings.ToLower(category) + "-" + number, categoryRule(category, number).bis3}
	rate := c.number("cac:TaxCategory/cbc:Percent")
	switch category {
	case "S":
		j.check(rate.Sign() > 0, c, rates, "The rate of the standard category is above 0.")
	case "O":
		j.check(percent == "", c, rates, "What is out of scope has no rate.")
	case "Z", "E", "AE", "G", "K":
		j.check(percent != "" && rate.Sign() == 0, c, rates, "The rate is 0 in a category without tax.")
	}
	j.typeAndCategory(c, category)
	if j.profile == PINTAE && category == "E" {
		id := map[bool]string{false: "ibr-168-ae", true: "ibr-169-ae"}[isCharge(c)]
		j.check(c.get("cbc:AllowanceChargeReasonCode") != "", c, rule{pintAE: id},
			"An exempt allowance or charge needs its coded reason.")
	}
}
