package fairlimit_test

import (
	"sync"
	"testing"

	"pgregory.net/rapid"

	"quittance/internal/platform/fairlimit"
)

// TestAloneAndAmongMany: a holder alone gets its fraction of the whole capacity, up to its maximum. When many holders
// acquire all they can and release nothing, each of them gets something, but no more than the one before.
func TestAloneAndAmongMany(t *testing.T) {
	fill := func(l *fairlimit.Limiter[int], holder int) (got int) {
		for l.TryAcquire(holder, 1) {
			got++
		}
		return got
	}
	if got := fill(fairlimit.New[int](100, fairlimit.Policy{Divisor: 1, Max: 30}), 0); got != 30 {
		t.Errorf("a maximum of 30 gave %d", got)
	}
	l := fairlimit.New[int](512, fairlimit.Policy{Divisor: 32, Max: 512})
	last := 15 // a 32nd of the 497 that are left
	for holder := range 100 {
		got := fill(l, holder)
		if got == 0 || got > last || holder == 0 && got != last {
			t.Fatalf("holder %d got %d, the one before %d, while %d of 512 are in use", holder, got, last, l.InUse())
		}
		last = got
	}
}

// TestAccounting: in any order of acquisitions and releases, no more than the capacity is in use, no holder exceeds its
// maximum, and at the end everything is free.
func TestAccounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size, most = 20, 7
		l := fairlimit.New[int](size, fairlimit.Policy{Divisor: rapid.IntRange(1, 8).Draw(t, "divisor"), Max: most})
		held, used := map[int]int{}, 0
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			holder, n := rapid.IntRange(0, 5).Draw(t, "holder"), rapid.IntRange(1, 3).Draw(t, "n")
			if rapid.Bool().Draw(t, "acquire") {
				if l.TryAcquire(holder, n) {
					held[holder] += n
					used += n
				} else if used == 0 && n == 1 {
					t.Fatal("nothing is in use, and acquiring one failed")
				}
			} else if held[holder] >= n {
				l.Release(holder, n)
				held[holder] -= n
				used -= n
			}
			if l.InUse() != used || used > size || held[holder] > most {
				t.Fatalf("%d of %d are in use, InUse is %d; a holder has %d", used, size, l.InUse(), held[holder])
			}
		}
		for holder, n := range held {
			l.Release(holder, n)
		}
		if l.InUse() != 0 || !l.TryAcquire(0, 1) {
			t.Fatalf("%d are in use at the end", l.InUse())
		}
	})
}

// TestConcurrentUse: concurrent holders never have more than the capacity.
func TestConcurrentUse(t *testing.T) {
	l := fairlimit.New[int](16, fairlimit.Policy{Divisor: 1, Max: 16})
	var mu sync.Mutex
	var running sync.WaitGroup
	inside, highest := 0, 0
	for holder := range 8 {
		running.Go(func() {
			for range 2000 {
				if !l.TryAcquire(holder, 1) {
					continue
				}
				mu.Lock()
				inside++
				highest = max(highest, inside)
				inside--
				mu.Unlock()
				l.Release(holder, 1)
			}
		})
	}
	running.Wait()
	if highest > 16 || l.InUse() != 0 {
		t.Errorf("%d of 16 in use at the same time, %d at the end", highest, l.InUse())
	}
}
