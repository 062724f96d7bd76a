package store

import "context"

// SubmissionPage is one page of the submissions of an invoice, newest first.
type SubmissionPage struct {
	Submissions []Submission
	Total       int
}

// SubmissionHistory returns the page of the given number (from 1) with perPage entries (from 1) of what [Tenant.Submissions]
// returns.
func (t *Tenant) SubmissionHistory(ctx context.Context, invoiceID ID, number, perPage int) (SubmissionPage, error) {
	var out SubmissionPage
	err := t.list(ctx, func(ctx context.Context, q querier) error {
		if err := t.invoiceExists(ctx, q, invoiceID); err != nil {
			return err
		}
		const submitted = ` from submissions where tenant_id = $1 and invoice_id = $2 and outcome <> 'not_sent'`
		total, limit, ok, err := page(ctx, q, number, perPage, `select count(*)`+submitted, t.id, invoiceID)
		out.Total = total
		if err != nil || !ok {
			return err
		}
		out.Submissions, err = collect(ctx, q, scanSubmission, `select `+t.db.submissionColumns()+submitted+` order by ordinal desc`+limit.clause, limit.args...)
		return err
	})
	return out, err
}

// EvidencePage is one page of the evidence of an invoice, oldest first.
type EvidencePage struct {
	Evidence []Evidence
	Total    int
}

// EvidenceHistory returns the page of the given number (from 1) with perPage entries (from 1) of what
// [Tenant.InvoiceEvidence] returns.
func (t *Tenant) EvidenceHistory(ctx context.Context, invoiceID ID, number, perPage int) (EvidencePage, error) {
	var out EvidencePage
	err := t.list(ctx, func(ctx context.Context, q querier) error {
		if err := t.invoiceExists(ctx, q, invoiceID); err != nil {
			return err
		}
		total, limit, ok, err := page(ctx, q, number, perPage, `select count(*) from evidence where tenant_id = $1 and submission_id in
			(select id from submissions where tenant_id = $1 and invoice_id = $2)`, t.id, invoiceID)
		out.Total = total
		if err != nil || !ok {
			return err
		}
		out.Evidence, err = collect(ctx, q, func(row scanner) (Evidence, error) { return scanEvidence(row) }, `select `+evidenceColumns+` from evidence
			where tenant_id = $1 and `+ofInvoice+limit.clause, limit.args...)
		return err
	})
	return out, err
}

// invoiceExists returns an error when the company has no such invoice, without reading its document.
func (t *Tenant) invoiceExists(ctx context.Context, q querier, id ID) error {
	var found int
	return q.QueryRowContext(ctx, `select 1 from invoices where tenant_id = $1 and id = $2`, t.id, id).Scan(&found)
}
