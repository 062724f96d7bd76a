package queue

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// queueOf returns a new queue of a company.
func queueOf(c *company, quick bool) *queue { return &queue{company: c, quick: quick, window: 1} }

// TestRoundRobin checks that companies take turns, however many queues they have, and so do the queues of each company.
// Those without capacity keep their positions.
func TestRoundRobin(t *testing.T) {
	a, b, c := &company{}, &company{}, &company{}
	a1, a2, a3, b1, c1 := queueOf(a, true), queueOf(a, true), queueOf(a, true), queueOf(b, true), queueOf(c, true)
	names := map[*queue]string{a1: "a1", a2: "a2", a3: "a3", b1: "b1", c1: "c1"}
	r := &roundRobin{}
	for _, q := range []*queue{a1, a2, a3, b1, c1, a1} {
		r.push(q)
	}
	var turns []string
	workers, blocked := 4, map[*queue]bool{}
	serve := func() []string {
		turns = nil
		r.serve(func(q *queue) int {
			if blocked[q] {
				return 0
			}
			return min(workers, 1)
		}, func(q *queue, n int) {
			workers -= n
			turns = append(turns, names[q])
		})
		return turns
	}
	if got, want := serve(), []string{"a1", "b1", "c1", "a2"}; !slices.Equal(got, want) || r.size != 1 {
		t.Errorf("turns %v, want %v; %d left", got, want, r.size)
	}
	r.push(b1)
	r.push(a1)
	r.push(c1)
	blocked[b1], workers = true, 2
	if got, want := serve(), []string{"a3", "c1"}; !slices.Equal(got, want) {
		t.Errorf("turns %v, want %v", got, want)
	}
	r.push(c1)
	blocked[b1], workers = false, 2
	if got, want := serve(), []string{"b1", "a1"}; !slices.Equal(got, want) || r.size != 1 {
		t.Errorf("turns %v, want %v: the queue without capacity comes first; %d left", got, want, r.size)
	}
}

// TestReadyListIsBounded checks that the ready list bounds slow queues and quick queues, and slow ones leave space for
// quick ones.
func TestReadyListIsBounded(t *testing.T) {
	r, c := &roundRobin{}, &company{}
	for r.fits(false) {
		r.push(queueOf(c, false))
	}
	slow := r.size
	for r.fits(true) {
		r.push(queueOf(c, true))
	}
	if slow != maxReady || r.size != 2*maxReady {
		t.Errorf("%d slow queues, %d in all", slow, r.size)
	}
}

// TestWorkerPoolBounds checks that, in any order of tasks that begin, become late and end, no more workers are busy
// than exist, slow queues begin no task beyond the slow pool, no queue exceeds its bound, and in the end no worker is
// held.
func TestWorkerPoolBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(0, 0)
		p := newWorkerPool(Options{Workers: rapid.IntRange(2, 200).Draw(t, "workers"), MaxPerCompany: 12, MaxPerQueue: 8,
			MaxPerSlowQueue: 3, SlowAfter: time.Second, Now: func() time.Time { return now }})
		p.options.SlowWorkers = rapid.IntRange(1, p.options.Workers-1).Draw(t, "slow")
		var queues []*queue
		for range 5 {
			c := &company{}
			queues = append(queues, queueOf(c, false), queueOf(c, false), queueOf(c, false))
		}
		var running []*task
		end := func(at int, o Result) {
			p.finish(running[at], o)
			running = append(running[:at], running[at+1:]...)
		}
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1, 2:
				q := queues[rapid.IntRange(0, len(queues)-1).Draw(t, "queue")]
				n, slow, quick := max(p.capacity(q), 0), p.slowBusy, q.quick
				p.acquire(q, n)
				for range n {
					running = append(running, p.start(q))
				}
				if !quick && n > 0 && p.slowBusy > p.options.SlowWorkers || quick && p.slowBusy != slow {
					t.Fatalf("slow queues hold %d workers after %d more, want at most %d", p.slowBusy, n, p.options.SlowWorkers)
				}
				if quick && n > 0 && q.busy > p.options.MaxPerQueue || !quick && n > 0 && q.busy > p.options.MaxPerSlowQueue {
					t.Fatalf("a queue has %d running tasks", q.busy)
				}
			case 3, 4:
				if len(running) > 0 {
					end(rapid.IntRange(0, len(running)-1).Draw(t, "which"), Result{Responded: rapid.Bool().Draw(t, "responded"),
						Latency: time.Duration(rapid.IntRange(0, 1500).Draw(t, "ms")) * time.Millisecond})
				}
			case 5:
				now = now.Add(400 * time.Millisecond)
				p.demoteLate()
			}
			if p.quickBusy < 0 || p.slowBusy < 0 || p.quickBusy+p.slowBusy != len(running) || len(running) > p.options.Workers {
				t.Fatalf("%d quick and %d slow workers are busy with %d tasks, of %d workers", p.quickBusy, p.slowBusy,
					len(running), p.options.Workers)
			}
		}
		for len(running) > 0 {
			end(0, Result{})
		}
		for _, q := range queues {
			if q.busy != 0 || q.late != 0 || q.company.quickBusy != 0 || q.company.slowBusy != 0 {
				t.Fatalf("left over: %+v of %+v", q, q.company)
			}
		}
		if p.quickBusy != 0 || p.slowBusy != 0 || p.running.Len() != 0 {
			t.Fatalf("left over: %d quick workers, %d slow workers and %d tasks", p.quickBusy, p.slowBusy, p.running.Len())
		}
	})
}
