package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
)

// Queue is the due work of one destination or one provider connection: the deliveries of a subscription, the
// submissions of a connection, or its purchase sync. Workers take turns over queues, so that the backlog of one company
// does not delay others.
type Queue struct {
	tenant  *Tenant
	account ID
	id      ID
	db      *DB
}

// Key identifies the queue within its kind of work.
func (q Queue) Key() ID { return q.id }

// Company identifies the company that the work belongs to, for limits that all its queues share.
func (q Queue) Company() ID {
	if q.tenant != nil {
		return q.tenant.id
	}
	return q.account
}

// ScanCursor says where a step of a scan begins. The zero value is the beginning.
type ScanCursor struct {
	dueAt   int64 // microseconds; 0 where the scan is not ordered by time
	company ID
}

// IsZero reports whether c is the beginning.
func (c ScanCursor) IsZero() bool { return c == ScanCursor{} }

// DueScan is the result of one step of a scan for due work. A step covers a bounded number of companies or syncs, so
// its cost does not depend on the amount of work.
type DueScan struct {
	// Queues are those with work due now, the longest waiting first.
	Queues []Queue
	// NextDue is when the next work that this step has seen becomes due; the zero time when there is none.
	NextDue time.Time
	// Next is where the next step begins; the zero cursor when this step was the last.
	Next ScanCursor
}

// maxCompaniesPerScan bounds a step of a scan. A step takes some milliseconds when all of them have work.
const maxCompaniesPerScan = 256

// DueDeliveryQueues makes one step of a scan for subscriptions with due deliveries. A deactivated subscription is due
// while it has pending deliveries, so that they are ended.
//
// The statement jumps from company to company and from queue to queue in the index deliveries_due, which holds pending
// deliveries only, and reads the first entry of each queue. So the cost does not grow with a million deliveries that
// wait for one destination, nor with a hundred thousand idle subscriptions. "group by" and "distinct" would read every
// entry on both engines, and a join of the queues with their tenants made PostgreSQL read all tenants.
func (db *DB) DueDeliveryQueues(ctx context.Context, from ScanCursor) (DueScan, error) {
	return db.scanQueues(ctx, func(row scanner) (queueRow, error) {
		r := queueRow{Queue: Queue{tenant: &Tenant{db: db}, db: db}}
		err := row.Scan(&r.tenant.id, &r.tenant.account, &r.id, &r.due)
		r.cursor.company = r.tenant.id
		return r, err
	}, `with recursive company(id, n) as (
			select (select tenant_id from deliveries where due_at is not null and tenant_id > $1 order by tenant_id limit 1), 1
			union all
			select (select d.tenant_id from deliveries d where d.due_at is not null and d.tenant_id > company.id order by d.tenant_id limit 1), n + 1
				from company where company.id is not null and n < $2
		), queue(tenant_id, id) as (
			select company.id, (select d.subscription_id from deliveries d where d.due_at is not null and d.tenant_id = company.id
				order by d.subscription_id limit 1) from company where company.id is not null
			union all
			select tenant_id, (select d.subscription_id from deliveries d where d.due_at is not null and d.tenant_id = queue.tenant_id and d.subscription_id > queue.id
				order by d.subscription_id limit 1) from queue where queue.id is not null
		)
		select queue.tenant_id, (select t.account_id from tenants t where t.id = queue.tenant_id), queue.id,
			case when (select t.frozen_at from tenants t where t.id = queue.tenant_id) is not null then null
				when (select s.active from subscriptions s where s.tenant_id = queue.tenant_id and s.id = queue.id) = 0 then 0
				else (select d.due_at from deliveries d
					where d.due_at is not null and d.tenant_id = queue.tenant_id and d.subscription_id = queue.id order by d.due_at limit 1) end
			from queue where queue.id is not null`, from.company[:], maxCompaniesPerScan)
}

// DueSubmissionQueues makes one step of a scan for connections with submissions that are due to be polled, in the same
// way as [DB.DueDeliveryQueues]. A connection whose circuit breaker is open is due when its next probe is.
func (db *DB) DueSubmissionQueues(ctx context.Context, from ScanCursor) (DueScan, error) {
	return db.scanQueues(ctx, func(row scanner) (queueRow, error) {
		r := queueRow{Queue: Queue{db: db}}
		err := row.Scan(&r.account, &r.id, &r.due)
		r.cursor.company = r.account
		return r, err
	}, `with recursive company(id, n) as (
			select (select account_id from submissions where due_at is not null and account_id > $1 order by account_id limit 1), 1
			union all
			select (select s.account_id from submissions s where s.due_at is not null and s.account_id > company.id order by s.account_id limit 1), n + 1
				from company where company.id is not null and n < $2
		), queue(account_id, id) as (
			select company.id, (select s.connection_id from submissions s where s.due_at is not null and s.account_id = company.id
				order by s.connection_id limit 1) from company where company.id is not null
			union all
			select account_id, (select s.connection_id from submissions s where s.due_at is not null and s.account_id = queue.account_id and s.connection_id > queue.id
				order by s.connection_id limit 1) from queue where queue.id is not null
		), first(account_id, id, due) as materialized (
			select account_id, id, (select s.due_at from submissions s where s.due_at is not null and s.account_id = queue.account_id and s.connection_id = queue.id
				order by s.due_at limit 1) from queue where id is not null
		)
		select first.account_id, first.id, (select case when c.retry_at > first.due then c.retry_at else first.due end
			from connections c where c.account_id = first.account_id and c.id = first.id) from first`, from.company[:], maxCompaniesPerScan)
}

