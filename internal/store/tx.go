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

// querier is what a query needs; the reader pool and a transaction both are one.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// tx is one write transaction. A statement of it that has failed fails it: a closure that goes on after an error has
// committed nothing, on either database.
type tx struct {
	transaction
	db            *DB
	actor         Actor // whose act it is
	notifications map[Work]bool
	failed        error // of the first statement that has failed
	at            time.Time
	used          map[ID]usage // what is still to be written; see [tx.use]
}

// now is the instant of the transaction: the time at which it was first asked for, mostly under the locks that it takes first.
// Everything that is written in the transaction bears it, so that no event is dated before the evidence it tells of. Writes that share
// their statements share it.
func (t *tx) now() time.Time {
	if t.at.IsZero() {
		t.at = t.db.now()
	}
	return t.at
}

func (db *DB) newTx(begun transaction) *tx {
	return &tx{transaction: begun, db: db, notifications: map[Work]bool{}}
}

// errStatementFailed says that a closure has returned no error although one of its statements had failed.
var errStatementFailed = errors.New("a statement of the transaction has failed")

// run runs the closure of a write.
func (t *tx) run(ctx context.Context, fn func(ctx context.Context, t *tx) error) error {
	err := fn(inside(ctx), t)
	if err == nil {
		err = t.writeUsage(ctx)
	}
	if err == nil && t.failed != nil {
		err = fmt.Errorf("%w: %w", errStatementFailed, t.failed)
	}
	if err == nil {
		return nil
	}
	return t.Cause(err)
}

func (t *tx) note(err error) error {
	if err != nil && t.failed == nil {
		t.failed = err
	}
	return err
}

// ExecContext implements [transaction].
func (t *tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	result, err := t.transaction.ExecContext(ctx, query, args...)
	return result, t.note(err)
}

// QueryContext implements [transaction].
func (t *tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := t.transaction.QueryContext(ctx, query, args...)
	return rows, t.note(err)
}

// QueryRowContext implements [transaction].
func (t *tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	row := t.transaction.QueryRowContext(ctx, query, args...)
	_ = t.note(row.Err()) // the caller meets it again when it scans the row
	return row
}

// Later implements [transaction].
func (t *tx) Later(ctx context.Context, query string, args ...any) error {
	return t.note(t.transaction.Later(ctx, query, args...))
}

// wake tells the workers of a kind, once the transaction has committed.
func (t *tx) notify(kind Work) { t.notifications[kind] = true }

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := t.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// rowsPerInsert bounds the rows of one statement, and so how many statements there are that differ in nothing else.
const rowsPerInsert = 16

// insert adds rows, later, with as few statements as it takes: into is one up to the word values, and then what follows it.
func (t *tx) insert(ctx context.Context, into string, rows [][]any, then string) error {
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
		query.WriteString(then)
		if err := t.Later(ctx, query.String(), args...); err != nil {
			return err
		}
	}
	return nil
}

// write runs fn in one transaction and commits it. fact names the business fact that it commits, for [Checkpoint]. fn may
// run more than once: it keeps its results in variables it sets anew each time and touches nothing outside the
// transaction. It and [writeShared] are the only ways to write, so that how transactions are committed is decided here alone.
func (db *DB) write(ctx context.Context, fact string, fn func(ctx context.Context, t *tx) error) error {
	if err := outside(ctx); err != nil {
		return err
	}
	// Writes that are committed together run with the context of one of them, so each names its own actor.
	actor, run := ActorOf(ctx), fn
	fn = func(ctx context.Context, t *tx) error {
		t.actor = actor
		return run(ctx, t)
	}
	if db.everything != nil {
		return db.writeTogether(ctx, db.everything, &proposal{fact: fact, fn: fn})
	}
	woken, err := db.writeAlone(ctx, fact, fn)
	return db.told(woken, err)
}

// errInside says that a write was begun inside a transaction, which would wait for itself.
var errInside = errors.New("a write inside another one")

type insideKey struct{}

// inside is the context of what runs in a transaction.
func inside(ctx context.Context) context.Context { return context.WithValue(ctx, insideKey{}, true) }

