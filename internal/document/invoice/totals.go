package invoice

import (
	"math"
	"math/big"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/codelist"
)

// Amount is an exact amount of money. Unlike [api.Decimal] it is unbounded, because a thousand lines of 18-digit
// quantities and prices add up to far more than 18 digits. Amounts of one currency can be compared with ==. The zero
// value is not a number.
type Amount struct{ text string }

// String returns the amount in plain notation with exactly the currency's minor unit after the point, such as
// 1050.00; the zero value gives "".
func (a Amount) String() string { return a.text }

// MarshalJSON writes the amount as a JSON number; the zero value is null.
func (a Amount) MarshalJSON() ([]byte, error) {
	if a.text == "" {
		return []byte("null"), nil
	}
	return []byte(a.text), nil
}

// Totals holds the computed sums of a draft. A sum that cannot be computed is nil.
type Totals struct {
	// Net is the sum of the line amounts without tax (EN 16931 BT-106).
	Net *Amount `json:"net"`
	// Tax is the sum of the tax of each category and rate (BT-110).
	Tax *Amount `json:"tax"`
	// Total is Net plus Tax (BT-112).
	Total *Amount `json:"total"`
}

// Compute returns the totals of a draft. The amount of a line is quantity × net_unit_price ÷ base_quantity; an absent
// base_quantity is 1. Each line is rounded once to the currency's minor unit. So is the tax of each category and rate,
// which is computed from the exact sum of its rounded lines. Rounding is half away from zero. The amounts of a currency
// without a minor unit are rounded to [api.MaxScale] digits, the most precise value of an invoice.
//
// All totals are nil without a known currency and at least one line, or if a line lacks quantity or price or has a
// base_quantity of 0. Tax and Total are nil if a line in which tax is charged lacks its vat_rate. Only the categories
// of [Taxed] have tax.
func Compute(d *api.Draft) Totals {
	s, ok := add(d)
	if !ok {
		return Totals{}
	}
	totals := Totals{Net: s.amount(s.net)}
	if s.tax != nil {
		totals.Tax = s.amount(s.tax)
		totals.Total = s.amount(s.total())
	}
	return totals
}

// sums are the sums of a draft as integers of 10^-scale.
type sums struct {
	scale int
	net   *big.Int
	tax   *big.Int // nil if it cannot be computed
}

// total is net plus tax.
func (s sums) total() *big.Int { return new(big.Int).Add(s.net, s.tax) }

// amount formats an integer of 10^-scale.
func (s sums) amount(n *big.Int) *Amount {
	digits := new(big.Int).Abs(n).String()
	if short := s.scale + 1 - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	if point := len(digits) - s.scale; s.scale > 0 {
		digits = digits[:point] + "." + digits[point:]
	}
	if n.Sign() < 0 {
		digits = "-" + digits
	}
	return &Amount{text: digits}
}

// taxGroup names one line of the tax breakdown.
type taxGroup struct{ category, rate string }

// breakdown is the tax breakdown (EN 16931 BG-23): the exact sum of the line amounts of each category and rate, as
// integers of 10^-scale.
type breakdown map[taxGroup]*big.Int

// add adds a line amount of an item. ok is false if its tax cannot be computed because the rate is absent. Only a
// [Taxed] line has tax.
func (b breakdown) add(item *api.Item, line *big.Int) (ok bool) {
	if !Taxed(text(item.VATCategory)) {
		return true
	}
	if !given(item.VATRate) {
		return false
	}
	group := taxGroup{category: text(item.VATCategory), rate: canonical(item.VATRate)}
	if b[group] == nil {
		b[group] = new(big.Int)
	}
	b[group].Add(b[group], line)
	return true
}

// tax is the sum of the tax of each group, each rounded once.
func (b breakdown) tax() *big.Int {
	sum := new(big.Int)
	for group, base := range b {
		rate := parse(group.rate)
		sum.Add(sum, quotient(new(big.Int).Mul(base, big.NewInt(rate.coefficient)), pow10(rate.scale+2)))
	}
	return sum
}

// moneyScale is the number of digits after the point to which amounts of a currency are rounded. ok is false if the
// currency is not known.
func moneyScale(code *string) (scale int, ok bool) {
	currency, known := codelist.Currencies().Lookup(text(code))
	if currency.MinorUnits == codelist.NoMinorUnits {
		return api.MaxScale, known
	}
	return currency.MinorUnits, known
}

// add computes the sums. ok is false if Compute computes nothing.
func add(d *api.Draft) (s sums, ok bool) {
	scale, known := moneyScale(d.Currency)
	if !known || len(d.Items) == 0 {
		return sums{}, false
	}
	s = sums{scale: scale, net: new(big.Int)}
	groups := breakdown{}
	taxable := true
	for i := range d.Items {
		line, ok := lineAmount(&d.Items[i], s.scale)
		if !ok {
			return sums{}, false
		}
		s.net.Add(s.net, line)
		taxable = groups.add(&d.Items[i], line) && taxable
	}
	if taxable {
		s.tax = groups.tax()
	}
	return s, true
}

