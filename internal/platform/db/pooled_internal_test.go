package db

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"quittance/test/kit"
	"quittance/test/pgtest"
)

// startPooler starts PgBouncer, as deployments configure it, in front of a new database.
func startPooler(t *testing.T, more ...string) (pool, direct string) {
	t.Helper()
	direct = pgtest.URL(t)
	return pgtest.NewPooler(t, poolerConfiguration(t), direct, more...).URL(), direct
}

func poolerConfiguration(t *testing.T) string {
	t.Helper()
	configuration, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "pgbouncer", "pgbouncer.ini"))
	kit.Must(t, err)
	return string(configuration)
}

// openPooled opens a database through a pool and returns what it logged.
func openPooled(t *testing.T, pool, direct string) (*DB, *bytes.Buffer, error) {
	t.Helper()
	var log bytes.Buffer
	with := options()
	with.Direct, with.Log = direct, slog.New(slog.NewTextHandler(&log, nil))
	d, err := Open(t.Context(), pool, with)
	if err == nil {
		t.Cleanup(func() { kit.Must(t, d.Close()) })
	}
	return d, &log, err
}

// TestPoolInTransactionMode checks that a pool in transaction mode is refused without a direct address, and that with
// one writes, lists, notifications and migrations work, over sessions that have the settings of PgBouncer's
// configuration.
func TestPoolInTransactionMode(t *testing.T) {
	if !pgtest.Enabled() {
		return // SQLite has no sessions
	}
	t.Parallel()
	pool, direct := startPooler(t)
	if _, _, err := openPooled(t, pool, ""); !errors.Is(err, ErrPooled) {
		t.Fatalf("without a direct address: %v", err)
	}
	if _, _, err := openPooled(t, pool, pgtest.URL(t)); !errors.Is(err, ErrOtherServer) {
		t.Errorf("with the address of another database: %v", err)
	}
	d, log, err := openPooled(t, pool, direct)
	kit.Must(t, err)
	if log.Len() > 0 {
		t.Errorf("it logged %s", log)
	}
	exercise(t, d, again(t, direct))
}

// TestPoolInSessionMode checks that a pool in session mode needs no direct address.
func TestPoolInSessionMode(t *testing.T) {
	if !pgtest.Enabled() {
		return // SQLite has no sessions
	}
	t.Parallel()
	pool, direct := startPooler(t, "pool_mode = session")
	d, log, err := openPooled(t, pool, "")
	kit.Must(t, err)
	if !strings.Contains(log.String(), "connection pool in session mode") {
		t.Errorf("it logged %q", log)
	}
	exercise(t, d, again(t, direct))
}

// TestPoolLacksSettings checks that sessions without the settings are reported.
func TestPoolLacksSettings(t *testing.T) {
	if !pgtest.Enabled() {
		return // SQLite has no sessions
	}
	t.Parallel()
	direct := pgtest.URL(t)
	pool := pgtest.NewPooler(t,
		"[databases]\nquittance = host=db.internal port=5432 dbname=quittance\n[pgbouncer]\npool_mode = transaction\n",
		direct).URL()
	_, log, err := openPooled(t, pool, direct)
	kit.Must(t, err)
	if !strings.Contains(log.String(), "lack settings") || !strings.Contains(log.String(), sessionSettings) {
		t.Errorf("it logged %q", log)
	}
}

// TestDirectAddress checks which direct addresses are refused, and that no error contains a password.
func TestDirectAddress(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ address, direct string }{
		"sqlite":        {"sqlite:" + filepath.Join(t.TempDir(), "a.db"), "postgres://u:hunter2@127.0.0.1:1/db"},
		"sqlite direct": {"postgres://u:hunter2@127.0.0.1:1/db", "sqlite:hunter2.db"},
		"keywords":      {"postgres://u:hunter2@127.0.0.1:1/db", "host=127.0.0.1 password=hunter2"},
		"malformed":     {"postgres://u:hunter2@127.0.0.1:1/db", "postgres://u:hunter2@127.0.0.1:port/db"},
	} {
		with := options()
		with.Direct = test.direct
		_, err := Open(t.Context(), test.address, with)
		if !errors.Is(err, ErrDirect) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// exercise checks writes that share statements, lists, migrations by several processes at once, and a notification in
// both directions.
func exercise(t *testing.T, d, other *DB) {
	t.Helper()
	ctx := t.Context()
	source := fstest.MapFS{"0001_numbers.sql": {Data: []byte(
		"-- +goose Up\ncreate table numbers (n bigint not null primary key);\n")},
		"0002_more.sql": {Data: []byte("-- +goose Up\ncreate table more (n bigint not null primary key);\n")}}
	kit.Must(t, workTogether(4, func(int) error { return d.Migrate(ctx, source) }))
	kit.Must(t, d.Migrate(ctx, source))
	g := grouped{DB: d, numbers: d.Share("add number", 1)}
	const writes = 200
	kit.Must(t, workTogether(writes, func(n int) error { return g.add(ctx, n, nil) }))
	if kept := g.kept(t); len(kept) != writes || kept[0] != 0 || kept[writes-1] != writes-1 || !slices.IsSorted(kept) {
		t.Errorf("%d numbers are in the database, want %d", len(kept), writes)
	}
	kit.Must(t, d.engine.snapshot(ctx, func(ctx context.Context, q Querier) error {
		var n int
		return q.QueryRowContext(ctx, "select count(*) from numbers where n < $1", writes).Scan(&n)
	}))
	for _, pair := range [][2]*DB{{d, other}, {other, d}} {
		heard, stop := pair[1].Subscribe("work")
		kit.Until(t, "a notification", func() bool { // the other may not listen yet
			kit.Must(t, pair[0].Write(ctx, "notify", func(_ context.Context, t *Tx) error { t.Notify("work"); return nil }))
			return len(heard) > 0
		})
		stop()
	}
}

// workTogether runs do n times at once.
func workTogether(n int, do func(k int) error) error {
	failed := make(chan error, n)
	for k := range n {
		go func() { failed <- do(k) }()
	}
	var all error
	for range n {
		all = errors.Join(all, <-failed)
	}
	return all
}
