package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// The pace of [databaseClock], and the longest that one look at the database's clock may take.
const (
	lookAtClock      = 10 * time.Second
	lookAtClockLimit = 5 * time.Second
)

// databaseClock tells the time of the database, so that the leases, expiries and due times of all replicas are of one
// clock, however wrong the clocks of their machines are. Between two looks at the database it goes on by the monotonic
// clock of this machine: somebody who sets the wall clock does not move it.
type databaseClock struct {
	local func() time.Time
	ask   func(context.Context) (time.Time, error)
	last  atomic.Pointer[clockReading]
}

// clockReading says that it was at by the database when it was local by this machine. local keeps its monotonic part.
type clockReading struct{ local, at time.Time }

// now is the time of the database. It needs a look before.
func (c *databaseClock) now() time.Time {
	r := c.last.Load()
	return r.at.Add(c.local().Sub(r.local))
}

// look compares with the database. Its clock was read at some instant between question and answer; a time of ours that
// lies between them too is as good as any, and kept, so that the clock does not tremble. Otherwise it is set to the
// middle.
func (c *databaseClock) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookAtClockLimit)
	defer cancel()
	asked := c.local()
	at, err := c.ask(ctx)
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

// keep looks from time to time until ctx ends. While the database does not answer, the clock goes on by itself.
func (c *databaseClock) keep(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(lookAtClock)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := c.look(ctx); err != nil && !errors.Is(err, context.Canceled) {
				log.WarnContext(ctx, "the clock goes on without the database's", "error", err)
			}
		}
	}
}

// maxHeld is how far a clock may go back and be held where it was. A clock that is set back by more was wrong by more than
// anybody should wait for: it is followed.
const maxHeld = time.Minute

// steadyClock is a clock that does not go back by a little, as one that follows another does when it is set: it stands still until it is
// that late again.
type steadyClock struct {
	ask  func() time.Time
	last atomic.Int64 // microseconds since 1970
}

func (c *steadyClock) now() time.Time {
	at := micros(c.ask())
	for {
		last := c.last.Load()
		if at <= last && last-at <= maxHeld.Microseconds() {
			return instant(last)
		}
		if c.last.CompareAndSwap(last, at) {
			return instant(at)
		}
	}
}

// Now is the clock of this store, the one that its leases, expiries and due times are of: that of the database on
// PostgreSQL, which all replicas share, and that of this machine on SQLite, unless [Options.Now] says otherwise.
func (db *DB) Now() time.Time { return db.clock().UTC() }
