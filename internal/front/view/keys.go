package view

import (
	"context"
	"fmt"
	"strconv"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/problem"
)

// MaxListed is how many rows a whole list has at most, and how many candidates its filters examine at most. Whole lists
// are for files, which have no pages: the identifiers are read at one moment, in the order of the list, and then their
// rows in batches of a bounded size. So every row is in the file at most once, and in its place, whatever changes
// meanwhile.
const MaxListed = 100_000

// MaxBatch is how many rows are read by their identifiers with one query at most.
const MaxBatch = 100

// TooManyRowsError says that a whole list would have more rows, or that its filters have more candidates, than it may
// have.
type TooManyRowsError struct{ Limit int }

// Error says how many there may be.
func (e *TooManyRowsError) Error() string {
	return "the list has more than " + strconv.Itoa(e.Limit) + " rows or candidates"
}

// Describe returns the problem with the number.
func (e *TooManyRowsError) Describe() *problem.Problem {
	faults := api.Faults{}
	faults.Add("rows", "max_rows", fmt.Sprintf("must be at most %d, and so must the entries that the filters examine",
		e.Limit))
	return problem.For(api.CodeTooManyRows).WithFaults(faults)
}

// AtMost returns read models whose whole lists have at most that many rows and candidates, from 1 to [MaxListed].
func (t Tenant) AtMost(rows int) Tenant {
	t.most = rows
	return t
}

func (t Tenant) tooManyRows() error { return &TooManyRowsError{t.most} }

// readIDs reads the identifiers that a query returns, to which it adds the number of rows that are read at most. The
// error is a [TooManyRowsError] if there are more.
func (t Tenant) readIDs(ctx context.Context, r base.Reader, s *statement, query string) ([]base.ID, error) {
	var ids []base.ID
	err := r.Query(ctx, func(row base.Row) error {
		var id base.ID
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	}, query+` limit `+s.value(t.most+1), s.args...)
	if err == nil && len(ids) > t.most {
		err = t.tooManyRows()
	}
	return ids, err
}

// foundIDs returns what a search has found. The error is a [TooManyRowsError] if there were more candidates than a
// whole list has.
func (t Tenant) foundIDs(found searched, err error) ([]base.ID, error) {
	if err == nil && found.examined > t.most {
		err = t.tooManyRows()
	}
	return found.ids, err
}

// inOrder returns rows in the order of their identifiers, without those that do not exist any more.
func inOrder[R any](ids []base.ID, rows []R, idOf func(*R) base.ID) []R {
	byID := make(map[base.ID]*R, len(rows))
	for n := range rows {
		byID[idOf(&rows[n])] = &rows[n]
	}
	out := make([]R, 0, len(ids))
	for _, id := range ids {
		if row, found := byID[id]; found {
			out = append(out, *row)
		}
	}
	return out
}

// readBatch reads rows by their identifiers, at most [MaxBatch], in the order of ids. It reads a snapshot, because
// PostgreSQL plans its statements for their values: a plan for any identifiers may read a whole company.
func readBatch[R any](ctx context.Context, t Tenant, column string, ids []base.ID, idOf func(*R) base.ID,
	read selection[R]) (out []R, err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		var err error
		out, err = rowsByID(ctx, r, column, ids, idOf, read)
		return err
	})
	return out, err
}

// InvoiceIDs returns the identifiers of all invoices that [Tenant.Invoices] lists, and in its order. The error may be a
// [TooManyRowsError].
func (t Tenant) InvoiceIDs(ctx context.Context, filter InvoiceFilter) (ids []base.ID, err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		var s statement
		order := ` order by position desc`
		if filter.Ascending {
			order = ` order by position`
		}
		switch {
		case filter.onlyTab():
			direction := ` desc`
			if filter.Ascending {
				direction = ``
			}
			ids, err = t.readIDs(ctx, r, &s, `select id from (`+filter.tabCandidates(&s, r.Now(), s.value(t.most+1), direction)+
				`) tab`+order)
		case filter.narrows() || filter.Order != OrderCreated:
			ids, err = t.foundIDs(filter.search(ctx, r, t.most, 0, t.most))
		default:
			ids, err = t.readIDs(ctx, r, &s, `select id from invoices where tenant_id = $1`+order)
		}
		return err
	})
	return ids, err
}

// ItemCount returns the number of items of some invoices, at most [MaxBatch].
func (t Tenant) ItemCount(ctx context.Context, ids []base.ID) (count int, err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error { // as readBatch
		if len(ids) == 0 {
			return nil
		}
		var s statement
		return r.Query(ctx, func(row base.Row) error {
			var items int
			err := row.Scan(&items)
			count += max(items, 1)
			return err
		}, `select coalesce((select s.item_count from invoice_summaries s where s.tenant_id = i.tenant_id and s.invoice_id = i.id), 1)
			from invoices i where tenant_id = $1 and id in (`+s.list(ids)+`)`, s.args...)
	})
	return count, err
}

