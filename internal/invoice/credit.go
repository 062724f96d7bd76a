package invoice

import (
	"fmt"
	"math/big"
	"strings"

	"quittance/api"
)

// The rules of a credit note beyond the form of its fields, as they stand in answers.
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

// Credit is what a credit note takes of its invoice.
type Credit struct {
	Kind api.CreditKind
	// Total is with tax, in the invoice's currency.
	Total api.Amount
	// Items are at most one for each line of the invoice.
	Items []api.CreditNoteItem
}

// NewCredit returns what a requested credit note takes of an invoice, or what is wrong with the request, by JSON path
// (contract, section 7). live are the credits of the invoice's credit notes that are not void; each was made here. The
// draft has no [Faults], and kind and items of the request have their form.
//
// A full credit takes every line and the invoice's own total_amount, computed or not, and wants that nothing is live. A
// partial one takes its items: an item's net amount is given, or follows from its quantity as [Compute] adds up a line;
// the total is the net amounts and their tax, rounded per category and rate as Compute does.
//
// Whichever credits are accepted one after the other, and whichever of them are voided in between: the live ones
// together never take more of a line than its net amount and its quantity, and never more of the invoice than its
// total_amount. Each has the sign of what it is taken from or is 0, which is why no void can break this: a credit note
// that takes only the negative lines of an invoice with a positive total is refused.
func NewCredit(d *api.Draft, live []Credit, request *api.CreditNoteRequest) (Credit, api.Faults) {
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
		return fullCredit(d), faults
	}
	if len(request.Items) == 0 {
		faults.Add("items", ruleRequired, "is required when kind is partial")
		return Credit{}, faults
	}
	scale, known := moneyScale(d.Currency)
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
	p := newPartialCredit(d, scale, live)
	for i := range request.Items {
		p.take(i, &request.Items[i])
	}
	p.finish()
	return p.credit, p.faults
}

// RequestCredit is [NewCredit] of a request whose form has faults, by JSON path: what the invoice has to say to it is added
// to them. When kind or items lack their form, nothing can be said of what they take.
func RequestCredit(d *api.Draft, live []Credit, request *api.CreditNoteRequest, form api.Faults) (Credit, api.Faults) {
	for path := range form {
		if path == "kind" || strings.HasPrefix(path, "items") {
			return Credit{}, form
		}
	}
	credit, faults := NewCredit(d, live, request)
	return credit, form.With(faults)
}

// fullCredit takes everything. The amount of a line that cannot be computed is left open.
func fullCredit(d *api.Draft) Credit {
	credit := Credit{Kind: api.CreditFull, Total: api.Amount(d.TotalAmount.String()), Items: make([]api.CreditNoteItem, len(d.Items))}
	scale, known := moneyScale(d.Currency)
	for i := range d.Items {
		credit.Items[i] = creditItem(d, i)
		credit.Items[i].Quantity = d.Items[i].Quantity
		if line, ok := lineAmount(&d.Items[i], scale); ok && known {
			credit.Items[i].NetAmount = new(creditAmount(line, scale))
		}
	}
	return credit
}

// creditItem names the line at a position.
func creditItem(d *api.Draft, position int) api.CreditNoteItem {
	item := &d.Items[position]
	return api.CreditNoteItem{Position: position, Name: text(item.Name), UnitCode: item.UnitCode, VATCategory: item.VATCategory, VATRate: item.VATRate}
}

// creditAmount writes an integer of 10^-scale.
func creditAmount(n *big.Int, scale int) api.Amount {
	return api.Amount(sums{scale: scale}.amount(n).String())
}

// partialCredit is a partial credit in the making. Amounts are integers of 10^-scale, quantities of 10^-MaxScale.
type partialCredit struct {
	draft  *api.Draft
	scale  int
	faults api.Faults
	credit Credit

	// What is live already, by position, and of the invoice as a whole.
	nets, quantities map[int]*big.Int
	total            *big.Int

	// What this credit adds.
	seen  map[int]bool
	net   *big.Int
	taxes breakdown
}

func newPartialCredit(d *api.Draft, scale int, live []Credit) *partialCredit {
	p := &partialCredit{draft: d, scale: scale, faults: api.Faults{}, credit: Credit{Kind: api.CreditPartial},
		nets: map[int]*big.Int{}, quantities: map[int]*big.Int{}, total: new(big.Int),
		seen: map[int]bool{}, net: new(big.Int), taxes: breakdown{}}
	add := func(to map[int]*big.Int, position int, n *big.Int) {
		if to[position] == nil {
			to[position] = new(big.Int)
		}
		to[position].Add(to[position], n)
	}
	for i := range live {
		p.total.Add(p.total, units(string(live[i].Total), scale))
		for _, item := range live[i].Items {
			add(p.nets, item.Position, units(string(*item.NetAmount), scale))
			if item.Quantity != nil {
				add(p.quantities, item.Position, units(item.Quantity.String(), api.MaxScale))
			}
		}
	}
	return p
}

