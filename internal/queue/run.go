package queue

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"quittance/internal/store"
)

// claimsAtOnce is how many claims are made at the same time. The store commits those that come together at once.
const claimsAtOnce = 16

// lookShare is the part of its time that a run looks for work at most: after a look it waits so many times longer than the
// look took, so that a burst of wakes does not look more than it works.
const lookShare = 4

// runner is one running source. Its fields belong to the goroutine of Run; everything beside it reports by a function
// that Run calls.
type runner[W any] struct {
	Source[W]
	*floor
	line    line
	reports chan func()
	beside  int // reports to come
	claims  int // of them, of claims

	pass
}

// pass is the way over all lanes with work, stretch by stretch.
type pass struct {
	// wanted tells that a pass is to begin, looking that a look is being made or rested from. from is where the pass goes on.
	wanted, looking bool
	from            store.ScanCursor
	// unasked fires when a pass is to begin that nobody asked for.
	unasked *time.Timer
	// nextDue is the first time of other work that it has met, by the clock of the work.
	nextDue time.Time
	// quickOut and slowOut tell that it has met lanes that found no place in line.
	quickOut, slowOut bool
	// Slow lanes come into the line from slowFrom on: before it they were the last time. slowFull tells that this pass
	// has found the line full. met counts the lanes that came in, so that not the same ones of a stretch are always first.
	slowFrom store.ScanCursor
	slowFull bool
	met      int
}

// run does something beside the loop. Its report is called by the loop.
func (r *runner[W]) run(do func() (report func())) {
	r.beside++
	go func() {
		report := do()
		r.reports <- func() {
			r.beside--
			report()
		}
	}()
}

// drain takes note of everything else that has happened, so that one step serves it all.
func (r *runner[W]) drain() {
	for {
		select {
		case report := <-r.reports:
			report()
		default:
			return
		}
	}
}

// step begins what can be begun.
func (r *runner[W]) step(ctx context.Context) {
	r.age()
	r.line.serve(func(l *lane) int {
		if r.claims == claimsAtOnce {
			return 0
		}
		return r.room(l)
	}, func(l *lane, n int) { r.claim(ctx, l, n) })
	if r.mayLook() {
		r.look(ctx)
	}
	if r.OnStats != nil {
		r.OnStats(Stats{QuickWorkers: r.quick, SlowWorkers: r.slow, WaitingQueues: r.line.size})
	}
}

// mayLook tells whether there is a reason to look: somebody wants it, the pass is not over, there is room again for those
// that were left out, or its time has come. While no lane would find a place in line, there is none.
func (r *runner[W]) mayLook() bool {
	if r.looking || !r.line.admits(true) {
		return false
	}
	return r.wanted || !r.from.IsZero() || (r.quickOut || r.slowOut) && r.line.size < maxWaiting/2 || !r.nextDue.IsZero() && !r.Now().Before(r.nextDue)
}

// pause is how long nothing will happen by itself.
func (r *runner[W]) pause() time.Duration {
	wait := r.PollInterval
	if late := r.nextLate(); !late.IsZero() {
		wait = min(wait, late.Sub(r.Now()))
	}
	if !r.looking && r.line.admits(true) && !r.nextDue.IsZero() {
		wait = min(wait, r.nextDue.Sub(r.Now()))
	}
	return max(wait, 0)
}

// look looks over the next stretch of lanes.
func (r *runner[W]) look(ctx context.Context) {
	if r.from.IsZero() {
		r.wanted, r.quickOut, r.slowOut, r.slowFull, r.nextDue = false, false, false, false, time.Time{}
	}
	r.looking = true
	from := r.from
	r.run(func() func() {
		began := r.Now()
		found, err := r.Scan(ctx, from)
		took := r.Now().Sub(began)
		return func() {
			r.rest(ctx, took)
			if err == nil {
				r.looked(found)
				return
			}
			if ctx.Err() == nil {
				r.Log.ErrorContext(ctx, "cannot look for work", "work", r.Name, "error", err)
			}
			r.wanted, r.from, r.nextDue = false, store.ScanCursor{}, time.Time{}
			r.unasked.Reset(r.PollInterval)
		}
	})
}

// rest lets some time pass before the next look.
func (r *runner[W]) rest(ctx context.Context, took time.Duration) {
	r.run(func() func() {
		timer := time.NewTimer(min((lookShare-1)*took, r.PollInterval))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		return func() { r.looking = false }
	})
}

// looked takes what a look has found.
func (r *runner[W]) looked(found store.DueScan) {
	first := r.met
	for n := range found.Queues {
		r.meet(found.Queues[(first+n)%len(found.Queues)])
	}
	r.forget()
	if !found.NextDue.IsZero() && (r.nextDue.IsZero() || found.NextDue.Before(r.nextDue)) {
		r.nextDue = found.NextDue
	}
	if r.from = found.Next; !r.from.IsZero() {
		return
	}
	if !r.slowFull {
		r.slowFrom = store.ScanCursor{}
	}
	r.unasked.Reset(r.PollInterval)
}

// meet takes a lane with work into the line, if there is a place for it.
func (r *runner[W]) meet(due store.Queue) {
	known := r.known[due.Key()]
	quick := known != nil && known.quick
	switch {
	case known != nil && known.claiming:
		known.found = true
	case known != nil && known.waiting:
	case !quick && r.from.Before(r.slowFrom):
		r.slowOut = true
	case r.line.admits(quick):
		r.line.join(r.lane(due))
		r.met++
	case quick:
		r.quickOut = true
	default:
		r.slowOut = true
		if !r.slowFull {
			r.slowFull, r.slowFrom = true, r.from
		}
	}
}

// claim claims up to n pieces of a lane and begins them.
func (r *runner[W]) claim(ctx context.Context, l *lane, n int) {
	r.take(l, n)
	r.claims++
	l.claiming, l.found = true, false
	r.run(func() func() {
		claimed, err := r.Claim(ctx, l.Queue, n)
		if err != nil {
			claimed = nil // what was not committed is not leased, and may not even be there
		}
		return func() {
			r.claims--
			l.claiming = false
			r.take(l, len(claimed)-n)
			for _, work := range claimed {
				r.do(ctx, r.begin(l), work)
			}
			switch {
			case err != nil:
				if ctx.Err() == nil {
					r.Log.ErrorContext(ctx, "cannot claim work", "work", r.Name, "lane", l.Key(), "error", err)
				}
			case len(claimed) < n && !l.found:
				// That was all of it.
			case l.quick && r.quickOut, !l.quick && r.slowOut:
				// Others could not even get into the line. This lane is met again by the next pass.
			default:
				r.line.join(l)
			}
		}
	})
}

// do does one piece; a panic costs that piece alone.
func (r *runner[W]) do(ctx context.Context, p *piece, work W) {
	r.run(func() func() {
		outcome := r.attempt(context.WithoutCancel(ctx), p.lane, work)
		return func() { r.end(p, outcome) }
	})
}

func (r *runner[W]) attempt(ctx context.Context, l *lane, work W) (o Result) {
	defer func() {
		if cause := recover(); cause != nil {
			r.Log.ErrorContext(ctx, "panic in work", "work", r.Name, "lane", l.Key(), "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
		}
	}()
	return r.Do(ctx, work)
}
