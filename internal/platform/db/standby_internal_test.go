package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"quittance/test/kit"
	"quittance/test/pgtest"
)

// lonely is a cluster of its own that can be told to wait for a standby that does not exist.
type lonely struct {
	admin *pgx.Conn
	grouped
}

// newLonely starts a cluster. pooled puts PgBouncer in front of it, as deployments configure it.
func newLonely(t *testing.T, pooled bool) lonely {
	t.Helper()
	cluster, err := pgtest.Start("")
	kit.Must(t, err)
	t.Cleanup(func() { kit.Must(t, cluster.Stop()) })
	admin, err := pgx.Connect(t.Context(), cluster.URL())
	kit.Must(t, err)
	t.Cleanup(func() { kit.Must(t, admin.Close(context.WithoutCancel(t.Context()))) })
	if !pooled {
		return lonely{admin, newGrouped(t, cluster.URL())}
	}
	pool := pgtest.NewPooler(t, poolerConfiguration(t), cluster.URL()).URL()
	d, _, err := openPooled(t, pool, cluster.URL())
	kit.Must(t, err)
	return lonely{admin, grouped{DB: d, address: pool}.withNumbers(t)}
}

// want tells the primary to wait for a standby of that name; for none if it is "". No transaction does it, so it does
// not wait itself.
func (l lonely) want(t *testing.T, standby string) {
	t.Helper()
	for _, statement := range []string{"alter system set synchronous_standby_names = '" + standby + "'",
		"select pg_reload_conf()"} {
		_, err := l.admin.Exec(t.Context(), statement)
		kit.Must(t, err)
	}
	l.until(t, "select count(*) from pg_settings where name = 'synchronous_standby_names' and setting = '"+standby+"'", 1)
	if standby != "" { // PostgreSQL's checkpointer tells the others, when it comes to it
		kit.Until(t, "a commit waits for the standby", func() bool { return l.waits(t) })
	}
}

// waits reports whether a commit waits for a standby. If so, it ends the wait.
func (l lonely) waits(t *testing.T) bool {
	t.Helper()
	probe, err := pgx.ConnectConfig(t.Context(), l.admin.Config())
	kit.Must(t, err)
	defer probe.Close(context.WithoutCancel(t.Context()))
	committed := make(chan error, 1)
	go func() {
		_, err := probe.Exec(t.Context(), "select pg_logical_emit_message(true, 'probe', '')") // a commit that changes no row
		committed <- err
	}()
	waited := false
	kit.Until(t, "a commit ends, or waits", func() bool {
		waited = l.one(t, inSyncRep) > 0
		return waited || len(committed) > 0
	})
	for len(committed) == 0 {
		_, err := l.admin.Exec(t.Context(), "select pg_cancel_backend($1)", probe.PgConn().PID())
		kit.Must(t, err)
	}
	kit.Must(t, <-committed)
	return waited
}

// one returns the number that a query of the administrator selects.
func (l lonely) one(t *testing.T, query string) (n int) {
	t.Helper()
	kit.Must(t, l.admin.QueryRow(t.Context(), query).Scan(&n))
	return n
}

// until waits until a query of the administrator selects a number.
func (l lonely) until(t *testing.T, query string, want int) {
	t.Helper()
	kit.Until(t, query, func() bool { return l.one(t, query) == want })
}

const inSyncRep = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'"

// TestCommitWaitsForStandby: while no synchronous standby confirms a commit, the write fails in time, and nobody sees
// what it wrote: neither other connections nor a repeated write, which must not be acknowledged. Readers still find
// connections. When the standby is back, the write is there, and all connections are free again.
func TestCommitWaitsForStandby(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the time-out of writes")
	}
	if !pgtest.Enabled() {
		return
	}
	t.Parallel()
	for name, pooled := range map[string]bool{"direct": false, "pooled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testCommitWaits(t, newLonely(t, pooled))
		})
	}
}

