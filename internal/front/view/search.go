package view

import (
	"context"
	"strconv"
	"strings"
	"time"

	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// searchInvoices reads a page of a filtered or sorted list.
func searchInvoices(ctx context.Context, r base.Reader, filter *InvoiceFilter, number,
	perPage int) (Page[invoices.InvoiceRow], error) {
	return searchPage(number, perPage, func(offset, limit int) (searched, error) {
		return filter.search(ctx, r, SearchDepth, offset, limit)
	}, func(ids []base.ID) ([]invoices.InvoiceRow, error) { return invoicesByID(ctx, r, ids) })
}

// search finds the invoices of a filtered or sorted list, and returns a range of them. The candidates are at most depth
// and one more.
func (f *InvoiceFilter) search(ctx context.Context, r base.Reader, depth, offset, limit int) (searched, error) {
	var s statement
	now := r.Now()
	candidates := f.candidates(&s, now, depth)
	where := f.conditions(&s, now)
	direction := " desc"
	if f.Ascending {
		direction = ""
	}
	matched := `select s.invoice_id as id, s.created_at, ` + f.sortedBy(r) + ` as sorted from invoice_summaries s
		where s.tenant_id = $1 and s.invoice_id ` + r.InSubquery(examinedIDs) + where
	return s.search(ctx, r, candidates, matched, ` order by sorted`+direction+`, created_at`+direction+`, id`+direction,
		offset, limit)
}

// invoicesByID reads those of some invoices that exist, in the order of ids.
func invoicesByID(ctx context.Context, r base.Reader, ids []base.ID) ([]invoices.InvoiceRow, error) {
	return rowsByID(ctx, r, `i.id`, ids, func(i *invoices.InvoiceRow) base.ID { return i.ID }, invoices.SelectRows)
}

// sortedBy returns the column of the summaries that the list is sorted by.
func (f *InvoiceFilter) sortedBy(r base.Reader) string {
	switch f.Order {
	case OrderIssueDate:
		return `s.issue_date` + r.ByteOrder()
	case OrderTotal:
		return `s.total`
	case OrderRecipient:
		return `s.recipient` + r.ByteOrder()
	case OrderNumber:
		return `s.terms` + r.ByteOrder() // which begins with the number
	case OrderUpdated:
		return `(select i.updated_at from invoices i where i.tenant_id = s.tenant_id and i.id = s.invoice_id)`
	case OrderCreated:
	}
	return `s.created_at`
}

// candidates returns a query for the identifiers (id, which may be null) of the invoices to examine, from the index
// that finds the fewest: at most the given number and one more.
func (f *InvoiceFilter) candidates(s *statement, now time.Time, most int) string {
	const newest = `select invoice_id as id from invoice_summaries where tenant_id = $1 order by invoice_id desc limit `
	depth := s.value(most + 1)
	numbered := func(number string) string {
		return `select id from invoices where tenant_id = $1 and number = ` + s.value(number) +
			` order by position desc limit ` + depth
	}
	switch {
	case f.Number != nil:
		return numbered(*f.Number)
	case f.ExternalID != nil:
		return `select invoice_id as id from invoice_summaries where tenant_id = $1 and external_id = ` +
			s.value(*f.ExternalID) + ` order by invoice_id desc limit ` + depth
	case f.UpdatedSince != nil:
		return `select id from invoices where tenant_id = $1 and updated_at >= ` + s.value(f.UpdatedSince.UnixMicro()) +
			` order by updated_at desc, id desc limit ` + depth
	case f.Attention != nil && *f.Attention:
		return `select id from (select invoice_id as id from submissions where tenant_id = $1 and current = 1 and outcome in ('rejected', 'unknown')
				order by submissions.id desc limit ` + depth + `) undecided union
			select c.invoice_id as id from (select submission_id from states where tenant_id = $1 and meaning = 'negative' order by submission_id desc limit ` + depth + `) reported
				join submissions c on c.tenant_id = $1 and c.id = reported.submission_id and c.current = 1`
	case len(f.States) > 0:
		return f.withStateValue(s, depth)
	case f.Tab == TabAttention, f.Tab == TabInProgress: // usually few
		return `select id from (` + f.tabCandidates(s, now, depth, ` desc`) + `) tab`
	case f.Search != "":
		return `select id from (` + newest + depth + `) newest union select id from (` + numbered(f.Search) + `) numbered`
	case f.IssueDates.narrow() || f.Order == OrderIssueDate:
		return f.issued(s, depth)
	case f.Order == OrderUpdated && f.Ascending:
		return `select id from invoices where tenant_id = $1 order by updated_at, id limit ` + depth
	case f.Order == OrderUpdated:
		return `select id from invoices where tenant_id = $1 order by updated_at desc, id desc limit ` + depth
	case f.Tab != TabAll:
		return `select id from (` + f.tabCandidates(s, now, depth, ` desc`) + `) tab`
	}
	if f.Ascending {
		return `select invoice_id as id from invoice_summaries where tenant_id = $1 order by invoice_id limit ` + depth
	}
	return newest + depth
}

// withStateValue returns a query for the invoices with the first state value of the filter. Invoices whose earlier
// submission had it are null, but count as examined.
func (f *InvoiceFilter) withStateValue(s *statement, depth string) string {
	for _, dimension := range invoice.Dimensions {
		if value, ok := f.States[dimension]; ok {
			return `select c.invoice_id as id from (select submission_id from states where tenant_id = $1 and dimension = ` +
				s.value(string(dimension)) +
				` and word = ` + s.value(value) + ` order by submission_id desc limit ` + depth + `) reported
				left join submissions c on c.tenant_id = $1 and c.id = reported.submission_id and c.current = 1`
		}
	}
	return `select invoice_id as id from invoice_summaries where tenant_id = $1 and 1 = 0` // no known dimension
}

// issued returns a query for the invoices of the issue dates in the filter, in the order of the list if it is sorted by
// issue date.
func (f *InvoiceFilter) issued(s *statement, depth string) string {
	query := `select invoice_id as id from invoice_summaries where tenant_id = $1` + f.IssueDates.and(s, `issue_date`)
	if f.Order == OrderIssueDate && f.Ascending {
		return query + ` order by issue_date, invoice_id limit ` + depth
	}
	return query + ` order by issue_date desc, invoice_id desc limit ` + depth
}

// conditions returns the whole filter as conditions on a summary s, as of now.
func (f *InvoiceFilter) conditions(s *statement, now time.Time) string {
	var where strings.Builder
	add := func(condition string) { where.WriteString(` and ` + condition) }
	if f.Number != nil {
		add(`exists (select 1 from invoices i where i.tenant_id = s.tenant_id and i.id = s.invoice_id and i.number = ` +
			s.value(*f.Number) + `)`)
	}
	if f.ExternalID != nil {
		add(`s.external_id = ` + s.value(*f.ExternalID))
	}
	where.WriteString(f.IssueDates.and(s, `s.issue_date`))
	if f.UpdatedSince != nil {
		add(`exists (select 1 from invoices i where i.tenant_id = s.tenant_id and i.id = s.invoice_id and i.updated_at >= ` +
			s.value(f.UpdatedSince.UnixMicro()) + `)`)
	}
	if f.AmountFrom != nil {
		add(`s.total >= ` + s.value(invoices.AmountKey(f.AmountFrom)))
	}
	if f.AmountTo != nil {
		add(`s.total <= ` + s.value(invoices.AmountKey(f.AmountTo)))
	}
	if f.Currency != "" {
		// quotation marks in a text have a backslash
		add(`s.summary like ` + s.value(containing(`"currency":`+strconv.Quote(f.Currency))) + ` escape '\'`)
	}
	if f.Recipient != "" {
		add(`s.recipient like ` + s.value(containing(strings.ToLower(f.Recipient))) + ` escape '\'`)
	}
	if f.Search != "" {
		pattern := s.value(containing(strings.ToLower(f.Search)))
		add(`(s.terms like ` + pattern + ` escape '\' or s.recipient like ` + pattern + ` escape '\')`)
	}
	if f.Tab != TabAll {
		add(f.tabCondition(s, now))
	}
	f.submissionConditions(s, now, add)
	return where.String()
}

// submissionConditions adds the conditions on the current submission.
func (f *InvoiceFilter) submissionConditions(s *statement, now time.Time, add func(condition string)) {
	const (
		current  = `exists (select 1 from submissions c where c.tenant_id = s.tenant_id and c.invoice_id = s.invoice_id and c.current = 1`
		reported = `exists (select 1 from states w join submissions c on c.tenant_id = w.tenant_id and c.id = w.submission_id
			where w.tenant_id = s.tenant_id and c.invoice_id = s.invoice_id and c.current = 1 and w.dimension = `
		sent = ` and c.outcome <> 'not_sent')`
	)
	not := map[bool]string{true: ``, false: `not `}
	if f.Submitted != nil {
		add(not[*f.Submitted] + current + sent)
	}
	if f.Outcome != nil {
		add(current + ` and ` + invoices.OutcomeCondition(*f.Outcome, s.value) + `)`)
	}
	if f.Attention != nil {
		add(not[*f.Attention] + current + ` and (c.outcome = 'rejected' or c.outcome = 'unknown' and c.attempted_at <= ` +
			s.value(now.Add(-AttentionAfter).UnixMicro()) + ` or exists (select 1 from states w
				where w.tenant_id = c.tenant_id and w.submission_id = c.id and w.meaning = 'negative')))`)
	}
	for _, dimension := range invoice.Dimensions {
		if value, ok := f.States[dimension]; ok {
			add(reported + s.value(string(dimension)) + ` and w.word = ` + s.value(value) + `)`)
		}
	}
	for _, dimension := range f.Unreported {
		add(current + sent)
		add(`not ` + reported + s.value(string(dimension)) + `)`)
	}
}
