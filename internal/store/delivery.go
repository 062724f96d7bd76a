package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"quittance/api"
	"quittance/internal/secret"
)

// The states of a delivery (contract, section 9).
const (
	DeliveryPending   = api.DeliveryPending
	DeliveryDelivered = api.DeliveryDelivered
	DeliveryFailed    = api.DeliveryFailed
	DeliveryBlocked   = api.DeliveryBlocked
)

// Delivery is one claimed attempt at telling one subscription of one event.
type Delivery struct {
	Tenant       *Tenant
	ID           ID
	Subscription ID
	URL          string
	Secret       secret.Text
	Event        ID
	Kind         api.EventKind
	OccurredAt   time.Time
	Body         []byte
	// Attempts is how many were made before, Round how many of them since it was last asked for.
	Attempts, Round int

	lease int64
}

// ClaimDeliveries leases up to limit due deliveries of a lane until lease has passed: nobody else works on them
// meanwhile, and after it they are due again. Deliveries of a subscription that is no longer active end here.
func (l Lane) ClaimDeliveries(ctx context.Context, limit int, lease time.Duration) ([]Delivery, error) {
	t := l.tenant
	var claimed []Delivery
	err := t.write(ctx, "claim deliveries", func(ctx context.Context, tx *tx) error {
		now := t.db.now()
		leased, err := collect(ctx, tx, func(row scanner) (Delivery, error) {
			d := Delivery{Tenant: t, Subscription: l.id}
			var occurred int64
			err := row.Scan(&d.ID, &d.Event, &d.Attempts, &d.Round, &d.lease, &d.Kind, &occurred, &d.Body)
			d.OccurredAt = instant(occurred)
			return d, err
		}, `with due as materialized (select id from deliveries
				where tenant_id = $1 and subscription_id = $2 and due_at <= $3 order by due_at limit $4`+t.db.claim+`)
			update deliveries set lease = lease + 1, leased = 1, due_at = $5 where tenant_id = $1 and id in (select id from due)
			returning id, event_id, attempts, round, lease, kind,
				(select occurred_at from events e where e.tenant_id = deliveries.tenant_id and e.id = deliveries.event_id),
				(select body from events e where e.tenant_id = deliveries.tenant_id and e.id = deliveries.event_id)`,
			t.id, l.id, micros(now), limit, micros(now.Add(lease)))
		if err != nil || len(leased) == 0 {
			claimed = nil
			return err
		}
		claimed, err = t.fill(ctx, tx, l.id, leased)
		return err
	})
	return claimed, err
}

// fill completes claimed deliveries with where they go.
func (t *Tenant) fill(ctx context.Context, tx *tx, subscription ID, leased []Delivery) ([]Delivery, error) {
	var url string
	var active int64
	var sealed []byte
	if err := tx.QueryRowContext(ctx, `select url, active, secret from subscriptions where tenant_id = $1 and id = $2`, t.id, subscription).Scan(&url, &active, &sealed); err != nil {
		return nil, err
	}
	if active == 0 {
		// An event that committed beside the deactivation: it ends like those that were pending then.
		_, err := tx.exec(ctx, `update deliveries set state = 'failed', reason = $3, due_at = null, updated_at = $4
			where tenant_id = $1 and subscription_id = $2 and state = 'pending'`, t.id, subscription, reasonInactive, micros(t.db.now()))
		return nil, err
	}
	key, err := t.db.keys.OpenText(sealed, subscriptionPlace(t.id, subscription))
	if err != nil {
		return nil, err
	}
	for n := range leased {
		leased[n].URL, leased[n].Secret = url, key
	}
	return leased, nil
}

// Attempt is one try to deliver, as it went.
type Attempt struct {
	StartedAt time.Time
	Duration  time.Duration
	// HTTPStatus is the status of the answer, 0 when there was none; then ErrorClass says why.
	HTTPStatus int
	ErrorClass string
	// Answer is the beginning of the answer's body, at most 1 KiB.
	Answer []byte
}

// Settlement is what an attempt makes of its delivery.
type Settlement struct {
	// State is pending for another attempt at DueAt, otherwise final.
	State api.DeliveryState
	DueAt time.Time
	// Reason says why a delivery failed or was blocked.
	Reason string
	// Deactivate ends the subscription with this reason; "" leaves it.
	Deactivate string
}

