package events

import (
	"context"
	"database/sql"
	"net/url"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
)

// MaxSubscriptions is how many active webhook subscriptions a company may have.
const MaxSubscriptions = 20

// DeactivationRequested is the reason of a deactivation by the company; other reasons come with attempts.
const DeactivationRequested = "requested"

// reasonInactive is the reason of a pending delivery that fails because its subscription was deactivated.
const reasonInactive = "subscription_inactive"

// reasonChanged is the reason of a delivery that fails because its subscription was changed by other means than this
// program; see [base.ErrChangedRow].
const reasonChanged = "subscription_changed"

// Subscription is a company's webhook destination.
type Subscription struct {
	ID                 base.ID
	URL                string
	Events             []api.EventKind
	Description        *string
	Active             bool
	CreatedAt          time.Time
	DeactivatedAt      *time.Time
	DeactivationReason *string
	// FailingSince is when the first of the attempts began that have failed since one arrived. It is nil if the last one
	// arrived, and for an inactive subscription.
	FailingSince *time.Time
}

// FailingAfter is how long the attempts to a destination may fail before its company and the operators should know:
// retries survive a restart of the receiver.
const FailingAfter = 10 * time.Minute

// IsFailing reports whether the company and the operators should know that the attempts to the destination fail.
func (s Subscription) IsFailing(now time.Time) bool {
	return s.Active && s.FailingSince != nil && now.Sub(*s.FailingSince) >= FailingAfter
}

// NewSubscription holds the values of a new subscription. The caller has checked the URL.
type NewSubscription struct {
	URL         string
	Events      []api.EventKind
	Description *string
	Secret      secret.Text
}

// SubscriptionBinding is where the signing secret of a subscription stands.
func SubscriptionBinding(tenant, id base.ID) secret.Binding {
	return secret.Binding{Tenant: tenant[:], Table: "subscriptions", Column: "secret", Row: id[:]}
}

// BoundURL returns what a signing secret is bound to: the URL that signed requests go to.
func BoundURL(url string) []string { return []string{url} }

// CreateSubscription stores an active subscription with its signing secret sealed. It returns [base.ErrLimit] if the
// company has [MaxSubscriptions] active ones or has reached its quota of created ones.
func CreateSubscription(ctx context.Context, t *base.Tenant, add NewSubscription) (Subscription, error) {
	var s Subscription
	err := t.Write(ctx, "create subscription", func(ctx context.Context, tx *base.Tx) error {
		// The tenant's row is locked so that two concurrent creations cannot both be the twentieth, and so that no event that
		// read the subscriptions before this transaction is committed after it.
		var tenant base.ID
		if err := tx.QueryRowContext(ctx, `select id from tenants where id = $1 and frozen_at is null`+
			t.DB().Dialect().ForUpdate(), t.ID()).Scan(&tenant); err != nil {
			return err
		}
		var active, created int64
		if err := tx.QueryRowContext(ctx,
			`select count(case when active = 1 then 1 end), count(*) from subscriptions where tenant_id = $1`,
			t.ID()).Scan(&active, &created); err != nil {
			return err
		}
		if active >= MaxSubscriptions {
			return &base.QuotaError{Quota: base.QuotaSubscriptions, Limit: MaxSubscriptions}
		}
		if most := t.DB().Quotas().SubscriptionsCreated; created >= base.LimitOf(most) {
			return &base.QuotaError{Quota: base.QuotaSubscriptionsCreated, Limit: most}
		}
		id, err := base.NewID(tx.Now(), t.DB().Random())
		if err != nil {
			return err
		}
		sealed, err := tx.DB.Sealer().SealBound(add.Secret, SubscriptionBinding(t.ID(), id), BoundURL(add.URL))
		if err != nil {
			return err
		}
		host := ""
		if destination, err := url.Parse(add.URL); err == nil {
			host = destination.Host // the path may have a secret
		}
		if err := t.Audit(tx, base.Act{Name: "subscription.create", SubjectType: "subscription", Subject: id.String(),
			Details: map[string]string{"host": host, "events": joinKinds(add.Events)}}); err != nil {
			return err
		}
		s = Subscription{ID: id, URL: add.URL, Events: add.Events, Description: add.Description, Active: true,
			CreatedAt: tx.Now()}
		_, err = tx.Exec(ctx, `insert into subscriptions (tenant_id, id, url, events, description, secret, active, created_at)
			values ($1, $2, $3, $4, $5, $6, 1, $7)`, t.ID(), id, s.URL, joinKinds(s.Events), s.Description, sealed, base.Micros(s.CreatedAt))
		return err
	})
	return s, err
}

