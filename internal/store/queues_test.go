package store_test

import (
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/test/kit"
)

// keys returns those of the given keys whose queues are in the list, in its order.
func keys(queues []store.Queue, of ...store.ID) (out []store.ID) {
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		var s [3]store.ID
		for n := range s {
			s[n] = f.subscribe(t, api.EventSubmissionUpdated).ID
		}
		f.tell(t, 1)
		begun := f.Clock.Now()
		for n, wait := range []time.Duration{20 * time.Second, 10 * time.Second, 30 * time.Second} {
			d := f.claimDeliveries(t, s[n], 1)[0]
			kit.Must(t, d.RecordAttempt(ctx, attempt(f, 503),
				store.DeliveryUpdate{State: store.DeliveryPending, DueAt: begun.Add(wait)}))
		}
		for _, want := range []struct {
			at     time.Duration
			queues []store.ID
			next   time.Duration
		}{
			{0, nil, 10 * time.Second},
			{10 * time.Second, []store.ID{s[1]}, 20 * time.Second},
			{25 * time.Second, []store.ID{s[1], s[0]}, 30 * time.Second},
		} {
			f.Clock.Advance(begun.Add(want.at).Sub(f.Clock.Now()))
			scan, err := f.DueDeliveryQueues(ctx, store.ScanCursor{})
			kit.Must(t, err)
			if got := keys(scan.Queues, s[:]...); !slices.Equal(got, want.queues) || !scan.NextDue.Equal(begun.Add(want.next)) {
				t.Errorf("after %v: queues %v and next %v, want %v and %v", want.at, got, scan.NextDue.Sub(begun), want.queues,
					want.next)
			}
		}
		f.Clock.Advance(11 * 365 * 24 * time.Hour) // by then the decoy's delivery is due too
		scan, err := f.DueDeliveryQueues(ctx, store.ScanCursor{})
		kit.Must(t, err)
		if got := keys(scan.Queues, s[:]...); !slices.Equal(got, []store.ID{s[1], s[0], s[2]}) || len(scan.Queues) != 4 ||
			!scan.NextDue.IsZero() {
			t.Errorf("of all: %v of %d, next %v", got, len(scan.Queues), scan.NextDue)
		}
		kit.Must(t, f.SuspendAccount(ctx, f.account.ID)) // it stops logins, never deliveries
		scan, err = f.DueDeliveryQueues(ctx, store.ScanCursor{})
		kit.Must(t, err)
		if len(scan.Queues) != 4 {
			t.Errorf("%d queues after a suspension, want 4", len(scan.Queues))
		}
	})
}

// TestDueSubmissionQueues: a scan returns the connections with due submissions in the same way. A disabled connection
// and a suspended account are still polled.
func TestDueSubmissionQueues(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		first := f.submit(t, "INV-1")
		_, err := f.DisableConnection(ctx, f.connection.ID)
		kit.Must(t, err)
		added, err := f.AddConnection(ctx, f.account.ID, sandboxConnection())
		kit.Must(t, err)
		_, err = f.ActivateConnection(ctx, added.ID)
		kit.Must(t, err)
		f.Clock.Advance(time.Second)
		second, third := f.submit(t, "INV-2"), f.submit(t, "INV-3")
		kit.Must(t, f.SuspendAccount(ctx, f.account.ID))

		scan, err := f.DueSubmissionQueues(ctx, store.ScanCursor{})
		kit.Must(t, err)
		if len(scan.Queues) != 0 || !scan.NextDue.Equal(*first.Submission.DueAt) {
			t.Errorf("%d queues while the calls are under way, next %v", len(scan.Queues), scan.NextDue)
		}
		f.Clock.Advance(leaseDuration)
		scan, err = f.DueSubmissionQueues(ctx, store.ScanCursor{})
		kit.Must(t, err)
		if got := keys(scan.Queues, f.connection.ID, added.ID); !slices.Equal(got, []store.ID{f.connection.ID, added.ID}) {
			t.Fatalf("queues %v", got)
		}
		claimed, err := scan.Queues[1].ClaimSubmissions(ctx, 10, leaseDuration)
		kit.Must(t, err)
		var ids []store.ID
		for _, call := range claimed {
			ids = append(ids, call.Submission.ID)
			if call.Connection.ID != added.ID || call.Tenant.Key() != f.tenant.Key() || call.Tenant.Account() != f.account.ID {
				t.Errorf("claimed %+v", call)
			}
		}
		if len(ids) != 2 || !slices.Contains(ids, second.Submission.ID) || !slices.Contains(ids, third.Submission.ID) {
			t.Errorf("claimed %v", ids)
		}
		record(t, claimed[0], allFour("accepted", false))
		if calls, err := scan.Queues[1].ClaimSubmissions(ctx, 10, leaseDuration); err != nil || len(calls) != 0 {
			t.Errorf("%d are claimed before they are due, error %v", len(calls), err)
		}
		// The queue of deliveries has no submissions, nor the other way round.
		_, err = scan.Queues[0].ClaimDeliveries(ctx, 1, leaseDuration)
		wantErr(t, err, store.ErrNoTenant)
	})
}

