package invoice

import (
	"fmt"
	"math/big"
	"strings"

	"quittance/client/api"
)

// AllowanceCharge is what an allowance, which lowers an amount, or a charge, which raises it, is computed from: texts
// of decimals, "" for what is absent.
type AllowanceCharge struct {
	Charge bool
	// Amount (BT-92, BT-99, BT-136, BT-141). If it is absent, it is Percent (BT-94) of Base (BT-93).
	Amount, Base, Percent string
	// Category (BT-95) and Rate in percent (BT-96) of one on the whole document. One on a line has those of the line.
	Category, Rate string
}

// AllowancesOf returns the allowances and then the charges on a whole invoice.
func AllowancesOf(d *api.Draft) []AllowanceCharge {
	if len(d.Allowances)+len(d.Charges) == 0 {
		return nil
	}
	out := make([]AllowanceCharge, 0, len(d.Allowances)+len(d.Charges))
	for _, list := range [...][]api.Allowance{d.Allowances, d.Charges} {
		for i := range list {
			x := &list[i]
			out = append(out, AllowanceCharge{Charge: len(out) >= len(d.Allowances), Amount: number(x.Amount),
				Base: number(x.BaseAmount), Percent: number(x.Percent), Category: strings.TrimSpace(text(x.VATCategory)),
				Rate: number(x.VATRate)})
		}
	}
	return out
}

// LineAllowancesOf returns the allowances and then the charges on a line.
func LineAllowancesOf(item *api.Item) []AllowanceCharge {
	if len(item.Allowances)+len(item.Charges) == 0 {
		return nil
	}
	out := make([]AllowanceCharge, 0, len(item.Allowances)+len(item.Charges))
	for _, list := range [...][]api.LineAllowance{item.Allowances, item.Charges} {
		for i := range list {
			x := &list[i]
			out = append(out, AllowanceCharge{Charge: len(out) >= len(item.Allowances), Amount: number(x.Amount),
				Base: number(x.BaseAmount), Percent: number(x.Percent)})
		}
	}
	return out
}

// allowanceAmount returns the amount of an allowance or a charge as a whole number of 10^-scale, rounded once. ok is
// false if it has none and not what it is computed from, or if the receiver could not recompute it.
func (a Arithmetic) allowanceAmount(x *AllowanceCharge, scale int) (amount *big.Int, ok bool) {
	if x.Amount != "" {
		return roundedTo(parse(x.Amount), scale), true
	}
	if x.Base == "" || x.Percent == "" {
		return nil, false
	}
	amount = productOf(parse(x.Base), parse(x.Percent), decimal{coefficient: 100}, scale)
	if !a.Binary {
		return amount, true
	}
	for _, unit := range [...]int64{0, -1, 1} {
		beside := new(big.Int).Add(amount, big.NewInt(unit))
		if isPercentage(amountOf(beside, scale).text, x.Base, x.Percent) {
			return beside, true
		}
	}
	return nil, false
}

// isPercentage is the comparison of ibr-131-ae and ibr-146-ae of PINT-AE, in binary floating point.
func isPercentage(amount, base, percent string) bool {
	// Separate statements keep the compiler from fusing the operations.
	product := float(base) * float(percent)
	share := product / 100
	hundredfold := share * 100
	return float(amount) == share || float(amount) == roundHalfUp(hundredfold)/100
}

// Percentage reports whether the amount of an allowance or a charge that has a percentage and its base is their
// product: as the receiver of the document computes it if that is fixed ([Arithmetic.Binary]), and otherwise within
// 0.02 (PEPPOL-EN16931-R040).
func (a Arithmetic) Percentage(x *AllowanceCharge) bool {
	switch {
	case x.Amount == "" || x.Base == "" || x.Percent == "":
		return true
	case a.Binary:
		return isPercentage(x.Amount, x.Base, x.Percent)
	}
	product := new(big.Rat).Mul(rational(x.Base), rational(x.Percent))
	difference := product.Sub(product.Quo(product, big.NewRat(100, 1)), rational(x.Amount))
	return difference.Abs(difference).Cmp(big.NewRat(2, 100)) <= 0
}

// roundedTo returns a number as a whole number of 10^-scale, rounded half away from zero.
func roundedTo(n decimal, scale int) *big.Int {
	if n.scale <= scale {
		return n.at(scale)
	}
	return quotient(big.NewInt(n.coefficient), pow10(n.scale-scale))
}

// effect is the amount with the sign that it has in a sum.
func (x *AllowanceCharge) effect(amount *big.Int) *big.Int {
	if x.Charge {
		return amount
	}
	return new(big.Int).Neg(amount)
}

// adjustment is what the allowances and charges of a line add to it, and their sums as a receiver computes them in
// binary floating point.
type adjustment struct {
	effect              *big.Int // nil without any
	allowances, charges float64
}

