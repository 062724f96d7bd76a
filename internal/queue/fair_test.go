package queue_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/queue"
	"quittance/internal/store"
)

// visit is a piece of work that has come to the other side and waits for its answer.
type visit struct {
	lane   store.ID
	answer chan queue.Result
}

// otherSide is the other side of a source, which answers when the test says so.
type otherSide struct {
	*fixture
	visits chan visit
	over   chan struct{}
	mu     sync.Mutex
	now    queue.Stats
	most   queue.Stats
}

func newOtherSide(t *testing.T) *otherSide {
	return &otherSide{fixture: newFixture(t), visits: make(chan visit, 10_000), over: make(chan struct{})}
}

func (s *otherSide) do(d store.Delivery) queue.Result {
	v := visit{d.Subscription, make(chan queue.Result, 1)}
	s.visits <- v
	select {
	case o := <-v.answer:
		return o
	case <-s.over:
		return queue.Result{}
	}
}

// run runs the delivery of what is due until the end of the test, where everything that waits gets an end.
func (s *otherSide) run(t *testing.T, options queue.Options) {
	t.Helper()
	options.OnStats = func(now queue.Stats) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.now = now
		s.most.QuickWorkers, s.most.SlowWorkers = max(s.most.QuickWorkers, now.QuickWorkers), max(s.most.SlowWorkers, now.SlowWorkers)
	}
	start(t, s.fixture, s.source(store.WorkDeliveries, func() {}, s.do), options)
	t.Cleanup(func() { close(s.over) })
}

// stands waits until the run stands so.
func (s *otherSide) stands(t *testing.T, want queue.Stats) {
	t.Helper()
	var now queue.Stats
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		s.mu.Lock()
		now = s.now
		s.mu.Unlock()
		if now == want {
			return
		}
	}
	t.Fatalf("the run stands at %+v, want %+v", now, want)
}

// take takes n visits.
func (s *otherSide) take(t *testing.T, n int) (out []visit) {
	t.Helper()
	for range n {
		out = append(out, await(t, s.visits, fmt.Sprintf("visit %d of %d", len(out)+1, n)))
	}
	return out
}

func answer(visits []visit, o queue.Result) {
	for _, v := range visits {
		v.answer <- o
	}
}

func (s *otherSide) wide() queue.Options {
	o := s.options(10 * time.Millisecond)
	o.Workers, o.SlowWorkers = 300, 200
	return o
}

// TestProbe: a lane that has never answered gets one piece at a time. Each answer lets one more be under way, to the bound; what is
// not answered halves them.
func TestProbe(t *testing.T) {
	s := newOtherSide(t)
	s.subscribe(t)
	s.tell(t, 40)
	s.run(t, s.wide())
	s.stands(t, queue.Stats{SlowWorkers: 1, WaitingQueues: 1})
	for _, step := range []struct{ under, next int }{{1, 2}, {2, 4}, {4, 4}} {
		answer(s.take(t, step.under), answered)
		s.stands(t, queue.Stats{QuickWorkers: step.next, WaitingQueues: 1})
	}
	answer(s.take(t, 4), queue.Result{})
	// 4, then 2, 1 and 1: a lane that answers badly but fast is no slow one.
	s.stands(t, queue.Stats{QuickWorkers: 1, WaitingQueues: 1})
}

// TestSlowLane: a lane of which a piece is under way for too long is slow, with everything it has under way; as long as one
// of these is, a quick answer does not help; afterwards one does.
func TestSlowLane(t *testing.T) {
	s := newOtherSide(t)
	s.subscribe(t)
	s.tell(t, 40)
	s.run(t, s.wide())
	answer(s.take(t, 1), answered)
	answer(s.take(t, 2), answered)
	s.stands(t, queue.Stats{QuickWorkers: 4, WaitingQueues: 1})
	hanging := s.take(t, 4)
	s.Clock.Advance(time.Second)
	s.stands(t, queue.Stats{SlowWorkers: 4, WaitingQueues: 1})
	answer(hanging[:3], answered)
	// Two are what a slow lane may have: the one that hangs, and another.
	s.stands(t, queue.Stats{SlowWorkers: 2, WaitingQueues: 1})
	answer(s.take(t, 1), answered)
	s.stands(t, queue.Stats{SlowWorkers: 2, WaitingQueues: 1})
	next := s.take(t, 1)
	answer(hanging[3:], queue.Result{Latency: time.Minute})
	s.take(t, 1) // in its place, so that its end is known
	answer(next, answered)
	s.stands(t, queue.Stats{QuickWorkers: 3, WaitingQueues: 1})
}

