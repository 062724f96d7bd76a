package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Tx is the write transaction of one operation, or of several that share their statements. If one of its statements
// fails, the transaction fails, even if the closure ignores the error, so that both databases behave alike.
type Tx struct {
	begun         transaction
	db            *DB
	notifications map[string]bool
	firstErr      error // the error of the first statement that failed
	at            time.Time
	atCommit      []any // what AtCommit was called with
}

// Now returns the time of the transaction: the time of the first call, which usually comes after the transaction has
// taken its first locks. Everything written in the transaction has this time, so that no event is dated before its
// evidence. Writes that share their statements share it too.
func (t *Tx) Now() time.Time {
	if t.at.IsZero() {
		t.at = t.db.Now()
	}
	return t.at
}

func (d *DB) newTx(begun transaction) *Tx {
	return &Tx{begun: begun, db: d, notifications: map[string]bool{}}
}

// errStatementFailed says that a closure returned no error although one of its statements had failed.
var errStatementFailed = errors.New("a statement of the transaction has failed")

// run calls the closure of a write.
func (t *Tx) run(ctx context.Context, fn func(ctx context.Context, t *Tx) error) error {
	err := fn(withinWrite(ctx), t)
	if err == nil && t.firstErr != nil {
		err = fmt.Errorf("%w: %w", errStatementFailed, t.firstErr)
	}
	if err == nil {
		return nil
	}
	return t.begun.RootError(err)
}

func (t *Tx) recordFailure(err error) error {
	if err != nil && t.firstErr == nil && !errors.Is(err, sql.ErrNoRows) {
		t.firstErr = err
	}
	return err
}

// QueryContext implements [Querier].
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (Rows, error) {
	rows, err := t.begun.QueryContext(ctx, query, args...)
	return rows, t.recordFailure(err)
}

// QueryRowContext implements [Querier].
func (t *Tx) QueryRowContext(ctx context.Context, query string, args ...any) Row {
	return recordedRow{t.begun.QueryRowContext(ctx, query, args...), t}
}

// recordedRow is a row whose error makes its transaction fail.
type recordedRow struct {
	Row
	t *Tx
}

// Scan implements [Row].
func (r recordedRow) Scan(dest ...any) error { return r.t.recordFailure(r.Row.Scan(dest...)) }

// Exec runs a statement and returns how many rows it changed.
func (t *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	changed, err := t.begun.Exec(ctx, query, args...)
	return changed, t.recordFailure(err)
}

// ExecDeferred runs a statement whose result is not needed: now, before the next statement, or with the commit. Its
// error may appear there too.
func (t *Tx) ExecDeferred(ctx context.Context, query string, args ...any) error {
	return t.recordFailure(t.begun.ExecDeferred(ctx, query, args...))
}

// Notify notifies the subscribers of a kind once the transaction is committed; see [DB.Subscribe].
func (t *Tx) Notify(kind string) { t.notifications[kind] = true }

// AtCommit passes a value to [Options.BeforeCommit] unless the write fails.
func (t *Tx) AtCommit(value any) { t.atCommit = append(t.atCommit, value) }

// beforeCommit calls [Options.BeforeCommit] for the values of the writes of a transaction, if there are any.
func (d *DB) beforeCommit(ctx context.Context, begun transaction, values []any) error {
	if len(values) == 0 {
		return nil
	}
	return d.newTx(begun).run(ctx, func(ctx context.Context,
		t *Tx) error {
		return d.options.BeforeCommit(ctx, t, values)
	})
}

// rowsPerInsert bounds the rows of one statement, and so the number of statements that differ only in their number of
// rows.
const rowsPerInsert = 16