// queueRow is a queue that a scan has read: its position in the order of the scan, and when its first task is due, null
// when the work must not be done.
type queueRow struct {
	Queue
	cursor ScanCursor
	due    sql.Null[int64]
}

// scanQueues reads one step of a scan; readRow reads a row of it. A step with [maxCompaniesPerScan] different cursors
// is not the last.
func (db *DB) scanQueues(ctx context.Context, readRow func(scanner) (queueRow, error), query string,
	args ...any) (DueScan, error) {
	rows, err := collect(ctx, db.reader, readRow, query, args...)
	if err != nil {
		return DueScan{}, db.classify(err)
	}
	var found DueScan
	cursors, last := map[ScanCursor]bool{}, ScanCursor{}
	for _, row := range rows {
		cursors[row.cursor] = true
		if last.Before(row.cursor) {
			last = row.cursor
		}
	}
	now := micros(db.Now())
	if len(cursors) >= maxCompaniesPerScan && last.dueAt <= now {
		found.Next = last
	}
	rows = slices.DeleteFunc(rows, func(row queueRow) bool { return !row.due.Valid })
	slices.SortStableFunc(rows, func(a, b queueRow) int { return cmp.Compare(a.due.V, b.due.V) })
	for _, row := range rows {
		if row.due.V > now {
			found.NextDue = instant(row.due.V)
			break
		}
		found.Queues = append(found.Queues, row.Queue)
	}
	return found, nil
}

// Before reports whether a scan reaches c before d.
func (c ScanCursor) Before(d ScanCursor) bool {
	return c.dueAt < d.dueAt || c.dueAt == d.dueAt && bytes.Compare(c.company[:], d.company[:]) < 0
}

// errProbeTaken rolls a claim back because another worker has taken the probe of an open circuit.
var errProbeTaken = errors.New("another worker probes the connection")

// ClaimSubmissions claims up to limit due submissions of a connection for the duration. While the circuit breaker of
// the connection is open, it claims one at most, as the probe.
func (q Queue) ClaimSubmissions(ctx context.Context, limit int, duration time.Duration) ([]SubmissionLease, error) {
	if q.db == nil {
		return nil, ErrNoTenant
	}
	var leases []SubmissionLease
	err := q.db.write(ctx, "claim submissions", func(ctx context.Context, tx *tx) error {
		leases = nil
		now := tx.Now()
		connection, err := scanConnection(tx.QueryRowContext(ctx,
			`select `+connectionColumns+` from connections where account_id = $1 and id = $2`, q.account, q.id))
		if err != nil {
			return err
		}
		probe, limit := connection.RetryAt != nil, limit
		if probe {
			if limit = 1; connection.RetryAt.After(now) {
				return nil
			}
		}
		// Identifiers of submissions are unique across tenants, so the two conditions of the update select the rows of due
		// alone.
		leases, err = collect(ctx, tx, func(row scanner) (SubmissionLease, error) {
			s, err := scanSubmission(row)
			return SubmissionLease{Tenant: &Tenant{db: q.db, id: s.tenant, account: q.account}, Submission: s,
				Connection: connection, isProbe: probe}, err
		}, `with due as materialized (select tenant_id, id from submissions
				where account_id = $1 and connection_id = $2 and due_at <= $3 order by due_at limit $4`+q.db.dialect.ForUpdateSkipLocked()+`)
			update submissions set lease = lease + 1, due_at = $5
				where tenant_id `+q.db.dialect.InSubquery(`select tenant_id from due`)+` and id `+q.db.dialect.InSubquery(`select id from due`)+`
			returning `+q.db.submissionColumns(), q.account, q.id, micros(now), limit, micros(now.Add(duration)))
		if err != nil || len(leases) == 0 {
			return err
		}
		if probe {
			acquired, err := q.acquireProbe(ctx, tx, &connection, now.Add(duration))
			if err != nil {
				return err
			}
			if !acquired {
				return errProbeTaken
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, errProbeTaken):
		return nil, nil
	case err != nil:
		return nil, err // the claims may have been rolled back
	}
	return leases, nil
}

// ReleaseOrphanedLeases releases the leases that an ended process has left on submissions, deliveries, mails and
// purchase syncs, so that their work is due at once. Call it only at the start of a process that serves the database
// alone; with several processes, leases have to expire. Work without a lease stays due at its own time, except for
// purchase syncs, for which an additional request does no harm, and the probes of connections whose circuit is open.
// The interrupted attempt of a delivery counts when that delivery is claimed next.
func (db *DB) ReleaseOrphanedLeases(ctx context.Context) error {
	return db.write(ctx, "release orphaned leases", func(ctx context.Context, tx *tx) error {
		now := micros(tx.Now())
		// A claim changes due_at but not next_check_at. Only the first call changes both; its outcome identifies it.
		if _, err := tx.Exec(ctx, `update submissions set due_at = $1, next_check_at = $1, lease = lease + 1
			where due_at is not null and (outcome = 'in_progress' or due_at <> next_check_at)`, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx,
			`update deliveries set due_at = $1, lease = lease + 1 where due_at is not null and leased > 0`, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update connections set retry_at = $1 where retry_at is not null`, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx,
			`update mails set due_at = $1, lease = lease + 1, leased = 0 where due_at is not null and leased > 0`,
			now); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `update purchase_syncs set due_at = $1, lease = lease + 1 where due_at is not null`, now)
		return err
	})
}
