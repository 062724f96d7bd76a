package store

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"quittance/api"
	"quittance/internal/invoice"
)

// InvoiceFilter narrows a list of invoices; nil fields and absent dimensions do not.
type InvoiceFilter struct {
	// Number is the exact invoice number.
	Number *string
	// Submitted tells drafts from submitted invoices.
	Submitted *bool
	// States are exact words by dimension.
	States map[invoice.Dimension]string
	// Unreported are dimensions of submitted invoices in which the provider has said nothing.
	Unreported []invoice.Dimension
	// Outcome is the exact outcome of the current submission.
	Outcome *api.Outcome
	// Search is text that the number, the recipient's name or its network identifier holds, whatever the case of its
	// letters (on SQLite of the Latin ones). It is looked for in the newest [SearchDepth] invoices; the exact number is found anywhere.
	Search string
}

// SearchDepth is how many invoices a search looks through, newest first: the work of a search has a bound.
const SearchDepth = 20_000

// empty tells that the filter lets everything pass.
func (f InvoiceFilter) empty() bool {
	return f.Number == nil && f.Submitted == nil && len(f.States) == 0 && len(f.Unreported) == 0 && f.Outcome == nil && f.Search == ""
}

// InvoicePage is one page of a list of invoices, newest first.
type InvoicePage struct {
	Invoices []Invoice
	Total    int
}

// Invoices returns the page of the given number (from 1) with perPage entries (from 1). Invoices are numbered without
// gaps, so a page of the unfiltered list is a range of an index: it costs the same at any page of any number of
// invoices. A filtered list is counted.
func (t *Tenant) Invoices(ctx context.Context, filter InvoiceFilter, page, perPage int) (InvoicePage, error) {
	var out InvoicePage
	err := t.read(func(q querier) (err error) {
		if !filter.empty() {
			out, err = t.filteredInvoices(ctx, q, filter, page, perPage)
			return err
		}
		if err := q.QueryRowContext(ctx, `select invoices from tenants where id = $1`, t.id).Scan(&out.Total); err != nil {
			return err
		}
		high, low := pageRange(out.Total, page, perPage)
		out.Invoices, err = t.invoicesWhere(ctx, q, `i.position <= $2 and i.position > $3 order by i.position desc`, high, low)
		return err
	})
	return out, err
}

// pageRange returns the gapless positions of a page, newest first: from high down to above low. A page past the end is
// an empty range, whatever its number.
func pageRange(total, page, perPage int) (high, low int64) {
	if page-1 > total/perPage {
		return 0, 0
	}
	high = int64(total) - int64(page-1)*int64(perPage)
	return high, max(0, high-int64(perPage))
}

// filteredInvoices counts and reads the invoices that a filter lets pass.
func (t *Tenant) filteredInvoices(ctx context.Context, q querier, filter InvoiceFilter, page, perPage int) (InvoicePage, error) {
	where, args := filter.conditions(1, t.db.asJSON)
	var out InvoicePage
	if err := q.QueryRowContext(ctx, `select count(*) from invoices i where i.tenant_id = $1`+where, append([]any{t.id}, args...)...).Scan(&out.Total); err != nil {
		return out, err
	}
	if page-1 > out.Total/perPage {
		return out, nil
	}
	limit, args := limited(1, args, page, perPage)
	var err error
	out.Invoices, err = t.invoicesWhere(ctx, q, `1 = 1`+where+` order by i.position desc`+limit, args...)
	return out, err
}

// conditions returns the filter as SQL whose parameters come after the first used ones.
func (f InvoiceFilter) conditions(used int, asJSON string) (where string, args []any) {
	next := func(value any) string {
		args = append(args, value)
		return parameter(used + len(args))
	}
	const current = `exists (select 1 from submissions c where c.tenant_id = i.tenant_id and c.invoice_id = i.id and c.current = 1 and c.outcome <> 'not_sent')`
	if f.Number != nil {
		where += ` and i.number = ` + next(*f.Number)
	}
	if f.Submitted != nil {
		if *f.Submitted {
			where += ` and ` + current
		} else {
			where += ` and not ` + current
		}
	}
	for _, dimension := range invoice.Dimensions {
		word, ok := f.States[dimension]
		if !ok {
			continue
		}
		where += ` and exists (select 1 from states w join submissions c on c.tenant_id = w.tenant_id and c.id = w.submission_id
			where w.tenant_id = i.tenant_id and c.invoice_id = i.id and c.current = 1 and w.dimension = ` + next(string(dimension)) + ` and w.word = ` + next(word) + `)`
	}
	for _, dimension := range f.Unreported {
		where += ` and ` + current + ` and not exists (select 1 from states w join submissions c on c.tenant_id = w.tenant_id and c.id = w.submission_id
			where w.tenant_id = i.tenant_id and c.invoice_id = i.id and c.current = 1 and w.dimension = ` + next(string(dimension)) + `)`
	}
	if f.Outcome != nil {
		where += ` and exists (select 1 from submissions c where c.tenant_id = i.tenant_id and c.invoice_id = i.id and c.current = 1 and c.outcome = ` + next(string(storedOutcome(*f.Outcome)))
		switch *f.Outcome {
		case api.OutcomeRejected:
			where += ` and coalesce(c.resolved_decision, '') <> 'reject'`
		case api.OutcomeResolvedRejected:
			where += ` and c.resolved_decision = 'reject'`
		}
		where += `)`
	}
	if f.Search != "" {
		pattern := `lower(` + next(containing(f.Search)) + `)`
		document := `(i.document` + asJSON + `)`
		where += ` and (i.number = ` + next(f.Search) + ` or i.position > (select invoices from tenants where id = i.tenant_id) - ` + next(SearchDepth) + ` and (
			lower(i.number) like ` + pattern + ` escape '\' or lower(` + document + ` ->> 'recipient_name') like ` + pattern + ` escape '\'
			or lower(` + document + ` ->> 'recipient_network_id') like ` + pattern + ` escape '\'))`
	}
	return where, args
}

