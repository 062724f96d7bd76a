package invoice

import (
	"math/big"

	"quittance/client/api"
)

// Remaining is what is left of an invoice for further credit notes.
type Remaining struct {
	// Untouched says that nothing is credited yet, so that a full credit note is possible.
	Untouched bool
	// Total is what is left of total_amount; "" if the currency is not known.
	Total api.Amount
	// Lines are the lines of the invoice, in order.
	Lines []RemainingLine
}

// RemainingLine is what is left of one line. Both fields are "" if the line cannot be computed, so that only a full
// credit note can credit it. A credited amount does not reduce the quantity, so either limit may be reached first.
type RemainingLine struct {
	NetAmount api.Amount
	Quantity  api.Amount
}

// Remain returns what is left of an invoice after its live credits, which [NewCredit] has made. These are the limits of
// the next credit.
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
