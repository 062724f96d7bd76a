package invoice

import (
	"cmp"
	"math/big"
	"slices"

	"quittance/client/api"
)

// TaxSubtotal is one line of the tax breakdown of a draft (EN 16931 BG-23).
type TaxSubtotal struct {
	// Category is the tax category code (BT-118), and Rate its rate in percent (BT-119) in its shortest form; "" if
	// absent.
	Category, Rate string
	// Taxable is the sum of the line amounts (BT-116), and Tax the tax on it (BT-117); Tax is nil if it cannot be
	// computed because the rate is absent. Only the categories of [Taxed] have tax, so that the rate of others is
	// information.
	Taxable, Tax *Amount
}

// Breakdown returns the tax breakdown of a draft, sorted by category and rate, by the rules of [Compute]. It is nil if
// the net total cannot be computed.
func Breakdown(d *api.Draft) []TaxSubtotal {
	scale, known := moneyScale(d.Currency)
	if !known {
		return nil
	}
	bases := map[taxGroup]*big.Int{}
	for i := range d.Items {
		item := &d.Items[i]
		line, ok := lineAmount(item, scale)
		if !ok {
			return nil
		}
		group := taxGroup{category: text(item.VATCategory)}
		if group.category != outOfScope && given(item.VATRate) {
			group.rate = canonical(item.VATRate)
		}
		if bases[group] == nil {
			bases[group] = new(big.Int)
		}
		bases[group].Add(bases[group], line)
	}
	s := sums{scale: scale}
	var out []TaxSubtotal
	for group, base := range bases {
		subtotal := TaxSubtotal{Category: group.category, Rate: group.rate, Taxable: s.amount(base)}
		switch {
		case !Taxed(group.category):
			subtotal.Tax = s.amount(new(big.Int))
		case group.rate != "":
			subtotal.Tax = s.amount(breakdown{group: base}.tax())
		}
		out = append(out, subtotal)
	}
	slices.SortFunc(out, func(a, b TaxSubtotal) int {
		return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(len(a.Rate), len(b.Rate)), cmp.Compare(a.Rate, b.Rate))
	})
	return out
}

// LineAmounts returns the amount of each line of a draft (EN 16931 BT-131), by the rules of [Compute]; nil for those
// that cannot be computed.
func LineAmounts(d *api.Draft) []*Amount {
	out := make([]*Amount, len(d.Items))
	scale, known := moneyScale(d.Currency)
	for i := range d.Items {
		if line, ok := lineAmount(&d.Items[i], scale); known && ok {
			out[i] = sums{scale: scale}.amount(line)
		}
	}
	return out
}
