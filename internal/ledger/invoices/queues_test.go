package invoices_test

import (
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// keys returns those of the given keys whose queues are in the list, in its order.
func keys(queues []base.Queue, of ...base.ID) (out []base.ID) {
	for _, queue := range queues {
		if slices.Contains(of, queue.Key()) {
			out = append(out, queue.Key())
		}
	}
	return out
}

// TestDueDeliveryQueues: a scan returns the subscriptions with due deliveries, the longest waiting first, and when the
// next one becomes due.
func TestDueDeliveryQueues(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		var s [3]base.ID
		for n := range s {
			s[n] = f.Subscribe(t, api.EventSubmissionUpdated).ID
		}
		f.Tell(t, 1)
		begun := f.Clock.Now()
		for n, wait := range []time.Duration{20 * time.Second, 10 * time.Second, 30 * time.Second} {
			d := f.ClaimDeliveries(t, s[n], 1)[0]
			kit.Must(t, d.RecordAttempt(ctx, fixture.Attempt(f, 503),
				events.DeliveryUpdate{State: events.DeliveryPending, DueAt: begun.Add(wait)}))
		}
		for _, want := range []struct {
			at     time.Duration
			queues []base.ID
			next   time.Duration
		}{
			{0, nil, 10 * time.Second},
			{10 * time.Second, []base.ID{s[1]}, 20 * time.Second},
			{25 * time.Second, []base.ID{s[1], s[0]}, 30 * time.Second},
		} {
			f.Clock.Advance(begun.Add(want.at).Sub(f.Clock.Now()))
			scan, err := events.DueDeliveryQueues(ctx, f.DB, base.ScanCursor{})
			kit.Must(t, err)
			if got := keys(scan.Queues, s[:]...); !slices.Equal(got, want.queues) || !scan.NextDue.Equal(begun.Add(want.next)) {
				t.Errorf("after %v: queues %v and next %v, want %v and %v", want.at, got, scan.NextDue.Sub(begun), want.queues,
					want.next)
			}
		}
		f.Clock.Advance(11 * 365 * 24 * time.Hour) // by then the decoy's delivery is due too
		scan, err := events.DueDeliveryQueues(ctx, f.DB, base.ScanCursor{})
		kit.Must(t, err)
		if got := keys(scan.Queues, s[:]...); !slices.Equal(got, []base.ID{s[1], s[0], s[2]}) || len(scan.Queues) != 4 ||
			!scan.NextDue.IsZero() {
			t.Errorf("of all: %v of %d, next %v", got, len(scan.Queues), scan.NextDue)
		}
		kit.Must(t, identity.SuspendAccount(ctx, f.DB, f.Account.ID)) // it stops logins, never deliveries
		scan, err = events.DueDeliveryQueues(ctx, f.DB, base.ScanCursor{})
		kit.Must(t, err)
		if len(scan.Queues) != 4 {
			t.Errorf("%d queues after a suspension, want 4", len(scan.Queues))
		}
	})
}

// TestDueSubmissionQueues: a scan returns the connections with due submissions in the same way. A disabled connection
// and a suspended account are still polled.
func TestDueSubmissionQueues(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		first := f.Submit(t, "INV-1")
		_, err := invoices.DisableConnection(ctx, f.DB, f.Connection.ID)
		kit.Must(t, err)
		added, err := invoices.AddConnection(ctx, f.DB, f.Account.ID, fixture.SandboxConnection())
		kit.Must(t, err)
		_, err = invoices.ActivateConnection(ctx, f.DB, added.ID)
		kit.Must(t, err)
		f.Clock.Advance(time.Second)
		second, third := f.Submit(t, "INV-2"), f.Submit(t, "INV-3")
		kit.Must(t, identity.SuspendAccount(ctx, f.DB, f.Account.ID))

		scan, err := invoices.DueSubmissionQueues(ctx, f.DB, base.ScanCursor{})
		kit.Must(t, err)
		if len(scan.Queues) != 0 || !scan.NextDue.Equal(*first.Submission.DueAt) {
			t.Errorf("%d queues while the calls are under way, next %v", len(scan.Queues), scan.NextDue)
		}
		f.Clock.Advance(fixture.LeaseDuration)
		scan, err = invoices.DueSubmissionQueues(ctx, f.DB, base.ScanCursor{})
		kit.Must(t, err)
		if got := keys(scan.Queues, f.Connection.ID, added.ID); !slices.Equal(got, []base.ID{f.Connection.ID, added.ID}) {
			t.Fatalf("queues %v", got)
		}
		claimed, err := invoices.ClaimSubmissions(ctx, scan.Queues[1], 10, fixture.LeaseDuration)
		kit.Must(t, err)
		var ids []base.ID
		for _, call := range claimed {
			ids = append(ids, call.Submission.ID)
			if call.Connection.ID != added.ID || call.Tenant.ID() != f.Tenant.ID() || call.Tenant.Account() != f.Account.ID {
				t.Errorf("claimed %+v", call)
			}
		}
		if len(ids) != 2 || !slices.Contains(ids, second.Submission.ID) || !slices.Contains(ids, third.Submission.ID) {
			t.Errorf("claimed %v", ids)
		}
		fixture.Record(t, claimed[0], fixture.AllFour("accepted", false))
		if calls, err := invoices.ClaimSubmissions(ctx, scan.Queues[1], 10, fixture.LeaseDuration); err != nil ||
			len(calls) != 0 {
			t.Errorf("%d are claimed before they are due, error %v", len(calls), err)
		}
		// The queue of deliveries has no submissions, nor the other way round.
		_, err = events.ClaimDeliveries(ctx, scan.Queues[0], 1, fixture.LeaseDuration)
		fixture.WantErr(t, err, base.ErrNoTenant)
	})
}

