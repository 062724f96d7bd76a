package store

import (
	"context"
	"database/sql"
	"time"

	"quittance/client/api"
	"quittance/internal/problem"
)

// Delivery is the delivery of one event to one subscription, with its history.
type Delivery struct {
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
	// History holds all attempts, oldest first; only [Tenant.Delivery] and [Tenant.Redeliver] set it.
	History []Attempt
}

// deliveryColumns are the columns of a delivery, and the time at which its subscription was deactivated.
const deliveryColumns = `id, event_id, kind, subscription_id, state, reason, attempts, due_at, created_at, updated_at,
	(select s.deactivated_at from subscriptions s where s.tenant_id = deliveries.tenant_id and s.id = deliveries.subscription_id)`

func scanDelivery(row scanner) (Delivery, error) {
	var d Delivery
	var reason sql.Null[string]
	var due, deactivated sql.Null[int64]
	var created, updated int64
	err := row.Scan(&d.ID, &d.Event, &d.Kind, &d.Subscription, &d.State, &reason, &d.Attempts, &due, &created, &updated,
		&deactivated)
	d.Reason, d.NextAt, d.CreatedAt, d.UpdatedAt = textOrNil(reason), instantOrNil(due), instant(created), instant(updated)
	if deactivated.Valid && d.State == DeliveryPending { // a later batch ends it; see [Tenant.deactivate]
		d.State, d.Reason, d.NextAt, d.UpdatedAt = DeliveryFailed, new(reasonInactive),
			nil, instant(max(deactivated.V, updated))
	}
	return d, err
}

// Delivery returns one delivery with all its attempts.
func (t *Tenant) Delivery(ctx context.Context, id ID) (Delivery, error) {
	var d Delivery
	err := t.read(func(q querier) error {
		var err error
		d, err = t.delivery(ctx, q, id, "")
		return err
	})
	return d, err
}

func (t *Tenant) delivery(ctx context.Context, q querier, id ID, lock string) (Delivery, error) {
	d, err := scanDelivery(q.QueryRowContext(ctx,
		`select `+deliveryColumns+` from deliveries where tenant_id = $1 and id = $2`+lock, t.id, id))
	if err != nil {
		return d, err
	}
	d.History, err = collect(ctx, q, func(row scanner) (Attempt, error) {
		var a Attempt
		var started, duration int64
		err := row.Scan(&started, &duration, &a.HTTPStatus, &a.ErrorClass, &a.ResponseBody)
		a.StartedAt, a.Duration = instant(started), time.Duration(duration)*time.Microsecond
		return a, err
	},
		`select started_at, duration, http_status, error_class, answer from attempts where tenant_id = $1 and delivery_id = $2 order by ordinal`, t.id, id)
	return d, err
}

// ErrInactive says that the subscription of a delivery is deactivated.
var ErrInactive = problem.New(api.CodeSubscriptionInactive, "subscription inactive")

// Redeliver makes a delivery due immediately, with a full new round of attempts. It is the same delivery, so the
// receiver gets the same identifier and the same bytes. Redeliver returns [ErrInactive] if its subscription is
// deactivated.
func (t *Tenant) Redeliver(ctx context.Context, id ID) (Delivery, error) {
	var d Delivery
	err := t.write(ctx, "redeliver", func(ctx context.Context, tx *tx) error {
		var err error
		if d, err = t.delivery(ctx, tx, id, t.db.dialect.ForUpdate()); err != nil {
			return err
		}
		var active int64
		if err := tx.QueryRowContext(ctx, `select active from subscriptions where tenant_id = $1 and id = $2`,
			t.id, d.Subscription).Scan(&active); err != nil {
			return err
		}
		if active == 0 {
			return ErrInactive
		}
		now := tx.Now()
		d.State, d.Reason, d.NextAt, d.UpdatedAt = DeliveryPending, nil, &now, now
		tx.notify(WorkDeliveries)
		if err := t.audit(tx, Act{Name: "delivery.redeliver", SubjectType: "delivery", Subject: id.String(),
			Details: map[string]string{"subscription": d.Subscription.String()}}); err != nil {
			return err
		}
		// An attempt in progress loses its lease: it is recorded, but the new round decides the state.
		_, err = tx.Exec(ctx,
			`update deliveries set state = 'pending', reason = null, round = 0, due_at = $3, updated_at = $3, lease = lease + 1, leased = 0
			where tenant_id = $1 and id = $2`, t.id, id, micros(now))
		return err
	})
	return d, err
}
