package webhook

import "time"

// MaxWait is the longest time between two attempts, whatever the schedule, the jitter or the destination says
// (contract, section 9).
const MaxWait = 6 * time.Hour

// Backoff is the schedule of the attempts of one delivery: at once, then First × 3ⁿ, at most [MaxWait] apart. It is
// bounded, as the specification wants it (part 6.5, rule 4).
type Backoff struct {
	// First is the wait after the first attempt.
	First time.Duration
	// Attempts is the number of attempts in all, the first included.
	Attempts int
}

// DefaultBackoff is the schedule of contract, section 9: 12 attempts in about a day.
func DefaultBackoff() Backoff { return Backoff{First: 5 * time.Second, Attempts: 12} }

// Next says how long to wait after attempt attempts were made, and whether there is another attempt at all. The wait
// is between 0 (before the first attempt) and [MaxWait]. The schedule's wait is multiplied by 0.8 to 1.2 as jitter goes from
// 0 to 1, so that deliveries that failed together do not come back together. retryAfter, what the destination asked for, can
// lengthen the wait and never shortens it.
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
