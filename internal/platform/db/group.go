package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// This file is the group commit: several writes share one database transaction, and so one fsync.
//
// # How a write becomes part of a commit
//
// A write is a pendingWrite. Its goroutine calls writeInGroup, which enqueues it in a group and then waits for one of:
//
//   - the leader lock: this goroutine becomes the leader. It takes batches from the queue and processes them until its
//     own write is done, which is the first or a later batch. Then it gives the lock to the next waiting goroutine.
//   - done: a leader has processed the write. Its result is in err, panicked and notifications.
//   - the end of the request, or WriteTimeout: the write leaves the queue, if no leader has taken it yet. Otherwise the
//     goroutine waits for done, because the write may be committed.
//
// There is no background goroutine and no timer, and a write that comes alone is committed at once.
//
// A pendingWrite is therefore queued (in group.queue, under group.mu), taken (owned by the leader, which alone writes
// its results) or finished (done is closed; its own goroutine reads the results). Only the holder of leaderLock moves a
// write from queued to taken.
//
// # How a batch is committed
//
// A batch of one write runs in a transaction of its own. For more, processBatch first tries commitTogether, which runs
// all writes in one transaction. In a group with savepoints (SQLite) each write runs in a savepoint. In a group without
// savepoints (PostgreSQL) one call of runBatch executes all of them with shared statements. Then [Options.BeforeCommit]
// runs once for all of them. What happens on a failure:
//
//   - The closure of one write fails or panics, with savepoints: its savepoint is rolled back and its error or panic is
//     kept for its goroutine. The other writes are not affected.
//   - The same without savepoints: the transaction is rolled back (errRunIndividually), and each write runs again in a
//     transaction of its own, so that only the failing one fails.
//   - [Options.BeforeCommit] fails: the same, in both kinds of groups.
//   - The database rolls back the whole transaction (SQLite does after some errors; PostgreSQL answers the commit of a
//     failed transaction with a rollback; deadlocks): errRunIndividually or a retryable error, with the same
//     consequence.
//   - The database is unavailable, or the commit fails otherwise: all writes of the batch fail with that error. A
//     commit whose result is unknown is not repeated.
//   - While writes run individually, the first error that says that the database is unavailable fails the rest at once.
//   - The leader's goroutine ends in the middle (runtime.Goexit): the deferred function of processBatch fails the rest
//     with errNotFinished, so that no goroutine waits forever.

// maxGroupSize bounds the writes of one transaction: large enough that the cost of the commit, its fsync, hardly
// counts, and small enough that the first write does not wait long for the last.
const maxGroupSize = 256

// maxGroupBytes bounds the payloads that share one statement, because the whole statement is in memory, here and in the
// database. A single payload may be larger.
const maxGroupBytes = 4 << 20

// group collects the writes of many goroutines and commits them together; see the top of this file.
//
// SQLite has one writer, and one group for all writes, with a savepoint for each. On PostgreSQL the server combines the
// fsyncs of several connections itself, but each statement costs a round trip. There, groups exist only for operations
// that rarely fail and that come in large numbers or wait for the same row; see [Shared]. Such a group holds writes of
// one operation, which share their statements.
type group struct {
	savepoints bool
	leaderLock chan struct{}

	mu    sync.Mutex
	queue []*pendingWrite
}

func newGroup(savepoints bool) *group {
	return &group{savepoints: savepoints, leaderLock: make(chan struct{}, 1)}
}

// shards spread the writes of many owners over several groups, so that their transactions overlap.
type shards []*group

func newShards(n int) shards {
	all := make(shards, n)
	for k := range all {
		all[k] = newGroup(false)
	}
	return all
}

// forOwner returns the group of an owner. It is always the same one, so that the writes of one owner never wait for
// each other's locks.
func (s shards) forOwner(owner [16]byte) *group { return s[int(owner[len(owner)-1])%len(s)] }

// pendingWrite is one write that waits to be committed. The fields up to runBatch are set by its goroutine, the others
// by the leader.
type pendingWrite struct {
	// ctx is the context of the request without its cancellation: a cancelled request must not abort the batch.
	ctx       context.Context //nolint:containedctx // a pendingWrite is one call on its way to another goroutine
	operation string
	fn        func(ctx context.Context, t *Tx) error
	payload   any // the argument for runBatch; nil if that is nil
	size      int // of payload, in bytes
	// runBatch does what fn would do for each write of a batch of this operation, without savepoints; see [WriteShared].
	runBatch      func(ctx context.Context, t *Tx, batch []*pendingWrite) error
	notifications map[string]bool
	atCommit      []any // what fn passed to [Tx.AtCommit]
	err           error
	panicked      *Panic        // what fn panicked with
	done          chan struct{} // closed when err, panicked and notifications are set
	finished      bool
}

