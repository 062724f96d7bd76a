package document

import (
	"math/big"

	"quittance/client/api"
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

// cents rounds to [invoice.FormatDigits], half away from zero.
func cents(r *big.Rat) *big.Rat { return decimal(r.FloatString(invoice.FormatDigits)) }

// money rounds and formats an amount. Nothing has no sign.
func money(r *big.Rat) *api.Amount {
	return new(api.Amount(cents(r).FloatString(invoice.FormatDigits)))
}

// times multiplies.
func times(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }

// plus adds.
func plus(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }

// percentOf is amount × rate ÷ 100, not rounded.
func percentOf(amount *big.Rat, rate string) *big.Rat {
	return times(amount, new(big.Rat).Quo(decimal(rate), big.NewRat(100, 1)))
}
