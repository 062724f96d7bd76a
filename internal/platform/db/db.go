// Package db runs transactions and queries on SQLite or PostgreSQL. It knows no table of the business.
//
// # What it promises
//
//   - A write ([DB.Write]) is one transaction. It is committed whole or not at all.
//   - A commit whose result is unknown, because the connection was lost, is not repeated. Its error is
//     [ErrUnavailable].
//   - A client that disconnects does not interrupt a write: the context of a write is not cancelled with that of the
//     request. A request that ends before its write has begun writes nothing.
//   - A transaction fails if one of its statements fails, even if its closure ignores the error.
//   - A write within the closure of another write is refused, because it would wait for itself.
//   - Every transaction has one time ([Tx.Now]), from a clock that all replicas share.
//
// # Group commit
//
// A durable commit costs an fsync, and on PostgreSQL round trips. Therefore writes that wait at the same time are
// committed together: on SQLite all of them, on PostgreSQL those of one [Shared] operation, whose statements they
// share. The file group.go explains how.
//
// # The two databases
//
// SQLite has one writer, a pool of readers and one more pool for lists. One process serves a database file
// ([DB.LockForServing]). The clock is that of the machine. [DB.Backup] copies the file while it is in use.
//
// PostgreSQL has one pool of connections and any number of processes. Its transactions send statements whose results
// are not needed together with the next one ([Tx.ExecDeferred]), and run again after a deadlock. The clock is that of
// the database. A notification ([Tx.Notify]) reaches the subscribers of all processes. [DB.Backup] is for SQLite alone.
//
// Package dbcopy copies either database as of one moment, and restores such a copy.
//
// Statements are written once for both, with the help of a [Dialect].
//
// # Where to begin
//
// Read [Open], then tx.go, which runs writes, and group.go. engine.go lists what an engine consists of. sqlite.go and
// postgres.go are the two engines, and transaction.go and postgres_transaction.go have their transactions; pooled.go is
// about connection pools such as PgBouncer. shared.go has writes and look-ups that share statements, lists.go the
// bounds of lists.
package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"quittance/client/api"
	"quittance/internal/platform/problem"
)

// The errors that callers distinguish. All others are internal.
var (
	// ErrNotFound says that there is no such row.
	ErrNotFound = problem.New(api.CodeNotFound, "not found")
	// ErrUnavailable says that the database as a whole cannot be used now: lost connection, full disk, read-only.
	ErrUnavailable = problem.New(api.CodeUnavailable, "database unavailable")
	// ErrAlreadyServed says that another process serves this database, and that only one can.
	ErrAlreadyServed = errors.New("another server is running on this database")
)

// Options configure a database.
type Options struct {
	// Application is the name of the sessions of this program on PostgreSQL; see [DB.ServedBy].
	Application string
	// Direct is the postgres:// URL of the server itself, if the address leads to a connection pool in transaction mode;
	// "" otherwise.
	Direct string
	// Channel is the channel of PostgreSQL on which the processes of a database notify each other.
	Channel string
	// Indexes has the names of unique indexes by their columns, such as "users.email", as SQLite gives them in its errors.
	// See [DB.ViolatedConstraint].
	Indexes map[string]string
	// Now is the clock. If nil, it is the clock of the database on PostgreSQL, which all replicas share, and Local on
	// SQLite.
	Now func() time.Time
	// Local is the clock of this machine; time.Now if nil.
	Local func() time.Time
	// Log receives events that no caller gets as an error; slog.Default if nil.
	Log *slog.Logger
	// BeforeBegin is called before every write transaction, which fails with its error. Tests use it as a database that
	// cannot be written to; nil in production.
	BeforeBegin func() error
	// BeforeCommit is called at the end of every write transaction in which [Tx.AtCommit] was called, in the transaction,
	// with what was passed to it: once for all writes that are committed together, without those that failed. What it
	// locks is locked last. If it fails, the transaction is rolled back. Nil if nothing calls AtCommit.
	BeforeCommit func(ctx context.Context, t *Tx, values []any) error
	// Trace is called with every statement of a read or a write, before it runs. Tests examine the plans of the
	// statements; nil in production. It must be safe for concurrent use.
	Trace func(statement string, args []any)
	// ObserveWrite is called when a write begins, with the context of its caller and its operation, and what it returns
	// when the write has ended; nil for none. Both must be safe for concurrent use.
	ObserveWrite func(ctx context.Context, operation string) (ended func(error))
	// Checkpoint is called at every point where a crash could leave work half done; nil in production.
	Checkpoint Checkpoint
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	engine  engine
	traits  traits
	options Options
	log     *slog.Logger
	clock   func() time.Time
	// groupCommit is the group of all writes on SQLite. It is nil on PostgreSQL, where most writes have a transaction of
	// their own, and only those of a [Shared] have groups. There writeSlots bounds the concurrent write transactions.
	groupCommit *group
	writeSlots  chan struct{}
	listLimit   *listLimiter
	// writeFailed is set if the last write failed with ErrUnavailable.
	writeFailed atomic.Bool
	notifier    *notifier
	stop        context.CancelFunc
	done        sync.WaitGroup
}

