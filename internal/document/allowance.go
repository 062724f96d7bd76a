package document

import (
	"fmt"
	"math/big"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/codelist"
	"quittance/internal/document/invoice"
)

// allowance is an allowance or a charge on the document or on a line.
type allowance struct {
	// AllowanceCharge is what it is computed from, for a credit note the credited part.
	invoice.AllowanceCharge
	// path is that of the allowance or charge in the request.
	path               string
	reason, reasonCode *string
	// of is the one on the invoice; nil for one on a line.
	of *api.Allowance
}

// parsed returns the allowance or charge as a statement has it; amount is nil if it cannot be computed.
func (x *allowance) parsed(amount *invoice.Amount) api.ParsedAllowance {
	return api.ParsedAllowance{Charge: x.Charge, Amount: wire(amount), BaseAmount: given(x.Base),
		Percent: given(x.Percent), Reason: trimmed(x.reason), ReasonCode: trimmed(x.reasonCode),
		VATCategory: optional(x.Category), VATRate: given(x.Rate)}
}

// documentAllowances returns the allowances and then the charges on the document. A partial credit note has its part of
// those of the invoice.
func documentAllowances(p Profile, d Document) []allowance {
	all := invoice.AllowancesOf(d.Draft)
	if d.Credit != nil && d.Credit.Kind == api.CreditPartial {
		all = p.Arithmetic().CreditedAllowances(d.Draft, d.Credit.Items)
	}
	var out []allowance
	for i, x := range all {
		list, entries, at := "allowances", d.Draft.Allowances, i
		if x.Charge {
			list, entries, at = "charges", d.Draft.Charges, i-len(d.Draft.Allowances)
		}
		path := fmt.Sprintf("%s[%d]", list, at)
		if d.Credit != nil {
			if path = CreditedPath + path; isZero(x.Amount) {
				continue
			}
		}
		if x.Category == outOfScope && p != "" {
			x.Rate = ""
		}
		out = append(out, allowance{AllowanceCharge: x, path: path, reason: entries[at].Reason,
			reasonCode: entries[at].ReasonCode, of: &entries[at]})
	}
	return out
}

// exemption is the reason why no tax is charged.
func (x *allowance) exemption() reason { return reason{x.of.TaxExemptionCode, x.of.TaxExemptionReason} }

// isZero tells whether the text of an amount is that of 0.
func isZero(amount string) bool { return amount != "" && strings.Trim(amount, "-0.") == "" }

// lineAllowances returns those of a line, or what is credited of them.
func lineAllowances(item *api.Item, all []invoice.AllowanceCharge, path string) []allowance {
	var out []allowance
	for i, x := range all {
		list, entries, at := "allowances", item.Allowances, i
		if x.Charge {
			list, entries, at = "charges", item.Charges, i-len(item.Allowances)
		}
		out = append(out, allowance{AllowanceCharge: x, path: fmt.Sprintf("%s.%s[%d]", path, list, at),
			reason: entries[at].Reason, reasonCode: entries[at].ReasonCode})
	}
	return out
}

// charged returns what allowances and charges are computed from.
func charged(all []allowance) []invoice.AllowanceCharge {
	var out []invoice.AllowanceCharge
	for i := range all {
		out = append(out, all[i].AllowanceCharge)
	}
	return out
}

// checkAllowances checks the allowances and charges on the document and on its lines.
func (c *checker) checkAllowances() {
	for i := range c.allowances {
		x := &c.allowances[i]
		c.checkAllowance(x, ruleIDs{"ibr-033", "BR-33"}, ruleIDs{"ibr-038", "BR-38"})
		c.cents(x.Amount, x.path+".amount", ruleIDs{"", x.byKind("BR-DEC-01", "BR-DEC-05")})
		c.base(x, x.byKind("BR-DEC-02", "BR-DEC-06"))
		c.allowanceTax(x)
	}
	for i := range c.lines {
		for n := range c.lines[i].allowances {
			x := &c.lines[i].allowances[n]
			c.checkAllowance(x, ruleIDs{"ibr-042", "BR-42"}, ruleIDs{"ibr-044", "BR-44"})
			c.cents(x.Amount, x.path+".amount", ruleIDs{"", x.byKind("BR-DEC-24", "BR-DEC-27")})
			c.base(x, x.byKind("BR-DEC-25", "BR-DEC-28"))
		}
	}
	for _, field := range [...]struct {
		name  string
		value *api.Decimal
		ids   ruleIDs
	}{{"prepaid_amount", c.Draft.PrepaidAmount, both("BR-DEC-16")}, {"rounding_amount", c.Draft.RoundingAmount,
		both("BR-DEC-17")}} {
		c.cents(number(field.value), c.draftPath(field.name), field.ids)
	}
}

// cents checks that an amount has no more digits than amounts of documents have.
func (c *checker) cents(amount, path string, ids ruleIDs) {
	if _, fraction, _ := strings.Cut(invoice.Shortest(amount), "."); len(fraction) > invoice.FormatDigits {
		c.add(path, ruleMinorUnit, ids, fmt.Sprintf("must have at most %d digits after the point in this document format",
			invoice.FormatDigits))
	}
}

