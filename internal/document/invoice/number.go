package invoice

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"quittance/client/api"
)

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

// decimal is coefficient × 10^-scale.
type decimal struct {
	coefficient int64
	scale       int
}

// parse reads the text of a decimal that is present. Its grammar was checked when the decimal was made, and it has at
// most [api.MaxDigits] digits, which fit.
func parse(text string) decimal {
	var n decimal
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
func (n decimal) at(scale int) *big.Int { return bigProduct(n.coefficient, power10(scale-n.scale)) }

// smallAt is like at; ok is false if the integer is not small.
func (n decimal) smallAt(scale int) (at int64, ok bool) {
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

// canonical returns the Shortest text of a decimal's value, so that 5.00 and 5 are one tax rate.
func canonical(d *api.Decimal) string { return Shortest(d.String()) }

// Shortest removes the trailing zeros of a decimal text that do not affect its value.
func Shortest(s string) string {
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

// number returns the text of an optional number, "" if it is absent.
func number(d *api.Decimal) string {
	if !given(d) {
		return ""
	}
	return d.String()
}

// unitsIn returns the value of the text of a number as an integer of 10^-scale. ok is false if it needs more digits
// after the point. The text has the form of a decimal, and may have any number of digits.
func unitsIn(text string, scale int) (value *big.Int, ok bool) {
	whole, fraction, _ := strings.Cut(Shortest(text), ".")
	if len(fraction) > scale {
		return nil, false
	}
	value, ok = new(big.Int).SetString(whole+fraction+strings.Repeat("0", scale-len(fraction)), 10)
	if !ok {
		panic("invoice: not a decimal: " + text)
	}
	return value, true
}

// units is [unitsIn] for values that have no more digits.
func units(text string, scale int) *big.Int {
	value, ok := unitsIn(text, scale)
	if !ok {
		panic("invoice: more digits than " + strconv.Itoa(scale) + ": " + text)
	}
	return value
}
