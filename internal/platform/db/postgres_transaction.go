package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// connectionTries is how many connections of the pool a statement tries whose connections turn out to be closed.
const connectionTries = 5

// retryUnsent runs fn again if it fails before anything was sent, because the server has closed the connection in the
// meantime.
func retryUnsent(ctx context.Context, fn func() error) error {
	for try := 1; ; try++ {
		err := fn()
		if err == nil || try == connectionTries || ctx.Err() != nil || !pgconn.SafeToRetry(err) {
			return err
		}
	}
}

// pgQuerier makes a [Querier] of a pool, a connection or a transaction of pgx.
type pgQuerier struct {
	from interface {
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	}
}

// QueryContext implements [Querier]. It reads the first row, so that it returns the error of a query that fails.
func (q pgQuerier) QueryContext(ctx context.Context, query string, args ...any) (Rows, error) {
	var rows pgx.Rows
	// in a transaction, whose connection is closed then, every repetition fails too
	err := retryUnsent(ctx, func() (err error) {
		rows, err = q.from.Query(ctx, query, args...) //nolint:sqlclosecheck // pgRows closes them
		return err
	})
	if err != nil {
		return nil, err
	}
	first := rows.Next()
	if err := rows.Err(); err != nil {
		rows.Close()
		return nil, err
	}
	return &pgRows{Rows: rows, first: first}, nil
}

// QueryRowContext implements [Querier].
func (q pgQuerier) QueryRowContext(ctx context.Context, query string, args ...any) Row {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return failedRow{err}
	}
	return pgRow{rows}
}

// pgRows are rows of pgx. first reports that the first row has been read, but not yet by Next.
type pgRows struct {
	pgx.Rows
	first, failed bool
}

// Next implements [Rows].
func (r *pgRows) Next() bool {
	if r.first {
		r.first = false
		return true
	}
	return r.Rows.Next()
}

// Err implements [Rows].
func (r *pgRows) Err() error {
	err := r.Rows.Err()
	r.failed = err != nil
	return err
}

// Close implements [Rows]. It returns an error that Err has not returned: that of the rows that were not read.
func (r *pgRows) Close() error {
	known := r.failed
	r.Rows.Close()
	if err := r.Err(); !known {
		return err
	}
	return nil
}

// Scan implements [Rows]. Unlike that of pgx, it does not end the rows when it fails, so that one malformed row can be
// reported with those that follow it.
func (r *pgRows) Scan(dest ...any) error {
	return pgx.ScanRow(r.Conn().TypeMap(), r.FieldDescriptions(), r.RawValues(), dest...)
}

// pgRow is the first of some rows.
type pgRow struct{ rows Rows }

// Scan implements [Row].
func (r pgRow) Scan(dest ...any) error {
	if !r.rows.Next() {
		if err := r.rows.Close(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	err := r.rows.Scan(dest...)
	return errors.Join(err, r.rows.Close()) // the statement may still fail after its first row
}

// beginSnapshot begins the transaction of a list. Its statements are planned for the values of each list: a plan for
// any values, which PostgreSQL would use after a few lists, is made for the average company and reads all rows of a
// large one.
const beginSnapshot = "begin isolation level repeatable read read only; set local plan_cache_mode = force_custom_plan"

func (e *postgresEngine) snapshot(ctx context.Context, fn func(ctx context.Context, q Querier) error) (err error) {
	var tx pgx.Tx
	if err := retryUnsent(ctx, func() (err error) {
		tx, err = e.pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginSnapshot})
		return err
	}); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { // nothing was written: ending the transaction releases the connection
		// pgx closes the connection when ctx ends
		if rollback := tx.Rollback(context.WithoutCancel(ctx)); rollback != nil && ctx.Err() == nil {
			err = errors.Join(err, fmt.Errorf("rollback: %w", rollback))
		}
	}()
	return fn(ctx, pgQuerier{tx})
}

