package invoices_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// unusableResponse is the decision after a call without a usable response: the outcome is unknown, and the submission
// is due at once.
func unusableResponse(class string, retryAfter time.Duration) func(invoices.Submission, time.Time) invoices.Decision {
	return func(s invoices.Submission, now time.Time) invoices.Decision {
		d := fixture.Outcome(s, api.OutcomeUnknown)
		d.FailureReason, d.RetryAfter, d.DueAt = class, retryAfter, &now
		return d
	}
}

// usableResponse is the decision after a usable response that leaves the submission open and due.
func usableResponse(s invoices.Submission, now time.Time) invoices.Decision {
	d := fixture.Outcome(s, api.OutcomeAcknowledged)
	d.DueAt = &now
	return d
}

// readConnection reads the connection of the fixture's company.
func readConnection(t *testing.T, f *fixture.Fixture) invoices.Connection {
	t.Helper()
	c, err := invoices.FindConnection(t.Context(), f.DB, f.Connection.ID)
	kit.Must(t, err)
	return c
}

// failCalls submits invoices, and none of their calls gets a usable response.
func failCalls(t *testing.T, f *fixture.Fixture, numbers ...string) {
	t.Helper()
	for _, number := range numbers {
		fixture.Decide(t, f.Submit(t, number), unusableResponse("timeout", 0))
	}
}

// TestCircuitBreaker: after five calls in a row without a usable response the circuit breaker of the connection opens.
// Only one probe at a time goes through, after a second and then after twice as long each time, up to a minute, or as
// long as the provider demands. The first usable response closes the circuit. Other companies are not affected.
func TestCircuitBreaker(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		since := f.Clock.Now()
		failCalls(t, f, "INV-1", "INV-2", "INV-3", "INV-4")
		if c := readConnection(t, f); c.Failures != 4 || c.RetryAt != nil || c.FailureReason != "timeout" ||
			!c.FailingSince.Equal(since) {
			t.Fatalf("after four: %+v", c)
		}
		fixture.Decide(t, f.Submit(t, "INV-5"), usableResponse)
		if c := readConnection(t, f); c.Failures != 0 || c.FailingSince != nil || c.FailureReason != "" ||
			view.Connection(c).FailingSince != nil {
			t.Fatalf("after a usable response: %+v", c)
		}
		since = f.Clock.Advance(time.Minute)
		failCalls(t, f, "INV-6", "INV-7", "INV-8", "INV-9", "INV-10")
		if c := readConnection(t, f); c.Failures != 5 || !c.FailingSince.Equal(since) ||
			!view.Connection(c).FailingSince.Equal(since) {
			t.Fatalf("after five: %+v", c)
		}
		for n, step := range []struct{ wait, asked time.Duration }{{time.Second, 0}, {2 * time.Second, 0},
			{4 * time.Second, 0}, {8 * time.Second, 0}, {16 * time.Second, 0}, {32 * time.Second, 0}, {time.Minute, 0},
			{time.Minute, 5 * time.Minute}, {5 * time.Minute, 0}} {
			wantNext(t, f, f.Clock.Now().Add(step.wait))
			if claimed := f.ClaimSubmissions(t, 16); len(claimed) != 0 {
				t.Fatalf("step %d: %d are claimed while the circuit is open", n, len(claimed))
			}
			f.Clock.Advance(step.wait)
			claimed := f.ClaimSubmissions(t, 16)
			if len(claimed) != 1 || len(f.ClaimSubmissions(t, 16)) != 0 {
				t.Fatalf("step %d: %d are claimed as probes, want 1", n, len(claimed))
			}
			fixture.Decide(t, claimed[0], unusableResponse("server_error", step.asked))
		}
		f.Clock.Advance(time.Minute)
		fixture.Decide(t, f.ClaimSubmissions(t, 16)[0], usableResponse)
		if c := readConnection(t, f); c.Failures != 0 || c.RetryAt != nil {
			t.Errorf("after the circuit closed: %+v", c)
		}
		if claimed := f.ClaimSubmissions(t, 16); len(claimed) != 10 {
			t.Errorf("after the circuit closed %d are claimed, want all 10", len(claimed))
		}
	})
}

