package events

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
)

// The states of a delivery.
const (
	DeliveryPending   = api.DeliveryPending
	DeliveryDelivered = api.DeliveryDelivered
	DeliveryFailed    = api.DeliveryFailed
	DeliveryBlocked   = api.DeliveryBlocked
)

// DeliveryLease is the exclusive right to make one attempt at a delivery (one event for one subscription), until the
// lease expires.
type DeliveryLease struct {
	Tenant       *base.Tenant
	ID           base.ID
	Subscription base.ID
	URL          string
	Secret       secret.Text
	Event        base.ID
	Kind         api.EventKind
	OccurredAt   time.Time
	Body         []byte
	// Attempts counts the attempts before this one. Round counts those since the delivery was created or last requested
	// again.
	Attempts, Round int
	// Abandoned reports that the previous attempt was never recorded because its worker panicked or its process ended. The
	// caller records it as an attempt without a response before it makes another one.
	Abandoned bool

	fencingToken int64
	failing      bool // attempts at the subscription failed when the delivery was claimed
}

// opClaimDeliveries is the operation of [ClaimDeliveries].
const opClaimDeliveries = "claim deliveries"

// ClaimDeliveries claims up to limit due deliveries of the queue for the duration. No other worker gets them during
// that time, and they are due again when it ends. If the subscription is no longer active, or was changed by other
// means than this program, ClaimDeliveries claims nothing and ends a batch of its pending deliveries instead.
func ClaimDeliveries(ctx context.Context, q base.Queue, limit int, duration time.Duration) ([]DeliveryLease, error) {
	t := q.Tenant()
	var claimed []DeliveryLease
	err := t.Write(ctx, opClaimDeliveries, func(ctx context.Context, tx *base.Tx) error {
		now := tx.Now()
		due, err := base.Collect(ctx, tx, func(row base.Row) (DeliveryLease, error) {
			d := DeliveryLease{Tenant: t, Subscription: q.Key()}
			var occurred, claims int64
			err := row.Scan(&d.ID, &d.Event, &d.Attempts, &d.Round, &d.fencingToken, &claims, &d.Kind, &occurred, &d.Body)
			d.OccurredAt, d.Abandoned = base.Instant(occurred), claims > 1
			return d, err
		}, `with due as materialized (select id from deliveries
				where tenant_id = $1 and subscription_id = $2 and due_at <= $3
					and exists (select 1 from subscriptions where tenant_id = $1 and id = $2 and active = 1) order by due_at limit $4`+t.DB().Dialect().ForUpdateSkipLocked()+`)
			update deliveries set lease = lease + 1, leased = leased + 1, due_at = $5 where tenant_id = $1 and id `+t.DB().Dialect().InSubquery(`select id from due`)+`
			returning id, event_id, attempts, round, lease, leased, kind,
				(select occurred_at from events e where e.tenant_id = deliveries.tenant_id and e.id = deliveries.event_id),
				(select body from events e where e.tenant_id = deliveries.tenant_id and e.id = deliveries.event_id)`,
			t.ID(), q.Key(), base.Micros(now), limit, base.Micros(now.Add(duration)))
		if err != nil {
			return err
		}
		claimed, err = addDestination(ctx, t, tx, q.Key(), due) //planted:delivered-before-it-is-sent
		return err
	})
	if errors.Is(err, base.ErrChangedRow) {
		// The URL may not be the one that the company gave, so nothing is sent to it, and the claims were rolled back. The
		// events stay, and their deliveries can be requested again once the row is repaired.
		t.DB().Log().ErrorContext(ctx, "webhook deliveries end: their subscription does not open", "account", t.Account(),
			"subscription", q.Key(), "error", err)
		return nil, t.Write(ctx, opClaimDeliveries, func(ctx context.Context, tx *base.Tx) error {
			return endPending(ctx, t, tx, q.Key(), reasonChanged)
		})
	}
	if err != nil {
		return nil, err // the claim, and even the events, may have been rolled back
	}
	return claimed, nil
}

