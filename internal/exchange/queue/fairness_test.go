package queue_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/exchange/queue"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/test/kit"
)

// request is a task whose other side has not responded yet.
type request struct {
	queue    base.ID
	response chan queue.Result
}

// receiver is the other side of a source. It responds when the test says so.
type receiver struct {
	*fixture
	requests chan request
	over     chan struct{}
	mu       sync.Mutex
	now      queue.Stats
	highest  queue.Stats
}

func newReceiver(t *testing.T) *receiver {
	return &receiver{fixture: newFixture(t), requests: make(chan request, 10_000), over: make(chan struct{})}
}

func (s *receiver) do(d events.DeliveryLease) queue.Result {
	r := request{d.Subscription, make(chan queue.Result, 1)}
	s.requests <- r
	select {
	case o := <-r.response:
		return o
	case <-s.over:
		return queue.Result{}
	}
}

// run runs deliveries until the end of the test, which ends all open requests.
func (s *receiver) run(t *testing.T, options queue.Options) {
	t.Helper()
	options.OnStats = func(now queue.Stats) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.now = now
		s.now.Contact = time.Time{} // the tests compare the numbers
		s.highest.QuickWorkers, s.highest.SlowWorkers = max(s.highest.QuickWorkers, now.QuickWorkers),
			max(s.highest.SlowWorkers, now.SlowWorkers)
	}
	start(t, s.fixture, s.source(base.WorkDeliveries, func() {}, s.do), options)
	t.Cleanup(func() { close(s.over) })
}

// awaitStats waits until the stats are want.
func (s *receiver) awaitStats(t *testing.T, want queue.Stats) {
	t.Helper()
	kit.Eventually(t, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.now != want {
			return fmt.Errorf("the stats are %+v, want %+v", s.now, want)
		}
		return nil
	})
}

// receive receives n requests.
func (s *receiver) receive(t *testing.T, n int) (out []request) {
	t.Helper()
	for range n {
		out = append(out, kit.Receive(t, s.requests, fmt.Sprintf("request %d of %d", len(out)+1, n)))
	}
	return out
}

func respond(requests []request, o queue.Result) {
	for _, r := range requests {
		r.response <- o
	}
}

func (s *receiver) wide() queue.Options {
	o := s.options(10 * time.Millisecond)
	o.Workers, o.SlowWorkers = 300, 200
	return o
}

// TestWindow checks that a queue that has never responded gets one task at a time. Each response allows one more
// running task, up to the bound; each task without a response halves their number.
func TestWindow(t *testing.T) {
	s := newReceiver(t)
	s.subscribe(t)
	s.addDeliveries(t, 40)
	s.run(t, s.wide())
	s.awaitStats(t, queue.Stats{SlowWorkers: 1, WaitingQueues: 1})
	for _, step := range []struct{ running, next int }{{1, 2}, {2, 4}, {4, 4}} {
		respond(s.receive(t, step.running), responded)
		s.awaitStats(t, queue.Stats{QuickWorkers: step.next, WaitingQueues: 1})
	}
	respond(s.receive(t, 4), queue.Result{})
	// 4, then 2, 1 and 1. The queue stays quick, because its tasks failed fast.
	s.awaitStats(t, queue.Stats{QuickWorkers: 1, WaitingQueues: 1})
}

// TestSlowQueue checks that a queue with a late task is slow, with all its running tasks. A prompt response makes it
// quick again only when none of them is late.
func TestSlowQueue(t *testing.T) {
	s := newReceiver(t)
	s.subscribe(t)
	s.addDeliveries(t, 40)
	s.run(t, s.wide())
	respond(s.receive(t, 1), responded)
	respond(s.receive(t, 2), responded)
	s.awaitStats(t, queue.Stats{QuickWorkers: 4, WaitingQueues: 1})
	hanging := s.receive(t, 4)
	s.Clock.Advance(time.Second)
	s.awaitStats(t, queue.Stats{SlowWorkers: 4, WaitingQueues: 1})
	respond(hanging[:3], responded)
	// A slow queue may have two running tasks: the one that hangs, and another.
	s.awaitStats(t, queue.Stats{SlowWorkers: 2, WaitingQueues: 1})
	respond(s.receive(t, 1), responded)
	s.awaitStats(t, queue.Stats{SlowWorkers: 2, WaitingQueues: 1})
	next := s.receive(t, 1)
	respond(hanging[3:], queue.Result{Latency: time.Minute})
	s.receive(t, 1) // the task that follows, so that the late one has certainly ended
	respond(next, responded)
	s.awaitStats(t, queue.Stats{QuickWorkers: 3, WaitingQueues: 1})
}

// TestSlowResponse checks that a response with a long latency makes a queue slow, although the scheduler did not see
// its task late.
func TestSlowResponse(t *testing.T) {
	s := newReceiver(t)
	s.subscribe(t)
	s.addDeliveries(t, 10)
	s.run(t, s.wide())
	respond(s.receive(t, 1), responded)
	s.awaitStats(t, queue.Stats{QuickWorkers: 2, WaitingQueues: 1})
	respond(s.receive(t, 2), queue.Result{Latency: time.Second, Responded: true})
	s.awaitStats(t, queue.Stats{SlowWorkers: 2, WaitingQueues: 1})
}

