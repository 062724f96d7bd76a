package proof

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// shownInvoice is what the API shows of an invoice, from the tables invoices and invoice_summaries.
type shownInvoice struct {
	id                                            base.ID
	number, document                              string
	summarized, createdAt, updatedAt              int64
	summaryCreatedAt                              sql.Null[int64]
	externalID, issueDate, recipient, terms, text sql.Null[string]
	items                                         sql.Null[int64]
	total                                         []byte
}

func scanShown(row base.Row) (*shownInvoice, error) {
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
		return v.at(KindSubmission, s.ID, 0, base.Flaw{Field: "document", What: "what was sent contains no invoice"}), nil
	case s.CreditNote.IsZero():
		return v.shownInvoice(ctx, s, &sent.Invoice)
	case sent.Credit == nil:
		return v.at(KindSubmission, s.ID, 0, base.Flaw{Field: "document", What: "what was sent contains no credit note"}), nil
	}
	return v.shownCreditNote(ctx, s, &sent)
}

// shownInvoice compares what the API shows of an invoice with the draft that was sent.
func (v *verification) shownInvoice(ctx context.Context, s *provenSubmission, sent *api.Draft) (*EvidenceError, error) {
	rows, err := base.Collect(ctx, v.q, scanShown,
		`select i.id, i.number, i.document, i.summarized, i.created_at, i.updated_at, s.created_at, s.external_id, s.issue_date, s.total, s.recipient, s.terms, s.item_count, s.summary
		from invoices i left join invoice_summaries s on s.tenant_id = i.tenant_id and s.invoice_id = i.id where i.tenant_id = $1 and i.id = $2`, v.t.ID(), s.Invoice)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err // the query failed, not the scan of the row
	}
	f, err := shownDiffers(rows, sent)
	if err == nil && !f.Found() {
		f = rows[0].timesDiffer(s, v.t.DB().Now())
	}
	if err != nil || !f.Found() {
		return nil, err
	}
	return v.at(KindSubmission, s.ID, 0, base.Flaw{Field: f.Field, What: fmt.Sprintf("invoice %s: %s", s.Invoice,
		f.What)}), nil
}

// shownDiffers compares the rows of an invoice with the draft that was sent.
func shownDiffers(rows []*shownInvoice, sent *api.Draft) (base.Flaw, error) {
	if len(rows) == 0 {
		return base.Flaw{Field: "invoice_id", What: "it is gone"}, nil
	}
	var draft api.Draft
	if rows[0] == nil || jsonv2.Unmarshal([]byte(rows[0].document), &draft) != nil {
		return base.Flaw{Field: "document", What: whatUnreadable}, nil //nolint:nilerr // an unreadable row is a fault of the evidence
	}
	want, err := invoices.MarshalDraft(sent)
	if err != nil {
		return base.Flaw{}, err
	}
	got, err := invoices.MarshalDraft(&draft)
	switch {
	case err != nil:
		return base.Flaw{}, err
	case !bytes.Equal(got, want):
		return base.Flaw{Field: "document", What: "what is shown of it is not what was sent"}, nil
	case rows[0].number != *sent.InvoiceNumber:
		return base.Flaw{Field: "number", What: "it is not the number that was sent"}, nil
	case rows[0].summarized == 0:
		return base.Flaw{}, nil // lists read the document until the summary is made; see [invoices.SummarizeMissing]
	}
	summary, err := invoices.Summarize(sent)
	if err != nil {
		return base.Flaw{}, err
	}
	if len(rows) != 1 || !rows[0].summarizes(&summary) {
		return base.Flaw{Field: "summary", What: "what lists show of it is not what was sent"}, nil
	}
	return base.Flaw{}, nil
}

// timesDiffer compares the times of an invoice with those that are proven: its identifier holds the millisecond of its
// creation (RFC 9562, section 5.7), and it changed last when it was submitted or later. Version 0.1 read the clock once
// for the identifier and then again, so a creation up to a second later is accepted.
func (i *shownInvoice) timesDiffer(s *provenSubmission, now time.Time) base.Flaw {
	later := base.Instant(i.createdAt).UnixMilli() - i.id.Time().UnixMilli()
	switch {
	case later < 0 || later > 1000:
		return base.Flaw{Field: "created_at", What: "it is not the time in the identifier"}
	case i.summarized != 0 && i.summaryCreatedAt != (sql.Null[int64]{V: i.createdAt, Valid: true}):
		return base.Flaw{Field: "created_at", What: "the time in lists is another"}
	case i.updatedAt < base.Micros(s.AttemptedAt) || i.updatedAt > base.Micros(now.Add(clockTolerance)):
		return base.Flaw{Field: "updated_at", What: "it is not between the submission and now"}
	}
	return base.Flaw{}
}

// summarizes reports whether the row holds the summary want. If the invoice has no summary, all its columns are null.
func (i *shownInvoice) summarizes(want *invoices.Summary) bool {
	is := func(got sql.Null[string], want string) bool { return got.Valid && got.V == want }
	return equal(base.TextOrNil(i.externalID), want.ExternalID) && is(i.issueDate, want.IssueDate) &&
		bytes.Equal(i.total, want.Total) &&
		is(i.recipient, want.Recipient) && is(i.terms, want.Terms) && i.items.Valid && i.items.V == int64(want.Items) &&
		is(i.text, want.Text)
}