// wantNext fails the test unless the queue of the fixture's connection is due at a time and every submission reports
// that time.
func wantNext(t *testing.T, f *fixture.Fixture, want time.Time) {
	t.Helper()
	c := readConnection(t, f)
	scan, err := invoices.DueSubmissionQueues(t.Context(), f.DB, base.ScanCursor{})
	kit.Must(t, err)
	if c.RetryAt == nil || !c.RetryAt.Equal(want) || !scan.NextDue.Equal(want) {
		t.Fatalf("the next probe is at %v, the next work at %v, want %v", c.RetryAt, scan.NextDue, want)
	}
	page, err := view.Of(f.Tenant).Invoices(t.Context(), view.InvoiceFilter{}, 1, 100)
	kit.Must(t, err)
	for _, invoice := range page.Entries {
		if at := view.Submission(*invoice.Submission).NextCheckAt; at == nil || !at.Equal(want) {
			t.Fatalf("the next check of %s is at %v, want %v", invoice.Submission.Number, at, want)
		}
	}
}

// TestTroubleIsLoggedTwice: the trouble of a connection has one line at its beginning, with its reason, and one at its
// end, with its length.
func TestTroubleIsLoggedTwice(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		var log bytes.Buffer
		options := f.Options
		options.Log = slog.New(slog.NewTextHandler(&log, nil))
		db, err := ledger.Open(t.Context(), f.Address, options)
		kit.Must(t, err)
		own := f.DB
		defer func() {
			f.DB = own
			kit.Must(t, db.Close())
		}()
		f.DB = db
		f.Tenant, err = db.Tenant(t.Context(), f.Tenant.Account())
		kit.Must(t, err)
		failCalls(t, f, "INV-1", "INV-2", "INV-3", "INV-4")
		fixture.Decide(t, f.Submit(t, "INV-5"), usableResponse)
		if log.Len() > 0 {
			t.Errorf("four failures are told: %s", &log)
		}
		failCalls(t, f, "INV-6", "INV-7", "INV-8", "INV-9", "INV-10", "INV-11", "INV-12")
		begin := log.String()
		if strings.Count(begin, "\n") != 1 || !strings.Contains(begin, "level=WARN") ||
			!strings.Contains(begin, "is in trouble") || !strings.Contains(begin, "failures=5") ||
			!strings.Contains(begin, "reason=timeout") || !strings.Contains(begin, f.Connection.ID.String()) {
			t.Errorf("at the beginning: %s", begin)
		}
		log.Reset()
		fixture.Decide(t, f.Submit(t, "INV-13"), usableResponse)
		fixture.Decide(t, f.Submit(t, "INV-14"), usableResponse)
		if end := log.String(); strings.Count(end, "\n") != 1 || !strings.Contains(end, "works again") ||
			!strings.Contains(end, "failures=7") || !strings.Contains(end, "since=") {
			t.Errorf("at the end: %s", end)
		}
	})
}

// TestSubmissionsWhileCircuitIsOpen: submissions that fail while the circuit is open do not postpone the next probe,
// and one that succeeds closes the circuit.
func TestSubmissionsWhileCircuitIsOpen(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		failCalls(t, f, "INV-1", "INV-2", "INV-3", "INV-4", "INV-5")
		retry := readConnection(t, f).RetryAt
		f.Clock.Advance(500 * time.Millisecond)
		failCalls(t, f, "INV-6", "INV-7")
		if c := readConnection(t, f); c.Failures != 7 || !c.RetryAt.Equal(*retry) {
			t.Errorf("failed submissions moved the next probe from %v to %v", retry, c.RetryAt)
		}
		f.Clock.Advance(time.Second)
		probe := f.ClaimSubmissions(t, 1)
		failCalls(t, f, "INV-8")
		if c := readConnection(t, f); !c.RetryAt.Equal(f.Clock.Now().Add(fixture.LeaseDuration)) {
			t.Errorf("while a probe is under way, the next is at %v", c.RetryAt)
		}
		fixture.Decide(t, f.Submit(t, "INV-9"), usableResponse)
		if c := readConnection(t, f); c.Failures != 0 || c.RetryAt != nil {
			t.Errorf("after a success: %+v", c)
		}
		fixture.Decide(t, probe[0], unusableResponse("timeout", 0))
		if c := readConnection(t, f); c.Failures != 1 || c.RetryAt != nil {
			t.Errorf("after the old probe failed: %+v", c)
		}
	})
}