// adjustmentOf adds up the allowances and charges of a line.
func (a Arithmetic) adjustmentOf(l *Line, scale int) (all adjustment, ok bool) {
	if len(l.Allowances) == 0 {
		return all, true
	}
	all.effect = new(big.Int)
	for i := range l.Allowances {
		x := &l.Allowances[i]
		part, ok := a.allowanceAmount(x, scale)
		if !ok {
			return all, false
		}
		all.effect.Add(all.effect, x.effect(part))
		if x.Charge {
			all.charges += float(amountOf(part, scale).text)
		} else {
			all.allowances += float(amountOf(part, scale).text)
		}
	}
	return all, true
}

// allow adds the allowances and charges on the document. One in a category without tax belongs to the row of that
// category whatever its rate, because the rules know one row for each such category.
func (s *Sums) allow(a Arithmetic, all []AllowanceCharge) bool {
	s.parts = len(all)
	s.lineSum, s.allowances, s.charges = new(big.Int).Set(s.net), new(big.Int), new(big.Int)
	for i := range all {
		x := &all[i]
		amount, ok := a.allowanceAmount(x, s.scale)
		if !ok {
			return false
		}
		if x.Charge {
			s.charges.Add(s.charges, amount)
		} else {
			s.allowances.Add(s.allowances, amount)
		}
		rate := a.Rate(&Line{Category: x.Category, Rate: x.Rate})
		for _, row := range s.groups {
			if row.category == x.Category && !Taxed(row.category) {
				rate = row.rate
				break
			}
		}
		s.group(x.Category, rate, x.effect(amount))
	}
	s.net.Sub(s.net, s.allowances).Add(s.net, s.charges)
	return true
}

// Parts returns the amounts of allowances and charges in a currency; nil for one that cannot be computed.
func (a Arithmetic) Parts(currency *string, all []AllowanceCharge) []*Amount {
	digits, known := a.sums(currency)
	out := make([]*Amount, len(all))
	for i := range all {
		if amount, ok := a.allowanceAmount(&all[i], digits.scale); ok && known {
			out[i] = amountOf(amount, digits.scale)
		}
	}
	return out
}

// CreditedAllowances returns what a partial credit note of these items credits of the allowances and charges on the
// whole invoice, in the order of [AllowancesOf]: in proportion to the amounts of the lines of its category and rate, or
// of all lines if the invoice has no such amount. What rounding leaves is made up for by the last credit note, which
// takes what is left of the total.
func (a Arithmetic) CreditedAllowances(d *api.Draft, items []api.CreditNoteItem) []AllowanceCharge {
	all := AllowancesOf(d)
	digits, known := a.sums(d.Currency)
	if len(all) == 0 || !known {
		return nil
	}
	whole, taken := turnover{}, turnover{}
	for n := range d.Items {
		line := LineOf(&d.Items[n])
		if net, ok := a.lineAmount(&line, digits.scale); ok {
			whole.add(a, &line, amountOf(net, digits.scale).text)
		}
	}
	for n := range items {
		line := CreditLine(&items[n])
		taken.add(a, &line, line.Net)
	}
	for i := range all {
		x := &all[i]
		key := a.kindOf(&Line{Category: x.Category, Rate: x.Rate})
		if whole.of(key).Sign() == 0 {
			key = lineKind{all: true} // no line is like it
		}
		amount, ok := a.allowanceAmount(x, digits.scale)
		if !ok || whole.of(key).Sign() == 0 {
			x.Amount = "0"
			continue
		}
		share := new(big.Rat).Quo(taken.of(key), whole.of(key))
		share.Mul(share, new(big.Rat).SetInt(amount))
		part := quotient(share.Num(), share.Denom())
		x.Amount, x.Base, x.Percent = amountOf(part, digits.scale).text, "", ""
	}
	return all
}

// lineKind is all lines, or those of a category and, if tax is charged in it, a rate.
type lineKind struct {
	all            bool
	category, rate string
}

// kindOf is the kind of a line.
func (a Arithmetic) kindOf(l *Line) lineKind {
	if !Taxed(l.Category) {
		return lineKind{category: l.Category}
	}
	return lineKind{category: l.Category, rate: a.Rate(l)}
}

// turnover are the amounts of lines, without their signs, added up by kind.
type turnover map[lineKind]*big.Rat

// of is the sum of a kind, 0 if there is no line of it.
func (t turnover) of(kind lineKind) *big.Rat {
	if t[kind] == nil {
		t[kind] = new(big.Rat)
	}
	return t[kind]
}

