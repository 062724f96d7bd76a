package submission

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"quittance/internal/fairlimit"
	"quittance/internal/store"
)

// ErrBusy says that so many submissions of the company are inside their provider calls that another one is not begun.
// Nothing is recorded of it.
var ErrBusy = errors.New("the provider keeps too many submissions of the company waiting")

// What submissions may take of one process while providers hang: so many inside their provider calls and so many waiting
// for that, of all companies, and of each an eighth of what is free. A company alone has at least 64 calls, which is a
// thousand submissions a second at a provider that answers in 50 ms; dozens whose providers hang leave room for others.
const (
	maxCalls        = 1024
	maxCallsOfOne   = 128
	maxWaiting      = 256
	maxWaitingOfOne = 64
	callsPart       = 8
	waitingPart     = 2
	patience        = 2 * time.Second // how long a submission waits for a place: less than a client does
)

// lines bounds the submissions that are inside their provider calls.
type lines struct {
	calls, places *fairlimit.Limiter[store.ID]

	mu      sync.Mutex
	waiting []*waiter // longest waiting first
}

// waiter is a submission that waits for a place among the calls.
type waiter struct {
	company store.ID
	granted chan struct{} // closed when it has one
}

func newLines() *lines {
	return &lines{calls: fairlimit.New[store.ID](maxCalls, fairlimit.Policy{Divisor: callsPart, Max: maxCallsOfOne}),
		places: fairlimit.New[store.ID](maxWaiting, fairlimit.Policy{Divisor: waitingPart, Max: maxWaitingOfOne})}
}

// enter takes a place for a company, waiting for one as long as wait, and returns how to leave it. It returns [ErrBusy], or
// the context's error.
func (l *lines) enter(ctx context.Context, company store.ID, wait time.Duration) (leave func(), err error) {
	leave = func() { l.leave(company) }
	w := l.join(company, wait > 0)
	if w == nil {
		return nil, ErrBusy
	}
	select {
	case <-w.granted:
		return leave, nil
	default:
	}
	defer l.places.Release(company, 1)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-w.granted:
		return leave, nil
	case <-timer.C:
		err = ErrBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	if !l.quit(w) {
		return leave, nil // it was granted at the last moment
	}
	return nil, err
}

// join takes a place among the calls at once, or stands in line when it may; nil when there is no place.
func (l *lines) join(company store.ID, may bool) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &waiter{company: company, granted: make(chan struct{})}
	switch {
	case l.calls.TryAcquire(company, 1):
		close(w.granted)
	case may && l.places.TryAcquire(company, 1):
		l.waiting = append(l.waiting, w)
	default:
		return nil
	}
	return w
}

// leave gives a place back, and grants it to who has waited longest and may have it.
func (l *lines) leave(company store.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls.Release(company, 1)
	l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool {
		granted := l.calls.TryAcquire(w.company, 1)
		if granted {
			close(w.granted)
		}
		return granted
	})
}

// quit takes a waiter out of the line; false when it was granted a place.
func (l *lines) quit(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.waiting, w)
	if at < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, at, at+1)
	return true
}
