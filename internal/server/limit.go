package server

import (
	"sync"
	"time"

	"quittance/api"
	"quittance/internal/account"
)

// callWindow is the window of the call limit.
const callWindow = time.Minute

// callLimiter counts the calls of each token at this replica (contract, section 3).
type callLimiter struct {
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

func newCallLimiter(most int64, now func() time.Time) *callLimiter {
	return &callLimiter{max: most, now: now, windows: map[[32]byte]window{}}
}

// spend counts a call of a token and tells how it stands; the error is a refusal when there are none left.
func (l *callLimiter) spend(token [32]byte) (account.Limit, error) {
	if l.max == 0 {
		return account.Limit{}, nil
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
	limit := account.Limit{Max: l.max, Remaining: max(0, l.max-w.used), Reset: w.end.Sub(now)}
	if w.used > l.max {
		return limit, &refusal{code: api.CodeRateLimited, header: map[string]string{"Retry-After": wholeSeconds(limit.Reset)}}
	}
	return limit, nil
}

// sweep forgets ended windows once a minute, so that the map stays as small as the number of live tokens.
func (l *callLimiter) sweep(now time.Time) {
	if now.Sub(l.swept) < callWindow {
		return
	}
	l.swept = now
	for token, w := range l.windows {
		if !now.Before(w.end) {
			delete(l.windows, token)
		}
	}
}
