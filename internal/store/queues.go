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

// Lane is a row of due work that waits in one line: the deliveries of one subscription, or the submissions of one
// connection. Workers take turns over lanes, so that one company's long line keeps nobody else waiting.
type Queue struct {
	tenant  *Tenant
	account ID
	id      ID
	db      *DB
}

// Key identifies the lane within its kind of work.
func (q Queue) Key() ID { return q.id }

// Owner identifies the company whose work it is, for what all its lanes together may take.
func (q Queue) Company() ID {
	if q.tenant != nil {
		return q.tenant.id
	}
	return q.account
}

// Place is where a look for due work begins. The zero value is the beginning.
type ScanCursor struct {
	dueAt   int64 // microseconds, where the order is that of time
	company ID
}

// IsZero tells whether p is the beginning.
func (c ScanCursor) IsZero() bool { return c == ScanCursor{} }

// Look is what one look for due work found. It goes over a bounded stretch of the work, so that its cost does not
// depend on how much there is.
type DueScan struct {
	// Lanes have work due now, longest waiting first.
	Queues []Queue
	// Next is when the next other work of this stretch will be due; zero when there is none.
	NextDue time.Time
	// Rest is where the next look goes on; zero when there is nothing behind this one.
	Next ScanCursor
}

// maxCompaniesPerScan bounds a look for deliveries or submissions: some milliseconds when every one of them has work.
const maxCompaniesPerScan = 256

// DueDeliveryQueues looks for the subscriptions with deliveries due.
//
// It jumps from company to company and from lane to lane of the index deliveries_due, which holds pending deliveries
// alone, and takes the first entry of each lane. The lane of a deactivated subscription is due as long as it has any. So neither a million deliveries that wait behind a destination cost
// anything, nor a hundred thousand subscriptions that have nothing to do. "group by" and "distinct" read every entry on both
// engines; a join of the lanes with their tenants made PostgreSQL read all tenants.
func (db *DB) DueDeliveryQueues(ctx context.Context, from ScanCursor) (DueScan, error) {
	return db.scanQueues(ctx, func(row scanner) (queueRow, error) {
		r := queueRow{Queue: Queue{tenant: &Tenant{db: db}, db: db}}
		err := row.Scan(&r.tenant.id, &r.tenant.account, &r.id, &r.due)
		r.cursor.company = r.tenant.id
		return r, err
	}, maxCompaniesPerScan, `with recursive company(id, n) as (
			select (select tenant_id from deliveries where due_at is not null and tenant_id > $1 order by tenant_id limit 1), 1
			union all
			select (select d.tenant_id from deliveries d where d.due_at is not null and d.tenant_id > company.id order by d.tenant_id limit 1), n + 1
				from company where company.id is not null and n < $2
		), lane(tenant_id, id) as (
			select company.id, (select d.subscription_id from deliveries d where d.due_at is not null and d.tenant_id = company.id
				order by d.subscription_id limit 1) from company where company.id is not null
			union all
			select tenant_id, (select d.subscription_id from deliveries d where d.due_at is not null and d.tenant_id = lane.tenant_id and d.subscription_id > lane.id
				order by d.subscription_id limit 1) from lane where lane.id is not null
		)
		select lane.tenant_id, (select t.account_id from tenants t where t.id = lane.tenant_id), lane.id,
			case when (select t.frozen_at from tenants t where t.id = lane.tenant_id) is not null then null
				when (select s.active from subscriptions s where s.tenant_id = lane.tenant_id and s.id = lane.id) = 0 then 0
				else (select d.due_at from deliveries d
					where d.due_at is not null and d.tenant_id = lane.tenant_id and d.subscription_id = lane.id order by d.due_at limit 1) end
			from lane where lane.id is not null`, from.company[:], maxCompaniesPerScan)
}

// DueSubmissionQueues looks for the connections with submissions due to be asked about, in the manner of
// [DB.DueDeliveryQueues]. A connection in trouble is due when it may be tried again.
func (db *DB) DueSubmissionQueues(ctx context.Context, from ScanCursor) (DueScan, error) {
	return db.scanQueues(ctx, func(row scanner) (queueRow, error) {
		r := queueRow{Queue: Queue{db: db}}
		err := row.Scan(&r.account, &r.id, &r.due)
		r.cursor.company = r.account
		return r, err
	}, maxCompaniesPerScan, `with recursive company(id, n) as (
			select (select account_id from submissions where due_at is not null and account_id > $1 order by account_id limit 1), 1
			union all
			select (select s.account_id from submissions s where s.due_at is not null and s.account_id > company.id order by s.account_id limit 1), n + 1
				from company where company.id is not null and n < $2
		), lane(account_id, id) as (
			select company.id, (select s.connection_id from submissions s where s.due_at is not null and s.account_id = company.id
				order by s.connection_id limit 1) from company where company.id is not null
			union all
			select account_id, (select s.connection_id from submissions s where s.due_at is not null and s.account_id = lane.account_id and s.connection_id > lane.id
				order by s.connection_id limit 1) from lane where lane.id is not null
		), first(account_id, id, due) as materialized (
			select account_id, id, (select s.due_at from submissions s where s.due_at is not null and s.account_id = lane.account_id and s.connection_id = lane.id
				order by s.due_at limit 1) from lane where id is not null
		)
		select first.account_id, first.id, (select case when c.retry_at > first.due then c.retry_at else first.due end
			from connections c where c.account_id = first.account_id and c.id = first.id) from first`, from.company[:], maxCompaniesPerScan)
}

