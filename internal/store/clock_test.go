package store_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/pgtest"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/internal/store/storetest"
)

// closeBy is how far apart two estimates of the database's clock may be on a busy machine: a fraction of the hours by
// which the machines' own clocks are wrong here.
const closeBy = 5 * time.Second

// TestOneClock: two replicas whose own clocks are an hour apart tell one time on PostgreSQL, that of the database. What
// one has claimed the other does not, a lease ends for both when it ends, and a token of one is good at the other.
func TestOneClock(t *testing.T) {
	if !pgtest.Enabled() {
		return // on SQLite there is one process, and its clock
	}
	t.Parallel()
	ctx := t.Context()
	first := openAt(t, -time.Hour)
	early := first.DB
	late, err := store.Open(ctx, first.Address, store.Options{Keys: first.Options.Keys, Local: offBy(time.Hour), Log: first.Options.Log})
	must(t, err)
	t.Cleanup(func() { must(t, late.Close()) })
	for range 100 {
		a, b, c := early.Now(), late.Now(), early.Now()
		if off := max(a.Sub(b), b.Sub(c)); off > closeBy {
			t.Fatalf("the replicas are %v apart", off)
		}
		if off := time.Since(b).Abs(); off > closeBy {
			t.Fatalf("a replica is %v away from the database", off)
		}
	}

	f := &fixture{Store: first}
	f.company = f.newCompany(t, "owner@example.com")
	call := f.submit(t, "INV-1")
	if got := f.claimSubmissions(t, 10); len(got) != 0 {
		t.Error("a submission was claimed inside its call's lease")
	}
	scan, err := late.DueSubmissionQueues(ctx, store.ScanCursor{})
	must(t, err)
	if len(scan.Queues) != 0 {
		t.Error("the replica whose clock is ahead takes a lease for ended")
	}
	if wait := scan.NextDue.Sub(late.Now()); wait <= 0 || wait > lease+closeBy {
		t.Errorf("the replica whose clock is ahead waits %v for a lease of %v", wait, lease)
	}
	decide(t, call, func(s store.Submission, now time.Time) store.Decision {
		d := told(s, now, allFour("open", false))
		d.DueAt = new(now.Add(-closeBy)) // due at once, by the clock of the one whose own is behind
		return d
	})
	scan, err = late.DueSubmissionQueues(ctx, store.ScanCursor{})
	must(t, err)
	var claimed atomic.Int64
	race(8, func(n int) {
		db := []*store.DB{early, late}[n%2]
		scan, err := db.DueSubmissionQueues(ctx, store.ScanCursor{})
		must2(t, err)
		for _, queue := range scan.Queues {
			got, err := queue.ClaimSubmissions(ctx, 10, lease)
			must2(t, err)
			claimed.Add(int64(len(got)))
		}
	})
	if len(scan.Queues) != 1 || claimed.Load() != 1 {
		t.Errorf("%d queues; one due submission was claimed %d times", len(scan.Queues), claimed.Load())
	}

	token := secret.New("a-token-of-the-late-replica")
	_, err = late.CreateToken(ctx, f.user, secret.Digest(token), late.Now().Add(time.Minute))
	must(t, err)
	if _, err := early.Authenticate(ctx, secret.Digest(token)); err != nil {
		t.Errorf("a token of one replica at the other: %v", err)
	}
	_, err = early.CreateToken(ctx, f.user, [32]byte{7}, early.Now().Add(time.Minute))
	must(t, err)
	if _, err := late.Authenticate(ctx, [32]byte{7}); err != nil {
		t.Errorf("a token of the one whose clock is behind, at the one whose clock is ahead: %v", err)
	}
}

// openAt opens an empty PostgreSQL database on a machine whose clock is wrong.
func openAt(t *testing.T, off time.Duration) *storetest.Store {
	t.Helper()
	keys, err := secret.Generate()
	must(t, err)
	options := store.Options{Keys: keys, Local: offBy(off), Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	s := &storetest.Store{Address: pgtest.URL(t), Options: options}
	s.DB = s.Again(t)
	return s
}

// offBy is the clock of a machine that is wrong.
func offBy(off time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(off) }
}

// TestDatabaseClock: the clock follows the database to within the time that a question takes. It stands still against
// what a question cannot tell, goes on by itself while there is no answer, and is set right after a jump.
func TestDatabaseClock(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)
	local, database, trip, failing := start.Add(time.Hour), start, time.Duration(0), error(nil)
	clock := store.NewDatabaseClock(func() time.Time { return local }, func(context.Context) (time.Time, error) {
		local, database = local.Add(trip/4), database.Add(trip/4)
		at := database
		local, database = local.Add(3*trip/4), database.Add(3*trip/4) // the way back is slower
		return at, failing
	})
	pass := func(d time.Duration) { local, database = local.Add(d), database.Add(d) }
	off := func() time.Duration { return clock.Now().Sub(database) }
	must(t, clock.Look(t.Context()))
	if off() != 0 {
		t.Errorf("after a first look it is off by %v", off())
	}
	pass(time.Minute)
	if off() != 0 {
		t.Errorf("it does not go on: off by %v", off())
	}

	trip = 400 * time.Millisecond
	must(t, clock.Look(t.Context()))
	if off() != 0 {
		t.Errorf("a slow answer that contradicts nothing has moved it by %v", off())
	}
	local = local.Add(-10 * time.Minute) // a jump of a clock without a monotonic part
	must(t, clock.Look(t.Context()))
	if got := off().Abs(); got > trip/2 {
		t.Errorf("after a jump it is off by %v, more than half of the %v that a question takes", got, trip)
	}
	trip = 0
	must(t, clock.Look(t.Context()))
	if off() != 0 {
		t.Errorf("a faster answer leaves it off by %v", off())
	}

	failing = io.ErrUnexpectedEOF
	if err := clock.Look(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
	pass(time.Hour)
	if off() != 0 {
		t.Errorf("without an answer it is off by %v", off())
	}

	// The clock of a machine has a monotonic part, which nobody can set: what the clock remembers has kept it.
	machine := store.NewDatabaseClock(time.Now, func(context.Context) (time.Time, error) { return start, nil })
	must(t, machine.Look(t.Context()))
	if !strings.Contains(machine.Local().String(), " m=") {
		t.Errorf("it goes by the wall clock: %v", machine.Local())
	}
}
