package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// sqliteTx is a write transaction on the one connection that writes. [sql.Tx] would start a goroutine for each query, to
// watch for an end of its context that does not come here.
type sqliteTx struct {
	*sql.Conn
	ctx  context.Context //nolint:containedctx // a transaction is one call; [sql.Tx] keeps its own as well
	done bool
}

// The statements around a transaction. It begins immediate: an upgrade from read to write ends in a BUSY that no timeout heals.
const (
	beginImmediate = "begin immediate"
	commit         = "commit"
	rollback       = "rollback"
)

// beginSQLite waits for the connection that writes and begins a transaction on it.
func beginSQLite(ctx context.Context, writer *sql.DB) (*sqliteTx, error) {
	conn, err := writer.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, beginImmediate); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &sqliteTx{Conn: conn, ctx: ctx}, nil
}

// Commit commits the transaction. When that fails, nothing of it has happened.
func (t *sqliteTx) Commit() error {
	if t.done {
		return sql.ErrTxDone
	}
	if _, err := t.ExecContext(t.ctx, commit); err != nil {
		return errors.Join(err, t.Rollback()) // a commit that fails may leave its transaction open
	}
	t.done = true
	return t.Close()
}

// Rollback undoes the transaction. A connection that cannot do that is not used again, and what it was about is undone with
// it.
func (t *sqliteTx) Rollback() error {
	if t.done {
		return sql.ErrTxDone
	}
	t.done = true
	_, err := t.ExecContext(t.ctx, rollback)
	if err != nil {
		discard := t.Raw(func(any) error { return driver.ErrBadConn })
		if !errors.Is(discard, driver.ErrBadConn) {
			err = errors.Join(err, discard)
		}
		return errors.Join(err, ignoreClosed(t.Close()))
	}
	return t.Close()
}

// ignoreClosed drops the error that says that a connection is closed already.
func ignoreClosed(err error) error {
	if errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}
