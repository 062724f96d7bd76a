package quittancetest

import (
	"sync/atomic"
	"time"
)

// clock is the clock of the service and the provider.
type clock struct {
	machine  func() time.Time
	start    time.Time
	stopped  bool
	advanced atomic.Int64 // nanoseconds
}

func newClock() *clock {
	c := &clock{machine: time.Now}
	c.start = c.machine()
	return c
}

// now returns the time. It never goes back, because it follows the monotonic clock of the machine.
func (c *clock) now() time.Time {
	at := c.start.Add(time.Duration(c.advanced.Load()))
	if !c.stopped {
		at = at.Add(c.machine().Sub(c.start))
	}
	return at
}

func (c *clock) advance(d time.Duration) { c.advanced.Add(int64(d)) }
