package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// FairnessOptions are the options of [Fairness].
type FairnessOptions struct {
	// Due is the number of events of one company, at least 1, that are due at a destination that accepts connections
	// and never answers.
	Due int
	// Rate is the number of submissions per second of the other company, above 0; Clients make them.
	Rate    float64
	Clients int
	// Warmup and Duration are those of [LatencyOptions], for each of the two measurements.
	Warmup, Duration time.Duration
}

// Fairness measures the latency of a company's events with and without another company whose destination hangs, in one
// run on one database. It needs its own deployment.
func Fairness(ctx context.Context, c Config, o FairnessOptions) (_ Report, err error) {
	r := c.report()
	r.setting("events_due_at_the_hanging_destination", float64(o.Due))
	r.setting("clients", float64(o.Clients))
	r.setting("duration_seconds", o.Duration.Seconds())
	r.loop(o.Rate)
	if c.Given != nil {
		return r, errNeedsOwn
	}
	p, err := prepare(ctx, c, &r, 2, 0)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	l := load{clients: o.Clients, rate: o.Rate, duration: o.Duration, now: c.Now, done: new(atomic.Int64)}
	warm := l
	warm.duration = o.Warmup
	warm.count, l.count = l.calls(o.Warmup, 0), l.calls(o.Duration, 0)
	if l.count < 1 {
		return r, errNothing
	}
	s, err := p.newSubscriber(ctx, 2*(l.count+warm.count))
	if err != nil {
		return r, err
	}
	alone, err := s.warmAndMeasure(ctx, warm, l)
	if err != nil {
		return r, err
	}
	if err := p.startHanging(ctx, s, o.Due); err != nil {
		return r, err
	}
	beside, err := s.warmAndMeasure(ctx, warm, l)
	if err != nil {
		return r, err
	}
	hanging := p.own.companies[1].inbox
	r.count(alone.outcome.plus(beside.outcome), o.Rate)
	r.Lost = alone.lost + beside.lost
	r.set("hanging_calls_at_a_time", float64(hanging.maxInFlight.Load()))
	r.set("events_alone", float64(alone.events))
	r.set("events_beside_the_hanging_destination", float64(beside.events))
	for _, q := range []struct {
		name  string
		share float64
	}{{"p50", .5}, {"p99", .99}} {
		was, is := alone.latency.Quantile(q.share).Seconds(), beside.latency.Quantile(q.share).Seconds()
		r.set(q.name+"_alone_seconds", was)
		r.set(q.name+"_beside_seconds", is)
		r.set(q.name+"_ratio", is/was)
	}
	r.Latencies = append(r.Latencies, Latency{"event_to_receipt_alone", alone.latency},
		Latency{"event_to_receipt_beside_the_hanging_destination", beside.latency})
	r.clocks(s.inbox.tally())
	return r, p.limitDisk(ctx, &r)
}

// warmAndMeasure runs a warm-up load and a measured load.
func (s *subscriber) warmAndMeasure(ctx context.Context, warm, l load) (measured, error) {
	if err := s.warmUp(ctx, warm); err != nil {
		return measured{}, err
	}
	return s.measure(ctx, l)
}

// startHanging makes events of the second company due at a destination that never answers, and restarts the server with
// them. It returns once calls hang.
func (p *testbed) startHanging(ctx context.Context, s *subscriber, due int) (err error) {
	if err := p.stop(); err != nil {
		return err
	}
	other := p.own.companies[1]
	other.inbox.hanging.Store(true)
	if err := p.own.seedEvents(ctx, other, due, true); err != nil {
		return err
	}
	if s.t, err = p.serve(ctx); err != nil {
		return err
	}
	return waitFor(ctx, s.t, other.inbox, func() bool { return other.inbox.inFlight.Load() > 0 })
}
