package document

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/codelist"
	"quittance/internal/document/invoice"
)

// The texts that a statement has by the names of a draft, its lines and the company profile.
//
//nolint:gochecknoglobals // constant tables
var (
	draftTexts     = pairs[api.Draft, api.ParsedDocument]("", "")
	referenceNames = pairs[api.Draft, api.ParsedReferences]("", "_reference")
	referenceTexts = pairs[api.Draft, api.ParsedReferences]("", "")
	buyerTexts     = pairs[api.Draft, api.ParsedParty]("buyer_", "")
	paymentTexts   = pairs[api.Draft, api.ParsedPayment]("payment_", "")
	meansTexts     = pairs[api.Draft, api.ParsedPaymentMeans]("payment_", "")
	kindTexts      = pairs[api.Draft, api.ParsedPaymentMeans]("payment_means_", "")
	debitTexts     = pairs[api.Draft, api.ParsedPaymentMeans]("direct_debit_", "")
	sellerTexts    = pairs[api.Profile, api.ParsedParty]("", "")
	accountTexts   = pairs[api.Profile, api.ParsedPaymentMeans]("payee_", "")
	itemTexts      = pairs[api.Item, api.ParsedLine]("", "")
	attributeTexts = pairs[api.Attribute, api.ParsedAttribute]("", "")
	precedingTexts = pairs[api.PrecedingInvoice, api.ParsedPreceding]("", "")
)

// Statement returns what a document says in a profile, in the terms of EN 16931: what the draft, the credit note and
// the company profile have, and what is computed from them. It is nil where something cannot be computed. "" is no
// profile: pages show such a statement of an invoice or a credit note for which no document format is in effect.
func Statement(p Profile, d Document) *api.ParsedDocument {
	m, _ := compute(p, d)
	return m.statement()
}

func (m *model) statement() *api.ParsedDocument {
	d := m.Draft
	out := &api.ParsedDocument{Type: api.ReceivedInvoice, Number: trimmed(d.InvoiceNumber),
		TaxExchangeRate: given(number(d.TaxExchangeRate)), Notes: []string{}, Seller: m.sellerParty(), Buyer: m.buyerParty(),
		References: m.references(), Attachments: []api.ParsedFile{},
		Warnings: api.Faults{}, Other: []api.ParsedOther{}, LineCount: len(m.lines)}
	draftTexts.give(d, out)
	if note := text(d.Note); note != "" {
		out.Notes = []string{note}
	}
	if c := m.Credit; c != nil {
		out.TaxPointDate = nil
		out.Type, out.Number, out.IssueDate, out.IssueTime, out.DueDate = api.ReceivedCreditNote,
			trimmed(&c.CreditNoteNumber), &c.IssueDate, nil, nil
		out.Notes = []string{strings.TrimSpace(c.Reason)}
	} else {
		paymentTexts.give(d, &out.Payment)
		out.Payment.Terms = m.terms(out.Payment.Terms)
	}
	if m.statesPayment() {
		out.Payment.Means = m.paymentMeans()
		if debit := d.DirectDebit; debit != nil {
			out.Payment.CreditorID = trimmed(debit.CreditorID)
		}
	}
	if m.profile != "" {
		out.Profile, out.TypeCode = new(string(m.profile)), new(m.typeCode())
		out.Specification, out.BusinessProcess = new(m.profile.customization()), new(m.profile.process())
	}
	out.Allowances = m.parsedAllowances(m.allowances)
	out.Lines = make([]api.ParsedLine, len(m.lines))
	for i := range m.lines {
		out.Lines[i] = m.parsedLine(i)
	}
	m.addTotals(out)
	m.addTaxCurrency(out)
	switch m.profile {
	case PINTAE:
		m.addEmirati(out)
		out.TaxPointCode = nil
	case BIS3:
		removeEmirati(out)
	}
	return out
}

// removeEmirati removes what only documents of the UAE say.
func removeEmirati(out *api.ParsedDocument) {
	out.IssueTime, out.TransactionFlags, out.BeneficiaryID, out.PrincipalID = nil, nil, nil, nil
	out.TaxExchangeRate = nil
	out.References.Customs, out.References.ContractValue = nil, nil
	if out.Period != nil {
		out.Period.Frequency, out.Period.Description = nil, nil
	}
	if out.Delivery != nil {
		out.Delivery.Incoterms = nil
	}
	for i := range out.Payment.Means {
		out.Payment.Means[i].AccountScheme = nil
	}
	for i := range out.Lines {
		l := &out.Lines[i]
		l.OrderReference, l.LotNumber, l.SupplyType, l.ServiceCode = nil, nil, nil, nil
	}
}

