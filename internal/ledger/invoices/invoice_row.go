package invoices

import (
	"context"
	"database/sql"

	"quittance/client/api"
	"quittance/internal/ledger/base"
)

// InvoiceRow is an invoice with its summary instead of its document: its Draft has no Items.
type InvoiceRow struct {
	Invoice
	// Items is the number of invoice lines.
	Items int
	// Missing has the paths of the fields that submission needs, and Warnings the advice on the draft that does not depend
	// on the company's profile, both for the first [api.MaxSummaryPaths] paths. MissingCount and WarningCount count all
	// paths.
	Missing                    []string
	Warnings                   api.Faults
	MissingCount, WarningCount int
	// SellerIncluded says that Warnings and WarningCount include the advice that depends on the company's profile.
	SellerIncluded bool
}

// SelectRows returns invoices i with their current submissions and states, with two queries.
func SelectRows(ctx context.Context, r base.Reader, condition, order string, args ...any) ([]InvoiceRow, error) {
	t := r.Tenant
	out, err := base.Collect(ctx, r.Rows, scanInvoiceRow, `select i.id, i.version, i.created_at, i.updated_at, `+numberHolder+
		`, s.item_count, s.summary
		from invoices i left join invoice_summaries s on s.tenant_id = i.tenant_id and s.invoice_id = i.id and i.summarized <> 0
		where i.tenant_id = $1 and (`+condition+`) `+order, r.Args(args)...)
	if err != nil || len(out) == 0 {
		return out, err
	}
	byInvoice := make(map[base.ID]int, len(out))
	ids := make([]base.ID, len(out))
	for n := range out {
		if err := completeRow(ctx, t, r.Rows, &out[n]); err != nil {
			return nil, err
		}
		ids[n], byInvoice[out[n].ID] = out[n].ID, n
	}
	list, idArgs := idList(t, ids)
	submissions, err := SelectSubmissions(ctx, r, `invoice_id in (`+list+`) and current = 1 and outcome <> 'not_sent'`,
		``, idArgs[1:]...)
	if err != nil {
		return nil, err
	}
	for n := range submissions {
		out[byInvoice[submissions[n].Invoice]].Submission = &submissions[n]
	}
	return out, nil
}

// scanInvoiceRow reads a row without its submission. The draft of an invoice without a summary is empty.
func scanInvoiceRow(row base.Row) (InvoiceRow, error) {
	var i Invoice
	var created, updated int64
	var items sql.Null[int]
	var text sql.Null[string]
	var holder sql.Null[base.ID]
	if err := row.Scan(&i.ID, &i.Version, &created, &updated, &holder, &items, &text); err != nil {
		return InvoiceRow{}, err
	}
	var out InvoiceRow
	if text.Valid {
		var err error
		if out, err = (&Summary{Items: items.V, Text: text.V}).row(); err != nil {
			return InvoiceRow{}, err
		}
	}
	i.Draft, i.CreatedAt, i.UpdatedAt, i.NumberHolder = out.Draft, base.Instant(created), base.Instant(updated), holder.V
	out.Invoice = i
	return out, nil
}

// completeRow reads the document of an invoice that has no summary yet; see [SummarizeMissing].
func completeRow(ctx context.Context, t *base.Tenant, q base.Querier, row *InvoiceRow) error {
	if row.Draft.InvoiceNumber != nil {
		return nil
	}
	found, err := scanInvoice(q.QueryRowContext(ctx,
		`select `+invoiceColumns+` from invoices i where i.tenant_id = $1 and i.id = $2`, t.ID(), row.ID))
	if err != nil {
		return err
	}
	summary, err := Summarize(&found.Draft)
	if err != nil {
		return err
	}
	whole, err := summary.row()
	found.Draft = whole.Draft
	whole.Invoice = found
	*row = whole
	return err
}
