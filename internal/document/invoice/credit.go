package invoice

import (
	"fmt"
	"maps"
	"math/big"
	"strings"

	"quittance/client/api"
)

// The rules of a credit note beyond the form of its fields, as they appear in API responses.
const (
	ruleRequired       = "required"
	ruleNotAllowed     = "not_allowed"
	rulePosition       = "position"
	ruleOneOf          = "one_of"
	ruleSign           = "sign"
	ruleMinorUnit      = "minor_unit"
	ruleNotComputable  = "not_computable"
	ruleExceedsLine    = "exceeds_line"
	ruleExceedsInvoice = "exceeds_invoice"
)

// Credit is what a credit note credits of its invoice.
type Credit struct {
	Kind api.CreditKind
	// Total is with tax, in the invoice's currency.
	Total api.Amount
	// Items are at most one for each line of the invoice.
	Items []api.CreditNoteItem
}

// NewCredit returns what a requested credit note credits of an invoice, or the faults of the request by JSON path. live
// are the credits of the invoice's credit notes that are not void; NewCredit has made each of them. The draft must have
// no [Faults], and kind and items of the request must have their form.
//
// A full credit covers every line and the invoice's own total_amount, whether or not it can be computed, and requires
// that there are no live credits. A partial credit covers its items. The net amount of an item is given, or follows
// from its quantity. The total is that of a document with these lines in the arithmetic a ([Arithmetic.Sum]), and with
// their part of the allowances and charges on the invoice ([Arithmetic.CreditedAllowances]). The credit that takes what
// is left of every line takes what is left of the total, and so does one whose part of an allowance or a charge was
// rounded to more than that, if rounding explains the difference ([Sums.Due]), so that whatever was invoiced can be
// credited in parts.
//
// For any sequence of accepted and voided credits, the live credits together never exceed the net amount and quantity
// of a line, nor the total_amount of the invoice. Each credit has the sign of what it credits, or is 0, so that no void
// can break this invariant. Therefore a credit note that covers only the negative lines of an invoice with a positive
// total is refused.
func NewCredit(d *api.Draft, live []Credit, request *api.CreditNoteRequest, a Arithmetic) (Credit, api.Faults) {
	faults := api.Faults{}
	if *request.Kind == api.CreditFull {
		if request.Items != nil {
			faults.Add("items", ruleNotAllowed, "must be absent when kind is full")
		}
		if len(live) > 0 {
			faults.Add("kind", ruleExceedsInvoice, "must not be full: the invoice has live credit notes already")
		}
		if len(faults) > 0 {
			return Credit{}, faults
		}
		return fullCredit(d, a), faults
	}
	if len(request.Items) == 0 {
		faults.Add("items", ruleRequired, "is required when kind is partial")
		return Credit{}, faults
	}
	digits, known := a.sums(d.Currency)
	if !known {
		faults.Add("invoice_id", ruleNotComputable, "the currency of this invoice is not known")
		return Credit{}, faults
	}
	for i := range live {
		if live[i].Kind == api.CreditFull {
			faults.Add("kind", ruleExceedsInvoice, "the invoice has a live full credit note: nothing is left to credit")
			return Credit{}, faults
		}
	}
	p := newPartialCredit(d, a, digits, live)
	for i := range request.Items {
		p.take(i, &request.Items[i])
	}
	p.finish()
	return p.credit, p.faults
}

// RequestCredit is like [NewCredit], for a request whose form may have faults, by JSON path. It adds the faults of
// NewCredit to them, unless kind or items have a fault: then the credit cannot be determined.
func RequestCredit(d *api.Draft, live []Credit, request *api.CreditNoteRequest, a Arithmetic,
	form api.Faults) (Credit, api.Faults) {
	for path := range form {
		if path == "kind" || strings.HasPrefix(path, "items") {
			return Credit{}, form
		}
	}
	credit, faults := NewCredit(d, live, request, a)
	return credit, form.With(faults)
}

// fullCredit returns a credit of everything. The amount of a line that cannot be computed is absent.
func fullCredit(d *api.Draft, a Arithmetic) Credit {
	credit := Credit{Kind: api.CreditFull, Total: api.Amount(d.TotalAmount.String()),
		Items: make([]api.CreditNoteItem, len(d.Items))}
	digits, known := a.sums(d.Currency)
	for i := range d.Items {
		credit.Items[i] = creditItem(d, i)
		credit.Items[i].Quantity = d.Items[i].Quantity
		line := LineOf(&d.Items[i])
		if amount, ok := a.lineAmount(&line, digits.scale); ok && known {
			credit.Items[i].NetAmount = new(creditAmount(amount, digits.scale))
		}
	}
	return credit
}

