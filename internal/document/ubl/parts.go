package ubl

import (
	"strconv"
	"strings"

	"quittance/client/api"
)

// party returns a party; e is nil if the document has none.
func (r *reader) party(e *element) api.ParsedParty {
	const address, legal = "cac:PostalAddress/", "cac:PartyLegalEntity/"
	p := api.ParsedParty{
		Name: r.name(e, legal+"cbc:RegistrationName"), TradingName: r.name(e, "cac:PartyName/cbc:Name"),
		LegalID: r.name(e, legal+"cbc:CompanyID"), LegalIDScheme: r.attribute(e, legal+"cbc:CompanyID", "schemeID"),
		Identifier:       r.name(e, "cac:PartyIdentification/cbc:ID"),
		IdentifierScheme: r.attribute(e, "cac:PartyIdentification/cbc:ID", "schemeID"),
		NetworkID:        r.name(e, "cbc:EndpointID"), EndpointScheme: r.attribute(e, "cbc:EndpointID", "schemeID"),
		Street: r.name(e, address+"cbc:StreetName"), StreetAdditional: r.name(e, address+"cbc:AdditionalStreetName"),
		City: r.name(e, address+"cbc:CityName"), PostalCode: r.name(e, address+"cbc:PostalZone"),
		Subdivision: r.name(e, address+"cbc:CountrySubentity"),
		Country:     r.name(e, address+"cac:Country/cbc:IdentificationCode"),
		ContactName: r.name(e, "cac:Contact/cbc:Name"), ContactPhone: r.name(e, "cac:Contact/cbc:Telephone"),
		ContactEmail: r.name(e, "cac:Contact/cbc:ElectronicMail"),
	}
	if p.Name == nil {
		p.Name = p.TradingName
	}
	for _, scheme := range e.all("cac:PartyTaxScheme") {
		into := &p.TaxRegistrationID
		if strings.EqualFold(text(scheme.child("cac:TaxScheme/cbc:ID")), "VAT") {
			into = &p.TaxID
		}
		if *into == nil {
			*into = r.name(scheme, "cbc:CompanyID")
		}
	}
	return p
}

// taxes reads the tax totals. Of several, that in the document's currency has the total (BT-110) and the breakdown; the
// one in the tax currency has BT-111.
func (doc *Document) taxes(r *reader, e *element) {
	doc.TaxBreakdown = []api.ParsedTax{}
	if e.child("cac:TaxTotal") == nil {
		return
	}
	own := taxTotals(e, doc.Currency)
	if len(own) == 0 {
		own = e.all("cac:TaxTotal")[:1]
	}
	total := own[0]
	for _, other := range own {
		if total.child("cac:TaxSubtotal") == nil && other.child("cac:TaxSubtotal") != nil {
			total = other // some states want the total once more, without a breakdown
		}
		if text(other.child("cbc:TaxAmount")) != text(own[0].child("cbc:TaxAmount")) {
			r.warn("totals.tax", "repeated",
				"The document states more than one total tax in its currency; one of them is shown.")
		}
	}
	if other := taxTotals(e, doc.TaxCurrency); len(other) > 0 && other[0] != own[0] {
		doc.Totals.TaxInTaxCurrency = r.number(other[0], "cbc:TaxAmount", "totals.tax_in_tax_currency")
	}
	doc.Totals.Tax = r.amount(total, "cbc:TaxAmount", "totals.tax")
	for n, one := range r.first(total, "cac:TaxSubtotal", "tax_breakdown") {
		at := "tax_breakdown[" + strconv.Itoa(n) + "]"
		const category = "cac:TaxCategory/"
		doc.TaxBreakdown = append(doc.TaxBreakdown, api.ParsedTax{Category: r.name(one, category+"cbc:ID"),
			Rate:    r.number(one, category+"cbc:Percent", at+".rate"),
			Taxable: r.amount(one, "cbc:TaxableAmount", at+".taxable"), Tax: r.amount(one, "cbc:TaxAmount", at+".tax"),
			ExemptionCode:   r.name(one, category+"cbc:TaxExemptionReasonCode"),
			ExemptionReason: r.name(one, category+"cbc:TaxExemptionReason")})
	}
}

// taxTotals returns the tax totals in a currency.
func taxTotals(e *element, currency *string) []*element {
	var out []*element
	for _, total := range e.all("cac:TaxTotal") {
		if currency != nil && total.child("cbc:TaxAmount").attribute("currencyID") == *currency {
			out = append(out, total)
		}
	}
	return out
}

