package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"quittance/test/kit"
)

// TestSlowList checks that a list that takes too long ends as unavailable, and that its connection can be used again.
func TestSlowList(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		endless := `select count(*) from generate_series(1, 1000000000000)`
		if g.SingleServer() {
			endless = `with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n`
		}
		read := func(ctx context.Context, query string) error {
			return g.List(ctx, [16]byte{1}, func(ctx context.Context, q Querier) error {
				var n int64
				return q.QueryRowContext(ctx, query).Scan(&n)
			})
		}
		ended, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := read(ended, endless); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a list whose caller gives up: %v", err)
		}
		g.listLimit.timeout = 500 * time.Millisecond
		if err := read(t.Context(), endless); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a list without end: %v", err)
		}
		g.listLimit.timeout = kit.Patience()
		for range 10 { // every connection
			if err := read(t.Context(), "select count(*) from numbers"); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		}
	})
}

// TestUnavailable checks that a database that is read-only, full or closed is unavailable, that [DB.WriteFailed] says
// so, and that both end when the cause does.
func TestUnavailable(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		kit.Must(t, g.exec(t.Context(), "create table texts (text text)"))
		long := strings.Repeat("long ", 100_000)
		insert := func() error { return g.exec(t.Context(), "insert into texts (text) values ($1)", long) }
		wantUnavailable := func(cause string, err error) {
			t.Helper()
			if !errors.Is(err, ErrUnavailable) || !g.WriteFailed() {
				t.Errorf("%s: error %v, write failed: %t", cause, err, g.WriteFailed())
			}
		}
		if g.SingleServer() {
			g.testUnavailableFile(t, insert, wantUnavailable)
		} else {
			var name string
			kit.Must(t, g.Reader().QueryRowContext(t.Context(), "select current_database()").Scan(&name))
			setting := "alter database " + name + " set default_transaction_read_only = "
			kit.Must(t, g.exec(t.Context(), setting+"on"))
			kit.Must(t, g.endSessions(t))
			wantUnavailable("read-only", insert())
			kit.Must(t, g.exec(t.Context(), "set transaction read write; "+setting+"off"))
			kit.Must(t, g.endSessions(t))
			admin, err := pgx.Connect(t.Context(), strings.Replace(g.address, name, "postgres", 1))
			kit.Must(t, err)
			defer func() { kit.Must(t, admin.Close(t.Context())) }()
			allow := func(connections string) {
				_, err := admin.Exec(t.Context(), "alter database "+name+" allow_connections "+connections)
				kit.Must(t, err)
			}
			allow("false")
			defer allow("true")
			_, err = admin.Exec(t.Context(), "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name)
			kit.Must(t, err)
			wantUnavailable("connections ended", insert())
			wantUnavailable("no connections", insert())
			allow("true")
		}
		kit.Must(t, insert())
		if g.WriteFailed() {
			t.Error("a write that succeeded failed")
		}
		closed := again(t, g.address)
		kit.Must(t, closed.engine.close())
		err := closed.Write(t.Context(), "test", func(context.Context, *Tx) error { return nil })
		var n int
		if read := closed.Classify(closed.Reader().QueryRowContext(t.Context(), "select 1").Scan(&n)); !errors.Is(err,
			ErrUnavailable) || !errors.Is(read, ErrUnavailable) {
			t.Errorf("closed: a write returns %v and a query %v", err, read)
		}
	})
}

// testUnavailableFile makes the connection that writes read-only, and then the database full.
func (g grouped) testUnavailableFile(t *testing.T, insert func() error, wantUnavailable func(cause string, err error)) {
	t.Helper()
	var writer *stmtCachingConn
	set := func(setting string) {
		t.Helper()
		_, err := writer.ExecContext(t.Context(), setting, nil)
		kit.Must(t, err)
	}
	statementsOfWriter(t, g.DB, func(c *stmtCachingConn) { writer = c })
	set("pragma query_only = 1")
	wantUnavailable("read-only", insert())
	set("pragma query_only = 0")
	kit.Must(t, insert())
	set("pragma max_page_count = 1") // no more pages than there are
	wantUnavailable("full", insert())
	statementsOfWriter(t, g.DB, func(c *stmtCachingConn) { writer = c }) // it may be another one
	set("pragma max_page_count = 1000000")
}

// endSessions ends all sessions of a PostgreSQL database, so that the next statements have new ones.
func (g grouped) endSessions(t *testing.T) error {
	t.Helper()
	var ended int
	err := g.Reader().QueryRowContext(t.Context(),
		`select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = current_database()
		and pid <> pg_backend_pid()`).Scan(&ended)
	if err != nil {
		return err
	}
	// its own connection too
	_ = g.Reader().QueryRowContext(t.Context(), "select pg_terminate_backend(pg_backend_pid())").Scan(&ended)
	for range 20 {
		if err = g.Reader().QueryRowContext(t.Context(), "select 1").Scan(&ended); err == nil {
			return nil
		}
	}
	return fmt.Errorf("no new session: %w", err)
}

// TestFiles checks that only the owner has access to the files of a SQLite database, also with special characters in
// the name.
func TestFiles(t *testing.T) {
	for n, name := range []string{"plain.db", "a space & 100%.db", "what?.db", "#1.db"} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			dir := t.TempDir()
			db, err := Open(t.Context(), "sqlite:"+filepath.Join(dir, name), options())
			kit.Must(t, err)
			defer func() { kit.Must(t, db.Close()) }()
			release, err := db.LockForServing()
			kit.Must(t, err)
			defer func() { kit.Must(t, release()) }()
			files, err := os.ReadDir(dir)
			kit.Must(t, err)
			if len(files) < 2 {
				t.Errorf("files %v", files)
			}
			for _, file := range files {
				info, err := file.Info()
				kit.Must(t, err)
				if !strings.HasPrefix(file.Name(), name) || info.Mode().Perm() != 0o600 {
					t.Errorf("%s has mode %v", file.Name(), info.Mode())
				}
			}
		})
	}
}

// TestRemovedFile checks that a database whose file was removed while it is open does not make an empty one in its
// place, where an operator is about to put a copy.
func TestRemovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "removed.db")
	db, err := Open(t.Context(), "sqlite:"+path, options())
	kit.Must(t, err)
	defer func() { kit.Must(t, db.Close()) }()
	kit.Must(t, os.Remove(path))
	var n int
	err = db.Reader().QueryRowContext(t.Context(), "select 1 from sqlite_schema").Scan(&n)
	if !errors.Is(db.Classify(err), ErrUnavailable) {
		t.Errorf("a query returns %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the removed file: %v", err)
	}
}

// TestBadAddress checks that the error for a bad address does not contain the address, which may have a password.
func TestBadAddress(t *testing.T) {
	for _, address := range []string{"", "sqlite:", "mysql://secret@host/db", "/path/secret.db",
		"postgres://user:secret@host:port/db"} {
		db, err := Open(t.Context(), address, options())
		if err == nil {
			t.Errorf("%q was opened: %v", address, errors.Join(db.Close()))
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
