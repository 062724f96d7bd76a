package service

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// readyFor is how long the answer of the database to a readiness check is given to others.
	readyFor = 500 * time.Millisecond
	// readyTimeout bounds one check.
	readyTimeout = 3 * time.Second
)

// readiness asks the database whether it serves, for anybody who calls /readyz, which has no other limit: one check runs at
// a time, and its result is kept for readyFor. It is safe for concurrent use.
type readiness struct {
	ping   func(ctx context.Context) error
	now    func() time.Time
	flight singleflight.Group

	// at is when the last check ended, the zero time before the first, and err its result. Only the check in flight uses them.
	at  time.Time
	err error
}

// newReadiness returns the readiness of what ping asks, by the clock now.
func newReadiness(ping func(ctx context.Context) error, now func() time.Time) *readiness {
	return &readiness{ping: ping, now: now}
}

// check returns the result of the last ping, or of a new one when the last is older than readyFor. The caller's going away
// ends no ping, because others wait for it.
func (r *readiness) check(ctx context.Context) error {
	_, err, _ := r.flight.Do("", func() (any, error) {
		if age := r.now().Sub(r.at); !r.at.IsZero() && age >= 0 && age < readyFor {
			return nil, r.err
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
		defer cancel()
		r.err = r.ping(ctx)
		r.at = r.now()
		return nil, r.err
	})
	return err
}