// creditItem returns an item that describes the line at a position.
func creditItem(d *api.Draft, position int) api.CreditNoteItem {
	item := &d.Items[position]
	return api.CreditNoteItem{Position: position, Name: text(item.Name), UnitCode: item.UnitCode,
		VATCategory: item.VATCategory, VATRate: item.VATRate}
}

// creditAmount formats an integer of 10^-scale.
func creditAmount(n *big.Int, scale int) api.Amount { return api.Amount(amountOf(n, scale).text) }

// partialCredit builds a partial credit. Amounts are integers of 10^-scale, quantities are integers of 10^-MaxScale.
type partialCredit struct {
	draft      *api.Draft
	arithmetic Arithmetic
	digits     Sums // those of the amounts of this credit
	// scale is that of every amount that was credited earlier too, perhaps in another arithmetic.
	scale  int
	faults api.Faults
	credit Credit

	// The sums of the live credits, by position and for the whole invoice.
	nets, quantities map[int]*big.Int
	counted          map[int]*big.Int // the nets of the items with a quantity
	total            *big.Int
	earlier          int // their roundings: of the tax of each item, of each allowance and charge, and of each total

	// What this credit adds.
	seen  map[int]bool
	lines []Line
}

// CreditRoundings is how many roundings, beside those of its own lines, the rounding amount of a credit note of an
// invoice may make up for: the tax of each category was rounded in every credit note before it, of which there may be a
// hundred, and so was its part of each allowance and charge.
func CreditRoundings(d *api.Draft) int {
	return 100 * (len(d.Items) + len(d.Allowances) + len(d.Charges))
}

// creditScale is a scale that has all amounts of a currency in any arithmetic.
func creditScale(digits Sums, d *api.Draft) int {
	minor, _ := moneyScale(d.Currency)
	return max(digits.scale, minor, FormatDigits)
}

func newPartialCredit(d *api.Draft, a Arithmetic, digits Sums, live []Credit) *partialCredit {
	p := &partialCredit{draft: d, arithmetic: a, digits: digits, scale: creditScale(digits, d), faults: api.Faults{},
		credit: Credit{Kind: api.CreditPartial}, nets: map[int]*big.Int{}, quantities: map[int]*big.Int{},
		counted: map[int]*big.Int{},
		total:   new(big.Int), seen: map[int]bool{}}
	for i := range live {
		p.total.Add(p.total, units(string(live[i].Total), p.scale))
		p.earlier += len(live[i].Items) + len(d.Allowances) + len(d.Charges) + 1
		for _, item := range live[i].Items {
			addTo(p.nets, item.Position, units(string(*item.NetAmount), p.scale))
			if item.Quantity != nil {
				addTo(p.quantities, item.Position, units(item.Quantity.String(), api.MaxScale))
				addTo(p.counted, item.Position, units(string(*item.NetAmount), p.scale))
			}
		}
	}
	return p
}

func addTo(sums map[int]*big.Int, position int, n *big.Int) {
	sums[position] = new(big.Int).Add(orZero(sums[position]), n)
}

// wide returns an amount of this credit, of 10^-digits.scale, as one of 10^-scale.
func (p *partialCredit) wide(n *big.Int) *big.Int {
	return new(big.Int).Mul(n, pow10(p.scale-p.digits.scale))
}

// format writes an amount of 10^-scale with the digits of this credit, or with more if it needs them.
func (p *partialCredit) format(n *big.Int) api.Amount {
	return formatAtLeast(n, p.scale, p.digits.scale)
}

// formatAtLeast writes an integer of 10^-scale with least digits after the point, or with more if it needs them.
func formatAtLeast(n *big.Int, scale, least int) api.Amount {
	whole, fraction, _ := strings.Cut(amountOf(n, scale).text, ".")
	for len(fraction) > least && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	if fraction == "" {
		return api.Amount(whole)
	}
	return api.Amount(whole + "." + fraction)
}

