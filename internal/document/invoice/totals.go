package invoice

import (
	"math/big"
	"strings"

	"quittance/client/api"
)

// Amount is an exact amount of money. Unlike [api.Decimal] it is unbounded, because a thousand lines of 18-digit
// quantities and prices add up to far more than 18 digits. Amounts of one draft can be compared with ==. The zero
// value is not a number.
type Amount struct{ text string }

// String returns the amount in plain notation with exactly the digits after the point that its [Arithmetic] asks for,
// such as 1050.00; the zero value gives "".
func (a Amount) String() string { return a.text }

// MarshalJSON writes the amount as a JSON number; the zero value is null.
func (a Amount) MarshalJSON() ([]byte, error) {
	if a.text == "" {
		return []byte("null"), nil
	}
	return []byte(a.text), nil
}

// amountOf formats an integer of 10^-scale.
func amountOf(n *big.Int, scale int) *Amount {
	digits := new(big.Int).Abs(n).String()
	if short := scale + 1 - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	if point := len(digits) - scale; scale > 0 {
		digits = digits[:point] + "." + digits[point:]
	}
	if n.Sign() < 0 {
		digits = "-" + digits
	}
	return &Amount{text: digits}
}

// Totals holds the computed sums of a draft. A sum that cannot be computed is nil.
type Totals struct {
	// Lines is the sum of the line amounts (EN 16931 BT-106), Allowances that of the allowances on the whole document
	// (BT-107), and Charges that of the charges (BT-108).
	Lines, Allowances, Charges *Amount
	// Net is the total without tax (BT-109), and Tax the sum of the tax of each category and rate (BT-110).
	Net, Tax *Amount
	// Total is what Net and Tax add up to (BT-112), rounded to the currency's minor unit if amounts have more digits.
	Total *Amount
	// Due is what is to be paid of Total (BT-115); see [AmountDue].
	Due *Amount
}

// Wire returns the totals as responses have them.
func (t Totals) Wire() api.Computed {
	amount := func(a *Amount) *api.Amount {
		if a == nil {
			return nil
		}
		return new(api.Amount(a.text))
	}
	return api.Computed{Lines: amount(t.Lines), Allowances: amount(t.Allowances), Charges: amount(t.Charges),
		Net: amount(t.Net), Tax: amount(t.Tax), Total: amount(t.Total), AmountDue: amount(t.Due)}
}

// Compute returns the totals of a draft; see [Arithmetic.Sum].
func (a Arithmetic) Compute(d *api.Draft) Totals {
	s, ok := a.SumDraft(d)
	if !ok {
		return Totals{}
	}
	totals := s.Totals()
	if totals.Total != nil {
		totals.Due = AmountDue(totals.Total.text, d)
	}
	return totals
}

// LineNet returns the amount of the line of a draft at a position (EN 16931 BT-131); nil if it cannot be computed.
func (a Arithmetic) LineNet(d *api.Draft, position int) *Amount {
	digits, known := a.sums(d.Currency)
	line := LineOf(&d.Items[position])
	amount, ok := a.lineAmount(&line, digits.scale)
	if !known || !ok {
		return nil
	}
	return amountOf(amount, digits.scale)
}

// Sums are the amounts of a document, of which every other sum of the product is made. See [Arithmetic.Sum].
type Sums struct {
	// scale is the number of digits after the point of amounts, minor that of what is paid.
	scale, minor int
	lines        []*big.Int // in units of 10^-scale, like all sums
	// lineSum is their sum, parts is the number of allowances and charges on the document, and allowances and charges are
	// the sums of these.
	lineSum             *big.Int
	parts               int
	allowances, charges *big.Int
	groups              []taxGroup
	net                 *big.Int
	tax                 *big.Int // nil if it cannot be computed
}

// taxGroup is a row of the tax breakdown.
type taxGroup struct {
	category, rate string
	taxable        *big.Int
	tax            *big.Int // nil if it cannot be computed
}

// Line is what a line of a document is computed from: texts of decimals, "" for what is absent.
type Line struct {
	// Quantity (BT-129), Price (BT-146) and the quantity Base that the price is for (BT-149); an absent Base is 1.
	Quantity, Price, Base string
	// Net is the amount itself (BT-131), if it is known; the others do not matter then.
	Net string
	// Category (BT-151) and Rate in percent (BT-152).
	Category, Rate string
	// Allowances are the allowances and charges on the line (BG-27, BG-28).
	Allowances []AllowanceCharge
}

// LineOf returns what an item of a draft is computed from.
func LineOf(item *api.Item) Line {
	return Line{Quantity: number(item.Quantity), Price: number(item.NetUnitPrice), Base: number(item.BaseQuantity),
		Category: taxCategory(item), Rate: number(item.VATRate), Allowances: LineAllowancesOf(item)}
}

// SumDraft adds up a draft; see [Arithmetic.Sum].
func (a Arithmetic) SumDraft(d *api.Draft) (Sums, bool) {
	return a.sum(d.Currency, len(d.Items), func(n int) Line { return LineOf(&d.Items[n]) }, AllowancesOf(d))
}

