// Package fairlimit divides a bounded number of places (workers, requests, bytes) among companies that ask for them, so
// that whoever asks for many leaves some for whoever comes next.
//
// Its invariant: a holder gets no place beyond a fixed fraction of the places that are free at that moment. So one company
// alone may have much, and a hundred that hold on to what they get share the same room and still leave a part of it
// free (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). No holder has to be
// known in advance, and nothing is reserved for those who do not ask.
//
// Start reading at [Rule.Room]; [Pool] is the rule with its bookkeeping.
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
type Rule struct {
	// Part is the divisor of the fraction: a holder has at most a Part-th of what is free; from 1. Everybody may have one
	// while anything is free.
	Part int
	// Most bounds what a holder has, however much is free; from 1.
	Most int
}

// Limit is how many places a holder may have when free are free; from 1.
func (r Rule) Limit(free int) int { return min(r.Most, max(1, free/r.Part)) }

// Room is how many places more a holder of held may take when free are free; from 0.
func (r Rule) Room(free, held int) int { return max(0, min(r.Limit(free)-held, free)) }

// Pool is a number of places and who holds them. It is safe for concurrent use.
type Pool[K comparable] struct {
	rule Rule
	size int

	mu   sync.Mutex
	used int
	held map[K]int // without those who hold nothing
	// waiting are those who wait for a place, by holder, each holder's in the order they came; turns are the holders, in the
	// order in which they get their next place.
	waiting map[K][]chan struct{}
	turns   []K
}

// NewPool returns a pool of size places.
func NewPool[K comparable](size int, rule Rule) *Pool[K] {
	return &Pool[K]{rule: rule, size: size, held: map[K]int{}, waiting: map[K][]chan struct{}{}}
}

// Take takes n places for a holder, all of them or none.
func (p *Pool[K]) Take(holder K, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.take(holder, n)
}

func (p *Pool[K]) take(holder K, n int) bool {
	if p.rule.Room(p.size-p.used, p.held[holder]) < n {
		return false
	}
	p.used += n
	p.held[holder] += n
	return true
}

// Wait takes one place for a holder as soon as there is one; holders that wait get them in turn. It returns false, and
// takes nothing, when ctx ends before.
func (p *Pool[K]) Wait(ctx context.Context, holder K) bool {
	p.mu.Lock()
	if p.take(holder, 1) {
		p.mu.Unlock()
		return true
	}
	taken := make(chan struct{})
	if len(p.waiting[holder]) == 0 {
		p.turns = append(p.turns, holder)
	}
	p.waiting[holder] = append(p.waiting[holder], taken)
	p.mu.Unlock()
	select {
	case <-taken:
		return true
	case <-ctx.Done():
		return !p.giveUp(holder, taken)
	}
}

// giveUp ends the wait of a holder. It is false when the place was taken meanwhile.
func (p *Pool[K]) giveUp(holder K, waiter chan struct{}) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.Index(p.waiting[holder], waiter)
	if at < 0 {
		return false
	}
	p.waiting[holder] = slices.Delete(p.waiting[holder], at, at+1)
	if len(p.waiting[holder]) == 0 {
		delete(p.waiting, holder)
		at := slices.Index(p.turns, holder)
		p.turns = slices.Delete(p.turns, at, at+1)
	}
	return true
}

// Give gives n places of a holder back.
func (p *Pool[K]) Give(holder K, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= n
	if p.held[holder] -= n; p.held[holder] == 0 {
		delete(p.held, holder)
	}
	// Those who have to go on waiting have places already, or nothing is free.
	for n := 0; n < len(p.turns) && p.used < p.size; {
		next := p.turns[n]
		if !p.take(next, 1) {
			n++
			continue
		}
		close(p.waiting[next][0])
		p.waiting[next] = p.waiting[next][1:]
		p.turns = slices.Delete(p.turns, n, n+1)
		if len(p.waiting[next]) > 0 {
			p.turns = append(p.turns, next)
		} else {
			delete(p.waiting, next)
		}
	}
}

// Used is how many places are taken.
func (p *Pool[K]) Used() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}
