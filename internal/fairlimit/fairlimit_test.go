package fairlimit_test

import (
	"sync"
	"testing"

	"pgregory.net/rapid"

	"quittance/internal/fairlimit"
)

// TestAloneAndAmongMany: one holder alone gets its fraction of everything, up to its bound; of many who take all they can
// get and never give it back, dozens find something, each of them less than the one before.
func TestAloneAndAmongMany(t *testing.T) {
	fill := func(p *fairlimit.Limiter[int], holder int) (got int) {
		for p.TryAcquire(holder, 1) {
			got++
		}
		return got
	}
	if got := fill(fairlimit.New[int](100, fairlimit.Policy{Divisor: 1, Max: 30}), 0); got != 30 {
		t.Errorf("a bound of 30 gave %d", got)
	}
	p := fairlimit.New[int](512, fairlimit.Policy{Divisor: 32, Max: 512})
	last := 15 // a 32nd of the 497 that are left
	for holder := range 100 {
		got := fill(p, holder)
		if got == 0 || got > last || holder == 0 && got != last {
			t.Fatalf("holder %d got %d, the one before %d, while %d of 512 are used", holder, got, last, p.InUse())
		}
		last = got
	}
}

// TestBooks: whatever is taken and given back in whatever order, no more is out than there is, nobody has more than its
// bound, and at the end everything is free again.
func TestBooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size, most = 20, 7
		p := fairlimit.New[int](size, fairlimit.Policy{Divisor: rapid.IntRange(1, 8).Draw(t, "part"), Max: most})
		held, used := map[int]int{}, 0
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			holder, n := rapid.IntRange(0, 5).Draw(t, "holder"), rapid.IntRange(1, 3).Draw(t, "n")
			if rapid.Bool().Draw(t, "take") {
				if p.TryAcquire(holder, n) {
					held[holder] += n
					used += n
				} else if used == 0 && n == 1 {
					t.Fatal("nothing is used and one is refused")
				}
			} else if held[holder] >= n {
				p.Release(holder, n)
				held[holder] -= n
				used -= n
			}
			if p.InUse() != used || used > size || held[holder] > most {
				t.Fatalf("%d of %d are used, said to be %d; a holder has %d", used, size, p.InUse(), held[holder])
			}
		}
		for holder, n := range held {
			p.Release(holder, n)
		}
		if p.InUse() != 0 || !p.TryAcquire(0, 1) {
			t.Fatalf("%d are used of nothing", p.InUse())
		}
	})
}

// TestAtOnce: many at once get no more than there is.
func TestAtOnce(t *testing.T) {
	p := fairlimit.New[int](16, fairlimit.Policy{Divisor: 1, Max: 16})
	var mu sync.Mutex
	var running sync.WaitGroup
	inside, highest := 0, 0
	for holder := range 8 {
		running.Go(func() {
			for range 2000 {
				if !p.TryAcquire(holder, 1) {
					continue
				}
				mu.Lock()
				inside++
				highest = max(highest, inside)
				inside--
				mu.Unlock()
				p.Release(holder, 1)
			}
		})
	}
	running.Wait()
	if highest > 16 || p.InUse() != 0 {
		t.Errorf("%d of 16 at once, %d at the end", highest, p.InUse())
	}
}
