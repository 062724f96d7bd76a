package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"quittance/sdk/go/api"
)

// DeliveryDepth is how many deliveries of one subscription are looked through, newest first, when they are counted and
// filtered for a page: what a page costs has a bound, however many there are.
const DeliveryDepth = 2_000

// NewestDeliveries is one page of the newest deliveries of a subscription, newest first.
type NewestDeliveries struct {
	Deliveries []DeliveryRecord
	// Counts is how many of the newest [DeliveryDepth] stand how; a state that none has is not in it.
	Counts map[api.DeliveryState]int
}

// Among is how many deliveries were looked through, at most [DeliveryDepth].
func (n NewestDeliveries) Among() int {
	sum := 0
	for _, count := range n.Counts {
		sum += count
	}
	return sum
}

// newestOf is the table of the $3 newest deliveries of the subscription $2.
const newestOf = ` from (select id, state from deliveries where tenant_id = $1 and subscription_id = $2 order by id desc limit $3) newest`

// SubscriptionDeliveries returns the page of the given number (from 1) with perPage entries (from 1) of the newest
// [DeliveryDepth] deliveries of a subscription, those of one state or, with "", of any. Identifiers grow with time, so the
// newest are the end of an index.
func (t *Tenant) SubscriptionDeliveries(ctx context.Context, subscription ID, state api.DeliveryState, number, perPage int) (NewestDeliveries, error) {
	var out NewestDeliveries
	if _, err := t.Subscription(ctx, subscription); err != nil {
		return out, err
	}
	err := t.list(ctx, func(ctx context.Context, q querier) (err error) {
		out, err = t.newestDeliveries(ctx, q, newestOf, []any{t.id, subscription, DeliveryDepth}, state, number, perPage)
		return err
	})
	return out, err
}

// newestDeliveries counts and reads the deliveries in a table of the newest, which has the given parameters.
func (t *Tenant) newestDeliveries(ctx context.Context, q querier, newest string, args []any, state api.DeliveryState, number, perPage int) (NewestDeliveries, error) {
	out := NewestDeliveries{Counts: map[api.DeliveryState]int{}}
	type count struct {
		state api.DeliveryState
		n     int
	}
	counts, err := collect(ctx, q, func(row scanner) (count, error) {
		var c count
		err := row.Scan(&c.state, &c.n)
		return c, err
	}, `select state, count(*)`+newest+` group by state`, args...)
	if err != nil {
		return out, err
	}
	for _, c := range counts {
		out.Counts[c.state] = c.n
	}
	if number-1 > DeliveryDepth/perPage {
		return out, nil
	}
	where := ""
	if state != "" {
		args = append(args, state)
		where = ` where state = ` + parameter(len(args))
	}
	limit, args := limited(0, args, number, perPage)
	out.Deliveries, err = collect(ctx, q, scanDelivery, `select `+deliveryColumns+` from deliveries where tenant_id = $1 and id in (
		select id`+newest+where+` order by id desc`+limit+`) order by id desc`, args...)
	return out, err
}

// RecentStates returns how the newest deliveries of some subscriptions stand, newest first, at most each of them for one
// subscription, in one query.
func (t *Tenant) RecentStates(ctx context.Context, subscriptions []ID, each int) (map[ID][]api.DeliveryState, error) {
	out := map[ID][]api.DeliveryState{}
	type recent struct {
		subscription ID
		state        api.DeliveryState
	}
	err := t.list(ctx, func(ctx context.Context, q querier) error {
		if len(subscriptions) == 0 {
			return nil
		}
		subscriptions = padded(subscriptions) // the union drops what is read twice
		parts, args := make([]string, len(subscriptions)), []any{t.id, each}
		for n, subscription := range subscriptions {
			args = append(args, subscription)
			parts[n] = `select subscription_id, state, id from (select subscription_id, state, id from deliveries
				where tenant_id = $1 and subscription_id = ` + parameter(len(args)) + ` order by id desc limit $2) newest`
		}
		rows, err := collect(ctx, q, func(row scanner) (recent, error) {
			var r recent
			var id ID
			err := row.Scan(&r.subscription, &r.state, &id)
			return r, err
		}, strings.Join(parts, ` union `)+` order by 1, 3 desc`, args...)
		for _, r := range rows {
			out[r.subscription] = append(out[r.subscription], r.state)
		}
		return err
	})
	return out, err
}

