package db

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"quittance/test/kit"
)

// TestCommitTogether checks that each of the writes in one commit succeeds or fails by itself, and that a panic reaches
// the caller of its write.
func TestCommitTogether(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		wrong, ends := errors.New("wrong"), make([]error, 12)
		causes, runs := make([]any, 12), make([]int, 12)
		g.batch(12, func(n int) {
			defer func() { causes[n] = recover() }()
			ends[n] = g.add(t.Context(), n/2*2, func(context.Context, *Tx) error { // the odd ones repeat a number
				runs[n]++
				switch n {
				case 4:
					return wrong
				case 6:
					runOutOfPaper()
				}
				return nil
			})
		})
		for n := range ends {
			switch {
			case n == 4 && !errors.Is(ends[n], wrong):
				t.Errorf("write %d: error %v", n, ends[n])
			case n == 6:
				carried, ok := causes[n].(*Panic)
				if !ok || carried.Value != "out of paper" || !strings.Contains(carried.String(), "runOutOfPaper") {
					t.Errorf("write %d: panic %v", n, causes[n])
				}
			case n == 4:
			case n%2 == 0 || n == 5 || n == 7: // 5 and 7 repeat a number whose first writer failed
				if ends[n] != nil || g.group().savepoints && runs[n] != 1 {
					t.Errorf("write %d: error %v, run %d times", n, ends[n], runs[n])
				}
			case g.ViolatedConstraint(ends[n]) != g.repeats():
				t.Errorf("write %d repeats a number: error %v", n, ends[n])
			}
		}
		if got := g.kept(t); !slices.Equal(got, []int{0, 2, 4, 6, 8, 10}) {
			t.Errorf("kept %v", got)
		}
	})
}

// runOutOfPaper panics. Its name must be in the stack of the panic.
func runOutOfPaper() { panic("out of paper") }

// TestNotifyTogether checks that the notification of one write in a commit reaches the subscribers.
func TestNotifyTogether(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		notified, stop := g.Subscribe("numbers")
		defer stop()
		g.batch(5, func(n int) {
			if err := g.add(t.Context(), n, func(_ context.Context, tx *Tx) error {
				if n == 3 {
					tx.Notify("numbers")
				}
				return nil
			}); err != nil {
				t.Errorf("write %d: %v", n, err)
			}
		})
		kit.Receive(t, notified, "a notification")
	})
}

// TestNextBatch checks that a batch has the oldest writes, within the bounds of their number and their total size.
func TestNextBatch(t *testing.T) {
	t.Parallel()
	g := newGroup(false)
	sizes := []int{5 << 20, 1, 3 << 20, 1 << 20, maxGroupBytes, 1}
	for _, size := range append(sizes, make([]int, maxGroupSize+1)...) {
		g.enqueue(&pendingWrite{size: size})
	}
	for n, want := range []int{1, 2, 1, 1, maxGroupSize, 2, 0} {
		if batch := g.nextBatch(); len(batch) != want {
			t.Errorf("batch %d has %d writes, want %d", n, len(batch), want)
		}
	}
}

// TestDatabaseRollsBack checks that no write of a batch is reported as committed after the database has rolled back the
// whole transaction during one of them.
func TestDatabaseRollsBack(t *testing.T) {
	t.Parallel()
	g := newSQLite(t)
	wrong, ends := errors.New("wrong"), make([]error, 8)
	g.batch(8, func(n int) {
		ends[n] = g.add(t.Context(), n, func(ctx context.Context, tx *Tx) error {
			switch n {
			case 3: // as after a full disk, with an error
				if _, err := tx.Exec(ctx, "rollback"); err != nil {
					return err
				}
				return wrong
			case 5: // the same without an error
				_, err := tx.Exec(ctx, "rollback")
				return err
			}
			return nil
		})
	})
	for n, err := range ends {
		if (err != nil) != (n == 3 || n == 5) {
			t.Errorf("write %d: error %v", n, err)
		}
	}
	if got := g.kept(t); !slices.Equal(got, []int{0, 1, 2, 4, 6, 7}) {
		t.Errorf("kept %v", got)
	}
	if err := g.add(t.Context(), 99, nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestCancelWaitingWrite checks that a request that ends while its write waits writes nothing, and that the others are
// committed.
func TestCancelWaitingWrite(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		ctx, cancel := context.WithCancel(t.Context())
		g.group().leaderLock <- struct{}{}
		var running sync.WaitGroup
		ends := make([]error, 9)
		for n := range ends {
			running.Go(func() {
				mine := t.Context()
				if n%3 == 0 {
					mine = ctx
				}
				ends[n] = g.add(mine, n, nil)
			})
		}
		for g.waiting() < len(ends) {
			runtime.Gosched()
		}
		cancel()
		for g.waiting() > 6 {
			runtime.Gosched()
		}
		<-g.group().leaderLock
		running.Wait()
		for n, err := range ends {
			if left := n%3 == 0; left != errors.Is(err, context.Canceled) || !left && err != nil {
				t.Errorf("write %d: error %v", n, err)
			}
		}
		if got := g.kept(t); !slices.Equal(got, []int{1, 2, 4, 5, 7, 8}) {
			t.Errorf("kept %v", got)
		}
	})
}

