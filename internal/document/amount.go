package document

import (
	"math/big"

	"quittance/internal/document/invoice"
)

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

// cents rounds to [invoice.FormatDigits].
func cents(r *big.Rat) *big.Rat { return round(r, invoice.FormatDigits) }

// money formats an amount that is rounded already.
func money(r *big.Rat) string { return r.FloatString(invoice.FormatDigits) }

// times multiplies.
func times(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }

// plus adds.
func plus(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }

// percentOf is amount × rate ÷ 100, not rounded.
func percentOf(amount *big.Rat, rate string) *big.Rat {
	return times(amount, new(big.Rat).Quo(decimal(rate), big.NewRat(100, 1)))
}
