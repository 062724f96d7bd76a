package invoice

import (
	"fmt"
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
// from its quantity in the same way as [Compute] computes a line. The total is the sum of the net amounts and their
// tax, rounded per category and rate like in Compute.
//
// For any sequence of accepted and voided credits, the live credits together never exceed the net amount and quantity
// of a line, nor the total_amount of the invoice. Each credit has the sign of what it credits, or is 0, so that no void
// can break this invariant. Therefore a credit note that covers only the negative lines of an invoice with a positive
// total is refused.
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

// RequestCredit is like [NewCredit], for a request whose form may have faults, by JSON path. It adds the faults of
// NewCredit to them, unless kind or items have a fault: then the credit cannot be determined.
func RequestCredit(d *api.Draft, live []Credit, request *api.CreditNoteRequest, form api.Faults) (Credit, api.Faults) {
	for path := range form {
		if path == "kind" || strings.HasPrefix(path, "items") {
			return Credit{}, form
		}
	}
	credit, faults := NewCredit(d, live, request)
	return credit, form.With(faults)
}

// fullCredit returns a credit of everything. The amount of a line that cannot be computed is absent.
func fullCredit(d *api.Draft) Credit {
	credit := Credit{Kind: api.CreditFull, Total: api.Amount(d.TotalAmount.String()),
		Items: make([]api.CreditNoteItem, len(d.Items))}
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

// creditItem returns an item that describes the line at a position.
func creditItem(d *api.Draft, position int) api.CreditNoteItem {
	item := &d.Items[position]
	return api.CreditNoteItem{Position: position, Name: text(item.Name), UnitCode: item.UnitCode,
		VATCategory: item.VATCategory, VATRate: item.VATRate}
}

// creditAmount formats an integer of 10^-scale.
func creditAmount(n *big.Int, scale int) api.Amount {
	return api.Amount(sums{scale: scale}.amount(n).String())
}

// partialCredit builds a partial credit. Amounts are integers of 10^-scale, quantities are integers of 10^-MaxScale.
type partialCredit struct {
	draft  *api.Draft
	scale  int
	faults api.Faults
	credit Credit

	// The sums of the live credits, by position and for the whole invoice.
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
	// Continue after a fault, so that all faults are reported at once.
	if !p.taxes.add(&p.draft.Items[position], orZero(net)) {
		p.faults.Add(itemPath(i, "position"), ruleNotComputable,
			"the tax of this line cannot be computed: it has no vat_rate")
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

// byQuantity returns the net amount of a quantity of a line. The amount may round to 0, so the quantity has its own
// limit.
func (p *partialCredit) byQuantity(path string, position int, line *big.Int, quantity api.Decimal) (*big.Int, bool) {
	part := p.draft.Items[position]
	whole := units(part.Quantity.String(), api.MaxScale)
	if !p.fits(path, "quantity", units(quantity.String(), api.MaxScale), orZero(p.quantities[position]), whole,
		api.MaxScale) {
		return nil, false
	}
	part.Quantity = &quantity
	net, _ := lineAmount(&part, p.scale) // the line itself was computed with the same price and base
	if net.Sign() == 0 {
		return net, true
	}
	return net, p.fits(path, "net amount", net, orZero(p.nets[position]), line, p.scale)
}

// byAmount returns a given net amount.
func (p *partialCredit) byAmount(path string, position int, line *big.Int, amount *api.Decimal) (*big.Int, bool) {
	if places(amount) > p.scale {
		p.faults.Add(path, ruleMinorUnit, fmt.Sprintf("must have at most %d digits after the point in %s", p.scale,
			text(p.draft.Currency)))
		return nil, false
	}
	net := units(amount.String(), p.scale)
	return net, p.fits(path, "net amount", net, orZero(p.nets[position]), line, p.scale)
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
			what, shortest(string(creditAmount(left, scale)))))
		return false
	}
	return true
}

// finish computes the total if the items have no faults.
func (p *partialCredit) finish() {
	if len(p.faults) > 0 {
		return
	}
	total := p.taxes.tax()
	total.Add(total, p.net)
	whole := units(p.draft.TotalAmount.String(), p.scale)
	if total.Sign() != 0 && total.Sign() != whole.Sign() || beyond(total, p.total, whole) {
		left := new(big.Int).Sub(whole, p.total)
		p.faults.Add("items", ruleExceedsInvoice,
			fmt.Sprintf("must not take more than is left of the invoice's total_amount: they take %s with tax, %s is left",
				creditAmount(total, p.scale), creditAmount(left, p.scale)))
		return
	}
	p.credit.Total = creditAmount(total, p.scale)
}

// beyond reports whether more and taken together exceed whole. All have the same sign or are 0.
func beyond(more, taken, whole *big.Int) bool {
	return new(big.Int).Add(more, taken).CmpAbs(whole) > 0
}

// units returns the value of a decimal text as an integer of 10^-scale. The value must not need more digits after the
// point, but the text may have more zeros.
func units(text string, scale int) *big.Int { return parse(shortest(text)).at(scale) }

// orZero returns n, and 0 for nil.
func orZero(n *big.Int) *big.Int {
	if n == nil {
		return new(big.Int)
	}
	return n
}