// Insert inserts rows with as few deferred statements as possible. into is the statement up to and including the
// keyword values; suffix is what follows the rows, such as a conflict clause.
func (t *Tx) Insert(ctx context.Context, into string, rows [][]any, suffix string) error {
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
				query.WriteString(Parameter(len(args)))
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

// Write runs fn in a transaction and commits it. operation is the name of the transaction, for [DB.Checkpoint]. fn may
// run more than once: it resets the variables that it returns results in, and has no effects outside the transaction.
// Write and [WriteShared] are the only ways to write.
func (d *DB) Write(ctx context.Context, operation string, fn func(ctx context.Context, t *Tx) error) (err error) {
	if err := refuseNestedWrite(ctx); err != nil {
		return err
	}
	defer d.observeWrite(ctx, operation)(&err)
	if d.groupCommit != nil {
		return d.writeInGroup(ctx, d.groupCommit, &pendingWrite{operation: operation, fn: fn})
	}
	notifications, err := d.writeAlone(ctx, operation, fn)
	return d.finishWrite(notifications, err)
}

// observeWrite calls [Options.ObserveWrite]. The caller calls the result with its error when the write has ended.
func (d *DB) observeWrite(ctx context.Context, operation string) func(*error) {
	if d.options.ObserveWrite == nil {
		return func(*error) {}
	}
	ended := d.options.ObserveWrite(ctx, operation)
	return func(err *error) { ended(*err) }
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

// WriteTimeout bounds the wait for the turn to write, and on PostgreSQL the transaction too. It is not the deadline of
// the request: a statement that is cancelled on SQLite can roll back the writes committed with it.
const WriteTimeout = 30 * time.Second

// writeContext returns the context for a transaction. It is not cancelled with the request, because a client that
// disconnects must not interrupt a write, but it has a time-out.
func (d *DB) writeContext(request context.Context) (context.Context, context.CancelFunc) {
	ctx := context.WithoutCancel(request)
	if d.traits.noWriteDeadline {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, WriteTimeout)
}

// acquireWriteSlot waits for one of the slots for concurrent writers. release takes the error of the write: a commit
// without an answer keeps its slot with its connection.
func (d *DB) acquireWriteSlot(request, ctx context.Context) (release func(error), err error) {
	if d.writeSlots == nil {
		return func(error) {}, nil
	}
	select {
	case d.writeSlots <- struct{}{}:
		return func(err error) {
			if commit, unanswered := errors.AsType[*unansweredCommitError](err); unanswered {
				go func() {
					<-commit.answered
					<-d.writeSlots
				}()
				return
			}
			<-d.writeSlots
		}, nil
	case <-request.Done():
		return nil, request.Err() // nothing was written
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// writeAlone runs fn in a transaction of its own, and repeats it after serialization failures and deadlocks.
func (d *DB) writeAlone(request context.Context, operation string,
	fn func(ctx context.Context, t *Tx) error) (_ map[string]bool, err error) {
	ctx, cancel := d.writeContext(request)
	defer cancel()
	release, err := d.acquireWriteSlot(request, ctx)
	if err != nil {
		return nil, err
	}
	defer func() { release(err) }()
	const tries = 5
	for try := 1; ; try++ {
		notifications, err := d.writeOnce(ctx, operation, fn)
		if expired := ctx.Err(); err != nil && expired != nil {
			err = fmt.Errorf("%w: %w", expired, err) // the driver may only report that the connection is closed
		}
		if err == nil || try == tries || !d.engine.isRetryable(err) {
			return notifications, err
		}
	}
}

// finishWrite sends the notifications of a write that was committed and classifies the error of one that was not.
func (d *DB) finishWrite(notifications map[string]bool, err error) error {
	err = d.Classify(err)
	switch {
	case err == nil:
		d.writeFailed.Store(false)
		for kind := range notifications {
			d.notifier.notify(kind)
		}
	case errors.Is(err, ErrUnavailable):
		d.writeFailed.Store(true)
	}
	return err
}

// beginWrite begins a write transaction.
func (d *DB) beginWrite(ctx context.Context) (transaction, error) {
	if d.options.BeforeBegin != nil {
		if err := d.options.BeforeBegin(); err != nil {
			return nil, err
		}
	}
	return d.engine.begin(ctx)
}

func (d *DB) writeOnce(ctx context.Context, operation string,
	fn func(ctx context.Context, t *Tx) error) (_ map[string]bool, err error) {
	begun, err := d.beginWrite(ctx)
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
	t := d.newTx(begun)
	if err := t.run(ctx, fn); err != nil {
		return nil, err
	}
	if err := d.beforeCommit(ctx, begun, t.atCommit); err != nil {
		return nil, err
	}
	d.Checkpoint(Before, operation)
	if err := begun.Commit(); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	committed = true
	d.Checkpoint(After, operation)
	return t.notifications, nil
}
