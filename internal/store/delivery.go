package store

import (
	"bytes"
	"context"
	"errors"
	"slices"
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
	// Abandoned says that the attempt before was never settled: its worker panicked, or its process ended. It counts as one that
	// had no answer, and the caller settles it as such before it makes another.
	Abandoned bool

	lease int64
}

// ClaimDeliveries leases up to limit due deliveries of a lane until lease has passed: nobody else works on them
// meanwhile, and after it they are due again. Nothing is leased of a subscription that is no longer active: a batch of its
// pending deliveries ends here.
func (q Queue) ClaimDeliveries(ctx context.Context, limit int, lease time.Duration) ([]Delivery, error) {
	t := q.tenant
	var claimed []Delivery
	err := t.write(ctx, "claim deliveries", func(ctx context.Context, tx *tx) error {
		now := tx.now()
		leased, err := collect(ctx, tx, func(row scanner) (Delivery, error) {
			d := Delivery{Tenant: t, Subscription: q.id}
			var occurred, claims int64
			err := row.Scan(&d.ID, &d.Event, &d.Attempts, &d.Round, &d.lease, &claims, &d.Kind, &occurred, &d.Body)
			d.OccurredAt, d.Abandoned = instant(occurred), claims > 1
			return d, err
		}, `with due as materialized (select id from deliveries
				where tenant_id = $1 and subscription_id = $2 and due_at <= $3
					and exists (select 1 from subscriptions where tenant_id = $1 and id = $2 and active = 1) order by due_at limit $4`+t.db.claim+`)
			update deliveries set lease = lease + 1, leased = leased + 1, due_at = $5 where tenant_id = $1 and id `+t.db.among(`select id from due`)+`
			returning id, event_id, attempts, round, lease, leased, kind,
				(select occurred_at from events e where e.tenant_id = deliveries.tenant_id and e.id = deliveries.event_id),
				(select body from events e where e.tenant_id = deliveries.tenant_id and e.id = deliveries.event_id)`,
			t.id, q.id, micros(now), limit, micros(now.Add(lease)))
		if err != nil {
			return err
		}
		claimed, err = t.fill(ctx, tx, q.id, leased)
		return err
	})
	if err != nil {
		return nil, err // the events themselves may have been undone with the claim
	}
	return claimed, nil
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
		return nil, t.endPending(ctx, tx, subscription)
	}
	if len(leased) == 0 {
		return nil, nil
	}
	key, err := t.db.keys.openBound(sealed, subscriptionBinding(t.id, subscription), boundURL(url))
	if errors.Is(err, ErrChangedRow) {
		// Nothing goes to an address that nobody has given us, and nothing waits for one: the events stay, and their deliveries can
		// be asked for again once the row is right.
		t.db.log.ErrorContext(ctx, "webhook deliveries end: their subscription does not open", "tenant", t.id, "subscription", subscription, "error", err)
		_, err := tx.exec(ctx, `update deliveries set state = 'failed', reason = $3, due_at = null, updated_at = $4
			where tenant_id = $1 and subscription_id = $2 and state = 'pending'`, t.id, subscription, reasonChanged, micros(tx.now()))
		return nil, err
	}
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

// ending is an attempt that is to be recorded, and then is.
type ending struct {
	Delivery
	attempt    Attempt
	settlement Settlement
	ordinal    int64 // of the attempt, from 1; 0 until it is known
	leased     bool  // the lease still stood
}

// Settle records an attempt and what follows from it, in one transaction. [ErrLeaseLost] says that the delivery was
// claimed or asked for again since: the attempt is recorded, what follows for the delivery is decided by the one that holds the
// lease, and the receiver may have got the event twice, under the same identifier.
func (d Delivery) Settle(ctx context.Context, attempt Attempt, s Settlement) error {
	e := &ending{Delivery: d, attempt: attempt, settlement: s}
	var err error
	if s.Deactivate == "" {
		err = writeShared(ctx, d.Tenant, d.ID, factSettle, e, len(attempt.Answer), settle)
	} else {
		// Alone: it ends a batch of what is pending.
		err = d.Tenant.write(ctx, factSettle, func(ctx context.Context, tx *tx) error {
			// The subscription is locked before any delivery of it: two attempts that deactivate it would wait for each other.
			// Where the destination leads is true however late it is seen.
			if err := d.Tenant.deactivate(ctx, tx, d.Subscription, s.Deactivate); err != nil {
				return err
			}
			return settle(ctx, tx, []*ending{e})
		})
	}
	if err == nil && !e.leased {
		err = ErrLeaseLost
	}
	return err
}

