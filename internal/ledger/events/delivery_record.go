package events

import (
	"context"
	"database/sql"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/problem"
)

// Delivery is the delivery of one event to one subscription, with its history.
type Delivery struct {
	ID           base.ID
	Event        base.ID
	Kind         api.EventKind
	Subscription base.ID
	State        api.DeliveryState
	Reason       *string
	Attempts     int
	NextAt       *time.Time
	CreatedAt    time.Time
	UpdatedAt    time.Time
	// History holds all attempts, oldest first; only [FindDelivery] and [Redeliver] set it.
	History []Attempt
}

// DeliveryColumns are the columns of a delivery, and the time at which its subscription was deactivated.
const DeliveryColumns = `id, event_id, kind, subscription_id, state, reason, attempts, due_at, created_at, updated_at,
	(select s.deactivated_at from subscriptions s where s.tenant_id = deliveries.tenant_id and s.id = deliveries.subscription_id)`

// ScanDelivery reads DeliveryColumns.
func ScanDelivery(row base.Row) (Delivery, error) {
	var d Delivery
	var reason sql.Null[string]
	var due, deactivated sql.Null[int64]
	var created, updated int64
	err := row.Scan(&d.ID, &d.Event, &d.Kind, &d.Subscription, &d.State, &reason, &d.Attempts, &due, &created, &updated,
		&deactivated)
	d.Reason, d.NextAt, d.CreatedAt, d.UpdatedAt = base.TextOrNil(reason), base.InstantOrNil(due),
		base.Instant(created), base.Instant(updated)
	if deactivated.Valid && d.State == DeliveryPending { // a later batch ends it; see [deactivate]
		d.State, d.Reason, d.NextAt, d.UpdatedAt = DeliveryFailed, new(reasonInactive),
			nil, base.Instant(max(deactivated.V, updated))
	}
	return d, err
}

// FindDelivery returns one delivery with all its attempts.
func FindDelivery(ctx context.Context, t *base.Tenant, id base.ID) (Delivery, error) {
	var d Delivery
	err := t.Read(func(q base.Querier) error {
		var err error
		d, err = delivery(ctx, t, q, id, "")
		return err
	})
	return d, err
}

func delivery(ctx context.Context, t *base.Tenant, q base.Querier, id base.ID, lock string) (Delivery, error) {
	d, err := ScanDelivery(q.QueryRowContext(ctx,
		`select `+DeliveryColumns+` from deliveries where tenant_id = $1 and id = $2`+lock, t.ID(), id))
	if err != nil {
		return d, err
	}
	d.History, err = base.Collect(ctx, q, func(row base.Row) (Attempt, error) {
		var a Attempt
		var started, duration int64
		err := row.Scan(&started, &duration, &a.HTTPStatus, &a.ErrorClass, &a.ResponseBody)
		a.StartedAt, a.Duration = base.Instant(started), time.Duration(duration)*time.Microsecond
		return a, err
	},
		`select started_at, duration, http_status, error_class, answer from attempts where tenant_id = $1 and delivery_id = $2 order by ordinal`, t.ID(), id)
	return d, err
}

// ErrInactive says that the subscription of a delivery is deactivated.
var ErrInactive = problem.New(api.CodeSubscriptionInactive, "subscription inactive")

// Redeliver makes a delivery due immediately, with a full new round of attempts. It is the same delivery, so the
// receiver gets the same identifier and the same bytes. Redeliver returns [ErrInactive] if its subscription is
// deactivated.
func Redeliver(ctx context.Context, t *base.Tenant, id base.ID) (Delivery, error) {
	var d Delivery
	err := t.Write(ctx, "redeliver", func(ctx context.Context, tx *base.Tx) error {
		var err error
		if d, err = delivery(ctx, t, tx, id, t.DB().Dialect().ForUpdate()); err != nil {
			return err
		}
		var active int64
		if err := tx.QueryRowContext(ctx, `select active from subscriptions where tenant_id = $1 and id = $2`,
			t.ID(), d.Subscription).Scan(&active); err != nil {
			return err
		}
		if active == 0 {
			return ErrInactive
		}
		now := tx.Now()
		d.State, d.Reason, d.NextAt, d.UpdatedAt = DeliveryPending, nil, &now, now
		tx.Notify(base.WorkDeliveries)
		if err := t.Audit(tx, base.Act{Name: "delivery.redeliver", SubjectType: "delivery", Subject: id.String(),
			Details: map[string]string{"subscription": d.Subscription.String()}}); err != nil {
			return err
		}
		// An attempt in progress loses its lease: it is recorded, but the new round decides the state.
		_, err = tx.Exec(ctx,
			`update deliveries set state = 'pending', reason = null, round = 0, due_at = $3, updated_at = $3, lease = lease + 1, leased = 0
			where tenant_id = $1 and id = $2`, t.ID(), id, base.Micros(now))
		return err
	})
	return d, err
}
