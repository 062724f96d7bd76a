package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// The bounds of lists and searches. They read on connections of their own, so that tokens and single rows always find one.
const (
	// listTimeout bounds a list or search, the wait for a connection included.
	listTimeout = 5 * time.Second
	// listsPerCompany is how many lists of one company are read at a time.
	listsPerCompany = 2
	// listWait is how long a list waits for others of its company.
	listWait = 2 * time.Second
)

// ErrListsBusy says that a company reads as many lists at a time as it may, and that none of them ended soon. It is
// [ErrUnavailable] to callers.
var ErrListsBusy = fmt.Errorf("%w: too many lists of this company at a time", ErrUnavailable)

// listLimiter bounds how many lists are read at a time, for each company and in all. It is safe for concurrent use.
type listLimiter struct {
	all chan struct{}
	// wait and timeout are listWait and listTimeout; tests shorten them.
	wait, timeout time.Duration

	mu        sync.Mutex
	companies map[ID]*companyLists // without those that read nothing
}

// companyLists are the lists of a company that are read or wait.
type companyLists struct {
	slots chan struct{}
	users int
}

// newListLimiter returns a limiter of so many lists in all, from 1.
func newListLimiter(most int) *listLimiter {
	return &listLimiter{all: make(chan struct{}, most), wait: listWait, timeout: listTimeout, companies: map[ID]*companyLists{}}
}

// enter waits for a slot of the company and one of all, and returns how to give them back. It fails with [ErrListsBusy] when
// the company's stay taken, or with the error of ctx.
func (l *listLimiter) enter(ctx context.Context, company ID) (leave func(), err error) {
	own := l.join(company)
	timer := time.NewTimer(l.wait)
	defer timer.Stop()
	select {
	case own.slots <- struct{}{}:
	case <-timer.C:
		l.part(company, own)
		return nil, ErrListsBusy
	case <-ctx.Done():
		l.part(company, own)
		return nil, ctx.Err()
	}
	select {
	case l.all <- struct{}{}:
	case <-ctx.Done():
		<-own.slots
		l.part(company, own)
		return nil, ctx.Err()
	}
	return func() {
		<-l.all
		<-own.slots
		l.part(company, own)
	}, nil
}

func (l *listLimiter) join(company ID) *companyLists {
	l.mu.Lock()
	defer l.mu.Unlock()
	own, ok := l.companies[company]
	if !ok {
		own = &companyLists{slots: make(chan struct{}, listsPerCompany)}
		l.companies[company] = own
	}
	own.users++
	return own
}

func (l *listLimiter) part(company ID, own *companyLists) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(l.companies, company)
	}
}

// list runs fn, which reads a list, in one snapshot of the database: bounded in time, and in how many a company has at a
// time. What takes too long is [ErrUnavailable]. In a transaction that the tenant has joined it runs there.
func (t *Tenant) list(ctx context.Context, fn func(ctx context.Context, q querier) error) error {
	if t == nil || t.db == nil {
		return ErrNoTenant
	}
	if t.tx != nil {
		return t.db.fail(fn(ctx, t.tx))
	}
	bounded, cancel := context.WithTimeout(ctx, t.db.listLimit.timeout)
	defer cancel()
	leave, err := t.db.listLimit.enter(bounded, t.id)
	if err == nil {
		err = t.db.snapshot(bounded, fn)
		leave()
	}
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err) // SQLite says no more than that it was interrupted
	}
	return t.db.fail(err)
}

// snapshot runs fn in a read transaction: everything it reads is of one moment.
func (db *DB) snapshot(ctx context.Context, fn func(ctx context.Context, q querier) error) (err error) {
	tx, err := db.lists.BeginTx(ctx, &sql.TxOptions{Isolation: db.snapshotLevel, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { // nothing was written: the end of the transaction gives the connection back
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			err = errors.Join(err, fmt.Errorf("rollback: %w", rollback))
		}
	}()
	return fn(ctx, tx)
}
