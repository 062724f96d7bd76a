package store_test

import (
	"sync/atomic"
	"testing"
	"time"

	"quittance/api"
	"quittance/internal/store"
)

// trouble is the decision of a call that got no usable answer: the outcome is unknown, and it is asked again at once.
func trouble(class string, retryAfter time.Duration) func(store.Submission, time.Time) store.Decision {
	return func(s store.Submission, now time.Time) store.Decision {
		d := outcome(s, api.OutcomeUnknown)
		d.FailureReason, d.RetryAfter, d.DueAt = class, retryAfter, &now
		return d
	}
}

// well is the decision of a usable answer that leaves the submission open and due.
func well(s store.Submission, now time.Time) store.Decision {
	d := outcome(s, api.OutcomeAcknowledged)
	d.DueAt = &now
	return d
}

// health reads the connection of the fixture's company.
func (f *fixture) health(t *testing.T) store.Connection {
	t.Helper()
	c, err := f.Connection(t.Context(), f.connection.ID)
	must(t, err)
	return c
}

// fail submits invoices whose calls all meet trouble.
func (f *fixture) fail(t *testing.T, numbers ...string) {
	t.Helper()
	for _, number := range numbers {
		decide(t, f.submit(t, number), trouble("timeout", 0))
	}
}

// TestConnectionInTrouble: five calls in a row without a usable answer, and the open submissions are asked about one at a
// time, a second later and then twice as long each time, up to a minute or as long as the provider asks; the first
// usable answer lets everything flow. Another company notices nothing.
func TestConnectionInTrouble(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		since := f.Clock.Now()
		f.fail(t, "INV-1", "INV-2", "INV-3", "INV-4")
		if c := f.health(t); c.Failures != 4 || c.RetryAt != nil || c.FailureReason != "timeout" || !c.FailingSince.Equal(since) {
			t.Fatalf("after four: %+v", c)
		}
		decide(t, f.submit(t, "INV-5"), well)
		if c := f.health(t); c.Failures != 0 || c.FailingSince != nil || c.FailureReason != "" || c.Wire().FailingSince != nil {
			t.Fatalf("after a usable answer: %+v", c)
		}
		since = f.Clock.Advance(time.Minute)
		f.fail(t, "INV-6", "INV-7", "INV-8", "INV-9", "INV-10")
		if c := f.health(t); c.Failures != 5 || !c.FailingSince.Equal(since) || !c.Wire().FailingSince.Equal(since) {
			t.Fatalf("after five: %+v", c)
		}
		for n, step := range []struct{ wait, asked time.Duration }{{time.Second, 0}, {2 * time.Second, 0}, {4 * time.Second, 0}, {8 * time.Second, 0},
			{16 * time.Second, 0}, {32 * time.Second, 0}, {time.Minute, 0}, {time.Minute, 5 * time.Minute}, {5 * time.Minute, 0}} {
			f.wantNext(t, f.Clock.Now().Add(step.wait))
			if claimed := f.claimSubmissions(t, 16); len(claimed) != 0 {
				t.Fatalf("step %d: %d are asked about at once", n, len(claimed))
			}
			f.Clock.Advance(step.wait)
			claimed := f.claimSubmissions(t, 16)
			if len(claimed) != 1 || len(f.claimSubmissions(t, 16)) != 0 {
				t.Fatalf("step %d: %d are asked about to try it", n, len(claimed))
			}
			decide(t, claimed[0], trouble("server_error", step.asked))
		}
		f.Clock.Advance(time.Minute)
		decide(t, f.claimSubmissions(t, 16)[0], well)
		if c := f.health(t); c.Failures != 0 || c.RetryAt != nil {
			t.Errorf("after the trouble: %+v", c)
		}
		if claimed := f.claimSubmissions(t, 16); len(claimed) != 10 {
			t.Errorf("after the trouble %d are asked about, want all 10", len(claimed))
		}
	})
}