// How much of a subscription's history [Tenant.RecentAttempts] looks at: its newest deliveries, and attempts at them.
const (
	attemptDeliveries = 500
	maxAttempts       = 1_000
)

// RecentAttempts are the latest attempts at the newest deliveries of a subscription.
type RecentAttempts struct {
	// Attempts are those of the newest deliveries first, without the answers.
	Attempts []Attempt
	// From is when the oldest delivery that was looked at was recorded; zero when every one was.
	From time.Time
}

// RecentAttempts returns the attempts of a subscription since an instant: at most 1,000, at the newest 500 deliveries.
func (t *Tenant) RecentAttempts(ctx context.Context, subscription ID, since time.Time) (RecentAttempts, error) {
	var out RecentAttempts
	if _, err := t.Subscription(ctx, subscription); err != nil {
		return out, err
	}
	err := t.list(ctx, func(ctx context.Context, q querier) error {
		var from int64
		err := q.QueryRowContext(ctx, `select created_at from deliveries where tenant_id = $1 and subscription_id = $2
			order by id desc limit 1 offset $3`, t.id, subscription, attemptDeliveries).Scan(&from)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err == nil {
			out.From = instant(from)
		}
		var oldest int64
		out.Attempts, err = collect(ctx, q, func(row scanner) (Attempt, error) {
			var a Attempt
			var started, duration int64
			err := row.Scan(&started, &duration, &a.HTTPStatus, &a.ErrorClass, &oldest)
			a.StartedAt, a.Duration = instant(started), time.Duration(duration)*time.Microsecond
			return a, err
		}, `select a.started_at, a.duration, a.http_status, a.error_class, d.created_at
			from (select id, created_at from deliveries where tenant_id = $1 and subscription_id = $2
				order by id desc limit $4) d join attempts a on a.tenant_id = $1 and a.delivery_id = d.id
			where a.started_at >= $3 order by d.id desc, a.ordinal desc limit $5`, t.id, subscription, micros(since), attemptDeliveries, maxAttempts)
		if len(out.Attempts) == maxAttempts {
			out.From = instant(oldest)
		}
		return err
	})
	return out, err
}

// Event returns one event with the exact bytes of its deliveries.
func (t *Tenant) Event(ctx context.Context, id ID) (Event, error) {
	var e Event
	err := t.read(func(q querier) error {
		var err error
		e, err = scanEvent(q.QueryRowContext(ctx, `select id, position, kind, occurred_at, body from events where tenant_id = $1 and id = $2`, t.id, id))
		return err
	})
	return e, err
}

// EventsByID returns some events, in one query; at most 100 should be asked for.
func (t *Tenant) EventsByID(ctx context.Context, ids []ID) (map[ID]Event, error) {
	out := map[ID]Event{}
	err := t.read(func(q querier) error {
		if len(ids) == 0 {
			return nil
		}
		list, args := t.idList(ids)
		events, err := collect(ctx, q, scanEvent, `select id, position, kind, occurred_at, body from events where tenant_id = $1 and id in (`+list+`)`, args...)
		for _, e := range events {
			out[e.ID] = e
		}
		return err
	})
	return out, err
}

// SearchIncoming is [Tenant.IncomingInvoices] for those whose latest revision has a text in its number, in the supplier's
// name or network identifier, or in the provider's identifier, whatever the case of its letters (on SQLite of the Latin
// ones). It looks through the newest [SearchDepth].
func (t *Tenant) SearchIncoming(ctx context.Context, text string, number, perPage int) (IncomingPage, error) {
	var out IncomingPage
	const matching = `r.revision = i.revision and i.position > (select incoming from tenants where id = $1) - $3 and (
		lower(r.invoice_number) like lower($2) escape '\' or lower(r.supplier_name) like lower($2) escape '\'
		or lower(r.supplier_network_id) like lower($2) escape '\' or lower(i.provider_document_id) like lower($2) escape '\')`
	err := t.list(ctx, func(ctx context.Context, q querier) error {
		args := []any{t.id, containing(text), SearchDepth}
		total, limit, ok, err := page(ctx, q, number, perPage, `select count(*)`+fromRevisions+matching, args...)
		out.Total = total
		if err != nil || !ok {
			return err
		}
		out.Entries, err = collect(ctx, q, scanIncoming, `select `+revisionColumns+fromRevisions+matching+` order by i.position desc`+limit.clause, limit.args...)
		return err
	})
	return out, err
}

// containing is the pattern of "like" for texts that have another one in them; its escape is a backslash.
func containing(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}
