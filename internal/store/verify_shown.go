package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"quittance/client/api"
)

// shownInvoice is what the API shows of an invoice, from the tables invoices and invoice_summaries.
type shownInvoice struct {
	id                                            ID
	number, document                              string
	summarized, createdAt, updatedAt              int64
	summaryCreatedAt                              sql.Null[int64]
	externalID, issueDate, recipient, terms, text sql.Null[string]
	items                                         sql.Null[int64]
	total                                         []byte
}

func scanShown(row scanner) (*shownInvoice, error) {
	var i shownInvoice
	if row.Scan(&i.id, &i.number, &i.document, &i.summarized, &i.createdAt, &i.updatedAt, &i.summaryCreatedAt,
		&i.externalID, &i.issueDate, &i.total, &i.recipient, &i.terms, &i.items, &i.text) != nil {
		return nil, nil //nolint:nilerr,nilnil // an unreadable row is a fault of the evidence
	}
	return &i, nil
}

// shown compares what the API shows of the invoice or the credit note of a current submission with the document that
// was sent, which the seal of the submission has verified.
func (v *verification) shown(ctx context.Context, s *provenSubmission) (*EvidenceError, error) {
	sent, err := v.replay.Sent(s.document)
	switch {
	case err != nil || sent.Invoice.InvoiceNumber == nil:
		return v.at(KindSubmission, s.ID, 0, flaw{"document", "what was sent contains no invoice"}), nil
	case s.CreditNote.IsZero():
		return v.shownInvoice(ctx, s, &sent.Invoice)
	case sent.Credit == nil:
		return v.at(KindSubmission, s.ID, 0, flaw{"document", "what was sent contains no credit note"}), nil
	}
	return v.shownCreditNote(ctx, s, &sent)
}

// shownInvoice compares what the API shows of an invoice with the draft that was sent.
func (v *verification) shownInvoice(ctx context.Context, s *provenSubmission, sent *api.Draft) (*EvidenceError, error) {
	rows, err := collect(ctx, v.q, scanShown,
		`select i.id, i.number, i.document, i.summarized, i.created_at, i.updated_at, s.created_at, s.external_id, s.issue_date, s.total, s.recipient, s.terms, s.item_count, s.summary
		from invoices i left join invoice_summaries s on s.tenant_id = i.tenant_id and s.invoice_id = i.id where i.tenant_id = $1 and i.id = $2`, v.t.id, s.Invoice)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err // the query failed, not the scan of the row
	}
	f, err := shownDiffers(rows, sent)
	if err == nil && !f.found() {
		f = rows[0].timesDiffer(s, v.t.db.Now())
	}
	if err != nil || !f.found() {
		return nil, err
	}
	return v.at(KindSubmission, s.ID, 0, flaw{f.field, fmt.Sprintf("invoice %s: %s", s.Invoice, f.what)}), nil
}

// shownDiffers compares the rows of an invoice with the draft that was sent.
func shownDiffers(rows []*shownInvoice, sent *api.Draft) (flaw, error) {
	if len(rows) == 0 {
		return flaw{"invoice_id", "it is gone"}, nil
	}
	var draft api.Draft
	if rows[0] == nil || jsonv2.Unmarshal([]byte(rows[0].document), &draft) != nil {
		return flaw{"document", whatUnreadable}, nil //nolint:nilerr // an unreadable row is a fault of the evidence
	}
	want, err := marshalDraft(sent)
	if err != nil {
		return flaw{}, err
	}
	got, err := marshalDraft(&draft)
	switch {
	case err != nil:
		return flaw{}, err
	case !bytes.Equal(got, want):
		return flaw{"document", "what is shown of it is not what was sent"}, nil
	case rows[0].number != *sent.InvoiceNumber:
		return flaw{"number", "it is not the number that was sent"}, nil
	case rows[0].summarized == 0:
		return flaw{}, nil // lists read the document until the summary is made; see [DB.Summarize]
	}
	summary, err := summarize(sent)
	if err != nil {
		return flaw{}, err
	}
	if len(rows) != 1 || !rows[0].summarizes(&summary) {
		return flaw{"summary", "what lists show of it is not what was sent"}, nil
	}
	return flaw{}, nil
}

// timesDiffer compares the times of an invoice with those that are proven: its identifier holds the millisecond of its
// creation (RFC 9562, section 5.7), and it changed last when it was submitted or later. Version 0.1 read the clock once
// for the identifier and then again, so a creation up to a second later is accepted.
func (i *shownInvoice) timesDiffer(s *provenSubmission, now time.Time) flaw {
	later := instant(i.createdAt).UnixMilli() - i.id.Time().UnixMilli()
	switch {
	case later < 0 || later > 1000:
		return flaw{"created_at", "it is not the time in the identifier"}
	case i.summarized != 0 && i.summaryCreatedAt != (sql.Null[int64]{V: i.createdAt, Valid: true}):
		return flaw{"created_at", "the time in lists is another"}
	case i.updatedAt < micros(s.AttemptedAt) || i.updatedAt > micros(now.Add(clockTolerance)):
		return flaw{"updated_at", "it is not between the submission and now"}
	}
	return flaw{}
}

// summarizes reports whether the row holds the summary want. If the invoice has no summary, all its columns are null.
func (i *shownInvoice) summarizes(want *invoiceSummary) bool {
	is := func(got sql.Null[string], want string) bool { return got.Valid && got.V == want }
	return equal(textOrNil(i.externalID), want.externalID) && is(i.issueDate, want.issueDate) &&
		bytes.Equal(i.total, want.total) &&
		is(i.recipient, want.recipient) && is(i.terms, want.terms) && i.items.Valid && i.items.V == int64(want.items) &&
		is(i.text, want.text)
}
