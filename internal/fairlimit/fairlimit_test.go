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
	fill := func(p *fairlimit.Pool[int], holder int) (got int) {
		for p.Take(holder, 1) {
			got++
		}
		return got
	}
	if got := fill(fairlimit.NewPool[int](100, fairlimit.Rule{Part: 1, Most: 30}), 0); got != 30 {
		t.Errorf("a bound of 30 gave %d", got)
	}
	p := fairlimit.NewPool[int](512, fairlimit.Rule{Part: 32, Most: 512})
	last := 15 // a 32nd of the 497 that are left
	for holder := range 100 {
		got := fill(p, holder)
		if got == 0 || got > last || holder == 0 && got != last {
			t.Fatalf("holder %d got %d, the one before %d, while %d of 512 are used", holder, got, last, p.Used())
		}
		last = got
	}
}

// TestBooks: whatever is taken and given back in whatever order, no more is out than there is, nobody has more than its
// bound, and at the end everything is free again.
func TestBooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size, most = 20, 7
		p := fairlimit.NewPool[int](size, fairlimit.Rule{Part: rapid.IntRange(1, 8).Draw(t, "part"), Most: most})
		held, used := map[int]int{}, 0
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			holder, n := rapid.IntRange(0, 5).Draw(t, "holder"), rapid.IntRange(1, 3).Draw(t, "n")
			if rapid.Bool().Draw(t, "take") {
				if p.Take(holder, n) {
					held[holder] += n
					used += n
				} else if used == 0 && n == 1 {
					t.Fatal("nothing is used and one is refused")
				}
			} else if held[holder] >= n {
				p.Give(holder, n)
				held[holder] -= n
				used -= n
			}
			if p.Used() != used || used > size || held[holder] > most {
				t.Fatalf("%d of %d are used, said to be %d; a holder has %d", used, size, p.Used(), held[holder])
			}
		}
		for holder, n := range held {
			p.Give(holder, n)
		}
		if p.Used() != 0 || !p.Take(0, 1) {
			t.Fatalf("%d are used of nothing", p.Used())
		}
	})
}

// TestAtOnce: many at once get no more than there is.
func TestAtOnce(t *testing.T) {
	p := fairlimit.NewPool[int](16, fairlimit.Rule{Part: 1, Most: 16})
	var mu sync.Mutex
	var running sync.WaitGroup
	inside, highest := 0, 0
	for holder := range 8 {
		running.Go(func() {
			for range 2000 {
				if !p.Take(holder, 1) {
					continue
				}
				mu.Lock()
				inside++
				highest = max(highest, inside)
				inside--
				mu.Unlock()
				p.Give(holder, 1)
			}
		})
	}
	running.Wait()
	if highest > 16 || p.Used() != 0 {
		t.Errorf("%d of 16 at once, %d at the end", highest, p.Used())
	}
}
