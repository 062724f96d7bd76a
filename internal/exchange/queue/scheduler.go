package queue

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// maxClaims bounds the claims that are made at the same time. The database commits concurrent claims together.
const maxClaims = 16

// scheduler runs one source. Its fields belong to the goroutine of [Run]. Whatever blocks (a scan step, a claim, a
// task) runs in a goroutine of its own and hands back a function, its completion, that Run calls.
type scheduler[T any] struct {
	source      Source[T]
	options     Options
	workers     *workerPool
	ready       roundRobin
	scan        scan
	completions chan func()
	background  int // goroutines whose completion was not handled yet
	claims      int // those of them that claim
	tasks       int // that have started
	// machineNow is the clock of the machine. Polling goes by it, because options.Now may be corrected, or stand still in
	// a test.
	machineNow func() time.Time
	contact    time.Time // see [Stats]
}

func newScheduler[T any](source Source[T], options Options) *scheduler[T] {
	return &scheduler[T]{
		source: source, options: options, workers: newWorkerPool(options), machineNow: time.Now,
		// One completion for each task, each claim and the scan step, so that sending one never blocks.
		completions: make(chan func(), options.Workers+maxClaims+1),
	}
}

// run calls work in a goroutine of its own; Run calls the function that it returns.
func (s *scheduler[T]) run(work func() (complete func())) {
	s.background++
	go func() {
		complete := work()
		s.completions <- func() {
			s.background--
			complete()
		}
	}()
}

// handleCompletions handles all completions that have arrived, so that one step follows them all.
func (s *scheduler[T]) handleCompletions() {
	for {
		select {
		case complete := <-s.completions:
			complete()
		default:
			return
		}
	}
}

// step begins whatever can begin now.
func (s *scheduler[T]) step(ctx context.Context) {
	s.workers.demoteLate()
	s.ready.serve(func(q *queue) int {
		if s.claims == maxClaims {
			return 0
		}
		return s.workers.capacity(q)
	}, func(q *queue, n int) { s.claim(ctx, q, n) })
	if s.scanWait() <= 0 {
		s.scanStep(ctx)
	}
	if s.options.OnStats != nil {
		s.options.OnStats(Stats{QuickWorkers: s.workers.quickBusy, SlowWorkers: s.workers.slowBusy,
			WaitingQueues: s.ready.size, Contact: s.contact})
	}
	if s.options.OnProgress != nil {
		s.options.OnProgress(s.progress())
	}
}

// idle returns how long the scheduler has nothing to do unless a completion or a notification arrives.
func (s *scheduler[T]) idle() time.Duration {
	wait := min(s.options.PollInterval, s.scanWait())
	if late := s.workers.nextLate(); !late.IsZero() {
		wait = min(wait, late.Sub(s.options.Now()))
	}
	return max(wait, 0)
}

// claim claims up to n tasks of a queue and starts them.
func (s *scheduler[T]) claim(ctx context.Context, q *queue, n int) {
	s.workers.acquire(q, n)
	s.claims++
	q.claiming, q.foundAgain = true, false
	s.run(func() func() {
		claimed, err := s.source.Claim(ctx, q.Queue, n)
		if err != nil {
			claimed = nil // the transaction did not commit: nothing is claimed
		}
		return func() {
			logged := s.answered(ctx, err)
			s.claims--
			q.claiming = false
			s.workers.release(q, n-len(claimed))
			for _, work := range claimed {
				s.start(ctx, s.workers.start(q), work)
			}
			switch {
			case err != nil:
				if !logged {
					s.options.Log.ErrorContext(ctx, "cannot claim work", "work", s.source.Name, "lane", q.Key(), "error", err)
				}
			case len(claimed) < n && !q.foundAgain:
				// The queue has no more due work.
			case s.scan.leftOut(q.quick):
				// Other queues of this kind are waiting for space in the list: they go first. The next scan finds this one again.
			default:
				s.ready.push(q)
			}
		}
	})
}

// answered notes the result of a scan or a claim. It reports whether nothing needs to be logged about it: there is no
// error, the process stops, or [Options].OnAnswer has seen to it.
func (s *scheduler[T]) answered(ctx context.Context, err error) (logged bool) {
	if err == nil {
		s.contact = s.machineNow()
	}
	if ctx.Err() != nil {
		return true
	}
	return s.options.OnAnswer != nil && s.options.OnAnswer(ctx, err) || err == nil
}

// start runs a claimed task.
func (s *scheduler[T]) start(ctx context.Context, t *task, work T) {
	s.tasks++
	s.run(func() func() {
		result := s.do(context.WithoutCancel(ctx), t.queue, work)
		return func() { s.workers.finish(t, result) }
	})
}

// do runs a task and turns a panic into a log message.
func (s *scheduler[T]) do(ctx context.Context, q *queue, work T) (result Result) {
	end := Done
	defer func() {
		if cause := recover(); cause != nil {
			end = Panicked
			s.options.Log.ErrorContext(ctx, "panic in work", "work", s.source.Name, "lane", q.Key(), "panic", fmt.Sprint(cause),
				"stack", string(debug.Stack()))
		}
		if s.options.OnEnd != nil {
			s.options.OnEnd(end)
		}
	}()
	if result = s.source.Do(ctx, work); result.LeaseLost {
		end = LeaseLost
	}
	return result
}
