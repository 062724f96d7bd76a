package documents

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/incoming"
)

// receivedDocument is the view model of a document as it was read.
type receivedDocument struct {
	*api.ParsedDocument
	// Details are those of the payment and of the document that have a value.
	Details []received
	Parties []receivedParty
	Rows    []receivedLine
	// Taxes is the tax summary with the names of the categories.
	Taxes []receivedTax
	// Sums are the totals that the document states, before the amount due.
	Sums []receivedSum
	// Warnings are in the order of their paths, and Hidden is how many are not shown.
	Warnings []Advice
	Hidden   int
	// HiddenLines is how many lines are not shown.
	HiddenLines int
}

// Credits reports that the document lowers what the company owes.
func (d receivedDocument) Credits() bool { return d.Type == api.ReceivedCreditNote }

// receivedTax is a row of the tax summary. Label is the name of the category, or its code if it is not known.
type receivedTax struct {
	api.ParsedTax
	Label string
}

// receivedSum is a total of a received document. Foreign reports that it is in another currency than the document.
type receivedSum struct {
	Name    string
	Money   *page.Money
	Foreign bool
}

// receivedParty is a party of a received document. Role is seller, buyer, payee, delivery or tax_representative.
type receivedParty struct {
	Role, Name string
	Address    []string
	Details    []received
}

// receivedLine is a line of a received document with what has no column.
type receivedLine struct {
	*api.ParsedLine
	Details []received
}

// The fields of a received document that the layout does not place, so that a new one is shown.
//
//nolint:gochecknoglobals // constant lists
var (
	receivedFields = unplaced[api.ParsedDocument]("profile", "specification", "business_process", "type_code", "number",
		"uuid", "transaction_flags", "currency", "tax_currency", "issue_date", "issue_time", "due_date", "tax_point_date",
		"period.start", "period.end")
	receivedReferences = unplaced[api.ParsedReferences]()
	receivedMeans      = unplaced[api.ParsedPaymentMeans]("code", "name")
	receivedLineFields = unplaced[api.ParsedLine]("id", "name", "item_code", "description", "note", "quantity",
		"unit_code", "net_unit_price", "base_quantity", "net", "vat_category", "vat_rate", "period.start", "period.end")
	receivedPartyFields = unplaced[api.ParsedParty]("name", "network_id", "endpoint_scheme", "street", "street_additional",
		"address_line", "city", "postal_code", "subdivision", "country", "contact_name", "contact_phone", "contact_email")
)

// received is a detail of a received document with its label.
type received struct{ Label, Value string }

// labelled returns details with their labels. Parts of a document that have the name of a field of a draft have its
// label; suffix is what the names of those fields have more.
func labelled(c console.Catalogue, details []detail, suffix string) []received {
	out := make([]received, len(details))
	for n, d := range details {
		known, isField := c.Lookup("field." + d.Name + suffix)
		if !isField {
			known = c.TextOr("field."+d.Name, d.Name)
		}
		out[n] = received{c.TextOr("incoming.detail."+d.Name, known), d.Value}
	}
	return out
}

// further returns the details of a part of a received document.
func further[T any](w *console.Words, fields []invoice.Field[T], part *T) []detail {
	out := detailsOf(w, fields, part)
	for n := range out {
		at := slices.IndexFunc(fields, func(field invoice.Field[T]) bool { return field.Name == out[n].Name })
		if fields[at].Number {
			out[n].Value = page.Grouped(out[n].Value)
		}
	}
	return out
}

const (
	// receivedLines and receivedWarnings are how many lines and warnings a page shows.
	receivedLines, receivedWarnings = 200, 20
	// slowPollInterval is the poll interval of a page whose document takes much work to read.
	slowPollInterval = time.Minute
	// slowDocument is the size of such a document in bytes.
	slowDocument = 512 << 10
)

// readDocuments adds what the document of the latest revision says, or why it cannot be read, and how it differs from
// the one before. The revisions are the newest ones, oldest first.
func readDocuments(req *console.Request, p *incomingInvoicePage, revisions []incoming.Revision) error {
	newest := revisions[max(0, len(revisions)-2):]
	p.Every = incomingPollInterval
	bytes := 0
	for _, r := range newest {
		bytes += view.DocumentBytes(&r)
		if r.Size != nil && *r.Size >= slowDocument {
			p.Every = slowPollInterval
		}
	}
	if slices.ContainsFunc(newest, func(r incoming.Revision) bool {
		return r.Size != nil &&
			*r.Size >= console.LargeDocument
	}) {
		if err := req.AcquireLargePage(console.LargeLines, bytes, 1); err != nil {
			return err
		}
	}
	var read [2]*api.ParsedDocument // the one before the newest if there is one, and the newest
	for n := range newest {
		parsed, unreadable, err := view.ReadDocument(req.R.Context(), req.Session.Tenant, &newest[n])
		if err != nil {
			return err
		}
		read[2-len(newest)+n], p.Unreadable = parsed, unreadable
	}
	if len(newest) > 1 {
		p.Change = newRevisionChange(req.Words.Messages, p.Revisions, read[0], read[1])
	}
	if read[1] != nil {
		p.Document = newReceivedDocument(req.Words, read[1])
	}
	return nil
}