// addEmirati adds what PINT-AE has beside the terms of EN 16931.
func (m *model) addEmirati(out *api.ParsedDocument) {
	out.UUID, out.TransactionFlags = &m.ID, new(m.flags())
	if m.Credit != nil {
		out.ReasonCode = trimmed(m.Credit.ReasonCode)
	}
	if time := text(out.IssueTime); time != "" {
		out.IssueTime = new(time + ":00") // xs:time has seconds
	}
	rate := m.rate()
	if m.sums == nil || rate == nil || out.Totals.Tax == nil {
		return
	}
	if out.TaxCurrency != nil {
		out.Totals.TotalInTaxCurrency = money(times(decimal(string(*out.Totals.Total)), rate))
	}
	for i := range m.lines {
		l, line := &m.lines[i], &out.Lines[i]
		net, tax := cents(times(decimal(string(*l.net)), rate)), cents(times(m.lineTax(i), rate))
		line.TotalInTaxCurrency = money(plus(net, tax))
		if l.category != exempt {
			line.TaxInTaxCurrency = money(tax)
		}
	}
}

// addTaxCurrency adds the total tax in the currency of the tax, if it is not that of the document.
func (m *model) addTaxCurrency(out *api.ParsedDocument) {
	out.TaxCurrency = optional(m.taxCurrency())
	if rate := m.rate(); out.TaxCurrency != nil && rate != nil && out.Totals.Tax != nil {
		out.Totals.TaxInTaxCurrency = money(times(decimal(string(*out.Totals.Tax)), rate))
	}
}

// typeCode is the type of the document (BT-3, UNCL1001): that of an invoice which its author gives it, or the one that
// its lines make it.
func (m *model) typeCode() string {
	outside := m.profile == PINTAE && m.outsideTax(m.lines, m.allowances)
	given := text(m.Draft.TypeCode)
	switch {
	case m.Credit == nil && given != "":
		return given
	case m.Credit == nil && outside:
		return outOfScopeInvoice
	case m.Credit == nil:
		return commercialInvoice
	case outside:
		return "81"
	}
	return "381"
}

// references are the documents that this one refers to. A credit note for a volume discount refers to no invoice.
func (m *model) references() api.ParsedReferences {
	d := m.Draft
	out := api.ParsedReferences{PrecedingInvoices: []api.ParsedPreceding{}}
	referenceNames.give(d, &out)
	referenceTexts.give(d, &out)
	if out.Buyer == nil {
		out.Buyer = trimmed(m.seller().BuyerReference)
	}
	if m.profile != "" && out.Order == nil && out.SalesOrder != nil {
		out.Order = new(notStated)
	}
	if m.profile == PINTAE && out.Contract == nil && out.ContractValue != nil {
		out.Contract = new(notStated)
	}
	switch {
	case m.Credit == nil:
		out.PrecedingInvoices = precedingTexts.list(d.PrecedingInvoices)
	case m.profile != PINTAE || text(m.Credit.ReasonCode) != volumeDiscount:
		out.PrecedingInvoices = []api.ParsedPreceding{{Number: trimmed(d.InvoiceNumber),
			IssueDate: d.IssueDate}}
	}
	return out
}

func (m *model) sellerParty() api.ParsedParty {
	s := m.seller()
	out := api.ParsedParty{Name: trimmed(s.LegalName), TaxID: trimmed(s.TaxRegistrationNumber),
		LegalID: trimmed(s.LegalRegistration), LegalIDScheme: trimmed(s.LegalRegistrationType),
		LegalIDIssuer: trimmed(s.LegalRegistrationAuthority), NetworkID: trimmed(s.EndpointID)}
	sellerTexts.give(s, &out)
	if m.profile == BIS3 && !interchangeScheme(text(out.LegalIDScheme)) {
		out.LegalIDScheme = nil
	}
	if m.profile == PINTAE && out.TaxRegistrationID != nil {
		out.TaxRegistrationScheme = new("TIN")
	}
	m.forProfile(&out)
	return out
}

func (m *model) buyerParty() api.ParsedParty {
	d := m.Draft
	out := api.ParsedParty{Name: trimmed(d.RecipientName), NetworkID: trimmed(d.RecipientNetworkID)}
	buyerTexts.give(d, &out)
	if m.profile == BIS3 && codelist.LegalRegistrationTypes().Has(text(d.BuyerLegalIDScheme)) {
		out.LegalIDScheme = nil
	}
	m.forProfile(&out)
	return out
}

