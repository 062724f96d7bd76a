package db

import (
	"context"
	"database/sql/driver"
	"fmt"
	"testing"
)

// statementsOfWriter runs fn on the one connection of the writer, past database/sql.
func statementsOfWriter(t *testing.T, d *DB, fn func(c *stmtCachingConn)) {
	t.Helper()
	begun, err := d.engine.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := begun.Commit(); err != nil {
			t.Error(err)
		}
	}()
	on, ok := begun.(*sqliteTx)
	if !ok {
		t.Fatalf("the transaction is a %T", begun)
	}
	if err := on.conn.Raw(func(raw any) error {
		caching, ok := raw.(*stmtCachingConn)
		if !ok {
			return fmt.Errorf("the connection is a %T", raw)
		}
		fn(caching)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// run runs a query and returns its only value.
func (c *stmtCachingConn) run(ctx context.Context, t *testing.T, query string) int64 {
	t.Helper()
	rows, err := c.QueryContext(ctx, query, nil)
	if err != nil {
		t.Fatal(err)
	}
	value := make([]driver.Value, 1)
	if err := rows.Next(value); err != nil {
		t.Fatal(err)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	n, _ := value[0].(int64)
	return n
}

// TestStatementCacheEvicts checks that a full cache replaces the least recently used statement, but none whose rows are
// open.
func TestStatementCacheEvicts(t *testing.T) {
	t.Parallel()
	g := newSQLite(t)
	statementsOfWriter(t, g.DB, func(c *stmtCachingConn) {
		ctx := t.Context()
		c.capacity = len(c.statements) + 3
		open, err := c.QueryContext(ctx, "select 1000", nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 10 {
			if got := c.run(ctx, t, fmt.Sprintf("select %d", n)); got != int64(n) {
				t.Errorf("statement %d returns %d", n, got)
			}
			c.run(ctx, t, "select 2000") // used most recently
		}
		if len(c.statements) != c.capacity || c.lru.Len() != c.capacity {
			t.Errorf("%d statements and %d uses are kept, want %d", len(c.statements), c.lru.Len(), c.capacity)
		}
		for query, want := range map[string]bool{"select 9": true, "select 2000": true, "select 1000": true,
			"select 0": false} {
			if _, kept := c.statements[query]; kept != want {
				t.Errorf("%q is kept: %t", query, kept)
			}
		}
		value := make([]driver.Value, 1)
		if err := open.Next(value); err != nil || value[0] != int64(1000) {
			t.Errorf("the open rows give %v, %v", value, err)
		}
		if err := open.Close(); err != nil {
			t.Error(err)
		}
		if got := c.run(ctx, t, "select 0"); got != 0 {
			t.Errorf("an evicted statement returns %d", got)
		}
	})
}