// TestGoexit checks that a goroutine that ends within its write affects no other write.
func TestGoexit(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		ends := make([]error, 4)
		g.batch(4, func(n int) {
			ends[n] = errors.New("never returned")
			ends[n] = g.add(t.Context(), n, func(context.Context, *Tx) error {
				if n == 2 {
					runtime.Goexit()
				}
				return nil
			})
		})
		for _, n := range g.kept(t) {
			if ends[n] != nil {
				t.Errorf("write %d was committed and returned %v", n, ends[n])
			}
		}
		for n, err := range ends {
			if err == nil && !slices.Contains(g.kept(t), n) {
				t.Errorf("write %d returned no error and was not committed", n)
			}
		}
		if err := g.add(t.Context(), 99, nil); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// TestManyWriters checks that under load exactly those writes are committed that return no error.
func TestManyWriters(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		var running sync.WaitGroup
		var mu sync.Mutex
		var acknowledged []int
		wrong := errors.New("wrong")
		for worker := range 40 {
			running.Go(func() {
				for k := range 25 {
					n := worker*25 + k
					err := g.add(t.Context(), n, func(ctx context.Context, tx *Tx) error {
						switch n % 7 {
						case 3:
							return wrong
						case 5:
							if n%70 == 5 && g.group().savepoints { // PostgreSQL does not roll back by itself
								if _, err := tx.Exec(ctx, "rollback"); err != nil {
									return err
								}
							}
							return fmt.Errorf("also %w", wrong)
						}
						return nil
					})
					if err == nil {
						mu.Lock()
						acknowledged = append(acknowledged, n)
						mu.Unlock()
					} else if !errors.Is(err, wrong) {
						t.Errorf("write %d: %v", n, err)
					}
				}
			})
		}
		running.Wait()
		slices.Sort(acknowledged)
		if kept := g.kept(t); !slices.Equal(kept, acknowledged) || len(kept) < 600 {
			t.Errorf("%d kept, %d acknowledged", len(kept), len(acknowledged))
		}
	})
}

// TestCachedStatement checks that a cached statement works while the rows of another run of it are open, and after a
// change of the schema.
func TestCachedStatement(t *testing.T) {
	t.Parallel()
	g := newSQLite(t)
	for n := range 5 {
		if err := g.add(t.Context(), n, nil); err != nil {
			t.Fatal(err)
		}
	}
	const query = "select n from numbers where n >= $1 order by n"
	conn, err := sqlPool(t, g.Reader()).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	outer, err := conn.QueryContext(t.Context(), query, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer outer.Close()
	seen := 0
	for outer.Next() {
		var n, inner int
		if err := outer.Scan(&n); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRowContext(t.Context(), query, n).Scan(&inner); err != nil || inner != n {
			t.Errorf("inside %d: %d, %v", n, inner, err)
		}
		seen++
	}
	if err := outer.Err(); err != nil || seen != 5 {
		t.Errorf("%d rows, %v", seen, err)
	}
	if err := g.exec(t.Context(), "alter table numbers add column more text"); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := conn.QueryRowContext(t.Context(), query, 4).Scan(&n); err != nil || n != 4 {
		t.Errorf("after a change of the schema: %d, %v", n, err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

// BenchmarkWrite measures small durable writes by many goroutines.
func BenchmarkWrite(b *testing.B) {
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			g := newSQLite(b)
			var next atomic.Int64
			var running sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for range clients {
				running.Go(func() {
					for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
						if err := g.add(context.Background(), int(n), nil); err != nil {
							b.Error(err)
						}
					}
				})
			}
			running.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}

// TestUnavailableForAll checks that after one write of a batch found the database unavailable, the others fail too, and
// do not each wait for the database.
func TestUnavailableForAll(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		const writes = 8
		ends, runs := make([]error, writes), make([]int, writes)
		g.batch(writes, func(n int) {
			ends[n] = g.add(t.Context(), n, func(ctx context.Context, tx *Tx) error {
				if runs[n]++; n < 2 {
					return nil
				}
				if g.group().savepoints { // as when SQLite rolls back by itself
					if _, err := tx.Exec(ctx, "rollback"); err != nil {
						return err
					}
				}
				return context.DeadlineExceeded // as after a time-out
			})
		})
		later := 0
		for n := range writes {
			if n > 2 {
				later += runs[n]
			}
			if ends[n] == nil && !slices.Contains(g.kept(t), n) {
				t.Errorf("write %d returned no error and was not committed", n)
			}
			if n >= 2 && !errors.Is(ends[n], ErrUnavailable) {
				t.Errorf("write %d: error %v", n, ends[n])
			}
		}
		if later != 0 {
			t.Errorf("%d writes ran after one had found the database unavailable", later)
		}
	})
}
