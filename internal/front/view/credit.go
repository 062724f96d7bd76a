package view

import (
	"context"
	"strings"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// CreditNote returns a credit note as it is shown by itself.
func CreditNote(n invoices.CreditNote) api.CreditNote {
	out := api.CreditNote{ID: n.ID.String(), InvoiceID: n.Invoice.String(), CreditNoteNumber: n.Number,
		IssueDate: n.IssueDate, Reason: n.Reason, ReasonCode: n.ReasonCode, Kind: n.Credit.Kind, Currency: n.Currency,
		TotalAmount: n.Credit.Total, Items: n.Credit.Items, States: n.States().Wire(), VoidedAt: n.VoidedAt,
		CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt}
	if n.Submission != nil {
		out.Submitted, out.SubmittedAt = true, &n.Submission.AttemptedAt
		out.Submission, out.Details = new(Submission(*n.Submission)), details(n.Submission)
	}
	return out
}

// CreditNoteSummary returns a credit note as lists of the API show it.
func CreditNoteSummary(r invoices.CreditNoteRow) api.CreditNoteSummary {
	out := api.CreditNoteSummary{ID: r.ID.String(), InvoiceID: r.Invoice.String(), CreditNoteNumber: r.Number,
		IssueDate: r.IssueDate, Reason: r.Reason, ReasonCode: r.ReasonCode, Kind: r.Credit.Kind, Currency: r.Currency,
		TotalAmount: r.Credit.Total, ItemCount: r.Items, States: r.States().Wire(), VoidedAt: r.VoidedAt,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
	if r.Submission != nil {
		out.Submitted, out.SubmittedAt = true, &r.Submission.AttemptedAt
		out.Submission, out.Details = new(Submission(*r.Submission)), details(r.Submission)
	}
	return out
}

// CreditNoteFilter filters a list of credit notes. Zero fields have no effect.
type CreditNoteFilter struct {
	// Invoice is the credited invoice.
	Invoice *base.ID
	IssueDates
	// Void selects void credit notes if true, and live ones if false.
	Void *bool
	// Text is text in the number or the reason, ignoring case (on SQLite only the case of Latin letters), or in the
	// number, the recipient's name or the network identifier of the credited invoice, ignoring case.
	Text string
}

// dated reports whether the candidates are the credit notes of the issue dates. Those of one invoice are few.
func (f CreditNoteFilter) dated() bool { return f.IssueDates.narrow() && f.Invoice == nil }

// CreditNotes returns a page of the credit notes, newest first and including void ones. They are numbered without gaps,
// so every page of the unfiltered list costs the same. The credit notes of one invoice are counted. A list with issue
// dates examines [SearchDepth] of these dates, the latest. A list with another filter examines the newest
// [SearchDepth], but finds an exact number among all.
func (t Tenant) CreditNotes(ctx context.Context, filter CreditNoteFilter, number,
	perPage int) (out Page[invoices.CreditNoteRow], err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		if filter == (CreditNoteFilter{}) {
			if err := r.Query(ctx, func(row base.Row) error { return row.Scan(&out.Total) },
				`select credit_notes from tenants where id = $1`); err != nil {
				return err
			}
			high, low := pageRange(out.Total, number, perPage)
			out.Entries, err = invoices.SelectCreditNotes(ctx, r, `position <= $2 and position > $3`,
				`order by position desc`, high, low)
			return err
		}
		if filter.dated() {
			out, err = searchPage(number, perPage, func(offset, limit int) (searched, error) {
				return filter.search(ctx, r, SearchDepth, offset, limit)
			}, func(ids []base.ID) ([]invoices.CreditNoteRow, error) {
				return rowsByID(ctx, r, `id`, ids, func(n *invoices.CreditNoteRow) base.ID { return n.ID },
					invoices.SelectCreditNotes)
			})
			return err
		}
		var s statement
		where := filter.conditions(&s, SearchDepth)
		out, err = readPage(ctx, r, &s, number, perPage, `select count(*) from credit_notes where tenant_id = $1 and `+where,
			invoices.SelectCreditNotes, where, `order by position desc`)
		return err
	})
	return out, err
}

// search finds the credit notes of some issue dates, and returns a range of them. The candidates are at most depth and
// one more.
func (f CreditNoteFilter) search(ctx context.Context, r base.Reader, depth, offset, limit int) (searched, error) {
	var s statement
	candidates := `select id from credit_notes where tenant_id = $1` + f.IssueDates.and(&s, `issue_date`) +
		` order by issue_date desc, id desc limit ` + s.value(depth+1)
	matched := `select id, position from credit_notes where tenant_id = $1 and id ` + r.InSubquery(examinedIDs) + ` and ` +
		f.conditions(&s, depth)
	return s.search(ctx, r, candidates, matched, ` order by position desc`, offset, limit)
}

// conditions returns the filter as SQL, which examines the newest depth credit notes if there is no index. At least one
// field has an effect.
func (f CreditNoteFilter) conditions(s *statement, depth int) string {
	column := `issue_date`
	if f.Invoice != nil {
		// its few credit notes have an index, and the statement must not use that of the dates
		column = `coalesce(issue_date, '')`
	}
	conditions := f.IssueDates.bounds(s, column)
	add := func(condition string) { conditions = append(conditions, condition) }
	if f.Invoice != nil {
		add(`invoice_id = ` + s.value(*f.Invoice))
	}
	if f.Void != nil {
		add(map[bool]string{true: `voided_at is not null`, false: `voided_at is null`}[*f.Void])
	}
	newest := func() string {
		return `position > (select credit_notes from tenants where id = $1) - ` + s.value(depth)
	}
	switch {
	case f.dated(): // the candidates are those of the dates
		if f.Text != "" {
			add(f.matching(s))
		}
	case f.Text != "":
		add(`(number = ` + s.value(f.Text) + ` or ` + newest() + ` and ` + f.matching(s) + `)`)
	case f.Void != nil:
		add(newest())
	}
	return strings.Join(conditions, ` and `)
}

// matching returns the condition for credit notes with the text.
func (f CreditNoteFilter) matching(s *statement) string {
	pattern, lower := `lower(`+s.value(containing(f.Text))+`)`, s.value(containing(strings.ToLower(f.Text)))
	return `(lower(number) like ` + pattern + ` escape '\' or lower(reason) like ` + pattern + ` escape '\'
		or exists (select 1 from invoice_summaries s where s.tenant_id = $1 and s.invoice_id = credit_notes.invoice_id and (s.terms like ` + lower + ` escape '\'
			or s.recipient like ` + lower + ` escape '\')))`
}

// InvoiceNumbers returns the present numbers of at most 100 invoices with one query. Identifiers that no invoice of the
// company has are left out.
func (t Tenant) InvoiceNumbers(ctx context.Context, ids []base.ID) (map[base.ID]string, error) {
	return byID[string](ctx, t, ids, `select id, number from invoices where tenant_id = $1`)
}
