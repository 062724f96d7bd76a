package store

import (
	"context"
	"database/sql"
	"strings"

	"quittance/internal/invoice"
	"quittance/sdk/go/api"
)

// statement is SQL that grows with its arguments; the first is the tenant.
type statement struct {
	args []any
}

// value adds an argument and returns the name of its parameter.
func (s *statement) value(v any) string {
	s.args = append(s.args, v)
	return parameter(len(s.args))
}

// searchInvoices reads a page of a filtered or sorted list. The candidates come from one index, at most SearchDepth and one
// more that tells whether there are others; the rest of the filter is applied to their summaries, in one statement.
func (t *Tenant) searchInvoices(ctx context.Context, q querier, filter *InvoiceFilter, page, perPage int) (InvoicePage, error) {
	s := &statement{args: []any{t.id}}
	candidates := filter.candidates(s)
	where := filter.conditions(s, t.db)
	direction := " desc"
	if filter.Ascending {
		direction = ""
	}
	order := " order by sorted" + direction + ", created_at" + direction + ", invoice_id" + direction
	offset := SearchDepth // past the end, and no overflow
	if page-1 <= SearchDepth/perPage {
		offset = min(offset, (page-1)*perPage)
	}
	limit := ` limit ` + s.value(min(perPage, SearchDepth-offset)) + ` offset ` + s.value(offset)
	type found struct {
		looked, total int
		id            sql.Null[ID]
	}
	// The page is joined to one row, so that the counts come with an empty page too.
	rows, err := collect(ctx, q, func(row scanner) (found, error) {
		var f found
		return f, row.Scan(&f.looked, &f.total, &f.id)
	}, `with looked as materialized (`+candidates+`),
		matched as materialized (select s.invoice_id, s.created_at, `+filter.sortedBy(t.db)+` as sorted from invoice_summaries s
			where s.tenant_id = $1 and s.invoice_id `+t.db.dialect.InSubquery(`select id from looked where id is not null`)+where+`)
		select (select count(*) from looked), (select count(*) from matched), p.invoice_id
		from (select 1 as one) one left join (select invoice_id, created_at, sorted from matched`+order+limit+`) p on one.one = 1`+order, s.args...)
	if err != nil {
		return InvoicePage{}, err
	}
	out := InvoicePage{Total: min(rows[0].total, SearchDepth), Truncated: rows[0].looked > SearchDepth}
	var ids []ID
	for _, f := range rows {
		if f.id.Valid {
			ids = append(ids, f.id.V)
		}
	}
	out.Entries, err = t.invoiceRowsByID(ctx, q, ids)
	return out, err
}

// invoiceRowsByID reads invoices in the order of their identifiers here.
func (t *Tenant) invoiceRowsByID(ctx context.Context, q querier, ids []ID) ([]InvoiceRow, error) {
	if len(ids) == 0 {
		return []InvoiceRow{}, nil
	}
	list, args := t.idList(ids)
	rows, err := t.invoiceRows(ctx, q, `i.id in (`+list+`)`, args[1:]...)
	if err != nil {
		return nil, err
	}
	byID := make(map[ID]InvoiceRow, len(rows))
	for _, row := range rows {
		byID[row.ID] = row
	}
	out := make([]InvoiceRow, 0, len(ids))
	for _, id := range ids {
		out = append(out, byID[id])
	}
	return out, nil
}

// sortedBy is what the list is sorted by, as a column of the summaries.
func (f *InvoiceFilter) sortedBy(db *DB) string {
	switch f.Order {
	case OrderIssueDate:
		return `s.issue_date` + db.dialect.ByteOrder()
	case OrderTotal:
		return `s.total`
	case OrderRecipient:
		return `s.recipient` + db.dialect.ByteOrder()
	case OrderCreated:
	}
	return `s.created_at`
}

// candidates selects the identifiers (id, which may be null) of the invoices to look through, from the index that finds the
// fewest.
func (f *InvoiceFilter) candidates(s *statement) string {
	const newest = `select invoice_id as id from invoice_summaries where tenant_id = $1 order by invoice_id desc limit `
	depth := s.value(SearchDepth + 1)
	numbered := func(number string) string {
		return `select id from invoices where tenant_id = $1 and number = ` + s.value(number) + ` order by position desc limit ` + depth
	}
	switch {
	case f.Number != nil:
		return numbered(*f.Number)
	case f.ExternalID != nil:
		return `select invoice_id as id from invoice_summaries where tenant_id = $1 and external_id = ` + s.value(*f.ExternalID) + ` order by invoice_id desc limit ` + depth
	case f.UpdatedSince != nil:
		return `select id from invoices where tenant_id = $1 and updated_at >= ` + s.value(micros(*f.UpdatedSince)) + ` order by updated_at desc, id desc limit ` + depth
	case f.Attention != nil && *f.Attention:
		return `select id from (select invoice_id as id from submissions where tenant_id = $1 and current = 1 and outcome in ('rejected', 'unknown')
				order by submissions.id desc limit ` + depth + `) undecided union
			select c.invoice_id as id from (select submission_id from states where tenant_id = $1 and meaning = 'negative' order by submission_id desc limit ` + depth + `) w
				join submissions c on c.tenant_id = $1 and c.id = w.submission_id and c.current = 1`
	case len(f.States) > 0:
		return f.worded(s, depth)
	case f.Search != "":
		return `select id from (` + newest + depth + `) newest union select id from (` + numbered(f.Search) + `) numbered`
	case f.IssuedFrom != "" || f.IssuedTo != "" || f.Order == OrderIssueDate:
		return f.issued(s, depth)
	}
	if f.Ascending {
		return `select invoice_id as id from invoice_summaries where tenant_id = $1 order by invoice_id limit ` + depth
	}
	return newest + depth
}

