package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"quittance/client/api"
	"quittance/internal/problem"
)

// IdempotentResponse is the response to a request with an idempotency key, stored so that a repeated request gets the
// same one.
type IdempotentResponse struct {
	Status    int
	EntityTag string
	Body      []byte
}

// ErrKeyReused says that an idempotency key was used for another request.
var ErrKeyReused = problem.New(api.CodeIdempotencyKeyReused, "idempotency key reused")

// Idempotent runs act at most once for a key. The response that act returns is stored in the same transaction as the
// effect of act, and kept for ttl. A repeated call with the same fingerprint returns the stored response with replayed
// set; with another fingerprint it returns [ErrKeyReused]. Of two concurrent calls, one runs act and the other waits
// for it. An error of act rolls everything back, including the key. act gets a tenant whose operations join the
// transaction; any other write within act is refused.
func (t *Tenant) Idempotent(ctx context.Context, key string, fingerprint [32]byte, ttl time.Duration,
	act func(ctx context.Context, t *Tenant) (IdempotentResponse, error)) (reply IdempotentResponse, replayed bool,
	err error) {
	err = t.write(ctx, "idempotent call", func(ctx context.Context, tx *tx) error { //planted:key-outside-the-transaction
		reply, replayed = IdempotentResponse{}, false
		now := tx.Now()
		// The insert waits for a transaction that uses the same key, and takes over an expired key.
		taken, err := tx.Exec(ctx,
			`insert into idempotency (tenant_id, key, fingerprint, status, entity_tag, body, expires_at)
			values ($1, $2, $3, 0, '', $4, $5)
			on conflict (tenant_id, key) do update set fingerprint = excluded.fingerprint, status = 0, entity_tag = '',
				expires_at = excluded.expires_at where idempotency.expires_at <= $6`,
			t.id, key, fingerprint[:], []byte{}, micros(now.Add(ttl)), micros(now))
		if err != nil {
			return err
		}
		if taken == 0 {
			replayed = true
			if reply, err = t.storedResponse(ctx, tx, key, fingerprint, now); errors.Is(err, sql.ErrNoRows) {
				err = ErrUnavailable // the key expired and was deleted between the two statements: the caller repeats the call
			}
			return err
		}
		joined := *t
		joined.tx, joined.reads = tx, tx
		if reply, err = act(ctx, &joined); err != nil {
			return err
		}
		return t.storeResponse(ctx, tx, key, reply)
	})
	return reply, replayed, err
}

// storeResponse stores the response for a key, replacing an expired one, and counts its bytes towards the quota of the
// company. It compresses the response within the transaction, because the response contains what the transaction has
// written, such as identifiers.
func (t *Tenant) storeResponse(ctx context.Context, tx *tx, key string, reply IdempotentResponse) error {
	var before int64
	if err := tx.QueryRowContext(ctx, `select octet_length(body) from idempotency where tenant_id = $1 and key = $2`, t.id,
		key).Scan(&before); err != nil {
		return err
	}
	body, err := t.db.packer.pack(reply.Body)
	if err != nil {
		return err
	}
	tx.use(t.id, usage{bytes: int64(len(body)) - before})
	return tx.ExecDeferred(ctx,
		`update idempotency set status = $3, entity_tag = $4, body = $5 where tenant_id = $1 and key = $2`,
		t.id, key, reply.Status, reply.EntityTag, body)
}

// IdempotentResponse returns the response stored for a key, or nil. It does not wait for a call of [Tenant.Idempotent]
// in progress. [ErrKeyReused] says that the key was used for another request.
func (t *Tenant) IdempotentResponse(ctx context.Context, key string,
	fingerprint [32]byte) (reply *IdempotentResponse, err error) {
	err = t.read(func(q querier) error {
		found, err := t.storedResponse(ctx, q, key, fingerprint, t.db.Now())
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

// storedResponse reads the response stored for a key that has not expired at the time now.
func (t *Tenant) storedResponse(ctx context.Context, q querier, key string, fingerprint [32]byte,
	now time.Time) (IdempotentResponse, error) {
	var reply IdempotentResponse
	var first []byte
	if err := q.QueryRowContext(ctx,
		`select fingerprint, status, entity_tag, body from idempotency where tenant_id = $1 and key = $2 and expires_at > $3`,
		t.id, key, micros(now)).Scan(&first, &reply.Status, &reply.EntityTag, &reply.Body); err != nil {
		return IdempotentResponse{}, err
	}
	if [32]byte(first) != fingerprint {
		return IdempotentResponse{}, ErrKeyReused
	}
	body, err := unpacked(reply.Body)
	reply.Body = body
	return reply, err
}
