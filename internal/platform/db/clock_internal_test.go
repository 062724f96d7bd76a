package db

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quittance/test/kit"
)

// TestDatabaseClock checks that the clock differs from that of the database by at most the duration of a reading, that
// a reading which is consistent with the clock does not change it, that it advances by itself while the database does
// not respond, and that a reading corrects it after a jump.
func TestDatabaseClock(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)
	local, database, trip, failing := start.Add(time.Hour), start, time.Duration(0), error(nil)
	clock := databaseClock{local: func() time.Time { return local }, query: func(context.Context) (time.Time, error) {
		local, database = local.Add(trip/4), database.Add(trip/4)
		at := database
		local, database = local.Add(3*trip/4), database.Add(3*trip/4) // the way back is slower
		return at, failing
	}}
	pass := func(d time.Duration) { local, database = local.Add(d), database.Add(d) }
	off := func() time.Duration { return clock.now().Sub(database) }
	kit.Must(t, clock.sync(t.Context()))
	if off() != 0 {
		t.Errorf("after the first reading the clock is off by %v", off())
	}
	pass(time.Minute)
	if off() != 0 {
		t.Errorf("the clock does not advance: off by %v", off())
	}

	trip = 400 * time.Millisecond
	kit.Must(t, clock.sync(t.Context()))
	if off() != 0 {
		t.Errorf("a slow reading that is consistent with the clock changed it by %v", off())
	}
	local = local.Add(-10 * time.Minute) // a clock without a monotonic part jumps
	kit.Must(t, clock.sync(t.Context()))
	if got := off().Abs(); got > trip/2 {
		t.Errorf("after a jump the clock is off by %v, more than half of the duration of a reading, %v", got, trip)
	}
	trip = 0
	kit.Must(t, clock.sync(t.Context()))
	if off() != 0 {
		t.Errorf("after a faster reading the clock is off by %v", off())
	}

	failing = io.ErrUnexpectedEOF
	if err := clock.sync(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
	pass(time.Hour)
	if off() != 0 {
		t.Errorf("without a reading the clock is off by %v", off())
	}

	// The stored reading keeps the monotonic part of the machine's clock, which is not affected when somebody sets that
	// clock.
	machine := databaseClock{local: time.Now, query: func(context.Context) (time.Time, error) { return start, nil }}
	kit.Must(t, machine.sync(t.Context()))
	if !strings.Contains(machine.last.Load().local.String(), " m=") {
		t.Errorf("the reading has no monotonic part: %v", machine.last.Load().local)
	}
}

// TestOutageOfTheClock checks that a database whose clock cannot be read for a while is one line of the log, each time.
func TestOutageOfTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		readings := 0
		clock := databaseClock{local: time.Now, query: func(context.Context) (time.Time, error) {
			if readings++; readings%5 == 0 {
				return time.Now(), nil
			}
			return time.Time{}, io.ErrUnexpectedEOF
		}}
		ctx, stop := context.WithTimeout(t.Context(), 9*clockSyncInterval+clockSyncInterval/2)
		defer stop()
		clock.syncPeriodically(ctx, slog.New(slog.NewTextHandler(&log, nil)))
		if lines := strings.Count(log.String(), "\n"); lines != 2 || readings != 9 {
			t.Errorf("%d readings, %d lines:\n%s", readings, lines, &log)
		}
	})
}

// TestSteadyClock checks that the clock stands still while its source is a little behind, and follows a large step
// back.
func TestSteadyClock(t *testing.T) {
	t.Parallel()
	local := time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)
	clock := (&steadyClock{source: func() time.Time { return local }}).now
	start := clock()
	for _, step := range []struct{ by, want time.Duration }{
		{-time.Second, 0}, {500 * time.Millisecond, 0}, {time.Second, 500 * time.Millisecond},
		{-time.Minute, 500 * time.Millisecond}, {2 * time.Minute, 60500 * time.Millisecond},
		{-time.Hour, 60500*time.Millisecond - time.Hour},
		{time.Second, 61500*time.Millisecond - time.Hour},
	} {
		local = local.Add(step.by)
		if got := clock().Sub(start); got != step.want {
			t.Errorf("after a step of %s the clock is at %s, want %s", step.by, got, step.want)
		}
	}
}
