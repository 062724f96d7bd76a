package store

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"time"

	base "quittance/internal/db"
)

// Retention says how long history is kept; zero means without limit. Evidence, submissions and invoices are always
// kept.
type Retention struct {
	// Events is how long events are kept with their deliveries, once none of these is pending.
	Events time.Duration
	// Attempts is how long the attempts of deliveries that are no longer pending are kept.
	Attempts time.Duration
}

const (
	// retentionBatch is how many events or deliveries one transaction processes, so that other writes do not wait long.
	retentionBatch = 256
	// retentionTenants is how many tenants one statement examines.
	retentionTenants = 256
)

// ApplyRetention removes the history that is older than r allows, one batch per transaction, and returns how many rows
// of attempts and events it removed.
//
// Identifiers begin with their time of creation, so old rows are the beginning of a primary key: ApplyRetention finds
// them with the reader, tenant by tenant, and deletes them by key. It reads no younger rows. The only old rows that it
// reads again the next time belong to deliveries that are still pending or were attempted since.
func (db *DB) ApplyRetention(ctx context.Context, r Retention) (removed int64, err error) {
	if r.Attempts > 0 {
		n, err := db.prune(ctx, db.Now().Add(-r.Attempts), oldAttempts, (*Tenant).pruneAttempts)
		if removed += n; err != nil {
			return removed, err
		}
	}
	if r.Events > 0 {
		// Recorded before anything is removed, so that a verification can distinguish it from tampering.
		before := db.Now().Add(-r.Events)
		if err := db.recordRemoval(ctx, micros(before)); err != nil {
			return removed, err
		}
		n, err := db.prune(ctx, before, oldEvents, (*Tenant).pruneEvents)
		if removed += n; err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// oldest returns the smallest identifier that can be created at a time.
func oldest(at time.Time) ID {
	var stamp [8]byte
	binary.BigEndian.PutUint64(stamp[:], uint64(at.UnixMilli()))
	var id ID
	copy(id[:6], stamp[2:])
	return id
}

// The statements that return $3 tenants after $1, each with one row older than the identifier $2, or null. The
// sub-select is a scalar, which makes every planner take one step into an index for each tenant.
const (
	oldAttempts = `select t.id, t.account_id, (select a.delivery_id from attempts a where a.tenant_id = t.id and a.delivery_id < $2 order by a.delivery_id limit 1)
		from (select id, account_id from tenants where id > $1 order by id limit $3) t order by t.id`
	oldEvents = `select t.id, t.account_id, (select e.id from events e where e.tenant_id = t.id and e.id < $2 order by e.id limit 1)
		from (select id, account_id from tenants where id > $1 order by id limit $3) t order by t.id`
)

// prune removes history from before a time: it calls remove for each tenant for which the statement find returns an old
// row.
func (db *DB) prune(ctx context.Context, before time.Time, find string,
	remove func(*Tenant, context.Context, time.Time) (int64, error)) (removed int64, err error) {
	var after ID
	for ctx.Err() == nil {
		type candidate struct {
			tenant *Tenant
			oldest []byte
		}
		found, err := collect(ctx, db.reader, func(row scanner) (candidate, error) {
			c := candidate{tenant: &Tenant{db: db}}
			return c, row.Scan(&c.tenant.id, &c.tenant.account, &c.oldest)
		}, find, after[:], oldest(before), retentionTenants)
		if err != nil {
			return removed, db.classify(err)
		}
		for _, c := range found {
			if after = c.tenant.id; c.oldest == nil {
				continue
			}
			n, err := remove(c.tenant, ctx, before)
			if removed += n; err != nil {
				return removed, err
			}
		}
		if len(found) < retentionTenants {
			return removed, nil
		}
	}
	return removed, ctx.Err()
}

// batches calls remove with the identifiers that the statement find returns, one batch at a time; each batch begins
// after the last identifier of the previous one.
func (t *Tenant) batches(ctx context.Context, find string, before time.Time, args []any,
	remove func(ids []ID) (int64, error)) (removed int64, err error) {
	var after ID
	for ctx.Err() == nil {
		ids, err := collect(ctx, t.db.reader, scanValue[ID],
			find, append([]any{t.id, after[:], oldest(before), retentionBatch}, args...)...)
		if err != nil {
			return removed, t.db.classify(err)
		}
		if len(ids) == 0 {
			return removed, nil
		}
		after = ids[len(ids)-1]
		n, err := remove(slices.Compact(ids))
		if removed += n; err != nil {
			return removed, err
		}
	}
	return removed, ctx.Err()
}

// pruneAttempts removes the attempts made before a time, of deliveries that are not pending.
func (t *Tenant) pruneAttempts(ctx context.Context, before time.Time) (int64, error) {
	return t.batches(ctx,
		`select delivery_id from attempts where tenant_id = $1 and delivery_id > $2 and delivery_id < $3 and started_at < $5
			order by delivery_id limit $4`, before, []any{micros(before)}, func(deliveries []ID) (removed int64, err error) {
			err = t.write(ctx, "prune history", func(ctx context.Context, tx *tx) error {
				list, args := t.idList(deliveries)
				args = append(args, micros(before))
				removed, err = tx.Exec(ctx, `delete from attempts where tenant_id = $1 and delivery_id in (`+
					list+`) and started_at < `+base.Parameter(len(args))+`
				and not exists (select 1 from deliveries d where d.tenant_id = attempts.tenant_id and d.id = attempts.delivery_id and d.due_at is not null)`, args...)
				return err
			})
			return removed, err
		})
}

// pruneEvents removes the events that occurred before a time and have no pending delivery, with their deliveries.
func (t *Tenant) pruneEvents(ctx context.Context, before time.Time) (int64, error) {
	return t.batches(ctx, `select id from events where tenant_id = $1 and id > $2 and id < $3 order by id limit $4`,
		before, nil, func(events []ID) (removed int64, err error) {
			err = t.write(ctx, "prune history", func(ctx context.Context, tx *tx) error {
				removed, err = t.removeEvents(ctx, tx, events)
				return err
			})
			return removed, err
		})
}

// removeEvents removes events, with their deliveries and attempts, unless one of their deliveries is pending. It locks
// the deliveries first, in the order that all transactions use. A concurrent [Tenant.Redeliver] either comes before,
// and the event stays, or finds the delivery gone.
func (t *Tenant) removeEvents(ctx context.Context, tx *tx, events []ID) (removed int64, err error) {
	type delivery struct {
		id, event ID
		due       bool
	}
	list, args := t.idList(events)
	// Ordered by an expression: by the column itself, SQLite would read all deliveries of the company to avoid sorting a
	// few.
	found, err := collect(ctx, tx, func(row scanner) (d delivery, err error) {
		var due *int64
		err = row.Scan(&d.id, &d.event, &due)
		d.due = due != nil
		return d, err
	}, `select id, event_id, due_at from deliveries where tenant_id = $1 and event_id in (`+
		list+`) order by coalesce(id, id)`+t.db.dialect.ForUpdate(), args...)
	if err != nil {
		return 0, err
	}
	ended := make(map[ID]bool, len(events))
	for _, id := range events {
		ended[id] = true
	}
	for _, d := range found {
		if d.due {
			delete(ended, d.event)
		}
	}
	var deliveries []ID
	for _, d := range found {
		if ended[d.event] {
			deliveries = append(deliveries, d.id)
		}
	}
	for chunk := range slices.Chunk(deliveries, retentionBatch) {
		list, args := t.idList(chunk)
		if _, err := tx.Exec(ctx, `delete from attempts where tenant_id = $1 and delivery_id in (`+list+`)`,
			args...); err != nil {
			return 0, err
		}
		if _, err := tx.Exec(ctx, `delete from deliveries where tenant_id = $1 and id in (`+list+`)`, args...); err != nil {
			return 0, err
		}
	}
	if len(ended) == 0 {
		return 0, nil
	}
	list, args = t.idList(slices.Collect(maps.Keys(ended)))
	sizes, err := collect(ctx, tx, scanValue[int64],
		`delete from events where tenant_id = $1 and id in (`+list+`) returning octet_length(body)`, args...)
	for _, size := range sizes {
		tx.use(t.id, usage{bytes: -size})
	}
	return int64(len(sizes)), err
}

// idList returns the parameters $2, $3, … for [Padded] identifiers, at least one, and the arguments with the tenant as
// $1.
func (t *Tenant) idList(ids []ID) (list string, args []any) {
	ids = Padded(ids)
	names := make([]string, len(ids))
	args = []any{t.id}
	for n, id := range ids {
		args = append(args, id)
		names[n] = base.Parameter(len(args))
	}
	return strings.Join(names, ", "), args
}

// Padded repeats the last of at least one identifier until there is a power of two of them, so that few statements
// differ in the length of a list alone.
func Padded(ids []ID) []ID {
	size := 1
	for size < len(ids) {
		size *= 2
	}
	out := make([]ID, size)
	for n := range out {
		out[n] = ids[min(n, len(ids)-1)]
	}
	return out
}
