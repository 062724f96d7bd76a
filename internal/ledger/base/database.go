package base

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	sqldb "quittance/internal/platform/db"
)

// WriteTimeout bounds every write.
const WriteTimeout = sqldb.WriteTimeout

type (
	// Querier runs queries.
	Querier = sqldb.Querier
	// Row is one row of a result.
	Row = sqldb.Row
)

// Tx is the write transaction of one operation, or of several that share their statements.
type Tx struct {
	*sqldb.Tx
	DB             *DB
	Actor          Actor        // on whose behalf it writes; zero for operations that share their statements
	unwrittenUsage map[ID]Usage // changes of quota counters that are not written yet; see [Tx.Use]
}

// runTx runs fn in the transaction in, which has begun, and writes the quota counters that it changed.
func (db *DB) runTx(ctx context.Context, in *sqldb.Tx, actor Actor, fn func(ctx context.Context, t *Tx) error) error {
	t := &Tx{Tx: in, DB: db, Actor: actor}
	if err := fn(ctx, t); err != nil {
		return err
	}
	return t.writeUsage(ctx)
}

// Deferred is something that a write leaves to the end of its transaction. What is committed together is written
// together there, so that each counter and each chain of the audit log is locked once, and as late as possible.
type Deferred interface {
	// Rank says when it is written.
	Rank() Rank
	// WriteAll writes everything of the receiver's rank that the transaction defers. The receiver is the first of it.
	WriteAll(ctx context.Context, t *Tx, all []Deferred) error
}

// Rank is the order of what is deferred. It is the same in every transaction, which prevents deadlocks.
type Rank int

// The ranks, the earliest first.
const (
	RankCounters Rank = iota
	RankNotices
	RankTenants
	RankAudit
	ranks
)

// Defer leaves a write to the end of the transaction; nothing is written if the transaction fails.
func (t *Tx) Defer(d Deferred) { t.AtCommit(d) }

// writeAtCommit writes what the writes of a transaction have deferred.
func (db *DB) writeAtCommit(ctx context.Context, in *sqldb.Tx, values []any) error {
	var all [ranks][]Deferred
	for _, value := range values {
		d, ok := value.(Deferred)
		if !ok {
			return fmt.Errorf("nobody writes %T at the commit", value)
		}
		all[d.Rank()] = append(all[d.Rank()], d)
	}
	t := &Tx{Tx: in, DB: db}
	for _, deferred := range all {
		if len(deferred) == 0 {
			continue
		}
		if err := deferred[0].WriteAll(ctx, t, deferred); err != nil {
			return err
		}
	}
	return nil
}

// Write runs fn in a transaction and commits it; see [sqldb.DB.Write].
func (db *DB) Write(ctx context.Context, operation string, fn func(ctx context.Context, t *Tx) error) error {
	actor := ActorOf(ctx) // writes that are committed together run with the context of one of them
	return db.database.Write(ctx, operation,
		func(ctx context.Context, in *sqldb.Tx) error { return db.runTx(ctx, in, actor, fn) })
}

// SharedOperation is an operation whose waiting writes share their statements; see [WriteShared].
type SharedOperation struct {
	Name string
	// Groups is how many groups of writes are committed at the same time, from 1. A write that waits for a locked row
	// delays only those of its own group.
	Groups int
}

// share returns the queue of the waiting writes of an operation.
func (db *DB) share(operation SharedOperation) *sqldb.Shared {
	db.sharing.Lock()
	defer db.sharing.Unlock()
	shared := db.shared[operation]
	if shared == nil {
		shared = db.database.Share(operation.Name, operation.Groups)
		db.shared[operation] = shared
	}
	return shared
}

// WriteShared is [Tenant.Write] for one write of an operation whose writes share their statements; see
// [sqldb.WriteShared]. owner is the owner of the rows that the write locks, size the size of member in bytes.
func WriteShared[M any](ctx context.Context, t *Tenant, owner ID, operation SharedOperation, member M, size int,
	run func(ctx context.Context, tx *Tx, members []M) error) error {
	if t == nil || t.db == nil {
		return ErrNoTenant
	}
	if t.tx != nil {
		return run(ctx, t.tx, []M{member})
	}
	return sqldb.WriteShared(ctx, t.db.share(operation), owner, member, size,
		func(ctx context.Context, in *sqldb.Tx, members []M) error {
			return t.db.runTx(ctx, in, Actor{}, func(ctx context.Context, tx *Tx) error { return run(ctx, tx, members) })
		})
}

