package view

import (
	"context"
	"strings"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// onlyTab reports whether a list is that of a tab and nothing else, in the order of creation.
func (f *InvoiceFilter) onlyTab() bool {
	rest := *f
	rest.Tab = TabAll
	return f.Tab != TabAll && f.Order == OrderCreated && !rest.narrows()
}

// tabPart is a part of a tab: the invoices of a stored category that meet a condition, nil for all of them. condition
// takes the name under which a statement reads the invoices.
type tabPart struct {
	category  string
	condition func(invoices string) string
	// few says that they are the submissions whose call is under way.
	few bool
}

// parts returns what a tab consists of, as of now. An invoice whose call is under way is still stored as a draft.
func (tab Tab) parts(s *statement, now time.Time) []tabPart {
	current := func(condition string) func(string) string {
		return func(i string) string {
			return `exists (select 1 from submissions c where c.tenant_id = ` + i + `.tenant_id and c.invoice_id = ` + i +
				`.id and c.current = 1 and ` + condition + `)`
		}
	}
	calling := current(`c.outcome = 'in_progress'`)
	attempted := func(comparison string) func(string) string {
		return current(`c.attempted_at ` + comparison + ` ` + s.value(unknownSince(now).UnixMicro()))
	}
	switch tab {
	case TabAttention:
		return []tabPart{{category: "attention"}, {category: "unknown", condition: attempted("<")}}
	case TabInProgress:
		return []tabPart{{category: "waiting"}, {category: "unknown", condition: attempted(">=")},
			{category: "draft", condition: calling, few: true}}
	case TabAccepted:
		return []tabPart{{category: "accepted"}}
	case TabDrafts:
		return []tabPart{{category: "draft", condition: func(i string) string { return `not ` + calling(i) }}}
	case TabAll:
	}
	return nil
}

// candidates returns a query for the newest invoices of a part, at most the parameter depth: their id and position.
func (p tabPart) candidates(depth, order string) string {
	newest := `select tenant_id, id, position from invoices i where tenant_id = $1 and category = '` + p.category + `'`
	limit := ` order by position` + order + ` limit ` + depth
	switch {
	case p.few: // from their own index, because there may be many drafts
		return invoices.Calling
	case p.condition == nil:
		return newest + limit
	case p.category == "unknown": // few of very many may meet the condition
		return `select * from (` + newest + limit + `) newest where ` + p.condition("newest")
	}
	return newest + ` and ` + p.condition("i") + limit
}

// tabCandidates returns a query for the invoices of a tab to examine: their id and position.
func (f *InvoiceFilter) tabCandidates(s *statement, now time.Time, depth, order string) string {
	var queries []string
	for _, part := range f.Tab.parts(s, now) {
		queries = append(queries, `select id, position from (`+part.candidates(depth, order)+`) p`)
	}
	return strings.Join(queries, ` union all `)
}

// tabCondition returns the condition that a summary s is of an invoice of the tab.
func (f *InvoiceFilter) tabCondition(s *statement, now time.Time) string {
	var conditions []string
	for _, part := range f.Tab.parts(s, now) {
		condition := `i.category = '` + part.category + `'`
		if part.condition != nil {
			condition += ` and ` + part.condition("i")
		}
		conditions = append(conditions, condition)
	}
	return `exists (select 1 from invoices i where i.tenant_id = s.tenant_id and i.id = s.invoice_id and (` +
		strings.Join(conditions, ` or `) + `))`
}

// tabPage reads a page of the list of a tab, newest first, or oldest first if Ascending. The counters say how long it
// is.
func (f *InvoiceFilter) tabPage(ctx context.Context, r base.Reader, number,
	perPage int) (Page[invoices.InvoiceRow], error) {
	now := r.Now()
	counted, err := invoices.ReadCounts(ctx, r, farFuture())
	if err != nil {
		return Page[invoices.InvoiceRow]{}, err
	}
	total := max(invoiceCounts{counted, now}.tabs()[f.Tab].Invoices, 0)
	out := Page[invoices.InvoiceRow]{Total: min(total, SearchDepth), Truncated: total > SearchDepth}
	if number-1 > out.Total/perPage {
		return out, nil
	}
	var s statement
	offset, order := (number-1)*perPage, ` desc`
	if f.Ascending {
		order = ``
	}
	limit := min(perPage, SearchDepth-offset)
	var ids []base.ID
	err = r.Query(ctx, func(row base.Row) error {
		var id base.ID
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	}, `select id from (`+f.tabCandidates(&s, now, s.value(offset+limit), order)+`) tab order by position`+order+` limit `+
		s.value(limit)+` offset `+s.value(offset), s.args...)
	if err != nil {
		return out, err
	}
	out.Entries, err = invoicesByID(ctx, r, ids)
	return out, err
}
