package service

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quittance/test/kit"
)

// TestReadinessIsOneCheck checks that concurrent readiness checks ping the database once. The result, success or
// failure, is reused for half a second.
func TestReadinessIsOneCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pings atomic.Int64
		response := make(chan error)
		now := time.Now()
		r := newReadiness(func(ctx context.Context) error {
			pings.Add(1)
			if err := ctx.Err(); err != nil {
				return err
			}
			return <-response
		}, func() time.Time { return now })
		var asking sync.WaitGroup
		together := func(want error) {
			gone, leave := context.WithCancel(t.Context())
			leave() // the end of one caller's context must not affect the others
			for range 100 {
				asking.Go(func() {
					if err := r.check(gone); !errors.Is(err, want) {
						t.Errorf("ready: %v, want %v", err, want)
					}
				})
			}
			synctest.Wait()
			response <- want
			asking.Wait()
		}
		away := errors.New("away")
		for n, want := range []error{nil, away, nil} {
			together(want)
			now = now.Add(readyTTL - time.Millisecond)
			if err := r.check(t.Context()); !errors.Is(err, want) || pings.Load() != int64(n)+1 {
				t.Errorf("ready again: %v after %d checks, want %v after %d", err, pings.Load(), want, n+1)
			}
			now = now.Add(time.Millisecond)
		}
	})
}

// TestNearlyFullDiskIsNotReady checks that a process whose database has less free space than it must is not ready, and
// that the log tells once when that begins and once when it ends.
func TestNearlyFullDiskIsNotReady(t *testing.T) {
	var log bytes.Buffer
	free, failed := int64(100), error(nil)
	d := newDisk("sqlite:"+filepath.Join(t.TempDir(), "q.db"), 100, slog.New(slog.NewTextHandler(&log, nil)))
	if real, err := d.free(); err != nil || real <= 0 {
		t.Errorf("the directory of the test has %d free bytes, %v", real, err)
	}
	d.free = func() (int64, error) { return free, failed }
	kit.Must(t, d.check(t.Context()))
	free = 99
	for range 3 {
		if err := d.check(t.Context()); !errors.Is(err, errDiskNearlyFull) {
			t.Errorf("with 99 of 100 bytes: %v", err)
		}
	}
	free = 100
	for range 3 {
		kit.Must(t, d.check(t.Context()))
	}
	free, failed = 0, errors.New("no such call")
	kit.Must(t, d.check(t.Context()))
	if lines := strings.Count(log.String(), "\n"); lines != 2 || !strings.Contains(log.String(), "nearly full") ||
		!strings.Contains(log.String(), "free space again") {
		t.Errorf("the log has %s", &log)
	}
	if none := newDisk("postgres://q@db/q", 100, nil); none.check(t.Context()) != nil {
		t.Error("the disk of a database server is judged")
	}
}

// TestStoppingIsNotReadyAtOnce checks that a stopping process is not ready, even if a ready result is still reused.
func TestStoppingIsNotReadyAtOnce(t *testing.T) {
	now := time.Now()
	s := &Service{keys: &keyKeeper{}, readiness: newReadiness(func(context.Context) error { return nil },
		func() time.Time { return now })}
	kit.Must(t, s.ready(t.Context()))
	s.stopping.Store(true)
	if err := s.ready(t.Context()); !errors.Is(err, errStopping) {
		t.Errorf("ready while stopping: %v", err)
	}
}
