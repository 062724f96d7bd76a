package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/test/benchdb"
	"quittance/tools/load/rig"
)

// DeliveriesOptions are the options of [Deliveries].
type DeliveriesOptions struct {
	// Count is how many events are due when the server starts, from 1.
	Count int
	// Idle is how long a server without work runs before its memory is read; 0 leaves that out.
	Idle time.Duration
}

// seedBatch is how many events are recorded in one transaction.
const seedBatch = 200

// idleTimeout is how long a run waits for missing events or attempts while nothing arrives.
const idleTimeout = 90 * time.Second

// Deliveries measures a burst. It records events, in the same transactions as any others, while no server runs; then it
// starts one, which delivers them to one destination over HTTPS. The time counts from the first receipt until every
// attempt is recorded. It needs its own deployment.
func Deliveries(ctx context.Context, c Config, o DeliveriesOptions) (_ Report, err error) {
	r := c.report()
	r.setting("events", float64(o.Count))
	if c.Given != nil {
		return r, errNeedsOwn
	}
	p, err := prepare(ctx, c, &r, 1, 0)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	d := p.own
	if err := d.idle(ctx, &r, o.Idle); err != nil {
		return r, err
	}
	before, err := d.size(ctx)
	if err != nil {
		return r, err
	}
	if err := d.seedEvents(ctx, d.companies[0], o.Count, true); err != nil {
		return r, err
	}
	began := p.unstarted(ctx)
	t, err := d.serve(ctx)
	if err != nil {
		return r, err
	}
	in := d.companies[0].inbox
	recorded, err := p.drain(ctx, t, in, o.Count)
	if err != nil {
		return r, err
	}
	came := in.tally()
	seconds := recorded.Sub(came.first).Seconds()
	perSecond := float64(came.events) / seconds
	r.Lost = int64(o.Count) - came.events
	r.set("deliveries_per_second", perSecond)
	r.set("until_every_attempt_is_recorded_seconds", seconds)
	r.set("receipts_per_second", perSecondOf(came.events-1, came.last.Sub(came.first)))
	r.set("most_in_flight", float64(in.maxInFlight.Load()))
	r.set("duplicates", float64(came.duplicates))
	r.set("unverified", float64(came.unverified))
	began.report(ctx, &r, "deliveries", came.events)
	r.note(
		"CPU counts from the start of the server's process. One destination: what is in flight at a time is the server's share of a destination.")
	if err := p.stop(); err != nil {
		return r, err
	}
	if err := d.growth(ctx, &r, before, came.events); err != nil {
		return r, err
	}
	if err := r.limitSender(ctx, c, d.hooks, int(max(1, in.maxInFlight.Load())), came, perSecond); err != nil {
		return r, err
	}
	return r, p.limitDisk(ctx, &r)
}

// errNeedsOwn reports that a measurement cannot use a given deployment.
var errNeedsOwn = errors.New(
	"this measurement prepares the database of a deployment of its own; against a given one measure drafts, submissions, latency (with --rate 0 for bursts) or lists")

// idle starts a server without work and reads its memory.
func (d *deployment) idle(ctx context.Context, r *Report, how time.Duration) error {
	if how == 0 {
		return nil
	}
	if _, err := d.serve(ctx); err != nil {
		return err
	}
	if err := rig.Sleep(ctx, how); err != nil {
		return err
	}
	if used, err := usageOf(d.server.command.Process.Pid); err != nil {
		r.unknown("memory_idle_bytes", err.Error())
	} else {
		r.set("memory_idle_bytes", float64(used.rss))
	}
	return d.stop()
}

// seedEvents records events of a company: incoming e-invoices, which need no call. If due is set, it creates a
// subscription first, so that each event is immediately due for delivery.
func (d *deployment) seedEvents(ctx context.Context, of *company, count int, due bool) error {
	var made atomic.Int64
	defer d.config.progress(ctx, "events recorded", made.Load)()
	return d.withTenant(ctx, of, func(tenant *base.Tenant) error {
		if due {
			if err := d.subscribe(ctx, tenant, of); err != nil {
				return err
			}
		}
		for made.Load() < int64(count) {
			if err := ctx.Err(); err != nil {
				return err
			}
			docs := make([]incoming.NewIncoming, 0, seedBatch)
			for n := made.Load(); n < min(int64(count), made.Load()+seedBatch); n++ {
				doc, err := syntheticIncoming(int(n), d.config.Now())
				if err != nil {
					return err
				}
				docs = append(docs, doc)
			}
			if err := incoming.Seed(ctx, tenant, docs); err != nil {
				return err
			}
			made.Add(int64(len(docs)))
		}
		return nil
	})
}

// drain waits until an inbox has count events and every attempt is recorded, and returns the time. It gives up after
// idleTimeout; the caller compares the numbers.
func (p *testbed) drain(ctx context.Context, t *target, in *inbox, count int) (recorded time.Time, err error) {
	defer p.config.progress(ctx, "events received", in.received)()
	if err := waitFor(ctx, t, in, func() bool { return in.received() >= int64(count) }); err != nil {
		return time.Time{}, err
	}
	last := p.config.Now()
	for {
		pending, err := t.users[0].pending(ctx)
		now := p.config.Now()
		if err != nil || pending == 0 || now.Sub(last) > idleTimeout {
			return now, err
		}
		if err := rig.Sleep(ctx, 5*time.Millisecond); err != nil {
			return now, err
		}
	}
}

// waitFor waits for a condition of an inbox, as long as events keep arriving.
func waitFor(ctx context.Context, t *target, in *inbox, condition func() bool) error {
	known, since := in.received(), t.now()
	for !condition() {
		if err := errors.Join(ctx.Err(), t.alive()); err != nil {
			return err
		}
		switch now := in.received(); {
		case now != known:
			known, since = now, t.now()
		case t.now().Sub(since) > idleTimeout:
			return nil
		}
		if err := rig.Sleep(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// growth reports the space that the events take up on the disk.
func (d *deployment) growth(ctx context.Context, r *Report, before benchdb.Size, events int64) error {
	after, err := d.size(ctx)
	if err != nil {
		return err
	}
	each := func(bytes int64) float64 { return float64(bytes) / float64(max(1, events)) }
	r.set("history_bytes_per_event", each(after.HistoryBytes-before.HistoryBytes))
	r.set("database_bytes_per_event", each(after.Bytes-before.Bytes))
	r.note(
		"history_bytes_per_event is what events, deliveries and attempts take up with their indexes, as they stand after the burst; database_bytes_per_event counts everything, the retained purchase document behind each event included.")
	return nil
}
