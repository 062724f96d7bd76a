package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"

	"quittance/sdk/go/api"
)

// toldEvent is an event as it stands in the database.
type toldEvent struct {
	Event
	resourceType string
	digest       [32]byte
	named        bool // a chain names it
	senseless    bool // what stands there is no event
}

// eventsOf reads the events about one resource and computes their digests. What makes no sense is kept apart.
func (t *Tenant) eventsOf(ctx context.Context, q querier, resource ID) ([]toldEvent, error) {
	events, err := collect(ctx, q, func(row scanner) (toldEvent, error) {
		var e toldEvent
		var occurred int64
		e.senseless = row.Scan(&e.ID, &e.Position, &e.Kind, &e.resourceType, &occurred, &e.Body) != nil
		e.OccurredAt = instant(occurred)
		return e, nil
	}, `select id, position, kind, resource_type, occurred_at, body from events where tenant_id = $1 and resource_id = $2 order by position`, t.id, resource)
	if err != nil || len(events) == 0 {
		return events, err
	}
	deliveries := map[ID][]eventDelivery{}
	if _, err = collect(ctx, q, func(row scanner) (none struct{}, err error) {
		var event ID
		var d eventDelivery
		if row.Scan(&event, &d.id, &d.subscription, &d.kind, &d.created) != nil {
			d = eventDelivery{kind: "senseless"} // it is none of those that the event had
		}
		deliveries[event] = append(deliveries[event], d)
		return none, nil
	}, `select event_id, id, subscription_id, kind, created_at from deliveries where tenant_id = $1
		and event_id in (select id from events where tenant_id = $1 and resource_id = $2) order by id`, t.id, resource); err != nil {
		return nil, err
	}
	for n := range events {
		e := &events[n]
		e.digest = eventDigest(e.Event, e.resourceType, resource, deliveries[e.ID])
	}
	return events, nil
}

// eventCheck compares the events about one resource with those that its chain names.
type eventCheck struct {
	v      *verification
	events []toldEvent
	type_  string
	of     ID
}

// find returns the event with a digest, nil when there is none.
func (c *eventCheck) find(digest []byte) *toldEvent {
	for n := range c.events {
		if e := &c.events[n]; !e.named && !e.senseless && bytes.Equal(e.digest[:], digest) {
			return e
		}
	}
	return nil
}

// name takes the next event that the chain names: it happened at the given time, in microseconds since 1970. It returns nil
// for one that was removed for its age, and false when it is gone otherwise, or is not what it was.
func (c *eventCheck) name(digest []byte, at int64) (e *toldEvent, ok bool) {
	if e = c.find(digest); e == nil {
		c.v.listed++
		c.v.missing++
		return nil, at < c.v.removed
	}
	e.named = true
	if !c.v.counted || e.Position <= c.v.emitted {
		c.v.listed++
	}
	return e, true
}

const (
	whatEventGone    = "an event that it gave rise to is gone, or is not what it was"
	whatEventForeign = "the events that it names are not those that follow from it"
)

// take compares the events that an entry of a chain names with those that follow from it: kinds in their order, at an
// instant, with what they say. It returns what is wrong, "" when nothing is.
func (c *eventCheck) take(digests []byte, kinds []api.EventKind, at int64, body func(e Event) ([]byte, error)) string {
	if len(digests) != sha256.Size*len(kinds) {
		return whatEventForeign
	}
	for n, kind := range kinds {
		e, ok := c.name(digests[n*sha256.Size:(n+1)*sha256.Size], at)
		if !ok {
			return whatEventGone
		}
		if e == nil {
			continue
		}
		text, err := body(e.Event)
		if err != nil || e.Kind != kind || micros(e.OccurredAt) != at || e.resourceType != c.type_ || !bytes.Equal(text, e.Body) {
			return whatEventForeign
		}
	}
	return ""
}

// earlierEvent is how an event of before is kept: its time, then its digest.
const earlierEvent = 8 + sha256.Size

// earlier compares the events of before that a row names. It returns what is wrong, "" when nothing is.
func (c *eventCheck) earlier(named []byte) string {
	if len(named)%earlierEvent != 0 {
		return whatEventForeign
	}
	for ; len(named) > 0; named = named[earlierEvent:] {
		at := int64(binary.BigEndian.Uint64(named)) //nolint:gosec // it was written from an int64
		if _, ok := c.name(named[8:earlierEvent], at); !ok {
			return whatEventGone
		}
	}
	return ""
}

// conclude compares what no entry names. It returns what is wrong, "" when nothing is. Where what is there is accepted, it
// keeps the events that nothing names instead.
func (c *eventCheck) conclude(earlier []byte) string {
	if what := c.earlier(earlier); what != "" {
		return what
	}
	for n := range c.events {
		e := &c.events[n]
		if e.named {
			continue
		}
		if !c.v.accepting {
			return "an event about it was never emitted, or is not what it was"
		}
		c.v.unnamed = binary.BigEndian.AppendUint64(c.v.unnamed, uint64(micros(e.OccurredAt))) //nolint:gosec // the bits are kept
		c.v.unnamed = append(c.v.unnamed, e.digest[:]...)
	}
	return ""
}

// countIn reads a count from the subject of a seal.
func countIn(subject [32]byte) int64 { return int64(binary.BigEndian.Uint64(subject[:])) } //nolint:gosec // it was sealed from an int64

// countAs is the reverse of countIn.
func countAs(n int64) (subject [32]byte) {
	binary.BigEndian.PutUint64(subject[:], uint64(n)) //nolint:gosec // events count from 0
	return subject
}