// TestSlowAnswer: an answer that took long makes a lane slow although the run did not see it late.
func TestSlowAnswer(t *testing.T) {
	s := newOtherSide(t)
	s.subscribe(t)
	s.tell(t, 10)
	s.run(t, s.wide())
	answer(s.take(t, 1), answered)
	s.stands(t, queue.Stats{QuickWorkers: 2, WaitingQueues: 1})
	answer(s.take(t, 2), queue.Result{Latency: time.Second, Responded: true})
	s.stands(t, queue.Stats{SlowWorkers: 2, WaitingQueues: 1})
}

// TestEverybodyHangs: the destinations of twenty companies hang and hold every worker of slow lanes, and not one more. A
// company whose destination has answered before is served as if they were not there.
func TestEverybodyHangs(t *testing.T) {
	s := newOtherSide(t)
	quick := s.subscribe(t)
	s.tell(t, 1)
	options := s.options(10 * time.Millisecond)
	options.Workers, options.SlowWorkers = 30, 10
	s.run(t, options)
	answer(s.take(t, 1), answered)
	for n := range 20 {
		other := newCompany(t, s.Store, fmt.Sprintf("hanging%d@example.com", n))
		other.subscribe(t)
		other.subscribe(t)
		other.tell(t, 3)
	}
	s.take(t, 10)
	s.stands(t, queue.Stats{SlowWorkers: 10, WaitingQueues: 40})
	const line = 30
	s.tell(t, line)
	for range line {
		v := s.take(t, 1)
		if v[0].lane != quick {
			t.Fatalf("lane %s had a turn, want the quick one, %s", v[0].lane, quick)
		}
		answer(v, answered)
	}
	s.stands(t, queue.Stats{SlowWorkers: 10, WaitingQueues: 40})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.most.SlowWorkers != 10 || s.most.QuickWorkers > 4 {
		t.Errorf("slow lanes had %d workers at once and quick ones %d, want 10 and at most 4", s.most.SlowWorkers, s.most.QuickWorkers)
	}
}

// TestNewcomer: while the workers of slow lanes are not all taken, a company that nothing is known of is served beside those that hang.
func TestNewcomer(t *testing.T) {
	s := newOtherSide(t)
	for n := range 12 {
		other := newCompany(t, s.Store, fmt.Sprintf("hanging%d@example.com", n))
		for range 5 {
			other.subscribe(t)
		}
		other.tell(t, 2)
	}
	options := s.wide()
	options.SlowWorkers = 64 // two workers for each company at first, then one
	s.run(t, options)
	quick := s.subscribe(t)
	s.tell(t, 20)
	for done := 0; done < 20; {
		if v := s.take(t, 1); v[0].lane == quick {
			answer(v, answered)
			done++
		}
	}
}

// TestNobodyIsLeftOut: more slow lanes than there are places in line, each with work without end, have turns all the same.
func TestNobodyIsLeftOut(t *testing.T) {
	f := newFixture(t)
	const companies, each = 32, 20
	for n := range companies {
		other := newCompany(t, f.Store, fmt.Sprintf("c%d@example.com", n))
		for range each {
			other.subscribe(t)
		}
		other.tell(t, 1)
	}
	var mu sync.Mutex
	turns := map[store.ID]int{}
	all := make(chan struct{}, 1)
	source := queue.Source[store.ID]{Name: "test", Kind: store.WorkPurchases, Scan: f.DueDeliveryQueues,
		Claim: func(_ context.Context, lane store.Queue, limit int) ([]store.ID, error) {
			endless := make([]store.ID, limit)
			for n := range endless {
				endless[n] = lane.Key()
			}
			return endless, nil
		},
		Do: func(_ context.Context, lane store.ID) queue.Result {
			mu.Lock()
			defer mu.Unlock()
			if turns[lane]++; len(turns) == companies*each && turns[lane] == 1 {
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
	await(t, all, "a turn of every lane")
	cancel()
	await(t, ended, "the end of the run")
}

// TestFewLooks: a long line of one lane is claimed without looking again, and nothing is looked for while nothing happens.
func TestFewLooks(t *testing.T) {
	f := newFixture(t)
	f.subscribe(t)
	const line = 50
	f.tell(t, line)
	var looks, claims atomic.Int32
	done := make(chan struct{}, line)
	source := f.source(store.WorkPurchases, func() { looks.Add(1) }, func(store.Delivery) queue.Result {
		done <- struct{}{}
		return answered
	})
	claim := source.Claim
	source.Claim = func(ctx context.Context, lane store.Queue, limit int) ([]store.Delivery, error) {
		claims.Add(1)
		return claim(ctx, lane, limit)
	}
	options := f.options(never)
	options.Workers, options.MaxPerCompany, options.MaxPerQueue = 400, 16, 16
	stop := start(t, f, source, options)
	for range line {
		await(t, done, "the long line")
	}
	stop()
	if looks.Load() != 1 || claims.Load() > line/2 {
		t.Errorf("%d looks and %d claims for %d pieces of one lane, want one look and far fewer claims than pieces", looks.Load(), claims.Load(), line)
	}
}
