package view

import (
	"context"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/invoices"
)

// Subscriptions returns a page of all webhook subscriptions, including deactivated ones, newest first.
func (t Tenant) Subscriptions(ctx context.Context, number, perPage int) (out Page[events.Subscription], err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		out, err = readPage(ctx, r, &statement{}, number, perPage, `select count(*) from subscriptions where tenant_id = $1`,
			events.SelectSubscriptions, `true`, `order by id desc`)
		return err
	})
	return out, err
}

// DeliveryFilter filters a list of deliveries. Zero fields have no effect.
type DeliveryFilter struct {
	Subscription, Event base.ID
	Kind                api.EventKind
	State               api.DeliveryState
	// Undelivered selects those that failed or were blocked. It has no effect beside a subscription, an event or a state.
	Undelivered bool
}

// Deliveries returns a page of deliveries, newest first. It examines the newest [SearchDepth] deliveries of the event,
// of the subscription, of the undelivered ones, or of all, whichever of these the filter has first. Identifiers grow
// with time, so each of them is the end of an index, and nothing is sorted.
func (t Tenant) Deliveries(ctx context.Context, filter DeliveryFilter, number,
	perPage int) (out Page[events.Delivery], err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		oldest, truncated, err := filter.oldest(ctx, r, SearchDepth)
		if err != nil {
			return err
		}
		var s statement
		where := `id > ` + s.value(oldest) + filter.among(&s) + filter.rest(&s)
		out, err = readPage(ctx, r, &s, number, perPage, `select count(*) from deliveries where tenant_id = $1 and `+where,
			events.SelectDeliveries, where, `order by id desc`)
		out.Truncated = truncated
		return err
	})
	return out, err
}

// oldest returns the newest delivery that is not examined if only the newest depth deliveries are, and whether there is
// one; otherwise an empty identifier, which precedes all.
func (f DeliveryFilter) oldest(ctx context.Context, r base.Reader, depth int) (id []byte, exists bool, err error) {
	var s statement
	id = []byte{}
	among := f.among(&s) + ` order by id desc limit 1 offset ` + s.value(depth)
	err = r.Query(ctx, func(row base.Row) error {
		exists = true
		return row.Scan(&id)
	}, `select id from deliveries where tenant_id = $1`+among, s.args...)
	return id, exists, err
}

// among returns the part of the filter that an index answers in the order of identifiers.
func (f DeliveryFilter) among(s *statement) string {
	switch {
	case !f.Event.IsZero():
		return ` and event_id = ` + s.value(f.Event)
	case !f.Subscription.IsZero():
		return ` and subscription_id = ` + s.value(f.Subscription)
	case f.State == api.DeliveryFailed, f.State == api.DeliveryBlocked, f.State == "" && f.Undelivered:
		return ` and state in ('failed', 'blocked')`
	}
	return ``
}

// rest returns the part of the filter that is compared row by row. A pending delivery of a deactivated subscription has
// failed; see [events.DeactivateSubscription]. Without an event or a subscription it is still found as pending,
// because the index that answers among for failed deliveries does not contain it, and every delivery is found by
// exactly one state.
func (f DeliveryFilter) rest(s *statement) string {
	const deactivated = `exists (select 1 from subscriptions s where s.tenant_id = $1 and s.id = deliveries.subscription_id and s.deactivated_at is not null)`
	where := ``
	if !f.Subscription.IsZero() && !f.Event.IsZero() {
		where += ` and subscription_id = ` + s.value(f.Subscription)
	}
	if f.Kind != "" {
		where += ` and kind = ` + s.value(string(f.Kind))
	}
	narrow := !f.Event.IsZero() || !f.Subscription.IsZero()
	switch {
	case f.State == "":
	case f.State == api.DeliveryPending && narrow:
		where += ` and state = 'pending' and not ` + deactivated
	case f.State == api.DeliveryFailed && narrow:
		where += ` and (state = 'failed' or state = 'pending' and ` + deactivated + `)`
	default:
		where += ` and state = ` + s.value(string(f.State))
	}
	return where
}

// DeliveryDepth is how many deliveries are counted and filtered at most for a [NewestDeliveries], newest first, which
// bounds its work.
const DeliveryDepth = 2_000

// NewestDeliveries is one page of the newest deliveries, newest first, with the number of all of them by state.
type NewestDeliveries struct {
	Deliveries []events.Delivery
	// Counts has the number of deliveries by state among the newest [DeliveryDepth], without states that none has.
	Counts map[api.DeliveryState]int
}

// Among returns the number of deliveries that were counted, at most [DeliveryDepth].
func (n NewestDeliveries) Among() int {
	sum := 0
	for _, count := range n.Counts {
		sum += count
	}
	return sum
}

// SubscriptionDeliveries returns a page of the newest [DeliveryDepth] deliveries of a subscription: those of one state,
// or all if state is "". Identifiers grow with time, so the newest are the end of an index.
func (t Tenant) SubscriptionDeliveries(ctx context.Context, subscription base.ID, state api.DeliveryState, number,
	perPage int) (NewestDeliveries, error) {
	if _, err := events.FindSubscription(ctx, t.tenant, subscription); err != nil {
		return NewestDeliveries{}, err
	}
	return t.newestDeliveries(ctx,
		` from (select id, state from deliveries where tenant_id = $1 and subscription_id = $3 order by id desc limit $2) newest`,
		&statement{args: []any{DeliveryDepth, subscription}}, state, number, perPage)
}

