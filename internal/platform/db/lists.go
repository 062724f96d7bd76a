package db

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// The bounds of lists and searches, which read many rows. Because of them, queries of single rows always get a
// connection.
const (
	// listTimeout bounds a list, including the wait for a connection.
	listTimeout = 5 * time.Second
	// listsPerOwner is how many lists of one owner are read concurrently.
	listsPerOwner = 2
	// listWait is how long a list waits for other lists of its owner.
	listWait = 2 * time.Second
)

// ErrListsBusy says that an owner already reads the maximum number of lists concurrently and that none of them ended
// within listWait. It wraps [ErrUnavailable].
var ErrListsBusy = fmt.Errorf("%w: too many lists of one owner at a time", ErrUnavailable)

// listLimiter bounds how many lists are read concurrently, for each owner and in total. It is safe for concurrent use.
type listLimiter struct {
	all chan struct{}
	// wait and timeout are listWait and listTimeout; tests shorten them.
	wait, timeout time.Duration

	mu     sync.Mutex
	owners map[[16]byte]*ownerLists // only owners that read or wait
}

// ownerLists counts the lists of one owner. users includes those that wait for a slot.
type ownerLists struct {
	slots chan struct{}
	users int
}

// newListLimiter returns a limiter for a total of most lists, at least 1.
func newListLimiter(most int) *listLimiter {
	return &listLimiter{all: make(chan struct{}, most), wait: listWait, timeout: listTimeout,
		owners: map[[16]byte]*ownerLists{}}
}

// acquire waits for a slot of the owner and one of the total, and returns a function that releases both. It returns
// [ErrListsBusy] when the owner's slots stay taken, or the error of ctx.
func (l *listLimiter) acquire(ctx context.Context, owner [16]byte) (leave func(), err error) {
	own := l.addUser(owner)
	if err := l.acquireSlot(ctx, own); err != nil {
		l.removeUser(owner, own)
		return nil, err
	}
	select {
	case l.all <- struct{}{}:
	case <-ctx.Done():
		<-own.slots
		l.removeUser(owner, own)
		return nil, ctx.Err()
	}
	return func() {
		<-l.all
		<-own.slots
		l.removeUser(owner, own)
	}, nil
}

// acquireSlot takes one of the owner's slots. It takes a free slot at once: a select alone could choose the timer on a
// machine so busy that the timer has already fired.
func (l *listLimiter) acquireSlot(ctx context.Context, own *ownerLists) error {
	select {
	case own.slots <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(l.wait)
	defer timer.Stop()
	select {
	case own.slots <- struct{}{}:
		return nil
	case <-timer.C:
		return ErrListsBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *listLimiter) addUser(owner [16]byte) *ownerLists {
	l.mu.Lock()
	defer l.mu.Unlock()
	own, ok := l.owners[owner]
	if !ok {
		own = &ownerLists{slots: make(chan struct{}, listsPerOwner)}
		l.owners[owner] = own
	}
	own.users++
	return own
}

func (l *listLimiter) removeUser(owner [16]byte, own *ownerLists) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(l.owners, owner)
	}
}

// Snapshot runs fn, which may read whole tables for an administrator, in one snapshot of the database.
func (d *DB) Snapshot(ctx context.Context, fn func(ctx context.Context, q Querier) error) error {
	return d.Classify(d.engine.snapshot(WithoutQueryDeadline(ctx), fn))
}

// List runs fn, which reads a list of an owner, in one snapshot of the database, within the bounds of this file. It
// returns [ErrUnavailable] if that takes too long.
func (d *DB) List(ctx context.Context, owner [16]byte, fn func(ctx context.Context, q Querier) error) error {
	bounded, cancel := context.WithTimeout(ctx, d.listLimit.timeout)
	defer cancel()
	leave, err := d.listLimit.acquire(bounded, owner)
	if err == nil {
		err = d.engine.snapshot(bounded, fn)
		leave()
	}
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err) // SQLite only says that the query was interrupted
	}
	return d.Classify(err)
}