// Open opens the database at address, sqlite:PATH or postgres://…. It creates the file of a SQLite database that does
// not exist, and no tables. It returns [ErrRestoring] for the file of a SQLite database whose restore is not complete.
func Open(ctx context.Context, address string, options Options) (*DB, error) {
	if options.Log == nil {
		options.Log = slog.Default()
	}
	var opened engine
	var err error
	switch path, isSQLite := strings.CutPrefix(address, "sqlite:"); {
	case options.Direct != "" && !IsPostgres(address):
		err = ErrDirect
	case isSQLite && path != "":
		opened, err = openSQLite(ctx, path, options)
	case IsPostgres(address):
		opened, err = openPostgres(ctx, address, options)
	default:
		err = errors.New("open database: want sqlite:PATH or postgres://…")
	}
	if err != nil {
		return nil, err
	}
	if options.Trace != nil {
		opened = tracedEngine{opened, options.Trace}
	}
	d := &DB{engine: opened, traits: opened.traits(), options: options, log: options.Log,
		listLimit: newListLimiter(opened.traits().lists)}
	if d.traits.writers == 1 {
		d.groupCommit = newGroup(true)
	} else {
		d.writeSlots = make(chan struct{}, d.traits.writers)
	}
	if err := d.engine.checkSessions(ctx, d.log); err != nil { // before any statement that a connection pool could break
		return nil, errors.Join(d.Classify(err), opened.close())
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	if err := d.startClock(ctx, background); err != nil {
		stop()
		return nil, errors.Join(err, opened.close())
	}
	d.startNotifier(background)
	return d, nil
}

// Close waits for the goroutines of the database and closes it. The caller stops its workers first.
func (d *DB) Close() error {
	d.stop()
	d.done.Wait()
	return d.engine.close()
}

// Engine returns "sqlite" or "postgres", for logs and metrics.
func (d *DB) Engine() string { return d.traits.name }

// Dialect returns what differs between the SQL of the databases.
func (d *DB) Dialect() Dialect { return d.engine }

// Reader returns what runs single queries beside the writes.
func (d *DB) Reader() Querier { return d.engine.reader() }

// File returns the absolute path of the file of a SQLite database, and "" on PostgreSQL.
func (d *DB) File() string { return d.engine.file() }

// Server returns how to connect to the PostgreSQL server itself, past any pool of connections, without limits of time;
// nil on SQLite.
func (d *DB) Server() *pgx.ConnConfig { return d.engine.server() }

// LockForServing acquires the exclusive right to serve this database, and returns a function that releases it. On
// SQLite it returns [ErrAlreadyServed] while another process holds the right; on PostgreSQL it always succeeds.
// Administration commands do not need it and work beside a server.
func (d *DB) LockForServing() (release func() error, err error) { return d.engine.lockForServing() }

// SingleServer reports whether only one process at a time can serve this database.
func (d *DB) SingleServer() bool { return d.traits.singleServer }

// ServedBy reports whether programs whose [Options.Application] is application have sessions on this database. Sessions
// of SQLite have no names: there it reports whether any process serves the database.
func (d *DB) ServedBy(ctx context.Context, application string) (bool, error) {
	served, err := d.engine.servedBy(ctx, application)
	return served, d.Classify(err)
}

// WriteFailed reports whether the last write failed with [ErrUnavailable]. A database on a full disk can still be read.
func (d *DB) WriteFailed() bool { return d.writeFailed.Load() }

// databaseClosed is the text of an error that database/sql returns after Close and does not export.
const databaseClosed = "sql: database is closed"

// Classify wraps an error of the database in the exported error that describes it, and returns other errors as they
// are.
func (d *DB) Classify(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return ErrNotFound
	case errors.Is(err, context.Canceled):
		return err
	case d.engine.isUnavailable(err), strings.HasSuffix(err.Error(), databaseClosed):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// ViolatedConstraint returns the name of the unique index or constraint that err violates, or "". On SQLite that is the
// name in [Options.Indexes], or the columns if they have none there.
func (d *DB) ViolatedConstraint(err error) string {
	name := d.engine.violatedConstraint(err)
	if index, found := d.options.Indexes[name]; found {
		return index
	}
	return name
}