func testCommitWaits(t *testing.T, l lonely) {
	t.Helper()
	l.want(t, "away")
	alone := func(n int) error { return l.exec(t.Context(), "insert into numbers (n) values ($1)", n) }
	shared := func(n int) error { return l.add(t.Context(), n, nil) }
	var both sync.WaitGroup
	for n, write := range []func(int) error{alone, shared} {
		both.Go(func() {
			for try := range 2 {
				if err := write(n); !errors.Is(err, ErrUnavailable) {
					t.Errorf("write %d, try %d: %v", n, try, err)
				}
			}
		})
	}
	both.Wait()
	if kept := l.kept(t); len(kept) > 0 {
		t.Errorf("the numbers %v are visible without a standby", kept)
	}
	// The service asks for both, on connections of their own, whether commits still wait.
	const sessions = "select sum(sessions) from pg_stat_database"
	before := l.one(t, sessions)
	kit.Until(t, "the service asks twice", func() bool { return l.one(t, sessions) >= before+2*2 })
	if waiting, slots := l.one(t, inSyncRep), len(l.writeSlots); waiting != 2 || slots != 2 {
		t.Errorf("%d commits wait for the standby, and %d slots are taken; want 2", waiting, slots)
	}
	l.want(t, "")
	kit.Until(t, "the slots are free", func() bool { return len(l.writeSlots) == 0 })
	if kept := fmt.Sprint(l.kept(t)); kept != "[0 1]" {
		t.Errorf("%s are there after the standby is back", kept)
	}
	if err := alone(0); err == nil || errors.Is(err, ErrUnavailable) {
		t.Errorf("the repeated write: %v, want a violated key", err)
	}
	kit.Must(t, alone(2))
}

// TestCloseDoesNotWaitForStandby: a database is closed while a commit waits for a standby, and does not make its
// transaction visible.
func TestCloseDoesNotWaitForStandby(t *testing.T) {
	if !pgtest.Enabled() {
		return
	}
	t.Parallel()
	l := newLonely(t, false)
	l.want(t, "away")
	d, err := Open(t.Context(), l.address, options())
	kit.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun, err := d.engine.begin(ctx)
	kit.Must(t, err)
	kit.Must(t, begun.ExecDeferred(ctx, "insert into numbers (n) values (7)"))
	committed := make(chan error, 1)
	go func() { committed <- begun.Commit() }()
	l.until(t, inSyncRep, 1)
	cancel()
	var unanswered *unansweredCommitError
	if err := <-committed; !errors.As(err, &unanswered) || !errors.Is(err, context.Canceled) {
		t.Errorf("commit: %v", err)
	}
	kit.Must(t, d.Close())
	<-unanswered.answered
	if n := l.one(t, "select count(*) from numbers"); n != 0 || l.one(t, inSyncRep) != 1 {
		t.Errorf("%d rows are visible", n)
	}
	l.want(t, "")
}

// TestBrokenCommitIsNotCancelled: when the connection breaks while its commit waits for a standby, the commit goes on
// waiting.
func TestBrokenCommitIsNotCancelled(t *testing.T) {
	if !pgtest.Enabled() {
		return
	}
	t.Parallel()
	l := newLonely(t, false)
	proxy := pgtest.NewProxy(t, l.address)
	d := again(t, proxy.URL())
	l.want(t, "away")
	begun, err := d.engine.begin(t.Context())
	kit.Must(t, err)
	kit.Must(t, begun.ExecDeferred(t.Context(), "insert into numbers (n) values (7)"))
	closed := begun.(*postgresTx).conn.Conn().PgConn().CleanupDone()
	committed := make(chan error, 1)
	go func() { committed <- begun.Commit() }()
	l.until(t, inSyncRep, 1)
	proxy.Cut()
	if err := <-committed; err == nil || !d.engine.isUnavailable(err) {
		t.Errorf("commit: %v", err)
	}
	kit.Receive(t, closed, "pgx has asked to cancel what its connection was doing")
	for range 100 { // a server that was asked would take a moment
		if n := l.one(t, "select count(*) from numbers"); n != 0 || l.one(t, inSyncRep) != 1 {
			t.Fatalf("%d rows are visible without a standby", n)
		}
	}
	l.want(t, "")
	l.until(t, "select count(*) from numbers", 1)
}

// TestEndedTransactionIsNotCommitted: a transaction whose context has ended before its commit leaves nothing behind.
func TestEndedTransactionIsNotCommitted(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		ctx, cancel := context.WithCancel(t.Context())
		begun, err := g.engine.begin(ctx)
		kit.Must(t, err)
		kit.Must(t, begun.ExecDeferred(ctx, "insert into numbers (n) values (7)"))
		cancel()
		if err := begun.Commit(); err == nil {
			t.Error("it was committed")
		}
		kit.Must(t, g.exec(t.Context(), "insert into numbers (n) values (8)"))
		if kept := fmt.Sprint(g.kept(t)); kept != "[8]" {
			t.Errorf("%s are there", kept)
		}
	})
}
