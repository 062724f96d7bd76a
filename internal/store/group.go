package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// groupMost is how many transactions are committed together at most: enough that the cost of a commit, which is its
// fsync, hardly counts, and few enough that the first of them does not wait long for the last.
const groupMost = 256

// groupBytes is how much the writes that share a statement bring with them at most: the statement is in memory as a
// whole, here and in the database. One alone may be longer.
const groupBytes = 4 << 20

// group gathers the writes of many goroutines into one transaction. Whoever gets the gate commits for all who wait for it,
// so there is no goroutine of its own, no timer, and a write that comes alone is committed at once.
//
// A fact succeeds or fails by itself. With savepoints its failure undoes its own; without, and when the database has
// rolled the whole transaction back by itself, as SQLite does after some errors, everything is undone and each write is
// run again in a transaction of its own.
//
// SQLite has one writer and one group, of everything, with a savepoint for each write. On PostgreSQL the commits of several
// connections share their fsync already, and a statement is a round trip; there the facts are gathered that hardly ever fail
// and that many clients wait to commit behind one row, or in their thousands. A group is of one such fact, whose
// writes share their statements.
type group struct {
	savepoints bool
	gate       chan struct{}

	mu    sync.Mutex
	queue []*proposal
}

func newGroup(savepoints bool) *group {
	return &group{savepoints: savepoints, gate: make(chan struct{}, 1)}
}

// shards spread the facts of many owners over several groups, so that their transactions overlap.
type shards []*group

func newShards(n int) shards {
	all := make(shards, n)
	for k := range all {
		all[k] = newGroup(false)
	}
	return all
}

// of returns the group of an owner: always the same one, so that an owner's writes never wait for each other's locks.
func (s shards) of(owner ID) *group { return s[int(owner[len(owner)-1])%len(s)] }

// proposal is one write that waits to be committed.
type proposal struct {
	// ctx is that of the request without its end: who hangs up takes no neighbour with him.
	ctx    context.Context //nolint:containedctx // a proposal is one call, on its way to another goroutine
	fact   string
	fn     func(ctx context.Context, t *tx) error
	member any // what shared asks for, when it is not nil
	size   int // of member, in bytes
	// shared does what fn would for each write of a batch of this fact, without savepoints; see [writeShared].
	shared        func(ctx context.Context, t *tx, batch []*proposal) error
	notifications map[Work]bool
	err           error
	cause         *Panic        // what fn panicked with
	ended         chan struct{} // closed when err and cause are final
	closed        bool
}

// The statements around one write among others.
const (
	savepoint  = "savepoint fact"
	rollbackTo = "rollback to fact"
	release    = "release fact"
)

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

// Panic is what a panic becomes that is carried from the goroutine in which it came up to the one whose write it was.
type Panic struct {
	// Value is what was passed to panic.
	Value any
	// Stack is where that was.
	Stack []byte
}

// String returns the value and the stack.
func (p *Panic) String() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// caught keeps what recover has returned, with the stack that led to it; nil when there was no panic. It is called by the
// function that recovers.
func caught(value any) *Panic {
	if value == nil {
		return nil
	}
	if carried, ok := value.(*Panic); ok {
		return carried
	}
	return &Panic{Value: value, Stack: debug.Stack()}
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
	n, size := 0, 0
	for n < min(len(g.queue), groupMost) && (n == 0 || size+g.queue[n].size <= groupBytes) {
		size += g.queue[n].size
		n++
	}
	batch := append([]*proposal(nil), g.queue[:n]...)
	rest := copy(g.queue, g.queue[n:])
	clear(g.queue[rest:])
	g.queue = g.queue[:rest]
	return batch
}

// writeTogether is write for what a group gathers: p has a fact and how to write it.
func (db *DB) writeTogether(request context.Context, g *group, p *proposal) error {
	p.ctx, p.ended = context.WithoutCancel(request), make(chan struct{})
	g.propose(p)
	patience := time.NewTimer(writeTimeout)
	defer patience.Stop()
	select {
	case g.gate <- struct{}{}:
		db.lead(g, p)
	case <-p.ended:
	case <-request.Done():
		if g.leave(p) {
			return request.Err() // nothing has happened yet
		}
		<-p.ended
	case <-patience.C:
		if g.leave(p) {
			return db.told(nil, context.DeadlineExceeded)
		}
		<-p.ended
	}
	if p.cause != nil {
		panic(p.cause)
	}
	return db.told(p.notifications, p.err)
}

