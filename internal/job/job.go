// Package job runs due work. The rows of the store are themselves the work: they carry when they are due and a lease.
// There is no second queue with a second truth.
//
// Its invariants: work is claimed before it is done and a lease outlives every step of it; lanes take turns, and neither a
// lane nor a company holds more than its share of the workers, so that one company's long line keeps nobody else waiting; a wake makes
// work start at once, and looking from time to time makes sure that a lost wake costs only that time; stopping waits
// for what is under way.
//
// Start reading at [Run].
package job

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
	// Lanes returns the lanes with work due now, longest waiting first, and when the next other work is due.
	Lanes func(ctx context.Context) ([]store.Lane, time.Time, error)
	// Claim leases up to limit pieces of a lane's due work.
	Claim func(ctx context.Context, lane store.Lane, limit int) ([]W, error)
	// Do does one piece. It reports its own failures; what it leaves undone is due again when its lease ends.
	Do func(ctx context.Context, work W)
}

// Options bound a run.
type Options struct {
	// Workers is how many pieces may be under way at once, PerOwner how many of them for one company and PerLane how many
	// in one lane; all from 1.
	Workers, PerOwner, PerLane int
	// Look is how often to look for work without being woken.
	Look time.Duration
	// Now is the clock.
	Now func() time.Time
	Log *slog.Logger
}

// runner is one running source. Its fields belong to the goroutine of Run.
type runner[W any] struct {
	Source[W]
	Options
	busy  map[store.ID]int // pieces under way by lane
	owned map[store.ID]int // and by company
	total int
	done  chan store.Lane
}

// Run does work of a source until ctx ends, then waits for the pieces under way. Pieces run under a context that does
// not end with ctx: they are bounded by themselves.
func Run[W any](ctx context.Context, db *store.DB, source Source[W], options Options) {
	wake, stop := db.Wakes(source.Kind)
	defer stop()
	r := &runner[W]{Source: source, Options: options, busy: map[store.ID]int{}, owned: map[store.ID]int{}, done: make(chan store.Lane, options.Workers)}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		next, waiting := r.round(ctx)
		wait := r.Look
		if !next.IsZero() {
			wait = max(0, min(wait, next.Sub(r.Now())))
		}
		timer.Reset(wait)
		r.await(ctx, wake, timer.C, waiting)
	}
	for r.total > 0 {
		r.finish(<-r.done)
	}
}

// await returns when there may be something to do: a wake, the timer, the end, or, when due work had to wait for a
// worker, a worker that has become free.
func (r *runner[W]) await(ctx context.Context, wake <-chan struct{}, timer <-chan time.Time, waiting bool) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
			return
		case <-timer:
			return
		case lane := <-r.done:
			r.finish(lane)
			if waiting {
				r.drain()
				return
			}
		}
	}
}

// drain takes note of everything else that has finished, so that one look serves them all.
func (r *runner[W]) drain() {
	for {
		select {
		case lane := <-r.done:
			r.finish(lane)
		default:
			return
		}
	}
}

func (r *runner[W]) finish(lane store.Lane) { r.count(lane, -1) }

// count adds to the pieces under way of a lane and its company.
func (r *runner[W]) count(lane store.Lane, by int) {
	r.total += by
	r.busy[lane.Key()] += by
	r.owned[lane.Owner()] += by
	if r.busy[lane.Key()] == 0 {
		delete(r.busy, lane.Key())
	}
	if r.owned[lane.Owner()] == 0 {
		delete(r.owned, lane.Owner())
	}
}

// round gives every lane with due work a turn. It returns when the next other work is due, and whether due work may
// have been left for want of workers.
func (r *runner[W]) round(ctx context.Context) (next time.Time, waiting bool) {
	lanes, next, err := r.Lanes(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.Log.ErrorContext(ctx, "cannot look for work", "work", r.Name, "error", err)
		}
		return time.Time{}, false
	}
	for _, lane := range lanes {
		free := min(r.PerLane-r.busy[lane.Key()], r.PerOwner-r.owned[lane.Owner()], r.Workers-r.total)
		if free <= 0 {
			waiting = true
			continue
		}
		claimed, err := r.Claim(ctx, lane, free)
		if err != nil {
			if ctx.Err() == nil {
				r.Log.ErrorContext(ctx, "cannot claim work", "work", r.Name, "lane", lane.Key(), "error", err)
			}
			continue
		}
		waiting = waiting || len(claimed) == free
		for _, work := range claimed {
			r.count(lane, 1)
			go r.work(context.WithoutCancel(ctx), lane, work)
		}
	}
	return next, waiting
}

// work does one piece; a panic costs that piece alone.
func (r *runner[W]) work(ctx context.Context, lane store.Lane, work W) {
	defer func() {
		if cause := recover(); cause != nil {
			r.Log.ErrorContext(ctx, "panic in work", "work", r.Name, "lane", lane.Key(), "panic", cause)
		}
		r.done <- lane
	}()
	r.Do(ctx, work)
}
