package store

import (
	"context"
	"time"

	"quittance/internal/invoice"
)

// Told is how the deliveries of the events about one resource stand.
type Told struct {
	Pending, Delivered, Failed, Blocked int
	// Events is how many events there are, whoever listens.
	Events int
}

// Told returns how the company's systems were told of submissions, or incoming e-invoices, by identifier. What has no
// event is not in it. It is one query, however many are asked for; at most 100 should be.
func (t *Tenant) Told(ctx context.Context, resources []ID) (map[ID]Told, error) {
	out := map[ID]Told{}
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
			told := out[r.resource]
			told.add(r.state, r.deliveries)
			out[r.resource] = told
		}
		return err
	})
	return out, err
}

// add counts deliveries of a state; those of no state are events.
func (told *Told) add(state string, n int) {
	switch state {
	case string(DeliveryPending):
		told.Pending += n
	case string(DeliveryDelivered):
		told.Delivered += n
	case string(DeliveryFailed):
		told.Failed += n
	case string(DeliveryBlocked):
		told.Blocked += n
	default:
		told.Events += n
	}
}

// ToldEvent is an event with its deliveries, one for each subscription that listened when it happened.
type ToldEvent struct {
	Event
	Resource   ID
	Deliveries []DeliveryRecord
}

// ResourceEvents returns the newest events about some resources, at most limit, oldest first, with their deliveries.
func (t *Tenant) ResourceEvents(ctx context.Context, resources []ID, limit int) ([]ToldEvent, error) {
	var out []ToldEvent
	err := t.read(func(q querier) error {
		if len(resources) == 0 {
			return nil
		}
		list, args := t.idList(resources)
		var err error
		out, err = collect(ctx, q, func(row scanner) (ToldEvent, error) {
			var e ToldEvent
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

// addDeliveries reads the deliveries of events in one query.
func (t *Tenant) addDeliveries(ctx context.Context, q querier, events []ToldEvent) error {
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

// StateRecord is one dimension of a submission as it stands, with the evidence that its word was read from.
type StateRecord struct {
	Dimension invoice.Dimension
	Word      string
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
			err := row.Scan(&r.Dimension, &r.Word, &terminal, &r.Evidence, &changed)
			r.Terminal, r.ChangedAt = terminal == 1, instant(changed)
			return r, err
		}, `select dimension, word, terminal, evidence_id, changed_at from states where tenant_id = $1 and submission_id = $2`, t.id, submission)
		return err
	})
	return out, err
}

// maxWords bounds how many different words of one dimension a company is shown as a choice.
const maxWords = 50

// StateWords returns the words that providers have used towards this company, by dimension, in alphabetical order, at
// most fifty each. It jumps from word to word in an index, so that it costs the same for any number of submissions.
func (t *Tenant) StateWords(ctx context.Context) (map[invoice.Dimension][]string, error) {
	out := map[invoice.Dimension][]string{}
	err := t.read(func(q querier) error {
		for _, dimension := range invoice.Dimensions {
			words, err := collect(ctx, q, func(row scanner) (string, error) {
				var word string
				err := row.Scan(&word)
				return word, err
			}, `with recursive words (word, n) as (
				select min(word), 1 from states where tenant_id = $1 and dimension = $2
				union all
				select (select min(s.word) from states s where s.tenant_id = $1 and s.dimension = $2 and s.word > words.word), n + 1
				from words where words.word is not null and n < $3)
				select word from words where word is not null`, t.id, dimension, maxWords)
			if err != nil {
				return err
			}
			out[dimension] = words
		}
		return nil
	})
	return out, err
}