// wantNext wants the lane of the fixture's connection to be due at a time, and every submission to say so.
func (f *fixture) wantNext(t *testing.T, want time.Time) {
	t.Helper()
	c := f.health(t)
	scan, err := f.DueSubmissionQueues(t.Context(), store.ScanCursor{})
	must(t, err)
	if c.RetryAt == nil || !c.RetryAt.Equal(want) || !scan.NextDue.Equal(want) {
		t.Fatalf("tried again at %v, the next work at %v, want %v", c.RetryAt, scan.NextDue, want)
	}
	page, err := f.tenant.Invoices(t.Context(), store.InvoiceFilter{}, 1, 100)
	must(t, err)
	for _, invoice := range page.Invoices {
		if at := invoice.Submission.Wire().NextCheckAt; at == nil || !at.Equal(want) {
			t.Fatalf("%s is said to be asked about at %v, want %v", invoice.Submission.Number, at, want)
		}
	}
}

// TestACustomerTriesOn: submissions that fail while the connection is in trouble do not put off the next try, and one that
// succeeds ends the trouble.
func TestACustomerTriesOn(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		f.fail(t, "INV-1", "INV-2", "INV-3", "INV-4", "INV-5")
		retry := f.health(t).RetryAt
		f.Clock.Advance(500 * time.Millisecond)
		f.fail(t, "INV-6", "INV-7")
		if c := f.health(t); c.Failures != 7 || !c.RetryAt.Equal(*retry) {
			t.Errorf("a customer's failures moved the next try from %v to %v", retry, c.RetryAt)
		}
		f.Clock.Advance(time.Second)
		probe := f.claimSubmissions(t, 1)
		f.fail(t, "INV-8")
		if c := f.health(t); !c.RetryAt.Equal(f.Clock.Now().Add(lease)) {
			t.Errorf("while it is tried, the next try is at %v", c.RetryAt)
		}
		decide(t, f.submit(t, "INV-9"), well)
		if c := f.health(t); c.Failures != 0 || c.RetryAt != nil {
			t.Errorf("after a success: %+v", c)
		}
		decide(t, probe[0], trouble("timeout", 0))
		if c := f.health(t); c.Failures != 1 || c.RetryAt != nil {
			t.Errorf("the old try fails afterwards: %+v", c)
		}
	})
}

// TestOneTry: of many workers one tries a connection in trouble; when it dies, another does at the end of its lease. A
// change of the connection makes the next try due at once.
func TestOneTry(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		f.fail(t, "INV-1", "INV-2", "INV-3", "INV-4", "INV-5")
		f.Clock.Advance(time.Second)
		lane, due := f.submissionLane(t, f.connection.ID)
		if !due {
			t.Fatal("nothing is due")
		}
		var tries atomic.Int64
		race(8, func(int) {
			claimed, err := lane.ClaimSubmissions(t.Context(), 16, lease)
			must2(t, err)
			tries.Add(int64(len(claimed)))
		})
		if tries.Load() != 1 {
			t.Errorf("%d tries at once", tries.Load())
		}
		f.Clock.Advance(lease)
		if claimed := f.claimSubmissions(t, 16); len(claimed) != 1 {
			t.Errorf("%d tries after the lease", len(claimed))
		}
		_, err := f.ActivateConnection(t.Context(), f.connection.ID)
		must(t, err)
		if claimed := f.claimSubmissions(t, 16); len(claimed) != 1 {
			t.Errorf("%d tries after a change", len(claimed))
		}
	})
}

// TestStaleness: what is overdue, for how long, and how many connections are in trouble.
func TestStaleness(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		want := func(want store.ReconciliationLag) {
			t.Helper()
			got, err := f.ReconciliationLag(t.Context())
			must(t, err)
			if got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
		want(store.ReconciliationLag{})
		f.fail(t, "INV-1", "INV-2", "INV-3", "INV-4", "INV-5")
		f.Clock.Advance(time.Minute)
		want(store.ReconciliationLag{Overdue: 5, Oldest: time.Minute, OpenCircuits: 1})
		decide(t, f.claimSubmissions(t, 1)[0], func(s store.Submission, now time.Time) store.Decision {
			return told(s, now, allFour("accepted", false))
		})
		want(store.ReconciliationLag{Overdue: 4, Oldest: time.Minute})
	})
}
