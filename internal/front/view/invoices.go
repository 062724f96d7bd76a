package view

import (
	"context"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// InvoiceFilter filters and sorts a list of invoices. Nil and empty fields, and absent dimensions, have no effect.
type InvoiceFilter struct {
	// Number is the exact invoice number, and ExternalID the exact identifier in the company's own system.
	Number, ExternalID *string
	// Submitted selects submitted invoices if true, and drafts if false.
	Submitted *bool
	// States are exact state values by dimension.
	States map[invoice.Dimension]string
	// Unreported are dimensions of submitted invoices for which the provider has reported no state.
	Unreported []invoice.Dimension
	// Outcome is the exact outcome of the current submission.
	Outcome *api.Outcome
	// Attention selects the invoices that need a person, or the others; see [AttentionAfter].
	Attention *bool
	// Tab selects the invoices of a tab.
	Tab Tab
	IssueDates
	// UpdatedSince is the earliest time of the last change.
	UpdatedSince *time.Time
	// AmountFrom and AmountTo bound the total amount, both inclusive and in any currency.
	AmountFrom, AmountTo *api.Decimal
	// Currency is the exact ISO 4217 code.
	Currency string
	// Recipient is text in the recipient's name, ignoring case.
	Recipient string
	// Search is text in the number, the recipient's name or its network identifier, ignoring case.
	Search string
	// Order is the sort key of the list, descending unless Ascending. Equal entries are sorted by their creation and then
	// by their identifiers.
	Order     InvoiceOrder
	Ascending bool
}

// InvoiceOrder is what a list of invoices is sorted by.
type InvoiceOrder string

// The orders of a list of invoices.
const (
	OrderCreated   InvoiceOrder = ""
	OrderIssueDate InvoiceOrder = "issue_date"
	OrderTotal     InvoiceOrder = "total_amount"
	OrderRecipient InvoiceOrder = "recipient_name"
	OrderNumber    InvoiceOrder = "invoice_number"
	OrderUpdated   InvoiceOrder = "updated_at"
)

// AttentionAfter is how long an outcome may be unknown before an invoice needs a person. An invoice whose current
// submission was rejected, or that has a state value published as negative, needs one at once.
const AttentionAfter = 10 * time.Minute

// narrows reports whether the filter excludes anything.
func (f *InvoiceFilter) narrows() bool {
	return f.Number != nil || f.ExternalID != nil || f.Submitted != nil || len(f.States) > 0 || len(f.Unreported) > 0 ||
		f.Outcome != nil ||
		f.Attention != nil || f.Tab != TabAll || f.IssueDates.narrow() || f.UpdatedSince != nil || f.Recipient != "" ||
		f.Search != "" ||
		f.AmountFrom != nil || f.AmountTo != nil || f.Currency != ""
}

// Invoices returns a page of the invoices. A page of the unfiltered list in the order of creation is a range of an
// index. Its bounds are computed from counters of the created and deleted invoices, so every page costs the same. A
// page of a tab is a range of an index too, as far as [SearchDepth]. Any other list examines at most [SearchDepth]
// candidates.
func (t Tenant) Invoices(ctx context.Context, filter InvoiceFilter, number,
	perPage int) (out Page[invoices.InvoiceRow], err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		if filter.onlyTab() {
			out, err = filter.tabPage(ctx, r, number, perPage)
			return err
		}
		if filter.narrows() || filter.Order != OrderCreated {
			out, err = searchInvoices(ctx, r, &filter, number, perPage)
			return err
		}
		p, err := invoices.ReadPositions(ctx, r)
		if err != nil {
			return err
		}
		out.Total = p.Total()
		high, low := pageRange(out.Total, number, perPage)
		if filter.Ascending {
			high, low = int64(out.Total)-low, int64(out.Total)-high
		}
		out.Entries, err = invoices.SelectByRank(ctx, r, p, low, high)
		if filter.Ascending {
			slices.Reverse(out.Entries)
		}
		return err
	})
	return out, err
}

// InvoicesByID returns those of at most 100 invoices that exist, in the order of ids, with one query.
func (t Tenant) InvoicesByID(ctx context.Context, ids []base.ID) (out []invoices.InvoiceRow, err error) {
	err = base.ReadRows(t.tenant, func(r base.Reader) error {
		out, err = invoicesByID(ctx, r, ids)
		return err
	})
	return out, err
}

// maxStateValues bounds the state values of one dimension that a company is offered as a filter.
const maxStateValues = 50

// StateValues returns the state values that providers have reported for this company, by dimension, in alphabetical
// order and at most maxStateValues each. It jumps from value to value in an index, so its cost does not depend on the
// number of submissions.
func (t Tenant) StateValues(ctx context.Context) (map[invoice.Dimension][]string, error) {
	out := map[invoice.Dimension][]string{}
	err := base.ReadRows(t.tenant, func(r base.Reader) error {
		for _, dimension := range invoice.Dimensions {
			err := r.Query(ctx, func(row base.Row) error {
				var value string
				err := row.Scan(&value)
				out[dimension] = append(out[dimension], value)
				return err
			}, `with recursive found (value, n) as (
				select min(word), 1 from states where tenant_id = $1 and dimension = $2
				union all
				select (select min(s.word) from states s where s.tenant_id = $1 and s.dimension = $2 and s.word > found.value), n + 1
				from found where found.value is not null and n < $3)
				select value from found where value is not null`, dimension, maxStateValues)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}
