package store

import (
	"context"
	"fmt"
	"time"

	base "quittance/internal/db"
)

// This file connects the store to package db: writes on behalf of an actor, which count what they add to the quotas of
// companies, and what other packages need of the database.

// writeTimeout bounds every write.
const writeTimeout = base.WriteTimeout

// querier runs queries; scanner is a row of a result.
type (
	querier = base.Querier
	scanner = base.Row
)

// tx is the write transaction of one operation, or of several that share their statements.
type tx struct {
	*base.Tx
	db             *DB
	actor          Actor        // on whose behalf it writes; zero for operations that share their statements
	unwrittenUsage map[ID]usage // changes of quota counters that are not written yet; see [tx.use]
}

// runTx runs fn in the transaction in, which has begun, and writes the quota counters that it changed.
func (db *DB) runTx(ctx context.Context, in *base.Tx, actor Actor, fn func(ctx context.Context, t *tx) error) error {
	t := &tx{Tx: in, db: db, actor: actor}
	if err := fn(ctx, t); err != nil {
		return err
	}
	return t.writeUsage(ctx)
}

// writeAtCommit writes what the writes of a transaction passed to [base.Tx.AtCommit]. All writes that are committed
// together share it, so that each counter and each chain of the audit log is locked and written once.
func (db *DB) writeAtCommit(ctx context.Context, in *base.Tx, values []any) error {
	t := &tx{Tx: in, db: db}
	changes, entries, notices := counters{}, []*AuditEntry(nil), map[noticed]int64{}
	var tenants []tenantChange
	for _, value := range values {
		switch value := value.(type) {
		case *AuditEntry:
			entries = append(entries, value)
		case recounted:
			changes.add(value.tenant, value.before, -1)
			changes.add(value.tenant, value.after, 1)
		case counters:
			changes.merge(value)
		case noticed:
			notices[value]++
		case tenantChange:
			tenants = append(tenants, value)
		default:
			return fmt.Errorf("nobody writes %T at the commit", value)
		}
	}
	if err := t.writeCounts(ctx, changes); err != nil {
		return err
	}
	if err := t.writeNotices(ctx, notices); err != nil {
		return err
	}
	if err := t.writeTenantSet(ctx, tenants); err != nil || len(entries) == 0 {
		return err
	}
	return t.writeAudit(ctx, entries)
}

// write runs fn in a transaction and commits it; see [base.DB.Write].
func (db *DB) write(ctx context.Context, operation string, fn func(ctx context.Context, t *tx) error) error {
	actor := ActorOf(ctx) // writes that are committed together run with the context of one of them
	return db.database.Write(ctx, operation,
		func(ctx context.Context, in *base.Tx) error { return db.runTx(ctx, in, actor, fn) })
}

// writeShared is [Tenant.write] for one write of an operation whose writes share their statements; see
// [base.WriteShared]. owner is the owner of the rows that the write locks, size the size of member in bytes.
func writeShared[M any](ctx context.Context, t *Tenant, owner ID, operation string, member M, size int,
	run func(ctx context.Context, tx *tx, members []M) error) error {
	if t == nil || t.db == nil {
		return ErrNoTenant
	}
	if t.tx != nil {
		return run(ctx, t.tx, []M{member})
	}
	return base.WriteShared(ctx, t.db.shared[operation], owner, member, size,
		func(ctx context.Context, in *base.Tx, members []M) error {
			return t.db.runTx(ctx, in, Actor{}, func(ctx context.Context, tx *tx) error { return run(ctx, tx, members) })
		})
}

// notify notifies the workers of a kind once the transaction is committed.
func (t *tx) notify(kind Work) { t.Notify(string(kind)) }

// scanValue reads a row with a single column.
func scanValue[T any](row scanner) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// collect is [base.Collect].
func collect[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string,
	args ...any) ([]T, error) {
	return base.Collect(ctx, q, scan, query, args...)
}