// forProfile removes from a party what its document cannot say: only the UAE name the issuer of a registration, and
// only of a trade licence or a passport.
func (m *model) forProfile(p *api.ParsedParty) {
	kind := text(p.LegalIDScheme)
	if m.profile == BIS3 || m.profile == PINTAE && kind != tradeLicence && kind != passport {
		p.LegalIDIssuer = nil
	}
	if m.untaxed() {
		p.TaxID = nil
	}
}

// untaxed tells whether the document must not show tax numbers, because it is not subject to tax (BR-O-02).
func (m *model) untaxed() bool {
	return m.profile == BIS3 && (slices.ContainsFunc(m.lines, func(l line) bool { return l.category == outOfScope }) ||
		slices.ContainsFunc(m.allowances, func(x allowance) bool { return x.Category == outOfScope }))
}

// terms are the payment terms. Within Germany a cash discount at their end has a line break behind it (DE-R-018).
func (m *model) terms(terms *string) *string {
	if terms != nil && m.profile == BIS3 && m.withinGermany() && strings.HasSuffix(*terms, "#") {
		return new(*terms + "\n")
	}
	return terms
}

// statesPayment tells whether the document says how it is paid. A credit note does only within Germany (DE-R-001).
func (m *model) statesPayment() bool { return m.statesPaymentIn(m.profile) }

// statesPaymentIn is the same for a profile.
func (d Document) statesPaymentIn(p Profile) bool {
	return d.Credit == nil || p == BIS3 && d.withinGermany()
}

// withinGermany tells whether seller and buyer are in Germany.
func (d Document) withinGermany() bool {
	return text(d.seller().Country) == "DE" && text(d.Draft.BuyerCountry) == "DE"
}

// paymentMeans is how the document is paid.
func (m *model) paymentMeans() []api.ParsedPaymentMeans {
	d := m.Draft
	means := api.ParsedPaymentMeans{}
	meansTexts.give(d, &means)
	kindTexts.give(d, &means)
	debitTexts.give(d, &means)
	if card := d.PaymentCard; card != nil {
		means.Card = trimmed(card.Number)
	}
	if m.profile != "" && means.CardNetwork == nil && (means.Card != nil || means.CardHolder != nil) {
		means.CardNetwork = new(notStated)
	}
	if m.profile == "" || slices.Contains(creditTransfers, text(means.Code)) {
		accountTexts.give(m.seller(), &means)
	}
	if means == (api.ParsedPaymentMeans{}) {
		return nil
	}
	return []api.ParsedPaymentMeans{means}
}

// notStated is what a document says where the schema of UBL needs a text that there is not: the formats name it.
const notStated = "NA"

// creditTransfers are the means of payment by which the buyer pays to an account (UNCL4461).
var creditTransfers = []string{"30", "31", "42", "57", "58"} //nolint:gochecknoglobals // a constant list

// parsedLine returns the line at an index.
func (m *model) parsedLine(i int) api.ParsedLine {
	l := &m.lines[i]
	item := l.item
	out := api.ParsedLine{Allowances: m.parsedAllowances(l.allowances), Attributes: attributeTexts.list(item.Attributes)}
	itemTexts.give(item, &out)
	out.ID, out.Quantity, out.UnitCode, out.NetUnitPrice = new(strconv.Itoa(i+1)), given(l.quantity), optional(l.unit),
		given(l.price)
	out.BaseQuantity, out.GrossUnitPrice, out.DiscountAmount = given(l.base), given(l.gross), given(l.discount)
	out.Net, out.VATCategory, out.VATRate = l.net, optional(l.category), given(l.percent)
	out.TaxExemptionCode, out.TaxExemptionReason = nil, nil
	if m.profile == PINTAE && out.OrderReference != nil && out.OrderLineReference == nil {
		out.OrderLineReference = new(notStated)
	}
	if scheme := text(item.CommodityScheme); scheme == serviceScheme || scheme == articleScheme {
		out.CommodityVersion = nil // whose elements have none
	}
	if text(item.CommodityScheme) == articleScheme && text(item.StandardItemCode) == "" {
		out.StandardItemCode, out.StandardItemScheme = trimmed(item.CommodityCode), trimmed(item.CommodityScheme)
		out.CommodityCode, out.CommodityScheme = nil, nil
	}
	switch {
	case m.profile == "" && m.Credit == nil:
		out.VATRate = given(number(item.VATRate))
		if out.Net == nil { // another line keeps the sums from being computed
			out.Net = wire(m.profile.Arithmetic().LineNet(m.Draft, l.at))
		}
	case m.profile == PINTAE && l.category == exempt:
		out.TaxExemptionCode, out.TaxExemptionReason = trimmed(item.TaxExemptionCode), trimmed(item.TaxExemptionReason)
	case m.profile == PINTAE && l.category == reverseCharge:
		out.TaxExemptionCode = trimmed(item.TaxExemptionCode)
	}
	return out
}

