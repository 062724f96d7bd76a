package document

import (
	"fmt"

	"quittance/client/api"
	"quittance/internal/document/codelist"
	"quittance/internal/document/invoice"
)

// The fields of the entries of lists.
//
//nolint:gochecknoglobals // constant tables
var (
	precedingFields = invoice.FieldsOf[api.PrecedingInvoice]()
	attributeFields = invoice.FieldsOf[api.Attribute]()
)

// entries checks the preceding invoices, which a credit note does not have of its own, and the attributes of items.
// An entry that says nothing is an absent one.
func (c *checker) entries() {
	for i := range c.Draft.PrecedingInvoices {
		p := &c.Draft.PrecedingInvoices[i]
		if c.Credit == nil && text(p.Number)+text(p.IssueDate) != "" {
			path := fmt.Sprintf("preceding_invoices[%d].", i)
			c.need(text(p.Number), path+"number", ruleIDs{"ibr-055", "BR-55"}, "a preceding invoice needs its number")
			characters(c, path, precedingFields, p)
		}
	}
	for i := range c.lines {
		l := &c.lines[i]
		for n := range l.item.Attributes {
			a := &l.item.Attributes[n]
			if text(a.Name)+text(a.Value) == "" {
				continue
			}
			path := fmt.Sprintf("%s.attributes[%d].", l.path, n)
			c.need(text(a.Name), path+"name", ruleIDs{"ibr-054", "BR-54"}, "a property of the item needs its name")
			c.need(text(a.Value), path+"value", ruleIDs{"ibr-054", "BR-54"}, "a property of the item needs its value")
			characters(c, path, attributeFields, a)
		}
	}
}

// documentType checks the type that the author of an invoice gives it. A credit note is of the type that its lines
// make it.
func (c *checker) documentType() {
	code, path := text(c.Draft.TypeCode), "type_code"
	if code == "" || c.Credit != nil {
		return
	}
	if !codelist.DocumentTypes().Accepts(code, c.profile.ruleSets()...) {
		c.add(path, ruleDocumentType, ruleIDs{"ibr-cl-01", c.unionType(code)},
			"is not a type of invoices in this document format")
		return
	}
	switch {
	case c.profile == BIS3 && (code == partialInvoice || code == correctedInvoice) && !c.withinGermany():
		c.add(path, ruleDocumentType, both("PEPPOL-EN16931-P0112"),
			"is only for invoices between a seller and a buyer in Germany")
	case c.profile == PINTAE && code != outOfScopeInvoice && untaxable(c.lines):
		c.add(path, ruleDocumentType, both("ibr-151-ae"),
			"must be 480, because all lines are exempt or out of scope of tax")
	case c.profile == PINTAE && code == outOfScopeInvoice && taxable(c.lines, c.allowances):
		c.add(path, ruleDocumentType, both("ibr-122-ae"),
			"is only for an invoice on which everything is exempt, zero-rated or out of scope of tax")
	}
}

// The types of invoices with rules of their own (UNCL1001).
const (
	partialInvoice    = "326"
	commercialInvoice = "380"
	correctedInvoice  = "384"
	outOfScopeInvoice = "480"
)

// unionType is the rule of BIS Billing that a type breaks: it has fewer than EN 16931.
func (c *checker) unionType(code string) string {
	if codelist.DocumentTypes().Accepts(code, codelist.EN16931) {
		return "PEPPOL-EN16931-P0100"
	}
	return "BR-CL-01"
}

// taxCurrency checks the currency in which the tax is stated too. It is not written if it is that of the document.
func (c *checker) taxCurrency() {
	code, path := text(c.Draft.TaxCurrency), c.draftPath("tax_currency")
	rate := c.draftPath("tax_exchange_rate")
	switch currency := text(c.Draft.Currency); {
	case currency == "" || c.profile == PINTAE && currency == dirham || c.profile == BIS3 && code == currency:
	case c.profile == PINTAE:
		if code != "" && code != dirham {
			c.add(path, ruleTaxCurrency, both("ibr-140-ae"), "must be AED: the tax of the UAE is stated in dirhams")
		}
		c.need(number(c.Draft.TaxExchangeRate), rate, both("ibr-159-ae"),
			"the tax must be stated in dirhams: enter the exchange rate, in dirhams for one unit of the invoice's currency")
	case code == "":
	case !codelist.Currencies().Accepts(code, c.profile.ruleSets()...):
		c.add(path, ruleTaxCurrency, both("BR-CL-05"), "is not a currency of this document format")
	default:
		c.need(number(c.Draft.TaxExchangeRate), rate, both("BR-53"),
			"the tax must be stated in "+code+": enter the exchange rate, for one unit of the invoice's currency")
	}
}
