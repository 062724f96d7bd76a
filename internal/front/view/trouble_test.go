package view_test

import (
	"testing"
	"time"

	"quittance/internal/front/view"
	"quittance/internal/ledger/invoices"
)

// TestInTrouble checks that one failed call is no trouble, and that several are, or fewer that go on for some time.
func TestInTrouble(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		state    string
		failures int
		since    time.Duration
		want     bool
	}{
		{invoices.ConnectionActive, 0, 0, false}, {invoices.ConnectionActive, 1, time.Minute, false},
		{invoices.ConnectionActive, 1, 24 * time.Hour, false}, {invoices.ConnectionActive, 2, 9 * time.Minute, false},
		{invoices.ConnectionActive, 2, 10 * time.Minute, true}, {invoices.ConnectionActive, 4, time.Second, false},
		{invoices.ConnectionActive, 5, time.Second, true},
		{invoices.ConnectionDisabled, 50, time.Hour, false},
	} {
		c := invoices.Connection{State: test.state, Failures: test.failures}
		if test.failures > 0 {
			since := now.Add(-test.since)
			c.FailingSince = &since
		}
		if got := view.InTrouble(c, now); got != test.want {
			t.Errorf("%s with %d failures in %s: %v", test.state, test.failures, test.since, got)
		}
	}
}
