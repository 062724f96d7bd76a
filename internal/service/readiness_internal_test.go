package service

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestReadinessIsOneCheck: however many ask at the same time, the database is asked once; its answer is kept for half a
// second, a failure as well as a success, and asked for again after that.
func TestReadinessIsOneCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pings atomic.Int64
		answer := make(chan error)
		now := time.Now()
		r := newReadiness(func(ctx context.Context) error {
			pings.Add(1)
			if err := ctx.Err(); err != nil {
				return err
			}
			return <-answer
		}, func() time.Time { return now })
		var asking sync.WaitGroup
		together := func(want error) {
			gone, leave := context.WithCancel(t.Context())
			leave() // a caller who hangs up does not decide for the others
			for range 100 {
				asking.Go(func() {
					if err := r.check(gone); !errors.Is(err, want) {
						t.Errorf("ready: %v, want %v", err, want)
					}
				})
			}
			synctest.Wait()
			answer <- want
			asking.Wait()
		}
		away := errors.New("away")
		for n, want := range []error{nil, away, nil} {
			together(want)
			now = now.Add(readyFor - time.Millisecond)
			if err := r.check(t.Context()); !errors.Is(err, want) || pings.Load() != int64(n)+1 {
				t.Errorf("ready again: %v after %d checks, want %v after %d", err, pings.Load(), want, n+1)
			}
			now = now.Add(time.Millisecond)
		}
	})
}

// TestStoppingIsNotReadyAtOnce: a process that is told to stop is not ready, although the database was a moment ago.
func TestStoppingIsNotReadyAtOnce(t *testing.T) {
	now := time.Now()
	s := &Service{keys: &keyKeeper{}, readiness: newReadiness(func(context.Context) error { return nil }, func() time.Time { return now })}
	must(t, s.ready(t.Context()))
	s.stopping.Store(true)
	if err := s.ready(t.Context()); !errors.Is(err, errStopping) {
		t.Errorf("ready while stopping: %v", err)
	}
}
