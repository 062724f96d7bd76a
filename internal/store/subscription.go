package store

import (
	"context"
	"database/sql"
	"time"

	"quittance/api"
	"quittance/internal/secret"
)

// MaxSubscriptions is how many active webhook subscriptions a company may have (contract, section 9).
const MaxSubscriptions = 20

// reasonRequested is why a subscription was deactivated by its owner; the other reasons come with a delivery.
const reasonRequested = "requested"

// reasonInactive is why a pending delivery of a deactivated subscription ends.
const reasonInactive = "subscription_inactive"

// reasonChanged is why a delivery ends whose subscription was changed outside of this program; see [ErrChangedRow].
const reasonChanged = "subscription_changed"

// Subscription is a company's webhook destination.
type Subscription struct {
	ID                 ID
	URL                string
	Events             []api.EventKind
	Description        *string
	Active             bool
	CreatedAt          time.Time
	DeactivatedAt      *time.Time
	DeactivationReason *string
}

// NewSubscription is what a subscription is made from. The caller has checked the URL.
type NewSubscription struct {
	URL         string
	Events      []api.EventKind
	Description *string
	Secret      secret.Text
}

func subscriptionBinding(tenant, id ID) secret.Binding {
	return secret.Binding{Tenant: tenant[:], Table: "subscriptions", Column: "secret", Row: id[:]}
}

// boundURL is what a signing secret is sealed with: where what it signs is sent.
func boundURL(url string) []string { return []string{url} }

// CreateSubscription stores an active subscription with its signing secret sealed; [ErrLimit] after
// [MaxSubscriptions] active ones, or as many as were ever to be created.
func (t *Tenant) CreateSubscription(ctx context.Context, add NewSubscription) (Subscription, error) {
	var s Subscription
	err := t.write(ctx, "create subscription", func(ctx context.Context, tx *tx) error {
		// The tenant's row is locked so that two creations cannot both be the twentieth, and so that no event is committed
		// after this whose look at who listens came before.
		var tenant ID
		if err := tx.QueryRowContext(ctx, `select id from tenants where id = $1 and frozen_at is null`+t.db.forUpdate, t.id).Scan(&tenant); err != nil {
			return err
		}
		var active, created int64
		if err := tx.QueryRowContext(ctx, `select count(case when active = 1 then 1 end), count(*) from subscriptions where tenant_id = $1`, t.id).Scan(&active, &created); err != nil {
			return err
		}
		if active >= MaxSubscriptions {
			return &QuotaError{QuotaSubscriptions, MaxSubscriptions}
		}
		if most := t.db.quotas.SubscriptionsCreated; created >= limitOf(most) {
			return &QuotaError{QuotaSubscriptionsCreated, most}
		}
		id, err := newID(tx.now(), t.db.random)
		if err != nil {
			return err
		}
		sealed, err := tx.sealBound(ctx, add.Secret, subscriptionBinding(t.id, id), boundURL(add.URL))
		if err != nil {
			return err
		}
		s = Subscription{ID: id, URL: add.URL, Events: add.Events, Description: add.Description, Active: true, CreatedAt: tx.now()}
		_, err = tx.exec(ctx, `insert into subscriptions (tenant_id, id, url, events, description, secret, active, created_at)
			values ($1, $2, $3, $4, $5, $6, 1, $7)`, t.id, id, s.URL, joinKinds(s.Events), s.Description, sealed, micros(s.CreatedAt))
		return err
	})
	return s, err
}

const subscriptionColumns = `id, url, events, description, active, created_at, deactivated_at, deactivation_reason`

func scanSubscription(row scanner) (Subscription, error) {
	var s Subscription
	var kinds string
	var description, reason sql.Null[string]
	var active, created int64
	var deactivated sql.Null[int64]
	if err := row.Scan(&s.ID, &s.URL, &kinds, &description, &active, &created, &deactivated, &reason); err != nil {
		return Subscription{}, err
	}
	s.Events, s.Description, s.Active = splitKinds(kinds), textOrNil(description), active == 1
	s.CreatedAt, s.DeactivatedAt, s.DeactivationReason = instant(created), instantOrNil(deactivated), textOrNil(reason)
	return s, nil
}

