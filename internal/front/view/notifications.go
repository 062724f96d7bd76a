package view

import (
	"context"
	"slices"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
)

// EventsByID returns at most 100 events with one query.
func (t Tenant) EventsByID(ctx context.Context, ids []base.ID) (map[base.ID]events.Event, error) {
	out := map[base.ID]events.Event{}
	err := base.ReadRows(t.tenant, func(r base.Reader) error {
		if len(ids) == 0 {
			return nil
		}
		var s statement
		list := s.list(ids)
		found, err := events.Select(ctx, r, `id in (`+list+`)`, ``, s.args...)
		for _, e := range found {
			out[e.ID] = e
		}
		return err
	})
	return out, err
}

// EventWithDeliveries is an event with its deliveries: one for each subscription that was active for it when it
// occurred.
type EventWithDeliveries struct {
	events.Event
	Deliveries []events.Delivery
}

// ResourceEvents returns the newest events about some resources (submissions or incoming e-invoices), oldest first and
// at most most, with their deliveries.
func (t Tenant) ResourceEvents(ctx context.Context, resources []base.ID, most int) ([]EventWithDeliveries, error) {
	var out []EventWithDeliveries
	err := base.ReadRows(t.tenant, func(r base.Reader) error {
		if len(resources) == 0 {
			return nil
		}
		var s statement
		list, limit := s.list(resources), s.value(most)
		// The plus keeps SQLite from reading all events by their positions, to avoid sorting a few.
		found, err := events.Select(ctx, r, `resource_id in (`+list+`)`, `order by +position desc limit `+limit, s.args...)
		if err != nil || len(found) == 0 {
			return err
		}
		slices.Reverse(found)
		ids, byID := make([]base.ID, len(found)), make(map[base.ID]int, len(found))
		out = make([]EventWithDeliveries, len(found))
		for n, e := range found {
			out[n].Event, ids[n], byID[e.ID] = e, e.ID, n
		}
		s = statement{}
		list = s.list(ids)
		deliveries, err := events.SelectDeliveries(ctx, r, `event_id in (`+list+`)`, `order by created_at, id`, s.args...)
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
	resources []base.ID) (map[base.ID]NotificationSummary, error) {
	out := map[base.ID]NotificationSummary{}
	err := base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		if len(resources) == 0 {
			return nil
		}
		var s statement
		list := s.list(resources)
		// The cross join makes SQLite find the events first, and not all deliveries.
		return r.Query(ctx, func(row base.Row) error {
			var resource base.ID
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