// errCommitRolledBack says that the database answered a commit with a rollback.
var errCommitRolledBack = pgx.ErrTxCommitRollback

// postgresTx is a PostgreSQL transaction that saves round trips: it sends deferred statements in one batch, before the
// next statement that is not deferred or together with the commit. The pool closes its connection instead of taking it
// back if the transaction is still open.
//
// Once a flush has failed, flushErr stays set and nothing more is flushed; PostgreSQL refuses all further statements of
// the transaction, and its commit is a rollback.
type postgresTx struct {
	engine   *postgresEngine
	conn     *pgxpool.Conn
	ctx      context.Context //nolint:containedctx // a transaction is one call; [sql.Tx] keeps its own as well
	deferred *pgx.Batch
	flushErr error // the error of the first deferred statement that failed
	done     bool
}

// beginPostgres begins a transaction on a connection of the pool.
func beginPostgres(ctx context.Context, engine *postgresEngine) (*postgresTx, error) {
	t := &postgresTx{engine: engine, ctx: ctx, deferred: &pgx.Batch{}}
	err := retryUnsent(ctx, func() error {
		conn, err := engine.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, beginCommitted); err != nil {
			conn.Release()
			return err
		}
		t.conn = conn
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// ExecDeferred implements [transaction].
func (t *postgresTx) ExecDeferred(_ context.Context, query string, args ...any) error {
	t.deferred.Queue(query, args...)
	return nil
}

// flush sends the deferred statements.
func (t *postgresTx) flush(ctx context.Context) error {
	if t.flushErr != nil || t.deferred.Len() == 0 {
		return t.flushErr
	}
	queued := t.deferred
	t.deferred = &pgx.Batch{}
	t.flushErr = t.conn.SendBatch(ctx, queued).Close()
	return t.flushErr
}

// QueryContext implements [transaction].
func (t *postgresTx) QueryContext(ctx context.Context, query string, args ...any) (Rows, error) {
	if err := t.flush(ctx); err != nil {
		return nil, err
	}
	return pgQuerier{t.conn}.QueryContext(ctx, query, args...)
}

// QueryRowContext implements [transaction].
func (t *postgresTx) QueryRowContext(ctx context.Context, query string, args ...any) Row {
	if err := t.flush(ctx); err != nil {
		return failedRow{err}
	}
	return pgQuerier{t.conn}.QueryRowContext(ctx, query, args...)
}

// Exec implements [transaction].
func (t *postgresTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if err := t.flush(ctx); err != nil {
		return 0, err
	}
	tag, err := t.conn.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

// RootError implements [transaction].
func (t *postgresTx) RootError(err error) error {
	if t.flushErr != nil {
		return t.flushErr
	}
	return err
}

// Commit implements [transaction]. It checks the command tag, because PostgreSQL answers the commit of a failed
// transaction with ROLLBACK and without an error. The error is an [unansweredCommitError] if there is no answer in
// time.
func (t *postgresTx) Commit() error {
	if t.done {
		return sql.ErrTxDone
	}
	t.deferred.Queue(commit).Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return errCommitRolledBack
		}
		return nil
	})
	if t.flushErr == nil {
		t.flushErr = t.sendCommit()
	}
	if _, unanswered := errors.AsType[*unansweredCommitError](t.flushErr); unanswered {
		t.done = true
		return t.flushErr
	}
	if t.flushErr != nil {
		return errors.Join(t.flushErr, t.Rollback())
	}
	t.done = true
	t.conn.Release()
	return nil
}

// Rollback implements [transaction].
func (t *postgresTx) Rollback() error {
	if t.done {
		return sql.ErrTxDone
	}
	t.done = true
	defer t.conn.Release()
	if t.conn.Conn().PgConn().TxStatus() == 'I' && !t.conn.Conn().IsClosed() {
		return nil // the database has rolled it back
	}
	_, err := t.conn.Exec(t.ctx, rollback)
	return err
}
