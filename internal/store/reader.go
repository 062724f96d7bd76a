package store

import (
	"context"
	"time"

	"quittance/client/api"
)

// Reader reads rows of one tenant for the lists and pages that the API and the console show. [Tenant.ReadSnapshot] and
// [Tenant.ReadRows] make one, for internal/view alone. The parameter $1 of every statement is the tenant, and the given
// arguments are the parameters from $2.
//
// The methods that are named after a fact return the facts of the tenant that a condition selects. order is what
// follows the where clause: the order and the bounds, or nothing.
type Reader struct {
	tenant *Tenant
	q      querier
}

// Row is one row of a result.
type Row = scanner

// ReadSnapshot runs fn, which reads a list, in one snapshot of the database. The time, and how many lists of a company
// are read concurrently, are bounded: beyond that, ReadSnapshot returns [ErrUnavailable].
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
	_, err := collect(ctx, r.q, func(row scanner) (struct{}, error) { return struct{}{}, scan(row) }, query,
		r.args(args)...)
	return err
}

// Now returns the time of the database.
func (r Reader) Now() time.Time { return r.tenant.db.Now() }

// OldestID returns the smallest identifier that can be created at a time.
func (r Reader) OldestID(at time.Time) ID { return oldest(at) }

// InSubquery returns a condition that compares the column before it with the results of a query that returns few rows.
func (r Reader) InSubquery(query string) string { return r.tenant.db.dialect.InSubquery(query) }

// ByteOrder returns what follows a text column in an order by clause, to sort by bytes.
func (r Reader) ByteOrder() string { return r.tenant.db.dialect.ByteOrder() }

// Submissions returns submissions with their states.
func (r Reader) Submissions(ctx context.Context, condition, order string, args ...any) ([]Submission, error) {
	return collect(ctx, r.q, scanSubmission, `select `+r.tenant.db.submissionColumns()+
		` from submissions where tenant_id = $1 and (`+condition+`) `+order, r.args(args)...)
}

// Evidence returns retained responses without their bodies.
func (r Reader) Evidence(ctx context.Context, condition, order string, args ...any) ([]Evidence, error) {
	return collect(ctx, r.q, func(row scanner) (Evidence, error) { return scanEvidence(row) },
		`select `+evidenceColumns+` from evidence where tenant_id = $1 and (`+condition+`) `+order, r.args(args)...)
}

// Subscriptions returns webhook subscriptions.
func (r Reader) Subscriptions(ctx context.Context, condition, order string, args ...any) ([]Subscription, error) {
	return collect(ctx, r.q, scanSubscription, `select `+subscriptionColumns+
		` from subscriptions where tenant_id = $1 and (`+condition+`) `+order, r.args(args)...)
}

// Events returns events with the exact bytes of their deliveries.
func (r Reader) Events(ctx context.Context, condition, order string, args ...any) ([]Event, error) {
	return collect(ctx, r.q, scanEvent, `select `+eventColumns+` from events where tenant_id = $1 and (`+condition+
		`) `+order, r.args(args)...)
}

// Deliveries returns webhook deliveries without their attempts.
func (r Reader) Deliveries(ctx context.Context, condition, order string, args ...any) ([]Delivery, error) {
	return collect(ctx, r.q, scanDelivery, `select `+deliveryColumns+` from deliveries where tenant_id = $1 and (`+
		condition+`) `+order, r.args(args)...)
}

// CreditNotes returns credit notes without their items and with their current submissions and states, with two queries.
func (r Reader) CreditNotes(ctx context.Context, condition, order string, args ...any) ([]CreditNoteRow, error) {
	// Only a note of the version before, which kept no count, is read with its items.
	out, err := collect(ctx, r.q, scanCreditNoteRow,
		`select `+creditNoteColumns(`case when item_count is null then items else '' end`)+`, item_count
		from credit_notes where tenant_id = $1 and (`+condition+`) `+order, r.args(args)...)
	if err != nil || len(out) == 0 {
		return out, err
	}
	byNote := make(map[ID]int, len(out))
	ids := make([]ID, len(out))
	for n := range out {
		ids[n], byNote[out[n].ID] = out[n].ID, n
	}
	list, idArgs := r.tenant.idList(ids)
	submissions, err := r.Submissions(ctx, `credit_note_id in (`+list+`) and current = 2 and outcome <> 'not_sent'`,
		``, idArgs[1:]...)
	for n := range submissions {
		out[byNote[submissions[n].CreditNote]].Submission = &submissions[n]
	}
	return out, err
}

// Customers returns entries of the customer book.
func (r Reader) Customers(ctx context.Context, condition, order string, args ...any) ([]Customer, error) {
	return bookEntries[api.CustomerFields](ctx, r, condition, order, args)
}

// CatalogueItems returns entries of the item catalogue.
func (r Reader) CatalogueItems(ctx context.Context, condition, order string, args ...any) ([]CatalogueItem, error) {
	return bookEntries[api.CatalogueItemFields](ctx, r, condition, order, args)
}

func bookEntries[F BookFields](ctx context.Context, r Reader, condition, order string,
	args []any) ([]BookEntry[F], error) {
	return collect(ctx, r.q, scanBookEntry[F], `select `+bookColumns+` from book_entries where tenant_id = $1 and (`+
		condition+`) `+order, r.args(args)...)
}

// Audit returns entries of the audit log of the tenant's account. A company has one log, which a reset of its sandbox
// keeps.
func (r Reader) Audit(ctx context.Context, condition, order string, args ...any) ([]AuditEntry, error) {
	return collect(ctx, r.q, scanAudit, `select `+auditColumns+` from audit where `+AuditOfTenant+` and (`+condition+
		`) `+order, r.args(args)...)
}

// AuditOfTenant is the condition for the audit log of the account of tenant $1.
const AuditOfTenant = `chain = (select account_id from tenants where id = $1)`

// Revisions returns revisions r of incoming e-invoices i without their documents.
func (r Reader) Revisions(ctx context.Context, condition, order string, args ...any) ([]Revision, error) {
	return collect(ctx, r.q, func(row scanner) (Revision, error) { return scanRevision(row) },
		`select `+revisionColumns+fromRevisions+`(`+condition+`) `+order, r.args(args)...)
}

// Incoming returns incoming e-invoices i in their latest revisions r.
func (r Reader) Incoming(ctx context.Context, condition, order string, args ...any) ([]Incoming, error) {
	return collect(ctx, r.q, scanIncoming, `select `+revisionColumns+fromRevisions+`r.revision = i.revision and (`+
		condition+`) `+order, r.args(args)...)
}
