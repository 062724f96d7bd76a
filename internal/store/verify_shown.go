package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"

	"quittance/sdk/go/api"
)

// shownInvoice is what the API shows of an invoice by itself and in lists, as it stands in invoices and invoice_summaries.
type shownInvoice struct {
	number, document string
	summarized       int64
	issueDate        sql.Null[string]
	externalID       sql.Null[string]
	recipient        sql.Null[string]
	terms            sql.Null[string]
	text             sql.Null[string]
	items            sql.Null[int64]
	total            []byte
}

func scanShown(row scanner) (*shownInvoice, error) {
	var i shownInvoice
	if row.Scan(&i.number, &i.document, &i.summarized, &i.externalID, &i.issueDate, &i.total, &i.recipient, &i.terms, &i.items, &i.text) != nil {
		return nil, nil //nolint:nilerr,nilnil // a row that makes no sense is a fault of what is verified
	}
	return &i, nil
}

// shown compares what the API shows of the invoice of a current submission with the document that was sent, which the seal
// of the submission has proven.
func (v *verification) shown(ctx context.Context, s *provenSubmission) (*EvidenceError, error) {
	rows, err := collect(ctx, v.q, scanShown, `select i.number, i.document, i.summarized, s.external_id, s.issue_date, s.total, s.recipient, s.terms, s.item_count, s.summary
		from invoices i left join invoice_summaries s on s.tenant_id = i.tenant_id and s.invoice_id = i.id where i.tenant_id = $1 and i.id = $2`, v.t.id, s.Invoice)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err // it is not the row that cannot be read
	}
	sent, err := v.replay.Sent(s.document)
	if err != nil || sent.InvoiceNumber == nil {
		return v.at(KindSubmission, s.ID, 0, "document", "what was sent holds no invoice"), nil
	}
	field, what, err := shownDiffers(rows, &sent)
	if err != nil || what == "" {
		return nil, err
	}
	return v.at(KindSubmission, s.ID, 0, field, fmt.Sprintf("invoice %s: %s", s.Invoice, what)), nil
}

// shownDiffers returns the field in which the rows of an invoice differ from the draft that was sent, and how; "" when none
// does.
func shownDiffers(rows []*shownInvoice, sent *api.Draft) (field, what string, err error) {
	if len(rows) == 0 {
		return "invoice_id", "it is gone", nil
	}
	if rows[0] == nil {
		return "document", whatUnreadable, nil
	}
	var draft api.Draft
	if err := jsonv2.Unmarshal([]byte(rows[0].document), &draft); err != nil {
		return "document", whatUnreadable, nil //nolint:nilerr // it is a fault of what is verified
	}
	want, err := marshalDraft(sent)
	if err != nil {
		return "", "", err
	}
	got, err := marshalDraft(&draft)
	switch {
	case err != nil:
		return "", "", err
	case !bytes.Equal(got, want):
		return "document", "what is shown of it is not what was sent", nil
	case rows[0].number != *sent.InvoiceNumber:
		return "number", "it is not the number that was sent", nil
	case rows[0].summarized == 0:
		return "", "", nil // lists read its document until the summary is made; see [DB.Summarize]
	}
	summary, err := summarize(sent)
	if err != nil {
		return "", "", err
	}
	if len(rows) != 1 || !rows[0].summarizes(&summary) {
		return "summary", "what lists show of it is not what was sent", nil
	}
	return "", "", nil
}

// summarizes tells whether a row holds the summary want. A column of a row that is missing is null, and so no column of want.
func (i *shownInvoice) summarizes(want *invoiceSummary) bool {
	is := func(got sql.Null[string], want string) bool { return got.Valid && got.V == want }
	return equal(textOrNil(i.externalID), want.externalID) && is(i.issueDate, want.issueDate) && bytes.Equal(i.total, want.total) &&
		is(i.recipient, want.recipient) && is(i.terms, want.terms) && i.items.Valid && i.items.V == int64(want.items) && is(i.text, want.text)
}