// Undelivered returns a page of the newest [DeliveryDepth] deliveries of all subscriptions that failed or were blocked:
// those of one of these states, or of both if state is "". They have an index of their own.
func (t Tenant) Undelivered(ctx context.Context, state api.DeliveryState, number,
	perPage int) (NewestDeliveries, error) {
	return t.newestDeliveries(ctx,
		` from (select id, state from deliveries where tenant_id = $1 and state in ('failed', 'blocked') order by id desc limit $2) newest`,
		&statement{args: []any{DeliveryDepth}}, state, number, perPage)
}

// newestDeliveries counts and reads the deliveries in a derived table of the newest, which has the arguments of s.
func (t Tenant) newestDeliveries(ctx context.Context, newest string, s *statement, state api.DeliveryState, number,
	perPage int) (NewestDeliveries, error) {
	out := NewestDeliveries{Counts: map[api.DeliveryState]int{}}
	err := base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		err := r.Query(ctx, func(row base.Row) error {
			var state api.DeliveryState
			var count int
			err := row.Scan(&state, &count)
			out.Counts[state] = count
			return err
		}, `select state, count(*)`+newest+` group by state`, s.args...)
		if err != nil || number-1 > DeliveryDepth/perPage {
			return err
		}
		where := ""
		if state != "" {
			where = ` where state = ` + s.value(state)
		}
		where += ` order by id desc` + s.limit(number, perPage)
		out.Deliveries, err = events.SelectDeliveries(ctx, r, `id in (select id`+newest+where+`)`, `order by id desc`,
			s.args...)
		return err
	})
	return out, err
}

// RecentStates returns the states of the newest deliveries of some subscriptions, newest first and at most most for
// each subscription, with one query.
func (t Tenant) RecentStates(ctx context.Context, subscriptions []base.ID,
	most int) (map[base.ID][]api.DeliveryState, error) {
	out := map[base.ID][]api.DeliveryState{}
	err := base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		if len(subscriptions) == 0 {
			return nil
		}
		s := &statement{args: []any{most}}
		var parts []string
		for _, subscription := range invoices.Padded(subscriptions) { // the union drops what is read twice
			parts = append(parts, `select subscription_id, state, id from (select subscription_id, state, id from deliveries
				where tenant_id = $1 and subscription_id = `+s.value(subscription)+` order by id desc limit $2) newest`)
		}
		return r.Query(ctx, func(row base.Row) error {
			var subscription, id base.ID
			var state api.DeliveryState
			err := row.Scan(&subscription, &state, &id)
			out[subscription] = append(out[subscription], state)
			return err
		}, strings.Join(parts, ` union `)+` order by 1, 3 desc`, s.args...)
	})
	return out, err
}

// The part of a subscription's history that [Tenant.RecentAttempts] reads: its newest deliveries, and attempts at them.
const (
	attemptDeliveries = 500
	maxAttempts       = 1_000
)

// RecentAttempts are the latest attempts at the newest deliveries of a subscription.
type RecentAttempts struct {
	// Attempts are those of the newest deliveries first, without the responses.
	Attempts []events.Attempt
	// From is when the oldest delivery that was read was recorded. It is zero if all were read.
	From time.Time
}

// RecentAttempts returns the attempts of a subscription since an instant: at most 1,000, at the newest 500 deliveries.
func (t Tenant) RecentAttempts(ctx context.Context, subscription base.ID, since time.Time) (RecentAttempts, error) {
	var out RecentAttempts
	if _, err := events.FindSubscription(ctx, t.tenant, subscription); err != nil {
		return out, err
	}
	err := base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		err := r.Query(ctx, func(row base.Row) error {
			var from int64
			err := row.Scan(&from)
			out.From = instant(from)
			return err
		},
			`select created_at from deliveries where tenant_id = $1 and subscription_id = $2 order by id desc limit 1 offset $3`,
			subscription, attemptDeliveries)
		if err != nil {
			return err
		}
		var oldest int64
		err = r.Query(ctx, func(row base.Row) error {
			var a events.Attempt
			var started, duration int64
			err := row.Scan(&started, &duration, &a.HTTPStatus, &a.ErrorClass, &oldest)
			a.StartedAt, a.Duration = instant(started), time.Duration(duration)*time.Microsecond
			out.Attempts = append(out.Attempts, a)
			return err
		}, `select a.started_at, a.duration, a.http_status, a.error_class, d.created_at
			from (select id, created_at from deliveries where tenant_id = $1 and subscription_id = $2
				order by id desc limit $4) d join attempts a on a.tenant_id = $1 and a.delivery_id = d.id
			where a.started_at >= $3 order by d.id desc, a.ordinal desc limit $5`, subscription, since.UnixMicro(), attemptDeliveries, maxAttempts)
		if len(out.Attempts) == maxAttempts {
			out.From = instant(oldest)
		}
		return err
	})
	return out, err
}
