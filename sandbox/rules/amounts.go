package rules

import (
	"math"
	"math/big"
	"strings"

	"quittance/internal/document/codelist"
)

// decimals are the amounts of a document that have at most two digits after the point.
var decimals = []struct { //nolint:gochecknoglobals // a constant table
	path string
	rule rule
}{
	{"cbc:LineExtensionAmount", rule{"", "BR-DEC-09"}},
	{"cbc:AllowanceTotalAmount", rule{"ibr-121", "BR-DEC-10"}},
	{"cbc:ChargeTotalAmount", rule{"ibr-122", "BR-DEC-11"}},
	{"cbc:TaxExclusiveAmount", rule{"ibr-123", "BR-DEC-12"}},
	{"cbc:TaxInclusiveAmount", rule{"ibr-125", "BR-DEC-14"}},
	{"cbc:PrepaidAmount", rule{"", "BR-DEC-16"}},
	{"cbc:PayableRoundingAmount", rule{"", "BR-DEC-17"}},
	{"cbc:PayableAmount", rule{"ibr-091", "BR-DEC-18"}},
}

// amounts checks the arithmetic of the totals and of the breakdown.
func (j *judge) amounts() {
	r := j.root
	total := r.first("cac:LegalMonetaryTotal")
	if total == nil {
		return // the schema requires it
	}
	for _, d := range decimals {
		_, fraction, _ := strings.Cut(total.get(d.path), ".")
		j.check(len(fraction) <= 2, total, d.rule, "The amount has more than two digits after the point.")
	}
	lines, charges := r.lines(), r.all("cac:AllowanceCharge")
	net, gross := total.number("cbc:TaxExclusiveAmount"), total.number("cbc:TaxInclusiveAmount")
	deducted, added := sums(charges)
	j.check(total.number("cbc:LineExtensionAmount").Cmp(cents(sum(lines, "cbc:LineExtensionAmount"))) == 0,
		total, rule{"ibr-co-10", "BR-CO-10"}, "The sum of the lines is not that of their amounts.")
	j.check(total.number("cbc:AllowanceTotalAmount").Cmp(cents(deducted)) == 0, total, rule{"ibr-co-11", "BR-CO-11"},
		"The sum of the allowances is wrong.")
	j.check(total.number("cbc:ChargeTotalAmount").Cmp(cents(added)) == 0, total, rule{"ibr-co-12", "BR-CO-12"},
		"The sum of the charges is wrong.")
	want := new(big.Rat).Sub(total.number("cbc:LineExtensionAmount"), total.number("cbc:AllowanceTotalAmount"))
	j.check(net.Cmp(cents(want.Add(want, total.number("cbc:ChargeTotalAmount")))) == 0, total,
		rule{"ibr-co-13", "BR-CO-13"}, "The total without tax is not the sum of the lines less allowances plus charges.")
	tax := new(big.Rat)
	for _, t := range r.all("cac:TaxTotal") {
		if subtotals := t.all("cac:TaxSubtotal"); len(subtotals) > 0 {
			j.check(t.number("cbc:TaxAmount").Cmp(cents(sum(subtotals, "cbc:TaxAmount"))) == 0, t, rule{"ibr-co-14", "BR-CO-14"},
				"The total tax is not the sum of the breakdown.")
		}
		if t.first("cbc:TaxAmount").attribute("currencyID") == r.get("cbc:DocumentCurrencyCode") {
			tax = t.number("cbc:TaxAmount")
			_, fraction, _ := strings.Cut(t.get("cbc:TaxAmount"), ".")
			j.check(len(fraction) <= 2, t, rule{"ibr-124", "BR-DEC-13"}, "The amount has more than two digits after the point.")
		}
	}
	j.check(gross.Cmp(cents(new(big.Rat).Add(net, tax))) == 0, total, rule{"ibr-co-15", "BR-CO-15"},
		"The total with tax is not the total without tax plus the tax.")
	payable := new(big.Rat).Sub(gross, total.number("cbc:PrepaidAmount"))
	j.check(total.number("cbc:PayableAmount").Cmp(cents(payable.Add(payable,
		total.number("cbc:PayableRoundingAmount")))) == 0, total,
		rule{"ibr-co-16", "BR-CO-16"}, "The amount due is not the total with tax less what is paid plus the rounding.")
	j.breakdown(lines, charges)
}

// cents rounds half up to two digits after the point, as round() of XPath does.
func cents(n *big.Rat) *big.Rat {
	scaled := new(big.Rat).Mul(n, big.NewRat(100, 1))
	scaled.Add(scaled, big.NewRat(1, 2))
	whole := new(big.Int).Div(scaled.Num(), scaled.Denom()) // rounds down
	return new(big.Rat).SetFrac(whole, big.NewInt(100))
}

