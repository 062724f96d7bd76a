package store

import (
	"context"
	"time"
)

// Reader reads rows of one tenant for the lists and pages that the API and the console show. [Tenant.ReadSnapshot] and
// [Tenant.ReadRows] make one, for internal/view alone. The parameter $1 of every statement is the tenant, and the given
// arguments are the parameters from $2.
//
// The methods that are named after a fact return the facts of the tenant that a condition selects. order is what follows the where
// clause: the order and the bounds, or nothing.
type Reader struct {
	tenant *Tenant
	q      querier
}

// Row is one row of a result.
type Row = scanner

// ReadSnapshot runs fn, which reads a list, in one snapshot of the database. The time, and how many lists of a company are read
// concurrently, are bounded: beyond that, ReadSnapshot returns [ErrUnavailable].
func (t *Tenant) ReadSnapshot(ctx context.Context, fn func(ctx context.Context, r Reader) error) error {
	return t.list(ctx, func(ctx context.Context, q querier) error { return fn(ctx, Reader{t, q}) })
}

// ReadRows runs fn, which reads a bounded number of rows, each statement as of its own moment. It never waits for
// lists.
func (t *Tenant) ReadRows(fn func(r Reader) error) error {
	return t.read(func(q querier) error { return fn(Reader{t, q}) })
}

func (r Reader) args(more []any) []any { return append([]any{r.tenant.id}, more...) }

// Query runs a query and calls scan for every row.
func (r Reader) Query(ctx context.Context, scan func(Row) error, query string, args ...any) error {
	_, err := collect(ctx, r.q, func(row scanner) (struct{}, error) { return struct{}{}, scan(row) }, query, r.args(args)...)
	return err
}

// Now returns the time of the database.
func (r Reader) Now() time.Time { return r.tenant.db.Now() }

// InSubquery returns a condition that compares the column before it with the results of a query that returns few rows.
func (r Reader) InSubquery(query string) string { return r.tenant.db.dialect.InSubquery(query) }

// ByteOrder returns what follows a text column in an order by clause, to sort by bytes.
func (r Reader) ByteOrder() string { return r.tenant.db.dialect.ByteOrder() }

// Submissions returns submissions with their states.
func (r Reader) Submissions(ctx context.Context, condition, order string, args ...any) ([]Submission, error) {
	return collect(ctx, r.q, scanSubmission, `select `+r.tenant.db.submissionColumns()+` from submissions where tenant_id = $1 and (`+condition+`) `+order, r.args(args)...)
}

// Evidence returns retained responses without their bodies.
func (r Reader) Evidence(ctx context.Context, condition, order string, args ...any) ([]Evidence, error) {
	return collect(ctx, r.q, func(row scanner) (Evidence, error) { return scanEvidence(row) },
		`select `+evidenceColumns+` from evidence where tenant_id = $1 and (`+condition+`) `+order, r.args(args)...)
}

// Subscriptions returns webhook subscriptions.
func (r Reader) Subscriptions(ctx context.Context, condition, order string, args ...any) ([]Subscription, error) {
	return collect(ctx, r.q, scanSubscription, `select `+subscriptionColumns+` from subscriptions where tenant_id = $1 and (`+condition+`) `+order, r.args(args)...)
}

// Events returns events with the exact bytes of their deliveries.
func (r Reader) Events(ctx context.Context, condition, order string, args ...any) ([]Event, error) {
	return collect(ctx, r.q, scanEvent, `select `+eventColumns+` from events where tenant_id = $1 and (`+condition+`) `+order, r.args(args)...)
}

// Deliveries returns webhook deliveries without their attempts.
func (r Reader) Deliveries(ctx context.Context, condition, order string, args ...any) ([]Delivery, error) {
	return collect(ctx, r.q, scanDelivery, `select `+deliveryColumns+` from deliveries where tenant_id = $1 and (`+condition+`) `+order, r.args(args)...)
}

// CreditNotes returns credit notes without their items.
func (r Reader) CreditNotes(ctx context.Context, condition, order string, args ...any) ([]CreditNoteRow, error) {
	// Only a note of the version before, which kept no count, is read with its items.
	return collect(ctx, r.q, scanCreditNoteRow, `select `+creditNoteColumns(`case when item_count is null then items else '' end`)+`, item_count
		from credit_notes where tenant_id = $1 and (`+condition+`) `+order, r.args(args)...)
}

// Revisions returns revisions r of incoming e-invoices i without their documents.
func (r Reader) Revisions(ctx context.Context, condition, order string, args ...any) ([]Revision, error) {
	return collect(ctx, r.q, func(row scanner) (Revision, error) { return scanRevision(row) }, `select `+revisionColumns+fromRevisions+`(`+condition+`) `+order, r.args(args)...)
}

// Incoming returns incoming e-invoices i in their latest revisions r.
func (r Reader) Incoming(ctx context.Context, condition, order string, args ...any) ([]Incoming, error) {
	return collect(ctx, r.q, scanIncoming, `select `+revisionColumns+fromRevisions+`r.revision = i.revision and (`+condition+`) `+order, r.args(args)...)
}
