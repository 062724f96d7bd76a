package store

import (
	"context"
)

// CreditNoteSearch narrows a list of credit notes; zero fields do not.
type CreditNoteSearch struct {
	CreditNoteFilter
	// Void tells those that are void from those that count.
	Void *bool
	// Text is text that the number or the reason holds, or the number or the recipient's name of the invoice that is
	// credited, whatever the case of its letters (on SQLite of the Latin ones).
	Text string
}

// SearchCreditNotes is [Tenant.CreditNotes] for those that a search finds. It looks through the newest [SearchDepth]; an
// exact number is found anywhere.
func (t *Tenant) SearchCreditNotes(ctx context.Context, search CreditNoteSearch, number, perPage int) (CreditNotePage, error) {
	var out CreditNotePage
	err := t.read(func(q querier) error {
		where, args := search.conditions(t.id, t.db.asJSON)
		total, limit, ok, err := page(ctx, q, number, perPage, `select count(*) from credit_notes where tenant_id = $1 and `+where, args...)
		out.Total = total
		if err != nil || !ok {
			return err
		}
		out.CreditNotes, err = t.creditNotesWhere(ctx, q, where+` order by position desc`+limit.clause, limit.args[1:]...)
		return err
	})
	return out, err
}

// conditions returns the search as SQL, and its parameters after that of the tenant.
func (search CreditNoteSearch) conditions(tenant ID, asJSON string) (where string, args []any) {
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
	pattern := `lower(` + next(containing(search.Text)) + `)`
	return where + ` and (number = ` + next(search.Text) + ` or ` + newest + ` and (lower(number) like ` + pattern + ` escape '\' or lower(reason) like ` + pattern + ` escape '\'
		or exists (select 1 from invoices i where i.tenant_id = $1 and i.id = credit_notes.invoice_id and (lower(i.number) like ` + pattern + ` escape '\'
			or lower((i.document` + asJSON + `) ->> 'recipient_name') like ` + pattern + ` escape '\'))))`, args
}
