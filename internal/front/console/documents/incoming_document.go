package documents

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/front/console"
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

// receivedParty is a party of a received document. Role is seller, buyer or payee.
type receivedParty struct {
	Role, Name string
	Address    []string
	Details    []detail
}

// receivedLine is a line of a received document with what has no column.
type receivedLine struct {
	*api.ParsedLine
	Details []detail
}

// further returns the texts and numbers of a part of a received document that have a value, except those that the page
// has elsewhere.
func further(part any, elsewhere ...string) []detail {
	var out []detail
	v := reflect.ValueOf(part)
	for n := range v.NumField() {
		name := v.Type().Field(n).Tag.Get("json")
		if slices.Contains(elsewhere, name) {
			continue
		}
		switch value := v.Field(n).Interface().(type) {
		case *string:
			out = append(out, detail{name, console.Deref(value)})
		case *api.Amount:
			out = append(out, detail{name, figure(value)})
		}
	}
	return nonEmpty(out)
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
		details := further(*line, "id", "name", "item_code", "description", "note", "quantity", "unit_code", "net_unit_price",
			"base_quantity", "net", "vat_category", "vat_rate")
		if period := periodText(w, line.Period); period != "" {
			details = append(details, detail{"period", period})
		}
		out.Rows = append(out.Rows, receivedLine{line, details})
	}
	out.Parties = []receivedParty{newReceivedParty(w, "seller", &p.Seller), newReceivedParty(w, "buyer", &p.Buyer)}
	if p.Payee != nil {
		out.Parties = append(out.Parties, newReceivedParty(w, "payee", p.Payee))
	}
	r := &p.References
	var preceding []string
	for _, one := range r.PrecedingInvoices {
		preceding = append(preceding, strings.TrimSpace(console.Deref(one.Number)+" "+w.Messages.DayText(one.IssueDate)))
	}
	out.Details = append(receivedPayment(w, &p.Payment), nonEmpty([]detail{
		{"tax_point_date", w.Messages.DayText(p.TaxPointDate)}, {"period", periodText(w, p.Period)},
		{"preceding", strings.Join(preceding, ", ")}, {"reason_code", console.Deref(p.ReasonCode)},
		{"accounting_reference", console.Deref(p.AccountingReference)},
		{"buyer_reference", console.Deref(r.Buyer)}, {"order", console.Deref(r.Order)}, {"sales_order",
			console.Deref(r.SalesOrder)},
		{"contract", console.Deref(r.Contract)}, {"project", console.Deref(r.Project)}, {"receipt", console.Deref(r.Receipt)},
		{"despatch", console.Deref(r.Despatch)}, {"tender", console.Deref(r.Tender)}, {"tax_exchange_rate",
			figure(p.TaxExchangeRate)},
		{"note", strings.Join(p.Notes, "\n")},
	})...)
	out.Taxes, out.Sums = receivedTaxes(w, p), receivedSums(p)
	return out
}

// periodText is a period, "" for an absent one.
func periodText(w *console.Words, p *api.ParsedPeriod) string {
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
	out.Details = append(further(*p, "name", "network_id", "endpoint_scheme", "street", "street_additional",
		"address_line", "city", "postal_code", "subdivision", "country", "contact_name", "contact_phone", "contact_email"),
		nonEmpty([]detail{
			{"network_id", strings.TrimPrefix(console.Deref(p.EndpointScheme)+":"+console.Deref(p.NetworkID), ":")},
			{"contact", strings.Join(slices.DeleteFunc([]string{console.Deref(p.ContactName), console.Deref(p.ContactPhone),
				console.Deref(p.ContactEmail)}, func(s string) bool { return s == "" }), ", ")}})...)
	out.Details = slices.DeleteFunc(out.Details, func(d detail) bool {
		return d.Name == "trading_name" && d.Value == out.Name
	})
	return out
}

// receivedPayment returns the details of all ways to pay.
func receivedPayment(w *console.Words, p *api.ParsedPayment) []detail {
	var out []detail
	for _, means := range p.Means {
		name := cmp.Or(w.Codes["payment-means"].Names[console.Deref(means.Code)], console.Deref(means.Name),
			console.Deref(means.Code))
		out = append(out, detail{"means", name}, detail{"account", console.Deref(means.Account)},
			detail{"account_name", console.Deref(means.AccountName)}, detail{"bank_id", console.Deref(means.BankID)},
			detail{"payment_reference", console.Deref(means.Reference)}, detail{"card", console.Deref(means.Card)},
			detail{"mandate", console.Deref(means.Mandate)})
	}
	return nonEmpty(append(out, detail{"terms", console.Deref(p.Terms)}))
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