// take adds the requested item at index i, or reports what is wrong with it.
func (p *partialCredit) take(i int, request *api.CreditItemRequest) {
	position := *request.Position
	switch {
	case position >= len(p.draft.Items):
		p.faults.Add(itemPath(i, "position"), rulePosition, fmt.Sprintf("must be the place of a line of the invoice, from 0 to %d", len(p.draft.Items)-1))
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
	line, ok := lineAmount(&p.draft.Items[position], p.scale)
	if !ok {
		p.faults.Add(itemPath(i, "position"), ruleNotComputable, "the net amount of this line cannot be computed")
		return
	}
	var net *big.Int
	if given(request.Quantity) {
		net, ok = p.byQuantity(itemPath(i, "quantity"), position, line, *request.Quantity)
	} else {
		net, ok = p.byAmount(itemPath(i, "net_amount"), position, line, request.NetAmount)
	}
	// Also after a fault, so that all faults are reported at once.
	if !p.taxes.add(&p.draft.Items[position], orZero(net)) {
		p.faults.Add(itemPath(i, "position"), ruleNotComputable, "the tax of this line cannot be computed: it has no vat_rate")
		return
	}
	if !ok {
		return
	}
	p.net.Add(p.net, net)
	item := creditItem(p.draft, position)
	item.Quantity, item.NetAmount = request.Quantity, new(creditAmount(net, p.scale))
	p.credit.Items = append(p.credit.Items, item)
}

// byQuantity returns the net amount of a quantity of a line. It may round to 0, and what is given away may be taken
// back, so the quantity has its own ceiling.
func (p *partialCredit) byQuantity(path string, position int, line *big.Int, quantity api.Decimal) (*big.Int, bool) {
	part := p.draft.Items[position]
	whole := units(part.Quantity.String(), api.MaxScale)
	if !p.fits(path, "quantity", units(quantity.String(), api.MaxScale), orZero(p.quantities[position]), whole, api.MaxScale) {
		return nil, false
	}
	part.Quantity = &quantity
	net, _ := lineAmount(&part, p.scale) // the line itself was computed with the same price and base
	if net.Sign() == 0 {
		return net, true
	}
	return net, p.fits(path, "net amount", net, orZero(p.nets[position]), line, p.scale)
}

// byAmount returns a net amount that was given.
func (p *partialCredit) byAmount(path string, position int, line *big.Int, amount *api.Decimal) (*big.Int, bool) {
	if places(amount) > p.scale {
		p.faults.Add(path, ruleMinorUnit, fmt.Sprintf("must have at most %d digits after the point in %s", p.scale, text(p.draft.Currency)))
		return nil, false
	}
	net := units(amount.String(), p.scale)
	return net, p.fits(path, "net amount", net, orZero(p.nets[position]), line, p.scale)
}

// fits tells whether more may be taken of a line of which taken is gone; what it reports names the quantity or amount.
func (p *partialCredit) fits(path, what string, more, taken, whole *big.Int, scale int) bool {
	if more.Sign() == 0 || whole.Sign() != 0 && more.Sign() != whole.Sign() {
		p.faults.Add(path, ruleSign, "must not be 0, and must have the sign of the line's "+what)
		return false
	}
	if beyond(more, taken, whole) {
		left := new(big.Int).Sub(whole, taken)
		p.faults.Add(path, ruleExceedsLine, fmt.Sprintf("must not take more than is left of the line's %s, %s", what, shortest(string(creditAmount(left, scale)))))
		return false
	}
	return true
}

// finish computes the total, if nothing is wrong with the items.
func (p *partialCredit) finish() {
	if len(p.faults) > 0 {
		return
	}
	total := p.taxes.tax()
	total.Add(total, p.net)
	whole := units(p.draft.TotalAmount.String(), p.scale)
	if total.Sign() != 0 && total.Sign() != whole.Sign() || beyond(total, p.total, whole) {
		left := new(big.Int).Sub(whole, p.total)
		p.faults.Add("items", ruleExceedsInvoice, fmt.Sprintf("must not take more than is left of the invoice's total_amount: they take %s with tax, %s is left",
			creditAmount(total, p.scale), creditAmount(left, p.scale)))
		return
	}
	p.credit.Total = creditAmount(total, p.scale)
}

// beyond tells whether more and taken together are more than whole. All have the same sign or are 0.
func beyond(more, taken, whole *big.Int) bool {
	return new(big.Int).Add(more, taken).CmpAbs(whole) > 0
}

// units is the value of a decimal text as an integer of 10^-scale; the value has no more digits after the point, but the
// text may have further zeros.
func units(text string, scale int) *big.Int { return parse(shortest(text)).at(scale) }

// orZero returns n, and 0 for nil.
func orZero(n *big.Int) *big.Int {
	if n == nil {
		return new(big.Int)
	}
	return n
}