// sums returns the sums of allowances and of charges.
func sums(charges []*element) (deducted, added *big.Rat) {
	deducted, added = new(big.Rat), new(big.Rat)
	for _, c := range charges {
		to := deducted
		if isCharge(c) {
			to = added
		}
		to.Add(to, c.number("cbc:Amount"))
	}
	return deducted, added
}

// isCharge reports whether an AllowanceCharge is a charge.
func isCharge(c *element) bool {
	indicator := c.get("cbc:ChargeIndicator")
	return indicator == "true" || indicator == "1"
}

// The path of the tax category of a line.
const linesCategory = "cac:Item/cac:ClassifiedTaxCategory"

// group is what the breakdown of tax has one entry for: a category and, where tax is charged, its rate.
type group struct{ category, rate string }

func (j *judge) group(category *element) group {
	g := group{category: category.get("cbc:ID")}
	if charged(g.category) {
		g.rate = category.number("cbc:Percent").RatString()
	}
	return g
}

// charged reports whether documents charge tax of a category.
func charged(category string) bool { return category == "S" || category == "L" || category == "M" }

// categoryRule is one of the rules that exist once for each tax category, by its number.
func categoryRule(category, number string) rule {
	european := category
	if renamed, ok := map[string]string{"K": "IC", "L": "AF", "M": "AG"}[category]; ok {
		european = renamed
	}
	emirati := "aligned-ibrp-" + strings.ToLower(category) + "-" + number
	switch {
	case category == "AE" && number != "10":
		emirati += "-ae"
	case category == "N": // which has no such rules
		emirati = "IBG-23"
	}
	return rule{emirati, "BR-" + european + "-" + number}
}

// breakdown checks the entries of the breakdown against the lines, allowances and charges.
func (j *judge) breakdown(lines, charges []*element) {
	taxable, used, present := map[group]*big.Rat{}, map[string]bool{}, map[string]bool{}
	add := func(g group, amount *big.Rat) {
		used[g.category] = true
		if taxable[g] == nil {
			taxable[g] = new(big.Rat)
		}
		taxable[g].Add(taxable[g], amount)
	}
	for _, line := range lines {
		add(j.group(line.first(linesCategory)), line.number("cbc:LineExtensionAmount"))
	}
	for _, c := range charges {
		amount := c.number("cbc:Amount")
		if !isCharge(c) {
			amount.Neg(amount)
		}
		add(j.group(c.first("cac:TaxCategory")), amount)
	}
	for _, s := range j.root.all("cac:TaxTotal/cac:TaxSubtotal") {
		g := j.group(s.first("cac:TaxCategory"))
		present[g.category] = true
		if known := codelist.TaxCategories().Accepts(g.category, j.sets...); !known {
			j.check(false, s, rule{"ibr-139-ae", "BR-CL-17"}, "The tax category is not on the code list of the format.")
			continue
		}
		want := taxable[g]
		if want == nil {
			want = new(big.Rat)
		}
		j.check(used[g.category] || g.category != "S", s, categoryRule("S", "01"),
			"No line, allowance or charge has the category of this entry.")
		j.subtotal(s, g, want)
	}
	for _, line := range lines {
		category := line.get(linesCategory + "/cbc:ID")
		if codelist.TaxCategories().Accepts(category, j.sets...) {
			j.check(present[category], line, categoryRule(category, "01"),
				"The breakdown of tax has no entry for the category of this line.")
		}
	}
}

// subtotal checks one entry of the breakdown against the sum of what it is about.
func (j *judge) subtotal(s *element, g group, want *big.Rat) {
	tax, stated := s.number("cbc:TaxAmount"), s.number("cbc:TaxableAmount")
	percent := s.get("cac:TaxCategory/cbc:Percent")
	same := stated.Cmp(want) == 0
	if charged(g.category) {
		if j.profile == PINTAE {
			same = within(stated, want, 2)
		} else {
			same = within(stated, want, 99) // less than one
		}
		share := new(big.Rat).Mul(stated, s.number("cac:TaxCategory/cbc:Percent"))
		share.Mul(share, big.NewRat(1, 100))
		tolerance := int64(99)
		if j.profile == PINTAE {
			tolerance = 2
		}
		j.check(within(tax.Abs(tax), share.Abs(share), tolerance), s, rule{"aligned-ibrp-s-09", "BR-CO-17"},
			"The tax is not the taxable amount times the rate.")
	} else if g.category != "N" {
		j.check(tax.Sign() == 0, s, categoryRule(g.category, "09"), "No tax is charged in this category.")
	}
	j.check(same, s, categoryRule(g.category, "08"),
		"The taxable amount is not that of the lines, allowances and charges of its category.")
	free := g.category == "O" || g.category == "E" && j.profile == PINTAE
	if j.profile == PINTAE || !free {
		j.check((percent == "") == free, s, rule{"ibr-119-ae", "BR-48"},
			"A rate is missing, or present in a category without one.")
	}
}

