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
func Remain(d *api.Draft, live []Credit, a Arithmetic) Remaining {
	r := Remaining{Untouched: len(live) == 0, Lines: make([]RemainingLine, len(d.Items))}
	digits, known := a.sums(d.Currency)
	if !known {
		return r
	}
	for i := range live {
		if live[i].Kind == api.CreditFull {
			r.Total = creditAmount(new(big.Int), digits.minor)
			for n := range r.Lines {
				r.Lines[n] = RemainingLine{NetAmount: r.Total, Quantity: "0"}
			}
			return r
		}
	}
	p := newPartialCredit(d, a, digits, live)
	r.Total = formatAtLeast(new(big.Int).Sub(units(d.TotalAmount.String(), p.scale), p.total), p.scale, digits.minor)
	for n := range r.Lines {
		line := LineOf(&d.Items[n])
		whole, ok := a.lineAmount(&line, digits.scale)
		if !ok {
			continue
		}
		quantity := new(big.Int).Sub(units(line.Quantity, api.MaxScale), orZero(p.quantities[n]))
		r.Lines[n] = RemainingLine{NetAmount: p.left(p.wide(whole), orZero(p.nets[n])),
			Quantity: api.Amount(Shortest(string(creditAmount(quantity, api.MaxScale))))}
	}
	return r
}

// left returns what is left of an amount in whole units of this arithmetic; nothing if earlier credits, in another one,
// have taken more than it.
func (p *partialCredit) left(whole, taken *big.Int) api.Amount {
	rest := new(big.Int).Sub(whole, taken)
	if rest.Sign() != whole.Sign() {
		rest.SetInt64(0)
	}
	return creditAmount(rest.Quo(rest, pow10(p.scale-p.digits.scale)), p.digits.scale)
}
