package pdf

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// own is the arithmetic of documents without a format.
var own invoice.Arithmetic //nolint:gochecknoglobals // a constant

// Invoice returns the content of an invoice for which no document format is in effect. Amounts are those of
// [invoice.Arithmetic.Sum]; what cannot be computed is nil.
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
		p.Lines = append(p.Lines, api.ParsedLine{
			ID: new(strconv.Itoa(n + 1)), Name: item.Name, Description: item.Description, ItemCode: item.ItemCode,
			UnitCode: item.UnitCode, Quantity: number(item.Quantity), NetUnitPrice: number(item.NetUnitPrice),
			BaseQuantity: number(item.BaseQuantity), GrossUnitPrice: number(item.GrossUnitPrice),
			DiscountAmount: number(item.DiscountAmount), Net: computed(own.LineNet(d, n)), VATCategory: item.VATCategory,
			VATRate: number(item.VATRate), OrderLineReference: item.OrderLine,
			Allowances: []api.ParsedAllowance{},
		})
	}
	p.LineCount = len(p.Lines)
	p.Totals = api.ParsedTotals{Total: number(d.TotalAmount), Payable: number(d.TotalAmount)}
	if sums, ok := own.SumDraft(d); ok {
		p.TaxBreakdown = breakdown(&sums, d.Items)
		p.Totals = totals(&sums, d.TotalAmount.String(), 0)
	}
	return p
}

// CreditNote is like [Invoice] for a credit note of an invoice.
func CreditNote(c *api.CreditNote, credited *api.Draft, seller *api.Profile) *api.ParsedDocument {
	p := content(credited, seller)
	p.Type, p.Number, p.IssueDate = api.ReceivedCreditNote, &c.CreditNoteNumber, &c.IssueDate
	p.Notes = []string{c.Reason}
	p.References.PrecedingInvoices = []api.ParsedPreceding{{Number: credited.InvoiceNumber, IssueDate: credited.IssueDate}}
	computable := true
	var lines []invoice.Line
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
		computable = computable && item.NetAmount != nil
		lines = append(lines, invoice.CreditLine(item))
	}
	p.LineCount = len(p.Lines)
	p.Totals = api.ParsedTotals{Total: &c.TotalAmount, Payable: &c.TotalAmount}
	if sums, ok := own.Sum(credited.Currency, lines); ok && computable {
		p.TaxBreakdown = breakdown(&sums, nil)
		p.Totals = totals(&sums, string(c.TotalAmount), invoice.CreditRoundings(credited))
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

// totals returns the computed totals beside the amount that the author states. What rounding explains is the rounding
// amount; anything else remains a contradiction that the reader can see.
func totals(sums *invoice.Sums, stated string, roundings int) api.ParsedTotals {
	computedTotals := sums.Totals()
	out := api.ParsedTotals{Net: computed(computedTotals.Net), Tax: computed(computedTotals.Tax),
		Total: new(api.Amount(stated)), Payable: new(api.Amount(stated))}
	if computedTotals.Tax == nil {
		return out
	}
	if _, rounding, ok := sums.Due(stated, roundings); ok {
		out.Total = computed(sums.Gross())
		if strings.Trim(rounding.String(), "-0.") != "" {
			out.Rounding = computed(rounding)
		}
	}
	return out
}

// breakdown returns the tax by category and rate. The first item of a row that says why no tax is charged says it.
func breakdown(sums *invoice.Sums, items []api.Item) []api.ParsedTax {
	var out []api.ParsedTax
	for _, row := range sums.Breakdown() {
		tax := api.ParsedTax{Taxable: computed(row.Taxable), Tax: computed(row.Tax)}
		if row.Category != "" {
			tax.Category = &row.Category
		}
		if row.Rate != "" {
			tax.Rate = new(api.Amount(row.Rate))
		}
		for n := range items {
			line := invoice.LineOf(&items[n])
			reasoned := tax.ExemptionCode != nil || tax.ExemptionReason != nil
			if !reasoned && line.Category == row.Category && own.Rate(&line) == row.Rate {
				tax.ExemptionCode, tax.ExemptionReason = items[n].TaxExemptionCode, items[n].TaxExemptionReason
			}
		}
		out = append(out, tax)
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

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func rat(a *api.Amount) (*big.Rat, bool) {
	if a == nil {
		return nil, false
	}
	return new(big.Rat).SetString(string(*a))
}
