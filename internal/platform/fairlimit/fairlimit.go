// Package fairlimit divides a limited capacity (workers, requests, bytes) fairly among holders, such as companies.
//
// Its invariant: a holder gets nothing beyond a fixed fraction of what is free at that moment (dynamic thresholds:
// Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). So one holder alone may have much, and a
// hundred that keep what they get share it and still leave a part free for the next. Holders need not be known in
// advance, and nothing is reserved for those that are inactive.
//
// Start reading at [Policy.Available]; [Limiter] applies a policy and counts who holds what.
package fairlimit

import (
	"context"
	"slices"
	"sync"
	"time"

	"quittance/client/api"
	"quittance/internal/platform/problem"
)

// ErrFull says that the capacity does not allow an acquisition. Callers of [Limiter] return it; the package does not. A
// share is free again as soon as another holder returns its own.
var ErrFull = problem.New(api.CodeUnavailable, "the limit of concurrent work is reached").After(time.Second)

// Policy says how much of a capacity one holder may have.
type Policy struct {
	// Divisor sets the fraction: a holder may have 1/Divisor of what is free, but always one while anything is free. It is
	// at least 1.
	Divisor int
	// Max bounds what a holder may have, however much is free. It is at least 1.
	Max int
}

// Limit returns how much a holder may have in total when free is free; at least 1.
func (p Policy) Limit(free int) int { return min(p.Max, max(1, free/p.Divisor)) }

// Available returns how much more a holder may acquire when free is free and it has held; at least 0.
func (p Policy) Available(free, held int) int { return max(0, min(p.Limit(free)-held, free)) }

// Limiter applies a policy to a capacity. It is safe for concurrent use.
type Limiter[K comparable] struct {
	policy Policy
	size   int

	mu   sync.Mutex
	used int
	held map[K]int // without holders that have nothing
	// waiting has the callers of Acquire that wait, by holder, each holder's in order of arrival. turns has those holders
	// in the order in which they acquire next.
	waiting map[K][]chan struct{}
	turns   []K
}

// New returns a limiter of the given capacity.
func New[K comparable](size int, policy Policy) *Limiter[K] {
	return &Limiter[K]{policy: policy, size: size, held: map[K]int{}, waiting: map[K][]chan struct{}{}}
}

// TryAcquire acquires n for a holder, or nothing, and reports whether it did. It does not wait.
func (l *Limiter[K]) TryAcquire(holder K, n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tryAcquire(holder, n)
}

// tryAcquire is TryAcquire with the mutex held.
func (l *Limiter[K]) tryAcquire(holder K, n int) bool {
	if l.policy.Available(l.size-l.used, l.held[holder]) < n {
		return false
	}
	l.used += n
	l.held[holder] += n
	return true
}

// Acquire acquires one for a holder and waits until that is possible; waiting holders take turns. It returns false, and
// acquires nothing, when ctx ends first.
func (l *Limiter[K]) Acquire(ctx context.Context, holder K) bool {
	l.mu.Lock()
	if l.tryAcquire(holder, 1) {
		l.mu.Unlock()
		return true
	}
	acquired := make(chan struct{})
	if len(l.waiting[holder]) == 0 {
		l.turns = append(l.turns, holder)
	}
	l.waiting[holder] = append(l.waiting[holder], acquired)
	l.mu.Unlock()
	select {
	case <-acquired:
		return true
	case <-ctx.Done():
		return !l.cancelWait(holder, acquired)
	}
}

// cancelWait removes a waiting caller. It returns false if that caller has acquired in the meantime.
func (l *Limiter[K]) cancelWait(holder K, waiter chan struct{}) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.waiting[holder], waiter)
	if at < 0 {
		return false
	}
	l.waiting[holder] = slices.Delete(l.waiting[holder], at, at+1)
	if len(l.waiting[holder]) == 0 {
		delete(l.waiting, holder)
		at := slices.Index(l.turns, holder)
		l.turns = slices.Delete(l.turns, at, at+1)
	}
	return true
}

// Release gives back n of a holder, and lets waiting callers acquire.
func (l *Limiter[K]) Release(holder K, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used -= n
	if l.held[holder] -= n; l.held[holder] == 0 {
		delete(l.held, holder)
	}
	for n := 0; n < len(l.turns) && l.used < l.size; {
		next := l.turns[n]
		if !l.tryAcquire(next, 1) {
			n++ // this holder has its share; the next one may not
			continue
		}
		close(l.waiting[next][0])
		l.waiting[next] = l.waiting[next][1:]
		l.turns = slices.Delete(l.turns, n, n+1)
		if len(l.waiting[next]) > 0 {
			l.turns = append(l.turns, next)
		} else {
			delete(l.waiting, next)
		}
	}
}

// InUse returns how much is acquired.
func (l *Limiter[K]) InUse() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used
}

// Waiting returns how many callers of Acquire wait.
func (l *Limiter[K]) Waiting() (callers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range l.waiting {
		callers += len(list)
	}
	return callers
}
