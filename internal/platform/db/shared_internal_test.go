package db

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"quittance/test/kit"
)

// names returns look-ups of the numbers in the table, as text. It appends the keys of each query to queries.
func (g grouped) names(queries *[][]int) *Lookups[int, string] {
	return NewLookups(g.DB, func(ctx context.Context, keys []int) (map[int]string, error) {
		*queries = append(*queries, keys)
		if slices.Contains(keys, 13) {
			return nil, context.DeadlineExceeded
		}
		found, err := Collect(ctx, g.Reader(), func(row Row) (n int, err error) { return n, row.Scan(&n) },
			"select n from numbers where n in ("+g.Dialect().Values("bigint")+")",
			RowArgs(g.Dialect(), keys, func(key int) []any { return []any{key} })...)
		names := map[int]string{}
		for _, n := range found {
			names[n] = fmt.Sprint(n)
		}
		return names, err
	})
}

// TestLookups checks that concurrent look-ups share a query on PostgreSQL, that each gets its own value or
// [ErrNotFound], and that an error of the query is the error of all.
func TestLookups(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		for n := range 4 {
			kit.Must(t, g.add(t.Context(), n, nil))
		}
		var queries [][]int
		names := g.names(&queries)
		if _, err := names.Find(t.Context(), 13); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a query that fails: %v", err)
		}
		queries = nil
		found, errs := make([]string, 6), make([]error, 6)
		names.leaderLock <- struct{}{}
		var running sync.WaitGroup
		for k := range found {
			find := func() { found[k], errs[k] = names.Find(t.Context(), k) }
			if g.SingleServer() {
				find()
				continue
			}
			running.Go(find)
			for waiting := 0; waiting <= k; runtime.Gosched() {
				names.mu.Lock()
				waiting = len(names.waiting)
				names.mu.Unlock()
			}
		}
		<-names.leaderLock
		running.Wait()
		for k, err := range errs {
			if exists := k < 4; exists && (err != nil || found[k] != fmt.Sprint(k)) || !exists && !errors.Is(err, ErrNotFound) {
				t.Errorf("the name of %d is %q, error %v", k, found[k], err)
			}
		}
		if want := map[bool]int{true: 6, false: 1}[g.SingleServer()]; len(queries) != want {
			t.Errorf("the queries are %v, want %d", queries, want)
		}
	})
}

// TestSharedWaiting checks that [Shared.Waiting] counts the writes that wait.
func TestSharedWaiting(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		if n := g.numbers.Waiting(); n != 0 {
			t.Errorf("%d writes wait", n)
		}
		begun, end := make(chan struct{}), make(chan struct{})
		var running sync.WaitGroup
		running.Go(func() {
			if err := g.add(t.Context(), 0, func(context.Context, *Tx) error {
				close(begun)
				<-end
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
		<-begun
		for n := 1; n <= 3; n++ {
			running.Go(func() {
				if err := g.add(t.Context(), n, nil); err != nil {
					t.Error(err)
				}
			})
		}
		for g.numbers.Waiting() < 3 {
			runtime.Gosched()
		}
		close(end)
		running.Wait()
		if kept := g.kept(t); !slices.Equal(kept, []int{0, 1, 2, 3}) {
			t.Errorf("kept %v", kept)
		}
	})
}

// TestMigrate checks that migrations run once, also when several processes start at the same time, and that those of
// the other engine do not run.
func TestMigrate(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		other := map[bool]string{true: "postgres", false: "sqlite"}[g.SingleServer()]
		source := fstest.MapFS{
			"0001_first.sql":                     {Data: []byte("-- +goose Up\ncreate table first (n bigint);")},
			"0002_second_" + g.Engine() + ".sql": {Data: []byte("-- +goose Up\ninsert into first (n) values (1);")},
			"0002_second_" + other + ".sql":      {Data: []byte("-- +goose Up\nfails;")},
		}
		var running sync.WaitGroup
		for range 3 {
			d := again(t, g.address)
			running.Go(func() {
				if err := d.Migrate(t.Context(), source); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		var n int
		kit.Must(t, g.Reader().QueryRowContext(t.Context(), "select count(*) from first").Scan(&n))
		version, err := g.SchemaVersion(t.Context())
		kit.Must(t, err)
		if n != 1 || version != 2 {
			t.Errorf("version %d ran %d times", version, n)
		}
		for table, want := range map[string]bool{"first": true, "none": false} {
			if found, err := g.HasTable(t.Context(), table); err != nil || found != want {
				t.Errorf("table %s: %t, %v", table, found, err)
			}
		}
	})
}

// TestServedBy checks that a server is found: on SQLite one that has locked the file, on PostgreSQL one by the name of
// its sessions.
func TestServedBy(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		served := func(application string) bool {
			t.Helper()
			served, err := g.ServedBy(t.Context(), application)
			kit.Must(t, err)
			return served
		}
		release, err := g.LockForServing()
		kit.Must(t, err)
		if !served("test") || !g.SingleServer() && served("another") {
			t.Error("the wrong server is found")
		}
		_, err = again(t, g.address).LockForServing()
		if g.SingleServer() != errors.Is(err, ErrAlreadyServed) || !g.SingleServer() && err != nil {
			t.Errorf("a second server: %v", err)
		}
		kit.Must(t, release())
		if g.SingleServer() && served("test") {
			t.Error("a server is found that has stopped")
		}
	})
}

// TestScanFails checks that a row that cannot be scanned does not end the rows, so that the others can still be read.
func TestScanFails(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		rows, err := g.Reader().QueryContext(t.Context(), "select '1' as n union all select 'two' union all select '3'")
		kit.Must(t, err)
		var read []int
		failed := 0
		for rows.Next() {
			var n jsonNumber
			if err := rows.Scan(&n); err != nil {
				failed++
				continue
			}
			read = append(read, int(n))
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || failed != 1 || !slices.Equal(read, []int{1, 3}) {
			t.Errorf("read %v, %d rows failed, error %v", read, failed, err)
		}
	})
}

// jsonNumber is a number in a column of text.
type jsonNumber int

// Scan implements [database/sql.Scanner].
func (n *jsonNumber) Scan(value any) error {
	_, err := fmt.Sscan(fmt.Sprint(value), (*int)(n))
	return err
}

// TestNotifications checks that a commit notifies the subscribers of its kind, on PostgreSQL those of other processes
// too, and that a rollback notifies nobody.
func TestNotifications(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		subscribers := map[string]*DB{"of the same process": g.DB}
		if !g.SingleServer() {
			subscribers["of another process"] = again(t, g.address)
		}
		failing := errors.New("failing")
		for name, d := range maps.All(subscribers) {
			notified, end := d.Subscribe("one")
			defer end()
			others, endOthers := d.Subscribe("other")
			defer endOthers()
			// another process takes a while to begin listening
			kit.Until(t, "a notification of a subscriber "+name, func() bool {
				kit.Must(t, g.Write(t.Context(), "test", func(_ context.Context, tx *Tx) error {
					tx.Notify("one")
					return nil
				}))
				if err := g.Write(t.Context(), "test", func(_ context.Context, tx *Tx) error {
					tx.Notify("other")
					return failing
				}); !errors.Is(err, failing) {
					t.Errorf("a write that fails: %v", err)
				}
				return len(notified) > 0
			})
			select {
			case <-others:
				t.Errorf("a subscriber %s was notified of a rollback", name)
			default:
			}
		}
	})
}
