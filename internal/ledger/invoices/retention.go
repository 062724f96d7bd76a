package invoices

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"quittance/internal/ledger/base"
	sqldb "quittance/internal/platform/db"
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
func ApplyRetention(ctx context.Context, db *base.DB, r Retention) (removed int64, err error) {
	if r.Attempts > 0 {
		n, err := prune(ctx, db, db.Now().Add(-r.Attempts), oldAttempts, pruneAttempts)
		if removed += n; err != nil {
			return removed, err
		}
	}
	if r.Events > 0 {
		// Recorded before anything is removed, so that a verification can distinguish it from tampering.
		before := db.Now().Add(-r.Events)
		if err := db.RecordRemoval(ctx, base.Micros(before)); err != nil {
			return removed, err
		}
		n, err := prune(ctx, db, before, oldEvents, pruneEvents)
		if removed += n; err != nil {
			return removed, err
		}
	}
	return removed, nil
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
func prune(ctx context.Context, db *base.DB, before time.Time, find string,
	remove func(context.Context, *base.Tenant, time.Time) (int64, error)) (removed int64, err error) {
	var after base.ID
	for ctx.Err() == nil {
		type candidate struct {
			tenant *base.Tenant
			oldest []byte
		}
		found, err := base.Collect(ctx, db.Querier(), func(row base.Row) (candidate, error) {
			var tenant, account base.ID
			var c candidate
			err := row.Scan(&tenant, &account, &c.oldest)
			c.tenant = db.TenantOf(tenant, account)
			return c, err
		}, find, after[:], base.OldestID(before), retentionTenants)
		if err != nil {
			return removed, db.Classify(err)
		}
		for _, c := range found {
			if after = c.tenant.ID(); c.oldest == nil {
				continue
			}
			n, err := remove(ctx, c.tenant, before)
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
func batches(ctx context.Context, t *base.Tenant, find string, before time.Time, args []any,
	remove func(ids []base.ID) (int64, error)) (removed int64, err error) {
	var after base.ID
	for ctx.Err() == nil {
		ids, err := base.Collect(ctx, t.DB().Querier(), base.ScanValue[base.ID],
			find, append([]any{t.ID(), after[:], base.OldestID(before), retentionBatch}, args...)...)
		if err != nil {
			return removed, t.DB().Classify(err)
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
func pruneAttempts(ctx context.Context, t *base.Tenant, before time.Time) (int64, error) {
	return batches(ctx, t,
		`select delivery_id from attempts where tenant_id = $1 and delivery_id > $2 and delivery_id < $3 and started_at < $5
			order by delivery_id limit $4`, before, []any{base.Micros(before)}, func(deliveries []base.ID) (removed int64, err error) {
			err = t.Write(ctx, "prune history", func(ctx context.Context, tx *base.Tx) error {
				list, args := idList(t, deliveries)
				args = append(args, base.Micros(before))
				removed, err = tx.Exec(ctx, `delete from attempts where tenant_id = $1 and delivery_id in (`+
					list+`) and started_at < `+sqldb.Parameter(len(args))+`
				and not exists (select 1 from deliveries d where d.tenant_id = attempts.tenant_id and d.id = attempts.delivery_id and d.due_at is not null)`, args...)
				return err
			})
			return removed, err
		})
}

// pruneEvents removes the events that occurred before a time and have no pending delivery, with their deliveries.
func pruneEvents(ctx context.Context, t *base.Tenant, before time.Time) (int64, error) {
	return batches(ctx, t, `select id from events where tenant_id = $1 and id > $2 and id < $3 order by id limit $4`,
		before, nil, func(events []base.ID) (removed int64, err error) {
			err = t.Write(ctx, "prune history", func(ctx context.Context, tx *base.Tx) error {
				removed, err = removeEvents(ctx, t, tx, events)
				return err
			})
			return removed, err
		})
}

// removeEvents removes events, with their deliveries and attempts, unless one of their deliveries is pending. It locks
// the deliveries first, in the order that all transactions use. A concurrent [events.Redeliver] either comes before,
// and the event stays, or finds the delivery gone.
func removeEvents(ctx context.Context, t *base.Tenant, tx *base.Tx, events []base.ID) (removed int64, err error) {
	type delivery struct {
		id, event base.ID
		due       bool
	}
	list, args := idList(t, events)
	// Ordered by an expression: by the column itself, SQLite would read all deliveries of the company to avoid sorting a
	// few.
	found, err := base.Collect(ctx, tx, func(row base.Row) (d delivery, err error) {
		var due *int64
		err = row.Scan(&d.id, &d.event, &due)
		d.due = due != nil
		return d, err
	}, `select id, event_id, due_at from deliveries where tenant_id = $1 and event_id in (`+
		list+`) order by coalesce(id, id)`+t.DB().Dialect().ForUpdate(), args...)
	if err != nil {
		return 0, err
	}
	ended := make(map[base.ID]bool, len(events))
	for _, id := range events {
		ended[id] = true
	}
	for _, d := range found {
		if d.due {
			delete(ended, d.event)
		}
	}
	var deliveries []base.ID
	for _, d := range found {
		if ended[d.event] {
			deliveries = append(deliveries, d.id)
		}
	}
	for chunk := range slices.Chunk(deliveries, retentionBatch) {
		list, args := idList(t, chunk)
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
	list, args = idList(t, slices.Collect(maps.Keys(ended)))
	sizes, err := base.Collect(ctx, tx, base.ScanValue[int64],
		`delete from events where tenant_id = $1 and id in (`+list+`) returning octet_length(body)`, args...)
	for _, size := range sizes {
		tx.Use(t.ID(), base.Usage{Bytes: -size})
	}
	return int64(len(sizes)), err
}

// idList returns the parameters $2, $3, … for [Padded] identifiers, at least one, and the arguments with the tenant as
// $1.
func idList(t *base.Tenant, ids []base.ID) (list string, args []any) {
	ids = Padded(ids)
	names := make([]string, len(ids))
	args = []any{t.ID()}
	for n, id := range ids {
		args = append(args, id)
		names[n] = sqldb.Parameter(len(args))
	}
	return strings.Join(names, ", "), args
}

// Padded repeats the last of at least one identifier until there is a power of two of them, so that few statements
// differ in the length of a list alone.
func Padded(ids []base.ID) []base.ID {
	size := 1
	for size < len(ids) {
		size *= 2
	}
	out := make([]base.ID, size)
	for n := range out {
		out[n] = ids[min(n, len(ids)-1)]
	}
	return out
}