// lead commits what waits, until its own write is among it, and hands the gate on.
func (db *DB) lead(g *group, own *proposal) {
	defer func() { <-g.gate }()
	for {
		select {
		case <-own.ended:
			return
		default:
			db.commitTogether(g, g.take())
		}
	}
}

// commitTogether runs the writes of a batch, in one transaction if that is possible, and ends each of them.
func (db *DB) commitTogether(g *group, batch []*proposal) {
	defer func() {
		for _, p := range batch {
			if !p.closed {
				p.err = errUnfinished
				p.end()
			}
		}
	}()
	if len(batch) > 1 {
		ctx, cancel := db.transaction(batch[0].ctx)
		err := db.commitBatch(ctx, g, batch)
		cancel()
		if !errors.Is(err, errTransactionGone) && !db.retry(err) {
			for _, p := range batch {
				if err != nil {
					p.err = err // also where it had failed by itself: it may have failed for what a neighbour had written
				}
				p.end()
			}
			return
		}
	}
	var down error
	for _, p := range batch {
		if down == nil {
			db.commitAlone(p)
		} else {
			p.err, p.cause, p.notifications = down, nil, nil // each would wait as long as the first did
		}
		if p.err != nil && db.unavailable(p.err) {
			down = p.err
		}
		p.end()
	}
}

// commitAlone runs one write in a transaction of its own.
func (db *DB) commitAlone(p *proposal) {
	p.err, p.cause, p.notifications = errUnfinished, nil, nil
	defer func() { p.cause = caught(recover()) }()
	p.notifications, p.err = db.writeAlone(p.ctx, p.fact, p.fn)
}

// commitBatch runs the writes of a batch in one transaction. What it returns is about all of them.
func (db *DB) commitBatch(ctx context.Context, g *group, batch []*proposal) (err error) {
	leave, err := db.enter(ctx, ctx)
	if err != nil {
		return err
	}
	defer leave()
	begun, err := db.begin(ctx)
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
	if err := db.runBatch(ctx, g, begun, batch); err != nil {
		return err
	}
	for _, p := range batch {
		if p.err == nil && p.cause == nil {
			db.Checkpoint(Before, p.fact)
		}
	}
	if err := begun.Commit(); errors.Is(err, pgx.ErrTxCommitRollback) {
		return fmt.Errorf("%w: %w", errTransactionGone, err) // one of them has gone on after a failure: alone, only that one fails
	} else if err != nil {
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

// run runs the closure of a write.
func (p *proposal) run(ctx context.Context, db *DB, begun transaction) {
	t := db.newTx(begun)
	p.err = errUnfinished
	defer func() { p.cause = caught(recover()) }()
	p.err = t.run(ctx, p.fn)
	p.notifications = t.notifications
}

// runBatch runs the writes of a batch. An error is about all of them.
func (db *DB) runBatch(ctx context.Context, g *group, begun transaction, batch []*proposal) error {
	if !g.savepoints {
		return db.runShared(ctx, begun, batch)
	}
	for _, p := range batch {
		if err := db.runInside(ctx, begun, p); err != nil {
			return err
		}
	}
	return nil
}

// runShared runs the writes of a batch with the statements they share, in a transaction that ends by the failure of any.
func (db *DB) runShared(ctx context.Context, begun transaction, batch []*proposal) error {
	all := &proposal{fn: func(ctx context.Context, t *tx) error { return batch[0].shared(ctx, t, batch) }}
	all.run(ctx, db, begun)
	switch {
	case all.cause == nil && all.err == nil:
		batch[0].notifications = all.notifications // once for all
		return nil
	case all.cause == nil && db.unavailable(all.err):
		return all.err // to run each alone would be to wait for the same database as often
	}
	return fmt.Errorf("%w: %w", errTransactionGone, all.err)
}

// runInside runs one write in a savepoint. An error is about the whole transaction.
func (db *DB) runInside(ctx context.Context, begun transaction, p *proposal) error {
	if _, err := begun.ExecContext(ctx, savepoint); err != nil {
		return fmt.Errorf("%w: %w", errTransactionGone, err)
	}
	p.run(ctx, db, begun)
	if p.err != nil || p.cause != nil {
		// When the database has rolled everything back by itself, there is no savepoint to go back to.
		if _, err := begun.ExecContext(ctx, rollbackTo); err != nil {
			return fmt.Errorf("%w: %w", errTransactionGone, err)
		}
		p.notifications = nil
	}
	if _, err := begun.ExecContext(ctx, release); err != nil {
		return fmt.Errorf("%w: %w", errTransactionGone, err)
	}
	return nil
}
