package bench

import (
	"context"
	"fmt"
	"time"

	"quittance/client"
	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/tools/load/rig"
)

// feed is what was read from a company's events.
type feed struct {
	after     string
	occurred  map[base.ID]time.Time
	terminals int64 // events that report the end of a submission
}

// maxPage is how many entries of a list are read at a time.
const maxPage = 100

// follow reads a company's events since the last call.
func (s *soak) follow(ctx context.Context, n role) error {
	f := &s.feeds[n]
	if f.occurred == nil {
		f.occurred = map[base.ID]time.Time{}
	}
	for {
		page, err := s.t.users[n].service.Events(ctx, f.after, maxPage)
		if err != nil {
			return err
		}
		for _, event := range page.Data {
			id, err := base.ParseID(event.ID)
			if err != nil {
				return err
			}
			if f.occurred[id], err = time.Parse(time.RFC3339Nano, event.OccurredAt); err != nil {
				return err
			}
			if event.Event == api.EventTerminal {
				f.terminals++
			}
		}
		f.after = page.Pagination.NextCursor
		if !page.Pagination.HasMore {
			return nil
		}
	}
}

// awaitEnd waits until every submission and every delivery has ended, except for deliveries to the hanging receiver. It
// gives up when nothing has changed for a while and no attempt is due.
func (s *soak) awaitEnd(ctx context.Context) error {
	inboxes := s.testbed.own.companies
	defer s.testbed.config.progress(ctx, "events received by the healthy and the flapping company", func() int64 {
		return inboxes[healthy].inbox.received() + inboxes[flapping].inbox.received()
	})()
	now := s.testbed.config.Now
	known, since := int64(-1), now()
	for {
		left, err := s.left(ctx)
		if err != nil || left == 0 {
			return err
		}
		if left != known {
			known, since = left, now()
		}
		if now().Sub(since) > idleTimeout {
			if since, err = s.nextAttempt(ctx); err != nil || since.Before(now()) {
				return err
			}
		}
		if err := s.t.alive(); err != nil {
			return err
		}
		if err := rig.Sleep(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

// left returns the number of submissions and deliveries that have not ended.
func (s *soak) left(ctx context.Context) (left int64, err error) {
	for n := range roles {
		if err := s.follow(ctx, n); err != nil {
			return 0, err
		}
		left += max(0, s.submitted[n].Load()-s.feeds[n].terminals)
		if n == hanging {
			continue
		}
		pending, err := s.t.users[n].pending(ctx)
		if err != nil {
			return 0, err
		}
		left += pending
	}
	return left, nil
}

// nextAttempt returns the time of the last attempt that awaitEnd waits for, or the zero time if there are none.
func (s *soak) nextAttempt(ctx context.Context) (last time.Time, err error) {
	for n := range roles {
		if n == hanging {
			continue
		}
		for d, err := range s.t.users[n].service.AllDeliveries(ctx,
			client.DeliveryQuery{Paging: client.Paging{PerPage: maxPage}, State: api.DeliveryPending}) {
			if err != nil {
				return last, err
			}
			if d.NextAttemptAt != nil && d.NextAttemptAt.After(last) {
				last = *d.NextAttemptAt
			}
		}
	}
	return last, nil
}

// accountForEvents compares the events in the feeds with the received ones.
func (s *soak) accountForEvents(ctx context.Context, r *Report) error {
	var unended, unknown, duplicates, unverified int64
	for n := range roles {
		feed, in := &s.feeds[n], s.testbed.own.companies[n].inbox
		r.set("events_"+n.String(), float64(len(feed.occurred)))
		unended += max(0, s.submitted[n].Load()-feed.terminals)
		came := in.tally()
		duplicates, unverified = duplicates+came.duplicates, unverified+came.unverified
		missing, extra := in.compare(feed.occurred)
		unknown += extra
		name := "events_that_never_arrived_"
		if n == hanging || n == redirecting {
			var err error
			if missing, err = s.withoutDelivery(ctx, n, r); err != nil {
				return err
			}
			name = "events_without_a_delivery_"
		}
		r.set(name+n.String(), float64(missing))
		r.Lost += missing
	}
	r.Lost += unended
	r.set("submissions_without_a_terminal_event", float64(unended))
	r.set("events_that_no_feed_has", float64(unknown))
	r.set("duplicates", float64(duplicates))
	r.set("unverified", float64(unverified))
	r.set("hanging_calls_at_a_time", float64(s.testbed.own.companies[hanging].inbox.maxInFlight.Load()))
	r.set("redirects_answered", float64(s.redirected.Load()))
	led := s.redirectTarget.tally()
	r.set("redirects_followed", float64(led.events+led.duplicates+led.unverified))
	r.note(
		"Lost are events of the healthy and the flapping company that never arrived, events of the others without a delivery that says what became of them, and submissions without a terminal event.")
	return nil
}

// compare counts the events that were not received, and the received ones that are not among them.
func (in *inbox) compare(events map[base.ID]time.Time) (missing, extra int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for id := range events {
		if !in.seen[id] {
			missing++
		}
	}
	return missing, int64(len(in.seen)-len(events)) + missing
}

// withoutDelivery counts the events of a company with a broken receiver that have no delivery although a subscription
// was active. A delivery in an unexpected state counts as a failure.
func (s *soak) withoutDelivery(ctx context.Context, n role, r *Report) (missing int64, err error) {
	var active []api.Subscription
	service := s.t.users[n].service
	for found, err := range service.AllSubscriptions(ctx, maxPage) {
		if err != nil {
			return 0, err
		}
		active = append(active, found)
	}
	told, states := map[base.ID]bool{}, map[string]int64{}
	for d, err := range service.AllDeliveries(ctx, client.DeliveryQuery{Paging: client.Paging{PerPage: maxPage}}) {
		if err != nil {
			return 0, err
		}
		id, err := base.ParseID(d.EventID)
		if err != nil {
			return 0, err
		}
		told[id] = true
		state := string(d.State)
		if d.Reason != nil {
			state += "_" + *d.Reason
		}
		states[state]++
	}
	for id, occurred := range s.feeds[n].occurred {
		if !told[id] && wasSubscribed(active, occurred) {
			missing++
		}
	}
	expected := []string{"pending", "failed_attempts_exhausted"}
	if n == redirecting {
		expected = []string{"blocked_redirect", "failed_subscription_inactive"}
		r.set("redirecting_subscriptions", float64(len(active)))
	}
	for _, state := range expected {
		r.set(fmt.Sprintf("deliveries_%v_%s", n, state), float64(states[state]))
		delete(states, state)
	}
	for state, count := range states {
		r.Failed[fmt.Sprintf("a delivery of the %v company is %s", n, state)] += count
	}
	return missing, nil
}

// commitSlack is how much later than its time an event may be committed: its time is the beginning of its transaction,
// which may wait for another one, such as that of a deactivation.
const commitSlack = 5 * time.Second

// wasSubscribed reports whether one of a company's subscriptions was active when an event was committed, as far as the
// time of the event can tell.
func wasSubscribed(subscriptions []api.Subscription, at time.Time) bool {
	for _, s := range subscriptions {
		if at.After(s.CreatedAt) && (s.DeactivatedAt == nil || at.Add(commitSlack).Before(*s.DeactivatedAt)) {
			return true
		}
	}
	return false
}
