package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"quittance/api"
	"quittance/internal/invoice"
)

// InvoiceFilter narrows and orders a list of invoices; nil and empty fields, and absent dimensions, do neither.
type InvoiceFilter struct {
	// Number is the exact invoice number, and ExternalID the exact key of the company's own system.
	Number, ExternalID *string
	// Submitted tells drafts from submitted invoices.
	Submitted *bool
	// States are exact words by dimension.
	States map[invoice.Dimension]string
	// Unreported are dimensions of submitted invoices in which the provider has said nothing.
	Unreported []invoice.Dimension
	// Outcome is the exact outcome of the current submission.
	Outcome *api.Outcome
	// Attention tells what needs a person: see [AttentionAfter].
	Attention *bool
	// IssuedFrom and IssuedTo bound the issue date, both inclusive: YYYY-MM-DD.
	IssuedFrom, IssuedTo string
	// UpdatedSince is the earliest time of the last change.
	UpdatedSince *time.Time
	// Recipient is text that the recipient's name holds, whatever the case of its letters.
	Recipient string
	// Search is text that the number, the recipient's name or its network identifier holds, whatever the case of its letters.
	Search string
	// Order is what the list is sorted by, descending unless Ascending; entries that are equal in it are in the order of their
	// creation, and then of their identifiers.
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

// SearchDepth is how many candidates a filtered or sorted list looks through at most: the work of a list has a bound. They
// are the invoices with the number, the external identifier or the word that the filter wants, those that were changed since the wanted time,
// or those of the wanted issue dates; else the newest ones.
const SearchDepth = 20_000

// AttentionAfter is how long an outcome may be unknown before an invoice needs a person. One whose current submission was
// rejected needs one at once, and so does one with a word that its publisher calls negative.
const AttentionAfter = 10 * time.Minute

// narrows tells that the filter does not let everything pass.
func (f *InvoiceFilter) narrows() bool {
	return f.Number != nil || f.ExternalID != nil || f.Submitted != nil || len(f.States) > 0 || len(f.Unreported) > 0 || f.Outcome != nil ||
		f.Attention != nil || f.IssuedFrom != "" || f.IssuedTo != "" || f.UpdatedSince != nil || f.Recipient != "" || f.Search != ""
}

// InvoicePage is one page of a list of invoices.
type InvoicePage struct {
	Invoices []InvoiceRow
	// Total is how many invoices the list holds; of a filtered or sorted one, among those that were looked through.
	Total int
	// Truncated tells that there were more candidates than [SearchDepth].
	Truncated bool
}

// Invoices returns the page of the given number (from 1) with perPage entries (from 1). A page of the unfiltered list in the
// order of creation is a range of an index, whose ends follow from counters of what the company has created and deleted: it
// costs the same at any page of any number of invoices. Any other list looks through at most [SearchDepth] candidates.
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
		out.Invoices, err = t.invoiceRows(ctx, q, `i.position <= $2 and i.position > $3 order by i.position desc`, high, low)
		if filter.Ascending {
			slices.Reverse(out.Invoices)
		}
		return err
	})
	return out, err
}

// pageRange returns the ranks of a page, newest first: from high down to above low. A page past the end is an empty range,
// whatever its number.
func pageRange(total, page, perPage int) (high, low int64) {
	if page-1 > total/perPage {
		return 0, 0
	}
	high = int64(total) - int64(page-1)*int64(perPage)
	return high, max(0, high-int64(perPage))
}

// invoiceRows reads invoices with their current submissions and states: two queries, however many there are.
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

// scanInvoiceRow reads a row without its submission; one without a summary has no draft.
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

// completeRow reads the document of an invoice that has no summary yet: see [DB.Summarize].
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
