package store

import (
	"context"
	"fmt"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
)

// lookups gathers the tokens that are asked about at the same time: every call asks about one, and on a server of its own
// the way there and back costs more than the answer. Whoever finds nobody asking asks for all who have come, so there is no
// timer, and one that comes alone is asked at once. Nothing is remembered: an answer is of a moment after its question.
type lookups struct {
	gate chan struct{}

	mu      sync.Mutex
	waiting []*lookup
}

func newLookups() *lookups { return &lookups{gate: make(chan struct{}, 1)} }

// lookup is one question, and its answer once ended is closed.
type lookup struct {
	digest  [32]byte
	session Session
	err     error
	ended   chan struct{}
}

// lookupsMost is how many tokens are asked about with one statement at most.
const lookupsMost = 256

func (l *lookups) add(asked *lookup) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, asked)
}

func (l *lookups) take() []*lookup {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.waiting), lookupsMost)
	taken := l.waiting[:n:n]
	l.waiting = append([]*lookup(nil), l.waiting[n:]...)
	return taken
}

// Authenticate returns the session of a live token. [ErrNotFound] says that the token is unknown, expired or revoked,
// or its account suspended or its tenant frozen; callers learn no more.
func (db *DB) Authenticate(ctx context.Context, digest [32]byte) (Session, error) {
	asked := &lookup{digest: digest, ended: make(chan struct{})}
	if db.lookups == nil {
		db.answer(ctx, []*lookup{asked})
		return asked.session, asked.err
	}
	db.lookups.add(asked)
	select {
	case db.lookups.gate <- struct{}{}:
		db.leadLookups(ctx, asked)
	case <-asked.ended:
	case <-ctx.Done():
		return Session{}, db.fail(ctx.Err())
	}
	return asked.session, asked.err
}

// leadLookups answers what waits, until its own question is answered, and hands the gate on.
func (db *DB) leadLookups(ctx context.Context, own *lookup) {
	defer func() { <-db.lookups.gate }()
	for {
		select {
		case <-own.ended:
			return
		default:
			db.answer(context.WithoutCancel(ctx), db.lookups.take()) // who hangs up takes no neighbour with him
		}
	}
}

// answer asks about tokens with one statement, and ends the questions.
func (db *DB) answer(ctx context.Context, all []*lookup) {
	defer func() {
		for _, asked := range all {
			close(asked.ended)
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
		where t.digest in (`+db.rows("bytea")+`) and t.revoked_at is null and t.expires_at > $2 and a.status = 'active' and n.frozen_at is null`,
		column(db, all, func(asked *lookup) []byte { return asked.digest[:] }), micros(db.now()))
	byDigest := make(map[[32]byte]live, len(found))
	for _, l := range found {
		byDigest[[32]byte(l.digest)] = l
	}
	for _, asked := range all {
		l, ok := byDigest[asked.digest]
		switch {
		case err != nil:
			asked.err = db.fail(err)
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
