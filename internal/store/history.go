package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"quittance/sdk/go/api"
)

// DeliveryRecord is the history of telling one subscription of one event.
type DeliveryRecord struct {
	ID           ID
	Event        ID
	Kind         api.EventKind
	Subscription ID
	State        api.DeliveryState
	Reason       *string
	Attempts     int
	NextAt       *time.Time
	CreatedAt    time.Time
	UpdatedAt    time.Time
	// History holds every attempt, oldest first; only [Tenant.Delivery] fills it.
	History []Attempt
}

// DeliveryFilter narrows a list of deliveries; zero fields do not.
type DeliveryFilter struct {
	Subscription, Event ID
	Kind                api.EventKind
	State               api.DeliveryState
}

// DeliveryPage is one page of a list of deliveries, newest first.
type DeliveryPage struct {
	Entries []DeliveryRecord
	// Total is how many there are among those that were looked through.
	Total int
	// Truncated tells that there were more than [SearchDepth] to look through.
	Truncated bool
}

// deliveryColumns are a delivery, and when its subscription was deactivated.
const deliveryColumns = `id, event_id, kind, subscription_id, state, reason, attempts, due_at, created_at, updated_at,
	(select s.deactivated_at from subscriptions s where s.tenant_id = deliveries.tenant_id and s.id = deliveries.subscription_id)`

func scanDelivery(row scanner) (DeliveryRecord, error) {
	var d DeliveryRecord
	var reason sql.Null[string]
	var due, deactivated sql.Null[int64]
	var created, updated int64
	err := row.Scan(&d.ID, &d.Event, &d.Kind, &d.Subscription, &d.State, &reason, &d.Attempts, &due, &created, &updated, &deactivated)
	d.Reason, d.NextAt, d.CreatedAt, d.UpdatedAt = textOrNil(reason), instantOrNil(due), instant(created), instant(updated)
	if deactivated.Valid && d.State == DeliveryPending { // its batch has not come yet; see [Tenant.deactivate]
		d.State, d.Reason, d.NextAt, d.UpdatedAt = DeliveryFailed, new(reasonInactive), nil, instant(max(deactivated.V, updated))
	}
	return d, err
}

// Deliveries returns a page of the deliveries that a filter lets pass, newest first. It looks through the newest
// [SearchDepth] deliveries of the event, of the subscription, of those that did not arrive, or of all, whichever the filter is narrowest
// about: identifiers grow with time, so each of them is the end of an index, and nothing is sorted.
func (t *Tenant) Deliveries(ctx context.Context, filter DeliveryFilter, number, perPage int) (DeliveryPage, error) {
	var out DeliveryPage
	err := t.list(ctx, func(ctx context.Context, q querier) (err error) {
		out, err = t.deliveries(ctx, q, filter, number, perPage)
		return err
	})
	return out, err
}

func (t *Tenant) deliveries(ctx context.Context, q querier, filter DeliveryFilter, number, perPage int) (DeliveryPage, error) {
	var out DeliveryPage
	// What is above the floor is looked at; without a floor that is all there is.
	floor, oldest := []byte{}, &statement{args: []any{t.id}}
	err := q.QueryRowContext(ctx, `select id from deliveries where tenant_id = $1`+filter.among(oldest)+` order by id desc limit 1 offset `+
		oldest.value(SearchDepth), oldest.args...).Scan(&floor)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return out, err
	}
	out.Truncated = err == nil
	s := &statement{args: []any{t.id}}
	where := filter.among(s) + filter.rest(s) + ` and id > ` + s.value(floor)
	total, limit, ok, err := page(ctx, q, number, perPage, `select count(*) from deliveries where tenant_id = $1`+where, s.args...)
	out.Total = total
	if err != nil || !ok {
		return out, err
	}
	out.Entries, err = collect(ctx, q, scanDelivery, `select `+deliveryColumns+` from deliveries where tenant_id = $1`+where+` order by id desc`+limit.clause, limit.args...)
	return out, err
}

