package store

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

// transaction is what the writes of one commit run in. It is not [sql.Tx], which starts a goroutine for each query, and
// waits for the database after each statement.
type transaction interface {
	querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	// Later runs a statement of which nothing is to be known but that it fails: now, or with the next one, or with the commit.
	Later(ctx context.Context, query string, args ...any) error
	// Cause returns what err, an error of the transaction, comes from: a statement may fail for one that failed later than it
	// was asked for.
	Cause(err error) error
	// Commit commits the transaction. When it fails, nothing has happened, or it is unknown whether everything has. The error is
	// [pgx.ErrTxCommitRollback] when the database has answered the commit with a rollback.
	Commit() error
	// Rollback undoes the transaction. It returns [sql.ErrTxDone] after a Commit.
	Rollback() error
}

// The statements around a transaction.
const (
	// beginImmediate is how it begins on SQLite: an upgrade from read to write ends in a BUSY that no timeout heals.
	beginImmediate = "begin immediate"
	beginCommitted = "begin isolation level read committed"
	commit         = "commit"
	rollback       = "rollback"
)

// connTx is a transaction on a connection of its own. Each statement is run as it comes.
type connTx struct {
	*sql.Conn
	ctx  context.Context //nolint:containedctx // a transaction is one call; [sql.Tx] keeps its own as well
	done bool
}

// beginOn waits for a connection and begins a transaction on it. The pool may have kept one that the server has closed
// meanwhile; then it is asked for another.
func beginOn(ctx context.Context, db *sql.DB, begin string) (*connTx, error) {
	const tries = 5
	for try := 1; ; try++ {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		if _, err = conn.ExecContext(ctx, begin); err == nil {
			return &connTx{Conn: conn, ctx: ctx}, nil
		}
		if closed := closeConn(conn); !errors.Is(err, driver.ErrBadConn) || try == tries {
			return nil, errors.Join(err, closed)
		}
	}
}

// Later implements [transaction].
func (t *connTx) Later(ctx context.Context, query string, args ...any) error {
	_, err := t.ExecContext(ctx, query, args...)
	return err
}

// Cause implements [transaction].
func (*connTx) Cause(err error) error { return err }

// Commit implements [transaction].
func (t *connTx) Commit() error {
	return t.end(func() error {
		_, err := t.ExecContext(t.ctx, commit)
		return err
	})
}

// end ends the transaction by what commit does. A commit that fails may leave it open.
func (t *connTx) end(commit func() error) error {
	if t.done {
		return sql.ErrTxDone
	}
	if err := commit(); err != nil {
		return errors.Join(err, t.Rollback())
	}
	t.done = true
	return closeConn(t.Conn)
}

// Rollback implements [transaction]. A connection that cannot do that is closed, and what it was about is undone with it.
func (t *connTx) Rollback() error {
	if t.done {
		return sql.ErrTxDone
	}
	t.done = true
	_, err := t.ExecContext(t.ctx, rollback)
	if err == nil {
		return closeConn(t.Conn)
	}
	discarded := t.Raw(func(any) error { return driver.ErrBadConn })
	if errors.Is(discarded, driver.ErrBadConn) {
		discarded = nil
	}
	return errors.Join(err, discarded, closeConn(t.Conn))
}

// closeConn gives a connection back, unless it is closed already.
func closeConn(conn *sql.Conn) error {
	if err := conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		return err
	}
	return nil
}

// pipelinedTx is a transaction on a server of its own, where a statement costs a way there and back and a change of process
// twice: those that come later go together, and the last of them with the commit.
type pipelinedTx struct {
	*connTx
	queued *pgx.Batch
	failed error // what a queued statement failed with
}

func beginPipelined(ctx context.Context, db *sql.DB) (*pipelinedTx, error) {
	begun, err := beginOn(ctx, db, beginCommitted)
	if err != nil {
		return nil, err
	}
	return &pipelinedTx{connTx: begun, queued: &pgx.Batch{}}, nil
}

// Later implements [transaction].
func (t *pipelinedTx) Later(_ context.Context, query string, args ...any) error {
	t.queued.Queue(query, args...)
	return nil
}

// flush runs what is queued.
func (t *pipelinedTx) flush(ctx context.Context) error {
	if t.failed != nil || t.queued.Len() == 0 {
		return t.failed
	}
	queued := t.queued
	t.queued = &pgx.Batch{}
	t.failed = t.Raw(func(conn any) error {
		wire, ok := conn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("a connection of %T cannot be pipelined", conn)
		}
		return wire.Conn().SendBatch(ctx, queued).Close()
	})
	return t.failed
}

// QueryContext implements [transaction].
func (t *pipelinedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := t.flush(ctx); err != nil {
		return nil, err
	}
	return t.connTx.QueryContext(ctx, query, args...)
}

// QueryRowContext implements [transaction]. When what is queued fails, the database refuses the row as well; see Cause.
func (t *pipelinedTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	_ = t.flush(ctx) // kept for Cause
	return t.connTx.QueryRowContext(ctx, query, args...)
}

// Cause implements [transaction].
func (t *pipelinedTx) Cause(err error) error {
	if t.failed != nil {
		return t.failed
	}
	return err
}

// ExecContext implements [transaction].
func (t *pipelinedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := t.flush(ctx); err != nil {
		return nil, err
	}
	return t.connTx.ExecContext(ctx, query, args...)
}

// Commit implements [transaction]. PostgreSQL answers the commit of a transaction in which a statement has failed with a
// rollback, and with no error.
func (t *pipelinedTx) Commit() error {
	return t.end(func() error {
		t.queued.Queue(commit).Exec(func(tag pgconn.CommandTag) error {
			if tag.String() != "COMMIT" {
				return pgx.ErrTxCommitRollback
			}
			return nil
		})
		return t.flush(t.ctx)
	})
}
