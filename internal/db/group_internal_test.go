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
	"time"
)

// TestTogether: of writes in one commit each succeeds or fails by itself, a panic included, which is met where the write was
// called.
func TestTogether(t *testing.T) {
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

// runOutOfPaper is what the stack of a panic has to name.
func runOutOfPaper() { panic("out of paper") }

// TestWokenTogether: whom one write of a commit gives work is told.
func TestWokenTogether(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		woken, stop := g.Subscribe("numbers")
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
		select {
		case <-woken:
		case <-time.After(time.Minute):
			t.Error("nobody is told")
		}
	})
}

// TestTake: a commit takes those that have waited longest, not too many, and not too long ones together.
func TestTake(t *testing.T) {
	t.Parallel()
	g := newGroup(false)
	sizes := []int{5 << 20, 1, 3 << 20, 1 << 20, maxGroupBytes, 1}
	for _, size := range append(sizes, make([]int, maxGroupSize+1)...) {
		g.enqueue(&pendingWrite{size: size})
	}
	for n, want := range []int{1, 2, 1, 1, maxGroupSize, 2, 0} {
		if batch := g.nextBatch(); len(batch) != want {
			t.Errorf("commit %d takes %d, want %d", n, len(batch), want)
		}
	}
}

// TestTransactionGone: when the database itself rolls the whole transaction back under one write, no neighbour is told that
// it was committed without being so.
func TestTransactionGone(t *testing.T) {
	t.Parallel()
	g := newSQLite(t)
	wrong, ends := errors.New("wrong"), make([]error, 8)
	g.batch(8, func(n int) {
		ends[n] = g.add(t.Context(), n, func(ctx context.Context, tx *Tx) error {
			switch n {
			case 3: // as after a full disk, and the write sees an error
				if _, err := tx.Exec(ctx, "rollback"); err != nil {
					return err
				}
				return wrong
			case 5: // and as if nobody had noticed
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

// TestLeaving: who hangs up while it waits has written nothing, and the others are committed.
func TestLeaving(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		ctx, hangUp := context.WithCancel(t.Context())
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
		hangUp()
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

// TestEndedFromWithin: a goroutine that ends inside its write takes nothing with it.
func TestEndedFromWithin(t *testing.T) {
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
				t.Errorf("write %d was committed and told %v", n, ends[n])
			}
		}
		for n, err := range ends {
			if err == nil && !slices.Contains(g.kept(t), n) {
				t.Errorf("write %d was told that it is committed", n)
			}
		}
		if err := g.add(t.Context(), 99, nil); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// TestManyTogether: under load, what is told and what is kept are the same.
func TestManyTogether(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		var running sync.WaitGroup
		var mu sync.Mutex
		var told []int
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
							if n%70 == 5 && g.group().savepoints { // PostgreSQL rolls nothing back by itself
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
						told = append(told, n)
						mu.Unlock()
					} else if !errors.Is(err, wrong) {
						t.Errorf("write %d: %v", n, err)
					}
				}
			})
		}
		running.Wait()
		slices.Sort(told)
		if kept := g.kept(t); !slices.Equal(kept, told) || len(kept) < 600 {
			t.Errorf("%d kept, %d told", len(kept), len(told))
		}
	})
}

// TestRemembered: a statement is prepared once, also while the rows of another run of it are open, and goes on working when
// the schema changes under it.
func TestRemembered(t *testing.T) {
	t.Parallel()
	g := newSQLite(t)
	for n := range 5 {
		if err := g.add(t.Context(), n, nil); err != nil {
			t.Fatal(err)
		}
	}
	const query = "select n from numbers where n >= $1 order by n"
	conn, err := sqlPool(t, g.reader).Conn(t.Context())
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

// BenchmarkWrite: small durable writes by many goroutines.
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

// TestDownForAll: when the database is not there for one write, its neighbours are told so too, and do not each wait for
// it in turn.
func TestDownForAll(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		const writes = 8
		ends, runs := make([]error, writes), make([]int, writes)
		g.batch(writes, func(n int) {
			ends[n] = g.add(t.Context(), n, func(ctx context.Context, tx *Tx) error {
				if runs[n]++; n < 2 {
					return nil
				}
				if g.group().savepoints { // SQLite has rolled everything back by itself
					if _, err := tx.Exec(ctx, "rollback"); err != nil {
						return err
					}
				}
				return context.DeadlineExceeded // as after a statement that was given up
			})
		})
		later := 0
		for n := range writes {
			if n > 2 {
				later += runs[n]
			}
			if ends[n] == nil && !slices.Contains(g.kept(t), n) {
				t.Errorf("write %d was told that it is committed", n)
			}
			if n >= 2 && !errors.Is(ends[n], ErrUnavailable) {
				t.Errorf("write %d: error %v", n, ends[n])
			}
		}
		if later != 0 {
			t.Errorf("%d writes were tried after the database was found not to be there", later)
		}
	})
}