func newReceivedDocument(w *console.Words, p *api.ParsedDocument) *receivedDocument {
	out := &receivedDocument{ParsedDocument: p}
	for _, path := range slices.Sorted(maps.Keys(p.Warnings)) {
		out.Warnings = append(out.Warnings, Advice{Path: path, Faults: p.Warnings[path]})
	}
	if out.Hidden = len(out.Warnings) - receivedWarnings; out.Hidden > 0 {
		out.Warnings = out.Warnings[:receivedWarnings]
	}
	out.HiddenLines = p.LineCount - len(p.Lines)
	if more := len(p.Lines) - receivedLines; more > 0 {
		p.Lines, out.HiddenLines = p.Lines[:receivedLines], out.HiddenLines+more
	}
	for n := range p.Lines {
		line := &p.Lines[n]
		details := further(w, receivedLineFields, line)
		if period := periodText(w, line.Period); period != "" {
			details = append(details, detail{"period", period})
		}
		out.Rows = append(out.Rows, receivedLine{line, labelled(w.Messages, details, "")})
	}
	out.Parties = receivedParties(w, p)
	out.Details = receivedDetails(w, p)
	out.Taxes, out.Sums = receivedTaxes(w, p), receivedSums(p)
	return out
}

// receivedParties returns everybody whom a document names.
func receivedParties(w *console.Words, p *api.ParsedDocument) []receivedParty {
	out := []receivedParty{newReceivedParty(w, "seller", &p.Seller), newReceivedParty(w, "buyer", &p.Buyer)}
	if p.Payee != nil {
		out = append(out, newReceivedParty(w, "payee", p.Payee))
	}
	if d := p.Delivery; d != nil {
		party := newReceivedParty(w, "delivery", &api.ParsedParty{Name: d.Name, ParsedAddress: d.ParsedAddress,
			Identifier: d.LocationID, IdentifierScheme: d.LocationScheme})
		party.Details = append(party.Details, labelled(w.Messages, nonEmpty([]detail{
			{"delivery.date", w.Messages.DayText(d.Date)}, {"delivery.incoterms", console.Deref(d.Incoterms)}}), "")...)
		out = append(out, party)
	}
	if p.TaxRepresentative != nil {
		out = append(out, newReceivedParty(w, "tax_representative", p.TaxRepresentative))
	}
	return out
}

// receivedDetails returns the details of the payment and of the document.
func receivedDetails(w *console.Words, p *api.ParsedDocument) []received {
	period := &api.ParsedDates{}
	if p.Period != nil {
		period = &p.Period.ParsedDates
	}
	fields := slices.DeleteFunc(further(w, receivedFields, p), func(d detail) bool { // which have a section of their own
		group, _, nested := strings.Cut(d.Name, ".")
		return nested && group != "period"
	})
	return slices.Concat(receivedPayment(w, &p.Payment), labelled(w.Messages, nonEmpty([]detail{
		{"tax_point_date", w.Messages.DayText(p.TaxPointDate)}, {"period", periodText(w, period)},
		precedingDetail(w, p.References.PrecedingInvoices)}), ""), labelled(w.Messages, fields, ""),
		labelled(w.Messages, further(w, receivedReferences, &p.References), "_reference"),
		labelled(w.Messages, nonEmpty([]detail{{"note", strings.Join(p.Notes, "\n")}}), ""))
}

// periodText is a period, "" for an absent one.
func periodText(w *console.Words, p *api.ParsedDates) string {
	if p == nil {
		return ""
	}
	return strings.Trim(w.Messages.DayText(p.Start)+" – "+w.Messages.DayText(p.End), "– ")
}

// receivedTaxes returns the tax summary of a document.
func receivedTaxes(w *console.Words, p *api.ParsedDocument) []receivedTax {
	var out []receivedTax
	for _, tax := range p.TaxBreakdown {
		out = append(out, receivedTax{ParsedTax: tax, Label: w.CodeName("tax-categories", console.Deref(tax.Category))})
	}
	return out
}

