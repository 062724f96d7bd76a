package pdf

import (
	"slices"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/codelist"
)

// styles are those of most texts.
var styles = struct{ body, strong, caption, small, head style }{ //nolint:gochecknoglobals // constants
	body:    style{size: 8.5, color: ink},
	strong:  style{size: 8.5, bold: true, color: ink},
	caption: style{size: 7, color: muted},
	small:   style{size: 7.5, color: muted},
	head:    style{size: 7, bold: true, color: muted},
}

// lead is the distance of baselines.
const lead = 11.5

// The most lines of a text. The longest text that the API accepts fits; only texts with many line breaks are cut.
const (
	maxNameLines = 12
	maxTextLines = 60
)

// layout draws a document.
type layout struct {
	sheet
	*Document
	p    *api.ParsedDocument
	logo *logo
}

func (l *layout) currency() string { return text(l.p.Currency) }

func (l *layout) draw() {
	l.head = l.continuation
	l.turn()
	l.title()
	l.facts()
	l.parties()
	l.lines()
	l.totals()
	l.payment()
	l.notes()
	l.feet()
}

// title draws the top of the first page: the logo or the seller's name, and what the document is.
func (l *layout) title() {
	const half = contentWidth / 2
	height := 0.0
	if l.logo != nil {
		width, high := l.logo.size(170, 54)
		l.page().image(marginSide, l.y, width, high)
		height = high
	} else {
		name := style{size: 13, bold: true, color: accent}
		for _, line := range l.wrap(text(l.p.Seller.Name), name, half-20, 3) {
			height += 16
			l.put(marginSide, l.y+height-2, half-20, false, line)
		}
	}
	y := l.y + 18
	for _, line := range l.wrap(title(l.p), style{size: 20, bold: true, color: accent}, half, 2) {
		l.put(marginSide+half, y, half, true, line)
		y += 16
	}
	for _, line := range l.one(text(l.p.Number), style{size: 11, color: ink}, half) {
		l.put(marginSide+half, y, half, true, line)
		y += 14
	}
	for _, line := range l.one(l.Mark, style{size: 9, bold: true, color: muted}, half) {
		l.put(marginSide+half, y, half, true, line)
		y += 14
	}
	l.y = max(l.y+height, y-8) + 12
	l.page().fill(marginSide, l.y, contentWidth, 1.6, accent)
	l.y += 12
}

// continuation draws the top of the other pages.
func (l *layout) continuation() {
	const half = contentWidth / 2
	heading := style{size: 8.5, bold: true, color: accent}
	name := l.one(title(l.p), heading, half)[0]
	l.put(marginSide, l.y+8, half, false, name)
	for _, line := range l.one(text(l.p.Number), heading, half-14-name.width) {
		l.put(marginSide+name.width+4, l.y+8, half-14-name.width, false, line)
	}
	for _, line := range l.one(text(l.p.Seller.Name), styles.small, half-10) {
		l.put(marginSide+half+10, l.y+8, half-10, true, line)
	}
	l.y += 14
	l.horizontal(marginSide, contentWidth)
	l.y += 8
}

// fact is a value with its name.
type fact struct{ name, value string }

// given returns the facts that have a value.
func given(facts ...fact) []fact {
	var out []fact
	for _, f := range facts {
		if strings.TrimSpace(f.value) != "" {
			out = append(out, f)
		}
	}
	return out
}

// namedTypes are the types whose name is the title (UNCL1001).
var namedTypes = []string{"380", "381", "480", "81", "389", "261"} //nolint:gochecknoglobals // a constant list

