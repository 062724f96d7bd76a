package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/api"
)

// TimestampLayout is how an event time is written: RFC 3339, UTC, always six digits of a second.
const TimestampLayout = "2006-01-02T15:04:05.000000Z"

// Event is something that was told to the company's systems.
type Event struct {
	ID         ID
	Position   int64 // from 1, without gaps, in the order of commits
	Kind       api.EventKind
	OccurredAt time.Time
	Body       []byte // the exact bytes of every delivery
}

// appendEvents records events about one resource and a delivery of each for every active subscription to its kind.
// The body is rendered here, once: every attempt sends these bytes. Positions come from the tenant's own counter,
// whose row stays locked until the commit, so that none becomes visible behind a later one.
func appendEvents[P any](ctx context.Context, tx *tx, t *Tenant, kinds []api.EventKind, resourceType string, resource ID, payload P) error {
	if len(kinds) == 0 {
		return nil
	}
	// The counter comes before the look at who listens: a subscription is created under a lock of the same row, so that
	// whoever was told of it misses nothing that is committed from then on.
	if err := tx.Later(ctx, `update tenants set events = events + $2 where id = $1`, t.id, len(kinds)); err != nil {
		return err
	}
	last, subscriptions, err := t.listening(ctx, tx)
	if err != nil {
		return err
	}
	now := tx.now()
	var events, deliveries [][]any
	for n, kind := range kinds {
		id, err := newID(now, t.db.random)
		if err != nil {
			return err
		}
		body, err := json.Marshal(api.Event[P]{SchemaVersion: api.SchemaVersion, ID: id.String(), Event: kind,
			ResourceType: resourceType, ResourceID: resource.String(), OccurredAt: now.Format(TimestampLayout), Payload: payload})
		if err != nil {
			return fmt.Errorf("event: %w", err)
		}
		position := last - int64(len(kinds)-1-n)
		events = append(events, []any{t.id, id, position, kind, resourceType, resource, micros(now), body})
		for _, s := range subscriptions {
			if !slices.Contains(s.kinds, kind) {
				continue
			}
			delivery, err := newID(now, t.db.random)
			if err != nil {
				return err
			}
			deliveries = append(deliveries, []any{t.id, delivery, id, s.id, kind, api.DeliveryPending, micros(now), micros(now), micros(now)})
		}
	}
	if err := tx.insert(ctx, `insert into events (tenant_id, id, position, kind, resource_type, resource_id, occurred_at, body) values`, events, ""); err != nil {
		return err
	}
	if len(deliveries) > 0 {
		tx.wake(WorkDeliveries)
	}
	return tx.insert(ctx, `insert into deliveries (tenant_id, id, event_id, subscription_id, kind, state, created_at, updated_at, due_at) values`, deliveries, "")
}

// listener is an active subscription.
type listener struct {
	id    ID
	kinds []api.EventKind
}

// listening returns the position of the tenant's last event, and the active subscriptions.
func (t *Tenant) listening(ctx context.Context, q querier) (last int64, active []listener, err error) {
	_, err = collect(ctx, q, func(row scanner) (struct{}, error) {
		var id sql.Null[ID]
		var kinds sql.Null[string]
		err := row.Scan(&last, &id, &kinds)
		if id.Valid {
			active = append(active, listener{id: id.V, kinds: splitKinds(kinds.V)})
		}
		return struct{}{}, err
	}, `select t.events, s.id, s.events from tenants t left join subscriptions s on s.tenant_id = t.id and s.active = 1
		where t.id = $1 order by s.id`, t.id)
	return last, active, err
}

func splitKinds(text string) []api.EventKind {
	var kinds []api.EventKind
	for kind := range strings.FieldsSeq(text) {
		kinds = append(kinds, api.EventKind(kind))
	}
	return kinds
}

func joinKinds(kinds []api.EventKind) string {
	words := make([]string, len(kinds))
	for n, kind := range kinds {
		words[n] = string(kind)
	}
	return strings.Join(words, " ")
}

func scanEvent(row scanner) (Event, error) {
	var e Event
	var occurred int64
	err := row.Scan(&e.ID, &e.Position, &e.Kind, &occurred, &e.Body)
	e.OccurredAt = instant(occurred)
	return e, err
}

// Events returns up to limit events behind the position after, oldest first. A caller that goes on from the last
// position it was given misses none.
func (t *Tenant) Events(ctx context.Context, after int64, limit int) ([]Event, error) {
	var out []Event
	err := t.list(ctx, func(ctx context.Context, q querier) error {
		var err error
		out, err = collect(ctx, q, scanEvent, `select id, position, kind, occurred_at, body from events where tenant_id = $1 and position > $2 order by position limit $3`, t.id, after, limit)
		return err
	})
	return out, err
}

// Envelope reads the event's bytes back as what they say.
func (e Event) Envelope() (api.Event[jsontext.Value], error) {
	var envelope api.Event[jsontext.Value]
	if err := jsonv2.Unmarshal(e.Body, &envelope); err != nil {
		return envelope, fmt.Errorf("stored event %s: %w", e.ID, err)
	}
	return envelope, nil
}
