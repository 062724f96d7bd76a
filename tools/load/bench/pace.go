package bench

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"quittance/tools/load/rig"
)

// lateAfter is how late a call of an open loop may start and still count as punctual.
const lateAfter = 10 * time.Millisecond

// load is a number of calls and their schedule.
type load struct {
	// clients make the calls, each one at a time.
	clients int
	// rate is the number of calls per second (open loop). With 0 each client makes its next call when the last one has
	// ended (closed loop).
	rate float64
	// count bounds the number of calls, and duration the time in which calls begin; 0 is no bound.
	count    int
	duration time.Duration
	now      func() time.Time
	// latency gets every call that succeeded, in an open loop from the time at which it was due.
	latency *Histogram
	// done counts the calls that have succeeded so far, for the progress.
	done *atomic.Int64
}

// outcome is the result of a load.
type outcome struct {
	done    int64
	failed  map[string]int64 // by reason
	elapsed time.Duration    // from the first start to the last end
	// In an open loop: how many calls started late, and the largest delay.
	late    int64
	latest  time.Duration
	started int64
}

// failures returns the number of failed calls.
func (o outcome) failures() (all int64) {
	for _, n := range o.failed {
		all += n
	}
	return all
}

// plus returns the sum of two outcomes.
func (o outcome) plus(other outcome) outcome {
	failed := maps.Clone(o.failed)
	for reason, n := range other.failed {
		failed[reason] += n
	}
	return outcome{done: o.done + other.done, failed: failed, elapsed: o.elapsed + other.elapsed,
		late: o.late + other.late, latest: max(o.latest, other.latest), started: o.started + other.started}
}

// run calls do(client, n), both counted from 0, and counts its errors by their text. It is not an error when ctx ends a
// load early.
func (l load) run(ctx context.Context, do func(ctx context.Context, client int, n int64) error) outcome {
	out := outcome{failed: map[string]int64{}}
	var next atomic.Int64
	var mu sync.Mutex // guards out
	var running sync.WaitGroup
	start := l.now()
	for client := range l.clients {
		running.Go(func() {
			for ctx.Err() == nil {
				n := next.Add(1) - 1
				due, ok := l.awaitDue(ctx, start, n)
				if !ok {
					return
				}
				began := l.now()
				err := do(ctx, client, n)
				ended := l.now()
				if errors.Is(err, context.Canceled) && ctx.Err() != nil {
					return
				}
				if err == nil {
					l.latency.Record(ended.Sub(due))
					l.done.Add(1)
				}
				mu.Lock()
				out.add(err, began.Sub(due), ended.Sub(start))
				mu.Unlock()
			}
		})
	}
	running.Wait()
	out.done = out.started - out.failures()
	return out
}

// add counts a call.
func (o *outcome) add(err error, late, elapsed time.Duration) {
	o.started++
	o.elapsed, o.latest = max(o.elapsed, elapsed), max(o.latest, late)
	if late > lateAfter {
		o.late++
	}
	if err != nil {
		o.failed[err.Error()]++
	}
}

// awaitDue waits until the n-th call is due and returns the time from which it counts, or false when there are no more
// calls.
func (l load) awaitDue(ctx context.Context, start time.Time, n int64) (time.Time, bool) {
	if l.count > 0 && n >= int64(l.count) {
		return time.Time{}, false
	}
	if l.rate == 0 {
		now := l.now()
		return now, l.duration == 0 || now.Sub(start) < l.duration
	}
	offset := time.Duration(float64(n) / l.rate * float64(time.Second))
	if l.duration > 0 && offset >= l.duration {
		return time.Time{}, false
	}
	due := start.Add(offset)
	return due, rig.Sleep(ctx, due.Sub(l.now())) == nil
}