// The statements around one write of a group with savepoints.
const (
	savepoint  = "savepoint operation"
	rollbackTo = "rollback to operation"
	release    = "release operation"
)

// errNotFinished is the error of a write whose closure ended its goroutine.
var errNotFinished = errors.New("the write did not finish")

// errRunIndividually says that the transaction of a batch was rolled back as a whole, and that each write of it can run
// again in a transaction of its own.
var errRunIndividually = errors.New("the transaction of the group was rolled back")

// finish wakes the goroutine that waits for the write. Only the first call has an effect.
func (p *pendingWrite) finish() {
	if !p.finished {
		p.finished = true
		close(p.done)
	}
}

// Panic is a panic of a write. It is carried from the goroutine that ran the write to the one that called [DB.Write],
// which panics with it.
type Panic struct {
	// Value is the argument of the original panic.
	Value any
	// Stack is the stack of the original panic.
	Stack []byte
}

// String returns the value and the stack.
func (p *Panic) String() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// capturePanic returns the panic that recover returned as value, with its stack, or nil if there was none. The deferred
// function that recovers must call it.
func capturePanic(value any) *Panic {
	if value == nil {
		return nil
	}
	if carried, ok := value.(*Panic); ok {
		return carried
	}
	return &Panic{Value: value, Stack: debug.Stack()}
}

// enqueue adds a write to the queue.
func (g *group) enqueue(p *pendingWrite) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue = append(g.queue, p)
}

// waiting returns how many writes are in the queue.
func (g *group) waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queue)
}

