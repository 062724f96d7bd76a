package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"quittance/client"
	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/tools/load/rig"
)

// LatencyOptions are the options of [EventLatency].
type LatencyOptions struct {
	// Rate is the number of submissions per second (open loop). Each makes about five events: two immediately and the
	// others with its status query. With 0 the clients submit as fast as they can.
	Rate float64
	// Clients submit, each one invoice at a time.
	Clients int
	// Warmup is how long the load runs before it is measured, Duration how long it is measured.
	Warmup, Duration time.Duration
	// Count is the number of invoices to submit in a closed loop, which does not know in advance how many it needs.
	Count int
}

// EventLatency measures the time from the commit of an event to its receipt, under a steady load of submissions. It
// counts from occurred_at, which is set inside the transaction, so that it includes the commit itself.
func EventLatency(ctx context.Context, c Config, o LatencyOptions) (_ Report, err error) {
	r := c.report()
	r.setting("clients", float64(o.Clients))
	r.setting("duration_seconds", o.Duration.Seconds())
	r.loop(o.Rate)
	p, err := prepare(ctx, c, &r, 1, 0)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	l := load{clients: o.Clients, rate: o.Rate, duration: o.Duration, now: c.Now, done: new(atomic.Int64)}
	warm := l
	warm.duration = o.Warmup
	warm.count, l.count = l.calls(o.Warmup, o.Count/10), l.calls(o.Duration, o.Count)
	if l.count < 1 {
		return r, errNothing
	}
	s, err := p.newSubscriber(ctx, l.count+warm.count)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.warmUp(ctx, warm); err != nil {
		return r, err
	}
	meter := p.meter(ctx)
	measured, err := s.measure(ctx, l)
	if err != nil {
		return r, err
	}
	r.count(measured.outcome, o.Rate)
	meter.report(ctx, &r, "events", measured.events)
	r.set("events_per_second", perSecondOf(measured.during, measured.outcome.elapsed))
	r.set("events", float64(measured.events))
	came := s.inbox.tally()
	r.Lost = measured.lost
	r.set("duplicates", float64(came.duplicates))
	r.set("unverified", float64(came.unverified))
	r.Latencies = append(r.Latencies, Latency{"event_from_transaction_to_receipt", measured.latency},
		Latency{latencyName("submit", o.Rate), measured.submit})
	r.note("CPU is that of everything the server did meanwhile, the submissions behind the events included.")
	r.clocks(came)
	if c.Given != nil {
		r.note("The deployment's clock may differ from that of this machine: the latency of events is as good as they agree.")
		return r, nil
	}
	if err := p.stop(); err != nil {
		return r, err
	}
	if err := r.limitSender(ctx, c, s.hooks, 1, came, 0); err != nil {
		return r, err
	}
	return r, p.limitDisk(ctx, &r)
}

// errNothing reports that a load has no calls.
var errNothing = errors.New("rate and duration, or the count, leave nothing to submit")

// calls returns the number of calls of a load in a time: those that are due, or the given number in a closed loop.
func (l load) calls(in time.Duration, asked int) int {
	if l.rate == 0 {
		return asked
	}
	return int(math.Ceil(l.rate * in.Seconds()))
}

// subscriber is a company that submits and receives the resulting events.
type subscriber struct {
	testbed *testbed
	hooks   *webhookServer
	inbox   *inbox
	t       *target
	paths   []string // of drafts that have not been submitted
	id      string   // of its subscription at a given deployment
	done    int64    // submissions so far
}

// newSubscriber creates drafts and a subscription for the first company.
func (p *testbed) newSubscriber(ctx context.Context, drafts int) (s *subscriber, err error) {
	s = &subscriber{testbed: p}
	if p.own != nil {
		s.hooks, s.inbox = p.own.hooks, p.own.companies[0].inbox
		if err := p.own.withTenant(ctx, p.own.companies[0],
			func(tenant *base.Tenant) error { return p.own.subscribe(ctx, tenant, p.own.companies[0]) }); err != nil {
			return nil, err
		}
		s.t, s.paths, err = p.serveWithDrafts(ctx, 1, drafts)
		return s, err
	}
	if p.config.Receiver.Identity == "" && p.config.Receiver.Certificate == "" {
		return nil,
			errors.New(
				"a given deployment has to trust the receiver's certificate: give --receiver-identity, such as the data directory of a sandbox, or --receiver-cert and --receiver-key")
	}
	if s.hooks, err = startWebhookServer(ctx, p.config.Receiver, "", p.config.Now); err != nil {
		return nil, err
	}
	if s.t, s.paths, err = p.serveWithDrafts(ctx, 1, drafts); err == nil {
		err = s.subscribe(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.hooks.close())
	}
	return s, nil
}