// facts draws the dates and references, four beside each other.
func (l *layout) facts() {
	const columns = 4
	const width = contentWidth / columns
	p, r := l.p, &l.p.References
	issued := strings.TrimSpace(text(p.IssueDate) + " " + text(p.IssueTime))
	invoiced, delivery := api.ParsedPeriod{}, api.ParsedDelivery{}
	if p.Period != nil {
		invoiced = *p.Period
	}
	if p.Delivery != nil {
		delivery = *p.Delivery
	}
	kind := listed(codelist.DocumentTypes(), p.TypeCode)
	if slices.Contains(namedTypes, text(p.TypeCode)) {
		kind = ""
	}
	all := given(fact{"Type", kind}, fact{"Issue date", issued}, fact{"Due date", text(p.DueDate)},
		fact{"Tax point", text(p.TaxPointDate)}, fact{"Tax point", listed(codelist.TaxPoints(), p.TaxPointCode)},
		fact{"Currency", l.currency()}, fact{"Invoicing period", period(&invoiced.ParsedDates)},
		fact{"Billing", listed(codelist.BillingFrequencies(), invoiced.Frequency)},
		fact{"Period", text(invoiced.Description)},
		fact{"Delivery date", text(delivery.Date)}, fact{"Incoterms", text(delivery.Incoterms)},
		fact{"Buyer reference", text(r.Buyer)}, fact{"Purchase order", text(r.Order)},
		fact{"Sales order", text(r.SalesOrder)}, fact{"Contract", text(r.Contract)},
		fact{"Contract value", text(r.ContractValue)}, fact{"Project", text(r.Project)},
		fact{"Receiving advice", text(r.Receipt)}, fact{"Despatch advice", text(r.Despatch)}, fact{"Tender", text(r.Tender)},
		fact{"Invoiced object", scheme(text(r.InvoicedObjectScheme), text(r.InvoicedObject))},
		fact{"Customs declaration", text(r.Customs)}, fact{"Booking reference", text(p.AccountingReference)},
		fact{"Beneficiary", text(p.BeneficiaryID)}, fact{"Principal", text(p.PrincipalID)})
	for _, preceding := range r.PrecedingInvoices {
		name := "Preceding invoice"
		if isCredit(l.p) {
			name = "Credited invoice"
		}
		all = append(all, given(fact{name, text(preceding.Number)}, fact{name + " date", text(preceding.IssueDate)})...)
	}
	for len(all) > 0 {
		n := min(columns, len(all))
		cells := make([]cell, 0, n)
		for at, f := range all[:n] {
			lines := append(l.one(f.name, styles.caption, width-8), l.wrap(f.value, styles.body, width-8, 3)...)
			for k := range lines {
				lines[k].rightToLeft = false
			}
			cells = append(cells, cell{x: marginSide + float64(at)*width, width: width - 8, lines: lines})
		}
		l.row(lead, 0, 5, cells...)
		all = all[n:]
	}
	l.y += 4
}

func period(p *api.ParsedDates) string {
	if p == nil || p.Start == nil && p.End == nil {
		return ""
	}
	return strings.TrimSpace(text(p.Start) + " – " + text(p.End))
}

// listed is a code with its name in a list.
func listed(list *codelist.List[codelist.Entry], code *string) string {
	known, _ := list.Lookup(text(code))
	return named(text(code), known.Name)
}

// parties draws the seller and the buyer.
func (l *layout) parties() {
	const width = contentWidth/2 - 10
	seller, buyer := l.party("Seller", &l.p.Seller, width), l.party("Buyer", &l.p.Buyer, width)
	l.row(lead, 0, 0, append(seller(marginSide), buyer(marginSide+contentWidth/2+10)...)...)
	l.y += 6
	var others []cell
	for n, other := range l.others() {
		side := float64(n % 2)
		others = append(others, l.party(other.name, other.party, width)(marginSide+side*(contentWidth/2+10))...)
		if side == 1 {
			l.row(lead, 0, 6, others...)
			others = nil
		}
	}
	if len(others) > 0 {
		l.row(lead, 0, 6, others...)
	}
	l.y += 6
}

// namedParty is a party with what it does.
type namedParty struct {
	name  string
	party *api.ParsedParty
}