// lineAmount is quantity × net_unit_price ÷ base_quantity as a whole number of 10^-scale, rounded once.
func lineAmount(item *api.Item, scale int) (line *big.Int, ok bool) {
	if !given(item.Quantity) || !given(item.NetUnitPrice) {
		return nil, false
	}
	base := number{coefficient: 1}
	if given(item.BaseQuantity) {
		base = parse(item.BaseQuantity.String())
	}
	if base.coefficient <= 0 {
		return nil, false
	}
	quantity, price := parse(item.Quantity.String()), parse(item.NetUnitPrice.String())
	dividend, fits := product(quantity.coefficient, price.coefficient, power10(base.scale+scale))
	divisor, fitsToo := product(base.coefficient, power10(quantity.scale+price.scale))
	if fits && fitsToo {
		return big.NewInt(smallQuotient(dividend, divisor)), true
	}
	return quotient(bigProduct(quantity.coefficient, price.coefficient, power10(base.scale+scale)),
		bigProduct(base.coefficient, power10(quantity.scale+price.scale))), true
}

// smallBound limits the numbers that are computed in 64 bits, so that three of them can be added, or one of them
// doubled.
const smallBound = 1 << 61

// product multiplies. ok is false if the result or an intermediate result is not small. The caller then uses
// [bigProduct], which allocates.
func product(factors ...int64) (all int64, ok bool) {
	all = 1
	for _, factor := range factors {
		if factor == 0 {
			return 0, true
		}
		if max(all, -all) >= smallBound/max(factor, -factor) {
			return 0, false
		}
		all *= factor
	}
	return all, true
}

// bigProduct multiplies without bound.
func bigProduct(factors ...int64) *big.Int {
	all := big.NewInt(1)
	for _, factor := range factors {
		all.Mul(all, big.NewInt(factor))
	}
	return all
}

// smallQuotient is quotient of small numbers.
func smallQuotient(dividend, divisor int64) int64 {
	whole, rest := dividend/divisor, dividend%divisor
	if 2*max(rest, -rest) < divisor {
		return whole
	}
	if dividend < 0 {
		return whole - 1
	}
	return whole + 1
}

// quotient divides by a positive number and rounds to an integer, half away from zero.
func quotient(dividend, divisor *big.Int) *big.Int {
	whole, rest := new(big.Int).QuoRem(dividend, divisor, new(big.Int))
	if rest.Abs(rest).Lsh(rest, 1).Cmp(divisor) >= 0 {
		whole.Add(whole, big.NewInt(int64(dividend.Sign())))
	}
	return whole
}

// number is coefficient × 10^-scale.
type number struct {
	coefficient int64
	scale       int
}

// parse reads the text of a decimal that is present. Its grammar was checked when the decimal was made, and it has at
// most [api.MaxDigits] digits, which fit.
func parse(text string) number {
	var n number
	digits, negative := strings.CutPrefix(text, "-")
	for at := range len(digits) {
		if digits[at] == '.' {
			n.scale = len(digits) - at - 1
			continue
		}
		digit := int64(digits[at]) - '0'
		if digit < 0 || digit > 9 || n.coefficient > (math.MaxInt64-digit)/10 {
			panic("invoice: not a decimal: " + text)
		}
		n.coefficient = 10*n.coefficient + digit
	}
	if negative {
		n.coefficient = -n.coefficient
	}
	return n
}

// at returns the number as an integer of 10^-scale; scale is not below the number's own.
func (n number) at(scale int) *big.Int { return bigProduct(n.coefficient, power10(scale-n.scale)) }

// smallAt is like at; ok is false if the integer is not small.
func (n number) smallAt(scale int) (at int64, ok bool) {
	return product(n.coefficient, power10(scale-n.scale))
}

// power10 returns 10 to the power of n, for n from 0 to 18. The largest n is 12, because the digits after the point of
// two decimals, or of one and a currency, are at most twice [api.MaxScale].
func power10(n int) int64 {
	power := int64(1)
	for range n {
		power *= 10
	}
	return power
}

// pow10 is like power10, as a big.Int.
func pow10(n int) *big.Int { return big.NewInt(power10(n)) }

// canonical returns the shortest text of a decimal's value, so that 5.00 and 5 are one tax rate.
func canonical(d *api.Decimal) string { return shortest(d.String()) }

// shortest removes the trailing zeros of a decimal text that do not affect its value.
func shortest(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// places returns the number of digits after the point that a decimal's value needs.
func places(d *api.Decimal) int {
	_, fraction, _ := strings.Cut(canonical(d), ".")
	return len(fraction)
}
