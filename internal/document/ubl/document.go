package ubl

import (
	"strings"

	"quittance/client/api"
	"quittance/internal/document/codelist"
)

// document describes everything but the lines and the supporting documents.
func (n node) document(d *api.ParsedDocument) {
	n.header(d)
	n.invoicingPeriod(d)
	n.group("cac:DiscrepancyResponse", func(n node) { n.text("cbc:ResponseCode", "reason_code", &d.ReasonCode) })
	n.references(d)
	n.parties(d)
	optional(n, "cac:Delivery", "delivery", &d.Delivery, node.delivery)
	each(n, "cac:PaymentMeans", "payment.means", &d.Payment.Means, node.paymentMeans)
	n.only("cac:PaymentTerms", "payment.terms", func(n node) { n.terms(&d.Payment.Terms) })
	if !n.credit {
		each(n, "cac:AllowanceCharge", "allowances", &d.Allowances, node.allowance)
	}
	n.exchange(d)
	if n.credit {
		each(n, "cac:AllowanceCharge", "allowances", &d.Allowances, node.allowance)
	}
	n.taxes(d)
	n.only("cac:LegalMonetaryTotal", "totals", func(n node) { n.under("totals").totals(&d.Totals) })
}

// header describes what identifies the document.
func (n node) header(d *api.ParsedDocument) {
	n.text("cbc:CustomizationID", "specification", &d.Specification)
	n.text("cbc:ProfileID", "business_process", &d.BusinessProcess)
	n.text("cbc:ProfileExecutionID", "transaction_flags", &d.TransactionFlags)
	n.text("cbc:ID", "number", &d.Number)
	n.text("cbc:UUID", "uuid", &d.UUID)
	n.date("cbc:IssueDate", "issue_date", &d.IssueDate)
	n.clock("cbc:IssueTime", "issue_time", &d.IssueTime)
	if n.credit {
		if n.out == nil { // later releases of UBL have it
			n.date("cbc:DueDate", "due_date", &d.DueDate)
		}
		n.date("cbc:TaxPointDate", "tax_point_date", &d.TaxPointDate)
		n.text("cbc:CreditNoteTypeCode", "type_code", &d.TypeCode)
		n.notes(&d.Notes)
	} else {
		n.date("cbc:DueDate", "due_date", &d.DueDate)
		n.text("cbc:InvoiceTypeCode", "type_code", &d.TypeCode)
		n.notes(&d.Notes)
		n.date("cbc:TaxPointDate", "tax_point_date", &d.TaxPointDate)
	}
	n.text("cbc:DocumentCurrencyCode", "currency", &d.Currency)
	n.text("cbc:TaxCurrencyCode", "tax_currency", &d.TaxCurrency)
	n.text("cbc:AccountingCost", "accounting_reference", &d.AccountingReference)
	n.text("cbc:BuyerReference", "references.buyer", &d.References.Buyer)
}

// notes are the notes on the document, each with its lines.
func (n node) notes(notes *[]string) {
	if n.out != nil {
		for _, note := range *notes {
			n.write("cbc:Note", note)
		}
		return
	}
	*notes = []string{}
	for _, e := range n.in.entries(n.e, "cbc:Note", n.at+"notes") {
		e.see()
		if note := n.in.prose(e); note != nil {
			*notes = append(*notes, *note)
		}
	}
}

// invoicingPeriod describes the invoicing period. One element has the code of the tax point date, or that of the
// frequency of billing in the UAE.
func (n node) invoicingPeriod(d *api.ParsedDocument) {
	period := api.ParsedPeriod{}
	if d.Period != nil {
		period = *d.Period
	}
	n.only("cac:InvoicePeriod", "period", func(n node) {
		n = n.under("period")
		n.dates(&period.ParsedDates)
		if d.TaxPointCode != nil || n.out == nil && codelist.TaxPoints().Has(textOf(n.e.child(periodCode))) {
			n.at = ""
			n.text(periodCode, "tax_point_code", &d.TaxPointCode)
		} else {
			n.text(periodCode, "frequency", &period.Frequency)
		}
		n.text("cbc:Description", "description", &period.Description)
	})
	if n.out == nil && period != (api.ParsedPeriod{}) {
		d.Period = &period
	}
}