// TestOneProbe: only one of many workers gets the probe. When that worker dies, the probe is due again at the end of
// its lease. A change of the connection makes the next probe due at once.
func TestOneProbe(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		failCalls(t, f, "INV-1", "INV-2", "INV-3", "INV-4", "INV-5")
		f.Clock.Advance(time.Second)
		queue, due := f.SubmissionQueue(t, f.Connection.ID)
		if !due {
			t.Fatal("nothing is due")
		}
		var probes atomic.Int64
		fixture.Race(8, func(int) {
			claimed, err := invoices.ClaimSubmissions(t.Context(), queue, 16, fixture.LeaseDuration)
			fixture.Must2(t, err)
			probes.Add(int64(len(claimed)))
		})
		if probes.Load() != 1 {
			t.Errorf("%d probes at the same time", probes.Load())
		}
		f.Clock.Advance(fixture.LeaseDuration)
		if claimed := f.ClaimSubmissions(t, 16); len(claimed) != 1 {
			t.Errorf("%d probes after the lease", len(claimed))
		}
		_, err := invoices.ActivateConnection(t.Context(), f.DB, f.Connection.ID)
		kit.Must(t, err)
		if claimed := f.ClaimSubmissions(t, 16); len(claimed) != 1 {
			t.Errorf("%d probes after a change", len(claimed))
		}
	})
}

// TestPollLag: it counts overdue submissions, how long the first has been overdue, and open circuits.
func TestPollLag(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		want := func(want invoices.PollLag) {
			t.Helper()
			got, err := invoices.ReadPollLag(t.Context(), f.DB)
			kit.Must(t, err)
			fixture.WantEqual(t, "the lag", got, want)
		}
		healthy := []invoices.ConnectionHealth{{Kind: "http", Active: 2}}
		want(invoices.PollLag{Connections: healthy})
		failCalls(t, f, "INV-1", "INV-2", "INV-3", "INV-4", "INV-5")
		f.Clock.Advance(time.Minute)
		want(invoices.PollLag{Overdue: 5, Oldest: time.Minute,
			Connections: []invoices.ConnectionHealth{{Kind: "http", Active: 2, OpenCircuits: 1}}})
		fixture.Decide(t, f.ClaimSubmissions(t, 1)[0], func(s invoices.Submission, now time.Time) invoices.Decision {
			return fixture.Reported(s, now, fixture.AllFour("accepted", false))
		})
		want(invoices.PollLag{Overdue: 4, Oldest: time.Minute, Connections: healthy})
	})
}

// TestRetryAfterHoldsTheConnection checks that the first response that asks for a wait holds all status queries of the
// connection until then, and none of another company.
func TestRetryAfterHoldsTheConnection(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Decide(t, f.Submit(t, "INV-1"), usableResponse)
		fixture.Decide(t, f.Submit(t, "INV-2"), unusableResponse("limited", 5*time.Minute))
		wantNext(t, f, f.Clock.Now().Add(5*time.Minute))
		if claimed := f.ClaimSubmissions(t, 16); len(claimed) != 0 {
			t.Errorf("%d are claimed before the provider's time", len(claimed))
		}
		f.Clock.Advance(5 * time.Minute)
		probe := f.ClaimSubmissions(t, 16)
		if len(probe) != 1 {
			t.Fatalf("%d are claimed as probes, want 1", len(probe))
		}
		fixture.Decide(t, probe[0], usableResponse)
		if claimed := f.ClaimSubmissions(t, 16); len(claimed) == 0 {
			t.Error("nothing is claimed after the probe")
		}
	})
}