// outside returns [errInside] for the context of what runs in a transaction.
func outside(ctx context.Context) error {
	if ctx.Value(insideKey{}) != nil {
		return errInside
	}
	return nil
}

// writeShared is write for a fact of which many are committed at once: run does for all members what each of them asks
// for, with one statement where that is possible, and tells each in itself what came of it. It also gets members alone:
// on SQLite, in a transaction that t has joined, and after it has returned an error for several, which then is about only some of them.
// owner is whose fact it is: an owner's writes never wait for each other's locks. size is that of the member in bytes.
func writeShared[M any](ctx context.Context, t *Tenant, owner ID, fact string, member M, size int, run func(ctx context.Context, tx *tx, members []M) error) error {
	alone := func(ctx context.Context, tx *tx) error { return run(ctx, tx, []M{member}) }
	if t == nil || t.db == nil || t.tx != nil || t.db.shared == nil {
		return t.write(ctx, fact, alone)
	}
	if err := outside(ctx); err != nil {
		return err
	}
	return t.db.writeTogether(ctx, t.db.shared[fact].of(owner), &proposal{fact: fact, fn: alone, member: member, size: size,
		shared: func(ctx context.Context, tx *tx, batch []*proposal) error {
			members := make([]M, len(batch))
			for n, p := range batch {
				members[n] = p.member.(M) //nolint:forcetypeassert // one fact has members of one type
			}
			return run(ctx, tx, members)
		}})
}

// column is the parameter for a column of [engine.rows].
func column[M, T any](db *DB, members []M, value func(M) T) any {
	if db.single {
		return value(members[0])
	}
	values := make([]T, len(members))
	for n, member := range members {
		values[n] = value(member)
	}
	return values
}

// transaction returns the context of a transaction: it does not end with the request, so that nobody who hangs up leaves
// half a fact, but in time.
func (db *DB) transaction(request context.Context) (context.Context, context.CancelFunc) {
	ctx := context.WithoutCancel(request)
	if db.patient {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, writeTimeout)
}

// enter waits for a place among the writers.
func (db *DB) enter(request, ctx context.Context) (leave func(), err error) {
	if db.places == nil {
		return func() {}, nil
	}
	select {
	case db.places <- struct{}{}:
		return func() { <-db.places }, nil
	case <-request.Done():
		return nil, request.Err() // nothing has happened yet
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// writeAlone runs fn in a transaction of its own, again if neighbours were in its way.
func (db *DB) writeAlone(request context.Context, fact string, fn func(ctx context.Context, t *tx) error) (map[Work]bool, error) {
	ctx, cancel := db.transaction(request)
	defer cancel()
	leave, err := db.enter(request, ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	const tries = 5
	for try := 1; ; try++ {
		woken, err := db.writeOnce(ctx, fact, fn)
		if expired := ctx.Err(); err != nil && expired != nil {
			err = fmt.Errorf("%w: %w", expired, err) // database/sql may only say that the transaction has ended
		}
		if err == nil || try == tries || !db.retry(err) {
			return woken, err
		}
	}
}

// told ends a write: those wake whom it gave work, and an error gets its class.
func (db *DB) told(woken map[Work]bool, err error) error {
	err = db.fail(err)
	switch {
	case err == nil:
		db.unwritable.Store(false)
		for kind := range woken {
			db.notifier.notify(kind)
		}
	case errors.Is(err, ErrUnavailable):
		db.unwritable.Store(true)
	}
	return err
}

func (db *DB) writeOnce(ctx context.Context, fact string, fn func(ctx context.Context, t *tx) error) (_ map[Work]bool, err error) {
	begun, err := db.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	committed := false
	defer func() {
		if committed {
			return
		}
		// Also when fn panics, so that the connection goes back to its pool without the transaction.
		if rollback := begun.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			err = errors.Join(err, fmt.Errorf("rollback: %w", rollback))
		}
	}()
	t := db.newTx(begun)
	if err := t.run(ctx, fn); err != nil {
		return nil, err
	}
	db.Checkpoint(Before, fact)
	if err := begun.Commit(); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	committed = true
	db.Checkpoint(After, fact)
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

// scanner is a row.
type scanner interface{ Scan(dest ...any) error }