// take adds the requested item at index i, or its faults.
func (p *partialCredit) take(i int, request *api.CreditItemRequest) {
	position := *request.Position
	switch {
	case position >= len(p.draft.Items):
		p.faults.Add(itemPath(i, "position"), rulePosition,
			fmt.Sprintf("must be the place of a line of the invoice, from 0 to %d", len(p.draft.Items)-1))
		return
	case p.seen[position]:
		p.faults.Add(itemPath(i, "position"), rulePosition, "must not be given twice")
		return
	}
	p.seen[position] = true
	if given(request.Quantity) == given(request.NetAmount) {
		p.faults.Add(fmt.Sprintf("items[%d]", i), ruleOneOf, "must have exactly one of quantity and net_amount")
		return
	}
	part := LineOf(&p.draft.Items[position])
	whole, ok := p.arithmetic.lineAmount(&part, p.digits.scale)
	if !ok {
		p.faults.Add(itemPath(i, "position"), ruleNotComputable, "the net amount of this line cannot be computed")
		return
	}
	var net *big.Int
	if given(request.Quantity) {
		net, ok = p.byQuantity(itemPath(i, "quantity"), position, p.wide(whole), &part, *request.Quantity)
	} else {
		net, ok = p.byAmount(itemPath(i, "net_amount"), position, p.wide(whole), &part, request.NetAmount)
	}
	// Continue after a fault, so that all faults are reported at once.
	if Taxed(part.Category) && part.Rate == "" {
		p.faults.Add(itemPath(i, "position"), ruleNotComputable,
			"the tax of this line cannot be computed: it has no vat_rate")
		return
	}
	if !ok {
		return
	}
	item := creditItem(p.draft, position)
	item.Quantity, item.NetAmount = request.Quantity, new(p.format(net))
	p.credit.Items, p.lines = append(p.credit.Items, item), append(p.lines, part)
}

// byQuantity returns the net amount of a quantity of a line, and makes part the credited line. The amount may round to
// 0, so the quantity has its own limit.
func (p *partialCredit) byQuantity(path string, position int, line *big.Int, part *Line,
	quantity api.Decimal) (*big.Int, bool) {
	whole := units(part.Quantity, api.MaxScale)
	if !p.fits(path, "quantity", units(quantity.String(), api.MaxScale), orZero(p.quantities[position]), whole,
		api.MaxScale) {
		return nil, false
	}
	var net *big.Int
	if len(part.Allowances) > 0 {
		net = p.share(position, line, whole, units(quantity.String(), api.MaxScale))
		*part = Line{Category: part.Category, Rate: part.Rate, Net: string(p.format(net))}
	} else {
		part.Quantity = quantity.String()
		amount, ok := p.arithmetic.lineAmount(part, p.digits.scale)
		if !ok {
			p.faults.Add(path, ruleNotComputable, "the net amount of this quantity cannot be computed")
			return nil, false
		}
		net = p.wide(amount)
	}
	if net.Sign() == 0 {
		return net, true
	}
	return net, p.fits(path, "net amount", net, orZero(p.nets[position]), line, p.scale)
}

// share returns the net amount of a quantity of a line with allowances or charges: what all credited quantities
// together take of the amount of the line, less what they have taken, so that the last one takes what is left.
func (p *partialCredit) share(position int, line, whole, quantity *big.Int) *big.Int {
	taken := new(big.Int).Add(quantity, orZero(p.quantities[position]))
	unit := pow10(p.scale - p.digits.scale)
	target := new(big.Rat).SetFrac(taken.Mul(taken, line), new(big.Int).Mul(whole, unit))
	net := quotient(target.Num(), target.Denom())
	net.Sub(net.Mul(net, unit), orZero(p.counted[position]))
	if net.Sign() != line.Sign() {
		net.SetInt64(0) // void credit notes may have taken more than their share
	}
	return net
}

// byAmount returns a given net amount, and makes part the credited line.
func (p *partialCredit) byAmount(path string, position int, line *big.Int, part *Line,
	amount *api.Decimal) (*big.Int, bool) {
	if places(amount) > p.digits.scale {
		p.faults.Add(path, ruleMinorUnit, fmt.Sprintf("must have at most %d digits after the point in %s", p.digits.scale,
			text(p.draft.Currency)))
		return nil, false
	}
	part.CreditAmount(amount.String())
	net := units(amount.String(), p.scale)
	return net, p.fits(path, "net amount", net, orZero(p.nets[position]), line, p.scale)
}

