// Package queue runs due work: webhook deliveries, status queries of submissions, purchase syncs and mails.
//
// How it works, in ten points:
//
//  1. A queue is the due work of one destination or one provider connection; its rows carry a due time and a lease,
//     and are the only copy of that work.
//  2. A scan finds the queues with due work, one bounded step after the other, and makes them ready.
//  3. A scan begins when a commit has caused work, when the next work it knows of becomes due, when the
//     ready list has room again for queues left out, and at the latest one poll interval after the last scan; it ends when the
//     database has no further step.
//  4. The scheduler claims of each ready queue as many tasks as it can begin at once; their leases keep other
//     processes from working on them, and a task that is not finished is due again when its lease ends.
//  5. Companies take turns, and so do the queues of a company; a company holds no more than a fixed fraction of the
//     workers that are free (package fairlimit).
//  6. A queue has a window of tasks that may run at the same time, which grows by one with each response and is halved by
//     each task without a response.
//  7. A queue begins in the slow pool, a fixed part of the workers; a quick response moves it to the other workers, and
//     a task that takes longer than [Options].SlowAfter moves it back, so that destinations that hang fill the slow pool
//     and nothing else.
//  8. A panic in a task is logged with its stack and affects that task alone.
//  9. When its context ends, [Run] claims nothing more and returns when the running tasks have ended; it does not cancel
//     them.
//  10. When the database fails, a scan is repeated after the poll interval, a queue whose claim failed waits for the next
//     scan, and running tasks go on.
//
// Start reading at [Run]. scheduler.go has the main loop, scan.go finds work, roundrobin.go decides whose turn it is,
// and workers.go decides how many workers a queue may have.
package queue

import (
	"context"
	"log/slog"
	"time"

	"quittance/internal/ledger/base"
)

// Source is one kind of work.
type Source[T any] struct {
	// Name identifies the work in logs and metrics.
	Name string
	// Kind is the kind of work whose notifications start a scan.
	Kind base.Work
	// Scan makes one step of a scan: it returns the queues with due work that follow the cursor.
	Scan func(ctx context.Context, from base.ScanCursor) (base.DueScan, error)
	// Claim claims up to limit due tasks of a queue.
	Claim func(ctx context.Context, queue base.Queue, limit int) ([]T, error)
	// Do runs one task. It reports its own errors; a task that it does not finish is due again when its lease ends.
	Do func(ctx context.Context, task T) Result
}

// Result says how the other side behaved during a task. The zero value says that it did not respond.
type Result struct {
	// Latency is the time spent waiting for the other side; what this process did itself, such as a commit, does not
	// count.
	Latency time.Duration
	// Responded says that the other side responded, whatever the response was.
	Responded bool
	// LeaseLost says that the lease of the task ended before its result was recorded, so that another worker has claimed
	// it.
	LeaseLost bool
}

// End says how a task ended.
type End string

// The ends of a task.
const (
	Done      End = "done"
	LeaseLost End = "lease_lost" // see [Result]
	Panicked  End = "panic"
)

// Options configure [Run].
type Options struct {
	// Workers is the number of tasks that may run at the same time, at least 2. SlowWorkers is how many of them belong to
	// the slow pool, at least 1.
	Workers, SlowWorkers int
	// MaxPerCompany bounds the running tasks of one company, separately for its quick and for its slow queues. MaxPerQueue
	// bounds those of one quick queue, MaxPerSlowQueue those of one slow queue. All are at least 1.
	MaxPerCompany, MaxPerQueue, MaxPerSlowQueue int
	// SlowAfter is the time after which a task is late and its queue slow.
	SlowAfter time.Duration
	// PollInterval is the longest time between two scans.
	PollInterval time.Duration
	// Now is the clock that due times are compared with.
	Now func() time.Time
	Log *slog.Logger
	// OnStats, if not nil, is called with the current numbers after each step of the scheduler.
	OnStats func(Stats)
	// OnProgress, if not nil, is called with the progress after each step of the scheduler.
	OnProgress func(Progress)
	// OnAnswer, if not nil, is called with the result of each scan and each claim. If it returns true, it takes care of
	// the log line about the error, which otherwise would be repeated with every poll interval while the database is down.
	OnAnswer func(ctx context.Context, err error) (logged bool)
	// OnEnd, if not nil, is called at the end of each task, possibly by several goroutines at a time.
	OnEnd func(End)
}

// Stats are the current numbers of a running source.
type Stats struct {
	// QuickWorkers and SlowWorkers are the workers that quick and slow queues hold.
	QuickWorkers, SlowWorkers int
	// WaitingQueues is the number of queues that wait for workers.
	WaitingQueues int
	// Contact is when the database last answered a scan or a claim, by the clock of the machine; zero before the first
	// time.
	Contact time.Time
}

// Run runs the work of a source until ctx ends, and then waits for the running tasks. The context of a task does not
// end with ctx: tasks have time limits of their own.
func Run[T any](ctx context.Context, db *base.DB, source Source[T], options Options) {
	notified, unsubscribe := db.Subscribe(source.Kind)
	defer unsubscribe()
	s := newScheduler(source, options)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		s.step(ctx)
		timer.Reset(s.idle())
		select {
		case <-ctx.Done():
		case <-notified:
			s.scan.requested = true
		case <-timer.C:
		case complete := <-s.completions:
			complete()
			s.handleCompletions()
		}
	}
	for s.background > 0 {
		(<-s.completions)()
	}
}
