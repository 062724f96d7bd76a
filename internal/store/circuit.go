package store

import (
	"context"
	"database/sql"
	"time"
)

// A connection is in trouble after openCircuitAfter calls in a row without a usable answer. Its submissions are then asked
// about one at a time, minProbeInterval apart, doubling to maxProbeInterval, so that a provider that is down costs neither it nor us a
// call for every open submission. Customers' submissions go on: the provider may be back, and their success ends it too.
// Purchase documents do not count: a provider may well answer the one and not the other, and they wait on their own.
const (
	openCircuitAfter = 5
	minProbeInterval = time.Second
	maxProbeInterval = time.Minute
)

// updateCircuit counts what an answer says about its connection. failures is what stood there when the transaction began, so
// that a good answer of a connection that is well writes nothing; s learns until when its connection is held.
func (c SubmissionLease) updateCircuit(ctx context.Context, tx *tx, s *Submission, failures int64, d Decision) error {
	account, id := c.Tenant.account, c.Submission.Connection
	if d.FailureReason == "" {
		if failures == 0 {
			return nil
		}
		s.heldUntil = nil
		tx.notify(WorkSubmissions) // everything due may be asked again
		return tx.ExecDeferred(ctx, `update connections set failures = 0, failing_since = null, trouble = null, retry_at = null, retry_wait = 0
			where account_id = $1 and id = $2`, account, id)
	}
	var wait int64
	var retry sql.Null[int64]
	if err := tx.QueryRowContext(ctx, `select failures, retry_at, retry_wait from connections where account_id = $1 and id = $2`+tx.db.forUpdate,
		account, id).Scan(&failures, &retry, &wait); err != nil {
		return err
	}
	failures++
	now := tx.now()
	// Only the first and the probes move the time of the next probe: a customer who goes on submitting to a provider
	// that is down must not push it away for ever.
	if failures >= openCircuitAfter && (!retry.Valid || c.isProbe) {
		next := min(max(2*time.Duration(wait)*time.Microsecond, minProbeInterval), maxProbeInterval)
		wait = next.Microseconds()
		retry = sql.Null[int64]{V: micros(now.Add(max(next, d.RetryAfter))), Valid: true}
	}
	s.heldUntil = instantOrNil(retry)
	return tx.ExecDeferred(ctx, `update connections set failures = $3, failing_since = coalesce(failing_since, $4), trouble = $5, retry_at = $6, retry_wait = $7
		where account_id = $1 and id = $2`, account, id, failures, micros(now), d.FailureReason, retry, wait)
}

// acquireProbe takes the one call that a connection in trouble may make, until lease has passed; false when somebody else has
// taken it.
func (q Queue) acquireProbe(ctx context.Context, tx *tx, c *Connection, until time.Time) (bool, error) {
	changed, err := tx.exec(ctx, `update connections set retry_at = $4 where account_id = $1 and id = $2 and retry_at = $3`,
		q.account, q.id, micros(*c.RetryAt), micros(until))
	return changed == 1, err
}

// ReconciliationLag says how far reconciliation is behind.
type ReconciliationLag struct {
	// Overdue counts the submissions whose next query is overdue; Oldest is how long the first of them has been. Both are 0
	// if there are none.
	Overdue int64
	Oldest  time.Duration
	// OpenCircuits is how many connections are in trouble.
	OpenCircuits int64
}

// ReconciliationLag measures the lag for metrics. It reads only what is overdue, so it is cheap while nothing is.
func (db *DB) ReconciliationLag(ctx context.Context) (ReconciliationLag, error) {
	var s ReconciliationLag
	var oldest sql.Null[int64]
	now := db.now()
	err := db.reader.QueryRowContext(ctx, `select cast(coalesce(sum((select count(*) from submissions s where s.account_id = c.account_id and s.connection_id = c.id and s.due_at <= $1)), 0) as bigint),
			min((select min(s.due_at) from submissions s where s.account_id = c.account_id and s.connection_id = c.id and s.due_at <= $1)),
			coalesce(sum(case when c.retry_at is null then 0 else 1 end), 0)
		from connections c`, micros(now)).Scan(&s.Overdue, &oldest, &s.OpenCircuits)
	if oldest.Valid {
		s.Oldest = now.Sub(instant(oldest.V))
	}
	return s, db.classify(err)
}
