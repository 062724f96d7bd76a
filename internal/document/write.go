package document

import (
	"bytes"
	"encoding/xml"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/codelist"
	"quittance/internal/document/invoice"
)

const namespace = "urn:oasis:names:specification:ubl:schema:xsd:"

// writer writes elements with the usual prefixes of UBL. It leaves out elements without content, so that no document
// has an empty one (PEPPOL-EN16931-R008, ibr-079).
type writer struct {
	out   *bytes.Buffer
	depth int
}

// attribute is a name and a value; an attribute with an empty value is left out.
type attribute struct{ name, value string }

// leaf writes an element with text.
func (w *writer) leaf(name, content string, attributes ...attribute) {
	if content == "" {
		return
	}
	w.start(name, attributes...)
	w.escape(content)
	w.out.WriteString("</" + name + ">\n")
}

// group writes an element around the elements that content writes.
func (w *writer) group(name string, content func(), attributes ...attribute) {
	before := w.out.Len()
	w.start(name, attributes...)
	w.out.WriteByte('\n')
	opened := w.out.Len()
	w.depth++
	content()
	w.depth--
	if w.out.Len() == opened {
		w.out.Truncate(before)
		return
	}
	w.indent()
	w.out.WriteString("</" + name + ">\n")
}

func (w *writer) start(name string, attributes ...attribute) {
	w.indent()
	w.out.WriteString("<" + name)
	for _, a := range attributes {
		if a.value == "" {
			continue
		}
		w.out.WriteString(" " + a.name + `="`)
		w.escape(a.value)
		w.out.WriteByte('"')
	}
	w.out.WriteByte('>')
}

func (w *writer) indent() { w.out.WriteString(strings.Repeat("  ", w.depth)) }

// escape writes text; a buffer does not return errors.
func (w *writer) escape(s string) { _ = xml.EscapeText(w.out, []byte(s)) }

// amount writes an amount with its currency.
func (w *writer) amount(name string, r *big.Rat, currency string) {
	w.leaf(name, money(r), attribute{"currencyID", currency})
}

// money writes a computed amount with its currency.
func (w *writer) money(name string, a *invoice.Amount, currency string) {
	w.leaf(name, a.String(), attribute{"currencyID", currency})
}

// document writes the whole document. Elements are in the order of the schema; those of this program have the same
// order in invoices and credit notes.
func (w *writer) document(m model) {
	kind := "Invoice"
	if m.Credit != nil {
		kind = "CreditNote"
	}
	w.out.WriteString(xml.Header)
	w.group(kind, func() {
		w.header(m, kind)
		w.references(m)
		w.group("cac:AccountingSupplierParty", func() { w.group("cac:Party", func() { w.seller(m) }) })
		w.group("cac:AccountingCustomerParty", func() { w.group("cac:Party", func() { w.buyer(m) }) })
		w.payment(m)
		w.taxes(m)
		w.totals(m)
		for i := range m.lines {
			w.group("cac:"+kind+"Line", func() { w.line(m, i) })
		}
	}, attribute{"xmlns", namespace + kind + "-2"}, attribute{"xmlns:cac", namespace + "CommonAggregateComponents-2"},
		attribute{"xmlns:cbc", namespace + "CommonBasicComponents-2"})
}

