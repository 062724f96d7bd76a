package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// querier runs queries: the reader pool and every transaction are one.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// tx is the write transaction of one operation, or of several that share their statements. If one of its statements fails, the
// transaction fails, even if the closure ignores the error, so that both databases behave alike.
type tx struct {
	transaction
	db             *DB
	actor          Actor // on whose behalf it writes
	notifications  map[Work]bool
	firstErr       error // the error of the first statement that failed
	at             time.Time
	unwrittenUsage map[ID]usage // changes of quota counters that are not written yet; see [tx.use]
}

// now returns the time of the transaction: the time of the first call, which usually comes after the transaction has taken its
// first locks. Everything written in the transaction has this time, so that no event is dated before its evidence. Writes that
// share their statements share it too.
func (t *tx) now() time.Time {
	if t.at.IsZero() {
		t.at = t.db.now()
	}
	return t.at
}

func (db *DB) newTx(begun transaction) *tx {
	return &tx{transaction: begun, db: db, notifications: map[Work]bool{}}
}

// errStatementFailed says that a closure returned no error although one of its statements had failed.
var errStatementFailed = errors.New("a statement of the transaction has failed")

// run calls the closure of a write and writes the quota counters that it changed.
func (t *tx) run(ctx context.Context, fn func(ctx context.Context, t *tx) error) error {
	err := fn(withinWrite(ctx), t)
	if err == nil {
		err = t.writeUsage(ctx)
	}
	if err == nil && t.firstErr != nil {
		err = fmt.Errorf("%w: %w", errStatementFailed, t.firstErr)
	}
	if err == nil {
		return nil
	}
	return t.RootError(err)
}

func (t *tx) recordFailure(err error) error {
	if err != nil && t.firstErr == nil {
		t.firstErr = err
	}
	return err
}

// ExecContext implements [transaction].
func (t *tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	result, err := t.transaction.ExecContext(ctx, query, args...)
	return result, t.recordFailure(err)
}

// QueryContext implements [transaction].
func (t *tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := t.transaction.QueryContext(ctx, query, args...)
	return rows, t.recordFailure(err)
}

// QueryRowContext implements [transaction].
func (t *tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	row := t.transaction.QueryRowContext(ctx, query, args...)
	_ = t.recordFailure(row.Err()) // the caller gets it again when it scans the row
	return row
}

// ExecDeferred implements [transaction].
func (t *tx) ExecDeferred(ctx context.Context, query string, args ...any) error {
	return t.recordFailure(t.transaction.ExecDeferred(ctx, query, args...))
}

// notify notifies the workers of a kind once the transaction is committed.
func (t *tx) notify(kind Work) { t.notifications[kind] = true }

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := t.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// rowsPerInsert bounds the rows of one statement, and so the number of statements that differ only in their number of rows.
const rowsPerInsert = 16

// insert inserts rows with as few deferred statements as possible. into is the statement up to and including the keyword
// values; suffix is what follows the rows, such as a conflict clause.
func (t *tx) insert(ctx context.Context, into string, rows [][]any, suffix string) error {
	for chunk := range slices.Chunk(rows, rowsPerInsert) {
		query, args := strings.Builder{}, make([]any, 0, len(chunk)*len(chunk[0]))
		query.WriteString(into)
		for n, row := range chunk {
			separator := " ("
			if n > 0 {
				separator = ", ("
			}
			for _, value := range row {
				query.WriteString(separator)
				separator = ", "
				args = append(args, value)
				query.WriteString(parameter(len(args)))
			}
			query.WriteString(")")
		}
		query.WriteString(suffix)
		if err := t.ExecDeferred(ctx, query.String(), args...); err != nil {
			return err
		}
	}
	return nil
}

// write runs fn in a transaction and commits it. operation is the name of the transaction, for [Checkpoint]. fn may run more
// than once: it resets the variables that it returns results in, and has no effects outside the transaction. write and
// [writeBatched] are the only ways to write, so this file alone decides how transactions are committed.
func (db *DB) write(ctx context.Context, operation string, fn func(ctx context.Context, t *tx) error) error {
	if err := refuseNestedWrite(ctx); err != nil {
		return err
	}
	// Writes that are committed together run with the context of one of them, so the actor is taken from the context here.
	actor, run := ActorOf(ctx), fn
	fn = func(ctx context.Context, t *tx) error {
		t.actor = actor
		return run(ctx, t)
	}
	if db.groupCommit != nil {
		return db.writeInGroup(ctx, db.groupCommit, &pendingWrite{operation: operation, fn: fn})
	}
	notifications, err := db.writeAlone(ctx, operation, fn)
	return db.finishWrite(notifications, err)
}

// errNestedWrite says that a write began within the closure of another write, for which it would wait forever.
var errNestedWrite = errors.New("nested write")

type withinWriteKey struct{}

