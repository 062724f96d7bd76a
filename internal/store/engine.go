package store

import (
	"context"
	"database/sql"
	"io/fs"
	"time"
)

// engine is everything in which the two databases differ. Statements are written once; no other file asks which
// engine it runs on.
type engine struct {
	name string
	// schema counts the tables called settings, to tell a database of this service from any other.
	schema string
	// writer runs write transactions; reader runs queries beside them. On PostgreSQL they are the same pool.
	writer, reader *sql.DB
	// lists runs lists and searches, in transactions of the isolation snapshotLevel that see one moment; listLimit bounds how
	// many there are at a time. What reads single rows never waits for them.
	lists         *sql.DB
	snapshotLevel sql.IsolationLevel
	listLimit     *listLimiter
	// claim is appended to the select of a claim, so that two workers never wait for one row. That select is a
	// materialized expression: PostgreSQL may run a plain sub-select more than once and claim more than its limit.
	claim string
	// lock is appended to a select whose rows this transaction is going to change.
	lock string
	// rows begins or ends a statement: it is the rows of a table that is given as parameters from $1, one for each column, of
	// these types. It has one row where single says so, and otherwise as many as each parameter has elements; see [column].
	rows   func(types ...string) string
	single bool
	// among compares the column before it with what a query finds, which is little, whatever the planner thinks: for as many
	// rows as it expects of a limit that it does not know, PostgreSQL would rather read the whole table.
	among func(query string) string
	// stateEvidence is an expression: the column evidence_id of states w, as hexadecimal digits.
	stateEvidence string
	// inBytes is appended to a column of text that is sorted by: the order is that of its bytes.
	inBytes string
	// begin begins a write transaction.
	begin func(ctx context.Context) (transaction, error)
	// everything commits all writes, in savepoints; nil where most are committed alone.
	everything *group
	// shared are the groups of the facts whose statements many writes share; nil where there is everything.
	shared map[string]shards
	// lookups gathers the look-ups of tokens; nil where each is made by itself.
	lookups *lookups
	// places bounds how many transactions write at once, so that readers find a connection; nil where groups do.
	places chan struct{}
	// patient tells that a statement never waits for another machine. Its context then has no end: the driver would
	// start a goroutine for each statement to watch it.
	patient bool
	// singleServer reports that only one process at a time can serve this database.
	singleServer bool
	// serve takes the right to serve this database; see [DB.Serve].
	serve func() (release func() error, err error)
	// older tells whether a server of a version that knows no bound secrets runs on this database; see [DB.BindSecrets].
	older func(ctx context.Context) (bool, error)
	// constraint returns the name of the constraint or index that err violates, or "".
	constraint func(err error) string
	// retry tells that a transaction failed only because of its neighbours and may be run again.
	retry func(err error) bool
	// unavailable tells that err speaks of the database as a whole: full disk, lost connection, read-only.
	unavailable func(err error) bool
	// time reads the database's own clock; nil when it has none but this machine's.
	time func(ctx context.Context) (time.Time, error)
	// notify tells the other replicas that there is work of a kind; nil when there are no others.
	notify func(ctx context.Context, kind string) error
	// listen calls wake with a kind until ctx ends; nil when there are no other replicas.
	listen func(ctx context.Context, wake func(kind string)) error
	// migrate brings the schema up to date with the migrations of source, one process at a time.
	migrate func(ctx context.Context, source fs.FS) error
	// backup writes a copy of the database as it stands at one moment into an empty file; nil where the database has its
	// own ways.
	backup func(ctx context.Context, path string) error
	// close releases everything.
	close func() error
}