// header writes what identifies the document.
func (w *writer) header(m model, kind string) {
	d := m.Draft
	number, issued, note := text(d.InvoiceNumber), text(d.IssueDate), text(d.Note)
	if m.Credit != nil {
		number, issued, note = strings.TrimSpace(m.Credit.CreditNoteNumber), m.Credit.IssueDate,
			strings.TrimSpace(m.Credit.Reason)
	}
	w.leaf("cbc:CustomizationID", m.profile.customization())
	w.leaf("cbc:ProfileID", m.profile.process())
	if m.profile == PINTAE {
		w.leaf("cbc:ProfileExecutionID", m.flags())
	}
	w.leaf("cbc:ID", number)
	if m.profile == PINTAE {
		w.leaf("cbc:UUID", m.ID)
	}
	w.leaf("cbc:IssueDate", issued)
	if m.Credit == nil {
		if time := text(d.IssueTime); m.profile == PINTAE && time != "" {
			w.leaf("cbc:IssueTime", time+":00") // xs:time has seconds
		}
		w.leaf("cbc:DueDate", text(d.DueDate))
	}
	w.leaf("cbc:"+kind+"TypeCode", m.typeCode())
	w.leaf("cbc:Note", note)
	w.leaf("cbc:DocumentCurrencyCode", text(d.Currency))
	if m.taxInDirhams() {
		w.leaf("cbc:TaxCurrencyCode", dirham)
	}
	reference := text(d.BuyerReference)
	if reference == "" {
		reference = text(m.seller().BuyerReference)
	}
	w.leaf("cbc:BuyerReference", reference)
}

// typeCode is the type of the document (BT-3, UNCL1001).
func (m *model) typeCode() string {
	commercial := m.profile == PINTAE && untaxable(m.lines)
	switch {
	case m.Credit == nil && commercial:
		return "480"
	case m.Credit == nil:
		return "380"
	case commercial:
		return "81"
	}
	return "381"
}

// taxInDirhams tells whether the document states its tax in dirhams beside its own currency.
func (m *model) taxInDirhams() bool { return m.profile == PINTAE && m.foreign() }

// references writes the documents that this one refers to.
func (w *writer) references(m model) {
	d := m.Draft
	discount := false
	if m.Credit != nil && m.profile == PINTAE {
		discount = text(m.Credit.ReasonCode) == volumeDiscount
		w.group("cac:DiscrepancyResponse", func() { w.leaf("cbc:ResponseCode", text(m.Credit.ReasonCode)) })
	}
	w.group("cac:OrderReference", func() { w.leaf("cbc:ID", text(d.OrderReference)) })
	if m.Credit != nil && !discount {
		w.group("cac:BillingReference", func() {
			w.group("cac:InvoiceDocumentReference", func() {
				w.leaf("cbc:ID", text(d.InvoiceNumber))
				w.leaf("cbc:IssueDate", text(d.IssueDate))
			})
		})
	}
	w.group("cac:ContractDocumentReference", func() { w.leaf("cbc:ID", text(d.ContractReference)) })
	if m.taxInDirhams() {
		w.group("cac:AdditionalDocumentReference", func() {
			w.leaf("cbc:ID", dirham)
			w.leaf("cbc:DocumentTypeCode", "aedtotal-incl-vat")
			w.leaf("cbc:DocumentDescription", dirham+" "+money(cents(times(m.gross, m.rate))))
		})
	}
}

// party is what seller and buyer have in common.
type party struct {
	scheme, address                    *string
	street, city, subdivision, country *string
	taxID, name                        *string
	legalID                            string
	legalAttributes                    []attribute
}

func (w *writer) seller(m model) {
	s := m.seller()
	p := party{scheme: s.EndpointScheme, address: s.EndpointID, street: s.Street, city: s.City, subdivision: s.Subdivision,
		country: s.Country, taxID: s.TaxRegistrationNumber, name: s.LegalName, legalID: text(s.LegalRegistration)}
	if m.profile == PINTAE {
		p.legalAttributes = []attribute{{"schemeAgencyID", text(s.LegalRegistrationType)}}
		if kind := text(s.LegalRegistrationType); kind == tradeLicence || kind == passport {
			p.legalAttributes = append(p.legalAttributes, attribute{"schemeAgencyName", text(s.LegalRegistrationAuthority)})
		}
	}
	if scheme := text(s.LegalRegistrationType); m.profile == BIS3 && interchangeScheme(scheme) {
		p.legalAttributes = []attribute{{"schemeID", scheme}}
	}
	if m.untaxed() {
		p.taxID = nil
	}
	w.party(p)
}

