package store

import (
	"context"
	"time"
)

// Retention is how long history is kept; zero is for ever. Evidence, submissions and invoices are kept in any case.
type Retention struct {
	// Events is how long events are kept with their deliveries, once none of these is on its way any more.
	Events time.Duration
	// Attempts is how long the attempts of deliveries are kept that are no longer on their way.
	Attempts time.Duration
}

// retentionBatch is how many rows one transaction removes, so that none holds up the others for long.
const retentionBatch = 1000

// Retain removes the history that is older than r wants, a batch a transaction, and returns how many rows it removed.
func (db *DB) Retain(ctx context.Context, r Retention) (removed int64, err error) {
	if r.Attempts > 0 {
		n, err := db.prune(ctx, r.Attempts, `delete from attempts where (tenant_id, delivery_id, ordinal) in (
			select a.tenant_id, a.delivery_id, a.ordinal from attempts a join deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
			where a.started_at < $1 and d.state <> 'pending' limit $2)`)
		if removed += n; err != nil {
			return removed, err
		}
	}
	if r.Events > 0 {
		const ended = `select e.tenant_id, e.id from events e where e.occurred_at < $1 and not exists (
			select 1 from deliveries p where p.tenant_id = e.tenant_id and p.event_id = e.id and p.state = 'pending') order by e.tenant_id, e.id limit $2`
		n, err := db.prune(ctx, r.Events,
			`delete from attempts where (tenant_id, delivery_id) in (select d.tenant_id, d.id from deliveries d where (d.tenant_id, d.event_id) in (`+ended+`))`,
			`delete from deliveries where (tenant_id, event_id) in (`+ended+`)`,
			`delete from events where (tenant_id, id) in (`+ended+`)`)
		if removed += n; err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// prune runs statements on rows older than age, batch by batch, until the last of them finds none. Each statement sees
// the same batch: nothing older appears meanwhile, and rows go in the order of their references.
func (db *DB) prune(ctx context.Context, age time.Duration, statements ...string) (removed int64, err error) {
	before := micros(db.now().Add(-age))
	for ctx.Err() == nil {
		var last int64
		err := db.write(ctx, "prune history", func(ctx context.Context, t *tx) error {
			for _, statement := range statements {
				n, err := t.exec(ctx, statement, before, retentionBatch)
				if err != nil {
					return err
				}
				last = n
			}
			return nil
		})
		if err != nil || last == 0 {
			return removed, err
		}
		removed += last
	}
	return removed, ctx.Err()
}
