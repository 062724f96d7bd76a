package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"quittance/api"
	"quittance/internal/invoice"
)

// Invoice is a draft and what is known about its current submission.
type Invoice struct {
	ID        ID
	Draft     api.Draft
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
	// Submission is the current one; nil for a draft.
	Submission *Submission
}

// States returns the four states of the current submission, all unreported for a draft.
func (i Invoice) States() invoice.States {
	if i.Submission == nil {
		return invoice.States{}
	}
	return i.Submission.States
}

// marshalDraft writes a draft as it is kept: absent fields are left out, decimals stand as they were given.
func marshalDraft(draft *api.Draft) ([]byte, error) {
	text, err := jsonv2.Marshal(draft, jsonv2.OmitZeroStructFields(true))
	if err != nil {
		return nil, fmt.Errorf("draft: %w", err)
	}
	return text, nil
}

// CreateInvoice stores a draft. The caller has checked its form.
func (t *Tenant) CreateInvoice(ctx context.Context, draft *api.Draft) (Invoice, error) {
	text, err := marshalDraft(draft)
	if err != nil {
		return Invoice{}, err
	}
	var created Invoice
	err = t.write(ctx, func(ctx context.Context, tx *tx) error {
		id, err := newID(t.db.now(), t.db.random)
		if err != nil {
			return err
		}
		created = Invoice{ID: id, Draft: *draft, Version: 1, CreatedAt: t.db.now()}
		created.UpdatedAt = created.CreatedAt
		var position int64
		if err := tx.QueryRowContext(ctx, `update tenants set invoices = invoices + 1 where id = $1 and frozen_at is null returning invoices`, t.id).Scan(&position); err != nil {
			return err
		}
		_, err = tx.exec(ctx, `insert into invoices (tenant_id, id, position, number, document, version, created_at, updated_at)
			values ($1, $2, $3, $4, $5, 1, $6, $6)`, t.id, id, position, *draft.InvoiceNumber, string(text), micros(created.CreatedAt))
		return err
	})
	return created, err
}

const invoiceColumns = `i.id, i.document, i.version, i.created_at, i.updated_at`

func scanInvoice(row scanner, more ...any) (Invoice, error) {
	var i Invoice
	var document string
	var created, updated int64
	if err := row.Scan(append([]any{&i.ID, &document, &i.Version, &created, &updated}, more...)...); err != nil {
		return Invoice{}, err
	}
	i.CreatedAt, i.UpdatedAt = instant(created), instant(updated)
	if err := json.Unmarshal([]byte(document), &i.Draft); err != nil {
		return Invoice{}, fmt.Errorf("stored draft %s: %w", i.ID, err)
	}
	return i, nil
}

// Invoice returns one invoice.
func (t *Tenant) Invoice(ctx context.Context, id ID) (Invoice, error) {
	var found Invoice
	err := t.read(ctx, func(q querier) error {
		var err error
		found, err = t.invoice(ctx, q, id, "")
		return err
	})
	return found, err
}

// invoice reads an invoice with its current submission; lock is the engine's lock suffix or "".
func (t *Tenant) invoice(ctx context.Context, q querier, id ID, lock string) (Invoice, error) {
	found, err := scanInvoice(q.QueryRowContext(ctx, `select `+invoiceColumns+` from invoices i where i.tenant_id = $1 and i.id = $2`+lock, t.id, id))
	if err != nil {
		return Invoice{}, err
	}
	current, err := t.currentSubmission(ctx, q, id)
	if err != nil {
		return Invoice{}, err
	}
	if current != nil && current.Sent() {
		found.Submission = current
	}
	return found, nil
}

// InvoicePage is one page of a list of invoices, newest first.
type InvoicePage struct {
	Invoices []Invoice
	Total    int
}

// Invoices returns the page of the given number (from 1) with perPage entries (from 1). Invoices are numbered without
// gaps, so a page is a range of an index: it costs the same at any page of any number of invoices.
func (t *Tenant) Invoices(ctx context.Context, page, perPage int) (InvoicePage, error) {
	var out InvoicePage
	err := t.read(ctx, func(q querier) error {
		if err := q.QueryRowContext(ctx, `select invoices from tenants where id = $1`, t.id).Scan(&out.Total); err != nil {
			return err
		}
		high := int64(-1) // a page number whose product overflows is past any end
		if page-1 <= out.Total/perPage {
			high = int64(out.Total) - int64(page-1)*int64(perPage)
		}
		var err error
		out.Invoices, err = t.invoicesWhere(ctx, q, `i.position <= $2 and i.position > $3 order by i.position desc`, high, high-int64(perPage))
		return err
	})
	return out, err
}

// invoicesWhere reads invoices with their current submissions: two queries, however many there are.
func (t *Tenant) invoicesWhere(ctx context.Context, q querier, where string, args ...any) ([]Invoice, error) {
	type entry struct {
		Invoice
		submission sql.Null[[]byte]
	}
	entries, err := collect(ctx, q, func(row scanner) (entry, error) {
		var e entry
		var err error
		e.Invoice, err = scanInvoice(row, &e.submission)
		return e, err
	}, `select `+invoiceColumns+`, s.id from invoices i
		left join submissions s on s.tenant_id = i.tenant_id and s.invoice_id = i.id and s.current = 1 and s.outcome <> 'not_sent'
		where i.tenant_id = $1 and `+where, append([]any{t.id}, args...)...)
	if err != nil {
		return nil, err
	}
	out := make([]Invoice, len(entries))
	for n, e := range entries {
		out[n] = e.Invoice
		if !e.submission.Valid {
			continue
		}
		var id ID
		if err := id.Scan(e.submission.V); err != nil {
			return nil, err
		}
		submission, err := t.submission(ctx, q, id, "")
		if err != nil {
			return nil, err
		}
		out[n].Submission = &submission
	}
	return out, nil
}

// ErrNotEditable says that an invoice is submitted and not rejected, so that its document is fixed.
var ErrNotEditable = errors.New("invoice not editable")

// ErrVersion says that the invoice has changed since the caller read it.
var ErrVersion = errors.New("version differs")
