package view

import (
	"context"
	"slices"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// History is what has happened to an invoice or a credit note: its submissions and the evidence about them. The methods
// that read it return [base.ErrNotFound] if the document does not exist.
type History struct {
	of base.ID
	// exists finds the document $2, submissions selects its submissions, and ordinal sorts them.
	exists, submissions, ordinal string
}

// OfInvoice is the history of an invoice, without that of its credit notes.
func OfInvoice(id base.ID) History {
	return History{id, `select 1 from invoices where tenant_id = $1 and id = $2`,
		`invoice_id = $2 and credit_note_id is null`, `ordinal`}
}

// OfCreditNote is the history of a credit note.
func OfCreditNote(id base.ID) History {
	return History{id, `select 1 from credit_notes where tenant_id = $1 and id = $2`, `credit_note_id = $2`,
		`credit_note_ordinal`}
}

// SubmissionHistory returns a page of the submissions that the provider may have received, newest first.
func (t Tenant) SubmissionHistory(ctx context.Context, h History, number,
	perPage int) (out Page[invoices.Submission], err error) {
	err = t.readHistory(ctx, h, func(ctx context.Context, r base.Reader) error {
		out, err = h.submissionPage(ctx, r, number, perPage)
		return err
	})
	return out, err
}

// EvidenceHistory returns a page of the evidence of all submissions, oldest first, without the bodies.
func (t Tenant) EvidenceHistory(ctx context.Context, h History, number,
	perPage int) (out Page[invoices.Evidence], err error) {
	err = t.readHistory(ctx, h, func(ctx context.Context, r base.Reader) error {
		out, err = h.evidencePage(ctx, r, ``, number, perPage)
		return err
	})
	return out, err
}

// History returns the pages with the given number of the submissions, newest first, and of their evidence. The first
// page of the evidence is the newest, and each page is oldest first. Both are of one moment.
func (t Tenant) History(ctx context.Context, h History, number,
	perPage int) (submissions Page[invoices.Submission], evidence Page[invoices.Evidence], err error) {
	err = t.readHistory(ctx, h, func(ctx context.Context, r base.Reader) error {
		if submissions, err = h.submissionPage(ctx, r, number, perPage); err != nil {
			return err
		}
		evidence, err = h.evidencePage(ctx, r, ` desc`, number, perPage)
		slices.Reverse(evidence.Entries)
		return err
	})
	return submissions, evidence, err
}

// readHistory runs read in a snapshot that has the document.
func (t Tenant) readHistory(ctx context.Context, h History,
	read func(ctx context.Context, r base.Reader) error) error {
	return base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		found := 0
		err := r.Query(ctx, func(row base.Row) error { return row.Scan(&found) }, h.exists, h.of)
		if err == nil && found == 0 {
			err = base.ErrNotFound
		}
		if err != nil {
			return err
		}
		return read(ctx, r)
	})
}

func (h History) submissionPage(ctx context.Context, r base.Reader, number,
	perPage int) (Page[invoices.Submission], error) {
	sent := h.submissions + ` and outcome <> 'not_sent'`
	return readPage(ctx, r, &statement{args: []any{h.of}}, number, perPage,
		`select count(*) from submissions where tenant_id = $1 and `+sent, invoices.SelectSubmissions, sent, `order by `+h.ordinal+` desc`)
}

// evidencePage returns a page of the evidence, sorted by submission in the given direction.
func (h History) evidencePage(ctx context.Context, r base.Reader, direction string, number,
	perPage int) (Page[invoices.Evidence], error) {
	condition := `submission_id in (select id from submissions where tenant_id = $1 and ` + h.submissions + `)`
	order := `order by (select ` + h.ordinal + ` from submissions where tenant_id = $1 and id = submission_id)` +
		direction + `, evidence.ordinal` + direction
	return readPage(ctx, r, &statement{args: []any{h.of}}, number, perPage,
		`select count(*) from evidence where tenant_id = $1 and `+condition, invoices.SelectEvidence, condition, order)
}

// EvidenceBodies returns the bodies of at most 100 retained responses with one query, except those that are withheld,
// truncated or longer than 64 KiB.
func (t Tenant) EvidenceBodies(ctx context.Context, ids []base.ID) (map[base.ID][]byte, error) {
	return byID[[]byte](ctx, t, ids, `select id, body from evidence where tenant_id = $1 and withheld = 0 and truncated = 0
		and length(body) <= 65536`)
}

// SubmissionEvidence returns the newest responses about one submission, newest first and at most limit. It returns
// [base.ErrNotFound] if the submission does not exist.
func (t Tenant) SubmissionEvidence(ctx context.Context, submission base.ID,
	limit int) (out []invoices.Evidence, err error) {
	if _, err := invoices.FindSubmission(ctx, t.tenant, submission); err != nil {
		return nil, err
	}
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		out, err = invoices.SelectEvidence(ctx, r, `submission_id = $2`, `order by ordinal desc limit $3`, submission, limit)
		return err
	})
	return out, err
}