// SubscriptionColumns are what [ScanSubscription] reads.
const SubscriptionColumns = `id, url, events, description, active, created_at, deactivated_at, deactivation_reason, failing_since`

// ScanSubscription reads a subscription.
func ScanSubscription(row base.Row) (Subscription, error) {
	var s Subscription
	var kinds string
	var description, reason sql.Null[string]
	var active, created int64
	var deactivated, failing sql.Null[int64]
	if err := row.Scan(&s.ID, &s.URL, &kinds, &description, &active, &created, &deactivated, &reason,
		&failing); err != nil {
		return Subscription{}, err
	}
	s.Events, s.Description, s.Active = splitKinds(kinds), base.TextOrNil(description), active == 1
	s.CreatedAt, s.DeactivatedAt, s.DeactivationReason = base.Instant(created), base.InstantOrNil(deactivated),
		base.TextOrNil(reason)
	s.FailingSince = base.InstantOrNil(failing)
	return s, nil
}

// FindSubscription returns one subscription.
func FindSubscription(ctx context.Context, t *base.Tenant, id base.ID) (Subscription, error) {
	return base.ReadValue(t, func(q base.Querier) (Subscription, error) {
		return ScanSubscription(q.QueryRowContext(ctx,
			`select `+SubscriptionColumns+` from subscriptions where tenant_id = $1 and id = $2`, t.ID(), id))
	})
}

// endBatch is how many deliveries of a deactivated subscription end in one transaction, so that a million pending ones
// do not delay other writes.
const endBatch = 500

// deactivate deactivates a subscription permanently. The subscription and its deliveries stay. Pending deliveries fail,
// except that the result of an attempt in progress is recorded. deactivate ends the first [endBatch] of them. The queue
// of the subscription stays due while there are more, and each claim ends another batch; until then reads show them as
// failed.
func deactivate(ctx context.Context, t *base.Tenant, tx *base.Tx, id base.ID, reason string) error {
	now := base.Micros(tx.Now())
	deactivated, err := tx.Exec(ctx,
		`update subscriptions set active = 0, deactivated_at = $3, deactivation_reason = $4, failing_since = null
		where tenant_id = $1 and id = $2 and active = 1`, t.ID(), id, now, reason)
	if err != nil {
		return err
	}
	if deactivated > 0 {
		if reason != DeactivationRequested {
			identity.Notify(tx, t.Account(), identity.NoticeDeactivated)
		}
		if err := t.Audit(tx, base.Act{Name: "subscription.deactivate", SubjectType: "subscription", Subject: id.String(),
			Details: map[string]string{"reason": reason}}); err != nil {
			return err
		}
	}
	return endPending(ctx, t, tx, id, reasonInactive)
}

// endPending ends a batch of the pending deliveries of a subscription that gets no more requests, for the given reason.
// It leaves rows that another transaction has locked to a later batch: the result of an attempt is being recorded, and
// may be a different one.
func endPending(ctx context.Context, t *base.Tenant, tx *base.Tx, subscription base.ID, reason string) error {
	ended, err := tx.Exec(ctx, `with pending as materialized (select id from deliveries
			where tenant_id = $1 and subscription_id = $2 and due_at is not null order by due_at limit $5`+t.DB().Dialect().ForUpdateSkipLocked()+`)
		update deliveries set state = 'failed', reason = $4, due_at = null, updated_at = $3
		where tenant_id = $1 and state = 'pending' and id `+t.DB().Dialect().InSubquery(`select id from pending`), t.ID(), subscription, base.Micros(tx.Now()), reason, endBatch)
	if ended == endBatch {
		tx.Notify(base.WorkDeliveries) // there may be more
	}
	return err
}

// DeactivateSubscription deactivates a subscription at its owner's request. It does nothing if the subscription is
// inactive.
func DeactivateSubscription(ctx context.Context, t *base.Tenant, id base.ID) (Subscription, error) {
	var s Subscription
	err := t.Write(ctx, "deactivate subscription", func(ctx context.Context, tx *base.Tx) error {
		read := func() (err error) {
			s, err = ScanSubscription(tx.QueryRowContext(ctx, `select `+SubscriptionColumns+
				` from subscriptions where tenant_id = $1 and id = $2`+t.DB().Dialect().ForUpdate(), t.ID(), id))
			return err
		}
		if err := read(); err != nil || !s.Active {
			return err
		}
		if err := deactivate(ctx, t, tx, id, DeactivationRequested); err != nil {
			return err
		}
		return read()
	})
	return s, err
}
