package store

import (
	"context"
	"database/sql"
	"io/fs"
	"time"
)

// Writer is the store's own way to write, for tests that break it.
func (db *DB) Writer() *sql.DB { return db.writer }

// Document returns what is kept of a submission as it is sent.
func Document(ctx context.Context, t *Tenant, submission ID) ([]byte, error) {
	return t.document(ctx, t.db.reader, submission)
}

// MigrateTo migrates to the schema of another version.
func (db *DB) MigrateTo(ctx context.Context, source fs.FS) error { return db.migrate(ctx, source) }

// QueryTimeout bounds a statement on PostgreSQL.
const QueryTimeout = queryTimeout

// DatabaseClock is a clock that follows another one.
type DatabaseClock struct{ *databaseClock }

// NewDatabaseClock makes one. It is to look before it is asked.
func NewDatabaseClock(local func() time.Time, ask func(context.Context) (time.Time, error)) DatabaseClock {
	return DatabaseClock{&databaseClock{local: local, ask: ask}}
}

// Now returns its time.
func (c DatabaseClock) Now() time.Time { return c.now() }

// Look compares it with the other one.
func (c DatabaseClock) Look(ctx context.Context) error { return c.look(ctx) }

// Local returns the local time at which it was last set.
func (c DatabaseClock) Local() time.Time { return c.last.Load().local }

// NewSteadyClock makes a clock that does not go back by a little.
func NewSteadyClock(ask func() time.Time) func() time.Time { return (&steadyClock{ask: ask}).now }

// watchedQuerier tells of each statement before it runs.
type watchedQuerier struct {
	querier
	watch func(query string, args []any)
}

func (w watchedQuerier) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	w.watch(query, args)
	return w.querier.QueryContext(ctx, query, args...)
}

func (w watchedQuerier) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	w.watch(query, args)
	return w.querier.QueryRowContext(ctx, query, args...)
}

// WatchDeliveries is [Tenant.Deliveries], and tells of each of its statements.
func WatchDeliveries(ctx context.Context, t *Tenant, filter DeliveryFilter, page int, watch func(query string, args []any)) error {
	_, err := t.deliveries(ctx, watchedQuerier{t.db.reader, watch}, filter, page, 25)
	return err
}

// WatchInvoices is [Tenant.Invoices] for a list that is filtered or sorted, and tells of each of its statements.
func WatchInvoices(ctx context.Context, t *Tenant, filter InvoiceFilter, page int, watch func(query string, args []any)) error {
	_, err := t.searchInvoices(ctx, watchedQuerier{t.db.reader, watch}, &filter, page, 25)
	return err
}

// EventDigests returns the digests of the events that an answer gave rise to.
func EventDigests(e Evidence) []byte { return e.events }

// VerifyThrough is VerifyEvidence with what is not committed yet.
func (db *DB) VerifyThrough(ctx context.Context, q interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, replay Replay,
) (Verified, error) {
	return db.verifyThrough(unlimited(ctx), q, replay)
}

// ReadSlowly reads a list whose statement ends only when it is interrupted.
func ReadSlowly(ctx context.Context, t *Tenant, sqlite bool) error {
	statement := `select count(*) from generate_series(1, 1000000000000)`
	if sqlite {
		statement = `with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n`
	}
	return t.list(ctx, func(ctx context.Context, q querier) error {
		var n int64
		return q.QueryRowContext(ctx, statement).Scan(&n)
	})
}

// ShortenLists bounds lists by another time than five seconds.
func (db *DB) ShortenLists(timeout time.Duration) { db.listLimit.timeout = timeout }