// worded selects the invoices with a word that the filter wants. Those of an earlier submission are null: they count as
// looked through.
func (f *InvoiceFilter) worded(s *statement, depth string) string {
	for _, dimension := range invoice.Dimensions {
		if word, ok := f.States[dimension]; ok {
			return `select c.invoice_id as id from (select submission_id from states where tenant_id = $1 and dimension = ` + s.value(string(dimension)) +
				` and word = ` + s.value(word) + ` order by submission_id desc limit ` + depth + `) w
				left join submissions c on c.tenant_id = $1 and c.id = w.submission_id and c.current = 1`
		}
	}
	return `select invoice_id as id from invoice_summaries where tenant_id = $1 and 1 = 0` // of no dimension that there is
}

// issued selects the invoices of the wanted issue dates, in the order of the list where that is the issue date.
func (f *InvoiceFilter) issued(s *statement, depth string) string {
	query := `select invoice_id as id from invoice_summaries where tenant_id = $1`
	if f.IssuedFrom != "" {
		query += ` and issue_date >= ` + s.value(f.IssuedFrom)
	}
	if f.IssuedTo != "" {
		query += ` and issue_date <= ` + s.value(f.IssuedTo)
	}
	if f.Order == OrderIssueDate && f.Ascending {
		return query + ` order by issue_date, invoice_id limit ` + depth
	}
	return query + ` order by issue_date desc, invoice_id desc limit ` + depth
}

// conditions returns the whole filter as conditions on a summary s.
func (f *InvoiceFilter) conditions(s *statement, db *DB) string {
	var where strings.Builder
	add := func(condition string) { where.WriteString(` and ` + condition) }
	if f.Number != nil {
		add(`exists (select 1 from invoices i where i.tenant_id = s.tenant_id and i.id = s.invoice_id and i.number = ` + s.value(*f.Number) + `)`)
	}
	if f.ExternalID != nil {
		add(`s.external_id = ` + s.value(*f.ExternalID))
	}
	if f.IssuedFrom != "" {
		add(`s.issue_date >= ` + s.value(f.IssuedFrom))
	}
	if f.IssuedTo != "" {
		add(`s.issue_date <= ` + s.value(f.IssuedTo))
	}
	if f.UpdatedSince != nil {
		add(`exists (select 1 from invoices i where i.tenant_id = s.tenant_id and i.id = s.invoice_id and i.updated_at >= ` + s.value(micros(*f.UpdatedSince)) + `)`)
	}
	if f.Recipient != "" {
		add(`s.recipient like ` + s.value(containing(strings.ToLower(f.Recipient))) + ` escape '\'`)
	}
	if f.Search != "" {
		pattern := s.value(containing(strings.ToLower(f.Search)))
		add(`(s.terms like ` + pattern + ` escape '\' or s.recipient like ` + pattern + ` escape '\')`)
	}
	f.submissionConditions(s, db, add)
	return where.String()
}

// submissionConditions adds what the filter wants of the current submission.
func (f *InvoiceFilter) submissionConditions(s *statement, db *DB, add func(condition string)) {
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
		decided := map[api.Outcome]string{api.OutcomeRejected: ` and coalesce(c.resolved_decision, '') <> 'reject'`, api.OutcomeResolvedRejected: ` and c.resolved_decision = 'reject'`}
		add(current + ` and c.outcome = ` + s.value(string(storedOutcome(*f.Outcome))) + decided[*f.Outcome] + `)`)
	}
	if f.Attention != nil {
		add(not[*f.Attention] + current + ` and (c.outcome = 'rejected' or c.outcome = 'unknown' and c.attempted_at <= ` +
			s.value(micros(db.now().Add(-AttentionAfter))) + ` or exists (select 1 from states w
				where w.tenant_id = c.tenant_id and w.submission_id = c.id and w.meaning = 'negative')))`)
	}
	for _, dimension := range invoice.Dimensions {
		if word, ok := f.States[dimension]; ok {
			add(reported + s.value(string(dimension)) + ` and w.word = ` + s.value(word) + `)`)
		}
	}
	for _, dimension := range f.Unreported {
		add(current + sent)
		add(`not ` + reported + s.value(string(dimension)) + `)`)
	}
}
