package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// The bounds of lists and searches. They read on connections of their own, so that reads of tokens and single rows always get one.
const (
	// listTimeout bounds a list or search, including the wait for a connection.
	listTimeout = 5 * time.Second
	// listsPerCompany is how many lists of one company are read concurrently.
	listsPerCompany = 2
	// listWait is how long a list waits for other lists of its company.
	listWait = 2 * time.Second
)

// ErrListsBusy says that a company already reads the maximum number of lists concurrently and that none of them ended within
// listWait. It wraps [ErrUnavailable].
var ErrListsBusy = fmt.Errorf("%w: too many lists of this company at a time", ErrUnavailable)

// listLimiter bounds how many lists are read concurrently, for each company and in total. It is safe for concurrent use.
type listLimiter struct {
	all chan struct{}
	// wait and timeout are listWait and listTimeout; tests shorten them.
	wait, timeout time.Duration

	mu        sync.Mutex
	companies map[ID]*companyLists // only companies that read or wait
}

// companyLists counts the lists of one company. users includes those that wait for a slot.
type companyLists struct {
	slots chan struct{}
	users int
}

// newListLimiter returns a limiter for a total of most lists, at least 1.
func newListLimiter(most int) *listLimiter {
	return &listLimiter{all: make(chan struct{}, most), wait: listWait, timeout: listTimeout, companies: map[ID]*companyLists{}}
}

// acquire waits for a slot of the company and one of the total, and returns a function that releases both. It returns
// [ErrListsBusy] when the company's slots stay taken, or the error of ctx.
func (l *listLimiter) acquire(ctx context.Context, company ID) (leave func(), err error) {
	own := l.addUser(company)
	timer := time.NewTimer(l.wait)
	defer timer.Stop()
	select {
	case own.slots <- struct{}{}:
	case <-timer.C:
		l.removeUser(company, own)
		return nil, ErrListsBusy
	case <-ctx.Done():
		l.removeUser(company, own)
		return nil, ctx.Err()
	}
	select {
	case l.all <- struct{}{}:
	case <-ctx.Done():
		<-own.slots
		l.removeUser(company, own)
		return nil, ctx.Err()
	}
	return func() {
		<-l.all
		<-own.slots
		l.removeUser(company, own)
	}, nil
}

func (l *listLimiter) addUser(company ID) *companyLists {
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

func (l *listLimiter) removeUser(company ID, own *companyLists) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(l.companies, company)
	}
}

// list runs fn, which reads a list, in one snapshot of the database, within the bounds of this file. It returns
// [ErrUnavailable] if that takes too long. If the tenant has joined a transaction, fn runs in it.
func (t *Tenant) list(ctx context.Context, fn func(ctx context.Context, q querier) error) error {
	if t == nil || t.db == nil {
		return ErrNoTenant
	}
	if t.tx != nil {
		return t.db.classify(fn(ctx, t.tx))
	}
	bounded, cancel := context.WithTimeout(ctx, t.db.listLimit.timeout)
	defer cancel()
	leave, err := t.db.listLimit.acquire(bounded, t.id)
	if err == nil {
		err = t.db.snapshot(bounded, fn)
		leave()
	}
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err) // SQLite only says that the query was interrupted
	}
	return t.db.classify(err)
}

// snapshot runs fn in a read transaction, in which everything is read as of one moment.
func (db *DB) snapshot(ctx context.Context, fn func(ctx context.Context, q querier) error) (err error) {
	tx, err := db.listReader.BeginTx(ctx, &sql.TxOptions{Isolation: db.snapshotLevel, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { // nothing was written: ending the transaction releases the connection
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			err = errors.Join(err, fmt.Errorf("rollback: %w", rollback))
		}
	}()
	return fn(ctx, tx)
}
