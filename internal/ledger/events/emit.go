package events

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
)

// Batch holds the events of one operation and their deliveries, ready to be written. The entry of the operation in
// the chain of evidence contains their digests, so they are created before the entry and written after it.
type Batch struct {
	events, deliveries [][]any
	// Digests are the digests of the events, concatenated; see [Digest].
	Digests []byte
}

// Digest returns the digest of an event and of the parts of its deliveries that never change.
func Digest(e Event, resourceType string, resource base.ID, deliveries []PlannedDelivery) [32]byte {
	hash := base.NewDigester("quittance/event/v1")
	hash.Field(e.ID[:])
	hash.Number(e.Position)
	hash.Field([]byte(e.Kind))
	hash.Field([]byte(resourceType))
	hash.Field(resource[:])
	hash.Number(base.Micros(e.OccurredAt))
	hash.Field(e.Body)
	for _, d := range deliveries {
		hash.Field(d.ID[:])
		hash.Field(d.Subscription[:])
		hash.Field([]byte(d.Kind))
		hash.Number(d.Created)
	}
	return hash.Sum()
}

// PlannedDelivery is the part of a delivery that never changes. The digest of an event has them in the order of their
// identifiers.
type PlannedDelivery struct {
	ID, Subscription base.ID
	Kind             string
	Created          int64 // microseconds since 1970
}

// Body renders an event. This happens once: every attempt of every delivery sends the same bytes.
func Body[P any](id base.ID, kind api.EventKind, at time.Time, resourceType string, resource base.ID,
	payload P) ([]byte, error) {
	body, err := json.Marshal(api.Event[P]{SchemaVersion: api.SchemaVersion, ID: id.String(), Event: kind,
		ResourceType: resourceType, ResourceID: resource.String(), OccurredAt: at.Format(TimestampLayout), Payload: payload})
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	return body, nil
}

// Prepare prepares events about one resource that occurred at now, and a delivery of each event for every active
// subscription to its kind. Their positions come from a sealed counter in the tenant's row. That row stays locked until
// the commit, so that no event becomes visible after one with a higher position.
func Prepare[P any](ctx context.Context, tx *base.Tx, t *base.Tenant, now time.Time, kinds []api.EventKind,
	resourceType string, resource base.ID, payload P) (Batch, error) {
	var out Batch
	if len(kinds) == 0 {
		return out, nil
	}
	// The counter is updated before the subscriptions are read. A subscription is created under a lock of the same row, so
	// from then on it misses no event.
	if err := tx.ExecDeferred(ctx, `update tenants set events = events + $2 where id = $1`, t.ID(), len(kinds)); err != nil {
		return out, err
	}
	last, sealed, subscriptions, err := lockedEventState(ctx, t, tx)
	if err != nil {
		return out, err
	}
	used := tx.TakeUsage(t.ID())
	for n, kind := range kinds {
		e := Event{Position: last - int64(len(kinds)-1-n), Kind: kind, OccurredAt: now}
		if e.ID, err = base.NewID(now, t.DB().Random()); err != nil {
			return out, err
		}
		if e.Body, err = Body(e.ID, kind, now, resourceType, resource, payload); err != nil {
			return out, err
		}
		used.Bytes += int64(len(e.Body))
		if err := out.add(t, e, resourceType, resource, subscriptions); err != nil {
			return out, err
		}
	}
	return out, sealEventCount(ctx, t, tx, last, last-int64(len(kinds)), sealed, used)
}

// sealEventCount seals the number of a tenant's events, which was before and is now last, and writes the quota
// counters.
func sealEventCount(ctx context.Context, t *base.Tenant, tx *base.Tx, last, before int64, sealed []byte,
	used base.Usage) error {
	next := base.Seal{ChainEnd: base.ChainEnd{Count: last}}
	if before > 0 || sealed != nil {
		found, err := base.ContinueSeal(t.DB().Sealer(), sealed, base.EventsSealBinding(t.ID()),
			base.Seal{ChainEnd: base.ChainEnd{Count: before}}, func() (none [32]byte, err error) { return none, nil })
		if err != nil {
			return err
		}
		next.Subject, next.History = found.Subject, found.History
	}
	fresh, err := next.Sealed(t.DB().Sealer(), base.EventsSealBinding(t.ID()))
	if err != nil {
		return err
	}
	return tx.ExecDeferred(ctx,
		`update tenants set events_seal = $2, stored_bytes = stored_bytes + $3, drafts = drafts + $4 where id = $1`,
		t.ID(), fresh, used.Bytes, used.Drafts)
}

// add adds an event with its deliveries to the batch.
func (m *Batch) add(t *base.Tenant, e Event, resourceType string, resource base.ID,
	subscriptions []activeSubscription) error {
	var deliveries []PlannedDelivery
	for _, s := range subscriptions {
		if !slices.Contains(s.kinds, e.Kind) {
			continue
		}
		id, err := base.NewID(e.OccurredAt, t.DB().Random())
		if err != nil {
			return err
		}
		at := base.Micros(e.OccurredAt)
		deliveries = append(deliveries, PlannedDelivery{id, s.id, string(e.Kind), at})
		m.deliveries = append(m.deliveries, []any{t.ID(), id, e.ID, s.id, e.Kind, api.DeliveryPending, at, at, at}) //planted:one-subscription-notified
	}
	SortDeliveries(deliveries)
	m.events = append(m.events, []any{t.ID(), e.ID, e.Position, e.Kind, resourceType, resource, base.Micros(e.OccurredAt),
		e.Body})
	digest := Digest(e, resourceType, resource, deliveries)
	m.Digests = append(m.Digests, digest[:]...)
	return nil
}

// SortDeliveries puts the deliveries of an event into the order in which its digest names them.
func SortDeliveries(deliveries []PlannedDelivery) {
	slices.SortFunc(deliveries, func(a, b PlannedDelivery) int { return slices.Compare(a.ID[:], b.ID[:]) })
}

// Write writes the events and their deliveries.
func (m *Batch) Write(ctx context.Context, tx *base.Tx) error {
	if err := tx.Insert(ctx,
		`insert into events (tenant_id, id, position, kind, resource_type, resource_id, occurred_at, body) values`, m.events,
		""); err != nil {
		return err
	}
	if len(m.deliveries) > 0 {
		tx.Notify(base.WorkDeliveries)
	}
	return tx.Insert(ctx,
		`insert into deliveries (tenant_id, id, event_id, subscription_id, kind, state, created_at, updated_at, due_at) values`, m.deliveries, "")
}

// activeSubscription is an active subscription with the kinds of its events.
type activeSubscription struct {
	id    base.ID
	kinds []api.EventKind
}

// lockedEventState returns the position of the tenant's last event, its seal, and the active subscriptions. The caller
// has locked the tenant's row.
func lockedEventState(ctx context.Context, t *base.Tenant,
	q base.Querier) (last int64, sealed []byte, active []activeSubscription, err error) {
	_, err = base.Collect(ctx, q, func(row base.Row) (struct{}, error) {
		var id sql.Null[base.ID]
		var kinds sql.Null[string]
		err := row.Scan(&last, &sealed, &id, &kinds)
		if id.Valid {
			active = append(active, activeSubscription{id: id.V, kinds: splitKinds(kinds.V)})
		}
		return struct{}{}, err
	}, `select t.events, t.events_seal, s.id, s.events from tenants t left join subscriptions s on s.tenant_id = t.id and s.active = 1
		where t.id = $1 order by s.id`, t.ID())
	return last, sealed, active, err
}