// invoicesWhere reads invoices with their current submissions and states: two queries, however many there are.
func (t *Tenant) invoicesWhere(ctx context.Context, q querier, where string, args ...any) ([]Invoice, error) {
	out, err := collect(ctx, q, scanInvoice,
		`select `+invoiceColumns+` from invoices i where i.tenant_id = $1 and `+where, append([]any{t.id}, args...)...)
	if err != nil || len(out) == 0 {
		return out, err
	}
	byInvoice := make(map[ID]int, len(out))
	ids := make([]ID, len(out))
	for n, i := range out {
		ids[n], byInvoice[i.ID] = i.ID, n
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

// idList returns the parameters $2, $3, … for identifiers, at least one, and the arguments with the tenant as $1. The last
// identifier is repeated until there is a power of two of them, so that few statements differ in the length of a list alone.
func (t *Tenant) idList(ids []ID) (list string, args []any) {
	ids = padded(ids)
	names := make([]string, len(ids))
	args = []any{t.id}
	for n, id := range ids {
		args = append(args, id)
		names[n] = parameter(len(args))
	}
	return strings.Join(names, ", "), args
}

// padded repeats the last identifier until there is a power of two of them.
func padded(ids []ID) []ID {
	size := 1
	for size < len(ids) {
		size *= 2
	}
	out := make([]ID, size)
	for n := range out {
		out[n] = ids[min(n, len(ids)-1)]
	}
	return out
}

// parameter is the name of the n-th argument of a statement, from 1. Values reach a statement as arguments alone.
func parameter(n int) string { return "$" + strconv.Itoa(n) }

// byID reads something of the rows with some identifiers: query selects the identifier and it, and its condition goes on.
func byID[V any](ctx context.Context, t *Tenant, ids []ID, query string) (map[ID]V, error) {
	out := map[ID]V{}
	err := t.read(func(q querier) error {
		if len(ids) == 0 {
			return nil
		}
		list, args := t.idList(ids)
		_, err := collect(ctx, q, func(row scanner) (struct{}, error) {
			var id ID
			var value V
			err := row.Scan(&id, &value)
			out[id] = value
			return struct{}{}, err
		}, query+` and id in (`+list+`)`, args...)
		return err
	})
	return out, err
}

// textFilter is an optional equality in a where clause.
func textFilter(where *strings.Builder, args *[]any, column string, value any) {
	if value == nil {
		return
	}
	*args = append(*args, value)
	where.WriteString(" and " + column + " = " + parameter(len(*args)))
}

// bounds are those of a page: the clause, and the arguments of the statement that it ends.
type bounds struct {
	clause string
	args   []any
}

// page counts rows and returns the bounds of a page of them; ok is false past the end.
func page(ctx context.Context, q querier, number, perPage int, count string, args ...any) (total int, limit bounds, ok bool, err error) {
	var n sql.Null[int]
	if err := q.QueryRowContext(ctx, count, args...).Scan(&n); err != nil {
		return 0, bounds{}, false, err
	}
	if number-1 > n.V/perPage {
		return n.V, bounds{}, false, nil
	}
	limit.clause, limit.args = limited(0, args, number, perPage)
	return n.V, limit, true, nil
}

// limited returns the clause that bounds a statement to a page, and its arguments with those of the clause. The statement
// has used as many parameters before args.
func limited(used int, args []any, number, perPage int) (clause string, all []any) {
	all = append(slices.Clip(args), perPage, (number-1)*perPage)
	return " limit " + parameter(used+len(all)-1) + " offset " + parameter(used+len(all)), all
}
