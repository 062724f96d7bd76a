package db

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// TestDatabaseClock: the clock follows the database to within the time that a question takes. It stands still against
// what a question cannot tell, goes on by itself while there is no answer, and is set right after a jump.
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
	must(t, clock.sync(t.Context()))
	if off() != 0 {
		t.Errorf("after a first look it is off by %v", off())
	}
	pass(time.Minute)
	if off() != 0 {
		t.Errorf("it does not go on: off by %v", off())
	}

	trip = 400 * time.Millisecond
	must(t, clock.sync(t.Context()))
	if off() != 0 {
		t.Errorf("a slow answer that contradicts nothing has moved it by %v", off())
	}
	local = local.Add(-10 * time.Minute) // a jump of a clock without a monotonic part
	must(t, clock.sync(t.Context()))
	if got := off().Abs(); got > trip/2 {
		t.Errorf("after a jump it is off by %v, more than half of the %v that a question takes", got, trip)
	}
	trip = 0
	must(t, clock.sync(t.Context()))
	if off() != 0 {
		t.Errorf("a faster answer leaves it off by %v", off())
	}

	failing = io.ErrUnexpectedEOF
	if err := clock.sync(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
	pass(time.Hour)
	if off() != 0 {
		t.Errorf("without an answer it is off by %v", off())
	}

	// The clock of a machine has a monotonic part, which nobody can set: what the clock remembers has kept it.
	machine := databaseClock{local: time.Now, query: func(context.Context) (time.Time, error) { return start, nil }}
	must(t, machine.sync(t.Context()))
	if !strings.Contains(machine.last.Load().local.String(), " m=") {
		t.Errorf("it goes by the wall clock: %v", machine.last.Load().local)
	}
}

// TestSteadyClock: a clock that is set back by a little stands still until it is that late again, for everybody who asks; one that is set
// back by much is followed.
func TestSteadyClock(t *testing.T) {
	t.Parallel()
	local := time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)
	clock := (&steadyClock{source: func() time.Time { return local }}).now
	start := clock()
	for _, step := range []struct{ by, want time.Duration }{
		{-time.Second, 0}, {500 * time.Millisecond, 0}, {time.Second, 500 * time.Millisecond}, {-time.Minute, 500 * time.Millisecond},
		{2 * time.Minute, 60500 * time.Millisecond}, {-time.Hour, 60500*time.Millisecond - time.Hour}, {time.Second, 61500*time.Millisecond - time.Hour},
	} {
		local = local.Add(step.by)
		if got := clock().Sub(start); got != step.want {
			t.Errorf("after a step of %s it stands at %s, want %s", step.by, got, step.want)
		}
	}
}
