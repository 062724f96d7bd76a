package invoices

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"

	"quittance/client/api"
	"quittance/internal/ledger/base"
)

// rawInvoice is an invoice whose document is not parsed yet. A parsed document takes many times as much memory.
type rawInvoice struct {
	id                        base.ID
	document                  string
	version, created, updated int64
	holder                    sql.Null[base.ID]
	submission                *Submission
}

// columns returns the destinations of the columns of invoiceColumns.
func (r *rawInvoice) columns() []any {
	return []any{&r.id, &r.document, &r.version, &r.created, &r.updated, &r.holder}
}

func (r *rawInvoice) parse() (Invoice, error) {
	i := Invoice{ID: r.id, Version: r.version, CreatedAt: base.Instant(r.created), UpdatedAt: base.Instant(r.updated),
		Submission: r.submission, NumberHolder: r.holder.V}
	if err := jsonv2.Unmarshal([]byte(r.document), &i.Draft); err != nil {
		return Invoice{}, fmt.Errorf("stored draft %s: %w", r.id, err)
	}
	return i, nil
}

// Find returns one invoice with its current submission, both of one moment.
func Find(ctx context.Context, t *base.Tenant, id base.ID) (Invoice, error) {
	return FindWithin(ctx, t, id, func(int) error { return nil })
}

// FindWithin is [Find] for a caller whose memory is bounded: it calls charge with the size of the document
// in bytes before it parses the document, and returns the error of charge as it is.
func FindWithin(ctx context.Context, t *base.Tenant, id base.ID, charge func(bytes int) error) (Invoice, error) {
	var raw rawInvoice
	err := t.Read(func(q base.Querier) (err error) {
		raw, err = readRaw(ctx, t, q, id)
		return err
	})
	if err != nil {
		return Invoice{}, err
	}
	if err := charge(len(raw.document)); err != nil {
		return Invoice{}, err
	}
	return raw.parse()
}

// EachDraft calls each with the drafts among the given invoices, one after the other. Before it parses a document, it
// calls charge with its size in bytes, and returns the error of charge as it is. Invoices that do not exist any more
// are skipped.
func EachDraft(ctx context.Context, t *base.Tenant, ids []base.ID, charge func(bytes int) error,
	each func(id base.ID, draft *api.Draft)) error {
	one := func(id base.ID) error {
		var text string
		err := t.Read(func(q base.Querier) error {
			return q.QueryRowContext(ctx, `select document from invoices where tenant_id = $1 and id = $2`, t.ID(), id).Scan(&text)
		})
		if err != nil {
			return err
		}
		if err := charge(len(text)); err != nil {
			return err
		}
		var draft api.Draft
		if err := jsonv2.Unmarshal([]byte(text), &draft); err != nil {
			return fmt.Errorf("stored draft %s: %w", id, err)
		}
		each(id, &draft)
		return nil
	}
	if t == nil || t.DB() == nil {
		return base.ErrNoTenant
	}
	for _, id := range ids {
		if err := one(id); err != nil && !errors.Is(err, base.ErrNotFound) {
			return err
		}
	}
	return nil
}

// readRaw reads an invoice with its current submission outside of a transaction, both as of one moment. One
// statement finds an invoice with a submission, the other one an invoice without; if it changes between them, they are
// repeated.
func readRaw(ctx context.Context, t *base.Tenant, q base.Querier, id base.ID) (rawInvoice, error) {
	const tries = 5
	for range tries {
		raw, err := readSubmitted(ctx, t, q, id)
		if err == nil || !errors.Is(err, sql.ErrNoRows) {
			return raw, err
		}
		var submitted bool
		err = q.QueryRowContext(ctx, `select `+invoiceColumns+
			`, exists (select 1 from submissions c where c.tenant_id = $1 and c.invoice_id = i.id and c.current = 1)
			from invoices i where i.tenant_id = $1 and i.id = $2`, t.ID(), id).Scan(append(raw.columns(), &submitted)...)
		if err != nil || !submitted {
			return raw, err
		}
	}
	return rawInvoice{}, fmt.Errorf("%w: invoice %s keeps changing", base.ErrUnavailable, id)
}

// readSubmitted reads an invoice that has a current submission.
func readSubmitted(ctx context.Context, t *base.Tenant, q base.Querier, id base.ID) (rawInvoice, error) {
	var raw rawInvoice
	row := q.QueryRowContext(ctx, `select `+invoiceColumns+`, s.* from invoices i
		join (select `+SubmissionColumns(t.DB())+` from submissions where tenant_id = $1 and invoice_id = $2 and current = 1) s on 1 = 1
		where i.tenant_id = $1 and i.id = $2`, t.ID(), id)
	current, err := ScanSubmission(base.Behind(row, raw.columns()...))
	if err != nil {
		return rawInvoice{}, err
	}
	if current.MaybeSent() {
		raw.submission = &current
	}
	return raw, nil
}

// InvoiceExtent is the size of an invoice.
type InvoiceExtent struct {
	// Bytes is the length of the stored document.
	Bytes int
	// Lines is the number of invoice lines, or an upper bound if the invoice has no summary yet.
	Lines int
}

// ReadExtent returns the size of an invoice without reading its document, for a caller that must reserve memory
// first.
func ReadExtent(ctx context.Context, t *base.Tenant, id base.ID) (InvoiceExtent, error) {
	const shortestLine = 3 // {} and a comma
	var out InvoiceExtent
	err := t.Read(func(q base.Querier) error {
		var lines sql.Null[int]
		err := q.QueryRowContext(ctx, `select octet_length(i.document), (select s.item_count from invoice_summaries s
			where s.tenant_id = $1 and s.invoice_id = $2 and i.summarized <> 0) from invoices i where i.tenant_id = $1 and i.id = $2`, t.ID(), id).Scan(&out.Bytes, &lines)
		if out.Lines = lines.V; !lines.Valid {
			out.Lines = out.Bytes / shortestLine
		}
		return err
	})
	return out, err
}

// numberHolder selects [Invoice.NumberHolder] of an invoice i, from the unique index of submitted numbers.
const numberHolder = `(select h.invoice_id from submissions h where h.tenant_id = i.tenant_id and h.number = i.number
	and h.outcome in ('in_progress', 'acknowledged', 'unknown') and h.invoice_id <> i.id)`

// NumberHolder returns the invoice that was submitted with a number and is not rejected, or the zero ID.
func NumberHolder(ctx context.Context, t *base.Tenant, number string) (base.ID, error) {
	return base.ReadValue(t, func(q base.Querier) (base.ID, error) {
		return readNumberHolder(ctx, t, q, number)
	})
}

func readNumberHolder(ctx context.Context, t *base.Tenant, q base.Querier, number string) (base.ID, error) {
	var holder base.ID
	err := q.QueryRowContext(ctx, `select invoice_id from submissions where tenant_id = $1 and number = $2
		and outcome in ('in_progress', 'acknowledged', 'unknown')`, t.ID(), number).Scan(&holder)
	if errors.Is(err, sql.ErrNoRows) {
		return base.ID{}, nil
	}
	return holder, err
}
