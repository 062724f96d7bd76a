package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/ledger/base"
)

// TimestampLayout is the format of event times: RFC 3339 in UTC, with six digits of a second.
const TimestampLayout = "2006-01-02T15:04:05.000000Z"

// Event is a notification to the company's systems.
type Event struct {
	ID         base.ID
	Position   int64 // from 1, without gaps, in the order of commits
	Kind       api.EventKind
	OccurredAt time.Time
	Body       []byte // the exact bytes of every delivery
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

// Columns are what [Scan] reads.
const Columns = `id, position, kind, occurred_at, body`

// Scan reads an event.
func Scan(row base.Row) (Event, error) {
	var e Event
	var occurred int64
	err := row.Scan(&e.ID, &e.Position, &e.Kind, &occurred, &e.Body)
	e.OccurredAt = base.Instant(occurred)
	return e, err
}

// EventPage returns up to limit events with positions higher than after, oldest first. It returns fewer if their bodies
// would exceed bytes in total, but at least one. more reports that there are further events. A caller that continues
// from the last position it got misses none.
func EventPage(ctx context.Context, t *base.Tenant, after int64, limit,
	bytes int) (events []Event, more bool, err error) {
	err = t.List(ctx, func(ctx context.Context, q base.Querier) (err error) {
		events, more, err = readPage(ctx, t, q, after, limit, bytes)
		return err
	})
	return events, more, err
}

func readPage(ctx context.Context, t *base.Tenant, q base.Querier, after int64, limit,
	bytes int) (out []Event, more bool, err error) {
	rows, err := q.QueryContext(ctx, `select `+Columns+
		` from events where tenant_id = $1 and position > $2 order by position limit $3`, t.ID(), after, limit+1)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = []Event{}
	for rows.Next() {
		e, err := Scan(rows)
		if err != nil {
			return nil, false, err
		}
		if bytes -= len(e.Body); len(out) > 0 && (len(out) == limit || bytes < 0) {
			return out, true, nil
		}
		out = append(out, e)
	}
	return out, false, rows.Err()
}

// EventEnd returns the position of the last event, 0 if there was none yet. Every event that becomes visible afterwards
// has a higher one, because the tenant's row has the number of events, and it changes with each commit of events.
// Events that were removed by age count.
func EventEnd(ctx context.Context, t *base.Tenant) (position int64, err error) {
	err = t.Read(func(q base.Querier) error {
		return q.QueryRowContext(ctx, `select events from tenants where id = $1`, t.ID()).Scan(&position)
	})
	return position, err
}

// Find returns one event with the exact bytes of its deliveries.
func Find(ctx context.Context, t *base.Tenant, id base.ID) (Event, error) {
	var e Event
	err := t.Read(func(q base.Querier) error {
		var err error
		e, err = Scan(q.QueryRowContext(ctx, `select `+Columns+` from events where tenant_id = $1 and id = $2`,
			t.ID(), id))
		return err
	})
	return e, err
}

// Envelope parses the bytes of the event.
func (e Event) Envelope() (api.Event[jsontext.Value], error) {
	var envelope api.Event[jsontext.Value]
	if err := jsonv2.Unmarshal(e.Body, &envelope); err != nil {
		return envelope, fmt.Errorf("stored event %s: %w", e.ID, err)
	}
	return envelope, nil
}
