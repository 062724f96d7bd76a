package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// groupMost is how many transactions are committed together at most: enough that the cost of a commit, which is its
// fsync, hardly counts, and few enough that the first of them does not wait long for the last.
const groupMost = 256

// group gathers the writes of many goroutines into one transaction with a savepoint for each, for a database that has one
// writer. Whoever gets the gate commits for all who wait for it, so there is no goroutine of its own, no timer, and a
// write that comes alone is committed at once.
//
// A fact succeeds or fails by itself: its failure undoes its own savepoint. What ends the transaction as a whole
// (SQLite rolls back by itself after some errors) leaves its neighbours undone, so they are run again, each alone.
type group struct {
	mu    sync.Mutex
	queue []*proposal
}

// proposal is one write that waits to be committed.
type proposal struct {
	ctx    context.Context // without its end: a statement that is cancelled can roll back its neighbours
	fact   string
	fn     func(ctx context.Context, t *tx) error
	woken  map[Work]bool
	err    error
	cause  any           // what fn panicked with
	ran    bool          // within the current transaction
	ended  chan struct{} // closed when err and cause are final
	closed bool
}

// errUnfinished is for a write whose goroutine was ended from within.
var errUnfinished = errors.New("the write did not come to its end")

// errTransactionGone says that the database has rolled the whole transaction back by itself.
var errTransactionGone = errors.New("the transaction is gone")

func (p *proposal) end() {
	if !p.closed {
		p.closed = true
		close(p.ended)
	}
}

// propose queues a write.
func (g *group) propose(p *proposal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue = append(g.queue, p)
}

// leave takes a write out of the queue. It returns false when somebody is running it already.
func (g *group) leave(p *proposal) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for n, waiting := range g.queue {
		if waiting == p {
			g.queue = append(g.queue[:n], g.queue[n+1:]...)
			return true
		}
	}
	return false
}

// take removes the writes that have waited longest from the queue.
func (g *group) take() []*proposal {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.queue), groupMost)
	batch := append([]*proposal(nil), g.queue[:n]...)
	rest := copy(g.queue, g.queue[n:])
	clear(g.queue[rest:])
	g.queue = g.queue[:rest]
	return batch
}

// writeTogether is write for an engine with a group.
func (db *DB) writeTogether(request context.Context, fact string, fn func(ctx context.Context, t *tx) error) error {
	p := &proposal{ctx: context.WithoutCancel(request), fact: fact, fn: fn, ended: make(chan struct{})}
	db.group.propose(p)
	patience := time.NewTimer(writeTimeout)
	defer patience.Stop()
	select {
	case db.gate <- struct{}{}:
		db.lead(p)
	case <-p.ended:
	case <-request.Done():
		if db.group.leave(p) {
			return request.Err() // nothing has happened yet
		}
		<-p.ended
	case <-patience.C:
		if db.group.leave(p) {
			return db.told(nil, context.DeadlineExceeded)
		}
		<-p.ended
	}
	if p.cause != nil {
		panic(p.cause)
	}
	return db.told(p.woken, p.err)
}

// lead commits what waits, until its own write is among it, and hands the gate on.
func (db *DB) lead(own *proposal) {
	defer func() { <-db.gate }()
	for {
		select {
		case <-own.ended:
			return
		default:
			db.commitTogether(db.group.take())
		}
	}
}

// commitTogether runs the writes of a batch in one transaction, and ends each of them.
func (db *DB) commitTogether(batch []*proposal) {
	defer func() {
		for _, p := range batch {
			if !p.closed {
				p.err = errUnfinished
				p.end()
			}
		}
	}()
	if len(batch) > 1 {
		err := db.commitBatch(batch)
		if !errors.Is(err, errTransactionGone) {
			for _, p := range batch {
				if err != nil {
					p.err = err // also where it had failed by itself: it may have failed for what a neighbour had written
				}
				p.end()
			}
			return
		}
	}
	for _, p := range batch {
		db.commitAlone(p)
		p.end()
	}
}

// commitAlone runs one write in a transaction of its own.
func (db *DB) commitAlone(p *proposal) {
	p.err, p.cause, p.woken = nil, nil, nil
	defer func() { p.cause = recover() }()
	p.woken, p.err = db.writeOnce(p.ctx, p.fact, p.fn)
}

// commitBatch runs the writes of a batch in one transaction. What it returns is about all of them.
func (db *DB) commitBatch(batch []*proposal) (err error) {
	begun, err := db.writer.BeginTx(context.WithoutCancel(batch[0].ctx), db.begin)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	committed := false
	defer func() {
		if committed {
			return
		}
		if rollback := begun.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) && !errors.Is(err, errTransactionGone) {
			err = errors.Join(err, fmt.Errorf("rollback: %w", rollback))
		}
	}()
	for _, p := range batch {
		if err := db.runInside(begun, p); err != nil {
			return err
		}
	}
	for _, p := range batch {
		if p.err == nil && p.cause == nil {
			db.Checkpoint(Before, p.fact)
		}
	}
	if err := begun.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	committed = true
	for _, p := range batch {
		if p.err == nil && p.cause == nil {
			db.Checkpoint(After, p.fact)
		}
	}
	return nil
}

// runInside runs one write in a savepoint. An error is about the whole transaction.
func (db *DB) runInside(begun *sql.Tx, p *proposal) error {
	ctx := p.ctx
	if _, err := begun.ExecContext(ctx, "savepoint fact"); err != nil {
		return fmt.Errorf("%w: %w", errTransactionGone, err)
	}
	t := &tx{Tx: begun, db: db, woken: map[Work]bool{}}
	p.err = errUnfinished
	func() {
		defer func() { p.cause = recover() }()
		p.err = p.fn(ctx, t)
	}()
	if p.err != nil || p.cause != nil {
		// When the database has rolled everything back by itself, there is no savepoint to go back to.
		if _, err := begun.ExecContext(ctx, "rollback to fact"); err != nil {
			return fmt.Errorf("%w: %w", errTransactionGone, err)
		}
	} else {
		p.woken = t.woken
	}
	if _, err := begun.ExecContext(ctx, "release fact"); err != nil {
		return fmt.Errorf("%w: %w", errTransactionGone, err)
	}
	return nil
}
