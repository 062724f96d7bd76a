package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// The interval at which [databaseClock] reads the clock of the database, and the time-out of a reading.
const (
	clockSyncInterval = 10 * time.Second
	clockSyncTimeout  = 5 * time.Second
)

// databaseClock is the clock of the database, so that all replicas use one clock for leases, expiries and due times
// even if the clocks of their machines differ. Between two readings it advances with the monotonic clock of this
// machine, which is not affected when somebody sets the wall clock.
type databaseClock struct {
	local func() time.Time
	query func(context.Context) (time.Time, error)
	last  atomic.Pointer[clockReading]
}

// clockReading pairs a time of the database, at, with the time of this machine, local, which has its monotonic part.
type clockReading struct{ local, at time.Time }

// now returns the time of the database. It must not be called before sync.
func (c *databaseClock) now() time.Time {
	r := c.last.Load()
	return r.at.Add(c.local().Sub(r.local))
}

// sync reads the clock of the database. That clock was read at an unknown moment of the round trip. If the current
// estimate is consistent with some moment of it, sync keeps the estimate, to avoid jitter. Otherwise it assumes the
// middle.
func (c *databaseClock) sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clockSyncTimeout)
	defer cancel()
	asked := c.local()
	at, err := c.query(ctx)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	trip := c.local().Sub(asked)
	if r := c.last.Load(); r != nil {
		if ours := r.at.Add(asked.Sub(r.local)); !ours.After(at) && !ours.Add(trip).Before(at) {
			return nil
		}
	}
	c.last.Store(&clockReading{local: asked.Add(trip / 2), at: at.UTC()})
	return nil
}

// syncPeriodically calls sync until ctx ends. While the database does not respond, the clock advances on its own.
func (c *databaseClock) syncPeriodically(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(clockSyncInterval)
	defer ticker.Stop()
	failing := false // so that an outage is one line
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			err := c.sync(ctx)
			if err != nil && !failing && !errors.Is(err, context.Canceled) {
				log.WarnContext(ctx, "could not read the clock of the database, using the local clock since the last reading",
					"error", err)
			}
			failing = err != nil
		}
	}
}

// maxHold is the largest step back of a clock that [steadyClock] hides by standing still. It follows larger ones,
// because waiting for the old time would take too long.
const maxHold = time.Minute

// steadyClock is a clock that never takes a small step back, as a clock that follows another one does: it stands still
// until its source has caught up.
type steadyClock struct {
	source func() time.Time
	last   atomic.Int64 // microseconds since 1970
}

func (c *steadyClock) now() time.Time {
	at := c.source().UnixMicro()
	for {
		last := c.last.Load()
		if at <= last && last-at <= maxHold.Microseconds() {
			return time.UnixMicro(last).UTC()
		}
		if c.last.CompareAndSwap(last, at) {
			return time.UnixMicro(at).UTC()
		}
	}
}

// startClock sets the clock; see [Options]. It reads the clock of the database periodically until background ends.
func (d *DB) startClock(ctx, background context.Context) error {
	local := d.options.Local
	if local == nil {
		local = time.Now
	}
	replicas := d.engine.replicas()
	switch {
	case d.options.Now != nil:
		d.clock = d.options.Now
	case replicas == nil:
		d.clock = (&steadyClock{source: local}).now
	default:
		shared := &databaseClock{local: local, query: replicas.time}
		if err := shared.sync(ctx); err != nil {
			return d.Classify(err)
		}
		d.clock = (&steadyClock{source: shared.now}).now
		d.done.Go(func() { shared.syncPeriodically(background, d.log) })
	}
	return nil
}

// Now returns the time in UTC by the clock of [Options], at the resolution of the database, a microsecond.
func (d *DB) Now() time.Time { return d.clock().UTC().Truncate(time.Microsecond) }
