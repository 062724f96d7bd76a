package submission

import (
	"context"
	"slices"
	"sync"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/fairlimit"
	"quittance/internal/platform/problem"
)

// ErrBusy means that too many submissions of the company wait for its provider, so that another one cannot begin.
// Nothing is recorded of the refused one.
var ErrBusy = problem.New(api.CodeUnavailable, "the provider keeps too many submissions of the company waiting")

// Limits on concurrent submissions in one process: on those in provider calls and on those that wait for a call to end.
// They hold for all companies together and for each company, which may take an eighth of the free calls and half of the
// free waiting slots. A company alone has at least 64 calls, which is more than a thousand submissions a second at a
// provider that responds in 50 ms. Dozens of companies whose providers hang leave calls for others.
const (
	maxCalls            = 1024
	maxCallsOfCompany   = 128
	maxWaiting          = 256
	maxWaitingOfCompany = 64
	callsDivisor        = 8
	waitingDivisor      = 2
	acquireTimeout      = 2 * time.Second // how long a submission waits for a call: less than a client does
)

// callLimiter limits the submissions that are in provider calls.
type callLimiter struct {
	calls, waitingSlots *fairlimit.Limiter[base.ID]

	mu      sync.Mutex
	waiting []*waiter // in order of arrival
}

// waiter is a submission that waits for a call.
type waiter struct {
	company base.ID
	granted chan struct{} // closed when it has got one
}

func newCallLimiter() *callLimiter {
	return &callLimiter{calls: fairlimit.New[base.ID](maxCalls,
		fairlimit.Policy{Divisor: callsDivisor, Max: maxCallsOfCompany}),
		waitingSlots: fairlimit.New[base.ID](maxWaiting,
			fairlimit.Policy{Divisor: waitingDivisor, Max: maxWaitingOfCompany})}
}

// acquire takes a call for a company and returns the function that releases it. It waits for at most wait, and returns
// [ErrBusy] or the context's error if there is no call.
func (l *callLimiter) acquire(ctx context.Context, company base.ID, wait time.Duration) (release func(), err error) {
	release = func() { l.release(company) }
	w := l.enqueue(company, wait > 0)
	if w == nil {
		return nil, ErrBusy
	}
	select {
	case <-w.granted:
		return release, nil
	default:
	}
	defer l.waitingSlots.Release(company, 1)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-w.granted:
		return release, nil
	case <-timer.C:
		err = ErrBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	if !l.cancel(w) {
		return release, nil // it was granted at the last moment
	}
	return nil, err
}

// enqueue takes a call at once, or joins the waiting if mayWait is true. It returns nil if it can do neither.
func (l *callLimiter) enqueue(company base.ID, mayWait bool) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &waiter{company: company, granted: make(chan struct{})}
	switch {
	case l.calls.TryAcquire(company, 1):
		close(w.granted)
	case mayWait && l.waitingSlots.TryAcquire(company, 1):
		l.waiting = append(l.waiting, w)
	default:
		return nil
	}
	return w
}

// release releases a call, and grants calls to the waiters that may have one, in order of arrival.
func (l *callLimiter) release(company base.ID) {
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

// cancel removes a waiter. It returns false if the waiter was granted a call.
func (l *callLimiter) cancel(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.waiting, w)
	if at < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, at, at+1)
	return true
}
