package view

import (
	"context"
	"slices"

	"quittance/internal/store"
)

// SubmissionHistory returns a page of the submissions of an invoice that the provider may have received, newest first.
func (t Tenant) SubmissionHistory(ctx context.Context, invoice store.ID, number, perPage int) (out Page[store.Submission], err error) {
	err = t.readHistory(ctx, invoice, func(ctx context.Context, r store.Reader) error {
		out, err = submissionPage(ctx, r, invoice, number, perPage)
		return err
	})
	return out, err
}

// EvidenceHistory returns a page of the evidence of all submissions of an invoice, oldest first, without the bodies.
func (t Tenant) EvidenceHistory(ctx context.Context, invoice store.ID, number, perPage int) (out Page[store.Evidence], err error) {
	err = t.readHistory(ctx, invoice, func(ctx context.Context, r store.Reader) error {
		out, err = evidencePage(ctx, r, invoice, `order by `+ordinalOfSubmission+`, ordinal`, number, perPage)
		return err
	})
	return out, err
}

// InvoiceHistory returns the pages with the given number of the submissions of an invoice, newest first, and of their evidence. The
// first page of the evidence is the newest, and each page is oldest first. Both are of one moment. InvoiceHistory returns
// [store.ErrNotFound] if there is no such invoice.
func (t Tenant) InvoiceHistory(ctx context.Context, invoice store.ID, number, perPage int) (submissions Page[store.Submission], evidence Page[store.Evidence], err error) {
	err = t.readHistory(ctx, invoice, func(ctx context.Context, r store.Reader) error {
		if submissions, err = submissionPage(ctx, r, invoice, number, perPage); err != nil {
			return err
		}
		evidence, err = evidencePage(ctx, r, invoice, `order by `+ordinalOfSubmission+` desc, ordinal desc`, number, perPage)
		slices.Reverse(evidence.Entries)
		return err
	})
	return submissions, evidence, err
}

// readHistory runs read in a snapshot that has the invoice, and returns [store.ErrNotFound] if there is none.
func (t Tenant) readHistory(ctx context.Context, invoice store.ID, read func(ctx context.Context, r store.Reader) error) error {
	return t.tenant.ReadSnapshot(ctx, func(ctx context.Context, r store.Reader) error {
		found := 0
		err := r.Query(ctx, func(row store.Row) error { return row.Scan(&found) }, `select 1 from invoices where tenant_id = $1 and id = $2`, invoice)
		if err == nil && found == 0 {
			err = store.ErrNotFound
		}
		if err != nil {
			return err
		}
		return read(ctx, r)
	})
}

func submissionPage(ctx context.Context, r store.Reader, invoice store.ID, number, perPage int) (Page[store.Submission], error) {
	const sent = `invoice_id = $2 and outcome <> 'not_sent'`
	return readPage(ctx, r, &statement{args: []any{invoice}}, number, perPage, `select count(*) from submissions where tenant_id = $1 and `+sent,
		r.Submissions, sent, `order by ordinal desc`)
}

// ofInvoice selects the evidence of all submissions of the invoice $2, and ordinalOfSubmission sorts it by submission.
const (
	ofInvoice           = `submission_id in (select id from submissions where tenant_id = $1 and invoice_id = $2)`
	ordinalOfSubmission = `(select ordinal from submissions where tenant_id = $1 and id = submission_id)`
)

func evidencePage(ctx context.Context, r store.Reader, invoice store.ID, order string, number, perPage int) (Page[store.Evidence], error) {
	return readPage(ctx, r, &statement{args: []any{invoice}}, number, perPage, `select count(*) from evidence where tenant_id = $1 and `+ofInvoice, r.Evidence, ofInvoice, order)
}

// EvidenceBodies returns the bodies of at most 100 retained responses with one query, except those that are withheld, truncated or
// longer than 64 KiB.
func (t Tenant) EvidenceBodies(ctx context.Context, ids []store.ID) (map[store.ID][]byte, error) {
	return byID[[]byte](ctx, t, ids, `select id, body from evidence where tenant_id = $1 and withheld = 0 and truncated = 0
		and length(body) <= 65536`)
}