func (n node) dates(d *api.ParsedDates) {
	n.date("cbc:StartDate", "start", &d.Start)
	n.date("cbc:EndDate", "end", &d.End)
}

const periodCode = "cbc:DescriptionCode"

// references describes the documents that this one refers to.
func (n node) references(d *api.ParsedDocument) {
	r, at := &d.References, n.under("references")
	at.group("cac:OrderReference", func(n node) {
		n.text("cbc:ID", "order", &r.Order)
		n.text("cbc:SalesOrderID", "sales_order", &r.SalesOrder)
	})
	each(at, "cac:BillingReference", "preceding_invoices", &r.PrecedingInvoices, node.preceding)
	at.text("cac:DespatchDocumentReference/cbc:ID", "despatch", &r.Despatch)
	at.text("cac:ReceiptDocumentReference/cbc:ID", "receipt", &r.Receipt)
	statements := func() {
		at.text("cac:StatementDocumentReference/cbc:ID", "customs", &r.Customs)
		at.text("cac:OriginatorDocumentReference/cbc:ID", "tender", &r.Tender)
	}
	if !n.credit {
		statements()
	}
	at.only("cac:ContractDocumentReference", "contract", func(n node) {
		n.text("cbc:ID", "contract", &r.Contract)
		n.text("cbc:DocumentDescription", "contract_value", &r.ContractValue)
	})
	at.typed(objectType, "invoiced_object", &r.InvoicedObject, attribute{"schemeID", &r.InvoicedObjectScheme})
	n.totalInTaxCurrency(d)
	if n.credit {
		at.typed(projectType, "project", &r.Project)
		statements()
	}
	if !n.credit || n.out == nil && r.Project == nil {
		at.text("cac:ProjectReference/cbc:ID", "project", &r.Project)
	}
}

// preceding describes a preceding document, which is an invoice or, in a received document, a credit note.
func (n node) preceding(p *api.ParsedPreceding) {
	kind := "cac:InvoiceDocumentReference"
	if n.out == nil && n.e.child(kind) == nil {
		kind = "cac:CreditNoteDocumentReference"
	}
	n.group(kind, func(n node) {
		n.text("cbc:ID", "number", &p.Number)
		n.date("cbc:IssueDate", "issue_date", &p.IssueDate)
	})
}

const (
	// projectType is the type of the supporting document that names the project of a credit note, which has no element of
	// its own for it.
	projectType = "50"
	// objectType is the type of the document that names what is invoiced.
	objectType = "130"
)

// typed is the number of a supporting document of a type (UNTDID 1001).
func (n node) typed(kind, field string, v **string, attributes ...attribute) {
	const group, of = "cac:AdditionalDocumentReference", "cbc:DocumentTypeCode"
	if n.out != nil {
		if strings.TrimSpace(value(*v)) != "" {
			n.group(group, func(n node) {
				n.text("cbc:ID", field, v, attributes...)
				n.write(of, kind)
			})
		}
		return
	}
	for _, e := range n.e.all(group) {
		if textOf(e.child(of)) == kind {
			n.e = e
			n.text("cbc:ID", field, v, attributes...)
			n.fixed(of, kind)
			return
		}
	}
}

// dirhamTotal is the type of the supporting document that states the total with tax in dirhams, as "AED 1050.00"
// (BTAE-20 of PINT-AE).
const dirhamTotal = "aedtotal-incl-vat"

