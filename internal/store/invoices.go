package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"quittance/internal/invoice"
	"quittance/sdk/go/api"
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
	// IssuedFrom and IssuedTo bound the issue date, both inclusive: YYYY-MM-DD.
	IssuedFrom, IssuedTo string
	// UpdatedSince is the earliest time of the last change.
	UpdatedSince *time.Time
	// Recipient is text in the recipient's name, ignoring case.
	Recipient string
	// Search is text in the number, the recipient's name or its network identifier, ignoring case.
	Search string
	// Order is the sort key of the list, descending unless Ascending. Equal entries are sorted by their creation and then by
	// their identifiers.
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
)

// SearchDepth is how many candidates a filtered or sorted list examines at most, which bounds its work. The candidates are the
// invoices with the number, external identifier or state value of the filter, those changed since its time, or those of its
// issue dates; otherwise the newest ones.
const SearchDepth = 20_000

// AttentionAfter is how long an outcome may be unknown before an invoice needs a person. An invoice whose current submission was
// rejected, or that has a state value published as negative, needs one at once.
const AttentionAfter = 10 * time.Minute

// narrows reports whether the filter excludes anything.
func (f *InvoiceFilter) narrows() bool {
	return f.Number != nil || f.ExternalID != nil || f.Submitted != nil || len(f.States) > 0 || len(f.Unreported) > 0 || f.Outcome != nil ||
		f.Attention != nil || f.IssuedFrom != "" || f.IssuedTo != "" || f.UpdatedSince != nil || f.Recipient != "" || f.Search != ""
}

// InvoicePage is one page of a list of invoices.
type InvoicePage struct {
	Entries []InvoiceRow
	// Total is the length of the list; for a filtered or sorted list it counts only the candidates that were examined.
	Total int
	// Truncated reports that there were more candidates than [SearchDepth].
	Truncated bool
}

// Invoices returns the page with the given number (from 1) and perPage entries (at least 1). A page of the unfiltered list in
// the order of creation is a range of an index. Its bounds are computed from counters of the created and deleted invoices, so
// every page costs the same. Any other list examines at most [SearchDepth] candidates.
func (t *Tenant) Invoices(ctx context.Context, filter InvoiceFilter, page, perPage int) (InvoicePage, error) {
	var out InvoicePage
	err := t.list(ctx, func(ctx context.Context, q querier) (err error) {
		if filter.narrows() || filter.Order != OrderCreated {
			out, err = t.searchInvoices(ctx, q, &filter, page, perPage)
			return err
		}
		p, err := t.positions(ctx, q)
		if err != nil {
			return err
		}
		out.Total = p.total()
		high, low := pageRange(out.Total, page, perPage)
		if filter.Ascending {
			high, low = int64(out.Total)-low, int64(out.Total)-high
		}
		if low, high, err = t.between(ctx, q, p, low, high); err != nil {
			return err
		}
		out.Entries, err = t.invoiceRows(ctx, q, `i.position <= $2 and i.position > $3 order by i.position desc`, high, low)
		if filter.Ascending {
			slices.Reverse(out.Entries)
		}
		return err
	})
	return out, err
}

// pageRange returns the ranks of a page, newest first: from high down to, but not including, low. A page past the end is empty.
func pageRange(total, page, perPage int) (high, low int64) {
	if page-1 > total/perPage {
		return 0, 0
	}
	high = int64(total) - int64(page-1)*int64(perPage)
	return high, max(0, high-int64(perPage))
}

// invoiceRows reads invoices with their current submissions and states, with two queries.
func (t *Tenant) invoiceRows(ctx context.Context, q querier, where string, args ...any) ([]InvoiceRow, error) {
	out, err := collect(ctx, q, scanInvoiceRow, `select i.id, i.version, i.created_at, i.updated_at, `+numberHolder+`, s.item_count, s.summary
		from invoices i left join invoice_summaries s on s.tenant_id = i.tenant_id and s.invoice_id = i.id and i.summarized <> 0
		where i.tenant_id = $1 and `+where, append([]any{t.id}, args...)...)
	if err != nil || len(out) == 0 {
		return out, err
	}
	byInvoice := make(map[ID]int, len(out))
	ids := make([]ID, len(out))
	for n := range out {
		if err := t.completeRow(ctx, q, &out[n]); err != nil {
			return nil, err
		}
		ids[n], byInvoice[out[n].ID] = out[n].ID, n
	}
	list, idArgs := t.idList(ids)
	submissions, err := collect(ctx, q, scanSubmission, `select `+t.db.submissionColumns()+` from submissions
		where tenant_id = $1 and invoice_id in (`+list+`) and current = 1 and outcome <> 'not_sent'`, idArgs...)
	if err != nil {
		return nil, err
	}
	for n := range submissions {
		out[byInvoice[submissions[n].Invoice]].Submission = &submissions[n]
	}
	return out, nil
}

// scanInvoiceRow reads a row without its submission. The draft of an invoice without a summary is empty.
func scanInvoiceRow(row scanner) (InvoiceRow, error) {
	var i Invoice
	var created, updated int64
	var items sql.Null[int]
	var text sql.Null[string]
	var holder sql.Null[ID]
	if err := row.Scan(&i.ID, &i.Version, &created, &updated, &holder, &items, &text); err != nil {
		return InvoiceRow{}, err
	}
	var out InvoiceRow
	if text.Valid {
		var err error
		if out, err = (&invoiceSummary{items: items.V, text: text.V}).row(); err != nil {
			return InvoiceRow{}, err
		}
	}
	i.Draft, i.CreatedAt, i.UpdatedAt, i.NumberHolder = out.Draft, instant(created), instant(updated), holder.V
	out.Invoice = i
	return out, nil
}

// completeRow reads the document of an invoice that has no summary yet; see [DB.Summarize].
func (t *Tenant) completeRow(ctx context.Context, q querier, row *InvoiceRow) error {
	if row.Draft.InvoiceNumber != nil {
		return nil
	}
	found, err := scanInvoice(q.QueryRowContext(ctx, `select `+invoiceColumns+` from invoices i where i.tenant_id = $1 and i.id = $2`, t.id, row.ID))
	if err != nil {
		return err
	}
	summary, err := summarize(&found.Draft)
	if err != nil {
		return err
	}
	whole, err := summary.row()
	found.Draft = whole.Draft
	whole.Invoice = found
	*row = whole
	return err
}
