package console

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/incoming"
)

// receivedDocument is the view model of a document as it was read.
type receivedDocument struct {
	*api.ParsedDocument
	// Details are those of the payment and of the document that have a value.
	Details []detail
	Parties []receivedParty
	// Taxes is the tax summary with the names of the categories.
	Taxes []receivedTax
	// Sums are the totals that the document states, before the amount due.
	Sums []receivedSum
	// Warnings are in the order of their paths, and Hidden is how many are not shown.
	Warnings []advice
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

// receivedParty is a party of a received document. Role is seller, buyer or payee.
type receivedParty struct {
	Role, Name string
	Address    []string
	Details    []detail
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
func (req *request) readDocuments(p *incomingInvoicePage, revisions []incoming.Revision) error {
	newest := revisions[max(0, len(revisions)-2):]
	p.Every = incomingPollInterval
	bytes := 0
	for _, r := range newest {
		bytes += view.DocumentBytes(&r)
		if r.Size != nil && *r.Size >= slowDocument {
			p.Every = slowPollInterval
		}
	}
	if slices.ContainsFunc(newest, func(r incoming.Revision) bool { return r.Size != nil && *r.Size >= largeDocument }) {
		if err := req.acquireLargePage(largeLines, bytes, 1); err != nil {
			return err
		}
	}
	var read [2]*api.ParsedDocument // the one before the newest if there is one, and the newest
	for n := range newest {
		parsed, unreadable, err := view.ReadDocument(req.R.Context(), req.session.Tenant, &newest[n])
		if err != nil {
			return err
		}
		read[2-len(newest)+n], p.Unreadable = parsed, unreadable
	}
	if len(newest) > 1 {
		p.Change = req.words.messages.newRevisionChange(p.Revisions, read[0], read[1])
	}
	if read[1] != nil {
		p.Document = req.words.newReceivedDocument(read[1])
	}
	return nil
}

func (w *words) newReceivedDocument(p *api.ParsedDocument) *receivedDocument {
	out := &receivedDocument{ParsedDocument: p}
	for _, path := range slices.Sorted(maps.Keys(p.Warnings)) {
		out.Warnings = append(out.Warnings, advice{Path: path, Faults: p.Warnings[path]})
	}
	if out.Hidden = len(out.Warnings) - receivedWarnings; out.Hidden > 0 {
		out.Warnings = out.Warnings[:receivedWarnings]
	}
	out.HiddenLines = p.LineCount - len(p.Lines)
	if more := len(p.Lines) - receivedLines; more > 0 {
		p.Lines, out.HiddenLines = p.Lines[:receivedLines], out.HiddenLines+more
	}
	out.Parties = []receivedParty{w.newReceivedParty("seller", &p.Seller), w.newReceivedParty("buyer", &p.Buyer)}
	if p.Payee != nil {
		out.Parties = append(out.Parties, w.newReceivedParty("payee", p.Payee))
	}
	r := &p.References
	var preceding []string
	for _, one := range r.PrecedingInvoices {
		preceding = append(preceding, strings.TrimSpace(deref(one.Number)+" "+w.messages.DayText(one.IssueDate)))
	}
	period := ""
	if p.Period != nil {
		period = strings.Trim(w.messages.DayText(p.Period.Start)+" – "+w.messages.DayText(p.Period.End), "– ")
	}
	out.Details = append(w.receivedPayment(&p.Payment), nonEmpty([]detail{
		{"tax_point_date", w.messages.DayText(p.TaxPointDate)}, {"period", period},
		{"preceding", strings.Join(preceding, ", ")}, {"reason_code", deref(p.ReasonCode)},
		{"buyer_reference", deref(r.Buyer)}, {"order", deref(r.Order)}, {"sales_order", deref(r.SalesOrder)},
		{"contract", deref(r.Contract)}, {"project", deref(r.Project)}, {"receipt", deref(r.Receipt)},
		{"despatch", deref(r.Despatch)}, {"tender", deref(r.Tender)}, {"tax_exchange_rate", figure(p.TaxExchangeRate)},
		{"note", strings.Join(p.Notes, "\n")},
	})...)
	out.Taxes, out.Sums = w.receivedTaxes(p), receivedSums(p)
	return out
}

// receivedTaxes returns the tax summary of a document.
func (w *words) receivedTaxes(p *api.ParsedDocument) []receivedTax {
	var out []receivedTax
	for _, tax := range p.TaxBreakdown {
		out = append(out, receivedTax{ParsedTax: tax, Label: w.codeName("tax-categories", deref(tax.Category))})
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
	add("prepaid", t.Prepaid, p.Currency, false)
	add("rounding", t.Rounding, p.Currency, false)
	return out
}

func (w *words) newReceivedParty(role string, p *api.ParsedParty) receivedParty {
	out := receivedParty{Role: role, Name: deref(p.Name)}
	for _, line := range append([]string{deref(p.Street), deref(p.StreetAdditional), deref(p.PostalCode)},
		w.place(p.City, p.Subdivision, p.Country)...) {
		if line != "" {
			out.Address = append(out.Address, line)
		}
	}
	trading := deref(p.TradingName)
	if trading == out.Name {
		trading = ""
	}
	out.Details = nonEmpty([]detail{{"trading_name", trading}, {"tax_id", deref(p.TaxID)},
		{"tax_registration_id", deref(p.TaxRegistrationID)}, {"legal_id", deref(p.LegalID)},
		{"identifier", deref(p.Identifier)},
		{"network_id", strings.TrimPrefix(deref(p.EndpointScheme)+":"+deref(p.NetworkID), ":")},
		{"contact", strings.Join(slices.DeleteFunc([]string{deref(p.ContactName), deref(p.ContactPhone),
			deref(p.ContactEmail)}, func(s string) bool { return s == "" }), ", ")}})
	return out
}

// receivedPayment returns the details of all ways to pay.
func (w *words) receivedPayment(p *api.ParsedPayment) []detail {
	var out []detail
	for _, means := range p.Means {
		name := cmp.Or(w.codes["payment-means"].names[deref(means.Code)], deref(means.Name), deref(means.Code))
		out = append(out, detail{"means", name}, detail{"account", deref(means.Account)},
			detail{"account_name", deref(means.AccountName)}, detail{"bank_id", deref(means.BankID)},
			detail{"payment_reference", deref(means.Reference)}, detail{"card", deref(means.Card)},
			detail{"mandate", deref(means.Mandate)})
	}
	return nonEmpty(append(out, detail{"terms", deref(p.Terms)}))
}

// figure returns a number with thousands separators, and "" for an absent one.
func figure(n *api.Amount) string {
	if n == nil {
		return ""
	}
	return page.Grouped(string(*n))
}

// receivedLabel returns the label of a value by its path in a received document: lines[2].net is the amount of line 3.
func (c catalogue) receivedLabel(path string) (string, error) {
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
func (req *request) downloadAttachment() error {
	r, _, err := req.revision()
	if err != nil {
		return err
	}
	if err := req.reserve(view.DocumentBytes(&r)); err != nil {
		return err
	}
	file, err := view.ReadAttachment(req.R.Context(), req.session.Tenant, &r, req.Values["attachment"])
	if err != nil {
		return err
	}
	return req.sendFile(&file)
}