// addDestination adds the URL and the signing secret of their subscription to claimed deliveries. If the subscription
// is inactive, it ends a batch of its pending deliveries and returns none. It returns [base.ErrChangedRow] if the
// subscription does not open.
func addDestination(ctx context.Context, t *base.Tenant, tx *base.Tx, subscription base.ID,
	claimed []DeliveryLease) ([]DeliveryLease, error) {
	var url string
	var active int64
	var sealed []byte
	var failing sql.Null[int64]
	err := tx.QueryRowContext(ctx, `select url, active, secret, failing_since from subscriptions
		where tenant_id = $1 and id = $2`, t.ID(), subscription).Scan(&url, &active, &sealed, &failing)
	if err != nil {
		return nil, err
	}
	if active == 0 {
		return nil, endPending(ctx, t, tx, subscription, reasonInactive)
	}
	if len(claimed) == 0 {
		return nil, nil
	}
	key, err := t.DB().Sealer().OpenBound(sealed, SubscriptionBinding(t.ID(), subscription), BoundURL(url))
	if err != nil {
		return nil, err
	}
	for n := range claimed {
		claimed[n].URL, claimed[n].Secret, claimed[n].failing = url, key, failing.Valid
	}
	return claimed, nil
}

// Attempt is one HTTP request to a webhook destination and its result.
type Attempt struct {
	StartedAt time.Time
	Duration  time.Duration
	// HTTPStatus is the status of the response. It is 0 when there was none; ErrorClass then says why.
	HTTPStatus int
	ErrorClass string
	// ResponseBody is the beginning of the response body, at most 1 KiB.
	ResponseBody []byte
}

// DeliveryUpdate is the new state of a delivery after an attempt.
type DeliveryUpdate struct {
	// State is pending if another attempt follows at DueAt, and otherwise terminal.
	State api.DeliveryState
	DueAt time.Time
	// Reason says why a delivery failed or was blocked.
	Reason string
	// KeepsFailing says that the owners are told that the delivery keeps failing.
	KeepsFailing bool
	// Deactivate is the reason for deactivating the subscription; "" leaves it active.
	Deactivate string
}

// attempting is the operation of [DeliveryLease.RecordAttempt]. It is shared because attempts come by the thousand, and
// lock no row that others hold for long.
//
//nolint:gochecknoglobals // a constant
var attempting = base.SharedOperation{Name: "record attempt", Groups: 1}

// attemptRecord is an attempt on its way into the database, and the result of recording it.
type attemptRecord struct {
	DeliveryLease
	attempt Attempt
	update  DeliveryUpdate
	ordinal int64 // of the attempt, from 1; 0 before it is recorded
	held    bool  // the caller still held the lease
}

// RecordAttempt records an attempt and updates its delivery, in one transaction. It returns [base.ErrLeaseLost] when
// the delivery was claimed or requested again in the meantime: the attempt is recorded, but the delivery is left to the
// holder of the lease. The receiver may then get the event twice, with the same identifier.
func (d DeliveryLease) RecordAttempt(ctx context.Context, attempt Attempt, update DeliveryUpdate) error {
	r := &attemptRecord{DeliveryLease: d, attempt: attempt, update: update}
	var err error
	if update.Deactivate == "" {
		err = base.WriteShared(ctx, d.Tenant, d.ID, attempting, r, len(attempt.ResponseBody), recordAttempts)
	} else {
		// In a transaction of its own, because it also ends a batch of pending deliveries.
		err = d.Tenant.Write(ctx, attempting.Name, func(ctx context.Context, tx *base.Tx) error {
			// The subscription is locked before its deliveries (docs/decisions/018-order-of-locks.md). It is deactivated even if
			// the lease was lost: what the attempt found out about the destination is still true.
			if err := deactivate(ctx, d.Tenant, tx, d.Subscription, update.Deactivate); err != nil {
				return err
			}
			return recordAttempts(ctx, tx, []*attemptRecord{r})
		})
	}
	if err == nil && d.failing && update.State == DeliveryDelivered {
		err = d.recordRecovery(ctx)
	}
	if err == nil && !r.held {
		err = base.ErrLeaseLost
	}
	return err
}

