package db

import (
	"context"
	"io/fs"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

// engine is one of the two databases: what differs between them, with the SQL of its [Dialect].
type engine interface {
	Dialect
	// traits returns how the database is used.
	traits() traits
	// checkSessions returns an error if the sessions of the address cannot be used as the engine uses them.
	checkSessions(ctx context.Context, log *slog.Logger) error
	// reader runs queries beside the write transactions.
	reader() Querier
	// snapshot runs fn in a read transaction, in which everything is read as of one moment.
	snapshot(ctx context.Context, fn func(ctx context.Context, q Querier) error) error
	// begin begins a write transaction.
	begin(ctx context.Context) (transaction, error)
	// lockForServing acquires the exclusive right to serve this database; see [DB.LockForServing].
	lockForServing() (release func() error, err error)
	// servedBy is [DB.ServedBy].
	servedBy(ctx context.Context, application string) (bool, error)
	// hasTable reports whether a table with that name exists.
	hasTable(ctx context.Context, name string) (bool, error)
	// violatedConstraint returns the name of the constraint or index that err violates, or "".
	violatedConstraint(err error) string
	// isRetryable reports whether err is a serialization failure or a deadlock, after which the transaction can run again.
	isRetryable(err error) bool
	// isUnavailable reports whether err concerns the database as a whole: full disk, lost connection, read-only.
	isUnavailable(err error) bool
	// migrate runs the migrations of source up to version that the database lacks, one process at a time.
	migrate(ctx context.Context, source fs.FS, version int64) error
	// pools returns the numbers of the pools of connections.
	pools() []Pool
	// backup writes a consistent copy of the database to a new file, or returns [ErrBackup].
	backup(ctx context.Context, path string) error
	// file is [DB.File], and server [DB.Server].
	file() string
	server() *pgx.ConnConfig
	// replicas returns what connects the processes that share the database; nil if only one process uses it.
	replicas() *replicas
	// close releases everything.
	close() error
}

// replicas is what the processes that share a database have in common.
type replicas struct {
	// time reads the clock of the database.
	time func(ctx context.Context) (time.Time, error)
	// notify notifies all processes with a kind.
	notify func(ctx context.Context, kind string) error
	// listen calls listening once it listens, and notified for every notification, until ctx ends or the connection
	// breaks.
	listen func(ctx context.Context, listening func(), notified func(kind string)) error
}

// traits are the numbers and properties of an engine.
type traits struct {
	name string
	// lists is how many lists and searches are read concurrently, so that reads of single rows never wait for them.
	lists int
	// writers is the number of concurrent write transactions, so that readers always find a connection. If it is 1, all
	// writes are committed together, each in a savepoint.
	writers int
	// noWriteDeadline reports that statements never wait for another machine. The contexts of transactions then have no
	// deadline, because the driver would start a goroutine for each statement to watch it.
	noWriteDeadline bool
	// singleServer reports that only one process at a time can serve this database.
	singleServer bool
}
