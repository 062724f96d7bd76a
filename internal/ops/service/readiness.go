package service

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// readyTTL is how long the result of a readiness check is reused.
	readyTTL = 500 * time.Millisecond
	// readyTimeout bounds one check.
	readyTimeout = 3 * time.Second
)

// readiness checks whether the database serves. Anybody may call /readyz, which has no other limit, so one check runs
// at a time and its result is reused for readyTTL. It is safe for concurrent use.
type readiness struct {
	ping   func(ctx context.Context) error
	now    func() time.Time
	flight singleflight.Group

	// at is when the last check ended, zero before the first, and err its result. Only the running check uses them.
	at  time.Time
	err error
}

// newReadiness returns a readiness that calls ping and reads the clock now.
func newReadiness(ping func(ctx context.Context) error, now func() time.Time) *readiness {
	return &readiness{ping: ping, now: now}
}

// check returns the result of the last ping, or of a new one when the last is older than readyTTL. A ping does not end
// with the context of one caller, because others wait for it.
func (r *readiness) check(ctx context.Context) error {
	_, err, _ := r.flight.Do("", func() (any, error) {
		if age := r.now().Sub(r.at); !r.at.IsZero() && age >= 0 && age < readyTTL {
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

// probesOnly serves /healthz and /readyz and treats all other routes as unknown, for a process without an API.
func probesOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" && r.URL.Path != "/readyz" {
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = "/api/", ""
		}
		next.ServeHTTP(w, r)
	})
}
