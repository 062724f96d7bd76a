package db

import (
	"context"
	"io/fs"
	"time"
)

// engine holds everything that differs between the two databases, except the SQL of its [Dialect].
type engine struct {
	Dialect
	name string
	// reader runs queries beside the write transactions.
	reader Querier
	// snapshot runs fn in a read transaction, which sees one moment. listLimit bounds how many lists do so concurrently, so that
	// reads of single rows never wait for them.
	snapshot  func(ctx context.Context, fn func(ctx context.Context, q Querier) error) error
	listLimit *listLimiter
	// begin begins a write transaction.
	begin func(ctx context.Context) (transaction, error)
	// groupCommit is the group of all writes; nil on PostgreSQL, where most writes have a transaction of their own, and only
	// those of a [Shared] have groups.
	groupCommit *group
	// writeSlots bounds the concurrent write transactions, so that readers always find a connection; nil on SQLite, which has
	// one writer.
	writeSlots chan struct{}
	// noWriteDeadline reports that statements never wait for another machine. The contexts of transactions then have no
	// deadline, because the driver would start a goroutine for each statement to watch it.
	noWriteDeadline bool
	// singleServer reports that only one process at a time can serve this database.
	singleServer bool
	// lockForServing acquires the exclusive right to serve this database; see [DB.LockForServing].
	lockForServing func() (release func() error, err error)
	// servedBy is [DB.ServedBy].
	servedBy func(ctx context.Context, application string) (bool, error)
	// hasTable reports whether a table with that name exists.
	hasTable func(ctx context.Context, name string) (bool, error)
	// violatedConstraint returns the name of the constraint or index that err violates, or "".
	violatedConstraint func(err error) string
	// isRetryable reports whether err is a serialization failure or a deadlock, after which the transaction can run again.
	isRetryable func(err error) bool
	// isUnavailable reports whether err concerns the database as a whole: full disk, lost connection, read-only.
	isUnavailable func(err error) bool
	// serverTime reads the clock of the database; nil if that is the clock of this machine.
	serverTime func(ctx context.Context) (time.Time, error)
	// notify notifies the other replicas with a kind; nil if there cannot be any.
	notify func(ctx context.Context, kind string) error
	// listen calls notified with the kind of each notification until ctx ends; nil if there are no other replicas.
	listen func(ctx context.Context, notified func(kind string)) error
	// migrate runs the migrations of source that the database lacks, one process at a time.
	migrate func(ctx context.Context, source fs.FS) error
	// backup writes a consistent copy of the database into an empty file; nil if the database has tools of its own.
	backup func(ctx context.Context, path string) error
	// close releases everything.
	close func() error
}