// totalInTaxCurrency describes the total with tax in the currency of the tax.
func (n node) totalInTaxCurrency(d *api.ParsedDocument) {
	const group, kind, text = "cac:AdditionalDocumentReference", "cbc:DocumentTypeCode", "cbc:DocumentDescription"
	total := &d.Totals.TotalInTaxCurrency
	if n.out != nil {
		if *total != nil {
			n.group(group, func(n node) {
				n.write("cbc:ID", value(d.TaxCurrency))
				n.write(kind, dirhamTotal)
				n.write(text, value(d.TaxCurrency)+" "+value(*total))
			})
		}
		return
	}
	for _, e := range n.e.all(group) {
		code, amount, ok := strings.Cut(textOf(e.child(text)), " ")
		if !ok || code != value(d.TaxCurrency) || textOf(e.child(kind)) != dirhamTotal {
			continue
		}
		if *total = n.in.number(&element{text: strings.TrimSpace(amount)}, "totals.total_in_tax_currency"); *total != nil {
			n.e = e
			n.fixed("cbc:ID", code)
			e.child(kind).see()
			e.child(text).see()
		}
		return
	}
}

func (n node) paymentMeans(m *api.ParsedPaymentMeans) {
	n.text("cbc:PaymentMeansCode", "code", &m.Code, attribute{"name", &m.Name})
	n.text("cbc:PaymentID", "reference", &m.Reference)
	n.only("cac:CardAccount", "card", func(n node) {
		n.text("cbc:PrimaryAccountNumberID", "card", &m.Card)
		n.text("cbc:NetworkID", "card_network", &m.CardNetwork)
		n.text("cbc:HolderName", "card_holder", &m.CardHolder)
	})
	n.only("cac:PayeeFinancialAccount", "account", func(n node) {
		n.text("cbc:ID", "account", &m.Account, attribute{"schemeID", &m.AccountScheme})
		n.text("cbc:Name", "account_name", &m.AccountName)
		n.text("cac:FinancialInstitutionBranch/cbc:ID", "bank_id", &m.BankID)
	})
	n.only("cac:PaymentMandate", "mandate", func(n node) {
		n.text("cbc:ID", "mandate", &m.Mandate)
		n.text("cac:PayerFinancialAccount/cbc:ID", "debited_account", &m.DebitedAccount)
	})
}

// terms are the payment terms. They are written as they are, because a line break at their end means something in
// Germany (DE-R-018).
func (n node) terms(v **string) {
	if n.out == nil {
		n.prose("cbc:Note", "payment.terms", v)
	} else if strings.TrimSpace(value(*v)) != "" {
		n.out.text("cbc:Note", **v)
	}
}

// allowance describes an allowance or a charge on the document or on a line.
func (n node) allowance(a *api.ParsedAllowance) {
	n.flag("cbc:ChargeIndicator", &a.Charge)
	n.text("cbc:AllowanceChargeReasonCode", "reason_code", &a.ReasonCode)
	n.text("cbc:AllowanceChargeReason", "reason", &a.Reason)
	n.number("cbc:MultiplierFactorNumeric", "percent", &a.Percent)
	n.amount("cbc:Amount", "amount", &a.Amount)
	n.amount("cbc:BaseAmount", "base_amount", &a.BaseAmount)
	n.group("cac:TaxCategory", func(n node) {
		n.text("cbc:ID", "vat_category", &a.VATCategory)
		n.number("cbc:Percent", "vat_rate", &a.VATRate)
		n.taxScheme(a.VATCategory != nil)
	})
}

// taxScheme writes the tax that a category or a number is of.
func (n node) taxScheme(given bool) {
	if given {
		n.fixed("cac:TaxScheme/cbc:ID", "VAT")
	}
}

// exchange describes the exchange rate into the currency of the tax.
func (n node) exchange(d *api.ParsedDocument) {
	if n.out != nil && (d.TaxExchangeRate == nil || d.TaxCurrency == nil) {
		return
	}
	n.group("cac:TaxExchangeRate", func(n node) {
		n.fixed("cbc:SourceCurrencyCode", value(d.Currency))
		n.fixed("cbc:TargetCurrencyCode", value(d.TaxCurrency))
		n.number("cbc:CalculationRate", "tax_exchange_rate", &d.TaxExchangeRate)
	})
}

