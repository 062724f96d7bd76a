package queue

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// laneOf is a lane of a company, in no store.
func laneOf(own *owner, quick bool) *lane { return &lane{owner: own, quick: quick, window: 1} }

// TestRoundRobin: companies take turns however many lanes they have, and the lanes of each take turns; whoever cannot have
// a turn keeps its place for when it can.
func TestRoundRobin(t *testing.T) {
	a, b, c := &owner{}, &owner{}, &owner{}
	a1, a2, a3, b1, c1 := laneOf(a, true), laneOf(a, true), laneOf(a, true), laneOf(b, true), laneOf(c, true)
	names := map[*lane]string{a1: "a1", a2: "a2", a3: "a3", b1: "b1", c1: "c1"}
	q := &line{}
	for _, l := range []*lane{a1, a2, a3, b1, c1, a1} {
		q.join(l)
	}
	var turns []string
	workers, blocked := 4, map[*lane]bool{}
	serve := func() []string {
		turns = nil
		q.serve(func(l *lane) int {
			if blocked[l] {
				return 0
			}
			return min(workers, 1)
		}, func(l *lane, n int) {
			workers -= n
			turns = append(turns, names[l])
		})
		return turns
	}
	if got, want := serve(), []string{"a1", "b1", "c1", "a2"}; !slices.Equal(got, want) || q.size != 1 {
		t.Errorf("turns %v, want %v; %d left", got, want, q.size)
	}
	q.join(b1)
	q.join(a1)
	q.join(c1)
	blocked[b1], workers = true, 2
	if got, want := serve(), []string{"a3", "c1"}; !slices.Equal(got, want) {
		t.Errorf("turns %v, want %v", got, want)
	}
	q.join(c1)
	blocked[b1], workers = false, 2
	if got, want := serve(), []string{"b1", "a1"}; !slices.Equal(got, want) || q.size != 1 {
		t.Errorf("turns %v, want %v: who could not have its turn comes first; %d left", got, want, q.size)
	}
}

// TestLineIsBounded: slow lanes leave places in line for quick ones, which are bounded too.
func TestLineIsBounded(t *testing.T) {
	q, own := &line{}, &owner{}
	for q.admits(false) {
		q.join(laneOf(own, false))
	}
	slow := q.size
	for q.admits(true) {
		q.join(laneOf(own, true))
	}
	if slow != maxWaiting || q.size != 2*maxWaiting {
		t.Errorf("%d slow lanes, %d in all", slow, q.size)
	}
}

// TestFloor: in whatever order pieces begin, become late and end, no more workers are taken than there are, slow lanes begin
// nothing beyond theirs, no lane and no company has more than its bound, and the books are even at the end.
func TestFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(0, 0)
		f := newFloor(Options{Workers: rapid.IntRange(2, 200).Draw(t, "workers"), MaxPerCompany: 12, MaxPerQueue: 8, MaxPerSlowQueue: 3, SlowAfter: time.Second, Now: func() time.Time { return now }})
		f.SlowWorkers = rapid.IntRange(1, f.Workers-1).Draw(t, "slow")
		var lanes []*lane
		for range 5 {
			own := &owner{}
			lanes = append(lanes, laneOf(own, false), laneOf(own, false), laneOf(own, false))
		}
		var under []*piece
		end := func(at int, o Result) {
			f.end(under[at], o)
			under = append(under[:at], under[at+1:]...)
		}
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1, 2:
				l := lanes[rapid.IntRange(0, len(lanes)-1).Draw(t, "lane")]
				n, slow, quick := max(f.room(l), 0), f.slow, l.quick
				f.take(l, n)
				for range n {
					under = append(under, f.begin(l))
				}
				if !quick && n > 0 && f.slow > f.SlowWorkers || quick && f.slow != slow {
					t.Fatalf("%d workers of slow lanes after %d more, want at most %d", f.slow, n, f.SlowWorkers)
				}
				if quick && n > 0 && l.busy > f.MaxPerQueue || !quick && n > 0 && l.busy > f.MaxPerSlowQueue {
					t.Fatalf("%d pieces of a lane", l.busy)
				}
			case 3, 4:
				if len(under) > 0 {
					end(rapid.IntRange(0, len(under)-1).Draw(t, "which"), Result{Responded: rapid.Bool().Draw(t, "answered"), Latency: time.Duration(rapid.IntRange(0, 1500).Draw(t, "ms")) * time.Millisecond})
				}
			case 5:
				now = now.Add(400 * time.Millisecond)
				f.age()
			}
			if f.quick < 0 || f.slow < 0 || f.quick+f.slow != len(under) || len(under) > f.Workers {
				t.Fatalf("%d and %d workers are taken for %d pieces, of %d", f.quick, f.slow, len(under), f.Workers)
			}
		}
		for len(under) > 0 {
			end(0, Result{})
		}
		for _, l := range lanes {
			if l.busy != 0 || l.late != 0 || l.owner.quick != 0 || l.owner.slow != 0 {
				t.Fatalf("left over: %+v of %+v", l, l.owner)
			}
		}
		if f.quick != 0 || f.slow != 0 || f.running.Len() != 0 {
			t.Fatalf("left over: %d, %d and %d", f.quick, f.slow, f.running.Len())
		}
	})
}
