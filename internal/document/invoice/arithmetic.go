package invoice

import (
	"math"
	"math/big"
	"strconv"

	"quittance/client/api"
	"quittance/internal/document/codelist"
)

// Arithmetic is what a document format fixes about amounts. The zero value is that of the API: amounts have the digits
// of the minor unit of their currency, and those of a currency without one [api.MaxScale], like the most precise value
// of an invoice.
type Arithmetic struct {
	// Digits is the number of digits after the point of every amount, in every currency; 0 for those of the currency. What
	// is paid has no more digits than the minor unit of the currency all the same.
	Digits int
	// Binary says that receivers recompute the amount of a line in binary floating point and round half up (ibr-147-ae of
	// PINT-AE). For an amount of exactly half a cent, such as 1 × 0.145, the binary value may be just below the half, and
	// the rule then requires the other neighbour: 0.14. The amount is therefore the nearest one that the rule accepts, at
	// most one cent away. It accepts none of an amount that has too many digits for binary floating point.
	Binary bool
	// RatelessExempt says that the category E has no rate (aligned-ibrp-e-05 of PINT-AE).
	RatelessExempt bool
}

// FormatDigits is the number of digits after the point of amounts in every document format (BR-DEC-*, ibr-091, ibr-121
// to ibr-125).
const FormatDigits = 2

// Rate returns the rate of a line that the tax breakdown tells apart, in its Shortest form; "" if the line has none.
func (a Arithmetic) Rate(l *Line) string {
	if l.Rate == "" || l.Category == outOfScope || a.RatelessExempt && l.Category == exempt {
		return ""
	}
	return Shortest(l.Rate)
}

// moneyScale is the number of digits after the point of the minor unit of a currency. ok is false if the currency is
// not known.
func moneyScale(code *string) (scale int, ok bool) {
	currency, known := codelist.Currencies().Lookup(text(code))
	if currency.MinorUnits == codelist.NoMinorUnits {
		return api.MaxScale, known
	}
	return currency.MinorUnits, known
}

// lineAmount is quantity × price ÷ base of a line as a whole number of 10^-scale, rounded once, less its allowances,
// plus its charges. ok is false if a number is missing or cannot be used.
func (a Arithmetic) lineAmount(l *Line, scale int) (amount *big.Int, ok bool) {
	if l.Net != "" {
		return unitsIn(l.Net, scale)
	}
	if l.Quantity == "" || l.Price == "" {
		return nil, false
	}
	base := decimal{coefficient: 1}
	if l.Base != "" {
		base = parse(l.Base)
	}
	if base.coefficient <= 0 {
		return nil, false
	}
	amount = productOf(parse(l.Quantity), parse(l.Price), base, scale)
	adjustment, ok := a.adjustmentOf(l, scale)
	if !ok {
		return nil, false
	}
	if adjustment.effect != nil {
		amount.Add(amount, adjustment.effect)
	}
	if a.Binary && !recomputes(amount, scale, l, adjustment) {
		return a.neighbour(amount, scale, l, adjustment)
	}
	return amount, true
}

// productOf is quantity × price ÷ base as a whole number of 10^-scale, rounded once.
func productOf(quantity, price, base decimal, scale int) *big.Int {
	dividend, fits := product(quantity.coefficient, price.coefficient, power10(base.scale+scale))
	divisor, fitsToo := product(base.coefficient, power10(quantity.scale+price.scale))
	if fits && fitsToo {
		return big.NewInt(smallQuotient(dividend, divisor))
	}
	return quotient(bigProduct(quantity.coefficient, price.coefficient, power10(base.scale+scale)),
		bigProduct(base.coefficient, power10(quantity.scale+price.scale)))
}

// neighbour returns the amount beside a rounded one that the receiver's rule accepts, if it is less than one unit away
// from the exact product.
func (a Arithmetic) neighbour(amount *big.Int, scale int, l *Line, adjusted adjustment) (*big.Int, bool) {
	base := "1"
	if l.Base != "" {
		base = l.Base
	}
	exact := new(big.Rat).Quo(new(big.Rat).Mul(rational(l.Quantity), rational(l.Price)), rational(base))
	exact.Mul(exact, new(big.Rat).SetInt(pow10(scale)))
	if adjusted.effect != nil {
		exact.Add(exact, new(big.Rat).SetInt(adjusted.effect))
	}
	for _, unit := range []int64{-1, 1} {
		beside := new(big.Int).Add(amount, big.NewInt(unit))
		distance := new(big.Rat).Sub(new(big.Rat).SetInt(beside), exact)
		if distance.Abs(distance).Cmp(big.NewRat(1, 1)) < 0 && recomputes(beside, scale, l, adjusted) {
			return beside, true
		}
	}
	return nil, false
}

// rational returns the exact value of a decimal text.
func rational(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("invoice: not a decimal: " + text)
	}
	return r
}

// recomputes is the comparison of ibr-147-ae.
func recomputes(amount *big.Int, scale int, l *Line, adjusted adjustment) bool {
	base := 1.0
	if l.Base != "" {
		base = float(l.Base)
	}
	// Separate statements keep the compiler from fusing the operations.
	unit := float(l.Price) / base
	product := float(l.Quantity) * unit
	charged := product + adjusted.charges
	net := charged - adjusted.allowances
	hundredfold := net * 100
	written := float(amountOf(amount, scale).text) * 100
	return roundHalfUp(written)/100 == roundHalfUp(hundredfold)/100
}

// float returns the binary number nearest to a decimal text.
func float(text string) float64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("invoice: not a decimal: " + text)
	}
	return f
}

// roundHalfUp is fn:round of XPath: the nearest integer, of two equally near ones the higher.
func roundHalfUp(x float64) float64 {
	whole := math.Floor(x)
	if x-whole >= 0.5 {
		return whole + 1
	}
	return whole
}
