// Package fairlimit divides a bounded number of places (workers, requests, bytes) among companies that ask for them, so
// that whoever asks for many leaves some for whoever comes next.
//
// Its invariant: a holder gets no place beyond a fixed fraction of the places that are free at that moment. So one company
// alone may have much, and a hundred that hold on to what they get share the same room and still leave a part of it
// free (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). No holder has to be
// known in advance, and nothing is reserved for those who do not ask.
//
// Start reading at [Policy.Available]; [Limiter] applies a policy and does the bookkeeping.
package fairlimit

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrFull is why something is refused for which there is no place.
var ErrFull = errors.New("no place is free")

// Rule says how much of what is free one holder may have.
type Policy struct {
	// Part is the divisor of the fraction: a holder has at most a Part-th of what is free; from 1. Everybody may have one
	// while anything is free.
	Divisor int
	// Most bounds what a holder has, however much is free; from 1.
	Max int
}

// Limit is how many places a holder may have when free are free; from 1.
func (p Policy) Limit(free int) int { return min(p.Max, max(1, free/p.Divisor)) }

// Room is how many places more a holder of held may take when free are free; from 0.
func (p Policy) Available(free, held int) int { return max(0, min(p.Limit(free)-held, free)) }

// Pool is a number of places and who holds them. It is safe for concurrent use.
type Limiter[K comparable] struct {
	policy Policy
	size   int

	mu   sync.Mutex
	used int
	held map[K]int // without those who hold nothing
	// waiting are those who wait for a place, by holder, each holder's in the order they came; turns are the holders, in the
	// order in which they get their next place.
	waiting map[K][]chan struct{}
	turns   []K
}

// NewPool returns a pool of size places.
func New[K comparable](size int, rule Policy) *Limiter[K] {
	return &Limiter[K]{policy: rule, size: size, held: map[K]int{}, waiting: map[K][]chan struct{}{}}
}

// Take takes n places for a holder, all of them or none.
func (l *Limiter[K]) TryAcquire(holder K, n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tryAcquire(holder, n)
}

func (l *Limiter[K]) tryAcquire(holder K, n int) bool {
	if l.policy.Available(l.size-l.used, l.held[holder]) < n {
		return false
	}
	l.used += n
	l.held[holder] += n
	return true
}

// Wait takes one place for a holder as soon as there is one; holders that wait get them in turn. It returns false, and
// takes nothing, when ctx ends before.
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

// giveUp ends the wait of a holder. It is false when the place was taken meanwhile.
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

// Give gives n places of a holder back.
func (l *Limiter[K]) Release(holder K, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used -= n
	if l.held[holder] -= n; l.held[holder] == 0 {
		delete(l.held, holder)
	}
	// Those who have to go on waiting have places already, or nothing is free.
	for n := 0; n < len(l.turns) && l.used < l.size; {
		next := l.turns[n]
		if !l.tryAcquire(next, 1) {
			n++
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

// Used is how many places are taken.
func (l *Limiter[K]) InUse() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used
}
