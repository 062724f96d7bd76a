package ubl

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// RuleDisagrees is the rule of a warning about figures that disagree.
const RuleDisagrees = "disagrees"

// Check compares the figures of a document with each other and returns a warning for each that disagrees, by its path.
// Sums and products may differ by as much as the sender's rounding can explain.
func (doc *Document) Check() api.Faults {
	c := checker{faults: api.Faults{}}
	for n := range doc.Lines {
		c.line(fmt.Sprintf("lines[%d]", n), &doc.Lines[n])
	}
	c.allowances("", doc.Allowances)
	t := &doc.Totals
	c.equal("totals.lines", t.Lines, doc.lines.net, "The lines add up to %s, but the document states %s.")
	allowances, charges := documentAllowances(doc.Allowances)
	c.equal("totals.allowances", orZero(t.Allowances), allowances, "The allowances add up to %s, but the document states %s.")
	c.equal("totals.charges", orZero(t.Charges), charges, "The charges add up to %s, but the document states %s.")
	if t.Allowances != nil {
		allowances = rat(t.Allowances)
	}
	if t.Charges != nil {
		charges = rat(t.Charges)
	}
	c.equal("totals.net", t.Net, sum(rat(t.Lines), negative(allowances), charges),
		"Lines, allowances and charges add up to %s without tax, but the document states %s.")
	c.breakdown(doc)
	c.equal("totals.total", t.Total, sum(rat(t.Net), rat(orZero(t.Tax))),
		"The total without tax and the tax add up to %s, but the document states %s.")
	c.equal("totals.payable", t.Payable, sum(rat(t.Total), negative(rat(orZero(t.Prepaid))), rat(orZero(t.Rounding))),
		"The total, the paid amount and the rounding leave %s to pay, but the document states %s.")
	return c.faults
}

// checker collects the warnings.
type checker struct{ faults api.Faults }

// equal warns if a stated sum differs from the computed one. A difference below a cent is one of rounding.
func (c checker) equal(at string, stated *api.Amount, computed *big.Rat, message string) {
	c.near(at, stated, computed, big.NewRat(5, 1000), message)
}

// near warns if a stated value differs from the computed one by more than the tolerance. An absent value agrees with
// everything.
func (c checker) near(at string, stated *api.Amount, computed, tolerance *big.Rat, message string) {
	if stated == nil || computed == nil || len(c.faults) >= maxWarnings {
		return
	}
	difference := new(big.Rat).Sub(rat(stated), computed)
	if difference.Abs(difference).Cmp(tolerance) > 0 {
		c.faults.Add(at, RuleDisagrees, fmt.Sprintf(message, plain(computed), string(*stated)))
	}
}

// line checks a line: that it has an amount (BR-24), which is quantity × net price ÷ base quantity, less allowances,
// plus charges (PEPPOL-EN16931-R120, which allows a difference of 0.02), and that its net price is the gross price less
// the discount (PEPPOL-EN16931-R046).
func (c checker) line(at string, line *api.ParsedLine) {
	c.allowances(at+".", line.Allowances)
	if line.GrossUnitPrice != nil {
		c.equal(at+".net_unit_price", line.NetUnitPrice, sum(rat(line.GrossUnitPrice),
			negative(rat(orZero(line.DiscountAmount)))),
			"The gross price less the discount is %s, but the document states %s.")
	}
	if line.Net == nil {
		c.warn(at+".net", "The line states no amount.")
		return
	}
	quantity, price, base := rat(line.Quantity), rat(line.NetUnitPrice), big.NewRat(1, 1)
	if line.BaseQuantity != nil {
		base = rat(line.BaseQuantity)
	}
	if quantity == nil || price == nil || base.Sign() <= 0 {
		return
	}
	allowances, charges := documentAllowances(line.Allowances)
	product := sum(new(big.Rat).Quo(new(big.Rat).Mul(quantity, price), base), negative(allowances), charges)
	c.near(at+".net", line.Net, product, rounding(line.Net),
		"Quantity, price, allowances and charges of the line make %s, but the document states %s.")
}

// allowances checks that an allowance or a charge with a base and a percentage is their product
// (PEPPOL-EN16931-R040, which allows a difference of 0.02).
func (c checker) allowances(at string, all []api.ParsedAllowance) {
	for n := range all {
		base, percent := rat(all[n].BaseAmount), rat(all[n].Percent)
		if base == nil || percent == nil {
			continue
		}
		product := new(big.Rat).Mul(base, percent)
		c.near(fmt.Sprintf("%sallowances[%d].amount", at, n), all[n].Amount, product.Quo(product, big.NewRat(100, 1)),
			rounding(all[n].Amount), "Base amount and percentage make %s, but the document states %s.")
	}
}

// warn adds a warning.
func (c checker) warn(at, message string) {
	if len(c.faults) < maxWarnings {
		c.faults.Add(at, RuleDisagrees, message)
	}
}

