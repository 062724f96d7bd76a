package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// transaction is an open write transaction. It is not an [sql.Tx], which starts a goroutine for each query and makes a round
// trip for each statement.
//
// A transaction is open until the first call of Commit or Rollback, and belongs to one goroutine. It owns its connection, which
// goes back to the pool at the end, or is closed if even the rollback fails, so that no connection in the pool has an open
// transaction.
//
// There are two kinds. A connTx (SQLite) runs each statement when it is called. A pipelinedTx (PostgreSQL) keeps deferred
// statements in a batch and sends that before the next statement that is not deferred, or together with the commit. The error of
// a deferred statement therefore appears in a later call. If that call fails only because the transaction has already failed,
// RootError returns the original error.
type transaction interface {
	Querier
	// Exec runs a statement and returns how many rows it changed.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// ExecDeferred runs a statement whose result is not needed: now, before the next statement, or with the commit. An error
	// may be returned by this or any later call.
	ExecDeferred(ctx context.Context, query string, args ...any) error
	// RootError returns the error that caused err, an error of this transaction: the error of a deferred statement if one
	// has failed, otherwise err.
	RootError(err error) error
	// Commit commits the transaction and ends it. After an error the transaction was rolled back, or it is unknown whether it
	// was committed. The error is [pgx.ErrTxCommitRollback] when the database answered the commit with a rollback.
	Commit() error
	// Rollback rolls the transaction back and ends it. It returns [sql.ErrTxDone] after Commit or Rollback.
	Rollback() error
}

// The statements around a transaction.
const (
	// beginImmediate takes the write lock of SQLite at the start: upgrading from read to write can fail with BUSY whatever
	// the busy timeout is.
	beginImmediate = "begin immediate"
	beginCommitted = "begin isolation level read committed"
	commit         = "commit"
	rollback       = "rollback"
)

// connTx is a transaction on a connection of its own that runs each statement at once.
type connTx struct {
	Querier
	conn *sql.Conn
	ctx  context.Context //nolint:containedctx // a transaction is one call; [sql.Tx] keeps its own as well
	done bool
}

// beginOn gets a connection from the pool and begins a transaction on it. If the server has closed that connection in the
// meantime, beginOn tries another one.
func beginOn(ctx context.Context, db *sql.DB, begin string) (*connTx, error) {
	const tries = 5
	for try := 1; ; try++ {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		if _, err = conn.ExecContext(ctx, begin); err == nil {
			return &connTx{Querier: sqlQuerier{conn}, conn: conn, ctx: ctx}, nil
		}
		if closed := closeConn(conn); !errors.Is(err, driver.ErrBadConn) || try == tries {
			return nil, errors.Join(err, closed)
		}
	}
}

// Exec implements [transaction].
func (t *connTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := t.conn.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// ExecDeferred implements [transaction].
func (t *connTx) ExecDeferred(ctx context.Context, query string, args ...any) error {
	_, err := t.Exec(ctx, query, args...)
	return err
}

// RootError implements [transaction].
func (*connTx) RootError(err error) error { return err }

// Commit implements [transaction].
func (t *connTx) Commit() error {
	return t.finish(func() error {
		_, err := t.Exec(t.ctx, commit)
		return err
	})
}

// finish ends the transaction by calling commit. If that fails, the transaction may still be open, so finish rolls it back.
func (t *connTx) finish(commit func() error) error {
	if t.done {
		return sql.ErrTxDone
	}
	if err := commit(); err != nil {
		return errors.Join(err, t.Rollback())
	}
	t.done = true
	return closeConn(t.conn)
}

// Rollback implements [transaction]. A connection on which the rollback fails is closed, which makes the database roll back.
func (t *connTx) Rollback() error {
	if t.done {
		return sql.ErrTxDone
	}
	t.done = true
	_, err := t.Exec(t.ctx, rollback)
	if err == nil {
		return closeConn(t.conn)
	}
	// database/sql closes a connection whose Raw function returns ErrBadConn instead of putting it back into the pool.
	discardErr := t.conn.Raw(func(any) error { return driver.ErrBadConn })
	if errors.Is(discardErr, driver.ErrBadConn) {
		discardErr = nil
	}
	return errors.Join(err, discardErr, closeConn(t.conn))
}

// closeConn returns a connection to its pool, unless it is closed already.
func closeConn(conn *sql.Conn) error {
	if err := conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		return err
	}
	return nil
}

// pipelinedTx is a PostgreSQL transaction that saves round trips: it sends deferred statements in one batch, before the next
// statement that is not deferred or together with the commit.
//
// Once a flush has failed, flushErr stays set and nothing more is flushed; PostgreSQL refuses all further statements of the
// transaction, and its commit is a rollback.
type pipelinedTx struct {
	*connTx
	deferred *pgx.Batch
	flushErr error // the error of the first deferred statement that failed
}

func beginPipelined(ctx context.Context, db *sql.DB) (*pipelinedTx, error) {
	begun, err := beginOn(ctx, db, beginCommitted)
	if err != nil {
		return nil, err
	}
	return &pipelinedTx{connTx: begun, deferred: &pgx.Batch{}}, nil
}

// ExecDeferred implements [transaction].
func (t *pipelinedTx) ExecDeferred(_ context.Context, query string, args ...any) error {
	t.deferred.Queue(query, args...)
	return nil
}

// flush sends the deferred statements.
func (t *pipelinedTx) flush(ctx context.Context) error {
	if t.flushErr != nil || t.deferred.Len() == 0 {
		return t.flushErr
	}
	queued := t.deferred
	t.deferred = &pgx.Batch{}
	t.flushErr = t.conn.Raw(func(conn any) error {
		wire, ok := conn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("a connection of %T cannot be pipelined", conn)
		}
		return wire.Conn().SendBatch(ctx, queued).Close()
	})
	return t.flushErr
}

// QueryContext implements [transaction].
func (t *pipelinedTx) QueryContext(ctx context.Context, query string, args ...any) (Rows, error) {
	if err := t.flush(ctx); err != nil {
		return nil, err
	}
	return t.connTx.QueryContext(ctx, query, args...)
}

// QueryRowContext implements [transaction].
func (t *pipelinedTx) QueryRowContext(ctx context.Context, query string, args ...any) Row {
	if err := t.flush(ctx); err != nil {
		return failedRow{err}
	}
	return t.connTx.QueryRowContext(ctx, query, args...)
}

// RootError implements [transaction].
func (t *pipelinedTx) RootError(err error) error {
	if t.flushErr != nil {
		return t.flushErr
	}
	return err
}

// Exec implements [transaction].
func (t *pipelinedTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if err := t.flush(ctx); err != nil {
		return 0, err
	}
	return t.connTx.Exec(ctx, query, args...)
}

// Commit implements [transaction]. It checks the command tag, because PostgreSQL answers the commit of a failed transaction
// with ROLLBACK and without an error.
func (t *pipelinedTx) Commit() error {
	return t.finish(func() error {
		t.deferred.Queue(commit).Exec(func(tag pgconn.CommandTag) error {
			if tag.String() != "COMMIT" {
				return pgx.ErrTxCommitRollback
			}
			return nil
		})
		return t.flush(t.ctx)
	})
}