// TestClaimSubmissionOnce: workers that claim the submissions of a connection at the same time get different ones.
func TestClaimSubmissionOnce(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		const due = 20
		for n := range due {
			f.Submit(t, "INV-"+string(rune('A'+n)))
		}
		f.Clock.Advance(fixture.LeaseDuration)
		queue, _ := f.SubmissionQueue(t, f.Connection.ID)
		claims := make(chan base.ID, 10*due)
		fixture.Race(10, func(int) {
			for range 5 {
				calls, err := invoices.ClaimSubmissions(t.Context(), queue, 2, fixture.LeaseDuration)
				fixture.Must2(t, err)
				for _, call := range calls {
					claims <- call.Submission.ID
				}
			}
		})
		for _, call := range f.ClaimSubmissions(t, due) {
			claims <- call.Submission.ID
		}
		close(claims)
		seen := map[base.ID]bool{}
		for id := range claims {
			if seen[id] {
				t.Errorf("submission %s was claimed twice", id)
			}
			seen[id] = true
		}
		if len(seen) != due {
			t.Errorf("%d submissions were claimed, want %d", len(seen), due)
		}
	})
}

// TestReleaseOrphanedLeases: submissions whose calls were interrupted by the end of the process are due at once and
// have new leases; others stay as they are.
func TestReleaseOrphanedLeases(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		asked, known := f.Submit(t, "INV-0"), f.Submit(t, "INV-1")
		fixture.Record(t, asked, fixture.AllFour("accepted", false))
		f.Clock.Advance(2 * time.Second)
		asked = f.ClaimSubmissions(t, 1)[0]
		fixture.Record(t, known, fixture.AllFour("accepted", false))
		cut := f.Submit(t, "INV-2")
		kit.Must(t, ledger.ReleaseOrphanedLeases(t.Context(), f.DB))
		claimed := f.ClaimSubmissions(t, 10)
		if len(claimed) != 2 || claimed[0].Submission.ID == known.Submission.ID ||
			claimed[1].Submission.ID == known.Submission.ID {
			t.Fatalf("due at once: %+v", claimed)
		}
		for _, call := range []invoices.SubmissionLease{asked, cut} {
			_, err := call.Record(t.Context(), func(s invoices.Submission, held bool, _ time.Time) (invoices.Decision, error) {
				if held {
					t.Error("a call that was cut off has its lease still")
				}
				return fixture.Outcome(s, s.Outcome), nil
			})
			kit.Must(t, err)
		}
	})
}

// TestReleaseOrphanedDeliveryLeases: the same holds for deliveries. One that waits for its next attempt, or has ended,
// stays as it is.
func TestReleaseOrphanedDeliveryLeases(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		cut, waiting, done := f.Subscribe(t, api.EventSubmissionUpdated), f.Subscribe(t, api.EventSubmissionUpdated),
			f.Subscribe(t, api.EventSubmissionUpdated)
		f.Tell(t, 1)
		attempted := f.ClaimDeliveries(t, cut.ID, 1)[0]
		later := events.DeliveryUpdate{State: events.DeliveryPending, DueAt: f.Clock.Now().Add(time.Hour)}
		kit.Must(t, f.ClaimDeliveries(t, waiting.ID, 1)[0].RecordAttempt(t.Context(), fixture.Attempt(f, 503), later))
		kit.Must(t, f.ClaimDeliveries(t, done.ID, 1)[0].RecordAttempt(t.Context(), fixture.Attempt(f, 200),
			events.DeliveryUpdate{State: events.DeliveryDelivered}))
		kit.Must(t, ledger.ReleaseOrphanedLeases(t.Context(), f.DB))
		for subscription, due := range map[base.ID]int{cut.ID: 1, waiting.ID: 0, done.ID: 0} {
			if claimed := f.ClaimDeliveries(t, subscription, 10); len(claimed) != due {
				t.Errorf("%d deliveries are due, want %d", len(claimed), due)
			}
		}
		fixture.WantErr(t, attempted.RecordAttempt(t.Context(), fixture.Attempt(f, 200),
			events.DeliveryUpdate{State: events.DeliveryDelivered}), base.ErrLeaseLost)
	})
}

// TestReleaseOrphanedLeasesKeepsFrozenWork: work that a reset has frozen does not become due, even if its call was
// interrupted.
func TestReleaseOrphanedLeasesKeepsFrozenWork(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		s := f.Subscribe(t, api.EventSubmissionUpdated)
		f.Tell(t, 1)
		f.Submit(t, "INV-OPEN")
		f.ClaimDeliveries(t, s.ID, 1)
		_, err := invoices.ResetTenant(t.Context(), f.DB, f.Account.ID)
		kit.Must(t, err)
		kit.Must(t, ledger.ReleaseOrphanedLeases(t.Context(), f.DB))
		f.Clock.Advance(48 * time.Hour)
		if _, due := f.SubmissionQueue(t, f.Connection.ID); due {
			t.Error("a submission of the old tenant is due")
		}
		if _, due := f.DeliveryQueue(t, s.ID); due {
			t.Error("a delivery of the old tenant is due")
		}
	})
}