// others are the parties beside seller and buyer.
func (l *layout) others() (out []namedParty) {
	if payee := l.p.Payee; payee != nil {
		out = append(out, namedParty{"Payee", payee})
	}
	if d := l.p.Delivery; d != nil && (d.Name != nil || d.LocationID != nil || d.ParsedAddress != (api.ParsedAddress{})) {
		out = append(out, namedParty{"Delivered to", &api.ParsedParty{Name: d.Name, ParsedAddress: d.ParsedAddress,
			Identifier: d.LocationID, IdentifierScheme: d.LocationScheme}})
	}
	if representative := l.p.TaxRepresentative; representative != nil {
		out = append(out, namedParty{"Tax representative", representative})
	}
	return out
}

// party returns the cells of a party for a place.
func (l *layout) party(name string, p *api.ParsedParty, width float64) func(x float64) []cell {
	const indent = 74
	left := l.wrap(name, styles.caption, width, 1)
	left = append(left, l.wrap(text(p.Name), style{size: 10, bold: true, color: ink}, width, 4)...)
	if trading := text(p.TradingName); trading != text(p.Name) {
		left = append(left, l.wrap(trading, styles.body, width, 2)...)
	}
	for _, part := range []string{text(p.Street), text(p.StreetAdditional), text(p.AddressLine)} {
		left = append(left, l.wrap(part, styles.body, width, 4)...)
	}
	left = append(left, l.beside(width, text(p.City), text(p.PostalCode),
		subdivision(text(p.Country), text(p.Subdivision)))...)
	left = append(left, l.wrap(country(text(p.Country)), styles.body, width, 2)...)
	values := slices.Repeat([]line{{}}, len(left))
	taxName := "VAT number"
	if text(p.Country) == emirates {
		taxName = "TRN"
	}
	for _, f := range given(fact{taxName, text(p.TaxID)}, fact{"Tax registration", text(p.TaxRegistrationID)},
		fact{"Registration", registration(p)}, fact{"Issued by", text(p.LegalIDIssuer)},
		fact{"Legal form", text(p.LegalForm)}, fact{"Identifier", scheme(text(p.IdentifierScheme), text(p.Identifier))},
		fact{"E-invoice address", scheme(text(p.EndpointScheme), text(p.NetworkID))},
		fact{"Contact", text(p.ContactName)}, fact{"Phone", text(p.ContactPhone)}, fact{"E-mail", text(p.ContactEmail)}) {
		value := l.wrap(f.value, styles.body, width-indent, 3)
		left = append(left, l.one(f.name, styles.small, indent-6)...)
		values = append(values, value...)
		for len(left) < len(values) {
			left = append(left, line{})
		}
	}
	for _, lines := range [][]line{left, values} {
		for n := range lines {
			lines[n].rightToLeft = false
		}
	}
	return func(x float64) []cell {
		return []cell{{x: x, width: width, lines: left}, {x: x + indent, width: width - indent, lines: values}}
	}
}

// beside lays texts out on one line, or below each other if they do not fit. Each keeps its own direction.
func (l *layout) beside(width float64, texts ...string) []line {
	var apart []line
	together := line{}
	for n, t := range texts {
		if slices.Contains(texts[:n], t) {
			continue // the city and its emirate
		}
		lines := l.wrap(t, styles.body, width, 2)
		apart = append(apart, lines...)
		for _, one := range lines {
			if together.width > 0 {
				comma := l.one(", ", styles.body, width)[0]
				// The space behind the comma has no width at the end of a line.
				comma.width += 2
				together.runs, together.width = append(together.runs, spaced(comma)...), together.width+comma.width
			}
			together.runs, together.width = append(together.runs, one.runs...), together.width+one.width
		}
	}
	if together.width > width || together.width == 0 {
		return apart
	}
	return []line{together}
}

// spaced returns the runs of a line with two points after its last glyph.
func spaced(l line) []run {
	if n := len(l.runs); n > 0 && len(l.runs[n-1].glyphs) > 0 {
		last := &l.runs[n-1]
		last.glyphs[len(last.glyphs)-1].advance += 2 * unitsPerEm / last.style.size
	}
	return l.runs
}

func registration(p *api.ParsedParty) string {
	code := text(p.LegalIDScheme)
	if known, ok := codelist.LegalRegistrationTypes().Lookup(code); ok && text(p.Country) == emirates {
		return named(known.Name, text(p.LegalID))
	}
	return scheme(code, text(p.LegalID))
}