// base checks the digits of the amount that a percentage is of, which PINT-AE does not bound.
func (c *checker) base(x *allowance, id string) {
	if c.profile == BIS3 {
		c.cents(x.Base, x.path+".base_amount", both(id))
	}
}

// checkAllowance checks what every allowance and charge needs. A reason is asked for by the rule of allowances, or by
// that of charges.
func (c *checker) checkAllowance(x *allowance, allowanceReason, chargeReason ruleIDs) {
	reason, listed := allowanceReason, codelist.AllowanceReasons()
	ids, percentage, together := ruleIDs{"ibr-cl-19", "BR-CL-19"}, "ibr-131-ae", "aligned-ibrp-057"
	message := "is not a reason of UNCL5189, such as 95 for a discount"
	if x.Charge {
		reason, listed, ids = chargeReason, codelist.ChargeReasons(), ruleIDs{"ibr-cl-20", "BR-CL-20"}
		percentage, together = "ibr-146-ae", "aligned-ibrp-058"
		message = "is not a reason of UNCL7161, such as FC for freight"
	}
	c.need(text(x.reason)+text(x.reasonCode), x.path+".reason", reason,
		"an allowance or a charge needs its reason, in words or as a code")
	if code := text(x.reasonCode); code != "" && !listed.Has(code) {
		c.add(x.path+".reason_code", ruleAllowanceReason, ids, message)
	}
	switch {
	case x.Base == "" && x.Percent != "":
		c.need("", x.path+".base_amount", ruleIDs{together, "PEPPOL-EN16931-R041"},
			"a percentage needs the amount that it is of")
	case x.Base != "" && x.Percent == "":
		c.need("", x.path+".percent", ruleIDs{together, "PEPPOL-EN16931-R042"}, "a base amount needs its percentage")
	case !c.profile.Arithmetic().Percentage(&x.AllowanceCharge):
		c.add(x.path+".amount", rulePercentage, ruleIDs{percentage, "PEPPOL-EN16931-R040"}, "is not percent of base_amount")
	}
}

// allowanceTax checks the tax of an allowance or a charge on the document.
func (c *checker) allowanceTax(x *allowance) {
	category, path := x.Category, x.path+".vat_category"
	if category != "" && !codelist.TaxCategories().Accepts(category, c.profile.ruleSets()...) {
		c.add(path, ruleTaxCategory, ruleIDs{"ibr-139-ae", "BR-CL-18"}, "is not a tax category of this document format")
	}
	rate := x.of.VATRate
	if category == reverseCharge && number(rate) != "" && decimal(number(rate)).Sign() != 0 {
		c.add(x.path+".vat_rate", ruleTaxRate, ruleIDs{x.byKind("aligned-ibrp-ae-06", "aligned-ibrp-ae-07"),
			x.byKind("BR-AE-06", "BR-AE-07")}, "the rate of an allowance or a charge with reverse charge is 0")
	}
	if c.profile == PINTAE {
		c.emiratiAllowance(x)
	} else {
		c.unionCategory(category, path)
	}
}

// byKind returns the first text for an allowance and the second for a charge.
func (x *allowance) byKind(allowance, charge string) string {
	if x.Charge {
		return charge
	}
	return allowance
}

// emiratiAllowance checks the tax of an allowance or a charge in the UAE.
func (c *checker) emiratiAllowance(x *allowance) {
	switch x.Category {
	case marginScheme:
		c.add(x.path+".vat_category", ruleNotCombinable, both(x.byKind("ibr-115-ae", "ibr-114-ae")),
			"an invoice of the margin scheme has no allowances and charges on the whole: change the prices")
	case exempt:
		c.need(text(x.reasonCode), x.path+".reason_code", both(x.byKind("ibr-168-ae", "ibr-169-ae")),
			"an exempt allowance or charge needs its coded reason")
	case standardRate:
		if rate := number(x.of.VATRate); rate != "" && decimal(rate).Sign() != 0 && decimal(rate).Cmp(big.NewRat(5, 1)) != 0 {
			c.add(x.path+".vat_rate", ruleTaxRate, both("ibr-190-ae"), "the standard rate in the UAE is 5")
		}
	}
	switch x.Category {
	case "", exempt, outOfScope, zeroRated:
	default:
		if c.outsideTax(c.lines, c.allowances) {
			c.add(x.path+".vat_category", ruleNotCombinable, both("ibr-122-ae"),
				"a document whose lines are all exempt or out of scope has nothing else in another category than E, O and Z")
		}
	}
	if x.Category != "" && x.Category != marginScheme && c.flags()[flagMargin] == '1' {
		c.add(x.path+".vat_category", ruleNotCombinable, both("ibr-116-ae"),
			"category N and the transaction flag of the margin scheme go together, in every line")
	}
}