// recordRecovery notes that an attempt arrived after others had failed, as its claim had read. That is rare, so it has
// a transaction of its own, which locks the subscription alone. If the process ends before it, or another attempt fails
// between the claim and the arrival, the next attempt that arrives notes it.
func (d DeliveryLease) recordRecovery(ctx context.Context) error {
	return d.Tenant.Write(ctx, attempting.Name, func(ctx context.Context, tx *base.Tx) error {
		_, err := tx.Exec(ctx, `update subscriptions set failing_since = null where tenant_id = $1 and id = $2`, d.Tenant.ID(),
			d.Subscription)
		return err
	})
}

// recordAttempts records attempts, which may belong to several tenants.
func recordAttempts(ctx context.Context, tx *base.Tx, records []*attemptRecord) error {
	if err := recordFailing(ctx, tx, records); err != nil {
		return err
	}
	// Deliveries are locked in the order of their identifiers.
	slices.SortStableFunc(records, func(a, b *attemptRecord) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	now := base.Micros(tx.Now())
	for rest := records; len(rest) > 0; {
		// An update changes a row once, so further attempts at the same delivery go into the next statement.
		var distinct, repeated []*attemptRecord
		byID := make(map[base.ID]*attemptRecord, len(rest))
		for _, r := range rest {
			if r.ordinal, r.held = 0, false; byID[r.ID] != nil {
				repeated = append(repeated, r)
				continue
			}
			byID[r.ID] = r
			distinct = append(distinct, r)
		}
		if err := updateDeliveries(ctx, tx, distinct, byID, now); err != nil {
			return err
		}
		rest = repeated
	}
	return insertAttempts(ctx, tx, records)
}

// recordFailing notes since when the active subscriptions of failed attempts fail. It changes the row of one that does
// not fail yet.
func recordFailing(ctx context.Context, tx *base.Tx, records []*attemptRecord) error {
	type failing struct {
		tenant, subscription base.ID
		since                int64
	}
	var subscriptions []*failing
	for _, r := range records {
		if r.update.State == DeliveryDelivered {
			continue
		}
		since := base.Micros(r.attempt.StartedAt)
		known := slices.IndexFunc(subscriptions, func(s *failing) bool {
			return s.subscription == r.Subscription && s.tenant == r.Tenant.ID()
		})
		if known < 0 {
			subscriptions = append(subscriptions, &failing{r.Tenant.ID(), r.Subscription, since})
		} else {
			subscriptions[known].since = min(subscriptions[known].since, since)
		}
	}
	if len(subscriptions) == 0 {
		return nil
	}
	// The order in which they are locked.
	slices.SortFunc(subscriptions, func(a, b *failing) int { return bytes.Compare(a.subscription[:], b.subscription[:]) })
	_, err := tx.Exec(ctx, `with attempted (tenant_id, subscription_id, since) as (`+tx.DB.Dialect().Values("bytea", "bytea",
		"bigint")+`)
		update subscriptions set failing_since = attempted.since from attempted
		where subscriptions.tenant_id = attempted.tenant_id and subscriptions.id = attempted.subscription_id
			and subscriptions.active = 1 and subscriptions.failing_since is null`,
		base.RowArgs(tx.DB, subscriptions, func(s *failing) []any { return []any{s.tenant, s.subscription, s.since} })...)
	return err
}

// updateDeliveries updates the deliveries of attempts, no two of which belong to the same delivery; byID finds them by
// the delivery's identifier.
func updateDeliveries(ctx context.Context, tx *base.Tx, records []*attemptRecord, byID map[base.ID]*attemptRecord,
	now int64) error {
	db := tx.DB
	type updated struct {
		id      base.ID
		ordinal int64
	}
	// One statement updates every delivery whose lease the caller still holds: on PostgreSQL a batch of attempts costs one
	// round trip. It skips a delivery that ended in the meantime (its subscription was deactivated) and would become
	// pending again. What it does not return goes through recordLateAttempt below.
	rows, err := base.Collect(ctx, tx, func(row base.Row) (u updated, err error) { return u, row.Scan(&u.id, &u.ordinal) }, //planted:late-worker-overwrites
		`with attempted (tenant_id, delivery_id, lease, new_state, new_reason, new_due_at) as (`+db.Dialect().Values("bytea",
			"bytea", "bigint", "text", "text", "bigint")+`)
		update deliveries set attempts = attempts + 1, round = round + 1, lease = deliveries.lease + 1, leased = 0,
			updated_at = $7, state = attempted.new_state, reason = attempted.new_reason, due_at = attempted.new_due_at from attempted
		where deliveries.tenant_id = attempted.tenant_id and deliveries.id = attempted.delivery_id and deliveries.lease = attempted.lease
			and (deliveries.state = 'pending' or attempted.new_state <> 'pending') returning id, attempts`,
		base.RowArgs(db, records, func(r *attemptRecord) []any {
			return []any{r.Tenant.ID(), r.ID, r.fencingToken, string(r.update.State), r.reason(), r.due()}
		}, now)...)
	if err != nil {
		return err
	}
	for _, u := range rows {
		r := byID[u.id]
		if r.ordinal, r.held = u.ordinal, true; r.update.KeepsFailing {
			identity.Notify(tx, r.Tenant.Account(), identity.NoticeFailing)
		}
	}
	for _, r := range records {
		if r.update.State == DeliveryPending {
			tx.Notify(base.WorkDeliveries) // the workers need to know when it is due
		}
		if r.held {
			continue
		}
		if r.ordinal, r.held, err = r.recordLateAttempt(ctx, tx, now); err != nil {
			return err
		}
	}
	return nil
}

// due returns when the next attempt is due, or nil if none follows.
func (r *attemptRecord) due() *int64 {
	if r.update.State != DeliveryPending {
		return nil
	}
	return new(base.Micros(r.update.DueAt))
}

// reason returns why the delivery failed or was blocked, or nil.
func (r *attemptRecord) reason() *string {
	if r.update.State == DeliveryPending || r.update.Reason == "" {
		return nil
	}
	return &r.update.Reason
}

// recordLateAttempt counts an attempt that does not decide what happens to its delivery: the subscription was
// deactivated in the meantime, which ended the delivery, or another worker holds the lease. held reports whether the
// caller still holds it.
func (d DeliveryLease) recordLateAttempt(ctx context.Context, tx *base.Tx,
	now int64) (ordinal int64, held bool, err error) {
	t := d.Tenant
	var fencingToken int64
	if err := tx.QueryRowContext(ctx, `select lease, attempts + 1 from deliveries where tenant_id = $1 and id = $2`+
		t.DB().Dialect().ForUpdate(), t.ID(), d.ID).Scan(&fencingToken, &ordinal); err != nil {
		return 0, false, err
	}
	if held = fencingToken == d.fencingToken; held {
		_, err = tx.Exec(ctx,
			`update deliveries set attempts = $3, round = round + 1, lease = lease + 1, leased = 0, updated_at = $4, reason = $5
			where tenant_id = $1 and id = $2`, t.ID(), d.ID, ordinal, now, reasonInactive)
	} else {
		_, err = tx.Exec(ctx, `update deliveries set attempts = $3 where tenant_id = $1 and id = $2`, t.ID(), d.ID, ordinal)
	}
	return ordinal, held, err
}

func insertAttempts(ctx context.Context, tx *base.Tx, records []*attemptRecord) error {
	db := tx.DB
	_, err := tx.Exec(ctx,
		`insert into attempts (tenant_id, delivery_id, ordinal, started_at, duration, http_status, error_class, answer) `+
			db.Dialect().Values("bytea", "bytea", "bigint", "bigint", "bigint", "bigint", "text", "bytea"),
		base.RowArgs(db, records, func(r *attemptRecord) []any {
			a := &r.attempt
			body := a.ResponseBody
			if body == nil {
				body = []byte{} // the column is never null
			}
			return []any{r.Tenant.ID(), r.ID, r.ordinal, base.Micros(a.StartedAt), a.Duration.Microseconds(),
				int64(a.HTTPStatus), a.ErrorClass, body}
		})...)
	return err
}
