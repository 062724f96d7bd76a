package invoice

// TaxSubtotal is one line of the tax breakdown of a document (EN 16931 BG-23).
type TaxSubtotal struct {
	// Category is the tax category code (BT-118), and Rate its rate in percent (BT-119) in its Shortest form; "" if
	// absent.
	Category, Rate string
	// Taxable is the sum of the line amounts (BT-116), and Tax the tax on it (BT-117); Tax is nil if it cannot be
	// computed because the rate is absent. Only the categories of [Taxed] have tax, so that the rate of others is
	// information.
	Taxable, Tax *Amount
}

// Breakdown returns the tax breakdown, in the order of the first lines of its rows.
func (s *Sums) Breakdown() []TaxSubtotal {
	out := make([]TaxSubtotal, len(s.groups))
	for n := range s.groups {
		g := &s.groups[n]
		out[n] = TaxSubtotal{Category: g.category, Rate: g.rate, Taxable: amountOf(g.taxable, s.scale)}
		if g.tax != nil {
			out[n].Tax = amountOf(g.tax, s.scale)
		}
	}
	return out
}