// Sum adds up the lines of a document, and the allowances and charges on the whole document. It is the one arithmetic
// of the product: every total, breakdown, credit and comparison is made of what it returns. The amount of a line is
// quantity × price ÷ base, rounded once, less its allowances, plus its charges. The tax of each category and rate is
// computed from the sum of its rounded lines, allowances and charges, and rounded once. Only the categories of [Taxed]
// have tax. Rounding is half away from zero, to the digits of the [Arithmetic].
//
// ok is false without a known currency and at least one line, or if a line lacks quantity or price, has a base that is
// not above 0, or an amount that its receiver cannot recompute ([Arithmetic.Binary]), or if an allowance or a charge
// has no amount. Only the amounts without tax are known if something in which tax is charged lacks its rate.
func (a Arithmetic) Sum(currency *string, lines []Line, allowances []AllowanceCharge) (s Sums, ok bool) {
	return a.sum(currency, len(lines), func(n int) Line { return lines[n] }, allowances)
}

// sum is [Arithmetic.Sum] of count lines.
func (a Arithmetic) sum(currency *string, count int, at func(n int) Line,
	allowances []AllowanceCharge) (s Sums, ok bool) {
	s, known := a.sums(currency)
	if !known || count == 0 {
		return Sums{}, false
	}
	s.lines, s.net = make([]*big.Int, count), new(big.Int)
	for n := range count {
		line := at(n)
		if s.lines[n], ok = a.lineAmount(&line, s.scale); !ok {
			return Sums{}, false
		}
		s.net.Add(s.net, s.lines[n])
		s.group(line.Category, a.Rate(&line), s.lines[n])
	}
	s.lineSum = s.net
	if len(allowances) > 0 && !s.allow(a, allowances) {
		return Sums{}, false
	}
	s.taxGroups()
	return s, true
}

// sums returns the digits of a document in a currency. ok is false if the currency is not known.
func (a Arithmetic) sums(currency *string) (s Sums, ok bool) {
	minor, known := moneyScale(currency)
	s = Sums{scale: minor, minor: minor}
	if a.Digits > 0 {
		s.scale, s.minor = a.Digits, min(a.Digits, minor)
	}
	return s, known
}

// group adds an amount to its group. Groups are in the order of their first lines.
func (s *Sums) group(category, rate string, amount *big.Int) {
	for n := range s.groups {
		if g := &s.groups[n]; g.category == category && g.rate == rate {
			g.taxable.Add(g.taxable, amount)
			return
		}
	}
	s.groups = append(s.groups, taxGroup{category: category, rate: rate, taxable: new(big.Int).Set(amount)})
}

// taxGroups computes the tax of the groups and their sum.
func (s *Sums) taxGroups() {
	s.tax = new(big.Int)
	for n := range s.groups {
		g := &s.groups[n]
		switch {
		case !Taxed(g.category):
			g.tax = new(big.Int)
		case g.rate != "":
			rate := parse(g.rate)
			g.tax = quotient(new(big.Int).Mul(g.taxable, big.NewInt(rate.coefficient)), pow10(rate.scale+2))
		}
		if g.tax == nil {
			s.tax = nil
		} else if s.tax != nil {
			s.tax.Add(s.tax, g.tax)
		}
	}
}

// total is net and tax, rounded to what can be paid.
func (s *Sums) total() *big.Int {
	total := new(big.Int).Add(s.net, s.tax)
	if s.minor == s.scale {
		return total
	}
	unit := pow10(s.scale - s.minor)
	return total.Mul(quotient(total, unit), unit)
}

// Totals returns the sums of the whole document.
func (s *Sums) Totals() Totals {
	totals := Totals{Net: amountOf(s.net, s.scale)}
	if s.allowances == nil {
		none := amountOf(new(big.Int), s.scale)
		totals.Lines, totals.Allowances, totals.Charges = totals.Net, none, none
	} else {
		totals.Lines, totals.Allowances, totals.Charges = amountOf(s.lineSum, s.scale), amountOf(s.allowances, s.scale),
			amountOf(s.charges, s.scale)
	}
	if s.tax != nil {
		totals.Tax = amountOf(s.tax, s.scale)
		totals.Total = amountOf(new(big.Int).Quo(s.total(), pow10(s.scale-s.minor)), s.minor)
	}
	return totals
}

// Lines returns the amounts of the lines (BT-131).
func (s *Sums) Lines() []*Amount {
	out := make([]*Amount, len(s.lines))
	for n, line := range s.lines {
		out[n] = amountOf(line, s.scale)
	}
	return out
}

// Gross returns net and tax, which the document states as its total with tax (BT-112).
func (s *Sums) Gross() *Amount { return amountOf(new(big.Int).Add(s.net, s.tax), s.scale) }

// Due is the amount that a document asks for when its author states a total: the stated one, if it differs from the
// computed one by no more than rounding explains, which is one minor unit of the currency for each line, allowance and
// charge, and for each of more roundings. The rounding amount is its difference to [Sums.Gross], which the document
// states (BT-114). ok is false if the document cannot ask for the stated total; the amounts are then those of the
// computed one, as they are for "", without a stated total. The tax must be known.
func (s *Sums) Due(stated string, more int) (due, rounding *Amount, ok bool) {
	asked, ok := s.due(stated, more)
	gross := new(big.Int).Add(s.net, s.tax)
	return amountOf(asked, s.scale), amountOf(gross.Sub(asked, gross), s.scale), ok
}

func (s *Sums) due(stated string, more int) (due *big.Int, ok bool) {
	total := s.total()
	if stated == "" {
		return total, true
	}
	asked, ok := unitsIn(stated, s.scale)
	if !ok {
		return total, false
	}
	tolerance := new(big.Int).Mul(pow10(s.scale-s.minor), big.NewInt(int64(len(s.lines)+s.parts+more)))
	if new(big.Int).Sub(asked, total).CmpAbs(tolerance) > 0 {
		return total, false
	}
	return asked, true
}
