package store

import (
	"context"
	"database/sql"
)

// InvoiceExtent is the size of an invoice.
type InvoiceExtent struct {
	// Bytes is the length of the stored document.
	Bytes int
	// Lines is the number of invoice lines, or an upper bound if the invoice has no summary yet.
	Lines int
}

// InvoiceExtent returns the size of an invoice without reading its document, for a caller that must reserve memory first.
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
