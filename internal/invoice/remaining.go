package invoice

import (
	"math/big"

	"quittance/api"
)

// Remaining is what is left of an invoice for further credit notes.
type Remaining struct {
	// Untouched tells that nothing is credited yet, so that a full credit note may take everything.
	Untouched bool
	// Total is what is left of total_amount; "" when the currency is not known.
	Total api.Amount
	// Lines are the lines of the invoice in their order.
	Lines []RemainingLine
}

// RemainingLine is what is left of one line; both are "" when the line cannot be computed, so that only a full credit note
// can take it. A credited amount takes nothing of the quantity, so either bound may be the nearer one.
type RemainingLine struct {
	NetAmount api.Amount
	Quantity  api.Amount
}

// Remain returns what is left of an invoice beside its live credits, each of which [NewCredit] has made: the bounds that
// it holds the next one to.
func Remain(d *api.Draft, live []Credit) Remaining {
	r := Remaining{Untouched: len(live) == 0, Lines: make([]RemainingLine, len(d.Items))}
	scale, known := moneyScale(d.Currency)
	if !known {
		return r
	}
	for i := range live {
		if live[i].Kind == api.CreditFull {
			r.Total = creditAmount(new(big.Int), scale)
			for n := range r.Lines {
				r.Lines[n] = RemainingLine{NetAmount: r.Total, Quantity: "0"}
			}
			return r
		}
	}
	p := newPartialCredit(d, scale, live)
	left := func(whole, taken *big.Int, scale int) api.Amount {
		return creditAmount(new(big.Int).Sub(whole, orZero(taken)), scale)
	}
	r.Total = left(units(d.TotalAmount.String(), scale), p.total, scale)
	for n := range r.Lines {
		line, ok := lineAmount(&d.Items[n], scale)
		if !ok {
			continue
		}
		quantity := left(units(d.Items[n].Quantity.String(), api.MaxScale), p.quantities[n], api.MaxScale)
		r.Lines[n] = RemainingLine{NetAmount: left(line, p.nets[n], scale), Quantity: api.Amount(shortest(string(quantity)))}
	}
	return r
}
