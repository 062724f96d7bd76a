package document

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// amountScale is the number of digits after the point of every amount of a document, in every currency (BR-DEC-*,
// ibr-091, ibr-121 to ibr-125).
const amountScale = 2

// decimal returns the exact value of a decimal text, which has the form of an [api.Decimal].
func decimal(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("document: not a decimal: " + text)
	}
	return r
}

// round rounds to a number of digits after the point, half away from zero.
func round(r *big.Rat, scale int) *big.Rat { return decimal(r.FloatString(scale)) }

// cents rounds to [amountScale].
func cents(r *big.Rat) *big.Rat { return round(r, amountScale) }

// money formats an amount that is rounded already.
func money(r *big.Rat) string { return r.FloatString(amountScale) }

// times multiplies.
func times(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }

// plus adds.
func plus(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }

// percentOf is amount × rate ÷ 100, not rounded.
func percentOf(amount *big.Rat, rate string) *big.Rat {
	return times(amount, new(big.Rat).Quo(decimal(rate), big.NewRat(100, 1)))
}

// shortest removes the trailing zeros of a decimal text that do not affect its value, so that 5.00 and 5 are one rate.
func shortest(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// lineAmount is quantity × price ÷ base, rounded once (BT-131). base is above 0.
//
// PINT-AE's rule ibr-147-ae compares the amount with the same expression computed in binary floating point and rounded
// half up. For an amount of exactly half a cent, such as 1 × 0.145, the binary value may be just below the half, and
// the rule then requires the other neighbour: 0.14. In PINT-AE the result is therefore the nearest amount that the rule
// accepts, at most one cent away. ok is false if it accepts none, because the amount has too many digits for binary
// floating point.
func (p Profile) lineAmount(quantity, price, base string) (amount *big.Rat, ok bool) {
	exact := times(decimal(quantity), decimal(price))
	exact.Quo(exact, decimal(base))
	amount = cents(exact)
	if p != PINTAE || binaryEqual(amount, quantity, price, base) {
		return amount, true
	}
	for _, cent := range []*big.Rat{big.NewRat(-1, 100), big.NewRat(1, 100)} {
		neighbour := plus(amount, cent)
		distance := new(big.Rat).Sub(neighbour, exact)
		if distance.Abs(distance).Cmp(big.NewRat(1, 100)) < 0 && binaryEqual(neighbour, quantity, price, base) {
			return neighbour, true
		}
	}
	return nil, false
}

// binaryEqual is the comparison of ibr-147-ae for a line without allowances and charges.
func binaryEqual(amount *big.Rat, quantity, price, base string) bool {
	float := func(text string) float64 {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic("document: not a decimal: " + text)
		}
		return f
	}
	// Separate statements keep the compiler from fusing the operations.
	unit := float(price) / float(base)
	product := float(quantity) * unit
	hundredfold := product * 100
	written := float(money(amount)) * 100
	return roundHalfUp(written)/100 == roundHalfUp(hundredfold)/100
}

// roundHalfUp is fn:round of XPath: the nearest integer, of two equally near ones the higher.
func roundHalfUp(x float64) float64 {
	whole := math.Floor(x)
	if x-whole >= 0.5 {
		return whole + 1
	}
	return whole
}
