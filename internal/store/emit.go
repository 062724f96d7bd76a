package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/secret"
)

// eventBatch holds the events of one operation and their deliveries, ready to be written. The entry of the operation in
// the chain of evidence contains their digests, so they are created before the entry and written after it.
type eventBatch struct {
	events, deliveries [][]any
	// digests are the digests of the events, concatenated; see [eventDigest].
	digests []byte
}

// eventDigest returns the digest of an event and of the parts of its deliveries that never change.
func eventDigest(e Event, resourceType string, resource ID, deliveries []eventDelivery) [32]byte {
	hash := newDigester("quittance/event/v1")
	hash.field(e.ID[:])
	hash.number(e.Position)
	hash.field([]byte(e.Kind))
	hash.field([]byte(resourceType))
	hash.field(resource[:])
	hash.number(micros(e.OccurredAt))
	hash.field(e.Body)
	for _, d := range deliveries {
		hash.field(d.id[:])
		hash.field(d.subscription[:])
		hash.field([]byte(d.kind))
		hash.number(d.created)
	}
	return hash.sum()
}

// eventDelivery is the part of a delivery that never changes. The digest of an event has them in the order of their
// identifiers.
type eventDelivery struct {
	id, subscription ID
	kind             string
	created          int64 // microseconds since 1970
}

// eventBody renders an event. This happens once: every attempt of every delivery sends the same bytes.
func eventBody[P any](id ID, kind api.EventKind, at time.Time, resourceType string, resource ID,
	payload P) ([]byte, error) {
	body, err := json.Marshal(api.Event[P]{SchemaVersion: api.SchemaVersion, ID: id.String(), Event: kind,
		ResourceType: resourceType, ResourceID: resource.String(), OccurredAt: at.Format(TimestampLayout), Payload: payload})
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	return body, nil
}

func eventsSealBinding(tenant ID) secret.Binding {
	return secret.Binding{Tenant: tenant[:], Table: "tenants", Column: "events_seal", Row: tenant[:]}
}

// prepareEvents prepares events about one resource that occurred at now, and a delivery of each event for every active
// subscription to its kind. Their positions come from a sealed counter in the tenant's row. That row stays locked until
// the commit, so that no event becomes visible after one with a higher position.
func prepareEvents[P any](ctx context.Context, tx *tx, t *Tenant, now time.Time, kinds []api.EventKind,
	resourceType string, resource ID, payload P) (eventBatch, error) {
	var out eventBatch
	if len(kinds) == 0 {
		return out, nil
	}
	// The counter is updated before the subscriptions are read. A subscription is created under a lock of the same row, so
	// from then on it misses no event.
	if err := tx.ExecDeferred(ctx, `update tenants set events = events + $2 where id = $1`, t.id, len(kinds)); err != nil {
		return out, err
	}
	last, sealed, subscriptions, err := t.lockedEventState(ctx, tx)
	if err != nil {
		return out, err
	}
	used := tx.takeUsage(t.id)
	for n, kind := range kinds {
		e := Event{Position: last - int64(len(kinds)-1-n), Kind: kind, OccurredAt: now}
		if e.ID, err = newID(now, t.db.random); err != nil {
			return out, err
		}
		if e.Body, err = eventBody(e.ID, kind, now, resourceType, resource, payload); err != nil {
			return out, err
		}
		used.bytes += int64(len(e.Body))
		if err := out.add(t, e, resourceType, resource, subscriptions); err != nil {
			return out, err
		}
	}
	return out, t.sealEventCount(ctx, tx, last, last-int64(len(kinds)), sealed, used)
}

// sealEventCount seals the number of a tenant's events, which was before and is now last, and writes the quota
// counters.
func (t *Tenant) sealEventCount(ctx context.Context, tx *tx, last, before int64, sealed []byte, used usage) error {
	next := seal{chainEnd: chainEnd{count: last}}
	if before > 0 || sealed != nil {
		found, err := continueSeal(t.db.keys, sealed, eventsSealBinding(t.id), seal{chainEnd: chainEnd{count: before}},
			func() (none [32]byte, err error) { return none, nil })
		if err != nil {
			return err
		}
		next.subject, next.history = found.subject, found.history
	}
	fresh, err := next.seal(t.db.keys, eventsSealBinding(t.id))
	if err != nil {
		return err
	}
	return tx.ExecDeferred(ctx,
		`update tenants set events_seal = $2, stored_bytes = stored_bytes + $3, drafts = drafts + $4 where id = $1`,
		t.id, fresh, used.bytes, used.drafts)
}

// add adds an event with its deliveries to the batch.
func (m *eventBatch) add(t *Tenant, e Event, resourceType string, resource ID,
	subscriptions []activeSubscription) error {
	var deliveries []eventDelivery
	for _, s := range subscriptions {
		if !slices.Contains(s.kinds, e.Kind) {
			continue
		}
		id, err := newID(e.OccurredAt, t.db.random)
		if err != nil {
			return err
		}
		at := micros(e.OccurredAt)
		deliveries = append(deliveries, eventDelivery{id, s.id, string(e.Kind), at})
		m.deliveries = append(m.deliveries, []any{t.id, id, e.ID, s.id, e.Kind, api.DeliveryPending, at, at, at}) //planted:one-subscription-notified
	}
	sortDeliveries(deliveries)
	m.events = append(m.events, []any{t.id, e.ID, e.Position, e.Kind, resourceType, resource, micros(e.OccurredAt),
		e.Body})
	digest := eventDigest(e, resourceType, resource, deliveries)
	m.digests = append(m.digests, digest[:]...)
	return nil
}

func sortDeliveries(deliveries []eventDelivery) {
	slices.SortFunc(deliveries, func(a, b eventDelivery) int { return slices.Compare(a.id[:], b.id[:]) })
}

// write writes the events and their deliveries.
func (m *eventBatch) write(ctx context.Context, tx *tx) error {
	if err := tx.Insert(ctx,
		`insert into events (tenant_id, id, position, kind, resource_type, resource_id, occurred_at, body) values`, m.events,
		""); err != nil {
		return err
	}
	if len(m.deliveries) > 0 {
		tx.notify(WorkDeliveries)
	}
	return tx.Insert(ctx,
		`insert into deliveries (tenant_id, id, event_id, subscription_id, kind, state, created_at, updated_at, due_at) values`, m.deliveries, "")
}

// activeSubscription is an active subscription with the kinds of its events.
type activeSubscription struct {
	id    ID
	kinds []api.EventKind
}

// lockedEventState returns the position of the tenant's last event, its seal, and the active subscriptions. The caller
// has locked the tenant's row.
func (t *Tenant) lockedEventState(ctx context.Context,
	q querier) (last int64, sealed []byte, active []activeSubscription, err error) {
	_, err = collect(ctx, q, func(row scanner) (struct{}, error) {
		var id sql.Null[ID]
		var kinds sql.Null[string]
		err := row.Scan(&last, &sealed, &id, &kinds)
		if id.Valid {
			active = append(active, activeSubscription{id: id.V, kinds: splitKinds(kinds.V)})
		}
		return struct{}{}, err
	}, `select t.events, t.events_seal, s.id, s.events from tenants t left join subscriptions s on s.tenant_id = t.id and s.active = 1
		where t.id = $1 order by s.id`, t.id)
	return last, sealed, active, err
}
