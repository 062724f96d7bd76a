package db

import (
	"context"
	"sync"
)

// Shared is an operation of which many writes wait at the same time, so that they share their statements on PostgreSQL:
// all of a batch cost one round trip for each statement, and one commit. Use it for operations that rarely fail and
// that come in large numbers or wait for the same row. On SQLite, where all writes share their commits anyway, each
// runs on its own.
type Shared struct {
	db        *DB
	operation string
	groups    shards // nil on SQLite
}

// Share returns an operation whose waiting writes share their statements. They are spread over a number of groups, from
// 1, by their owners, and the transactions of different groups overlap.
func (d *DB) Share(operation string, groups int) *Shared {
	s := &Shared{db: d, operation: operation}
	if d.groupCommit == nil {
		s.groups = newShards(groups)
	}
	return s
}

// Waiting returns how many writes wait to be committed together with others, for tests that make them do so.
func (s *Shared) Waiting() int {
	if s.groups == nil {
		return s.db.groupCommit.waiting()
	}
	waiting := 0
	for _, g := range s.groups {
		waiting += g.waiting()
	}
	return waiting
}

// WriteShared is [DB.Write] for one write of a shared operation. run executes all members of a batch in one
// transaction, with [Dialect.Values] and [Column] for their values, and stores each result in its member. If it returns
// an error for several members, it is called again for each of them in a transaction of its own; on SQLite it is always
// called with one.
//
// All members of an operation have the type M. owner is the owner of the rows that the write locks: the writes of one
// owner never wait for each other. size is the size of member in bytes, which bounds how many share a statement.
func WriteShared[M any](ctx context.Context, s *Shared, owner [16]byte, member M, size int,
	run func(ctx context.Context, t *Tx, members []M) error) (err error) {
	single := func(ctx context.Context, t *Tx) error { return run(ctx, t, []M{member}) }
	if s.groups == nil {
		return s.db.Write(ctx, s.operation, single)
	}
	if err := refuseNestedWrite(ctx); err != nil {
		return err
	}
	defer s.db.observeWrite(ctx, s.operation)(&err)
	return s.db.writeInGroup(ctx, s.groups.forOwner(owner),
		&pendingWrite{operation: s.operation, fn: single, payload: member, size: size,
			runBatch: func(ctx context.Context, t *Tx, batch []*pendingWrite) error {
				members := make([]M, len(batch))
				for n, p := range batch {
					members[n] = p.payload.(M) //nolint:forcetypeassert // an operation has members of one type
				}
				return run(ctx, t, members)
			}})
}

// Lookups combines concurrent look-ups of single values into one query on PostgreSQL, where the round trip costs more
// than the query. It works like the group commit in group.go: the goroutine that gets the leader lock looks up all
// waiting keys, so there is no timer, and a look-up that comes alone is made at once. Nothing is cached: every value
// was read after its look-up began. On SQLite each look-up has a query of its own.
type Lookups[K comparable, V any] struct {
	db         *DB
	find       func(ctx context.Context, keys []K) (map[K]V, error)
	leaderLock chan struct{}

	mu      sync.Mutex
	waiting []*lookup[K, V]
}

// lookup is one look-up. Its result is set when done is closed.
type lookup[K comparable, V any] struct {
	key   K
	value V
	err   error
	done  chan struct{}
}

// maxKeysPerLookup bounds the keys of one query.
const maxKeysPerLookup = 256

// NewLookups returns look-ups by find, which returns the values of those keys that have one. A key can occur several
// times.
func NewLookups[K comparable, V any](d *DB, find func(ctx context.Context, keys []K) (map[K]V, error)) *Lookups[K, V] {
	return &Lookups[K, V]{db: d, find: find, leaderLock: make(chan struct{}, 1)}
}

// Find returns the value of a key, or [ErrNotFound].
func (l *Lookups[K, V]) Find(ctx context.Context, key K) (V, error) {
	own := &lookup[K, V]{key: key, done: make(chan struct{})}
	if l.db.groupCommit != nil {
		l.resolve(ctx, []*lookup[K, V]{own})
		return own.value, own.err
	}
	l.mu.Lock()
	l.waiting = append(l.waiting, own)
	l.mu.Unlock()
	select {
	case l.leaderLock <- struct{}{}:
		l.resolveAsLeader(ctx, own)
	case <-own.done:
	case <-ctx.Done():
		var none V
		return none, l.db.Classify(ctx.Err())
	}
	return own.value, own.err
}

// resolveAsLeader resolves batches of look-ups until its own is done, and releases the leader lock.
func (l *Lookups[K, V]) resolveAsLeader(ctx context.Context, own *lookup[K, V]) {
	defer func() { <-l.leaderLock }()
	for {
		select {
		case <-own.done:
			return
		default:
			l.resolve(context.WithoutCancel(ctx), l.nextBatch()) // a cancelled request must not abort the batch
		}
	}
}

func (l *Lookups[K, V]) nextBatch() []*lookup[K, V] {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.waiting), maxKeysPerLookup)
	batch := l.waiting[:n:n]
	l.waiting = append([]*lookup[K, V](nil), l.waiting[n:]...)
	return batch
}

// resolve calls find for a batch and finishes its look-ups, also if find panics.
func (l *Lookups[K, V]) resolve(ctx context.Context, batch []*lookup[K, V]) {
	defer func() {
		for _, one := range batch {
			close(one.done)
		}
	}()
	keys := make([]K, len(batch))
	for n, one := range batch {
		keys[n], one.err = one.key, errNotFinished
	}
	values, err := l.find(ctx, keys)
	err = l.db.Classify(err)
	for _, one := range batch {
		value, found := values[one.key]
		switch {
		case err != nil:
			one.err = err
		case !found:
			one.err = ErrNotFound
		default:
			one.value, one.err = value, nil
		}
	}
}
