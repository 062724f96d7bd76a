// Package queue runs due work. The rows of the store are themselves the work: they carry when they are due and a lease.
// There is no second queue with a second truth.
//
// Its invariants: work is claimed before it is done and a lease outlives every step of it; only what can begin at once is
// claimed. A lane has to show that it is quick: until it has answered, and again as soon as one of its pieces takes
// long, it works with the workers of slow lanes, which are a part of all, so that however many destinations hang, a quick
// one finds a free worker. Companies take turns, and none gets more than a fraction of what is free. A wake makes work
// start at once, and looking from time to time makes sure that a lost wake costs only that time. Stopping waits for
// what is under way.
//
// Start reading at [Run]; lanes.go says who may have how many workers, line.go whose turn it is.
package queue

import (
	"context"
	"log/slog"
	"time"

	"quittance/internal/store"
)

// Source is one kind of work.
type Source[W any] struct {
	// Name is for logs.
	Name string
	// Kind is the kind of commits that wake this work.
	Kind store.Work
	// Lanes looks for lanes with work due, a stretch of them at a time.
	Scan func(ctx context.Context, from store.ScanCursor) (store.DueScan, error)
	// Claim leases up to limit pieces of a lane's due work.
	Claim func(ctx context.Context, lane store.Queue, limit int) ([]W, error)
	// Do does one piece. It reports its own failures; what it leaves undone is due again when its lease ends.
	Do func(ctx context.Context, work W) Result
}

// Outcome is what a piece of work showed of the other side. The zero value is that of one that did not answer.
type Result struct {
	// Waited is how long the other side was waited for; what the process did itself, such as a commit, does not count.
	Latency time.Duration
	// Answered tells that it answered, whatever it said.
	Responded bool
}

// Options bound a run.
type Options struct {
	// Workers is how many pieces may be under way at once, from 2, and Slow how many of them are kept for slow lanes, from 1.
	Workers, SlowWorkers int
	// PerOwner is how many pieces of one company may be under way, of its quick lanes and of its slow ones each. PerLane is how
	// many of one quick lane, SlowPerLane of one slow lane; all from 1.
	MaxPerCompany, MaxPerQueue, MaxPerSlowQueue int
	// SlowAfter is the time after which a piece is late and its lane slow.
	SlowAfter time.Duration
	// Look is how often to look for work without being woken.
	PollInterval time.Duration
	// Now is the clock.
	Now func() time.Time
	Log *slog.Logger
	// Observe is told how things stand, whenever something has happened; nil when nobody wants to know.
	OnStats func(Stats)
}

// Standing is how a run stands.
type Stats struct {
	// Quick and Slow are the workers that quick and slow lanes hold.
	QuickWorkers, SlowWorkers int
	// Waiting is how many lanes with work wait for workers.
	WaitingQueues int
}

// Run does work of a source until ctx ends, then waits for the pieces under way. Pieces run under a context that does
// not end with ctx: they are bounded by themselves.
func Run[W any](ctx context.Context, db *store.DB, source Source[W], options Options) {
	wake, stop := db.Subscribe(source.Kind)
	defer stop()
	// Everything that runs beside the loop holds a worker, or is a claim or the look: none of them ever waits to report.
	r := &runner[W]{Source: source, floor: newFloor(options), reports: make(chan func(), options.Workers+claimsAtOnce+1)}
	timer := time.NewTimer(0)
	defer timer.Stop()
	r.unasked = time.NewTimer(0)
	defer r.unasked.Stop()
	for ctx.Err() == nil {
		r.step(ctx)
		timer.Reset(r.pause())
		select {
		case <-ctx.Done():
		case <-wake:
			r.wanted = true
		case <-r.unasked.C:
			r.wanted = true
		case <-timer.C:
		case report := <-r.reports:
			report()
			r.drain()
		}
	}
	for r.beside > 0 {
		(<-r.reports)()
	}
}