// Subscription returns one subscription.
func (t *Tenant) Subscription(ctx context.Context, id ID) (Subscription, error) {
	var s Subscription
	err := t.read(func(q querier) error {
		var err error
		s, err = scanSubscription(q.QueryRowContext(ctx, `select `+subscriptionColumns+` from subscriptions where tenant_id = $1 and id = $2`, t.id, id))
		return err
	})
	return s, err
}

// endBatch is how many deliveries of a deactivated subscription end in one transaction, so that a subscription with a million
// pending ones keeps nobody else waiting.
const endBatch = 500

// deactivate ends a subscription for good. It and its deliveries stay; those still pending end as failed, except that
// an attempt under way is recorded as it ends. The first [endBatch] of them end here. The subscription's queue is due at once as long
// as there are others, and each claim ends a batch of them; until then they are read as what they are going to be.
func (t *Tenant) deactivate(ctx context.Context, tx *tx, id ID, reason string) error {
	now := micros(tx.now())
	if _, err := tx.exec(ctx, `update subscriptions set active = 0, deactivated_at = $3, deactivation_reason = $4
		where tenant_id = $1 and id = $2 and active = 1`, t.id, id, now, reason); err != nil {
		return err
	}
	return t.endPending(ctx, tx, id)
}

// endPending ends a batch of the pending deliveries of a deactivated subscription. What somebody else holds at the moment is
// left to a later batch: an attempt is being settled, and may end otherwise.
func (t *Tenant) endPending(ctx context.Context, tx *tx, subscription ID) error {
	ended, err := tx.exec(ctx, `with pending as materialized (select id from deliveries
			where tenant_id = $1 and subscription_id = $2 and due_at is not null order by due_at limit $5`+t.db.forUpdateSkipLocked+`)
		update deliveries set state = 'failed', reason = $4, due_at = null, updated_at = $3
		where tenant_id = $1 and state = 'pending' and id `+t.db.inSubquery(`select id from pending`), t.id, subscription, micros(tx.now()), reasonInactive, endBatch)
	if ended == endBatch {
		tx.notify(WorkDeliveries) // there may be more
	}
	return err
}

// SubscriptionPage is one page of a list of subscriptions, newest first.
type SubscriptionPage struct {
	Subscriptions []Subscription
	Total         int
}

// Subscriptions returns a page of all subscriptions, the deactivated ones included.
func (t *Tenant) Subscriptions(ctx context.Context, number, perPage int) (SubscriptionPage, error) {
	var out SubscriptionPage
	err := t.list(ctx, func(ctx context.Context, q querier) error {
		total, limit, ok, err := page(ctx, q, number, perPage, `select count(*) from subscriptions where tenant_id = $1`, t.id)
		out.Total = total
		if err != nil || !ok {
			return err
		}
		out.Subscriptions, err = collect(ctx, q, scanSubscription, `select `+subscriptionColumns+` from subscriptions
			where tenant_id = $1 order by id desc`+limit.clause, limit.args...)
		return err
	})
	return out, err
}

// DeactivateSubscription ends a subscription at its owner's request; one that is deactivated already stays as it is.
func (t *Tenant) DeactivateSubscription(ctx context.Context, id ID) (Subscription, error) {
	var s Subscription
	err := t.write(ctx, "deactivate subscription", func(ctx context.Context, tx *tx) error {
		read := func() (err error) {
			s, err = scanSubscription(tx.QueryRowContext(ctx, `select `+subscriptionColumns+` from subscriptions where tenant_id = $1 and id = $2`+t.db.forUpdate, t.id, id))
			return err
		}
		if err := read(); err != nil || !s.Active {
			return err
		}
		if err := t.deactivate(ctx, tx, id, reasonRequested); err != nil {
			return err
		}
		return read()
	})
	return s, err
}