// breakdown checks the tax breakdown against the lines, its own rates and the total tax.
func (c checker) breakdown(doc *Document) {
	if len(doc.TaxBreakdown) == 0 {
		return
	}
	taxes, stated, first := new(big.Rat), map[taxGroup]*big.Rat{}, map[taxGroup]int{}
	for n := range doc.TaxBreakdown {
		row := &doc.TaxBreakdown[n]
		taxes = sum(taxes, rat(row.Tax))
		c.tax(fmt.Sprintf("tax_breakdown[%d]", n), row, doc.lines.count[taxGroupOf(row)])
		if row.Category != nil && row.Taxable != nil {
			group := groupOf(row.Category, row.Rate)
			if stated[group] == nil {
				stated[group], first[group] = new(big.Rat), n
			}
			stated[group].Add(stated[group], rat(row.Taxable))
		}
	}
	c.equal("totals.tax", doc.Totals.Tax, taxes, "The tax breakdown adds up to %s, but the document states %s.")
	if doc.lines.taxable == nil {
		return
	}
	for group, computed := range doc.groups() {
		at := "tax_breakdown"
		if stated[group] == nil {
			stated[group] = new(big.Rat)
		} else {
			at = fmt.Sprintf("tax_breakdown[%d].taxable", first[group])
		}
		c.near(at, new(api.Amount(plain(stated[group]))), computed, rounding(nil),
			"Lines, allowances and charges of a category and rate add up to %s, but the breakdown states %s.")
	}
}

// tax checks the tax of a row of the breakdown (BR-CO-17, and BR-S-09 and its like). In a category without tax the rate
// is information. Senders may round the tax of each of the lines, which is no fault while the official rule allows it:
// below 1. Of categories that only other countries have, a tax of 0 and one without a rate may be right.
func (c checker) tax(at string, row *api.ParsedTax, lines int) {
	taxable, rate := rat(row.Taxable), rat(row.Rate)
	if row.Category == nil || row.Tax == nil || taxable == nil {
		return
	}
	ordinary, none := slices.Contains([]string{"S", "L", "M", "B"}, *row.Category), rat(row.Tax).Sign() == 0
	switch {
	case !invoice.Taxed(*row.Category):
		c.equal(at+".tax", row.Tax, new(big.Rat), "In this category the tax is %s, but the document states %s.")
	case rate != nil && (ordinary || !none):
		computed := new(big.Rat).Mul(taxable, rate)
		lineByLine := big.NewRat(int64(min(lines, 198)), 200) // half a cent for each line
		tolerance := rounding(row.Tax)
		if lineByLine.Cmp(tolerance) > 0 {
			tolerance = lineByLine
		}
		c.near(at+".tax", row.Tax, computed.Quo(computed, big.NewRat(100, 1)), tolerance,
			"The taxable amount and the rate make %s, but the document states %s.")
	case rate == nil && ordinary && !none:
		c.warn(at+".rate", "The document states tax without its rate.")
	}
}

// taxGroupOf returns the group of a row of the breakdown; the zero group if it has no category.
func taxGroupOf(row *api.ParsedTax) taxGroup {
	if row.Category == nil {
		return taxGroup{}
	}
	return groupOf(row.Category, row.Rate)
}

// groups returns the sums of lines, allowances and charges by category and rate.
func (doc *Document) groups() map[taxGroup]*big.Rat {
	out := map[taxGroup]*big.Rat{}
	for group, value := range doc.lines.taxable {
		out[group] = new(big.Rat).Set(value)
	}
	for n := range doc.Allowances {
		allowance := &doc.Allowances[n]
		amount := rat(allowance.Amount)
		if allowance.VATCategory == nil || amount == nil {
			continue
		}
		if !allowance.Charge {
			amount = negative(amount)
		}
		group := groupOf(allowance.VATCategory, allowance.VATRate)
		if out[group] == nil {
			out[group] = new(big.Rat)
		}
		out[group].Add(out[group], amount)
	}
	return out
}

// documentAllowances returns the sums of the allowances and of the charges of a list; nil if an amount is absent.
func documentAllowances(all []api.ParsedAllowance) (allowances, charges *big.Rat) {
	allowances, charges = new(big.Rat), new(big.Rat)
	for n := range all {
		if all[n].Charge {
			charges = sum(charges, rat(all[n].Amount))
		} else {
			allowances = sum(allowances, rat(all[n].Amount))
		}
	}
	return allowances, charges
}

// sum adds; it returns nil if a value is absent.
func sum(values ...*big.Rat) *big.Rat {
	out := new(big.Rat)
	for _, value := range values {
		if value == nil {
			return nil
		}
		out.Add(out, value)
	}
	return out
}

func negative(value *big.Rat) *big.Rat {
	if value == nil {
		return nil
	}
	return new(big.Rat).Neg(value)
}

func orZero(n *api.Amount) *api.Amount {
	if n == nil {
		return new(api.Amount("0"))
	}
	return n
}

// rounding returns by how much a rounded amount may differ: by 0.02, or by a unit of its last digit if that is more.
func rounding(stated *api.Amount) *big.Rat {
	if stated != nil {
		if _, fraction, _ := strings.Cut(string(*stated), "."); len(fraction) < 2 {
			return big.NewRat(1, []int64{1, 10}[len(fraction)])
		}
	}
	return big.NewRat(2, 100)
}

// plain returns a number with two digits after the point, or with up to six if it has more.
func plain(value *big.Rat) string {
	two := value.FloatString(2)
	if exact, _ := new(big.Rat).SetString(two); exact.Cmp(value) == 0 {
		return two
	}
	return strings.TrimRight(value.FloatString(6), "0")
}