// taxes describes the tax breakdown and, in a total of its own, the tax in the currency of the tax.
func (n node) taxes(d *api.ParsedDocument) {
	const group, amount = "cac:TaxTotal", "cbc:TaxAmount"
	total := func(n node) {
		n.amount(amount, "totals.tax", &d.Totals.Tax)
		each(n, "cac:TaxSubtotal", "tax_breakdown", &d.TaxBreakdown, node.taxSubtotal)
	}
	inTaxCurrency := func(n node) {
		n.amountIn(d.TaxCurrency, amount, "totals.tax_in_tax_currency", &d.Totals.TaxInTaxCurrency)
	}
	if n.out != nil {
		n.group(group, total)
		n.group(group, inTaxCurrency)
		return
	}
	all := n.e.all(group)
	for _, n.e = range all {
		n.fixed("cbc:TaxIncludedIndicator", "false") // which documents of the UAE state
	}
	n.e = n.in.taxTotal(all, d.Currency)
	total(n)
	others := taxTotals(all, d.TaxCurrency)
	if len(others) > 0 && d.Currency != nil && *d.TaxCurrency != *d.Currency {
		n.e = others[0]
		inTaxCurrency(n)
	}
}

// taxTotal returns the tax total with the total in the document's currency (BT-110) and the breakdown; nil if there is
// none.
func (r *reader) taxTotal(all []*element, currency *string) *element {
	own := taxTotals(all, currency)
	switch {
	case len(all) == 0:
		return nil
	case len(own) == 0:
		own = all[:1]
	}
	total := own[0]
	for _, other := range own {
		if total.child("cac:TaxSubtotal") == nil && other.child("cac:TaxSubtotal") != nil {
			total = other // some states want the total once more, without a breakdown
		}
		if textOf(other.child("cbc:TaxAmount")) != textOf(own[0].child("cbc:TaxAmount")) {
			r.warn("totals.tax", ruleRepeated,
				"The document states more than one total tax in its currency; one of them is shown.")
		}
	}
	return total
}

// taxTotals returns the tax totals in a currency.
func taxTotals(all []*element, currency *string) []*element {
	var out []*element
	for _, total := range all {
		if currency != nil && total.child("cbc:TaxAmount").peek("currencyID") == *currency {
			out = append(out, total)
		}
	}
	return out
}

func (n node) taxSubtotal(t *api.ParsedTax) {
	n.amount("cbc:TaxableAmount", "taxable", &t.Taxable)
	n.amount("cbc:TaxAmount", "tax", &t.Tax)
	n.group("cac:TaxCategory", func(n node) {
		n.text("cbc:ID", "category", &t.Category)
		n.number("cbc:Percent", "rate", &t.Rate)
		n.text("cbc:TaxExemptionReasonCode", "exemption_code", &t.ExemptionCode)
		n.text("cbc:TaxExemptionReason", "exemption_reason", &t.ExemptionReason)
		n.taxScheme(true)
	})
}

func (n node) totals(t *api.ParsedTotals) {
	n.amount("cbc:LineExtensionAmount", "lines", &t.Lines)
	n.amount("cbc:TaxExclusiveAmount", "net", &t.Net)
	n.amount("cbc:TaxInclusiveAmount", "total", &t.Total)
	n.amount("cbc:AllowanceTotalAmount", "allowances", &t.Allowances)
	n.amount("cbc:ChargeTotalAmount", "charges", &t.Charges)
	n.amount("cbc:PrepaidAmount", "prepaid", &t.Prepaid)
	n.amount("cbc:PayableRoundingAmount", "rounding", &t.Rounding)
	n.amount("cbc:PayableAmount", "payable", &t.Payable)
}
