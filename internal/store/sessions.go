package store

import (
	"context"
	"fmt"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
)

// tokenBatcher combines concurrent look-ups of tokens into one query on PostgreSQL: every request looks one up, and the round
// trip costs more than the query. It works like the group commit in group.go: the goroutine that gets the leader lock looks up
// all queued tokens, so there is no timer, and a look-up that comes alone is made at once. Nothing is cached: every result was
// read after its request came.
type tokenBatcher struct {
	leaderLock chan struct{}

	mu      sync.Mutex
	waiting []*tokenLookup
}

func newTokenBatcher() *tokenBatcher { return &tokenBatcher{leaderLock: make(chan struct{}, 1)} }

// tokenLookup is one look-up. Its result is set when done is closed.
type tokenLookup struct {
	digest  [32]byte
	session Session
	err     error
	done    chan struct{}
}

// maxTokensPerLookup bounds the tokens of one query.
const maxTokensPerLookup = 256

func (l *tokenBatcher) enqueue(asked *tokenLookup) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, asked)
}

func (l *tokenBatcher) nextBatch() []*tokenLookup {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.waiting), maxTokensPerLookup)
	taken := l.waiting[:n:n]
	l.waiting = append([]*tokenLookup(nil), l.waiting[n:]...)
	return taken
}

// Authenticate returns the session of a valid token. It returns [ErrNotFound] if the token is unknown, expired or revoked, its
// account is suspended or its tenant frozen; callers do not learn which.
func (db *DB) Authenticate(ctx context.Context, digest [32]byte) (Session, error) {
	asked := &tokenLookup{digest: digest, done: make(chan struct{})}
	if db.tokens == nil {
		db.resolveTokens(ctx, []*tokenLookup{asked})
		return asked.session, asked.err
	}
	db.tokens.enqueue(asked)
	select {
	case db.tokens.leaderLock <- struct{}{}:
		db.resolveAsLeader(ctx, asked)
	case <-asked.done:
	case <-ctx.Done():
		return Session{}, db.classify(ctx.Err())
	}
	return asked.session, asked.err
}

// resolveAsLeader looks up batches of tokens until its own is done, and releases the leader lock.
func (db *DB) resolveAsLeader(ctx context.Context, own *tokenLookup) {
	defer func() { <-db.tokens.leaderLock }()
	for {
		select {
		case <-own.done:
			return
		default:
			db.resolveTokens(context.WithoutCancel(ctx), db.tokens.nextBatch()) // a cancelled request must not abort the batch
		}
	}
}

// resolveTokens looks tokens up with one query and finishes their look-ups.
func (db *DB) resolveTokens(ctx context.Context, all []*tokenLookup) {
	defer func() {
		for _, asked := range all {
			close(asked.done)
		}
	}()
	type live struct {
		session Session
		digest  []byte
		profile string
		created int64
		change  int64
	}
	found, err := collect(ctx, db.reader, func(row scanner) (live, error) {
		l := live{session: Session{Tenant: &Tenant{db: db}}}
		s := &l.session
		return l, row.Scan(&l.digest, &s.Tenant.id, &s.Tenant.account, &s.User, &s.Account.Company, &s.Account.Status, &l.profile, &l.created, &l.change)
	}, `select t.digest, t.tenant_id, t.account_id, t.user_id, a.company, a.status, a.profile, a.created_at, t.password_change_required
		from tokens t
		join accounts a on a.id = t.account_id
		join tenants n on n.id = t.tenant_id
		where t.digest in (`+db.valuesTable("bytea")+`) and t.revoked_at is null and t.expires_at > $2 and a.status = 'active' and n.frozen_at is null`,
		columnArg(db, all, func(asked *tokenLookup) []byte { return asked.digest[:] }), micros(db.now()))
	byDigest := make(map[[32]byte]live, len(found))
	for _, l := range found {
		byDigest[[32]byte(l.digest)] = l
	}
	for _, asked := range all {
		l, ok := byDigest[asked.digest]
		switch {
		case err != nil:
			asked.err = db.classify(err)
			continue
		case !ok:
			asked.err = ErrNotFound
			continue
		}
		asked.session = l.session
		asked.session.PasswordChangeRequired = l.change != 0
		asked.session.Digest, asked.session.Account.ID, asked.session.Account.CreatedAt = asked.digest, l.session.Tenant.account, instant(l.created)
		if err := jsonv2.Unmarshal([]byte(l.profile), &asked.session.Account.Profile); err != nil {
			asked.session, asked.err = Session{}, fmt.Errorf("stored profile: %w", err)
		}
	}
}
