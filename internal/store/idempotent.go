package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Reply is an answer as it is kept for a repeat.
type Reply struct {
	Status    int
	EntityTag string
	Body      []byte
}

// ErrKeyReused says that an idempotency key was used for another request.
var ErrKeyReused = errors.New("idempotency key reused")

// Idempotent runs act once for a key: in one transaction with its effect, the answer is kept until ttl has passed, and
// a repeat with the same fingerprint is given that answer. Of two at the same time one acts and the other waits for
// it. An error of act undoes everything, the key included. act gets a tenant whose operations join the transaction; any other write
// inside it is refused.
func (t *Tenant) Idempotent(ctx context.Context, key string, fingerprint [32]byte, ttl time.Duration,
	act func(ctx context.Context, t *Tenant) (Reply, error)) (reply Reply, replayed bool, err error) {
	err = t.write(ctx, "idempotent call", func(ctx context.Context, tx *tx) error {
		reply, replayed = Reply{}, false
		now := tx.now()
		// The insert waits for a transaction that is using the same key; an expired key is taken over.
		taken, err := tx.exec(ctx, `insert into idempotency (tenant_id, key, fingerprint, status, entity_tag, body, expires_at)
			values ($1, $2, $3, 0, '', $4, $5)
			on conflict (tenant_id, key) do update set fingerprint = excluded.fingerprint, status = 0, entity_tag = '',
				expires_at = excluded.expires_at where idempotency.expires_at <= $6`,
			t.id, key, fingerprint[:], []byte{}, micros(now.Add(ttl)), micros(now))
		if err != nil {
			return err
		}
		if taken == 0 {
			replayed = true
			if reply, err = t.kept(ctx, tx, key, fingerprint, now); errors.Is(err, sql.ErrNoRows) {
				err = ErrUnavailable // swept between two statements: the caller repeats the call
			}
			return err
		}
		joined := *t
		joined.tx = tx
		if reply, err = act(ctx, &joined); err != nil {
			return err
		}
		return t.keep(ctx, tx, key, reply)
	})
	return reply, replayed, err
}

// keep stores an answer, in the place of an expired one if the key had one. It counts to what the company stores.
func (t *Tenant) keep(ctx context.Context, tx *tx, key string, reply Reply) error {
	var before int64
	if err := tx.QueryRowContext(ctx, `select octet_length(body) from idempotency where tenant_id = $1 and key = $2`, t.id, key).Scan(&before); err != nil {
		return err
	}
	body, err := packed(reply.Body)
	if err != nil {
		return err
	}
	tx.use(t.id, usage{bytes: int64(len(body)) - before})
	return tx.Later(ctx, `update idempotency set status = $3, entity_tag = $4, body = $5 where tenant_id = $1 and key = $2`,
		t.id, key, reply.Status, reply.EntityTag, body)
}

// Replay returns the answer that is kept for a key, nil when there is none. It waits for nobody: what [Tenant.Idempotent] is doing at
// the moment, it does not see. [ErrKeyReused] says that the key was used for another request.
func (t *Tenant) Replay(ctx context.Context, key string, fingerprint [32]byte) (reply *Reply, err error) {
	err = t.read(func(q querier) error {
		found, err := t.kept(ctx, q, key, fingerprint, t.db.now())
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		reply = &found
		return err
	})
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// kept reads the answer that is kept for a key beyond an instant.
func (t *Tenant) kept(ctx context.Context, q querier, key string, fingerprint [32]byte, now time.Time) (Reply, error) {
	var reply Reply
	var first []byte
	if err := q.QueryRowContext(ctx, `select fingerprint, status, entity_tag, body from idempotency where tenant_id = $1 and key = $2 and expires_at > $3`,
		t.id, key, micros(now)).Scan(&first, &reply.Status, &reply.EntityTag, &reply.Body); err != nil {
		return Reply{}, err
	}
	if [32]byte(first) != fingerprint {
		return Reply{}, ErrKeyReused
	}
	body, err := unpacked(reply.Body)
	reply.Body = body
	return reply, err
}