// receivedSums returns the totals that a document states, before the amount due.
func receivedSums(p *api.ParsedDocument) []receivedSum {
	t := &p.Totals
	var out []receivedSum
	add := func(name string, amount *api.Amount, currency *string, foreign bool) {
		if amount != nil {
			out = append(out, receivedSum{Name: name, Money: page.MoneyOf(amount, currency), Foreign: foreign})
		}
	}
	// otherwise it is the same as the total without tax
	if len(p.Allowances) > 0 || t.Allowances != nil || t.Charges != nil {
		add("lines", t.Lines, p.Currency, false)
	}
	add("allowances", t.Allowances, p.Currency, false)
	add("charges", t.Charges, p.Currency, false)
	add("net", t.Net, p.Currency, false)
	add("tax", t.Tax, p.Currency, false)
	add("tax_in_tax_currency", t.TaxInTaxCurrency, p.TaxCurrency, true)
	add("total", t.Total, p.Currency, false)
	add("total_in_tax_currency", t.TotalInTaxCurrency, p.TaxCurrency, true)
	add("prepaid", t.Prepaid, p.Currency, false)
	add("rounding", t.Rounding, p.Currency, false)
	return out
}

func newReceivedParty(w *console.Words, role string, p *api.ParsedParty) receivedParty {
	out := receivedParty{Role: role, Name: console.Deref(p.Name)}
	for _, line := range append([]string{console.Deref(p.Street), console.Deref(p.StreetAdditional),
		console.Deref(p.AddressLine), console.Deref(p.PostalCode)}, w.Place(p.City, p.Subdivision, p.Country)...) {
		if line != "" {
			out.Address = append(out.Address, line)
		}
	}
	details := slices.DeleteFunc(further(w, receivedPartyFields, p), func(d detail) bool {
		return d.Name == "trading_name" && d.Value == out.Name
	})
	contact := slices.DeleteFunc([]string{console.Deref(p.ContactName), console.Deref(p.ContactPhone),
		console.Deref(p.ContactEmail)}, func(s string) bool { return s == "" })
	out.Details = labelled(w.Messages, append(details, nonEmpty([]detail{
		{"network_id", strings.TrimPrefix(console.Deref(p.EndpointScheme)+":"+console.Deref(p.NetworkID), ":")},
		{"contact", strings.Join(contact, ", ")}})...), "")
	return out
}

// receivedPayment returns the details of all ways to pay.
func receivedPayment(w *console.Words, p *api.ParsedPayment) []received {
	var out []detail
	for n := range p.Means {
		means := &p.Means[n]
		name := cmp.Or(w.Codes["payment-means"].Names[console.Deref(means.Code)], console.Deref(means.Name),
			console.Deref(means.Code))
		out = append(out, detail{"means", name})
		if words := console.Deref(means.Name); words != name {
			out = append(out, detail{"payment_means_name", words})
		}
		out = append(out, further(w, receivedMeans, means)...)
	}
	return labelled(w.Messages, nonEmpty(append(out, detail{"creditor_id", console.Deref(p.CreditorID)},
		detail{"terms", console.Deref(p.Terms)})), "")
}

// figure returns a number with thousands separators, and "" for an absent one.
func figure(n *api.Amount) string {
	if n == nil {
		return ""
	}
	return page.Grouped(string(*n))
}

// receivedLabel returns the label of a value by its path in a received document: lines[2].net is the amount of line 3.
func receivedLabel(c console.Catalogue, path string) (string, error) {
	last := path[strings.LastIndex(path, ".")+1:]
	last, _, _ = strings.Cut(last, "[")
	label := c.TextOr("incoming.value."+last, last)
	if number, _, isLine := strings.Cut(strings.TrimPrefix(path, "lines["), "]"); isLine &&
		strings.HasPrefix(path, "lines[") {
		if n, err := strconv.Atoi(number); err == nil {
			return c.Text("field.line", strconv.Itoa(n+1), label)
		}
	}
	return label, nil
}

// downloadAttachment responds with an attachment of a revision.
func downloadAttachment(req *console.Request) error {
	r, _, err := revision(req)
	if err != nil {
		return err
	}
	if err := req.Reserve(view.DocumentBytes(&r)); err != nil {
		return err
	}
	file, err := view.ReadAttachment(req.R.Context(), req.Session.Tenant, &r, req.Values["attachment"])
	if err != nil {
		return err
	}
	return req.SendFile(&file)
}