// settle records attempts of any companies.
func settle(ctx context.Context, tx *tx, ends []*ending) error {
	// Deliveries are locked in the order of their identifiers, so that no two who lock several wait for each other.
	slices.SortStableFunc(ends, func(a, b *ending) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	now := micros(tx.now())
	for rest := ends; len(rest) > 0; {
		// One statement changes a row once: another attempt at the same delivery comes after it.
		var apart, again []*ending
		byID := make(map[ID]*ending, len(rest))
		for _, e := range rest {
			if e.ordinal, e.leased = 0, false; byID[e.ID] != nil {
				again = append(again, e)
				continue
			}
			byID[e.ID] = e
			apart = append(apart, e)
		}
		if err := settleApart(ctx, tx, apart, byID, now); err != nil {
			return err
		}
		rest = again
	}
	return insertAttempts(ctx, tx, ends)
}

// settleApart writes what attempts make of their deliveries, of which no two are the same.
func settleApart(ctx context.Context, tx *tx, ends []*ending, byID map[ID]*ending, now int64) error {
	db := tx.db
	type settled struct {
		id      ID
		ordinal int64
	}
	done, err := collect(ctx, tx, func(row scanner) (s settled, err error) { return s, row.Scan(&s.id, &s.ordinal) },
		`with ends (tenant, delivery, held, becomes, why, due) as (`+db.rows("bytea", "bytea", "bigint", "text", "text", "bigint")+`)
		update deliveries set attempts = attempts + 1, round = round + 1, lease = lease + 1, leased = 0,
			updated_at = $7, state = ends.becomes, reason = ends.why, due_at = ends.due from ends
		where deliveries.tenant_id = ends.tenant and deliveries.id = ends.delivery and deliveries.lease = ends.held
			and (deliveries.state = 'pending' or ends.becomes <> 'pending') returning id, attempts`,
		column(db, ends, func(e *ending) ID { return e.Tenant.id }), column(db, ends, func(e *ending) ID { return e.ID }),
		column(db, ends, func(e *ending) int64 { return e.lease }), column(db, ends, func(e *ending) string { return string(e.settlement.State) }),
		column(db, ends, (*ending).reason), column(db, ends, (*ending).due), now)
	if err != nil {
		return err
	}
	for _, s := range done {
		e := byID[s.id]
		e.ordinal, e.leased = s.ordinal, true
	}
	for _, e := range ends {
		if e.settlement.State == DeliveryPending {
			tx.wake(WorkDeliveries) // the workers have to know when it is due
		}
		if e.leased {
			continue
		}
		if e.ordinal, e.leased, err = e.settleLate(ctx, tx, now); err != nil {
			return err
		}
	}
	return nil
}

// due is when the next attempt is due; nil for never.
func (e *ending) due() *int64 {
	if e.settlement.State != DeliveryPending {
		return nil
	}
	return new(micros(e.settlement.DueAt))
}

// reason is why the delivery has ended as it has; nil for no reason.
func (e *ending) reason() *string {
	if e.settlement.State == DeliveryPending || e.settlement.Reason == "" {
		return nil
	}
	return &e.settlement.Reason
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

func insertAttempts(ctx context.Context, tx *tx, ends []*ending) error {
	db := tx.db
	_, err := tx.exec(ctx, `insert into attempts (tenant_id, delivery_id, ordinal, started_at, duration, http_status, error_class, answer) `+
		db.rows("bytea", "bytea", "bigint", "bigint", "bigint", "bigint", "text", "bytea"),
		column(db, ends, func(e *ending) ID { return e.Tenant.id }), column(db, ends, func(e *ending) ID { return e.ID }),
		column(db, ends, func(e *ending) int64 { return e.ordinal }), column(db, ends, func(e *ending) int64 { return micros(e.attempt.StartedAt) }),
		column(db, ends, func(e *ending) int64 { return e.attempt.Duration.Microseconds() }),
		column(db, ends, func(e *ending) int64 { return int64(e.attempt.HTTPStatus) }),
		column(db, ends, func(e *ending) string { return e.attempt.ErrorClass }), column(db, ends, (*ending).answer))
	return err
}

// answer is the beginning of the answer, which is never null.
func (e *ending) answer() []byte {
	if e.attempt.Answer == nil {
		return []byte{}
	}
	return e.attempt.Answer
}
