package webhook

import "time"

// MaxWait is the longest time between two attempts, whatever the schedule, the jitter and the destination demand.
const MaxWait = 6 * time.Hour

// Backoff is the schedule of the attempts of one delivery: the first one at once, and the others after First × 3ⁿ, at
// most [MaxWait] apart. The number of attempts is bounded.
type Backoff struct {
	// First is the wait after the first attempt.
	First time.Duration
	// Attempts is the number of attempts including the first.
	Attempts int
}

// DefaultBackoff is the schedule of a server without flags for it: 12 attempts in about a day.
func DefaultBackoff() Backoff { return Backoff{First: 5 * time.Second, Attempts: 12} }

// Next returns how long to wait after the given number of attempts, and whether there is another attempt. The wait is
// between 0 (before the first attempt) and [MaxWait]. jitter, from 0 to 1, scales the scheduled wait by 0.8 to 1.2, so
// that deliveries that failed together are not retried together. retryAfter is the wait that the destination requested;
// it can lengthen the wait and never shortens it.
func (b Backoff) Next(attempt int, retryAfter time.Duration, jitter float64) (wait time.Duration, again bool) {
	if attempt >= b.Attempts {
		return 0, false
	}
	if attempt <= 0 {
		return 0, true
	}
	wait = min(max(b.First, 0), MaxWait)
	for n := 1; n < attempt && wait < MaxWait; n++ {
		wait = min(3*wait, MaxWait)
	}
	wait = min(time.Duration(float64(wait)*(0.8+0.4*jitter)), MaxWait)
	return max(wait, min(retryAfter, MaxWait)), true
}
