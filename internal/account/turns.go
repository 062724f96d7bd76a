package account

import (
	"context"
	"slices"
	"sync"
	"time"

	"quittance/client/api"
	"quittance/internal/platform/problem"
)

// ErrBusy means that too many passwords wait to be hashed, or that one has waited too long. The caller may retry after
// a few seconds.
var ErrBusy = problem.New(api.CodeUnavailable, "too many passwords are waiting to be hashed")

// Turn says for whom a password is hashed. A few passwords are hashed at a time, and waiting holders take turns.
type Turn struct {
	// Holder names the queue: that of a company, or of a source of logins.
	Holder string
	// Known means that the holder has a session, or has recently logged in from this source. However many unknown holders
	// wait, every second turn is for a known one.
	Known bool
}

// The limits of the queue. The hasher works through a full queue within maxWait, even if a hash takes about 100 ms.
const (
	maxWaiting = 128
	maxWait    = 5 * time.Second
)

// turns hands out a few slots. Its invariants: unknown and known holders get slots alternately, and within each group
// the holders take turns, however many wait for each of them. The number of waiters is limited: if the queue is full,
// the last waiter of the holder with the most waiters is displaced by a waiter of a holder with fewer. It is safe for
// concurrent use.
type turns struct {
	max  int
	wait time.Duration

	mu   sync.Mutex
	free int
	// queues are those of unknown and of known holders; last is the index of the queue that was served last.
	queues [2]queue
	last   int
}

// queue holds the waiters of each holder in the order of their arrival.
type queue struct {
	waiting map[string][]*waiter
	// holders are those with waiters, in the order of their next turns.
	holders []string
	size    int
}

// waiter waits until done is closed; acquired is true if it got a slot and false if it was displaced.
type waiter struct {
	done     chan struct{}
	acquired bool
}

func newTurns(slots, limit int, wait time.Duration) *turns {
	t := &turns{free: slots, max: limit, wait: wait}
	for n := range t.queues {
		t.queues[n].waiting = map[string][]*waiter{}
	}
	return t
}

// acquire waits for a slot and returns the function that releases it.
func (t *turns) acquire(ctx context.Context, turn Turn) (release func(), err error) {
	w, q := t.enqueue(turn)
	if w == nil {
		return nil, ErrBusy
	}
	timed, cancel := context.WithTimeoutCause(ctx, t.wait, ErrBusy)
	defer cancel()
	select {
	case <-w.done:
	case <-timed.Done():
		if t.withdraw(q, turn.Holder, w) {
			return nil, context.Cause(timed)
		}
	}
	if !w.acquired {
		return nil, ErrBusy
	}
	return t.release, nil
}

// enqueue takes a free slot or joins a queue. It returns nil if the queue is full.
func (t *turns) enqueue(turn Turn) (*waiter, *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := &waiter{done: make(chan struct{})}
	q := &t.queues[0]
	if turn.Known {
		q = &t.queues[1]
	}
	switch {
	case t.free > 0: // then no waiter is queued
		t.free--
		w.notify(true)
		return w, q
	case q.size >= t.max && !q.displace(len(q.waiting[turn.Holder])):
		return nil, nil
	}
	if len(q.waiting[turn.Holder]) == 0 {
		q.holders = append(q.holders, turn.Holder)
	}
	q.waiting[turn.Holder] = append(q.waiting[turn.Holder], w)
	q.size++
	return w, q
}

// notify wakes the waiter.
func (w *waiter) notify(acquired bool) {
	w.acquired = acquired
	close(w.done)
}

// displace removes the last waiter of the holder with the most waiters, unless that holder would then have fewer than
// own.
func (q *queue) displace(own int) bool {
	longest := ""
	for _, holder := range q.holders {
		if len(q.waiting[holder]) > len(q.waiting[longest]) {
			longest = holder
		}
	}
	waiters := q.waiting[longest]
	if len(waiters) <= own+1 {
		return false
	}
	last := waiters[len(waiters)-1]
	q.remove(longest, len(waiters)-1)
	last.notify(false)
	return true
}

// remove removes the nth waiter of a holder.
func (q *queue) remove(holder string, n int) {
	q.size--
	waiters := slices.Delete(q.waiting[holder], n, n+1)
	if len(waiters) > 0 {
		q.waiting[holder] = waiters
		return
	}
	delete(q.waiting, holder)
	q.holders = slices.DeleteFunc(q.holders, func(other string) bool { return other == holder })
}

// next removes and returns the waiter whose turn it is, or nil if the queue is empty.
func (q *queue) next() *waiter {
	if q.size == 0 {
		return nil
	}
	holder := q.holders[0]
	first := q.waiting[holder][0]
	q.holders = append(q.holders[1:], holder) // the next turn of this holder comes after those of all others
	q.remove(holder, 0)
	return first
}

// withdraw removes a waiter that stops waiting; it returns false if the waiter has been notified.
func (t *turns) withdraw(q *queue, holder string, w *waiter) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := slices.Index(q.waiting[holder], w)
	if n < 0 {
		return false
	}
	q.remove(holder, n)
	return true
}

// release passes a slot on to the next waiter.
func (t *turns) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range t.queues {
		t.last = (t.last + 1) % len(t.queues)
		if w := t.queues[t.last].next(); w != nil {
			w.notify(true)
			return
		}
	}
	t.free++
}
