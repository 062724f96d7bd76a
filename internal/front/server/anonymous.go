package server

import (
	"maps"
	"net/netip"
	"sync"
	"time"

	"quittance/internal/account"
	"quittance/internal/platform/connlimit"
	"quittance/internal/platform/source"
)

const (
	anonymousWindow = time.Minute
	// maxSources is how many sources have a count of their own; further sources share one, so that memory is bounded.
	maxSources = 1 << 17
)

// anonymousLimiter counts the requests that each source makes without an accepted credential, in windows of a minute.
// It is safe for concurrent use.
type anonymousLimiter struct {
	max int64 // 0 for no limit
	now func() time.Time

	mu      sync.Mutex
	windows map[netip.Prefix]anonymousCount
	swept   time.Time
}

// anonymousCount is the count of a source in its current minute.
type anonymousCount struct {
	end  time.Time
	used int64
}

func newAnonymousLimiter(limit int64, now func() time.Time) *anonymousLimiter {
	return &anonymousLimiter{max: limit, now: now, windows: map[netip.Prefix]anonymousCount{}}
}

// spend counts n requests of a source and of its /48. If fewer than n are left, spend counts none and returns a
// [*account.LimitedError].
func (l *anonymousLimiter) spend(from source.Source, n int64) error {
	if l.max == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.sweep(now)
	if err := l.check(from.Narrow(), l.max, n, now); err != nil {
		return err
	}
	if !from.HasWide() {
		l.add(from.Narrow(), n, now)
		return nil
	}
	if err := l.check(from.Wide(), connlimit.WideFactor*l.max, n, now); err != nil {
		return err
	}
	l.add(from.Narrow(), n, now)
	l.add(from.Wide(), n, now)
	return nil
}

// refund subtracts n requests that were counted.
func (l *anonymousLimiter) refund(from source.Source, n int64) {
	if l.max == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.add(from.Narrow(), -n, now)
	if from.HasWide() {
		l.add(from.Wide(), -n, now)
	}
}

func (l *anonymousLimiter) check(prefix netip.Prefix, limit, n int64, now time.Time) error {
	if count := l.windows[l.key(prefix)]; now.Before(count.end) && count.used+n > limit {
		return &account.LimitedError{Limit: account.Limit{Max: limit, Remaining: max(0, limit-count.used),
			Reset: count.end.Sub(now)}}
	}
	return nil
}

func (l *anonymousLimiter) add(prefix netip.Prefix, n int64, now time.Time) {
	key := l.key(prefix)
	count := l.windows[key]
	if !now.Before(count.end) {
		count = anonymousCount{end: now.Add(anonymousWindow)}
	}
	count.used = max(0, count.used+n)
	l.windows[key] = count
}

// key returns the map key of a prefix: the prefix itself, or the shared key if too many sources are counted already.
func (l *anonymousLimiter) key(prefix netip.Prefix) netip.Prefix {
	if _, ok := l.windows[prefix]; !ok && len(l.windows) >= maxSources {
		return netip.Prefix{}
	}
	return prefix
}

// sweep removes ended windows, once a minute.
func (l *anonymousLimiter) sweep(now time.Time) {
	if now.Sub(l.swept) < anonymousWindow {
		return
	}
	l.swept = now
	maps.DeleteFunc(l.windows, func(_ netip.Prefix, count anonymousCount) bool { return !now.Before(count.end) })
}
