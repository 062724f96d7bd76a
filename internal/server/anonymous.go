package server

import (
	"net/netip"
	"sync"
	"time"

	"quittance/internal/account"
	"quittance/internal/connlimit"
	"quittance/internal/source"
)

const (
	anonymousWindow = time.Minute
	// mostSources is how many sources are counted apart; further ones share one count, so that memory is bounded.
	mostSources = 1 << 17
)

// anonymousLimiter counts what each source does without an accepted credential, in windows of a minute. It is safe for
// concurrent use.
type anonymousLimiter struct {
	most int64 // 0 for no limit
	now  func() time.Time

	mu      sync.Mutex
	windows map[netip.Prefix]anonymousCount
	swept   time.Time
}

// anonymousCount is the current minute of a source.
type anonymousCount struct {
	end  time.Time
	used int64
}

func newAnonymousLimiter(most int64, now func() time.Time) *anonymousLimiter {
	return &anonymousLimiter{most: most, now: now, windows: map[netip.Prefix]anonymousCount{}}
}

// spend counts n requests of a source, and of the /48 around it. When they are more than it has left, none is counted and
// the error is a [*account.LimitedError].
func (l *anonymousLimiter) spend(from source.Source, n int64) error {
	if l.most == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.sweep(now)
	if err := l.check(from.Narrow(), l.most, n, now); err != nil {
		return err
	}
	if !from.HasWide() {
		l.add(from.Narrow(), n, now)
		return nil
	}
	if err := l.check(from.Wide(), connlimit.WideFactor*l.most, n, now); err != nil {
		return err
	}
	l.add(from.Narrow(), n, now)
	l.add(from.Wide(), n, now)
	return nil
}

// refund takes back what was counted.
func (l *anonymousLimiter) refund(from source.Source, n int64) {
	if l.most == 0 {
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

func (l *anonymousLimiter) check(prefix netip.Prefix, most, n int64, now time.Time) error {
	if count := l.windows[l.key(prefix)]; now.Before(count.end) && count.used+n > most {
		return &account.LimitedError{Limit: account.Limit{Max: most, Remaining: max(0, most-count.used), Reset: count.end.Sub(now)}}
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

// key is what a prefix is counted under.
func (l *anonymousLimiter) key(prefix netip.Prefix) netip.Prefix {
	if _, ok := l.windows[prefix]; !ok && len(l.windows) >= mostSources {
		return netip.Prefix{}
	}
	return prefix
}

// sweep forgets ended windows, once a minute.
func (l *anonymousLimiter) sweep(now time.Time) {
	if now.Sub(l.swept) < anonymousWindow {
		return
	}
	l.swept = now
	for prefix, count := range l.windows {
		if !now.Before(count.end) {
			delete(l.windows, prefix)
		}
	}
}
