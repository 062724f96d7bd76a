package store_test

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/test/kit"
	"quittance/test/pgtest"
	"quittance/test/storetest"
)

// closeBy is how far apart two estimates of the database's clock may be on a busy machine: a fraction of the hour by
// which the clocks of the machines are wrong here.
const closeBy = time.Minute

// TestOneClock checks that two replicas on PostgreSQL whose own clocks differ use the clock of the database: they never
// claim the same work, a lease ends for both at the same time, and a token of one is valid at the other.
func TestOneClock(t *testing.T) {
	if !pgtest.Enabled() {
		return // on SQLite there is one process, and its clock
	}
	t.Parallel()
	ctx := t.Context()
	first := openAt(t, -time.Hour)
	early := first.DB
	late, err := store.Open(ctx, first.Address, store.Options{Keys: first.Options.Keys, Local: offBy(time.Hour),
		Log: first.Options.Log})
	kit.Must(t, err)
	t.Cleanup(func() { kit.Must(t, late.Close()) })
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
	kit.Must(t, err)
	if len(scan.Queues) != 0 {
		t.Error("the replica whose clock is ahead takes a lease for ended")
	}
	if wait := scan.NextDue.Sub(late.Now()); wait <= 0 || wait > leaseDuration+closeBy {
		t.Errorf("the replica whose clock is ahead waits %v for a lease of %v", wait, leaseDuration)
	}
	decide(t, call, func(s store.Submission, now time.Time) store.Decision {
		d := reported(s, now, allFour("open", false))
		d.DueAt = new(now.Add(-closeBy)) // due at once, by the clock of the one whose own is behind
		return d
	})
	scan, err = late.DueSubmissionQueues(ctx, store.ScanCursor{})
	kit.Must(t, err)
	var claimed atomic.Int64
	race(8, func(n int) {
		db := []*store.DB{early, late}[n%2]
		scan, err := db.DueSubmissionQueues(ctx, store.ScanCursor{})
		must2(t, err)
		for _, queue := range scan.Queues {
			got, err := queue.ClaimSubmissions(ctx, 10, leaseDuration)
			must2(t, err)
			claimed.Add(int64(len(got)))
		}
	})
	if len(scan.Queues) != 1 || claimed.Load() != 1 {
		t.Errorf("%d queues; one due submission was claimed %d times", len(scan.Queues), claimed.Load())
	}

	token := secret.New("a-token-of-the-late-replica")
	_, err = late.CreateToken(ctx, f.user, store.NewToken{Digest: secret.Digest(token),
		ExpiresAt: late.Now().Add(time.Minute)})
	kit.Must(t, err)
	if _, err := early.Authenticate(ctx, secret.Digest(token)); err != nil {
		t.Errorf("a token of one replica at the other: %v", err)
	}
	_, err = early.CreateToken(ctx, f.user, store.NewToken{Digest: [32]byte{7}, ExpiresAt: early.Now().Add(time.Minute)})
	kit.Must(t, err)
	if _, err := late.Authenticate(ctx, [32]byte{7}); err != nil {
		t.Errorf("a token of the one whose clock is behind, at the one whose clock is ahead: %v", err)
	}
}

// openAt opens an empty PostgreSQL database on a machine whose clock is wrong.
func openAt(t *testing.T, off time.Duration) *storetest.Store {
	t.Helper()
	keys, err := secret.Generate()
	kit.Must(t, err)
	options := store.Options{Keys: keys, Local: offBy(off), Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	s := &storetest.Store{Address: pgtest.URL(t), Options: options}
	s.DB = s.Again(t)
	return s
}

// offBy is the clock of a machine that is wrong.
func offBy(off time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(off) }
}