// CreditLine returns what an item of a credit note is computed from: its amount.
func CreditLine(item *api.CreditNoteItem) Line {
	line := LineOf(&api.Item{VATCategory: item.VATCategory, VATRate: item.VATRate})
	if item.NetAmount != nil {
		line.Net = string(*item.NetAmount)
	}
	return line
}

// CreditAmount makes a line one that credits an amount of it: one unit with that price, of the sign of the amount,
// because a price is never negative (BR-27).
func (l *Line) CreditAmount(amount string) {
	var negative bool
	l.Allowances = nil
	l.Price, negative = strings.CutPrefix(Shortest(amount), "-")
	if l.Quantity, l.Base = "1", "1"; negative {
		l.Quantity = "-1"
	}
}

// fits reports whether more can be credited of a line with the value whole, of which taken is credited already. It adds
// a fault if not; what names the quantity or amount in its message.
func (p *partialCredit) fits(path, what string, more, taken, whole *big.Int, scale int) bool {
	if more.Sign() == 0 || whole.Sign() != 0 && more.Sign() != whole.Sign() {
		p.faults.Add(path, ruleSign, "must not be 0, and must have the sign of the line's "+what)
		return false
	}
	if beyond(more, taken, whole) {
		left := new(big.Int).Sub(whole, taken)
		p.faults.Add(path, ruleExceedsLine, fmt.Sprintf("must not take more than is left of the line's %s, %s",
			what, Shortest(string(creditAmount(left, scale)))))
		return false
	}
	return true
}

// finish computes the total if the items have no faults.
func (p *partialCredit) finish() {
	if len(p.faults) > 0 {
		return
	}
	if p.worthless() {
		p.faults.Add("kind", ruleExceedsLine,
			"must be full: no line of this invoice has an amount, so that a part would credit nothing of its charges")
		return
	}
	sums, ok := p.arithmetic.Sum(p.draft.Currency, p.lines,
		p.arithmetic.CreditedAllowances(p.draft, p.credit.Items))
	if !ok {
		p.faults.Add("items", ruleNotComputable, "the net amounts of these lines cannot be added up")
		return
	}
	total := p.wide(sums.total())
	whole := units(p.draft.TotalAmount.String(), p.scale)
	left := new(big.Int).Sub(whole, p.total)
	_, _, explained := sums.Due(string(p.format(left)), min(p.earlier, CreditRoundings(p.draft)))
	if explained && (p.takesRest() || sums.parts > 0 && beyond(total, p.total, whole)) {
		total = left
	}
	if total.Sign() != 0 && total.Sign() != whole.Sign() || beyond(total, p.total, whole) {
		p.faults.Add("items", ruleExceedsInvoice,
			fmt.Sprintf("must not take more than is left of the invoice's total_amount: they take %s with tax, %s is left",
				p.format(total), p.format(left)))
		return
	}
	p.credit.Total = formatAtLeast(total, p.scale, p.digits.minor)
}

// worthless reports whether the invoice has allowances or charges, and no line with an amount that they could follow.
func (p *partialCredit) worthless() bool {
	if len(p.draft.Allowances)+len(p.draft.Charges) == 0 {
		return false
	}
	for n := range p.draft.Items {
		line := LineOf(&p.draft.Items[n])
		if amount, ok := p.arithmetic.lineAmount(&line, p.digits.scale); !ok || amount.Sign() != 0 {
			return false
		}
	}
	return true
}

// takesRest reports whether this credit takes what is left of the amount of every line, but for parts of a unit that
// other arithmetics have left.
func (p *partialCredit) takesRest() bool {
	taken := maps.Clone(p.nets)
	for n := range p.credit.Items {
		addTo(taken, p.credit.Items[n].Position, units(string(*p.credit.Items[n].NetAmount), p.scale))
	}
	for n := range p.draft.Items {
		line := LineOf(&p.draft.Items[n])
		whole, ok := p.arithmetic.lineAmount(&line, p.digits.scale)
		rest := p.wide(orZero(whole))
		if !ok || rest.Sub(rest, orZero(taken[n])).CmpAbs(pow10(p.scale-p.digits.scale)) >= 0 {
			return false
		}
	}
	return true
}

// beyond reports whether more and taken together exceed whole. All have the same sign or are 0.
func beyond(more, taken, whole *big.Int) bool {
	return new(big.Int).Add(more, taken).CmpAbs(whole) > 0
}

// orZero returns n, and 0 for nil.
func orZero(n *big.Int) *big.Int {
	if n == nil {
		return new(big.Int)
	}
	return n
}
