package store

import (
	"context"
	"time"

	"quittance/internal/invoice"
)

// NotificationSummary counts the events about one resource, and their deliveries by state.
type NotificationSummary struct {
	Pending, Delivered, Failed, Blocked int
	// Events is the number of events, including those without a subscription.
	Events int
}

// NotificationSummaries returns the notification summaries of resources (submissions or incoming e-invoices), by identifier,
// without those that have no event. It makes one query; callers ask for at most 100 resources.
func (t *Tenant) NotificationSummaries(ctx context.Context, resources []ID) (map[ID]NotificationSummary, error) {
	out := map[ID]NotificationSummary{}
	type row struct {
		resource   ID
		state      string
		deliveries int
	}
	err := t.read(func(q querier) error {
		if len(resources) == 0 {
			return nil
		}
		list, args := t.idList(resources)
		rows, err := collect(ctx, q, func(s scanner) (row, error) {
			var r row
			err := s.Scan(&r.resource, &r.state, &r.deliveries)
			return r, err
		}, `select resource_id, '', count(*) from events where tenant_id = $1 and resource_id in (`+list+`) group by resource_id
			union all
			select e.resource_id, d.state, count(*) from events e join deliveries d on d.tenant_id = e.tenant_id and d.event_id = e.id
			where e.tenant_id = $1 and e.resource_id in (`+list+`) group by e.resource_id, d.state`, args...)
		for _, r := range rows {
			summary := out[r.resource]
			summary.add(r.state, r.deliveries)
			out[r.resource] = summary
		}
		return err
	})
	return out, err
}

// add adds n deliveries of a state, or n events if state is empty.
func (s *NotificationSummary) add(state string, n int) {
	switch state {
	case string(DeliveryPending):
		s.Pending += n
	case string(DeliveryDelivered):
		s.Delivered += n
	case string(DeliveryFailed):
		s.Failed += n
	case string(DeliveryBlocked):
		s.Blocked += n
	default:
		s.Events += n
	}
}

// EventWithDeliveries is an event with its deliveries: one for each subscription that was active for it when it occurred.
type EventWithDeliveries struct {
	Event
	Resource   ID
	Deliveries []DeliveryRecord
}

// ResourceEvents returns the newest events about some resources, oldest first and at most limit, with their deliveries.
func (t *Tenant) ResourceEvents(ctx context.Context, resources []ID, limit int) ([]EventWithDeliveries, error) {
	var out []EventWithDeliveries
	err := t.read(func(q querier) error {
		if len(resources) == 0 {
			return nil
		}
		list, args := t.idList(resources)
		var err error
		out, err = collect(ctx, q, func(row scanner) (EventWithDeliveries, error) {
			var e EventWithDeliveries
			var occurred int64
			err := row.Scan(&e.ID, &e.Position, &e.Kind, &occurred, &e.Body, &e.Resource)
			e.OccurredAt = instant(occurred)
			return e, err
		}, `select id, position, kind, occurred_at, body, resource_id from (
				select id, position, kind, occurred_at, body, resource_id from events where tenant_id = $1 and resource_id in (`+list+`)
				order by position desc limit `+parameter(len(args)+1)+`) newest order by position`, append(args, limit)...)
		if err != nil || len(out) == 0 {
			return err
		}
		return t.addDeliveries(ctx, q, out)
	})
	return out, err
}

// addDeliveries adds the deliveries of events, with one query.
func (t *Tenant) addDeliveries(ctx context.Context, q querier, events []EventWithDeliveries) error {
	ids, byID := make([]ID, len(events)), make(map[ID]int, len(events))
	for n, e := range events {
		ids[n], byID[e.ID] = e.ID, n
	}
	list, args := t.idList(ids)
	deliveries, err := collect(ctx, q, scanDelivery, `select `+deliveryColumns+` from deliveries
		where tenant_id = $1 and event_id in (`+list+`) order by created_at, id`, args...)
	for _, d := range deliveries {
		e := &events[byID[d.Event]]
		e.Deliveries = append(e.Deliveries, d)
	}
	return err
}

// StateRecord is the current state of a submission in one dimension, with the evidence that its value was read from.
type StateRecord struct {
	Dimension invoice.Dimension
	Value     string
	Terminal  bool
	Evidence  ID
	ChangedAt time.Time
}

// StateRecords returns the reported dimensions of a submission, in no particular order.
func (t *Tenant) StateRecords(ctx context.Context, submission ID) ([]StateRecord, error) {
	if _, err := t.Submission(ctx, submission); err != nil {
		return nil, err
	}
	var out []StateRecord
	err := t.read(func(q querier) error {
		var err error
		out, err = collect(ctx, q, func(row scanner) (StateRecord, error) {
			var r StateRecord
			var terminal, changed int64
			err := row.Scan(&r.Dimension, &r.Value, &terminal, &r.Evidence, &changed)
			r.Terminal, r.ChangedAt = terminal == 1, instant(changed)
			return r, err
		}, `select dimension, word, terminal, evidence_id, changed_at from states where tenant_id = $1 and submission_id = $2`, t.id, submission)
		return err
	})
	return out, err
}

// maxStateValues bounds the state values of one dimension that a company is offered as a filter.
const maxStateValues = 50

// StateValues returns the state values that providers have reported for this company, by dimension, in alphabetical order and
// at most maxStateValues each. It jumps from value to value in an index, so its cost does not depend on the number of submissions.
func (t *Tenant) StateValues(ctx context.Context) (map[invoice.Dimension][]string, error) {
	out := map[invoice.Dimension][]string{}
	err := t.read(func(q querier) error {
		for _, dimension := range invoice.Dimensions {
			values, err := collect(ctx, q, func(row scanner) (value string, err error) { return value, row.Scan(&value) },
				`with recursive found (value, n) as (
				select min(word), 1 from states where tenant_id = $1 and dimension = $2
				union all
				select (select min(s.word) from states s where s.tenant_id = $1 and s.dimension = $2 and s.word > found.value), n + 1
				from found where found.value is not null and n < $3)
				select value from found where value is not null`, t.id, dimension, maxStateValues)
			if err != nil {
				return err
			}
			out[dimension] = values
		}
		return nil
	})
	return out, err
}
