package pdf

import (
	"cmp"
	"math/big"
	"strconv"

	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// Invoice returns the content of an invoice for which no document format is in effect. Amounts are those of
// [invoice.Compute]; what cannot be computed is nil.
func Invoice(d *api.Draft, seller *api.Profile) *api.ParsedDocument {
	p := content(d, seller)
	p.Type, p.Number, p.IssueDate, p.DueDate = api.ReceivedInvoice, d.InvoiceNumber, d.IssueDate, d.DueDate
	if d.Note != nil {
		p.Notes = []string{*d.Note}
	}
	if d.PaymentMeansCode != nil || seller.PayeeAccount != nil {
		p.Payment.Means = []api.ParsedPaymentMeans{{Code: d.PaymentMeansCode, Account: seller.PayeeAccount}}
	}
	for n := range d.Items {
		item := &d.Items[n]
		alone := invoice.Compute(&api.Draft{Currency: d.Currency, Items: d.Items[n : n+1]})
		p.Lines = append(p.Lines, api.ParsedLine{
			ID: new(strconv.Itoa(n + 1)), Name: item.Name, Description: item.Description, ItemCode: item.ItemCode,
			UnitCode: item.UnitCode, Quantity: number(item.Quantity), NetUnitPrice: number(item.NetUnitPrice),
			BaseQuantity: number(item.BaseQuantity), GrossUnitPrice: number(item.GrossUnitPrice),
			DiscountAmount: number(item.DiscountAmount), Net: computed(alone.Net), VATCategory: item.VATCategory,
			VATRate: number(item.VATRate), OrderLineReference: item.OrderLine,
			Allowances: []api.ParsedAllowance{},
		})
	}
	p.LineCount = len(p.Lines)
	p.TaxBreakdown = breakdown(d.Currency, d.Items)
	totals := invoice.Compute(d)
	p.Totals = api.ParsedTotals{Net: computed(totals.Net), Tax: computed(totals.Tax), Total: number(d.TotalAmount),
		Payable: number(d.TotalAmount)}
	return p
}

// CreditNote is like [Invoice] for a credit note of an invoice.
func CreditNote(c *api.CreditNote, credited *api.Draft, seller *api.Profile) *api.ParsedDocument {
	p := content(credited, seller)
	p.Type, p.Number, p.IssueDate = api.ReceivedCreditNote, &c.CreditNoteNumber, &c.IssueDate
	p.Notes = []string{c.Reason}
	p.References.PrecedingInvoices = []api.ParsedPreceding{{Number: credited.InvoiceNumber, IssueDate: credited.IssueDate}}
	net := new(big.Rat)
	var items []api.Item
	for n := range c.Items {
		item := &c.Items[n]
		line := api.ParsedLine{
			ID: new(strconv.Itoa(n + 1)), Name: &item.Name, UnitCode: item.UnitCode, Quantity: number(item.Quantity),
			Net: item.NetAmount, VATCategory: item.VATCategory, VATRate: number(item.VATRate),
			Allowances: []api.ParsedAllowance{},
		}
		if item.Quantity != nil && item.Position < len(credited.Items) {
			line.NetUnitPrice, line.BaseQuantity = number(credited.Items[item.Position].NetUnitPrice),
				number(credited.Items[item.Position].BaseQuantity)
		}
		p.Lines = append(p.Lines, line)
		if value, ok := rat(item.NetAmount); ok && net != nil {
			net.Add(net, value)
			items = append(items, amountItem(item))
		} else {
			net = nil
		}
	}
	p.LineCount = len(p.Lines)
	p.Totals = api.ParsedTotals{Total: &c.TotalAmount, Payable: &c.TotalAmount}
	if total, ok := rat(&c.TotalAmount); ok && net != nil {
		p.Totals.Net, p.Totals.Tax = exact(net), exact(new(big.Rat).Sub(total, net))
		p.TaxBreakdown = breakdown(credited.Currency, items)
	}
	return p
}

// content returns what invoices and credit notes have in common.
func content(d *api.Draft, s *api.Profile) *api.ParsedDocument {
	p := &api.ParsedDocument{
		Currency: d.Currency, TaxExchangeRate: number(d.TaxExchangeRate), Notes: []string{}, Warnings: api.Faults{},
		Seller: api.ParsedParty{
			Name: s.LegalName, TaxID: s.TaxRegistrationNumber, LegalID: s.LegalRegistration,
			LegalIDScheme: s.LegalRegistrationType, NetworkID: s.EndpointID, EndpointScheme: s.EndpointScheme, Street: s.Street,
			City: s.City, Subdivision: s.Subdivision, Country: s.Country,
		},
		Buyer: api.ParsedParty{
			Name: d.RecipientName, TaxID: d.BuyerTaxID, LegalID: d.BuyerLegalID, LegalIDScheme: d.BuyerLegalIDScheme,
			NetworkID: d.RecipientNetworkID, EndpointScheme: d.BuyerEndpointScheme, Street: d.BuyerStreet, City: d.BuyerCity,
			Subdivision: d.BuyerSubdivision,
			Country:     d.BuyerCountry,
		},
		References: api.ParsedReferences{Buyer: cmp.Or(d.BuyerReference, s.BuyerReference), Order: d.OrderReference,
			Contract: d.ContractReference},
	}
	return p
}

// breakdown returns the tax by category and rate, in the order of the lines. It is nil if it cannot be computed.
func breakdown(currency *string, items []api.Item) []api.ParsedTax {
	type group struct{ category, rate string }
	var order []group
	groups := map[group][]api.Item{}
	for _, item := range items {
		g := group{category: text(item.VATCategory)}
		if item.VATRate != nil {
			g.rate = item.VATRate.String()
		}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], item)
	}
	var out []api.ParsedTax
	for _, g := range order {
		totals := invoice.Compute(&api.Draft{Currency: currency, Items: groups[g]})
		if totals.Net == nil {
			return nil
		}
		first := &groups[g][0]
		out = append(out, api.ParsedTax{Category: first.VATCategory, Rate: number(first.VATRate),
			Taxable: computed(totals.Net), Tax: computed(totals.Tax), ExemptionCode: first.TaxExemptionCode,
			ExemptionReason: first.TaxExemptionReason})
	}
	return out
}

// amountItem is a line of the credited amount. Its quantity is the amount, because a price has no sign.
func amountItem(item *api.CreditNoteItem) api.Item {
	out := api.Item{VATCategory: item.VATCategory, VATRate: item.VATRate, NetUnitPrice: new(api.MustDecimal("1"))}
	if quantity, err := api.ParseDecimal(string(*item.NetAmount)); err == nil {
		out.Quantity = &quantity // without it, which is an amount of more digits than a decimal has, nothing is computed
	}
	return out
}

func number(d *api.Decimal) *api.Amount {
	if d == nil || d.IsZero() {
		return nil
	}
	return new(api.Amount(d.String()))
}

func computed(a *invoice.Amount) *api.Amount {
	if a == nil {
		return nil
	}
	return new(api.Amount(a.String()))
}

func rat(a *api.Amount) (*big.Rat, bool) {
	if a == nil {
		return nil, false
	}
	return new(big.Rat).SetString(string(*a))
}

// exact writes a sum of amounts, which has at most as many digits after the point as they have.
func exact(r *big.Rat) *api.Amount {
	digits, _ := r.FloatPrec()
	return new(api.Amount(r.FloatString(digits)))
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
