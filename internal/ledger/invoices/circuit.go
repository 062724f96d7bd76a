package invoices

import (
	"context"
	"database/sql"
	"time"

	"quittance/internal/ledger/base"
)

// Each provider connection has a circuit breaker. It opens after openCircuitAfter calls in a row without a usable
// response, or at once if such a response asks for a wait (Retry-After): the provider limits the connection, not one
// document. While it is open, only one poll at a time goes through, the probe: the first after minProbeInterval, then
// after twice as long each time, up to maxProbeInterval. So an outage with thousands of open submissions costs the
// provider and this service one call per interval. Any usable response closes the circuit.
//
// New submissions of customers are not stopped, because the provider may be back; their success closes the circuit too.
// Purchase syncs neither count nor wait: a provider may answer one kind of call and not the other, and a sync has a
// backoff of its own.
//
// The state is in the row of the connection: failures, and retry_at (the time of the next probe), which is null while
// the circuit is closed.
const (
	openCircuitAfter = 5
	minProbeInterval = time.Second
	maxProbeInterval = time.Minute
)

// circuitTurn says that a circuit has opened or closed.
type circuitTurn struct {
	open     bool
	failures int64
	since    time.Time
	reason   string
}

// logCircuit writes the one line about the beginning or the end of a connection's trouble. Exactly one process sees
// each in its transaction.
func (l SubmissionLease) logCircuit(ctx context.Context, turned circuitTurn) {
	log, since := l.Tenant.DB().Log(), turned.since.Format(time.RFC3339)
	if turned.open {
		log.WarnContext(ctx,
			"a provider connection is in trouble: new submissions are tried once, and stay drafts only if nothing was sent; states of submitted ones come late, nothing is lost",
			"account", l.Tenant.Account(), "connection", l.Submission.Connection, "reason", turned.reason,
			"failures", turned.failures, "since", since)
		return
	}
	log.InfoContext(ctx, "a provider connection works again: what waits for it is asked at once",
		"account", l.Tenant.Account(), "connection", l.Submission.Connection, "reason", turned.reason,
		"failures", turned.failures, "since", since)
}

// updateCircuit updates the circuit breaker after a response, and returns how it turned, or nil. failures is the count
// when the transaction began, so that a usable response of a healthy connection writes nothing. It sets s.HeldUntil to
// the time of the next probe.
func (l SubmissionLease) updateCircuit(ctx context.Context, tx *base.Tx, s *Submission, failures int64,
	d Decision) (*circuitTurn, error) {
	account, id := l.Tenant.Account(), l.Submission.Connection
	if d.FailureReason == "" && failures == 0 {
		return nil, nil
	}
	var wait, since int64
	var retry sql.Null[int64]
	var reason string
	now := tx.Now()
	if err := tx.QueryRowContext(ctx,
		`select failures, retry_at, retry_wait, coalesce(failing_since, $3), coalesce(trouble, '') from connections
		where account_id = $1 and id = $2`+tx.DB.Dialect().ForUpdate(), account, id, base.Micros(now)).Scan(&failures, &retry, &wait, &since, &reason); err != nil {
		return nil, err
	}
	turned := &circuitTurn{open: d.FailureReason != "", failures: failures, since: base.Instant(since), reason: reason}
	wasOpen := retry.Valid
	if d.FailureReason == "" {
		if !wasOpen {
			turned = nil
		}
		s.HeldUntil = nil
		tx.Notify(base.WorkSubmissions) // everything due may be polled again
		return turned, tx.ExecDeferred(ctx,
			`update connections set failures = 0, failing_since = null, trouble = null, retry_at = null, retry_wait = 0
			where account_id = $1 and id = $2`, account, id)
	}
	failures++
	// Only the failure that opens the circuit and failed probes set the time of the next probe: a customer who keeps
	// submitting to a provider that is down must not postpone it.
	if (failures >= openCircuitAfter || d.RetryAfter > 0) && (!retry.Valid || l.isProbe) {
		next := min(max(2*time.Duration(wait)*time.Microsecond, minProbeInterval), maxProbeInterval)
		wait = next.Microseconds()
		retry = sql.Null[int64]{V: base.Micros(now.Add(max(next, d.RetryAfter))), Valid: true}
	}
	s.HeldUntil = base.InstantOrNil(retry)
	turned.failures, turned.reason = failures, d.FailureReason
	if wasOpen || !retry.Valid {
		turned = nil
	}
	return turned, tx.ExecDeferred(ctx,
		`update connections set failures = $3, failing_since = coalesce(failing_since, $4), trouble = $5, retry_at = $6, retry_wait = $7
		where account_id = $1 and id = $2`, account, id, failures, base.Micros(now), d.FailureReason, retry, wait)
}

// acquireProbe claims the probe of an open circuit until the given time. It returns false when another worker has it.
func acquireProbe(ctx context.Context, q base.Queue, tx *base.Tx, c *Connection, until time.Time) (bool, error) {
	changed,
		err := tx.Exec(ctx, `update connections set retry_at = $4 where account_id = $1 and id = $2 and retry_at = $3`,
		q.Account(), q.Key(), base.Micros(*c.RetryAt), base.Micros(until))
	return changed == 1, err
}

// PollLag says how far polling is behind.
type PollLag struct {
	// Overdue counts the submissions whose next poll is overdue; Oldest is how long the first of them has been. Both are 0
	// if there are none.
	Overdue int64
	Oldest  time.Duration
	// Connections are the active connections by kind.
	Connections []ConnectionHealth
}

// ConnectionHealth counts the active connections of one kind.
type ConnectionHealth struct {
	Kind string
	// Active counts them, and OpenCircuits those of them that are in trouble.
	Active, OpenCircuits int64
}

// ReadPollLag measures the lag for metrics. It reads only what is overdue, so it is cheap while nothing is.
func ReadPollLag(ctx context.Context, db *base.DB) (PollLag, error) {
	var s PollLag
	var oldest sql.Null[int64]
	now := db.Now()
	err := db.Querier().QueryRowContext(ctx,
		`select cast(coalesce(sum((select count(*) from submissions s where s.account_id = c.account_id and s.connection_id = c.id and s.due_at <= $1)), 0) as bigint),
			min((select min(s.due_at) from submissions s where s.account_id = c.account_id and s.connection_id = c.id and s.due_at <= $1))
		from connections c`, base.Micros(now)).Scan(&s.Overdue, &oldest)
	if err != nil {
		return s, db.Classify(err)
	}
	if oldest.Valid {
		s.Oldest = now.Sub(base.Instant(oldest.V))
	}
	s.Connections, err = base.Collect(ctx, db.Querier(), func(row base.Row) (h ConnectionHealth, err error) {
		return h, row.Scan(&h.Kind, &h.Active, &h.OpenCircuits)
	},
		`select kind, count(*), sum(case when retry_at is null then 0 else 1 end) from connections where state = 'active' group by kind order by kind`)
	return s, db.Classify(err)
}
