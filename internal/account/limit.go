package account

import (
	"maps"
	"sync"
	"time"
)

// callWindow is the window of the call limit.
const callWindow = time.Minute

// CallLimiter counts the calls of each token and of each session at this replica. It is safe for concurrent use.
type CallLimiter struct {
	max int64 // 0 for no limit
	now func() time.Time

	mu      sync.Mutex
	windows map[[32]byte]window
	swept   time.Time
}

// window is a token's current minute.
type window struct {
	end  time.Time
	used int64
}

// NewCallLimiter returns a limiter with the given number of calls a minute; 0 means no limit.
func NewCallLimiter(limit int64, now func() time.Time) *CallLimiter {
	return &CallLimiter{max: limit, now: now, windows: map[[32]byte]window{}}
}

// Spend counts a call with the token or session of the given digest and returns the state of its limit. The error is a
// [*LimitedError] if no calls are left.
func (l *CallLimiter) Spend(token [32]byte) (Limit, error) {
	if l.max == 0 {
		return Limit{}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.sweep(now)
	w := l.windows[token]
	if !now.Before(w.end) {
		w = window{end: now.Add(callWindow)}
	}
	w.used++
	l.windows[token] = w
	limit := Limit{Max: l.max, Remaining: max(0, l.max-w.used), Reset: w.end.Sub(now)}
	if w.used > l.max {
		return limit, &LimitedError{Limit: limit}
	}
	return limit, nil
}

// sweep removes ended windows once a minute, so that the map is no larger than the number of tokens in use.
func (l *CallLimiter) sweep(now time.Time) {
	if now.Sub(l.swept) < callWindow {
		return
	}
	l.swept = now
	maps.DeleteFunc(l.windows, func(_ [32]byte, w window) bool { return !now.Before(w.end) })
}
