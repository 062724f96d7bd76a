package view

import (
	"context"
	"slices"

	"quittance/client/api"
	"quittance/internal/store"
)

// EventsByID returns at most 100 events with one query.
func (t Tenant) EventsByID(ctx context.Context, ids []store.ID) (map[store.ID]store.Event, error) {
	out := map[store.ID]store.Event{}
	err := t.tenant.ReadRows(func(r store.Reader) error {
		if len(ids) == 0 {
			return nil
		}
		var s statement
		list := s.list(ids)
		events, err := r.Events(ctx, `id in (`+list+`)`, ``, s.args...)
		for _, e := range events {
			out[e.ID] = e
		}
		return err
	})
	return out, err
}

// EventWithDeliveries is an event with its deliveries: one for each subscription that was active for it when it
// occurred.
type EventWithDeliveries struct {
	store.Event
	Deliveries []store.Delivery
}

// ResourceEvents returns the newest events about some resources (submissions or incoming e-invoices), oldest first and
// at most most, with their deliveries.
func (t Tenant) ResourceEvents(ctx context.Context, resources []store.ID, most int) ([]EventWithDeliveries, error) {
	var out []EventWithDeliveries
	err := t.tenant.ReadRows(func(r store.Reader) error {
		if len(resources) == 0 {
			return nil
		}
		var s statement
		list, limit := s.list(resources), s.value(most)
		// The plus keeps SQLite from reading all events by their positions, to avoid sorting a few.
		events, err := r.Events(ctx, `resource_id in (`+list+`)`, `order by +position desc limit `+limit, s.args...)
		if err != nil || len(events) == 0 {
			return err
		}
		slices.Reverse(events)
		ids, byID := make([]store.ID, len(events)), make(map[store.ID]int, len(events))
		out = make([]EventWithDeliveries, len(events))
		for n, e := range events {
			out[n].Event, ids[n], byID[e.ID] = e, e.ID, n
		}
		s = statement{}
		list = s.list(ids)
		deliveries, err := r.Deliveries(ctx, `event_id in (`+list+`)`, `order by created_at, id`, s.args...)
		for _, d := range deliveries {
			e := &out[byID[d.Event]]
			e.Deliveries = append(e.Deliveries, d)
		}
		return err
	})
	return out, err
}

// NotificationSummary counts the events about one resource, and their deliveries by state.
type NotificationSummary struct {
	Pending, Delivered, Failed, Blocked int
	// Events is the number of events, including those without a subscription.
	Events int
}

// NotificationSummaries returns the notification summaries of at most 100 resources (submissions or incoming
// e-invoices) by identifier, without those that have no event, with one query.
func (t Tenant) NotificationSummaries(ctx context.Context,
	resources []store.ID) (map[store.ID]NotificationSummary, error) {
	out := map[store.ID]NotificationSummary{}
	err := t.tenant.ReadSnapshot(ctx, func(ctx context.Context, r store.Reader) error {
		if len(resources) == 0 {
			return nil
		}
		var s statement
		list := s.list(resources)
		// The cross join makes SQLite find the events first, and not all deliveries.
		return r.Query(ctx, func(row store.Row) error {
			var resource store.ID
			var state api.DeliveryState
			var count int
			err := row.Scan(&resource, &state, &count)
			summary := out[resource]
			summary.add(state, count)
			out[resource] = summary
			return err
		}, `select resource_id, '', count(*) from events where tenant_id = $1 and resource_id in (`+list+
			`) group by resource_id
			union all
			select e.resource_id, d.state, count(*) from events e cross join deliveries d
			where d.tenant_id = e.tenant_id and d.event_id = e.id and e.tenant_id = $1 and e.resource_id in (`+list+`) group by e.resource_id, d.state`, s.args...)
	})
	return out, err
}

// add adds n deliveries of a state, or n events if state is empty.
func (s *NotificationSummary) add(state api.DeliveryState, n int) {
	switch state {
	case api.DeliveryPending:
		s.Pending += n
	case api.DeliveryDelivered:
		s.Delivered += n
	case api.DeliveryFailed:
		s.Failed += n
	case api.DeliveryBlocked:
		s.Blocked += n
	default:
		s.Events += n
	}
}