// scheme is an identifier with its scheme before it.
func scheme(scheme, id string) string {
	if scheme == "" || id == "" {
		return id
	}
	return scheme + ":" + id
}

// notes draws the notes, the supporting documents, and what else the document says.
func (l *layout) notes() {
	for n, note := range l.p.Notes {
		if n == 0 {
			l.heading("Notes")
		}
		l.row(lead, 0, 4, cell{x: marginSide, width: contentWidth - 1,
			lines: l.wrap(note, styles.body, contentWidth-1, maxTextLines)})
	}
	for n, file := range l.p.Attachments {
		if n == 0 {
			l.heading("Supporting documents")
		}
		name := text(file.Name)
		for _, other := range []*string{file.Reference, file.Description, file.URL} {
			if name == "" {
				name = text(other)
			}
		}
		l.row(lead, 0, 0, cell{x: marginSide, width: contentWidth - 1, lines: l.wrap(name, styles.body, contentWidth-1, 3)})
	}
	l.rest()
}

// rest draws what the document says that has no place on the pages.
func (l *layout) rest() {
	const indent = contentWidth / 2
	for n, other := range l.p.Other {
		if n == 0 {
			l.heading("Also in the document")
		}
		value := text(other.Value)
		if other.Value == nil {
			value = "an extension, which is not read"
		}
		l.row(lead, 0, 1, cell{x: marginSide, width: indent - 8, lines: l.wrap(other.Path, styles.caption, indent-8, 4)},
			cell{x: marginSide + indent, width: contentWidth - indent,
				lines: l.wrap(value, styles.small, contentWidth-indent, maxTextLines)})
	}
	if more := l.p.OtherCount - len(l.p.Other); more > 0 {
		l.row(lead, 0, 0, cell{x: marginSide, width: contentWidth,
			lines: l.one(strconv.Itoa(more)+" more values are in the document.", styles.small, contentWidth)})
	}
}

// heading draws the name of a section, which is never alone at the end of a page.
func (l *layout) heading(name string) {
	l.need(5 * lead)
	l.y += 6
	l.row(lead, 0, 2, cell{x: marginSide, width: contentWidth,
		lines: l.one(name, style{size: 9, bold: true, color: accent}, contentWidth)})
}

// payment draws how to pay.
func (l *layout) payment() {
	terms := text(l.p.Payment.Terms)
	if len(l.p.Payment.Means) == 0 && terms+text(l.p.Payment.CreditorID) == "" {
		return
	}
	l.heading("Payment")
	const indent = 110
	show := func(facts ...fact) {
		for _, f := range given(facts...) {
			lines := l.wrap(f.value, styles.body, contentWidth-indent, maxTextLines)
			l.row(lead, 0, 0, cell{x: marginSide, width: indent - 6, lines: l.one(f.name, styles.small, indent-6)},
				cell{x: marginSide + indent, width: contentWidth - indent, lines: lines})
		}
	}
	for _, m := range l.p.Payment.Means {
		known, _ := codelist.PaymentMeans().Lookup(text(m.Code))
		words := text(m.Name)
		if words == known.Name {
			words = ""
		}
		show(fact{"Payment means", named(text(m.Code), known.Name)}, fact{"In words", words},
			fact{"Account", scheme(text(m.AccountScheme), text(m.Account))}, fact{"Account name", text(m.AccountName)},
			fact{"Bank", text(m.BankID)}, fact{"Payment reference", text(m.Reference)},
			fact{"Card", named(text(m.CardNetwork), text(m.Card))}, fact{"Card holder", text(m.CardHolder)},
			fact{"Mandate", text(m.Mandate)}, fact{"Debited account", text(m.DebitedAccount)})
		l.y += 3
	}
	show(fact{"Creditor", text(l.p.Payment.CreditorID)})
	show(fact{"Payment terms", terms})
	l.y += 3
}

// itoa numbers a line that has no identifier.
func itoa(n int, id *string) string {
	if text(id) != "" {
		return *id
	}
	return strconv.Itoa(n + 1)
}