// line checks what both profiles require of a line.
func (j *judge) line(line *element) {
	name := "cbc:InvoicedQuantity"
	if j.root.name == "CreditNote" {
		name = "cbc:CreditedQuantity"
	}
	quantity, price := line.first(name), line.first("cac:Price")
	j.check(quantity != nil, line, rule{"ibr-022", "BR-22"}, "The line needs a quantity.")
	if unit := quantity.attribute("unitCode"); unit != "" {
		j.check(codelist.Units().Accepts(unit, j.sets...), quantity, rule{"ibr-cl-23", "BR-CL-23"},
			"The unit is not one of UN/ECE Recommendation 20 or 21.")
	} else if quantity != nil {
		j.check(false, line, rule{"ibr-023", "BR-23"}, "The quantity of the line needs its unit.")
	}
	j.has(line, "cac:Item/cbc:Name", rule{"ibr-025", "BR-25"}, "The line must name what was sold.")
	category := line.get(linesCategory + "/cbc:ID")
	j.check(category != "", line, rule{"ibr-145-ae", "BR-CO-04"}, "The line needs its tax category.")
	j.check(category == "" || codelist.TaxCategories().Accepts(category, j.sets...), line, rule{"ibr-139-ae", "BR-CL-18"},
		"The tax category is not on the code list of the format.")
	if price == nil {
		j.check(false, line, rule{"ibr-026", "BR-26"}, "The line needs a price.")
		return
	}
	j.has(price, "cbc:PriceAmount", rule{"ibr-026", "BR-26"}, "The line needs a price.")
	j.check(price.number("cbc:PriceAmount").Sign() >= 0, price, rule{"ibr-027", "BR-27"}, "A price is not negative.")
	if discount := price.first("cac:AllowanceCharge"); discount != nil && discount.first("cbc:BaseAmount") != nil {
		net := new(big.Rat).Sub(discount.number("cbc:BaseAmount"), discount.number("cbc:Amount"))
		j.check(net.Cmp(price.number("cbc:PriceAmount")) == 0, price, rule{"aligned-ibrp-004", "PEPPOL-EN16931-R046"},
			"The net price is not the gross price less the discount.")
	}
	base := big.NewRat(1, 1)
	if stated := price.first("cbc:BaseQuantity"); stated != nil {
		base = price.number("cbc:BaseQuantity")
		unit := stated.attribute("unitCode")
		j.check(unit == "" || quantity == nil || unit == quantity.attribute("unitCode"), stated,
			rule{"ibr-088", "PEPPOL-EN16931-R130"}, "The unit of the price is not that of the quantity.")
		if j.check(base.Sign() > 0, stated, rule{"ibr-087", "PEPPOL-EN16931-R121"},
			"The price must be for a quantity above zero."); base.Sign() <= 0 {
			return
		}
	}
	if j.profile == PINTAE {
		j.check(binaryLine(line, name), line, rule{pintAE: "ibr-147-ae"}, lineText)
		return
	}
	deducted, added := sums(line.all("cac:AllowanceCharge"))
	want := new(big.Rat).Mul(line.number(name), price.number("cbc:PriceAmount"))
	want.Quo(want, base).Add(want, added).Sub(want, deducted)
	j.check(within(line.number("cbc:LineExtensionAmount"), want, 2), line, rule{bis3: "PEPPOL-EN16931-R120"}, lineText)
}

const lineText = "The amount of the line is not its quantity times its price, plus charges less allowances."

// binaryLine reports whether ibr-147-ae holds. Engines for XPath compute it in binary floating point.
func binaryLine(line *element, quantity string) bool {
	number := func(e *element, path string) float64 {
		f, _ := e.number(path).Float64()
		return f
	}
	round := func(f float64) float64 {
		away := math.Round(f)
		if away-f == -0.5 { // math.Round goes away from zero, XPath up
			return away + 1
		}
		return away
	}
	var allowances, charges float64
	for _, c := range line.all("cac:AllowanceCharge") {
		if isCharge(c) {
			charges += number(c, "cbc:Amount")
		} else {
			allowances += number(c, "cbc:Amount")
		}
	}
	// One operation a statement, so that no compiler fuses two of them.
	ratio := number(line, "cac:Price/cbc:PriceAmount") / number(line, "cac:Price/cbc:BaseQuantity")
	product := number(line, quantity) * ratio
	product += charges
	product -= allowances
	raw := product * 100
	shown := number(line, "cbc:LineExtensionAmount") * 100
	return round(shown)/100 == round(raw)/100
}

// flag reports whether a digit of the kind of supply (BTAE-02), from 1, is set.
func (j *judge) flag(digit int) bool {
	flags := j.root.get("cbc:ProfileExecutionID")
	return len(flags) == 8 && flags[digit-1] == '1'
}
