package console

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/sdk/go/api"
)

// receivedDocument is the view model of a document as it was read.
type receivedDocument struct {
	*api.ParsedDocument
	// Facts and Payment are the details of the document and of its payment that have a value.
	Facts, Payment []detail
	Parties        []receivedParty
	// Totals are the totals that the document states, before the amount due.
	Totals []detail
	// Warnings are in the order of their paths, and Hidden is how many are not shown.
	Warnings []advice
	Hidden   int
	// HiddenLines is how many lines are not shown.
	HiddenLines int
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

// readDocument adds what the document of the latest revision says, or why it cannot be read.
func (req *request) readDocument(p *incomingInvoicePage, r *store.Revision) error {
	p.Every = incomingPollInterval
	if r.Size != nil && *r.Size >= largeDocument {
		if *r.Size >= slowDocument {
			p.Every = slowPollInterval
		}
		if err := req.acquireLargePage(largeLines, view.DocumentBytes(r), 1); err != nil {
			return err
		}
	}
	parsed, unreadable, err := view.ReadDocument(req.r.Context(), req.session.Tenant, r)
	if parsed != nil {
		p.Document = newReceivedDocument(parsed)
	}
	p.Unreadable = unreadable
	return err
}

func newReceivedDocument(p *api.ParsedDocument) *receivedDocument {
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
	out.Parties = []receivedParty{newReceivedParty("seller", &p.Seller), newReceivedParty("buyer", &p.Buyer)}
	if p.Payee != nil {
		out.Parties = append(out.Parties, newReceivedParty("payee", p.Payee))
	}
	r := &p.References
	var preceding []string
	for _, one := range r.PrecedingInvoices {
		preceding = append(preceding, strings.TrimSpace(deref(one.Number)+" "+deref(one.IssueDate)))
	}
	period := ""
	if p.Period != nil {
		period = strings.Trim(deref(p.Period.Start)+" – "+deref(p.Period.End), "– ")
	}
	out.Facts = nonEmpty([]detail{
		{"number", deref(p.Number)}, {"issue_date", strings.TrimSpace(deref(p.IssueDate) + " " + deref(p.IssueTime))}, {"due_date", deref(p.DueDate)},
		{"tax_point_date", deref(p.TaxPointDate)}, {"period", period}, {"preceding", strings.Join(preceding, ", ")}, {"reason_code", deref(p.ReasonCode)}, {"buyer_reference", deref(r.Buyer)},
		{"order", deref(r.Order)}, {"sales_order", deref(r.SalesOrder)}, {"contract", deref(r.Contract)}, {"project", deref(r.Project)}, {"receipt", deref(r.Receipt)},
		{"despatch", deref(r.Despatch)}, {"tender", deref(r.Tender)}, {"tax_exchange_rate", figure(p.TaxExchangeRate)}, {"note", strings.Join(p.Notes, "\n")},
	})
	out.Payment = receivedPayment(&p.Payment)
	t := &p.Totals
	out.Totals = nonEmpty([]detail{
		{"lines", figure(t.Lines)}, {"allowances", figure(t.Allowances)}, {"charges", figure(t.Charges)}, {"net", figure(t.Net)}, {"tax", figure(t.Tax)},
		{"tax_in_tax_currency", strings.TrimSpace(figure(t.TaxInTaxCurrency) + " " + currencyOf(t.TaxInTaxCurrency, p.TaxCurrency))},
		{"total", figure(t.Total)}, {"prepaid", figure(t.Prepaid)}, {"rounding", figure(t.Rounding)},
	})
	return out
}

// currencyOf returns the currency of an amount, and "" if there is no amount.
func currencyOf(amount *api.Amount, currency *string) string {
	if amount == nil {
		return ""
	}
	return deref(currency)
}

func newReceivedParty(role string, p *api.ParsedParty) receivedParty {
	out := receivedParty{Role: role, Name: deref(p.Name)}
	for _, line := range []string{deref(p.Street), deref(p.StreetAdditional), strings.TrimSpace(deref(p.PostalCode) + " " + deref(p.City)),
		strings.TrimSpace(deref(p.Subdivision) + " " + countryName(deref(p.Country)))} {
		if line != "" {
			out.Address = append(out.Address, line)
		}
	}
	trading := deref(p.TradingName)
	if trading == out.Name {
		trading = ""
	}
	out.Details = nonEmpty([]detail{{"trading_name", trading}, {"tax_id", deref(p.TaxID)}, {"tax_registration_id", deref(p.TaxRegistrationID)}, {"legal_id", deref(p.LegalID)},
		{"identifier", deref(p.Identifier)}, {"network_id", strings.TrimPrefix(deref(p.EndpointScheme)+":"+deref(p.NetworkID), ":")},
		{"contact", strings.Join(slices.DeleteFunc([]string{deref(p.ContactName), deref(p.ContactPhone), deref(p.ContactEmail)}, func(s string) bool { return s == "" }), ", ")}})
	return out
}

// countryName returns the name of a country, or the code if it is not known.
func countryName(code string) string {
	if name := codeLists["countries"].name(code); name != "" {
		return name
	}
	return code
}

// receivedPayment returns the details of all ways to pay.
func receivedPayment(p *api.ParsedPayment) []detail {
	var out []detail
	for _, means := range p.Means {
		name := codeLists["payment-means"].name(deref(means.Code))
		if name == "" {
			name = deref(means.Name)
		}
		out = append(out, detail{"means", strings.TrimSpace(deref(means.Code) + " " + name)}, detail{"account", deref(means.Account)}, detail{"account_name", deref(means.AccountName)},
			detail{"bank_id", deref(means.BankID)}, detail{"payment_reference", deref(means.Reference)}, detail{"card", deref(means.Card)}, detail{"mandate", deref(means.Mandate)})
	}
	return nonEmpty(append(out, detail{"terms", deref(p.Terms)}))
}

// figure returns a number with thousands separators, and "" for an absent one.
func figure(n *api.Amount) string {
	if n == nil {
		return ""
	}
	return grouped(string(*n))
}

// receivedLabel returns the label of a value by its path in a received document: lines[2].net is the amount of line 3.
func (c catalogue) receivedLabel(path string) (string, error) {
	last := path[strings.LastIndex(path, ".")+1:]
	last, _, _ = strings.Cut(last, "[")
	label := c.textOr("incoming.value."+last, last)
	if number, _, isLine := strings.Cut(strings.TrimPrefix(path, "lines["), "]"); isLine && strings.HasPrefix(path, "lines[") {
		if n, err := strconv.Atoi(number); err == nil {
			return c.text("field.line", strconv.Itoa(n+1), label)
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
	file, err := view.ReadAttachment(req.r.Context(), req.session.Tenant, &r, req.values["attachment"])
	if err != nil {
		return err
	}
	return req.sendFile(&file)
}
