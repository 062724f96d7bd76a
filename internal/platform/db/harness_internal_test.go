package db

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"quittance/test/pgtest"
)

// grouped is a database with a table of numbers, and an operation that inserts one and whose writes are committed
// together.
type grouped struct {
	*DB
	address string
	numbers *Shared
}

// number is one that is to be inserted, and more that the write then does.
type number struct {
	n    int
	more func(ctx context.Context, t *Tx) error
}

// group returns the group that collects the numbers.
func (g grouped) group() *group {
	if g.groupCommit != nil {
		return g.groupCommit
	}
	return g.numbers.groups[0]
}

// repeats is the constraint that a repeated number violates.
func (g grouped) repeats() string { return "numbers_pkey" }

// forEachGroup runs a test on SQLite, whose group has savepoints, and on PostgreSQL, whose groups have none.
func forEachGroup(t *testing.T, test func(t *testing.T, g grouped)) {
	t.Helper()
	t.Parallel()
	if chosen := os.Getenv(pgtest.EnvEngines); chosen == "" || strings.Contains(chosen, "sqlite") {
		t.Run("sqlite", func(t *testing.T) { test(t, newSQLite(t)) })
	}
	if pgtest.Enabled() {
		t.Run("postgres", func(t *testing.T) { test(t, newGrouped(t, pgtest.URL(t))) })
	}
}

func newSQLite(t testing.TB) grouped {
	t.Helper()
	return newGrouped(t, "sqlite:"+filepath.Join(t.TempDir(), "group.db"))
}

// options are those of the databases of these tests.
func options() Options {
	return Options{Application: "test", Channel: "test_work", Indexes: map[string]string{"numbers.n": "numbers_pkey"},
		Log: slog.New(slog.DiscardHandler)}
}

func newGrouped(t testing.TB, address string) grouped {
	t.Helper()
	return grouped{DB: again(t, address), address: address}.withNumbers(t)
}

// withNumbers adds the table and the operation to a database.
func (g grouped) withNumbers(t testing.TB) grouped {
	t.Helper()
	g.numbers = g.Share("add number", 1)
	if err := g.exec(t.Context(), "create table numbers (n bigint not null primary key)"); err != nil {
		t.Fatal(err)
	}
	return g
}

// again opens a database, as another process does.
func again(t testing.TB, address string) *DB {
	t.Helper()
	d, err := Open(t.Context(), address, options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// exec runs a statement in a write of its own.
func (g grouped) exec(ctx context.Context, query string, args ...any) error {
	return g.Write(ctx, "test", func(ctx context.Context, t *Tx) error {
		_, err := t.Exec(ctx, query, args...)
		return err
	})
}

// add inserts a number, then does more.
func (g grouped) add(ctx context.Context, n int, more func(ctx context.Context, t *Tx) error) error {
	return WriteShared(ctx, g.numbers, [16]byte{}, number{n, more},
		n, func(ctx context.Context, t *Tx, all []number) error {
			if _, err := t.Exec(ctx, "insert into numbers (n) "+g.Dialect().Values("bigint"),
				RowArgs(g.Dialect(), all, func(add number) []any { return []any{add.n} })...); err != nil {
				return err
			}
			for _, add := range all {
				if add.more == nil {
					continue
				}
				if err := add.more(ctx, t); err != nil {
					return err
				}
			}
			return nil
		})
}

// batch makes n writes that wait behind a closed gate, in the order of their numbers, then opens it.
func (g grouped) batch(n int, write func(n int)) { g.group().batch(n, write) }

func (g grouped) waiting() int { return g.group().waiting() }

func (g *group) batch(n int, write func(n int)) {
	g.leaderLock <- struct{}{}
	var running sync.WaitGroup
	for k := range n {
		running.Go(func() { write(k) })
		for g.waiting() <= k {
			runtime.Gosched()
		}
	}
	<-g.leaderLock
	running.Wait()
}

// kept returns the numbers in the database.
func (g grouped) kept(t testing.TB) []int {
	t.Helper()
	kept, err := Collect(context.Background(), g.Reader(), func(row Row) (n int, err error) { return n, row.Scan(&n) },
		"select n from numbers order by n")
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// sqlPool returns the pool behind a reader.
func sqlPool(t *testing.T, reader Querier) *sql.DB {
	t.Helper()
	q, _ := reader.(sqlQuerier)
	pool, ok := q.from.(*sql.DB)
	if !ok {
		t.Fatalf("the reader is a %T", reader)
	}
	return pool
}
