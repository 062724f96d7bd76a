package db

import (
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
)

// This file is a cache of prepared statements for SQLite, one for each connection, because compiling a statement takes
// SQLite several times as long as running one of ours, and database/sql has no such cache. It is a [driver.Connector]
// around the driver's own, so that the rest of the package uses database/sql as usual.
//
// A cached statement is idle, or busy while the rows of its query are open: a statement of SQLite has one cursor. When
// the same text is run again while the statement is busy, that call goes to the driver without the cache. Closing the
// rows makes the statement idle. When the cache is over its capacity, the least recently used idle statement is closed;
// if all of them are busy, the cache exceeds its capacity. Closing the connection closes all statements.
//
// database/sql lets one goroutine at a time use a connection, so there are no locks.

// maxCachedStmts bounds the prepared statements of one connection. This package has fewer; filters that are combined
// from parts could need more.
const maxCachedStmts = 500

// stmtCachingConnector is a connector whose connections prepare each statement once, keyed by its text.
type stmtCachingConnector struct{ driver.Connector }

// Connect implements [driver.Connector].
func (r stmtCachingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	whole, ok := conn.(fullConn)
	if !ok {
		return nil, errors.Join(errors.New("the database driver lacks an interface that the statement cache needs"),
			conn.Close())
	}
	return &stmtCachingConn{fullConn: whole, statements: map[string]*cachedStmt{}, capacity: maxCachedStmts}, nil
}

// fullConn is every optional interface of a connection that the driver implements, so that database/sql finds them on
// the wrapper too.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// cachedStmt is a prepared statement. It is busy while its rows are open.
type cachedStmt struct {
	statement interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}
	busy     bool
	lruEntry *list.Element // its entry in [stmtCachingConn.lru]
}

// stmtCachingConn is a connection with its cache.
type stmtCachingConn struct {
	fullConn
	statements map[string]*cachedStmt
	lru        list.List // the texts in statements, the most recently used first
	capacity   int
}

// prepare returns the cached statement for a text and prepares it at its first use. It returns nil if the statement is
// busy: the caller then runs the text without the cache.
func (c *stmtCachingConn) prepare(ctx context.Context, query string) (*cachedStmt, error) {
	if found, ok := c.statements[query]; ok {
		if found.busy {
			return nil, nil
		}
		c.lru.MoveToFront(found.lruEntry)
		return found, nil
	}
	prepared, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	cached := &cachedStmt{}
	var ok bool
	if cached.statement, ok = prepared.(interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}); !ok {
		return nil, errors.Join(errors.New("the database driver lacks statements with contexts"), prepared.Close())
	}
	cached.lruEntry = c.lru.PushFront(query)
	c.statements[query] = cached
	return cached, c.evict()
}

// evict closes the least recently used idle statement if the cache is over its capacity. It never closes the statement
// used last, which the caller is about to run.
func (c *stmtCachingConn) evict() error {
	if len(c.statements) <= c.capacity {
		return nil
	}
	for oldest := c.lru.Back(); oldest != nil; oldest = oldest.Prev() {
		query, _ := oldest.Value.(string)
		if one := c.statements[query]; !one.busy && oldest != c.lru.Front() {
			c.lru.Remove(oldest)
			delete(c.statements, query)
			return one.statement.Close()
		}
	}
	return nil
}

// ExecContext implements [driver.ExecerContext].
func (c *stmtCachingConn) ExecContext(ctx context.Context, query string,
	args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 0 {
		switch query {
		case beginImmediate, commit, savepoint, release:
		default:
			return c.fullConn.ExecContext(ctx, query, args) // scripts and pragmas, which run once
		}
	}
	found, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return c.fullConn.ExecContext(ctx, query, args)
	}
	return found.statement.ExecContext(ctx, args)
}

// QueryContext implements [driver.QueryerContext].
func (c *stmtCachingConn) QueryContext(ctx context.Context, query string,
	args []driver.NamedValue) (driver.Rows, error) {
	found, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return c.fullConn.QueryContext(ctx, query, args)
	}
	rows, err := found.statement.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	found.busy = true
	return &cachedStmtRows{Rows: rows, from: found}, nil
}

// Close implements [driver.Conn].
func (c *stmtCachingConn) Close() error {
	var failures []error
	for _, one := range c.statements {
		failures = append(failures, one.statement.Close())
	}
	clear(c.statements)
	c.lru.Init()
	return errors.Join(append(failures, c.fullConn.Close())...)
}

// cachedStmtRows are the rows of a cached statement. Closing them makes the statement idle.
type cachedStmtRows struct {
	driver.Rows
	from *cachedStmt
}

// Close implements [driver.Rows].
func (r *cachedStmtRows) Close() error {
	err := r.Rows.Close()
	r.from.busy = false
	return err
}
