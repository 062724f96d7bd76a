package base

import (
	"context"
	"time"
)

// Reader reads rows of one tenant for the lists and pages that the API and the console show. [ReadSnapshot] and
// [ReadRows] make one, for internal/front/view alone. The parameter $1 of every statement is the tenant, and the given
// arguments are the parameters from $2.
//
// The methods that are named after a fact return the facts of the tenant that a condition selects. order is what
// follows the where clause: the order and the bounds, or nothing.
type Reader struct {
	Tenant *Tenant
	Rows   Querier
}

// ReadSnapshot runs fn, which reads a list, in one snapshot of the database. The time, and how many lists of a company
// are read concurrently, are bounded: beyond that, ReadSnapshot returns [ErrUnavailable].
func ReadSnapshot(ctx context.Context, t *Tenant, fn func(ctx context.Context, r Reader) error) error {
	return t.List(ctx, func(ctx context.Context, q Querier) error { return fn(ctx, Reader{t, q}) })
}

// ReadRows runs fn, which reads a bounded number of rows, each statement as of its own moment. It never waits for
// lists.
func ReadRows(t *Tenant, fn func(r Reader) error) error {
	return t.Read(func(q Querier) error { return fn(Reader{t, q}) })
}

// Args returns the arguments of a statement: the tenant, and more.
func (r Reader) Args(more []any) []any { return append([]any{r.Tenant.ID()}, more...) }

// Query runs a query and calls scan for every row.
func (r Reader) Query(ctx context.Context, scan func(Row) error, query string, args ...any) error {
	_, err := Collect(ctx, r.Rows, func(row Row) (struct{}, error) { return struct{}{}, scan(row) }, query,
		r.Args(args)...)
	return err
}

// Now returns the time of the database.
func (r Reader) Now() time.Time { return r.Tenant.DB().Now() }

// OldestID returns the smallest identifier that can be created at a time.
func (r Reader) OldestID(at time.Time) ID { return OldestID(at) }

// InSubquery returns a condition that compares the column before it with the results of a query that returns few rows.
func (r Reader) InSubquery(query string) string { return r.Tenant.DB().Dialect().InSubquery(query) }

// ByteOrder returns what follows a text column in an order by clause, to sort by bytes.
func (r Reader) ByteOrder() string { return r.Tenant.DB().Dialect().ByteOrder() }

// SelectAudit returns entries of the audit log of the tenant's account. A company has one log, which a reset of its
// sandbox keeps.
func SelectAudit(ctx context.Context, r Reader, condition, order string, args ...any) ([]AuditEntry, error) {
	return Collect(ctx, r.Rows, ScanAudit, `select `+AuditColumns+` from audit where `+AuditOfTenant+` and (`+condition+
		`) `+order, r.Args(args)...)
}

// AuditOfTenant is the condition for the audit log of the account of tenant $1.
const AuditOfTenant = `chain = (select account_id from tenants where id = $1)`