func (doc *Document) totals(r *reader, e *element) {
	e = e.child("cac:LegalMonetaryTotal")
	t := &doc.Totals
	t.Lines = r.amount(e, "cbc:LineExtensionAmount", "totals.lines")
	t.Allowances = r.amount(e, "cbc:AllowanceTotalAmount", "totals.allowances")
	t.Charges = r.amount(e, "cbc:ChargeTotalAmount", "totals.charges")
	t.Net = r.amount(e, "cbc:TaxExclusiveAmount", "totals.net")
	t.Total = r.amount(e, "cbc:TaxInclusiveAmount", "totals.total")
	t.Prepaid = r.amount(e, "cbc:PrepaidAmount", "totals.prepaid")
	t.Rounding = r.amount(e, "cbc:PayableRoundingAmount", "totals.rounding")
	t.Payable = r.amount(e, "cbc:PayableAmount", "totals.payable")
}

func (r *reader) references(e *element) api.ParsedReferences {
	out := api.ParsedReferences{
		Buyer: r.name(e, "cbc:BuyerReference"), Order: r.name(e, "cac:OrderReference/cbc:ID"),
		SalesOrder: r.name(e, "cac:OrderReference/cbc:SalesOrderID"),
		Contract:   r.name(e, "cac:ContractDocumentReference/cbc:ID"), Project: r.name(e, "cac:ProjectReference/cbc:ID"),
		Receipt:  r.name(e, "cac:ReceiptDocumentReference/cbc:ID"),
		Despatch: r.name(e, "cac:DespatchDocumentReference/cbc:ID"),
		Tender:   r.name(e, "cac:OriginatorDocumentReference/cbc:ID"), PrecedingInvoices: []api.ParsedPreceding{},
	}
	for n, one := range r.first(e, "cac:BillingReference", "references.preceding_invoices") {
		const of = "cac:InvoiceDocumentReference/"
		out.PrecedingInvoices = append(out.PrecedingInvoices, api.ParsedPreceding{Number: r.name(one, of+"cbc:ID"),
			IssueDate: r.date(one, of+"cbc:IssueDate", "references.preceding_invoices["+strconv.Itoa(n)+"].issue_date")})
	}
	return out
}

func (r *reader) payment(e *element) api.ParsedPayment {
	out := api.ParsedPayment{Terms: r.prose(e, "cac:PaymentTerms/cbc:Note"), Means: []api.ParsedPaymentMeans{}}
	for _, one := range r.first(e, "cac:PaymentMeans", "payment.means") {
		const account = "cac:PayeeFinancialAccount/"
		out.Means = append(out.Means, api.ParsedPaymentMeans{Code: r.name(one, "cbc:PaymentMeansCode"),
			Name:      r.attribute(one, "cbc:PaymentMeansCode", "name"),
			Reference: r.name(one, "cbc:PaymentID"), Account: r.name(one, account+"cbc:ID"),
			AccountName: r.name(one, account+"cbc:Name"), BankID: r.name(one, account+"cac:FinancialInstitutionBranch/cbc:ID"),
			Card:    r.name(one, "cac:CardAccount/cbc:PrimaryAccountNumberID"),
			Mandate: r.name(one, "cac:PaymentMandate/cbc:ID")})
	}
	return out
}

// attachments reads the supporting documents. One without a file and without an address is a mere reference to an
// object.
func (doc *Document) attachments(r *reader, e *element) {
	doc.Attachments = []api.ParsedFile{}
	for _, one := range r.first(e, "cac:AdditionalDocumentReference", "attachments") {
		attachment := one.child("cac:Attachment")
		embedded := attachment.child(embeddedFile)
		address := r.name(attachment, "cac:ExternalReference/cbc:URI")
		if embedded == nil && address == nil {
			continue
		}
		file := api.ParsedFile{ID: strconv.Itoa(len(doc.Attachments) + 1), Reference: r.name(one, "cbc:ID"),
			Description: r.prose(one, "cbc:DocumentDescription"), URL: address}
		var content []byte
		if embedded != nil {
			file.Name, file.MediaType = r.attribute(attachment, embeddedFile, "filename"),
				r.attribute(attachment, embeddedFile, "mimeCode")
			content = embedded.file
			if file.Size = fileSize(embedded); file.Size == nil {
				r.warn("attachments["+strconv.Itoa(len(doc.Attachments))+"]", "base64",
					"The embedded file is not valid base64 and cannot be downloaded.")
			}
		}
		doc.Attachments, doc.files = append(doc.Attachments, file), append(doc.files, content)
	}
}