// among is the part of the filter that an index answers in the order of identifiers.
func (f DeliveryFilter) among(s *statement) string {
	switch {
	case !f.Event.IsZero():
		return ` and event_id = ` + s.value(f.Event)
	case !f.Subscription.IsZero():
		return ` and subscription_id = ` + s.value(f.Subscription)
	case f.State == DeliveryFailed, f.State == DeliveryBlocked:
		return ` and state in ('failed', 'blocked')`
	}
	return ``
}

// rest is the part of the filter that is looked at row by row. A pending delivery of a deactivated subscription has failed; see
// [Tenant.deactivate]. Without an event or a subscription it is still found as pending, because the index that answers among
// for what has failed does not hold it, and every delivery is found by exactly one state.
func (f DeliveryFilter) rest(s *statement) string {
	const deactivated = `exists (select 1 from subscriptions s where s.tenant_id = $1 and s.id = deliveries.subscription_id and s.deactivated_at is not null)`
	where := ``
	if !f.Subscription.IsZero() && !f.Event.IsZero() {
		where += ` and subscription_id = ` + s.value(f.Subscription)
	}
	if f.Kind != "" {
		where += ` and kind = ` + s.value(string(f.Kind))
	}
	narrow := !f.Event.IsZero() || !f.Subscription.IsZero()
	switch {
	case f.State == "":
	case f.State == DeliveryPending && narrow:
		where += ` and state = 'pending' and not ` + deactivated
	case f.State == DeliveryFailed && narrow:
		where += ` and (state = 'failed' or state = 'pending' and ` + deactivated + `)`
	default:
		where += ` and state = ` + s.value(string(f.State))
	}
	return where
}

// Delivery returns one delivery with every attempt.
func (t *Tenant) Delivery(ctx context.Context, id ID) (DeliveryRecord, error) {
	var d DeliveryRecord
	err := t.read(func(q querier) error {
		var err error
		d, err = t.delivery(ctx, q, id, "")
		return err
	})
	return d, err
}

func (t *Tenant) delivery(ctx context.Context, q querier, id ID, lock string) (DeliveryRecord, error) {
	d, err := scanDelivery(q.QueryRowContext(ctx, `select `+deliveryColumns+` from deliveries where tenant_id = $1 and id = $2`+lock, t.id, id))
	if err != nil {
		return d, err
	}
	d.History, err = collect(ctx, q, func(row scanner) (Attempt, error) {
		var a Attempt
		var started, duration int64
		err := row.Scan(&started, &duration, &a.HTTPStatus, &a.ErrorClass, &a.Answer)
		a.StartedAt, a.Duration = instant(started), time.Duration(duration)*time.Microsecond
		return a, err
	}, `select started_at, duration, http_status, error_class, answer from attempts where tenant_id = $1 and delivery_id = $2 order by ordinal`, t.id, id)
	return d, err
}

// ErrInactive says that the subscription of a delivery is deactivated.
var ErrInactive = errors.New("subscription inactive")

// Redeliver makes a delivery due again at once, with a full round of attempts before it: the same delivery, so that the
// receiver gets the same identifier and the same bytes. [ErrInactive] says that its subscription is deactivated.
func (t *Tenant) Redeliver(ctx context.Context, id ID) (DeliveryRecord, error) {
	var d DeliveryRecord
	err := t.write(ctx, "redeliver", func(ctx context.Context, tx *tx) error {
		var err error
		if d, err = t.delivery(ctx, tx, id, t.db.dialect.ForUpdate()); err != nil {
			return err
		}
		var active int64
		if err := tx.QueryRowContext(ctx, `select active from subscriptions where tenant_id = $1 and id = $2`, t.id, d.Subscription).Scan(&active); err != nil {
			return err
		}
		if active == 0 {
			return ErrInactive
		}
		now := tx.now()
		d.State, d.Reason, d.NextAt, d.UpdatedAt = DeliveryPending, nil, &now, now
		tx.notify(WorkDeliveries)
		// An attempt under way loses its lease: it is recorded, and the new round decides what follows.
		_, err = tx.exec(ctx, `update deliveries set state = 'pending', reason = null, round = 0, due_at = $3, updated_at = $3, lease = lease + 1, leased = 0
			where tenant_id = $1 and id = $2`, t.id, id, micros(now))
		return err
	})
	return d, err
}
