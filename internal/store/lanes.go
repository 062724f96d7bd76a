package store

import (
	"context"
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

// SubmissionLanes returns the connections with submissions due to be asked about, in the manner of [DB.DeliveryLanes].
func (db *DB) SubmissionLanes(ctx context.Context) (lanes []Lane, next time.Time, err error) {
	return db.lanes(ctx, func(row scanner) (Lane, int64, error) {
		l := Lane{db: db}
		var due int64
		err := row.Scan(&l.account, &l.id, &due)
		return l, due, err
	}, `select account_id, connection_id, min(due_at) as due from submissions where due_at is not null
		group by account_id, connection_id order by due`)
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

// ClaimSubmissions leases up to limit due submissions of a lane until lease has passed.
func (l Lane) ClaimSubmissions(ctx context.Context, limit int, lease time.Duration) ([]Call, error) {
	if l.db == nil {
		return nil, ErrNoTenant
	}
	var calls []Call
	err := l.db.write(ctx, func(ctx context.Context, tx *tx) error {
		calls = nil
		now := l.db.now()
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
		connection, err := scanConnection(tx.QueryRowContext(ctx, `select `+connectionColumns+` from connections where account_id = $1 and id = $2`, l.account, l.id))
		if err != nil {
			return err
		}
		for _, row := range rows {
			tenant := &Tenant{db: l.db, id: row.tenant, account: l.account}
			s, err := tenant.submission(ctx, tx, row.id, "")
			if err != nil {
				return err
			}
			calls = append(calls, Call{Tenant: tenant, Submission: s, Connection: connection})
		}
		return nil
	})
	return calls, err
}

// Abandoned makes every submission and purchase sync whose call was cut off by the end of the process due at once. It
// is for the start of a process that serves the database alone; elsewhere the lease decides.
func (db *DB) Abandoned(ctx context.Context) error {
	return db.write(ctx, func(ctx context.Context, t *tx) error {
		if _, err := t.exec(ctx, `update submissions set due_at = $1, lease = lease + 1 where outcome = 'in_progress'`, micros(db.now())); err != nil {
			return err
		}
		_, err := t.exec(ctx, `update purchase_syncs set due_at = $1, lease = lease + 1 where due_at is not null`, micros(db.now()))
		return err
	})
}