// CreditNoteIDs returns the identifiers of all credit notes that [Tenant.CreditNotes] lists, and in its order. The
// error may be [TooManyRowsError].
func (t Tenant) CreditNoteIDs(ctx context.Context, filter CreditNoteFilter) (ids []base.ID, err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		if filter.dated() {
			ids, err = t.foundIDs(filter.search(ctx, r, t.most, 0, t.most))
			return err
		}
		var s statement
		where := ``
		if filter != (CreditNoteFilter{}) {
			where = ` and ` + filter.conditions(&s, t.most)
		}
		if filter.Void != nil || filter.Text != "" { // the newest are examined
			if err := t.notAbove(ctx, r, `credit_notes`); err != nil {
				return err
			}
		}
		ids, err = t.readIDs(ctx, r, &s, `select id from credit_notes where tenant_id = $1`+where+` order by position desc`)
		return err
	})
	return ids, err
}

// notAbove returns a [TooManyRowsError] if a counter of the tenant is above the limit.
func (t Tenant) notAbove(ctx context.Context, r base.Reader, counter string) error {
	var count int
	err := r.Query(ctx, func(row base.Row) error { return row.Scan(&count) },
		`select `+counter+` from tenants where id = $1`)
	if err == nil && count > t.most {
		err = t.tooManyRows()
	}
	return err
}

// CreditNotesByID returns those of at most [MaxBatch] credit notes that exist, in the order of ids.
func (t Tenant) CreditNotesByID(ctx context.Context, ids []base.ID) ([]invoices.CreditNoteRow, error) {
	return readBatch(ctx, t, `id`, ids, func(n *invoices.CreditNoteRow) base.ID { return n.ID },
		invoices.SelectCreditNotes)
}

// IncomingIDs returns the identifiers of all incoming e-invoices that [Tenant.IncomingInvoices] lists, and in its
// order. The error may be [TooManyRowsError].
func (t Tenant) IncomingIDs(ctx context.Context, filter IncomingFilter) (ids []base.ID, err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		if filter != (IncomingFilter{}) {
			ids, err = t.foundIDs(filter.search(ctx, r, t.most, 0, t.most))
			return err
		}
		ids, err = t.readIDs(ctx, r, &statement{}, `select id from incoming where tenant_id = $1 order by position desc`)
		return err
	})
	return ids, err
}

// IncomingByID returns those of at most [MaxBatch] incoming e-invoices that exist, in the order of ids.
func (t Tenant) IncomingByID(ctx context.Context, ids []base.ID) ([]incoming.Incoming, error) {
	return readBatch(ctx, t, `i.id`, ids, func(i *incoming.Incoming) base.ID { return i.ID }, incoming.Select)
}

// DeliveryIDs returns the identifiers of all deliveries that [Tenant.Deliveries] lists, and in its order. The error may
// be [TooManyRowsError].
func (t Tenant) DeliveryIDs(ctx context.Context, filter DeliveryFilter) (ids []base.ID, err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		_, truncated, err := filter.oldest(ctx, r, t.most)
		if err == nil && truncated {
			err = t.tooManyRows()
		}
		if err != nil {
			return err
		}
		var s statement
		where := filter.among(&s) + filter.rest(&s)
		ids, err = t.readIDs(ctx, r, &s, `select id from deliveries where tenant_id = $1`+where+` order by id desc`)
		return err
	})
	return ids, err
}

// DeliveriesByID returns those of at most [MaxBatch] deliveries that exist, in the order of ids.
func (t Tenant) DeliveriesByID(ctx context.Context, ids []base.ID) ([]events.Delivery, error) {
	return readBatch(ctx, t, `id`, ids, func(d *events.Delivery) base.ID { return d.ID }, events.SelectDeliveries)
}

// SubscriptionIDs returns the identifiers of all webhook subscriptions, newest first. The error may be a
// [TooManyRowsError].
func (t Tenant) SubscriptionIDs(ctx context.Context) (ids []base.ID, err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		ids, err = t.readIDs(ctx, r, &statement{}, `select id from subscriptions where tenant_id = $1 order by id desc`)
		return err
	})
	return ids, err
}

// SubscriptionsByID returns those of at most [MaxBatch] subscriptions that exist, in the order of ids.
func (t Tenant) SubscriptionsByID(ctx context.Context, ids []base.ID) ([]events.Subscription, error) {
	return readBatch(ctx, t, `id`, ids, func(s *events.Subscription) base.ID { return s.ID }, events.SelectSubscriptions)
}

// AuditIDs returns the identifiers of all entries that [Tenant.AuditLog] lists, and in its order. The error may be a
// [TooManyRowsError].
func (t Tenant) AuditIDs(ctx context.Context, filter AuditFilter) (ids []base.ID, err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		_, _, truncated, err := filter.oldest(ctx, r, t.most)
		if err == nil && truncated {
			err = t.tooManyRows()
		}
		if err != nil {
			return err
		}
		var s statement
		where := filter.among(&s) + filter.rest(&s)
		ids, err = t.readIDs(ctx, r, &s, `select id from audit where `+base.AuditOfTenant+where+` `+newestAudit)
		return err
	})
	return ids, err
}

// AuditByID returns those of at most [MaxBatch] entries of the audit log that exist, in the order of ids.
func (t Tenant) AuditByID(ctx context.Context, ids []base.ID) ([]base.AuditEntry, error) {
	return readBatch(ctx, t, `id`, ids, func(e *base.AuditEntry) base.ID { return e.ID }, base.SelectAudit)
}
