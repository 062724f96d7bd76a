package account

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrBusy says that too many passwords wait to be hashed already, or that one has waited too long. The caller may try
// again in a few seconds.
var ErrBusy = errors.New("too many passwords wait to be hashed")

// Turn is for whom a password is hashed: a few are at a time, and the others take turns.
type Turn struct {
	// Holder is who shares one queue: a company, or a source of logins.
	Holder string
	// Known tells that the holder has a session, or has logged in from this source lately. However many strangers wait,
	// every second turn is for one who is known.
	Known bool
}

// The bounds of waiting: the queue is worked off within the longest wait, even where a hash takes some 100 ms.
const (
	mostWaiting = 128
	longestWait = 5 * time.Second
)

// turns hands out a few places. Its invariants: strangers and those who are known get places in turn, and within each of
// both every holder in turn, whatever else waits for that holder; at most so many wait, and when that many do, whoever
// waits last of the holder with the most gives way to somebody of a holder with fewer. It is safe for concurrent use.
type turns struct {
	most int
	wait time.Duration

	mu   sync.Mutex
	free int
	// queues are those of strangers and of the known; last is whose turn it was.
	queues [2]queue
	last   int
}

// queue is who waits, by holder, each holder's in the order they came.
type queue struct {
	waiting map[string][]*waiter
	// holders are those for whom somebody waits, in the order of their next turns.
	holders []string
	size    int
}

// waiter waits for answer to be closed: given tells that it has got a place, otherwise it had to give way.
type waiter struct {
	answer chan struct{}
	given  bool
}

func newTurns(places, most int, wait time.Duration) *turns {
	t := &turns{free: places, most: most, wait: wait}
	for n := range t.queues {
		t.queues[n].waiting = map[string][]*waiter{}
	}
	return t
}

// take waits for a place, and returns how to leave it.
func (t *turns) take(ctx context.Context, turn Turn) (leave func(), err error) {
	w, q := t.enter(turn)
	if w == nil {
		return nil, ErrBusy
	}
	timed, cancel := context.WithTimeoutCause(ctx, t.wait, ErrBusy)
	defer cancel()
	select {
	case <-w.answer:
	case <-timed.Done():
		if t.withdraw(q, turn.Holder, w) {
			return nil, context.Cause(timed)
		}
	}
	if !w.given {
		return nil, ErrBusy
	}
	return t.leave, nil
}

// enter takes a place, or one in a queue. It returns nil where there is neither.
func (t *turns) enter(turn Turn) (*waiter, *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := &waiter{answer: make(chan struct{})}
	q := &t.queues[0]
	if turn.Known {
		q = &t.queues[1]
	}
	switch {
	case t.free > 0: // so nobody waits
		t.free--
		w.give(true)
		return w, q
	case q.size >= t.most && !q.displace(len(q.waiting[turn.Holder])):
		return nil, nil
	}
	if len(q.waiting[turn.Holder]) == 0 {
		q.holders = append(q.holders, turn.Holder)
	}
	q.waiting[turn.Holder] = append(q.waiting[turn.Holder], w)
	q.size++
	return w, q
}

// give answers whoever waits.
func (w *waiter) give(place bool) {
	w.given = place
	close(w.answer)
}

// displace has the last one of the holder with the most give way, if that leaves it no fewer than a holder of own will have.
func (q *queue) displace(own int) bool {
	longest := ""
	for _, holder := range q.holders {
		if len(q.waiting[holder]) > len(q.waiting[longest]) {
			longest = holder
		}
	}
	line := q.waiting[longest]
	if len(line) <= own+1 {
		return false
	}
	last := line[len(line)-1]
	q.remove(longest, len(line)-1)
	last.give(false)
	return true
}

// remove takes somebody out of a holder's line.
func (q *queue) remove(holder string, n int) {
	q.size--
	line := slices.Delete(q.waiting[holder], n, n+1)
	if len(line) > 0 {
		q.waiting[holder] = line
		return
	}
	delete(q.waiting, holder)
	q.holders = slices.DeleteFunc(q.holders, func(other string) bool { return other == holder })
}

// next takes out whoever's turn it is; nil when nobody waits.
func (q *queue) next() *waiter {
	if q.size == 0 {
		return nil
	}
	holder := q.holders[0]
	first := q.waiting[holder][0]
	q.holders = append(q.holders[1:], holder) // the holder's next turn comes after everybody else's
	q.remove(holder, 0)
	return first
}

// withdraw takes out one who does not want to wait any longer; false when it has its answer.
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

// leave gives a place to whoever's turn it is.
func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range t.queues {
		t.last = (t.last + 1) % len(t.queues)
		if w := t.queues[t.last].next(); w != nil {
			w.give(true)
			return
		}
	}
	t.free++
}

// waitingNow is how many wait.
func (t *turns) waitingNow() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queues[0].size + t.queues[1].size
}