// factSettle names what Settle commits.
const factSettle = "settle delivery"

// Settle records an attempt and what follows from it, in one transaction. [ErrLeaseLost] says that the delivery was
// claimed or asked for again since: the attempt is recorded, what follows for the delivery is decided by the one that holds the
// lease, and the receiver may have got the event twice, under the same identifier.
func (d Delivery) Settle(ctx context.Context, attempt Attempt, s Settlement) error {
	t := d.Tenant
	leased := false
	err := t.writeOf(ctx, d.ID, factSettle, func(ctx context.Context, tx *tx) error {
		// The subscription is locked before any delivery of it: two attempts that deactivate it would wait for each other. Where
		// the destination leads is true however late it is seen.
		if err := t.deactivateFor(ctx, tx, d.Subscription, s.Deactivate); err != nil {
			return err
		}
		var ordinal int64
		var err error
		if ordinal, leased, err = d.settle(ctx, tx, s); err != nil {
			return err
		}
		return t.insertAttempt(ctx, tx, d.ID, ordinal, attempt)
	})
	if err == nil && !leased {
		err = ErrLeaseLost
	}
	return err
}

// settle writes what an attempt makes of its delivery, and returns the ordinal of the attempt. leased tells whether the
// lease still stood.
func (d Delivery) settle(ctx context.Context, tx *tx, s Settlement) (ordinal int64, leased bool, err error) {
	t := d.Tenant
	now := micros(t.db.now())
	var due, reason any
	switch {
	case s.State == DeliveryPending:
		due = micros(s.DueAt)
		tx.wake(WorkDeliveries) // the workers have to know when it is due
	case s.Reason != "":
		reason = s.Reason
	}
	err = tx.QueryRowContext(ctx, `update deliveries set attempts = attempts + 1, round = round + 1, lease = lease + 1, leased = 0,
		updated_at = $4, state = $5, reason = $6, due_at = $7
		where tenant_id = $1 and id = $2 and lease = $3 and (state = 'pending' or $5 <> 'pending') returning attempts`,
		t.id, d.ID, d.lease, now, s.State, reason, due).Scan(&ordinal)
	if !errors.Is(err, sql.ErrNoRows) {
		return ordinal, true, err
	}
	return d.settleLate(ctx, tx, now)
}

// settleLate counts an attempt after which nothing follows here: the subscription was deactivated meanwhile, or somebody
// else holds the lease, and what follows is theirs to say.
func (d Delivery) settleLate(ctx context.Context, tx *tx, now int64) (ordinal int64, leased bool, err error) {
	t := d.Tenant
	var lease int64
	if err := tx.QueryRowContext(ctx, `select lease, attempts + 1 from deliveries where tenant_id = $1 and id = $2`+t.db.lock, t.id, d.ID).Scan(&lease, &ordinal); err != nil {
		return 0, false, err
	}
	if leased = lease == d.lease; leased {
		_, err = tx.exec(ctx, `update deliveries set attempts = $3, round = round + 1, lease = lease + 1, leased = 0, updated_at = $4, reason = $5
			where tenant_id = $1 and id = $2`, t.id, d.ID, ordinal, now, reasonInactive)
	} else {
		_, err = tx.exec(ctx, `update deliveries set attempts = $3 where tenant_id = $1 and id = $2`, t.id, d.ID, ordinal)
	}
	return ordinal, leased, err
}

// deactivateFor deactivates a subscription for a reason, if there is one.
func (t *Tenant) deactivateFor(ctx context.Context, tx *tx, subscription ID, reason string) error {
	if reason == "" {
		return nil
	}
	return t.deactivate(ctx, tx, subscription, reason)
}

func (t *Tenant) insertAttempt(ctx context.Context, tx *tx, delivery ID, ordinal int64, a Attempt) error {
	answer := a.Answer
	if answer == nil {
		answer = []byte{}
	}
	_, err := tx.exec(ctx, `insert into attempts (tenant_id, delivery_id, ordinal, started_at, duration, http_status, error_class, answer)
		values ($1, $2, $3, $4, $5, $6, $7, $8)`, t.id, delivery, ordinal, micros(a.StartedAt), a.Duration.Microseconds(),
		a.HTTPStatus, a.ErrorClass, answer)
	return err
}