// rowArgs returns [base.RowArgs], followed by more arguments.
func rowArgs[M any](db *DB, members []M, row func(M) []any, more ...any) []any {
	return append(base.RowArgs(db.dialect, members, row), more...)
}

// classify is [base.DB.Classify].
func (db *DB) classify(err error) error { return db.database.Classify(err) }

// Work is a kind of work that a commit can make due.
type Work string

// The kinds of work.
const (
	WorkSubmissions Work = "submissions"
	WorkDeliveries  Work = "deliveries"
	WorkPurchases   Work = "purchases"
	WorkMails       Work = "mails"
)

// Subscribe returns a channel that receives after commits that made work of kind due, and a function that ends the
// subscription.
func (db *DB) Subscribe(kind Work) (<-chan struct{}, func()) {
	return db.database.Subscribe(string(kind))
}

// ClockMoved notifies the subscribers of every kind of work in this process: work can be due because somebody has moved
// the clock of [Options].
func (db *DB) ClockMoved() {
	for _, kind := range []Work{WorkSubmissions, WorkDeliveries, WorkPurchases, WorkMails} {
		db.database.NotifyLocal(string(kind))
	}
}

// Moment, Checkpoint and Panic are those of package db.
type (
	// Moment is one side of an irreversible step.
	Moment = base.Moment
	// Checkpoint is called before and after every irreversible step.
	Checkpoint = base.Checkpoint
	// Panic is a panic of a write, carried to the goroutine that asked for it.
	Panic = base.Panic
)

// The moments of a step.
const (
	Before = base.Before
	After  = base.After
)

// Checkpoint calls the function given in [Options.Checkpoint]. Packages that use the network to work on rows of the
// store call it around every exchange.
func (db *DB) Checkpoint(moment Moment, step string) { db.database.Checkpoint(moment, step) }

// Now returns the time, to the microsecond, by the clock that leases, expiries and due times use: the clock of the
// database on PostgreSQL, which all replicas share, and the clock of this machine on SQLite, unless [Options.Now]
// replaces it.
func (db *DB) Now() time.Time { return db.database.Now() }

// Close waits for the goroutines of the store and closes the database. The caller stops its workers first.
func (db *DB) Close() error { return db.database.Close() }

// Engine returns "sqlite" or "postgres", for logs and metrics.
func (db *DB) Engine() string { return db.database.Engine() }

// SingleServer reports whether only one process at a time can serve this database.
func (db *DB) SingleServer() bool { return db.database.SingleServer() }

// ErrAlreadyServed says that another process serves this database, and that only one can.
var ErrAlreadyServed = base.ErrAlreadyServed

// ErrPooled and ErrOtherServer say that the address of the database, or that of the server behind a connection pool, is
// wrong.
var (
	ErrPooled      = base.ErrPooled
	ErrOtherServer = base.ErrOtherServer
)

// LockForServing acquires the exclusive right to serve this database, and returns a function that releases it. On
// SQLite it returns [ErrAlreadyServed] while another process holds the right; on PostgreSQL it always succeeds.
// Administration commands do not need it and work beside a server.
func (db *DB) LockForServing() (release func() error, err error) { return db.database.LockForServing() }

// ErrBackup says that the database is not one file; see [DB.CopyOut].
var ErrBackup = base.ErrBackup

// Backup writes a copy of the database to a new file while servers are running; see [base.DB.Backup].
func (db *DB) Backup(ctx context.Context, path string) error { return db.database.Backup(ctx, path) }

// ErrUnverifiedServer says that a connection to PostgreSQL could be read or answered by somebody else on the network.
var ErrUnverifiedServer = base.ErrUnverifiedServer

// RequireVerifiedServer returns [ErrUnverifiedServer] for an address of PostgreSQL whose server is not verified; see
// [base.RequireVerifiedServer].
func RequireVerifiedServer(address string) error { return base.RequireVerifiedServer(address) }

// IsPostgres reports whether an address names a PostgreSQL database.
func IsPostgres(address string) bool { return base.IsPostgres(address) }
