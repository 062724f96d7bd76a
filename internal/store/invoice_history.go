package store

import (
	"context"
	"slices"
)

// SubmissionPage is one page of the submissions of an invoice, newest first.
type SubmissionPage struct {
	Entries []Submission
	Total   int
}

// SubmissionHistory returns the page of the given number (from 1) with perPage entries (from 1) of what [Tenant.Submissions]
// returns.
func (t *Tenant) SubmissionHistory(ctx context.Context, invoiceID ID, number, perPage int) (SubmissionPage, error) {
	var out SubmissionPage
	err := t.list(ctx, func(ctx context.Context, q querier) error {
		err := t.invoiceExists(ctx, q, invoiceID)
		if err == nil {
			out, err = t.submissionPage(ctx, q, invoiceID, number, perPage)
		}
		return err
	})
	return out, err
}

// submissionPage counts and reads a page of the submissions of an invoice.
func (t *Tenant) submissionPage(ctx context.Context, q querier, invoiceID ID, number, perPage int) (SubmissionPage, error) {
	const submitted = ` from submissions where tenant_id = $1 and invoice_id = $2 and outcome <> 'not_sent'`
	total, limit, ok, err := page(ctx, q, number, perPage, `select count(*)`+submitted, t.id, invoiceID)
	out := SubmissionPage{Total: total}
	if err != nil || !ok {
		return out, err
	}
	out.Entries, err = collect(ctx, q, scanSubmission, `select `+t.db.submissionColumns()+submitted+` order by ordinal desc`+limit.clause, limit.args...)
	return out, err
}

// EvidencePage is one page of the evidence of an invoice, oldest first.
type EvidencePage struct {
	Entries []Evidence
	Total   int
}

// EvidenceHistory returns the page of the given number (from 1) with perPage entries (from 1) of what
// [Tenant.InvoiceEvidence] returns.
func (t *Tenant) EvidenceHistory(ctx context.Context, invoiceID ID, number, perPage int) (EvidencePage, error) {
	var out EvidencePage
	err := t.list(ctx, func(ctx context.Context, q querier) error {
		err := t.invoiceExists(ctx, q, invoiceID)
		if err == nil {
			out, err = t.evidencePage(ctx, q, invoiceID, ofInvoice, number, perPage)
		}
		return err
	})
	return out, err
}

// evidencePage counts and reads a page of the evidence of an invoice, in the order of ofInvoice or newestOfInvoice.
func (t *Tenant) evidencePage(ctx context.Context, q querier, invoiceID ID, order string, number, perPage int) (EvidencePage, error) {
	total, limit, ok, err := page(ctx, q, number, perPage, `select count(*) from evidence where tenant_id = $1 and submission_id in
		(select id from submissions where tenant_id = $1 and invoice_id = $2)`, t.id, invoiceID)
	out := EvidencePage{Total: total}
	if err != nil || !ok {
		return out, err
	}
	out.Entries, err = collect(ctx, q, func(row scanner) (Evidence, error) { return scanEvidence(row) }, `select `+evidenceColumns+` from evidence
		where tenant_id = $1 and `+order+limit.clause, limit.args...)
	return out, err
}

// InvoiceHistory returns the page of the given number (from 1) with perPage entries (from 1) of both the submissions of an
// invoice, newest first, and their evidence, of which the first page is the newest and each page is oldest first. Both are
// of one moment; [ErrNotFound] when there is no such invoice.
func (t *Tenant) InvoiceHistory(ctx context.Context, id ID, number, perPage int) (SubmissionPage, EvidencePage, error) {
	var submissions SubmissionPage
	var evidence EvidencePage
	err := t.list(ctx, func(ctx context.Context, q querier) error {
		err := t.invoiceExists(ctx, q, id)
		if err == nil {
			submissions, err = t.submissionPage(ctx, q, id, number, perPage)
		}
		if err == nil {
			evidence, err = t.evidencePage(ctx, q, id, newestOfInvoice, number, perPage)
		}
		slices.Reverse(evidence.Entries)
		return err
	})
	return submissions, evidence, err
}

// invoiceExists returns an error when the company has no such invoice, without reading its document.
func (t *Tenant) invoiceExists(ctx context.Context, q querier, id ID) error {
	var found int
	return q.QueryRowContext(ctx, `select 1 from invoices where tenant_id = $1 and id = $2`, t.id, id).Scan(&found)
}
