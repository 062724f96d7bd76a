package bench

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"
)

// StartOptions are the options of [Start].
type StartOptions struct {
	// Size is the minimum size of the database in bytes. A database in the configured directory that is large enough is
	// used unchanged.
	Size int64
	// Count is how often the server is started, from 1.
	Count int
}

// eventShare says that one in eventShare bytes of a database's growth belongs to events and the documents behind them;
// the rest is drafts.
const eventShare = 10

// firstDrafts is the number of drafts that are made before their size is known.
const firstDrafts = 2000

// Start measures the time from the start of the server's process until /readyz answers 200, on a database of a given
// size. It needs its own deployment.
func Start(ctx context.Context, c Config, o StartOptions) (_ Report, err error) {
	r := c.report()
	r.setting("starts", float64(o.Count))
	if c.Given != nil {
		return r, errNeedsOwn
	}
	p, err := prepare(ctx, c, &r, 1, 0)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	size, err := p.own.grow(ctx, o.Size)
	if err != nil {
		return r, err
	}
	r.setting("database_bytes", float64(size))
	latency, all := NewHistogram(), []time.Duration{}
	var done atomic.Int64
	defer c.progress(ctx, "starts", done.Load)()
	for range o.Count {
		if _, err := p.serve(ctx); err != nil {
			return r, err
		}
		latency.Record(p.own.server.ready)
		all = append(all, p.own.server.ready)
		done.Add(1)
		if err := p.stop(); err != nil {
			return r, err
		}
	}
	slices.Sort(all)
	r.set("start_to_ready_median_seconds", all[len(all)/2].Seconds())
	r.set("start_to_ready_longest_seconds", all[len(all)-1].Seconds())
	r.Latencies = append(r.Latencies, Latency{"start_to_ready", latency})
	r.note("The files are in the memory of the operating system: the machine itself was not started anew.")
	return r, p.limitDisk(ctx, &r)
}

// grow adds drafts and events until the database has a size, and returns its final size.
func (d *deployment) grow(ctx context.Context, size int64) (int64, error) {
	found, err := d.size(ctx)
	if err != nil {
		return 0, err
	}
	drafts, events := firstDrafts, seedBatch // a first estimate of their sizes
	for found.Bytes < size {
		before := found.Bytes
		if err := d.seedEvents(ctx, d.companies[0], events, false); err != nil {
			return 0, err
		}
		if found, err = d.size(ctx); err != nil {
			return 0, err
		}
		perEvent := max(1, (found.Bytes-before)/int64(events))
		before = found.Bytes
		if err := d.fillDrafts(ctx, d.companies[0], drafts); err != nil {
			return 0, err
		}
		if found, err = d.size(ctx); err != nil {
			return 0, err
		}
		perDraft := max(1, (found.Bytes-before)/int64(drafts))
		left := max(0, size-found.Bytes)
		events, drafts = max(seedBatch, int(left/eventShare/perEvent)), max(seedBatch, int((left-left/eventShare)/perDraft))
	}
	return found.Bytes, nil
}
