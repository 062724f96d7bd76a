package document

import (
	"math/big"
	"slices"

	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// The tax categories (UNCL5305) with rules of their own.
const (
	standardRate  = "S"
	zeroRated     = "Z"
	exempt        = "E"
	reverseCharge = "AE"
	outOfScope    = "O"
	marginScheme  = "N"
	export        = "G"
	intraUnion    = "K"
	canaryTax     = "L"
	ceutaTax      = "M"
)

// uncountedUnit is the unit "one" (C62) of a line that credits an amount instead of a quantity.
const uncountedUnit = "C62"

// dirham is the currency in which the UAE assess tax.
const dirham = "AED"

// model is a document with everything that is computed.
type model struct {
	Document
	profile Profile
	lines   []line
	// allowances are the allowances and charges on the whole document.
	allowances []allowance
	// sums are the amounts; nil if they cannot be computed.
	sums *invoice.Sums
}

// line is one line with its amounts.
type line struct {
	// item is the invoice line, for everything but the numbers below.
	item *api.Item
	// at is the position of item in the draft, from 0, and path that of the line in the request: items[3] or
	// invoice.items[3].
	at   int
	path string
	// The numbers as they are written; gross is "" if there is none.
	quantity, unit, price, base, gross, discount string
	category                                     string
	allowances                                   []allowance
	// percent is the rate as it is written, "" if the category has none.
	percent string
	// net is the amount of the line (BT-131), nil if it cannot be computed.
	net *api.Amount
}

// percent returns the rate that the document shows for a line, "" if the category has none: out of scope (BR-O-05), and
// exempt in PINT-AE (aligned-ibrp-e-05).
func (p Profile) percent(item *api.Item) string {
	line := invoice.LineOf(item)
	return p.Arithmetic().Rate(&line)
}

// newLine returns the line of an item without its amounts.
func (p Profile) newLine(item *api.Item, at int, path string) line {
	l := line{item: item, at: at, path: path, quantity: number(item.Quantity), unit: text(item.UnitCode),
		price: number(item.NetUnitPrice), base: number(item.BaseQuantity), gross: number(item.GrossUnitPrice),
		discount: number(item.DiscountAmount), category: text(item.VATCategory), percent: p.percent(item)}
	if all := invoice.LineAllowancesOf(item); all != nil {
		l.allowances = lineAllowances(item, all, path)
	}
	if p == "" { // only documents state what is usual
		return l
	}
	if l.base == "" {
		l.base = "1"
	}
	if l.discount == "" {
		l.discount = "0"
	}
	return l
}

// documentLines returns the lines without their amounts: of the invoice, or the credited ones. A line that credits an
// amount is one unit with that price, of the sign of the amount, because a price is never negative (BR-27).
func documentLines(p Profile, d Document) []line {
	var lines []line
	if d.Credit == nil {
		for i := range d.Draft.Items {
			lines = append(lines, p.newLine(&d.Draft.Items[i], i, itemPath(i)))
		}
		return lines
	}
	for _, credited := range d.Credit.Items {
		l := p.newLine(&d.Draft.Items[credited.Position], credited.Position, CreditedPath+itemPath(credited.Position))
		switch {
		case credited.Quantity != nil:
			l.quantity = number(credited.Quantity)
			if len(l.item.Allowances)+len(l.item.Charges) > 0 && d.Credit.Kind == api.CreditPartial {
				l.allowances = lineAllowances(l.item, p.Arithmetic().ShareAllowances(d.Draft.Currency, l.item, l.quantity,
					string(*credited.NetAmount)), l.path)
			}
		case p == "":
			l.quantity, l.price, l.base, l.gross, l.discount, l.allowances = "", "", "", "", "", nil
		case credited.NetAmount != nil:
			l.allowances = nil
			var amount invoice.Line
			amount.CreditAmount(string(*credited.NetAmount))
			l.quantity, l.price, l.base = amount.Quantity, amount.Price, amount.Base
			l.unit, l.gross, l.discount = uncountedUnit, l.price, "0"
		}
		lines = append(lines, l)
	}
	return lines
}

// compute returns the document with its amounts. ok is false if a number for them is missing or cannot be used.
func compute(p Profile, d Document) (m model, ok bool) {
	m = model{Document: d, profile: p, lines: documentLines(p, d), allowances: documentAllowances(p, d)}
	lines := make([]invoice.Line, len(m.lines))
	for i := range m.lines {
		l := &m.lines[i]
		lines[i] = l.input()
		if p == "" && d.Credit != nil { // what it credits was computed when it was made
			lines[i] = invoice.CreditLine(&d.Credit.Items[i])
			l.net = d.Credit.Items[i].NetAmount
		}
	}
	sums, ok := p.Arithmetic().Sum(d.Draft.Currency, lines, charged(m.allowances))
	if !ok {
		return m, false
	}
	m.sums = &sums
	for i, net := range sums.Lines() {
		m.lines[i].net = wire(net)
	}
	return m, sums.Totals().Tax != nil
}

// input is what the line is computed from.
func (l *line) input() invoice.Line {
	return invoice.Line{Quantity: l.quantity, Price: l.price, Base: l.base, Category: l.category, Rate: l.percent,
		Allowances: charged(l.allowances)}
}

// reason says why no tax is charged.
type reason struct{ code, words *string }

// reason is that of a line.
func (l *line) reason() reason { return reason{l.item.TaxExemptionCode, l.item.TaxExemptionReason} }

// given tells whether there is one.
func (r reason) given() bool { return text(r.code)+text(r.words) != "" }

// reasonOf returns the first reason of a row of the tax breakdown: that of a line, or else of an allowance or a charge.
func (m *model) reasonOf(row invoice.TaxSubtotal) reason {
	for i := range m.lines {
		if l := &m.lines[i]; l.category == row.Category && l.percent == row.Rate && l.reason().given() {
			return l.reason()
		}
	}
	for i := range m.allowances {
		if x := &m.allowances[i]; x.Category == row.Category && x.exemption().given() {
			return x.exemption()
		}
	}
	return reason{}
}

// reasoned tells whether the tax breakdown says why no tax is charged (BR-E-10, BR-AE-10, BR-IC-10, BR-G-10, BR-O-10).
func reasoned(category string) bool {
	return slices.Contains([]string{exempt, reverseCharge, intraUnion, export, outOfScope}, category)
}

// rate is the exchange rate into the currency of the tax: 1 if it is that of the document, nil if it is not known.
func (m *model) rate() *big.Rat {
	switch {
	case m.taxCurrency() == "":
		return big.NewRat(1, 1)
	case number(m.Draft.TaxExchangeRate) != "":
		return decimal(number(m.Draft.TaxExchangeRate))
	}
	return nil
}

// taxCurrency is the currency in which the tax is stated too, "" if it is that of the document.
func (m *model) taxCurrency() string {
	currency := text(m.Draft.TaxCurrency)
	if m.profile == PINTAE {
		currency = dirham
	}
	if currency == text(m.Draft.Currency) {
		return ""
	}
	return currency
}

// outsideTax tells whether a document of the UAE has the type of one that is out of scope of tax: because of its lines,
// or because its author says so and nothing on it is taxable.
func (d Document) outsideTax(lines []line, allowances []allowance) bool {
	return untaxable(lines) || text(d.Draft.TypeCode) == outOfScopeInvoice && !taxable(lines, allowances)
}

// taxable tells whether a line, an allowance or a charge has another category than a document out of scope of tax may
// have (ibr-122-ae).
func taxable(lines []line, allowances []allowance) bool {
	outside := func(category string) bool {
		return slices.Contains([]string{"", exempt, outOfScope, zeroRated}, category)
	}
	return slices.ContainsFunc(lines, func(l line) bool { return !outside(l.category) }) ||
		slices.ContainsFunc(allowances, func(x allowance) bool { return !outside(x.Category) })
}

// untaxable tells whether every line is exempt or out of scope, which makes the type (ibr-151-ae).
func untaxable(lines []line) bool {
	return !slices.ContainsFunc(lines, func(l line) bool { return l.category != exempt && l.category != outOfScope })
}