// Notify notifies the workers of a kind once the transaction is committed.
func (t *Tx) Notify(kind Work) { t.Tx.Notify(string(kind)) }

// ScanValue reads a row with a single column.
func ScanValue[T any](row Row) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// Behind returns a row whose first columns have destinations of their own: its Scan gets those of the others.
func Behind(row Row, first ...any) Row { return behind{row, first} }

type behind struct {
	Row
	first []any
}

func (b behind) Scan(dest ...any) error { return b.Row.Scan(append(b.first, dest...)...) }

// Collect is [sqldb.Collect].
func Collect[T any](ctx context.Context, q Querier, scan func(Row) (T, error), query string,
	args ...any) ([]T, error) {
	return sqldb.Collect(ctx, q, scan, query, args...)
}

// RowArgs returns [sqldb.RowArgs], followed by more arguments.
func RowArgs[M any](db *DB, members []M, row func(M) []any, more ...any) []any {
	return append(sqldb.RowArgs(db.dialect, members, row), more...)
}

// Classify is [sqldb.DB.Classify].
func (db *DB) Classify(err error) error { return db.database.Classify(err) }

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
	Moment = sqldb.Moment
	// Checkpoint is called before and after every irreversible step.
	Checkpoint = sqldb.Checkpoint
	// Panic is a panic of a write, carried to the goroutine that asked for it.
	Panic = sqldb.Panic
)

// The moments of a step.
const (
	Before = sqldb.Before
	After  = sqldb.After
)

// Checkpoint calls the function given in [Options.Checkpoint]. Packages that use the network to work on rows of the
// store call it around every exchange.
func (db *DB) Checkpoint(moment Moment, step string) { db.database.Checkpoint(moment, step) }

// Now returns the time, to the microsecond, by the clock that leases, expiries and due times use: the clock of the
// database on PostgreSQL, which all replicas share, and the clock of this machine on SQLite, unless [Options.Now]
// replaces it.
func (db *DB) Now() time.Time { return db.database.Now() }

// Close waits for the goroutines of the database and closes the database. The caller stops its workers first.
func (db *DB) Close() error { return db.database.Close() }

// Engine returns "sqlite" or "postgres", for logs and metrics.
func (db *DB) Engine() string { return db.database.Engine() }

// SingleServer reports whether only one process at a time can serve this database.
func (db *DB) SingleServer() bool { return db.database.SingleServer() }

// ErrAlreadyServed says that another process serves this database, and that only one can.
var ErrAlreadyServed = sqldb.ErrAlreadyServed

// ErrPooled and ErrOtherServer say that the address of the database, or that of the server behind a connection pool, is
// wrong.
var (
	ErrPooled      = sqldb.ErrPooled
	ErrOtherServer = sqldb.ErrOtherServer
)

// LockForServing acquires the exclusive right to serve this database, and returns a function that releases it. On
// SQLite it returns [ErrAlreadyServed] while another process holds the right; on PostgreSQL it always succeeds.
// Administration commands do not need it and work beside a server.
func (db *DB) LockForServing() (release func() error, err error) {
	return db.database.LockForServing()
}

// ErrBackup says that the database is not one file; see [ledger.CopyOut].
var ErrBackup = sqldb.ErrBackup

// Backup writes a copy of the database to a new file while servers are running; see [sqldb.DB.Backup].
func (db *DB) Backup(ctx context.Context, path string) error { return db.database.Backup(ctx, path) }

// ErrUnverifiedServer says that a connection to PostgreSQL could be read or answered by somebody else on the network.
var ErrUnverifiedServer = sqldb.ErrUnverifiedServer

// RequireVerifiedServer returns [ErrUnverifiedServer] for an address of PostgreSQL whose server is not verified; see
// [sqldb.RequireVerifiedServer].
func RequireVerifiedServer(address string) error { return sqldb.RequireVerifiedServer(address) }

// IsPostgres reports whether an address names a PostgreSQL database.
func IsPostgres(address string) bool { return sqldb.IsPostgres(address) }

// IndexSubmissionNumber is the index that the loser of a race for an invoice number violates. The winner is read after
// the transaction.
const IndexSubmissionNumber = "submissions_number"

// IgnoreMissing returns nil for [sql.ErrNoRows]: the row was removed meanwhile, and [proof.verification.findOrphans]
// finds what is left of it.
func IgnoreMissing(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// MicrosOrNil is [Micros] for an optional time.
func MicrosOrNil(at *time.Time) *int64 {
	if at == nil {
		return nil
	}
	return new(Micros(*at))
}