// queueRow is a lane with work, where it stands in the order of a look, and when its first piece is due; null when it is
// not to be done.
type queueRow struct {
	Queue
	cursor ScanCursor
	due    sql.Null[int64]
}

// look reads a stretch of lanes in their order; one with as many different places as most is not the last.
func (db *DB) scanQueues(ctx context.Context, scan func(scanner) (queueRow, error), most int, query string, args ...any) (DueScan, error) {
	rows, err := collect(ctx, db.reader, scan, query, args...)
	if err != nil {
		return DueScan{}, db.classify(err)
	}
	var found DueScan
	places, last := map[ScanCursor]bool{}, ScanCursor{}
	for _, row := range rows {
		places[row.cursor] = true
		if last.Before(row.cursor) {
			last = row.cursor
		}
	}
	now := micros(db.now())
	if len(places) >= most && last.dueAt <= now {
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

// Before tells whether p comes before q on the way.
func (p ScanCursor) Before(q ScanCursor) bool {
	return p.dueAt < q.dueAt || p.dueAt == q.dueAt && bytes.Compare(p.company[:], q.company[:]) < 0
}

// errProbeTaken says that somebody else makes the one call that a connection in trouble may make: nothing is claimed.
var errProbeTaken = errors.New("the connection is being tried")

// ClaimSubmissions leases up to limit due submissions of a lane until lease has passed, and one when the connection is in
// trouble.
func (q Queue) ClaimSubmissions(ctx context.Context, limit int, lease time.Duration) ([]SubmissionLease, error) {
	if q.db == nil {
		return nil, ErrNoTenant
	}
	var calls []SubmissionLease
	err := q.db.write(ctx, "claim submissions", func(ctx context.Context, tx *tx) error {
		calls = nil
		now := tx.now()
		connection, err := scanConnection(tx.QueryRowContext(ctx, `select `+connectionColumns+` from connections where account_id = $1 and id = $2`, q.account, q.id))
		if err != nil {
			return err
		}
		probe, limit := connection.RetryAt != nil, limit
		if probe {
			if limit = 1; connection.RetryAt.After(now) {
				return nil
			}
		}
		calls, err = collect(ctx, tx, func(row scanner) (SubmissionLease, error) {
			s, err := scanSubmission(row)
			return SubmissionLease{Tenant: &Tenant{db: q.db, id: s.tenant, account: q.account}, Submission: s, Connection: connection, isProbe: probe}, err
		}, `with due as materialized (select tenant_id, id from submissions
				where account_id = $1 and connection_id = $2 and due_at <= $3 order by due_at limit $4`+q.db.forUpdateSkipLocked+`)
			update submissions set lease = lease + 1, due_at = $5
				where tenant_id `+q.db.inSubquery(`select tenant_id from due`)+` and id `+q.db.inSubquery(`select id from due`)+`
			returning `+q.db.submissionColumns(), q.account, q.id, micros(now), limit, micros(now.Add(lease)))
		if err != nil || len(calls) == 0 {
			return err
		}
		if probe {
			// Submissions are locked before connections, as everywhere.
			mine, err := q.acquireProbe(ctx, tx, &connection, now.Add(lease))
			if err != nil {
				return err
			}
			if !mine {
				return errProbeTaken
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, errProbeTaken):
		return nil, nil
	case err != nil:
		return nil, err // what they are about may have been undone with the claim
	}
	return calls, nil
}

// Abandoned makes all work due at once whose lease was cut off by the end of the process: submissions, deliveries and
// purchase syncs. It is for the start of a process that serves the database alone; elsewhere the lease decides. What
// waits for its own time goes on waiting, except for a purchase sync, of which a question too many does no harm. The attempt of a
// delivery that was cut off counts when the delivery is claimed next.
func (db *DB) ReleaseOrphanedLeases(ctx context.Context) error {
	return db.write(ctx, "free abandoned work", func(ctx context.Context, t *tx) error {
		now := micros(t.now())
		// A claim moves due_at and leaves next_check_at; only the first call, whose lease is both, has its own outcome.
		if _, err := t.exec(ctx, `update submissions set due_at = $1, next_check_at = $1, lease = lease + 1
			where due_at is not null and (outcome = 'in_progress' or due_at <> next_check_at)`, now); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `update deliveries set due_at = $1, lease = lease + 1 where due_at is not null and leased > 0`, now); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `update connections set retry_at = $1 where retry_at is not null`, now); err != nil {
			return err
		}
		_, err := t.exec(ctx, `update purchase_syncs set due_at = $1, lease = lease + 1 where due_at is not null`, now)
		return err
	})
}
