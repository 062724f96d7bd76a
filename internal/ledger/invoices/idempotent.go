package invoices

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/problem"
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
func Idempotent(ctx context.Context, t *base.Tenant, key string, fingerprint [32]byte, ttl time.Duration,
	act func(ctx context.Context, t *base.Tenant) (IdempotentResponse, error)) (reply IdempotentResponse, replayed bool,
	err error) {
	err = t.Write(ctx, "idempotent call", func(ctx context.Context, tx *base.Tx) error { //planted:key-outside-the-transaction
		reply, replayed = IdempotentResponse{}, false
		now := tx.Now()
		// The insert waits for a transaction that uses the same key, and takes over an expired key.
		taken, err := tx.Exec(ctx,
			`insert into idempotency (tenant_id, key, fingerprint, status, entity_tag, body, expires_at)
			values ($1, $2, $3, 0, '', $4, $5)
			on conflict (tenant_id, key) do update set fingerprint = excluded.fingerprint, status = 0, entity_tag = '',
				expires_at = excluded.expires_at where idempotency.expires_at <= $6`,
			t.ID(), key, fingerprint[:], []byte{}, base.Micros(now.Add(ttl)), base.Micros(now))
		if err != nil {
			return err
		}
		if taken == 0 {
			replayed = true
			if reply, err = storedResponse(ctx, t, tx, key, fingerprint, now); errors.Is(err, sql.ErrNoRows) {
				err = base.ErrUnavailable // the key expired and was deleted between the two statements: the caller repeats the call
			}
			return err
		}
		if reply, err = act(ctx, t.In(tx)); err != nil {
			return err
		}
		return storeResponse(ctx, t, tx, key, reply)
	})
	return reply, replayed, err
}

// storeResponse stores the response for a key, replacing an expired one, and counts its bytes towards the quota of the
// company. It compresses the response within the transaction, because the response contains what the transaction has
// written, such as identifiers.
func storeResponse(ctx context.Context, t *base.Tenant, tx *base.Tx, key string, reply IdempotentResponse) error {
	var before int64
	if err := tx.QueryRowContext(ctx, `select octet_length(body) from idempotency where tenant_id = $1 and key = $2`, t.ID(),
		key).Scan(&before); err != nil {
		return err
	}
	body, err := t.DB().Packer().Pack(reply.Body)
	if err != nil {
		return err
	}
	tx.Use(t.ID(), base.Usage{Bytes: int64(len(body)) - before})
	return tx.ExecDeferred(ctx,
		`update idempotency set status = $3, entity_tag = $4, body = $5 where tenant_id = $1 and key = $2`,
		t.ID(), key, reply.Status, reply.EntityTag, body)
}

// FindIdempotentResponse returns the response stored for a key, or nil. It does not wait for a call of [Idempotent]
// in progress. [ErrKeyReused] says that the key was used for another request.
func FindIdempotentResponse(ctx context.Context, t *base.Tenant, key string,
	fingerprint [32]byte) (reply *IdempotentResponse, err error) {
	err = t.Read(func(q base.Querier) error {
		found, err := storedResponse(ctx, t, q, key, fingerprint, t.DB().Now())
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
func storedResponse(ctx context.Context, t *base.Tenant, q base.Querier, key string, fingerprint [32]byte,
	now time.Time) (IdempotentResponse, error) {
	var reply IdempotentResponse
	var first []byte
	if err := q.QueryRowContext(ctx,
		`select fingerprint, status, entity_tag, body from idempotency where tenant_id = $1 and key = $2 and expires_at > $3`,
		t.ID(), key, base.Micros(now)).Scan(&first, &reply.Status, &reply.EntityTag, &reply.Body); err != nil {
		return IdempotentResponse{}, err
	}
	if [32]byte(first) != fingerprint {
		return IdempotentResponse{}, ErrKeyReused
	}
	body, err := base.Unpack(reply.Body)
	reply.Body = body
	return reply, err
}

// DeleteExpiredResponses removes a batch of expired responses to idempotency keys and returns how many it removed.
func DeleteExpiredResponses(ctx context.Context, t *base.Tx) (int, error) {
	type expiredResponse struct {
		tenant base.ID
		size   int64
	}
	removed, err := base.Collect(ctx, t, func(row base.Row) (a expiredResponse, err error) {
		return a,
			row.Scan(&a.tenant, &a.size)
	},
		`delete from idempotency where (tenant_id, key) in (select tenant_id, key from idempotency where expires_at < $1 order by expires_at limit $2)
		returning tenant_id, octet_length(body)`, base.Micros(t.Now()), base.SweepBatch)
	for _, a := range removed {
		t.Use(a.tenant, base.Usage{Bytes: -a.size})
	}
	return len(removed), err
}
