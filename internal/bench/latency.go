package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	"quittance/api"
	"quittance/internal/store"
)

// LatencyOptions are the sizes of [EventLatency].
type LatencyOptions struct {
	// Rate is how many submissions are due a second, an open loop: each makes about five events, two at once and the rest
	// with its look-up. With 0 the clients submit as fast as they can.
	Rate float64
	// Clients submit, each one invoice at a time.
	Clients int
	// Warmup is how long the load runs before anything counts, Duration how long it counts.
	Warmup, Duration time.Duration
	// Count is how many invoices are submitted in a closed loop, which cannot tell before how many it needs.
	Count int
}

// EventLatency measures how long after the commit of an event the receiver has it, under a steady load of submissions. It
// counts from occurred_at, which is set inside the transaction: the commit itself is part of it.
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
	meter := p.meter()
	measured, err := s.measure(ctx, l)
	if err != nil {
		return r, err
	}
	r.count(measured.outcome, o.Rate)
	meter.report(&r, "events", measured.events)
	r.set("events_per_second", perSecondOf(measured.during, measured.outcome.elapsed))
	r.set("events", float64(measured.events))
	came := s.inbox.tally()
	r.Lost = measured.lost
	r.set("duplicates", float64(came.duplicates))
	r.set("unverified", float64(came.unverified))
	r.Latencies = append(r.Latencies, Latency{"event_from_transaction_to_receipt", measured.latency}, Latency{latencyName("submit", o.Rate), measured.submit})
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

// errNothing says that a load has no calls.
var errNothing = errors.New("rate and duration, or the count, leave nothing to submit")

// calls is how many calls a load makes in a time: as many as are due, or what is asked for in a closed loop.
func (l load) calls(in time.Duration, asked int) int {
	if l.rate == 0 {
		return asked
	}
	return int(math.Ceil(l.rate * in.Seconds()))
}

// subscriber is a company that submits and is told of what follows.
type subscriber struct {
	testbed *testbed
	hooks   *webhookServer
	inbox   *inbox
	t       *target
	user    int
	paths   []string // of drafts that have not been submitted
	id      string   // of its subscription at a given deployment
	done    int64    // submissions so far
}

// listen makes drafts and a subscription, for the first company.
func (p *testbed) newSubscriber(ctx context.Context, drafts int) (s *subscriber, err error) {
	s = &subscriber{testbed: p}
	if p.own != nil {
		s.hooks, s.inbox = p.own.hooks, p.own.companies[0].inbox
		if err := p.own.withTenant(ctx, p.own.companies[0], func(tenant *store.Tenant) error { return p.own.subscribe(ctx, tenant, p.own.companies[0]) }); err != nil {
			return nil, err
		}
		s.t, s.paths, err = p.serveWithDrafts(ctx, 1, drafts)
		return s, err
	}
	if p.config.Receiver.Identity == "" && p.config.Receiver.Certificate == "" {
		return nil, errors.New("a given deployment has to trust the receiver's certificate: give --receiver-identity, such as the data directory of a sandbox, or --receiver-cert and --receiver-key")
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

// subscribe makes a subscription over HTTP.
func (s *subscriber) subscribe(ctx context.Context) error {
	var tag [6]byte
	if _, err := rand.Read(tag[:]); err != nil {
		return fmt.Errorf("randomness: %w", err)
	}
	name := "bench-" + hex.EncodeToString(tag[:])
	s.inbox = s.hooks.addInbox(name)
	made, err := s.t.subscribe(ctx, s.user, s.hooks.url+"/"+name)
	if err != nil {
		return err
	}
	s.inbox.setSecret(made.Secret)
	s.id = made.ID
	return nil
}

// leave ends the subscription at a given deployment, whatever became of the run, and the receiver with it.
func (s *subscriber) close(ctx context.Context) error {
	if s.id == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exchangeTimeout)
	defer cancel()
	var left json.RawMessage
	err := s.t.call(ctx, http.StatusOK, s.t.request(s.user, http.MethodPost, subscriptionsPath+"/"+s.id+"/deactivate", nil), &left)
	return errors.Join(err, s.hooks.close())
}

// take runs a load on the next drafts.
func (s *subscriber) submitNext(ctx context.Context, l load) (outcome, error) {
	count := min(l.count, len(s.paths))
	paths := s.paths[:count]
	s.paths = s.paths[count:]
	l.count = count
	t := *s.t
	t.tokens = t.tokens[s.user : s.user+1]
	result, err := submit(ctx, s.testbed.config, &t, l, paths)
	s.done += result.done
	return result, err
}

// warmUp runs a load that does not count. What its look-ups cause later on may.
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

// measured is what a load of submissions and its events came to.
type measured struct {
	outcome         outcome
	latency, submit *Histogram
	events, during  int64 // events that came, in all and while the load ran
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
	s.inbox.resetLatency() // what comes later is no part of this
	return m, nil
}

// quiet is for how long nothing new may happen before everything is taken to be over.
const quietPeriod = 3 * time.Second

// settle waits until every delivery of the subscription has ended and nothing more can come: every submission has ended, as
// they do at the own provider, or nothing has come for a while. It returns how many deliveries there were.
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
		if !sleep(ctx, 100*time.Millisecond) {
			return 0, ctx.Err()
		}
	}
}

// deliveries counts the deliveries of the subscription, or of the only one of an own company, in a state; in any when
// state is "".
func (s *subscriber) deliveries(ctx context.Context, state api.DeliveryState) (int64, error) {
	path := deliveriesPath + "?per_page=1"
	if state != "" {
		path += "&state=" + string(state)
	}
	if s.id != "" {
		path += "&subscription_id=" + s.id
	}
	total, err := s.t.total(ctx, s.user, path)
	return int64(total), err
}
