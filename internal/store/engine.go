package store

import (
	"context"
	"database/sql"
	"io/fs"
	"time"
)

// engine holds everything that differs between the two databases. Statements are written once for both. Only opening a
// database and backing it up ask which of them it is.
type engine struct {
	name string
	// countSettingsTables is a query that counts the tables named settings, to recognize databases of this service.
	countSettingsTables string
	// writer runs write transactions; reader runs queries beside them. On PostgreSQL they are the same pool.
	writer, reader *sql.DB
	// listReader runs lists and searches, in read transactions with the isolation snapshotLevel, which see one moment.
	// listLimit bounds how many run concurrently, so that reads of single rows never wait for them.
	listReader    *sql.DB
	snapshotLevel sql.IsolationLevel
	listLimit     *listLimiter
	// forUpdateSkipLocked is appended to the select of a claim, so that two workers never wait for the same row. That select
	// is a materialized CTE: PostgreSQL may run a plain sub-select more than once and so claim more rows than its limit.
	forUpdateSkipLocked string
	// forUpdate is appended to a select whose rows the transaction is going to change.
	forUpdate string
	// valuesTable returns SQL for a table of given values with one column of each type, for use in a CTE or an insert. The
	// columns are the parameters from $1; [columnArg] makes their arguments. With singleRow the table has one row, otherwise
	// each parameter is an array with one element for each row.
	valuesTable func(types ...string) string
	singleRow   bool
	// inSubquery returns a condition that compares the column before it with the results of a query that returns few rows.
	// On PostgreSQL it hides the query from the planner, which cannot see the value of a limit parameter, expects many rows
	// and would read the whole table.
	inSubquery func(query string) string
	// stateEvidenceHex is an expression for the column evidence_id of states w as hexadecimal digits.
	stateEvidenceHex string
	// byteCollation is appended to a text column in an order by clause, to sort by bytes.
	byteCollation string
	// begin begins a write transaction.
	begin func(ctx context.Context) (transaction, error)
	// groupCommit is the group of all writes; nil on PostgreSQL, where most writes have a transaction of their own.
	groupCommit *group
	// batchGroups are the groups of the operations that [writeBatched] batches, by operation; nil on SQLite, where groupCommit
	// does it.
	batchGroups map[string]shards
	// tokens batches the look-ups of tokens; nil on SQLite, where each has a query of its own.
	tokens *tokenBatcher
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
	// servedByOlderVersion reports whether a server of a version without bound secrets runs on this database; see
	// [DB.BindSecrets].
	servedByOlderVersion func(ctx context.Context) (bool, error)
	// violatedConstraint returns the name of the constraint or index that err violates, or "".
	violatedConstraint func(err error) string
	// isRetryable reports whether err is a serialization failure or a deadlock, after which the transaction can run again.
	isRetryable func(err error) bool
	// isUnavailable reports whether err concerns the database as a whole: full disk, lost connection, read-only.
	isUnavailable func(err error) bool
	// serverTime reads the clock of the database; nil if that is the clock of this machine.
	serverTime func(ctx context.Context) (time.Time, error)
	// notify notifies the other replicas of work of a kind; nil if there cannot be any.
	notify func(ctx context.Context, kind string) error
	// listen calls notified with the kind of each notification until ctx ends; nil if there are no other replicas.
	listen func(ctx context.Context, notified func(kind string)) error
	// migrate brings the schema up to date with the migrations of source, one process at a time.
	migrate func(ctx context.Context, source fs.FS) error
	// backup writes a consistent copy of the database into an empty file; nil if the database has tools of its own.
	backup func(ctx context.Context, path string) error
	// close releases everything.
	close func() error
}
