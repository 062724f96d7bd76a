package document_test

import (
	"math/big"
	"strings"

	"quittance/client/api"
	"quittance/internal/document"
)

// allowances adds allowances and charges to the lines and to the whole of a document, and what is paid already.
func (r random) allowances(of *document.Document) {
	d := of.Draft
	for i := range d.Items {
		if r.chance(25) {
			d.Items[i].Allowances = r.lineAllowances(95)
		}
		if r.chance(25) {
			d.Items[i].Charges = r.lineAllowances(0)
		}
	}
	for range r.IntN(4) {
		like := &d.Items[r.IntN(len(d.Items))]
		if *like.VATCategory == "N" {
			continue
		}
		charge := r.chance(50)
		line := r.lineAllowance(map[bool]int{false: 95}[charge])
		x := api.Allowance{Amount: line.Amount, BaseAmount: line.BaseAmount, Percent: line.Percent, Reason: line.Reason,
			ReasonCode: line.ReasonCode, VATCategory: like.VATCategory, VATRate: like.VATRate}
		if *like.VATCategory == "AE" || *like.VATCategory == "E" {
			x.VATRate = new(api.MustDecimal("0"))
		}
		if *like.VATCategory == "E" && x.ReasonCode == nil {
			x.ReasonCode = new(map[bool]string{true: "FC", false: "95"}[charge])
		}
		if charge {
			d.Charges = append(d.Charges, x)
		} else {
			d.Allowances = append(d.Allowances, x)
		}
	}
	if total := document.Totals(r.profile, *of).Total; total != nil && strings.HasPrefix(string(*total), "-") {
		d.Allowances = nil
		for i := range d.Items {
			d.Items[i].Allowances = nil
		}
	}
	if r.chance(20) {
		d.PrepaidAmount = r.cents(5000)
	}
	if r.chance(20) {
		d.RoundingAmount = new(api.MustDecimal(pick(r, "0.02", "-0.01", "1", "0.00")))
	}
}

// lineAllowances returns one or two.
func (r random) lineAllowances(code int) []api.LineAllowance {
	out := []api.LineAllowance{r.lineAllowance(code)}
	if r.chance(40) {
		out = append(out, r.lineAllowance(code))
	}
	return out
}

// lineAllowance returns an allowance with a reason code, or a charge for 0.
func (r random) lineAllowance(code int) api.LineAllowance {
	x := api.LineAllowance{Amount: r.cents(2000)}
	if r.chance(40) {
		x.Amount, x.BaseAmount, x.Percent = nil, r.cents(100_000), r.decimal(20, 3)
	}
	x.Reason, x.ReasonCode = maybe(r, 60, r.plain()), maybe(r, 60, new(pick(r, "FC", "ABL", "ZZZ")))
	if code != 0 {
		x.ReasonCode = maybe(r, 60, new(pick(r, "95", "60", "100")))
	}
	if x.ReasonCode != nil && *x.ReasonCode == "ZZZ" {
		x.Reason = new("7600")
	} else if x.Reason == nil && x.ReasonCode == nil {
		x.Reason = new("As agreed")
	}
	return x
}

// cents returns an amount of at most some cents.
func (r random) cents(most int) *api.Decimal {
	return new(api.MustDecimal(big.NewRat(int64(r.IntN(most)), 100).FloatString(2)))
}
