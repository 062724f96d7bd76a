package base_test

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
	"quittance/test/pgtest"
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
	late, err := ledger.Open(ctx, first.Address, base.Options{Keys: first.Options.Keys, Local: offBy(time.Hour),
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

	f := &fixture.Fixture{Store: first}
	f.Company = f.NewCompany(t, "owner@example.com")
	call := f.Submit(t, "INV-1")
	if got := f.ClaimSubmissions(t, 10); len(got) != 0 {
		t.Error("a submission was claimed inside its call's lease")
	}
	scan, err := invoices.DueSubmissionQueues(ctx, late, base.ScanCursor{})
	kit.Must(t, err)
	if len(scan.Queues) != 0 {
		t.Error("the replica whose clock is ahead takes a lease for ended")
	}
	if wait := scan.NextDue.Sub(late.Now()); wait <= 0 || wait > fixture.LeaseDuration+closeBy {
		t.Errorf("the replica whose clock is ahead waits %v for a lease of %v", wait, fixture.LeaseDuration)
	}
	fixture.Decide(t, call, func(s invoices.Submission, now time.Time) invoices.Decision {
		d := fixture.Reported(s, now, fixture.AllFour("open", false))
		d.DueAt = new(now.Add(-closeBy)) // due at once, by the clock of the one whose own is behind
		return d
	})
	scan, err = invoices.DueSubmissionQueues(ctx, late, base.ScanCursor{})
	kit.Must(t, err)
	var claimed atomic.Int64
	fixture.Race(8, func(n int) {
		db := []*base.DB{early, late}[n%2]
		scan, err := invoices.DueSubmissionQueues(ctx, db, base.ScanCursor{})
		fixture.Must2(t, err)
		for _, queue := range scan.Queues {
			got, err := invoices.ClaimSubmissions(ctx, queue, 10, fixture.LeaseDuration)
			fixture.Must2(t, err)
			claimed.Add(int64(len(got)))
		}
	})
	if len(scan.Queues) != 1 || claimed.Load() != 1 {
		t.Errorf("%d queues; one due submission was claimed %d times", len(scan.Queues), claimed.Load())
	}

	token := secret.New("a-token-of-the-late-replica")
	_, err = identity.CreateToken(ctx, late, f.User, identity.NewToken{Digest: secret.Digest(token),
		ExpiresAt: late.Now().Add(time.Minute)})
	kit.Must(t, err)
	if _, err := early.Authenticate(ctx, secret.Digest(token)); err != nil {
		t.Errorf("a token of one replica at the other: %v", err)
	}
	_, err = identity.CreateToken(ctx, early, f.User, identity.NewToken{Digest: [32]byte{7},
		ExpiresAt: early.Now().Add(time.Minute)})
	kit.Must(t, err)
	if _, err := late.Authenticate(ctx, [32]byte{7}); err != nil {
		t.Errorf("a token of the one whose clock is behind, at the one whose clock is ahead: %v", err)
	}
}

// openAt opens an empty PostgreSQL database on a machine whose clock is wrong.
func openAt(t *testing.T, off time.Duration) *ledgertest.Store {
	t.Helper()
	keys, err := secret.Generate()
	kit.Must(t, err)
	options := base.Options{Keys: keys, Local: offBy(off), Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	s := &ledgertest.Store{Address: pgtest.URL(t), Options: options}
	s.DB = s.Again(t)
	return s
}

// offBy is the clock of a machine that is wrong.
func offBy(off time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(off) }
}
