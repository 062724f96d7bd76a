package store

import (
	"context"
	"errors"
	"time"
)

// Lane is a row of due work that waits in one line: the deliveries of one subscription, or the submissions of one
// connection. Workers take turns over lanes, so that one company's long line keeps nobody else waiting.
type Lane struct {
	tenant  *Tenant
	account ID
	id      ID
	db      *DB
}

// Key identifies the lane within its kind of work.
func (l Lane) Key() ID { return l.id }

// Owner identifies the company whose work it is, for what all its lanes together may take.
func (l Lane) Owner() ID {
	if l.tenant != nil {
		return l.tenant.id
	}
	return l.account
}

// DeliveryLanes returns the subscriptions with deliveries due now, longest waiting first, and when the next of the
// others will be due; zero when there are none.
func (db *DB) DeliveryLanes(ctx context.Context) (lanes []Lane, next time.Time, err error) {
	return db.lanes(ctx, func(row scanner) (Lane, int64, error) {
		l := Lane{tenant: &Tenant{db: db}, db: db}
		var due int64
		err := row.Scan(&l.tenant.id, &l.tenant.account, &l.id, &due)
		return l, due, err
	}, `select d.tenant_id, n.account_id, d.subscription_id, d.due from
			(select tenant_id, subscription_id, min(due_at) as due from deliveries where due_at is not null group by tenant_id, subscription_id) d
		join tenants n on n.id = d.tenant_id
		where n.frozen_at is null order by d.due`)
}

// SubmissionLanes returns the connections with submissions due to be asked about, in the manner of [DB.DeliveryLanes]. A
// connection in trouble is due when it may be tried again.
func (db *DB) SubmissionLanes(ctx context.Context) (lanes []Lane, next time.Time, err error) {
	return db.lanes(ctx, func(row scanner) (Lane, int64, error) {
		l := Lane{db: db}
		var due int64
		err := row.Scan(&l.account, &l.id, &due)
		return l, due, err
	}, `select s.account_id, s.connection_id, case when c.retry_at > s.due then c.retry_at else s.due end from
			(select account_id, connection_id, min(due_at) as due from submissions where due_at is not null group by account_id, connection_id) s
		join connections c on c.account_id = s.account_id and c.id = s.connection_id order by 3`)
}

func (db *DB) lanes(ctx context.Context, scan func(scanner) (Lane, int64, error), query string) (due []Lane, next time.Time, err error) {
	type entry struct {
		lane Lane
		due  int64
	}
	entries, err := collect(ctx, db.reader, func(row scanner) (entry, error) {
		lane, due, err := scan(row)
		return entry{lane, due}, err
	}, query)
	now := micros(db.now())
	for _, e := range entries {
		if e.due > now {
			return due, instant(e.due), nil // they are in order
		}
		due = append(due, e.lane)
	}
	return due, time.Time{}, db.fail(err)
}

// errProbed says that somebody else makes the one call that a connection in trouble may make: nothing is claimed.
var errProbed = errors.New("the connection is being tried")

// ClaimSubmissions leases up to limit due submissions of a lane until lease has passed, and one when the connection is in
// trouble.
func (l Lane) ClaimSubmissions(ctx context.Context, limit int, lease time.Duration) ([]Call, error) {
	if l.db == nil {
		return nil, ErrNoTenant
	}
	var calls []Call
	err := l.db.write(ctx, ID{}, "claim submissions", func(ctx context.Context, tx *tx) error {
		calls = nil
		now := l.db.now()
		connection, err := scanConnection(tx.QueryRowContext(ctx, `select `+connectionColumns+` from connections where account_id = $1 and id = $2`, l.account, l.id))
		if err != nil {
			return err
		}
		probe, limit := connection.RetryAt != nil, limit
		if probe {
			if limit = 1; connection.RetryAt.After(now) {
				return nil
			}
		}
		type claimed struct{ tenant, id ID }
		rows, err := collect(ctx, tx, func(row scanner) (claimed, error) {
			var c claimed
			err := row.Scan(&c.tenant, &c.id)
			return c, err
		}, `with due as materialized (select tenant_id, id from submissions
				where account_id = $1 and connection_id = $2 and due_at <= $3 order by due_at limit $4`+l.db.claim+`)
			update submissions set lease = lease + 1, due_at = $5 where (tenant_id, id) in (select tenant_id, id from due)
			returning tenant_id, id`, l.account, l.id, micros(now), limit, micros(now.Add(lease)))
		if err != nil || len(rows) == 0 {
			return err
		}
		if probe {
			// Submissions are locked before connections, as everywhere.
			mine, err := l.probing(ctx, tx, &connection, now.Add(lease))
			if err != nil {
				return err
			}
			if !mine {
				return errProbed
			}
		}
		for _, row := range rows {
			tenant := &Tenant{db: l.db, id: row.tenant, account: l.account}
			s, err := tenant.submission(ctx, tx, row.id, "")
			if err != nil {
				return err
			}
			calls = append(calls, Call{Tenant: tenant, Submission: s, Connection: connection, probe: probe})
		}
		return nil
	})
	if errors.Is(err, errProbed) {
		return nil, nil
	}
	return calls, err
}

// Abandoned makes all work due at once whose lease was cut off by the end of the process: submissions, deliveries and
// purchase syncs. It is for the start of a process that serves the database alone; elsewhere the lease decides. What
// waits for its own time goes on waiting, except for a purchase sync, of which a question too many does no harm.
func (db *DB) Abandoned(ctx context.Context) error {
	return db.write(ctx, ID{}, "free abandoned work", func(ctx context.Context, t *tx) error {
		now := micros(db.now())
		// A claim moves due_at and leaves next_check_at; only the first call, whose lease is both, has its own outcome.
		if _, err := t.exec(ctx, `update submissions set due_at = $1, next_check_at = $1, lease = lease + 1
			where due_at is not null and (outcome = 'in_progress' or due_at <> next_check_at)`, now); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `update deliveries set due_at = $1, lease = lease + 1, leased = 0 where due_at is not null and leased = 1`, now); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `update connections set retry_at = $1 where retry_at is not null`, now); err != nil {
			return err
		}
		_, err := t.exec(ctx, `update purchase_syncs set due_at = $1, lease = lease + 1 where due_at is not null`, now)
		return err
	})
}