func (w *writer) buyer(m model) {
	d := m.Draft
	p := party{scheme: d.BuyerEndpointScheme, address: d.RecipientNetworkID, street: d.BuyerStreet, city: d.BuyerCity,
		subdivision: d.BuyerSubdivision, country: d.BuyerCountry, taxID: d.BuyerTaxID, name: d.RecipientName,
		legalID: text(d.BuyerLegalID)}
	if scheme := text(d.BuyerLegalIDScheme); codelist.LegalRegistrationTypes().Has(scheme) {
		if m.profile == PINTAE {
			p.legalAttributes = []attribute{{"schemeAgencyID", scheme}}
		}
	} else {
		p.legalAttributes = []attribute{{"schemeID", scheme}}
	}
	if m.untaxed() {
		p.taxID = nil
	}
	w.party(p)
}

// untaxed tells whether the document must not show tax numbers, because it is not subject to tax (BR-O-02).
func (m *model) untaxed() bool {
	return m.profile == BIS3 && slices.ContainsFunc(m.lines, func(l line) bool { return l.category == outOfScope })
}

func (w *writer) party(p party) {
	w.leaf("cbc:EndpointID", text(p.address), attribute{"schemeID", text(p.scheme)})
	w.group("cac:PostalAddress", func() {
		w.leaf("cbc:StreetName", text(p.street))
		w.leaf("cbc:CityName", text(p.city))
		w.leaf("cbc:CountrySubentity", text(p.subdivision))
		w.group("cac:Country", func() { w.leaf("cbc:IdentificationCode", text(p.country)) })
	})
	if id := text(p.taxID); id != "" {
		w.group("cac:PartyTaxScheme", func() {
			w.leaf("cbc:CompanyID", id)
			w.taxScheme()
		})
	}
	w.group("cac:PartyLegalEntity", func() {
		w.leaf("cbc:RegistrationName", text(p.name))
		w.leaf("cbc:CompanyID", p.legalID, p.legalAttributes...)
	})
}

func (w *writer) taxScheme() {
	w.group("cac:TaxScheme", func() { w.leaf("cbc:ID", "VAT") })
}

// payment writes how an invoice is paid. A credit note does not say it.
func (w *writer) payment(m model) {
	if m.Credit != nil {
		return
	}
	w.group("cac:PaymentMeans", func() {
		w.leaf("cbc:PaymentMeansCode", text(m.Draft.PaymentMeansCode))
		if slices.Contains(creditTransfers, text(m.Draft.PaymentMeansCode)) {
			w.group("cac:PayeeFinancialAccount", func() { w.leaf("cbc:ID", text(m.seller().PayeeAccount)) })
		}
	})
}

// creditTransfers are the means of payment by which the buyer pays to an account (UNCL4461).
var creditTransfers = []string{"30", "31", "42", "57", "58"} //nolint:gochecknoglobals // a constant list

// taxes writes the tax breakdown, and in PINT-AE the exchange rate and the tax in dirhams.
func (w *writer) taxes(m model) {
	currency := text(m.Draft.Currency)
	if m.taxInDirhams() {
		w.group("cac:TaxExchangeRate", func() {
			w.leaf("cbc:SourceCurrencyCode", currency)
			w.leaf("cbc:TargetCurrencyCode", dirham)
			w.leaf("cbc:CalculationRate", number(m.Draft.TaxExchangeRate))
		})
	}
	w.group("cac:TaxTotal", func() {
		w.amount("cbc:TaxAmount", m.tax, currency)
		for i := range m.groups {
			g := &m.groups[i]
			w.group("cac:TaxSubtotal", func() {
				w.money("cbc:TaxableAmount", g.Taxable, currency)
				w.money("cbc:TaxAmount", g.Tax, currency)
				w.group("cac:TaxCategory", func() {
					w.leaf("cbc:ID", g.Category)
					w.leaf("cbc:Percent", g.Rate)
					if m.profile == BIS3 && reasoned(g.Category) {
						w.exemption(g.item)
					}
					w.taxScheme()
				})
			})
		}
	})
	if m.taxInDirhams() {
		w.group("cac:TaxTotal", func() { w.amount("cbc:TaxAmount", cents(times(m.tax, m.rate)), dirham) })
	}
}