// withinWrite returns the context for the closure of a write.
func withinWrite(ctx context.Context) context.Context {
	return context.WithValue(ctx, withinWriteKey{}, true)
}

// refuseNestedWrite returns [errNestedWrite] if ctx comes from [withinWrite].
func refuseNestedWrite(ctx context.Context) error {
	if ctx.Value(withinWriteKey{}) != nil {
		return errNestedWrite
	}
	return nil
}

// writeBatched is write for an operation that often runs concurrently: run executes it for all members, with shared statements
// where possible, and stores each result in its member. run is called with a single member on SQLite, in a transaction that t
// has joined, and again for each member after it returned an error for several. owner is the owner of the rows that the write
// locks: the writes of one owner never wait for each other. size is the size of member in bytes.
func writeBatched[M any](ctx context.Context, t *Tenant, owner ID, operation string, member M, size int, run func(ctx context.Context, tx *tx, members []M) error) error {
	single := func(ctx context.Context, tx *tx) error { return run(ctx, tx, []M{member}) }
	if t == nil || t.db == nil || t.tx != nil || t.db.batchGroups == nil {
		return t.write(ctx, operation, single)
	}
	if err := refuseNestedWrite(ctx); err != nil {
		return err
	}
	return t.db.writeInGroup(ctx, t.db.batchGroups[operation].forOwner(owner), &pendingWrite{operation: operation, fn: single, payload: member, size: size,
		runBatch: func(ctx context.Context, tx *tx, batch []*pendingWrite) error {
			members := make([]M, len(batch))
			for n, p := range batch {
				members[n] = p.payload.(M) //nolint:forcetypeassert // an operation has members of one type
			}
			return run(ctx, tx, members)
		}})
}

// columnArg returns the argument for one column of [engine.valuesTable].
func columnArg[M, T any](db *DB, members []M, value func(M) T) any {
	if db.singleRow {
		return value(members[0])
	}
	values := make([]T, len(members))
	for n, member := range members {
		values[n] = value(member)
	}
	return values
}

// writeContext returns the context for a transaction. It is not cancelled with the request, because a client that disconnects
// must not interrupt a write, but it has a time-out.
func (db *DB) writeContext(request context.Context) (context.Context, context.CancelFunc) {
	ctx := context.WithoutCancel(request)
	if db.noWriteDeadline {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, writeTimeout)
}

// acquireWriteSlot waits for one of the slots for concurrent writers.
func (db *DB) acquireWriteSlot(request, ctx context.Context) (release func(), err error) {
	if db.writeSlots == nil {
		return func() {}, nil
	}
	select {
	case db.writeSlots <- struct{}{}:
		return func() { <-db.writeSlots }, nil
	case <-request.Done():
		return nil, request.Err() // nothing was written
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// writeAlone runs fn in a transaction of its own, and repeats it after serialization failures and deadlocks.
func (db *DB) writeAlone(request context.Context, operation string, fn func(ctx context.Context, t *tx) error) (map[Work]bool, error) {
	ctx, cancel := db.writeContext(request)
	defer cancel()
	release, err := db.acquireWriteSlot(request, ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	const tries = 5
	for try := 1; ; try++ {
		notifications, err := db.writeOnce(ctx, operation, fn)
		if expired := ctx.Err(); err != nil && expired != nil {
			err = fmt.Errorf("%w: %w", expired, err) // database/sql may say no more than that the transaction has ended
		}
		if err == nil || try == tries || !db.isRetryable(err) {
			return notifications, err
		}
	}
}

// finishWrite sends the notifications of a write that was committed and classifies the error of one that was not.
func (db *DB) finishWrite(notifications map[Work]bool, err error) error {
	err = db.classify(err)
	switch {
	case err == nil:
		db.unwritable.Store(false)
		for kind := range notifications {
			db.notifier.notify(kind)
		}
	case errors.Is(err, ErrUnavailable):
		db.unwritable.Store(true)
	}
	return err
}

func (db *DB) writeOnce(ctx context.Context, operation string, fn func(ctx context.Context, t *tx) error) (_ map[Work]bool, err error) {
	begun, err := db.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	committed := false
	defer func() {
		if committed {
			return
		}
		// Also if fn panics, so that the connection returns to its pool without a transaction.
		if rollback := begun.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			err = errors.Join(err, fmt.Errorf("rollback: %w", rollback))
		}
	}()
	t := db.newTx(begun)
	if err := t.run(ctx, fn); err != nil {
		return nil, err
	}
	db.Checkpoint(Before, operation)
	if err := begun.Commit(); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	committed = true
	db.Checkpoint(After, operation)
	return t.notifications, nil
}

// collect runs a query and scans every row.
func collect[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) (_ []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := []T{}
	for rows.Next() {
		value, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, rows.Err()
}

// scanner is a row of a result.
type scanner interface{ Scan(dest ...any) error }
