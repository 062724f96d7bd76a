package store

import (
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
)

// maxRemembered bounds the prepared statements of one connection. The statements of this package are fewer; where a filter is
// put together from parts there could be more, and then the one that was not used for the longest time is closed.
const maxRemembered = 500

// remembering is a connector whose connections prepare a statement once, by its text: compiling a statement takes SQLite
// several times as long as running one of ours.
type remembering struct{ driver.Connector }

// Connect implements [driver.Connector].
func (r remembering) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	whole, ok := conn.(wholeConn)
	if !ok {
		return nil, errors.Join(errors.New("the database driver lacks what statements are remembered with"), conn.Close())
	}
	return &rememberingConn{wholeConn: whole, statements: map[string]*remembered{}, capacity: maxRemembered}, nil
}

// wholeConn is what database/sql asks of a connection and the driver has.
type wholeConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// remembered is a prepared statement. It is busy while its rows are open: the same text is then run on another.
type remembered struct {
	statement interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}
	busy bool
	used *list.Element // of [rememberingConn.recent]
}

// rememberingConn is one connection; database/sql lets one goroutine at a time use it.
type rememberingConn struct {
	wholeConn
	statements map[string]*remembered
	recent     list.List // of the texts in statements, the one used last in front
	capacity   int
}

// find returns the prepared statement of a text, or nil when it is to be run without one.
func (c *rememberingConn) find(ctx context.Context, query string) (*remembered, error) {
	if found, ok := c.statements[query]; ok {
		if found.busy {
			return nil, nil
		}
		c.recent.MoveToFront(found.used)
		return found, nil
	}
	prepared, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	made := &remembered{}
	var ok bool
	if made.statement, ok = prepared.(interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}); !ok {
		return nil, errors.Join(errors.New("the database driver lacks statements with contexts"), prepared.Close())
	}
	made.used = c.recent.PushFront(query)
	c.statements[query] = made
	return made, c.evict()
}

// evict closes the statement that was not used for the longest time when there are too many. One whose rows are open stays
// until another time.
func (c *rememberingConn) evict() error {
	if len(c.statements) <= c.capacity {
		return nil
	}
	for oldest := c.recent.Back(); oldest != nil; oldest = oldest.Prev() {
		query, _ := oldest.Value.(string)
		if one := c.statements[query]; !one.busy && oldest != c.recent.Front() {
			c.recent.Remove(oldest)
			delete(c.statements, query)
			return one.statement.Close()
		}
	}
	return nil
}

// ExecContext implements [driver.ExecerContext].
func (c *rememberingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 0 {
		switch query {
		case beginImmediate, commit, savepoint, release:
		default:
			return c.wholeConn.ExecContext(ctx, query, args) // scripts and pragmas, each run once
		}
	}
	found, err := c.find(ctx, query)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return c.wholeConn.ExecContext(ctx, query, args)
	}
	return found.statement.ExecContext(ctx, args)
}

// QueryContext implements [driver.QueryerContext].
func (c *rememberingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	found, err := c.find(ctx, query)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return c.wholeConn.QueryContext(ctx, query, args)
	}
	rows, err := found.statement.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	found.busy = true
	return &rememberedRows{Rows: rows, from: found}, nil
}

// Close implements [driver.Conn].
func (c *rememberingConn) Close() error {
	var failures []error
	for _, one := range c.statements {
		failures = append(failures, one.statement.Close())
	}
	clear(c.statements)
	c.recent.Init()
	return errors.Join(append(failures, c.wholeConn.Close())...)
}

// rememberedRows gives its statement back when it is closed.
type rememberedRows struct {
	driver.Rows
	from *remembered
}

// Close implements [driver.Rows].
func (r *rememberedRows) Close() error {
	err := r.Rows.Close()
	r.from.busy = false
	return err
}
