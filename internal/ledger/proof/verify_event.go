package proof

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
)

// storedEvent is an event as the database holds it.
type storedEvent struct {
	events.Event
	resourceType string
	digest       [32]byte
	named        bool // a chain names it
	malformed    bool // the row cannot be read
}

// eventsOf reads the events about one resource, including malformed rows, and computes their digests. The plus in its
// statement keeps SQLite from reading all events of the company by their positions, to avoid sorting a few.
func eventsOf(ctx context.Context, t *base.Tenant, q base.Querier, resource base.ID) ([]storedEvent, error) {
	found, err := base.Collect(ctx, q, func(row base.Row) (storedEvent, error) {
		var e storedEvent
		var occurred int64
		e.malformed = row.Scan(&e.ID, &e.Position, &e.Kind, &e.resourceType, &occurred, &e.Body) != nil
		e.OccurredAt = base.Instant(occurred)
		return e, nil
	},
		`select id, position, kind, resource_type, occurred_at, body from events where tenant_id = $1 and resource_id = $2 order by +position`, t.ID(), resource)
	if err != nil || len(found) == 0 {
		return found, err
	}
	deliveries := map[base.ID][]events.PlannedDelivery{}
	if _, err = base.Collect(ctx, q, func(row base.Row) (none struct{}, err error) {
		var event base.ID
		var d events.PlannedDelivery
		if row.Scan(&event, &d.ID, &d.Subscription, &d.Kind, &d.Created) != nil {
			d = events.PlannedDelivery{Kind: "malformed"} // no delivery has this kind, so the digest of the event differs
		}
		deliveries[event] = append(deliveries[event], d)
		return none, nil
	}, `select event_id, id, subscription_id, kind, created_at from deliveries where tenant_id = $1
		and event_id in (select id from events where tenant_id = $1 and resource_id = $2)`, t.ID(), resource); err != nil {
		return nil, err
	}
	for n := range found {
		e := &found[n]
		events.SortDeliveries(deliveries[e.ID])
		e.digest = events.Digest(e.Event, e.resourceType, resource, deliveries[e.ID])
	}
	return found, nil
}

// eventCheck compares the events about one resource with those that its chain names.
type eventCheck struct {
	v            *verification
	events       []storedEvent
	resourceType string
}

// name finds the next event that the chain names, which occurred at the given time, in microseconds since 1970, and
// marks it as named. ok is false if the event is gone or was changed. An event that retention removed gives nil and
// true.
func (c *eventCheck) name(digest []byte, at int64) (e *storedEvent, ok bool) {
	n := slices.IndexFunc(c.events, func(e storedEvent) bool {
		return !e.named && !e.malformed &&
			bytes.Equal(e.digest[:], digest)
	})
	if n < 0 {
		c.v.listed++
		c.v.missing++
		return nil, at < c.v.removed
	}
	e = &c.events[n]
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

// verify compares the events that an entry of a chain names with those that follow from it: events of the given kinds,
// at a time in microseconds since 1970, with the given bodies.
func (c *eventCheck) verify(digests []byte, kinds []api.EventKind, at int64,
	body func(e events.Event) ([]byte, error)) base.Flaw {
	if len(digests) != sha256.Size*len(kinds) {
		return base.Flaw{Field: "events", What: whatEventForeign}
	}
	for n, kind := range kinds {
		e, ok := c.name(digests[n*sha256.Size:(n+1)*sha256.Size], at)
		if !ok {
			return base.Flaw{Field: "events", What: whatEventGone}
		}
		if e == nil {
			continue
		}
		text, err := body(e.Event)
		if err != nil || e.Kind != kind || base.Micros(e.OccurredAt) != at || e.resourceType != c.resourceType ||
			!bytes.Equal(text, e.Body) {
			return base.Flaw{Field: "events", What: whatEventForeign}
		}
	}
	return base.Flaw{}
}

// earlierEvent is the size of an event in the column earlier_events: its time, then its digest.
const earlierEvent = 8 + sha256.Size

// conclude verifies the events in the column earlier_events, and that there are no other events that no entry names. If
// the evidence is being accepted as it is, it collects those instead.
func (c *eventCheck) conclude(earlier []byte) base.Flaw {
	if len(earlier)%earlierEvent != 0 {
		return base.Flaw{Field: "events", What: whatEventForeign}
	}
	for named := range slices.Chunk(earlier, earlierEvent) {
		at := int64(binary.BigEndian.Uint64(named)) //nolint:gosec // it was written from an int64
		if _, ok := c.name(named[8:], at); !ok {
			return base.Flaw{Field: "events", What: whatEventGone}
		}
	}
	for n := range c.events {
		e := &c.events[n]
		if e.named {
			continue
		}
		if !c.v.accepting {
			return base.Flaw{Field: "events", What: "an event about it was never emitted, or is not what it was"}
		}
		c.v.unnamed = binary.BigEndian.AppendUint64(c.v.unnamed, uint64(base.Micros(e.OccurredAt))) //nolint:gosec // the bits are kept
		c.v.unnamed = append(c.v.unnamed, e.digest[:]...)
	}
	return base.Flaw{}
}

// parseCount reads a count from the subject of a seal.
func parseCount(subject [32]byte) int64 { return int64(binary.BigEndian.Uint64(subject[:])) } //nolint:gosec // it was sealed from an int64

// formatCount is the reverse of parseCount.
func formatCount(n int64) (subject [32]byte) {
	binary.BigEndian.PutUint64(subject[:], uint64(n)) //nolint:gosec // events count from 0
	return subject
}
