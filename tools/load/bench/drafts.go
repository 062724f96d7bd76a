package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// DraftsOptions are the options of [Drafts].
type DraftsOptions struct {
	// Clients create drafts, each one at a time.
	Clients int
	// Rate is the number of drafts per second (open loop); with 0 the clients create as many as they can (closed loop).
	Rate float64
	// Count bounds the number of drafts and Duration the time; one of them may be 0.
	Count    int
	Duration time.Duration
	// Items is the number of items of each draft.
	Items int
}

// Drafts creates drafts over HTTP. Each 201 is a durable draft, and the list must show all of them at the end.
func Drafts(ctx context.Context, c Config, o DraftsOptions) (_ Report, err error) {
	r := c.report()
	r.setting("clients", float64(o.Clients))
	r.setting("items_per_draft", float64(o.Items))
	p, err := prepare(ctx, c, &r, 1, 0)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	t, err := p.serve(ctx)
	if err != nil {
		return r, err
	}
	before, err := t.users[0].invoices(ctx)
	if err != nil {
		return r, err
	}
	meter := p.meter(ctx)
	result, latency, err := createDrafts(ctx, c, t, o)
	if err != nil {
		return r, err
	}
	r.loop(o.Rate)
	r.count(result, o.Rate)
	perSecond := perSecondOf(result.done, result.elapsed)
	r.set("drafts_created", float64(result.done))
	r.set("drafts_per_second", perSecond)
	meter.report(ctx, &r, "drafts", result.done)
	r.Latencies = append(r.Latencies, Latency{latencyName("create_draft", o.Rate), latency})
	after, err := t.users[0].invoices(ctx)
	if err != nil {
		return r, err
	}
	if missing := before + int(result.done) - after; missing > 0 {
		return r, fmt.Errorf("%d drafts that were answered with 201 are not in the list", missing)
	}
	if err := p.stop(); err != nil {
		return r, err
	}
	if err := r.limitHTTP(ctx, c, o.Clients, perSecond); err != nil {
		return r, err
	}
	return r, p.limitDisk(ctx, &r)
}

// createDrafts creates drafts of the first user.
func createDrafts(ctx context.Context, c Config, t *target, o DraftsOptions) (_ outcome, _ *Histogram, err error) {
	prefix := draftPrefix(c.Now())
	templates := make([]template, o.Clients)
	for n := range templates {
		if templates[n], err = draftTemplate(t, 0, o.Items, prefix, c.Now()); err != nil {
			return outcome{}, nil, err
		}
	}
	conns, closeConns := t.conns(o.Clients)
	defer func() { err = errors.Join(err, closeConns()) }()
	l := load{clients: o.Clients, rate: o.Rate, count: o.Count, duration: o.Duration, now: c.Now, latency: NewHistogram(),
		done: new(atomic.Int64)}
	defer c.progress(ctx, "drafts", l.done.Load)()
	result := l.run(ctx, func(ctx context.Context, client int, n int64) error {
		return conns[client].expect(ctx, http.StatusCreated, templates[client].with(n))
	})
	return result, l.latency, errors.Join(ctx.Err(), t.alive())
}

// latencyName returns the name of a latency, which says when it starts.
func latencyName(what string, rate float64) string {
	if rate == 0 {
		return what + "_from_send"
	}
	return what + "_from_schedule"
}
