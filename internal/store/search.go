package store

import (
	"context"
	"strings"
)

// CreditNoteSearch narrows a list of credit notes; zero fields do not.
type CreditNoteSearch struct {
	CreditNoteFilter
	// Void tells those that are void from those that count.
	Void *bool
	// Text is text that the number or the reason holds (on SQLite whatever the case of its Latin letters, on PostgreSQL of
	// all), or the number, the recipient's name or its network identifier in the invoice that is credited, whatever their case.
	Text string
}

// SearchCreditNotes is [Tenant.CreditNotes] for those that a search finds. It looks through the newest [SearchDepth]; an
// exact number is found anywhere.
func (t *Tenant) SearchCreditNotes(ctx context.Context, search CreditNoteSearch, number, perPage int) (CreditNotePage, error) {
	var out CreditNotePage
	err := t.list(ctx, func(ctx context.Context, q querier) error {
		where, args := search.conditions(t.id)
		total, limit, ok, err := page(ctx, q, number, perPage, `select count(*) from credit_notes where tenant_id = $1 and `+where, args...)
		out.Total = total
		if err != nil || !ok {
			return err
		}
		out.Entries, err = t.creditNotesWhere(ctx, q, where+` order by position desc`+limit.clause, limit.args[1:]...)
		return err
	})
	return out, err
}

// conditions returns the search as SQL, and its parameters after that of the tenant.
func (search CreditNoteSearch) conditions(tenant ID) (where string, args []any) {
	args = []any{tenant}
	next := func(value any) string {
		args = append(args, value)
		return parameter(len(args))
	}
	where = `1 = 1`
	if search.Invoice != nil {
		where += ` and invoice_id = ` + next(*search.Invoice)
	}
	if search.Void != nil {
		where += map[bool]string{true: ` and voided_at is not null`, false: ` and voided_at is null`}[*search.Void]
	}
	newest := `position > (select credit_notes from tenants where id = $1) - ` + next(SearchDepth)
	if search.Text == "" {
		return where + ` and ` + newest, args
	}
	pattern, lower := `lower(`+next(containing(search.Text))+`)`, next(containing(strings.ToLower(search.Text)))
	return where + ` and (number = ` + next(search.Text) + ` or ` + newest + ` and (lower(number) like ` + pattern + ` escape '\' or lower(reason) like ` + pattern + ` escape '\'
		or exists (select 1 from invoice_summaries s where s.tenant_id = $1 and s.invoice_id = credit_notes.invoice_id and (s.terms like ` + lower + ` escape '\'
			or s.recipient like ` + lower + ` escape '\'))))`, args
}
