package documents

import (
	"slices"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/ledger/incoming"
)

// fieldValue is a value of a document for people, or "" when absent. Field is its key in the c.
type fieldValue struct{ Field, Value string }

// changedValue is a value that differs from the previous revision. It is "" when absent.
type changedValue struct{ Field, Before, After string }

// revisionChange says how the newest revision differs from the one before, which it replaces.
type revisionChange struct {
	Newest, Previous revisionRow
	// Values are what differs in the documents and in the provider's metadata.
	Values []changedValue
	// Read reports that both documents were read, and PDF that the pages of the previous one can be downloaded.
	Read, PDF bool
}

// changedValues returns the values that differ. Both lists have the same fields in the same order.
func changedValues(before, after []fieldValue) []changedValue {
	var out []changedValue
	for n := range before {
		if before[n].Value != after[n].Value {
			out = append(out, changedValue{Field: before[n].Field, Before: before[n].Value, After: after[n].Value})
		}
	}
	return out
}

// metadataValues returns the values of the provider's metadata.
func metadataValues(c console.Catalogue, r *incoming.Revision) []fieldValue {
	return []fieldValue{
		{"document_type", console.Deref(r.DocumentType)}, {"invoice_number", console.Deref(r.InvoiceNumber)},
		{"supplier_name", console.Deref(r.SupplierName)}, {"supplier_network_id", console.Deref(r.SupplierNetworkID)},
		{"issue_date", c.DayText(r.IssueDate)}, {"due_date", c.DayText(r.DueDate)}, {"currency", console.Deref(r.Currency)},
		{"total_amount", page.MoneyText(r.TotalAmount, r.Currency)},
	}
}

// documentValues returns the values of a document that matter before it is paid, with the account that a forger would
// change.
func documentValues(c console.Catalogue, p *api.ParsedDocument) []fieldValue {
	var accounts []string
	for _, means := range p.Payment.Means {
		if account := console.Deref(means.Account); account != "" {
			accounts = append(accounts, account)
		}
	}
	t := &p.Totals
	return []fieldValue{
		{"invoice_number", console.Deref(p.Number)}, {"supplier_name", console.Deref(p.Seller.Name)}, {"buyer_name",
			console.Deref(p.Buyer.Name)},
		{"issue_date", c.DayText(p.IssueDate)}, {"due_date", c.DayText(p.DueDate)}, {"account", strings.Join(accounts, ", ")},
		{"lines", page.Grouped(strconv.Itoa(p.LineCount))}, {"net", page.MoneyText(t.Net, p.Currency)},
		{"tax", page.MoneyText(t.Tax, p.Currency)}, {"total_amount", page.MoneyText(t.Total, p.Currency)},
		{"payable", page.MoneyText(t.Payable, p.Currency)},
	}
}

// newRevisionChange compares the newest revision with the one before. A document is nil if it could not be read.
func newRevisionChange(c console.Catalogue, rows []revisionRow, before, after *api.ParsedDocument) *revisionChange {
	change := &revisionChange{Newest: rows[0], Previous: rows[1], Values: slices.Clone(rows[0].Changes),
		PDF: before != nil}
	if change.Read = before != nil && after != nil; !change.Read {
		return change
	}
	metadata := change.Values
	change.Values = changedValues(documentValues(c, before), documentValues(c, after))
	for _, value := range metadata {
		if !slices.ContainsFunc(change.Values, func(v changedValue) bool { return v.Field == value.Field }) {
			change.Values = append(change.Values, value)
		}
	}
	return change
}
