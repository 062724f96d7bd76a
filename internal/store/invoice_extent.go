package store

import (
	"context"
	"database/sql"
)

// InvoiceExtent is how large an invoice is.
type InvoiceExtent struct {
	// Bytes is the length of its stored document.
	Bytes int
	// Lines is how many lines it has. Where the list has no summary of the invoice yet, it is an upper bound.
	Lines int
}

// InvoiceExtent returns how large an invoice is without reading its document, for a caller that has to make room before it
// does; [ErrNotFound] when there is none.
func (t *Tenant) InvoiceExtent(ctx context.Context, id ID) (InvoiceExtent, error) {
	const shortestLine = 3 // {} and a comma
	var out InvoiceExtent
	err := t.read(func(q querier) error {
		var lines sql.Null[int]
		err := q.QueryRowContext(ctx, `select octet_length(i.document), (select s.item_count from invoice_summaries s
			where s.tenant_id = $1 and s.invoice_id = $2 and i.summarized <> 0) from invoices i where i.tenant_id = $1 and i.id = $2`, t.id, id).Scan(&out.Bytes, &lines)
		if out.Lines = lines.V; !lines.Valid {
			out.Lines = out.Bytes / shortestLine
		}
		return err
	})
	return out, err
}