func (w *writer) totals(m model) {
	currency := text(m.Draft.Currency)
	w.group("cac:LegalMonetaryTotal", func() {
		w.amount("cbc:LineExtensionAmount", m.net, currency)
		w.amount("cbc:TaxExclusiveAmount", m.net, currency)
		w.amount("cbc:TaxInclusiveAmount", m.gross, currency)
		if m.rounding.Sign() != 0 {
			w.amount("cbc:PayableRoundingAmount", m.rounding, currency)
		}
		w.amount("cbc:PayableAmount", m.payable, currency)
	})
}

// line writes the line at index i.
func (w *writer) line(m model, i int) {
	l, currency := &m.lines[i], text(m.Draft.Currency)
	unit := attribute{"unitCode", l.unit}
	w.leaf("cbc:ID", strconv.Itoa(i+1))
	quantity := "cbc:InvoicedQuantity"
	if m.Credit != nil {
		quantity = "cbc:CreditedQuantity"
	}
	w.leaf(quantity, l.quantity, unit)
	w.amount("cbc:LineExtensionAmount", l.amount, currency)
	w.group("cac:OrderLineReference", func() { w.leaf("cbc:LineID", text(l.item.OrderLine)) })
	w.group("cac:Item", func() { w.item(m, l) })
	w.group("cac:Price", func() {
		money := attribute{"currencyID", currency}
		w.leaf("cbc:PriceAmount", l.price, money)
		w.leaf("cbc:BaseQuantity", l.base, unit)
		if l.gross != "" {
			w.group("cac:AllowanceCharge", func() {
				w.leaf("cbc:ChargeIndicator", "false")
				w.leaf("cbc:Amount", l.discount, money)
				w.leaf("cbc:BaseAmount", l.gross, money)
			})
		}
	})
	if m.profile == PINTAE {
		w.extension(m, l)
	}
}

// extension writes the amounts of a line in dirhams: the tax (BTAE-08), and the net amount with it (BTAE-10).
func (w *writer) extension(m model, l *line) {
	tax := cents(times(l.tax, m.rate))
	w.group("cac:ItemPriceExtension", func() {
		w.amount("cbc:Amount", plus(cents(times(l.amount, m.rate)), tax), dirham)
		if l.category != exempt {
			w.group("cac:TaxTotal", func() { w.amount("cbc:TaxAmount", tax, dirham) })
		}
	})
}

func (w *writer) item(m model, l *line) {
	item := l.item
	w.leaf("cbc:Description", text(item.Description))
	w.leaf("cbc:Name", text(item.Name))
	w.group("cac:SellersItemIdentification", func() { w.leaf("cbc:ID", text(item.ItemCode)) })
	code, scheme := text(item.CommodityCode), text(item.CommodityScheme)
	if scheme == articleScheme {
		w.group("cac:StandardItemIdentification", func() { w.leaf("cbc:ID", code, attribute{"schemeID", scheme}) })
		code = ""
	}
	if m.profile == PINTAE && scheme == serviceScheme {
		w.group("cac:AdditionalItemIdentification", func() { w.leaf("cbc:ID", code, attribute{"schemeID", scheme}) })
		code = ""
	}
	w.group("cac:CommodityClassification", func() {
		if m.profile == PINTAE && l.category == reverseCharge {
			w.leaf("cbc:NatureCode", text(item.TaxExemptionCode))
		}
		w.leaf("cbc:ItemClassificationCode", code, attribute{"listID", scheme})
	})
	w.group("cac:ClassifiedTaxCategory", func() {
		w.leaf("cbc:ID", l.category)
		w.leaf("cbc:Percent", l.percent)
		if m.profile == PINTAE && l.category == exempt {
			w.exemption(item)
		}
		w.taxScheme()
	})
}

// exemption writes why no tax is charged.
func (w *writer) exemption(item *api.Item) {
	w.leaf("cbc:TaxExemptionReasonCode", text(item.TaxExemptionCode))
	w.leaf("cbc:TaxExemptionReason", text(item.TaxExemptionReason))
}