// subscribe creates a subscription over HTTP.
func (s *subscriber) subscribe(ctx context.Context) error {
	var tag [6]byte
	if _, err := rand.Read(tag[:]); err != nil {
		return fmt.Errorf("randomness: %w", err)
	}
	name := "bench-" + hex.EncodeToString(tag[:])
	s.inbox = s.hooks.addInbox(name)
	made, err := s.t.users[0].subscribe(ctx, s.hooks.URL+"/"+name)
	if err != nil {
		return err
	}
	s.inbox.setSecret(made.Secret)
	s.id = made.ID
	return nil
}

// close ends the subscription at a given deployment, even after a failed run, and stops the receiver.
func (s *subscriber) close(ctx context.Context) error {
	if s.id == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exchangeTimeout)
	defer cancel()
	_, err := s.t.users[0].service.DeactivateSubscription(ctx, s.id)
	return errors.Join(err, s.hooks.close())
}

// submitNext runs a load on the next drafts.
func (s *subscriber) submitNext(ctx context.Context, l load) (outcome, error) {
	count := min(l.count, len(s.paths))
	paths := s.paths[:count]
	s.paths = s.paths[count:]
	l.count = count
	t := *s.t
	t.users = t.users[:1]
	result, err := submit(ctx, s.testbed.config, &t, l, paths)
	s.done += result.done
	return result, err
}

// warmUp runs a load that is not measured. Its status queries may still run during the measurement.
func (s *subscriber) warmUp(ctx context.Context, l load) error {
	if l.count == 0 {
		return nil
	}
	l.latency = NewHistogram()
	result, err := s.submitNext(ctx, l)
	if err == nil && result.failures() > 0 {
		err = fmt.Errorf("warming up: %v", result.failed)
	}
	return err
}

// measured is the result of a load of submissions and their events.
type measured struct {
	outcome         outcome
	latency, submit *Histogram
	events, during  int64 // events received, in total and while the load ran
	lost            int64
}

// measure runs a load and waits for all its events.
func (s *subscriber) measure(ctx context.Context, l load) (m measured, err error) {
	before := s.inbox.received()
	m.latency, m.submit = s.inbox.resetLatency(), NewHistogram()
	l.latency = m.submit
	if m.outcome, err = s.submitNext(ctx, l); err != nil {
		return m, err
	}
	m.during = s.inbox.received() - before
	total, err := s.awaitDeliveries(ctx)
	if err != nil {
		return m, err
	}
	m.events = s.inbox.received() - before
	m.lost = max(0, total-s.inbox.received())
	s.inbox.resetLatency() // later events are not part of this
	return m, nil
}

// quietPeriod is how long nothing new may happen before a run is considered complete.
const quietPeriod = 3 * time.Second

// awaitDeliveries waits until every delivery of the subscription has ended and no more can follow: either every
// submission has ended, which the own provider guarantees, or nothing has arrived for a while. It returns the number of
// deliveries.
func (s *subscriber) awaitDeliveries(ctx context.Context) (deliveries int64, err error) {
	defer s.testbed.config.progress(ctx, "events received", s.inbox.received)()
	now := s.testbed.config.Now
	began := now()
	changed, known := began, int64(-1)
	for {
		total, err := s.deliveries(ctx, "")
		if err != nil {
			return 0, err
		}
		pending, err := s.deliveries(ctx, api.DeliveryPending)
		if err != nil {
			return 0, err
		}
		if total != known || pending > 0 {
			known, changed = total, now()
		}
		over := s.testbed.own != nil && s.inbox.endedSubmissions() >= s.done && pending == 0
		if over || now().Sub(changed) > quietPeriod || now().Sub(began) > idleTimeout {
			return total, nil
		}
		if err := s.t.alive(); err != nil {
			return 0, err
		}
		if err := rig.Sleep(ctx, 100*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// deliveries counts the deliveries in a state, or in any state when it is "": those of the subscription, or of the only
// one of an own company.
func (s *subscriber) deliveries(ctx context.Context, state api.DeliveryState) (int64, error) {
	return s.t.users[0].deliveries(ctx, client.DeliveryQuery{SubscriptionID: s.id, State: state})
}
