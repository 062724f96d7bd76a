package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// transaction is an open write transaction. It is neither an [sql.Tx], which starts a goroutine for each query, nor a
// pgx.Tx, which makes a round trip for each statement.
//
// A transaction is open until the first call of Commit or Rollback, and belongs to one goroutine. It owns its
// connection, which goes back to the pool at the end, or is closed if even the rollback fails, so that no connection in
// the pool has an open transaction.
//
// There are two kinds. A sqliteTx (SQLite) runs each statement when it is called. A postgresTx (PostgreSQL) keeps
// deferred statements in a batch and sends that before the next statement that is not deferred, or together with the
// commit. The error of a deferred statement therefore appears in a later call. If that call fails only because the
// transaction has already failed, RootError returns the original error.
type transaction interface {
	Querier
	// Exec runs a statement and returns how many rows it changed.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// ExecDeferred runs a statement whose result is not needed: now, before the next statement, or with the commit. An
	// error may be returned by this or any later call.
	ExecDeferred(ctx context.Context, query string, args ...any) error
	// RootError returns the error that caused err, an error of this transaction: the error of a deferred statement if one
	// has failed, otherwise err.
	RootError(err error) error
	// Commit commits the transaction and ends it. After an error the transaction was rolled back, or it is unknown whether
	// it was committed. The error is [errCommitRolledBack] when the database answered the commit with a rollback.
	Commit() error
	// Rollback rolls the transaction back and ends it. It returns [sql.ErrTxDone] after Commit or Rollback.
	Rollback() error
}

// The statements around a transaction. beginImmediate takes the write lock of SQLite at the start, because an upgrade
// from read to write can fail with BUSY however long the busy timeout is.
const (
	beginImmediate = "begin immediate"
	beginCommitted = "begin isolation level read committed"
	commit         = "commit"
	rollback       = "rollback"
)

// sqliteTx is a transaction of SQLite, on a connection of its own, that runs each statement at once.
type sqliteTx struct {
	Querier
	conn *sql.Conn
	ctx  context.Context //nolint:containedctx // a transaction is one call; [sql.Tx] keeps its own as well
	done bool
}

// beginSQLite begins a transaction on a connection of the pool.
func beginSQLite(ctx context.Context, pool *sql.DB) (*sqliteTx, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, beginImmediate); err != nil {
		return nil, errors.Join(err, closeConn(conn))
	}
	return &sqliteTx{Querier: sqlQuerier{conn}, conn: conn, ctx: ctx}, nil
}

// Exec implements [transaction].
func (t *sqliteTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := t.conn.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// ExecDeferred implements [transaction].
func (t *sqliteTx) ExecDeferred(ctx context.Context, query string, args ...any) error {
	_, err := t.Exec(ctx, query, args...)
	return err
}

// RootError implements [transaction].
func (*sqliteTx) RootError(err error) error { return err }

// Commit implements [transaction]. If it fails, the transaction may still be open, so it is rolled back.
func (t *sqliteTx) Commit() error {
	if t.done {
		return sql.ErrTxDone
	}
	if _, err := t.Exec(t.ctx, commit); err != nil {
		return errors.Join(err, t.Rollback())
	}
	t.done = true
	return closeConn(t.conn)
}

// Rollback implements [transaction]. A connection on which the rollback fails is closed, which makes the database roll
// back.
func (t *sqliteTx) Rollback() error {
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