// lineTax is the tax on the line at an index, not rounded.
func (m *model) lineTax(i int) *big.Rat {
	l := &m.lines[i]
	if !invoice.Taxed(l.category) {
		return new(big.Rat)
	}
	return percentOf(decimal(string(*l.net)), l.percent)
}

// addTotals adds the totals and the tax breakdown. Without a profile, a total that its author states and that rounding
// does not explain remains a contradiction that the reader can see.
func (m *model) addTotals(out *api.ParsedDocument) {
	total, roundings := m.stated()
	t := &out.Totals
	t.Total, t.Payable = given(total), given(total)
	if m.sums == nil {
		return
	}
	computed := m.sums.Totals()
	t.Net, t.Tax = wire(computed.Net), wire(computed.Tax)
	if m.profile != "" || len(m.allowances) > 0 {
		t.Lines = wire(computed.Lines)
	}
	for i := range m.allowances {
		if m.allowances[i].Charge {
			t.Charges = wire(computed.Charges)
		} else {
			t.Allowances = wire(computed.Allowances)
		}
	}
	for _, row := range m.sums.Breakdown() {
		out.TaxBreakdown = append(out.TaxBreakdown, m.parsedTax(row))
	}
	if computed.Tax == nil {
		return
	}
	due, rounding, asStated := m.sums.Due(total, roundings)
	if asStated || m.profile != "" {
		t.Total, t.Payable = wire(m.sums.Gross()), wire(due)
		if decimal(rounding.String()).Sign() != 0 {
			t.Rounding = wire(rounding)
		}
	}
	m.addDue(t)
}

// addDue takes what was paid already from what is to be paid, and adds what rounds it. A credit note gives back all
// that was invoiced, what was paid before included.
func (m *model) addDue(t *api.ParsedTotals) {
	if m.Credit != nil && m.Credit.Kind == api.CreditPartial {
		return
	}
	payable := decimal(string(*t.Payable))
	digits := len(string(*t.Payable)) - 1 - strings.Index(string(*t.Payable)+".", ".")
	if rounding := number(m.Draft.RoundingAmount); rounding != "" && !isZero(rounding) {
		whole := decimal(rounding)
		payable.Add(payable, whole)
		if t.Rounding != nil {
			whole.Add(whole, decimal(string(*t.Rounding)))
		}
		if t.Rounding = nil; whole.Sign() != 0 {
			t.Rounding = new(api.Amount(whole.FloatString(max(digits, 0))))
		}
	}
	if prepaid := number(m.Draft.PrepaidAmount); m.Credit == nil && prepaid != "" && !isZero(prepaid) {
		payable.Sub(payable, decimal(prepaid))
		t.Prepaid = new(api.Amount(decimal(prepaid).FloatString(max(digits, 0))))
	}
	t.Payable = new(api.Amount(payable.FloatString(max(digits, 0))))
}

// parsedAllowances returns allowances and charges as a statement has them.
func (m *model) parsedAllowances(all []allowance) []api.ParsedAllowance {
	out := make([]api.ParsedAllowance, len(all))
	if len(all) == 0 { // as in most lines
		return out
	}
	amounts := m.profile.Arithmetic().Parts(m.Draft.Currency, charged(all))
	for i := range all {
		out[i] = all[i].parsed(amounts[i])
	}
	return out
}

// parsedTax returns a row of the tax breakdown, which says why no tax is charged where the profile has it there.
func (m *model) parsedTax(row invoice.TaxSubtotal) api.ParsedTax {
	out := api.ParsedTax{Category: optional(row.Category), Rate: given(row.Rate), Taxable: wire(row.Taxable),
		Tax: wire(row.Tax)}
	if m.profile == "" || m.profile == BIS3 && reasoned(row.Category) {
		why := m.reasonOf(row)
		out.ExemptionCode, out.ExemptionReason = trimmed(why.code), trimmed(why.words)
	}
	return out
}

// given returns a number, and nil for "".
func given(number string) *api.Amount {
	if number == "" {
		return nil
	}
	return new(api.Amount(number))
}

// trimmed returns an optional text without the white space around it, and nil for a text of white space.
func trimmed(s *string) *string { return optional(text(s)) }

// optional returns a text, and nil for "".
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// wire returns a computed amount.
func wire(a *invoice.Amount) *api.Amount {
	if a == nil {
		return nil
	}
	return new(api.Amount(a.String()))
}