// TestClaimSubmissionOnce: workers that claim the submissions of a connection at the same time get different ones.
func TestClaimSubmissionOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		const due = 20
		for n := range due {
			f.submit(t, "INV-"+string(rune('A'+n)))
		}
		f.Clock.Advance(leaseDuration)
		queue, _ := f.submissionQueue(t, f.connection.ID)
		claims := make(chan store.ID, 10*due)
		race(10, func(int) {
			for range 5 {
				calls, err := queue.ClaimSubmissions(t.Context(), 2, leaseDuration)
				must2(t, err)
				for _, call := range calls {
					claims <- call.Submission.ID
				}
			}
		})
		for _, call := range f.claimSubmissions(t, due) {
			claims <- call.Submission.ID
		}
		close(claims)
		seen := map[store.ID]bool{}
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
	forEachStore(t, func(t *testing.T, f *fixture) {
		asked, known := f.submit(t, "INV-0"), f.submit(t, "INV-1")
		record(t, asked, allFour("accepted", false))
		f.Clock.Advance(2 * time.Second)
		asked = f.claimSubmissions(t, 1)[0]
		record(t, known, allFour("accepted", false))
		cut := f.submit(t, "INV-2")
		kit.Must(t, f.ReleaseOrphanedLeases(t.Context()))
		claimed := f.claimSubmissions(t, 10)
		if len(claimed) != 2 || claimed[0].Submission.ID == known.Submission.ID ||
			claimed[1].Submission.ID == known.Submission.ID {
			t.Fatalf("due at once: %+v", claimed)
		}
		for _, call := range []store.SubmissionLease{asked, cut} {
			_, err := call.Record(t.Context(), func(s store.Submission, held bool, _ time.Time) (store.Decision, error) {
				if held {
					t.Error("a call that was cut off has its lease still")
				}
				return outcome(s, s.Outcome), nil
			})
			kit.Must(t, err)
		}
	})
}

// TestReleaseOrphanedDeliveryLeases: the same holds for deliveries. One that waits for its next attempt, or has ended,
// stays as it is.
func TestReleaseOrphanedDeliveryLeases(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		cut, waiting, done := f.subscribe(t, api.EventSubmissionUpdated), f.subscribe(t, api.EventSubmissionUpdated),
			f.subscribe(t, api.EventSubmissionUpdated)
		f.tell(t, 1)
		attempted := f.claimDeliveries(t, cut.ID, 1)[0]
		later := store.DeliveryUpdate{State: store.DeliveryPending, DueAt: f.Clock.Now().Add(time.Hour)}
		kit.Must(t, f.claimDeliveries(t, waiting.ID, 1)[0].RecordAttempt(t.Context(), attempt(f, 503), later))
		kit.Must(t, f.claimDeliveries(t, done.ID, 1)[0].RecordAttempt(t.Context(), attempt(f, 200),
			store.DeliveryUpdate{State: store.DeliveryDelivered}))
		kit.Must(t, f.ReleaseOrphanedLeases(t.Context()))
		for subscription, due := range map[store.ID]int{cut.ID: 1, waiting.ID: 0, done.ID: 0} {
			if claimed := f.claimDeliveries(t, subscription, 10); len(claimed) != due {
				t.Errorf("%d deliveries are due, want %d", len(claimed), due)
			}
		}
		wantErr(t, attempted.RecordAttempt(t.Context(), attempt(f, 200),
			store.DeliveryUpdate{State: store.DeliveryDelivered}), store.ErrLeaseLost)
	})
}

// TestReleaseOrphanedLeasesKeepsFrozenWork: work that a reset has frozen does not become due, even if its call was
// interrupted.
func TestReleaseOrphanedLeasesKeepsFrozenWork(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		s := f.subscribe(t, api.EventSubmissionUpdated)
		f.tell(t, 1)
		f.submit(t, "INV-OPEN")
		f.claimDeliveries(t, s.ID, 1)
		_, err := f.ResetTenant(t.Context(), f.account.ID)
		kit.Must(t, err)
		kit.Must(t, f.ReleaseOrphanedLeases(t.Context()))
		f.Clock.Advance(48 * time.Hour)
		if _, due := f.submissionQueue(t, f.connection.ID); due {
			t.Error("a submission of the old tenant is due")
		}
		if _, due := f.deliveryQueue(t, s.ID); due {
			t.Error("a delivery of the old tenant is due")
		}
	})
}