// remove removes a write from the queue. It returns false if a leader has already taken it.
func (g *group) remove(p *pendingWrite) bool {
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

// nextBatch takes the oldest writes from the queue, within maxGroupSize and maxGroupBytes.
func (g *group) nextBatch() []*pendingWrite {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, size := 0, 0
	for n < min(len(g.queue), maxGroupSize) && (n == 0 || size+g.queue[n].size <= maxGroupBytes) {
		size += g.queue[n].size
		n++
	}
	batch := append([]*pendingWrite(nil), g.queue[:n]...)
	rest := copy(g.queue, g.queue[n:])
	clear(g.queue[rest:])
	g.queue = g.queue[:rest]
	return batch
}

// writeInGroup commits a write through a group and returns its result; see the top of this file.
func (d *DB) writeInGroup(request context.Context, g *group, p *pendingWrite) error {
	p.ctx, p.done = context.WithoutCancel(request), make(chan struct{})
	g.enqueue(p)
	timeout := time.NewTimer(WriteTimeout)
	defer timeout.Stop()
	select {
	case g.leaderLock <- struct{}{}:
		d.runAsLeader(g, p)
	case <-p.done:
	case <-request.Done():
		if g.remove(p) {
			return request.Err() // no leader has taken it: nothing was written
		}
		<-p.done
	case <-timeout.C:
		if g.remove(p) {
			return d.finishWrite(nil, context.DeadlineExceeded)
		}
		<-p.done
	}
	if p.panicked != nil {
		panic(p.panicked)
	}
	return d.finishWrite(p.notifications, p.err)
}

// runAsLeader processes batches until its own write is done. The caller holds the leader lock, which runAsLeader
// releases.
func (d *DB) runAsLeader(g *group, own *pendingWrite) {
	defer func() { <-g.leaderLock }()
	for {
		select {
		case <-own.done:
			return
		default:
			d.processBatch(g, g.nextBatch())
		}
	}
}

// processBatch runs the writes of a batch, in one transaction if possible and otherwise individually, and finishes all
// of them.
func (d *DB) processBatch(g *group, batch []*pendingWrite) {
	defer func() {
		for _, p := range batch {
			if !p.finished {
				p.err = errNotFinished
				p.finish()
			}
		}
	}()
	if len(batch) > 1 {
		ctx, cancel := d.writeContext(batch[0].ctx)
		err := d.commitTogether(ctx, g, batch)
		cancel()
		if !errors.Is(err, errRunIndividually) && !d.engine.isRetryable(err) {
			for _, p := range batch {
				if err != nil {
					p.err = err // also in place of its own error, which may come from a row that is rolled back now
				}
				p.finish()
			}
			return
		}
	}
	var down error
	for _, p := range batch {
		if down == nil {
			d.commitIndividually(p)
		} else {
			p.err, p.panicked, p.notifications = down, nil, nil // it would wait as long as the one that failed
		}
		if p.err != nil && d.engine.isUnavailable(p.err) {
			down = p.err
		}
		p.finish()
	}
}

// commitIndividually runs one write in a transaction of its own.
func (d *DB) commitIndividually(p *pendingWrite) {
	p.err, p.panicked, p.notifications = errNotFinished, nil, nil
	defer func() { p.panicked = capturePanic(recover()) }()
	p.notifications, p.err = d.writeAlone(p.ctx, p.operation, p.fn)
}

// commitTogether runs the writes of a batch in one transaction. Its error concerns all of them; the results of the
// single writes are in their fields.
func (d *DB) commitTogether(ctx context.Context, g *group, batch []*pendingWrite) (err error) {
	leave, err := d.acquireWriteSlot(ctx, ctx)
	if err != nil {
		return err
	}
	defer func() { leave(err) }()
	begun, err := d.beginWrite(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	committed := false
	defer func() {
		if committed {
			return
		}
		if rollbackErr := begun.Rollback(); rollbackErr != nil && !errors.Is(rollbackErr, sql.ErrTxDone) &&
			!errors.Is(err, errRunIndividually) {
			err = errors.Join(err, fmt.Errorf("rollback: %w", rollbackErr))
		}
	}()
	if err := d.runWrites(ctx, g, begun, batch); err != nil {
		return err
	}
	if err := d.beforeCommitTogether(ctx, begun, batch); err != nil {
		return err
	}
	for _, p := range batch {
		if p.err == nil && p.panicked == nil {
			d.Checkpoint(Before, p.operation)
		}
	}
	if err := begun.Commit(); errors.Is(err, errCommitRolledBack) {
		// A write ignored a failed statement. Run each alone, so that only that write fails.
		return fmt.Errorf("%w: %w", errRunIndividually, err)
	} else if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	committed = true
	for _, p := range batch {
		if p.err == nil && p.panicked == nil {
			d.Checkpoint(After, p.operation)
		}
	}
	return nil
}

// beforeCommitTogether calls [Options.BeforeCommit] once for the writes of a batch that did not fail.
func (d *DB) beforeCommitTogether(ctx context.Context, begun transaction, batch []*pendingWrite) error {
	var values []any
	for _, p := range batch {
		values = append(values, p.atCommit...)
	}
	if err := d.beforeCommit(ctx, begun, values); err != nil && !d.engine.isUnavailable(err) {
		return fmt.Errorf("%w: %w", errRunIndividually, err) // the cause may be in one of them
	} else if err != nil {
		return err
	}
	return nil
}

// run runs the closure of a write in a transaction and keeps its result.
func (p *pendingWrite) run(ctx context.Context, d *DB, begun transaction) {
	t := d.newTx(begun)
	p.err = errNotFinished
	defer func() { p.panicked = capturePanic(recover()) }()
	p.err = t.run(ctx, p.fn)
	p.notifications, p.atCommit = t.notifications, t.atCommit
}

// runWrites runs the writes of a batch in a transaction. Its error concerns all of them.
func (d *DB) runWrites(ctx context.Context, g *group, begun transaction, batch []*pendingWrite) error {
	if !g.savepoints {
		return d.runSharedStatements(ctx, begun, batch)
	}
	for _, p := range batch {
		if err := d.runInSavepoint(ctx, begun, p); err != nil {
			return err
		}
	}
	return nil
}

// runSharedStatements runs the writes of a batch with shared statements. If one fails, the transaction fails.
func (d *DB) runSharedStatements(ctx context.Context, begun transaction, batch []*pendingWrite) error {
	all := &pendingWrite{fn: func(ctx context.Context, t *Tx) error { return batch[0].runBatch(ctx, t, batch) }}
	all.run(ctx, d, begun)
	switch {
	case all.panicked == nil && all.err == nil:
		batch[0].notifications, batch[0].atCommit = all.notifications, all.atCommit // once for the whole batch
		return nil
	case all.panicked == nil && d.engine.isUnavailable(all.err):
		return all.err // each would wait for the same unavailable database
	}
	return fmt.Errorf("%w: %w", errRunIndividually, all.err)
}

// runInSavepoint runs one write in a savepoint, which it rolls back if the write fails. Its error concerns the whole
// transaction.
func (d *DB) runInSavepoint(ctx context.Context, begun transaction, p *pendingWrite) error {
	if _, err := begun.Exec(ctx, savepoint); err != nil {
		return fmt.Errorf("%w: %w", errRunIndividually, err)
	}
	p.run(ctx, d, begun)
	if p.err != nil || p.panicked != nil {
		// This fails when the database has rolled back the whole transaction, because there is no savepoint any more.
		if _, err := begun.Exec(ctx, rollbackTo); err != nil {
			return fmt.Errorf("%w: %w", errRunIndividually, err)
		}
		p.notifications, p.atCommit = nil, nil
	}
	if _, err := begun.Exec(ctx, release); err != nil {
		return fmt.Errorf("%w: %w", errRunIndividually, err)
	}
	return nil
}