// TestHangingDestinations checks that the hanging destinations of twenty companies hold the whole slow pool and nothing
// beyond it. A company whose destination has responded before is served as if they did not exist.
func TestHangingDestinations(t *testing.T) {
	s := newReceiver(t)
	quick := s.subscribe(t)
	s.addDeliveries(t, 1)
	options := s.options(10 * time.Millisecond)
	options.Workers, options.SlowWorkers = 30, 10
	s.run(t, options)
	respond(s.receive(t, 1), responded)
	for n := range 20 {
		other := newCompany(t, s.Store, fmt.Sprintf("hanging%d@example.com", n))
		other.subscribe(t)
		other.subscribe(t)
		other.addDeliveries(t, 3)
	}
	s.receive(t, 10)
	s.awaitStats(t, queue.Stats{SlowWorkers: 10, WaitingQueues: 40})
	const tasks = 30
	s.addDeliveries(t, tasks)
	for range tasks {
		r := s.receive(t, 1)
		if r[0].queue != quick {
			t.Fatalf("queue %s had a turn, want the quick one, %s", r[0].queue, quick)
		}
		respond(r, responded)
	}
	s.awaitStats(t, queue.Stats{SlowWorkers: 10, WaitingQueues: 40})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.highest.SlowWorkers != 10 || s.highest.QuickWorkers > 4 {
		t.Errorf("slow queues had %d workers at the same time and quick ones %d, want 10 and at most 4",
			s.highest.SlowWorkers, s.highest.QuickWorkers)
	}
}

// TestNewCompany checks that while the slow pool is not full, a new company is served although others hang.
func TestNewCompany(t *testing.T) {
	s := newReceiver(t)
	for n := range 12 {
		other := newCompany(t, s.Store, fmt.Sprintf("hanging%d@example.com", n))
		for range 5 {
			other.subscribe(t)
		}
		other.addDeliveries(t, 2)
	}
	options := s.wide()
	options.SlowWorkers = 64 // two workers for each company at first, and one later
	s.run(t, options)
	quick := s.subscribe(t)
	s.addDeliveries(t, 20)
	for done := 0; done < 20; {
		if r := s.receive(t, 1); r[0].queue == quick {
			respond(r, responded)
			done++
		}
	}
}

// TestMoreQueuesThanFit checks that when more slow queues have endless work than the ready list holds, each of them
// still has turns.
func TestMoreQueuesThanFit(t *testing.T) {
	f := newFixture(t)
	const companies, each = 32, 20
	for n := range companies {
		other := newCompany(t, f.Store, fmt.Sprintf("c%d@example.com", n))
		for range each {
			other.subscribe(t)
		}
		other.addDeliveries(t, 1)
	}
	var mu sync.Mutex
	turns := map[base.ID]int{}
	all := make(chan struct{}, 1)
	source := queue.Source[base.ID]{Name: "test", Kind: base.WorkPurchases,
		Scan: func(ctx context.Context, from base.ScanCursor) (base.DueScan, error) {
			return events.DueDeliveryQueues(ctx, f.DB, from)
		},
		Claim: func(_ context.Context, q base.Queue, limit int) ([]base.ID, error) {
			endless := make([]base.ID, limit)
			for n := range endless {
				endless[n] = q.Key()
			}
			return endless, nil
		},
		Do: func(_ context.Context, id base.ID) queue.Result {
			mu.Lock()
			defer mu.Unlock()
			if turns[id]++; len(turns) == companies*each && turns[id] == 1 {
				all <- struct{}{}
			}
			return queue.Result{Latency: time.Minute}
		}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		queue.Run(ctx, f.DB, source, f.options(10*time.Millisecond))
	}()
	kit.Receive(t, all, "a turn of every queue")
	cancel()
	kit.Receive(t, ended, "the end of the run")
}

// TestFewScans checks that a queue with many due tasks is claimed in batches and without further scans.
func TestFewScans(t *testing.T) {
	f := newFixture(t)
	f.subscribe(t)
	const tasks = 50
	f.addDeliveries(t, tasks)
	var scans, claims atomic.Int32
	done := make(chan struct{}, tasks)
	source := f.source(base.WorkPurchases, func() { scans.Add(1) }, func(events.DeliveryLease) queue.Result {
		done <- struct{}{}
		return responded
	})
	claim := source.Claim
	source.Claim = func(ctx context.Context, q base.Queue, limit int) ([]events.DeliveryLease, error) {
		claims.Add(1)
		return claim(ctx, q, limit)
	}
	options := f.options(never)
	options.Workers, options.MaxPerCompany, options.MaxPerQueue = 400, 16, 16
	stop := start(t, f, source, options)
	for range tasks {
		kit.Receive(t, done, "the tasks of the queue")
	}
	stop()
	if scans.Load() != 1 || claims.Load() > tasks/2 {
		t.Errorf("%d scans and %d claims for %d tasks of one queue, want one scan and at most half as many claims as tasks",
			scans.Load(), claims.Load(), tasks)
	}
}