// add adds the amount net of a line; "" is no amount.
func (t turnover) add(a Arithmetic, l *Line, net string) {
	if net == "" {
		return
	}
	amount := rational(net)
	amount.Abs(amount)
	for _, kind := range [...]lineKind{a.kindOf(l), {all: true}} {
		t.of(kind).Add(t.of(kind), amount)
	}
}

// ShareAllowances returns what a credit note of a quantity of a line shows of the allowances and charges on the line,
// in the order of [LineAllowancesOf]: in proportion to the quantity, and what is needed so that the credited amount net
// comes out with the first of them.
func (a Arithmetic) ShareAllowances(currency *string, item *api.Item, quantity, net string) []AllowanceCharge {
	line := LineOf(item)
	digits, known := a.sums(currency)
	if len(line.Allowances) == 0 || !known || line.Quantity == "" || line.Price == "" {
		return nil
	}
	share := new(big.Rat).Quo(rational(quantity), rational(line.Quantity))
	rest, ok := unitsIn(net, digits.scale)
	whole := Line{Quantity: quantity, Price: line.Price, Base: line.Base}
	product, computed := Arithmetic{}.lineAmount(&whole, digits.scale)
	if !ok || !computed {
		return nil
	}
	rest.Sub(rest, product)
	parts := make([]*big.Int, len(line.Allowances))
	for i := range line.Allowances {
		x := &line.Allowances[i]
		amount, ok := a.allowanceAmount(x, digits.scale)
		if !ok {
			return nil
		}
		part := new(big.Rat).Mul(share, new(big.Rat).SetInt(amount))
		parts[i] = quotient(part.Num(), part.Denom())
		rest.Sub(rest, x.effect(parts[i]))
	}
	parts[0].Add(parts[0], line.Allowances[0].effect(rest))
	for i := range parts {
		line.Allowances[i] = AllowanceCharge{Charge: line.Allowances[i].Charge,
			Amount: amountOf(parts[i], digits.scale).text}
	}
	a.settle(&line, parts[0], quantity, net, digits.scale)
	return line.Allowances
}

// settle changes the first allowance of a credited line by as much as its receiver's rounding asks for, so that the
// amount of the line is net for the receiver too ([Arithmetic.Binary]).
func (a Arithmetic) settle(line *Line, first *big.Int, quantity, net string, scale int) {
	line.Quantity = quantity
	given := line.Allowances[0].Amount
	for _, unit := range [...]int64{0, -1, 1} {
		line.Allowances[0].Amount = amountOf(new(big.Int).Add(first, big.NewInt(unit)), scale).text
		if amount, ok := a.lineAmount(line, scale); ok && amount.Cmp(units(net, scale)) == 0 {
			return
		}
	}
	line.Allowances[0].Amount = given
}

// missingAllowances returns the fields that the allowances and charges of an invoice lack.
func missingAllowances(d *api.Draft, need func(path string, present bool)) {
	for _, list := range [...]struct {
		name string
		all  []api.Allowance
	}{{"allowances", d.Allowances}, {"charges", d.Charges}} {
		for i := range list.all {
			x := &list.all[i]
			path := fmt.Sprintf("%s[%d].", list.name, i)
			need(path+"amount", given(x.Amount) || given(x.BaseAmount) && given(x.Percent))
			need(path+"vat_category", !blank(x.VATCategory))
			need(path+"vat_rate", given(x.VATRate) || strings.TrimSpace(text(x.VATCategory)) == outOfScope)
		}
	}
}

// missingLineAllowances is the same for a line.
func missingLineAllowances(item *api.Item, need func(field string, present bool)) {
	for _, list := range [...]struct {
		name string
		all  []api.LineAllowance
	}{{"allowances", item.Allowances}, {"charges", item.Charges}} {
		for i := range list.all {
			if x := &list.all[i]; !given(x.Amount) && !(given(x.BaseAmount) && given(x.Percent)) {
				need(fmt.Sprintf("%s[%d].amount", list.name, i), false)
			}
		}
	}
}

// AmountDue is what an invoice asks for when its total with tax is total (BT-115): less what is prepaid, plus the
// rounding amount. It has at least the digits of total, and is nil without one.
func AmountDue(total string, d *api.Draft) *Amount {
	switch {
	case total == "":
		return nil
	case d.PrepaidAmount == nil && d.RoundingAmount == nil: // as in most invoices
		return &Amount{text: total}
	}
	const scale = api.MaxScale
	due := units(total, scale)
	for _, part := range [...]AllowanceCharge{{Amount: number(d.PrepaidAmount)},
		{Amount: number(d.RoundingAmount), Charge: true}} {
		if part.Amount != "" {
			due.Add(due, part.effect(parse(part.Amount).at(scale)))
		}
	}
	_, digits, _ := strings.Cut(total, ".")
	return new(Amount{text: string(formatAtLeast(due, scale, len(digits)))})
}
