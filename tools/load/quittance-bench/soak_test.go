package main

import (
	"testing"

	"quittance/test/pgtest"
)

// TestBenchSoak runs for seconds what usually runs for hours: every event is accounted for, however its receiver
// behaves.
func TestBenchSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	checkSoak(t, "sqlite", benchRecords(t, soakArgs()...))
}

// TestBenchSoakOnPostgres is [TestBenchSoak] on PostgreSQL.
func TestBenchSoakOnPostgres(t *testing.T) {
	if !pgtest.Enabled() {
		return // PostgreSQL is disabled: see pgtest.EnvEngines
	}
	t.Parallel()
	checkSoak(t, "postgres", benchRecords(t, append(soakArgs(), "--database", pgtest.URL(t))...))
}

func soakArgs() []string {
	return []string{"soak", "--rate", "3", "--clients", "4", "--duration", "4s", "--sample", "1s", "--flap", "1500ms"}
}

func checkSoak(t *testing.T, engine string, records []benchRecord) {
	t.Helper()
	if len(records) != 1 || records[0].Engine != engine || records[0].Loop != "open" {
		t.Fatalf("%+v", records)
	}
	record := records[0]
	if len(record.Failed) > 0 || record.Lost == nil || *record.Lost != 0 {
		t.Errorf("failed %v, lost %v: %v", record.Failed, record.Lost, record.Figures)
	}
	figure := func(name string) float64 {
		value := record.Figures[name]
		if value == nil {
			t.Errorf("there is no figure %s", name)
			return -1
		}
		return *value
	}
	for _, name := range []string{"events_that_never_arrived_healthy", "events_that_never_arrived_flapping",
		"events_without_a_delivery_hanging", "events_without_a_delivery_redirecting", "submissions_without_a_terminal_event",
		"events_that_no_feed_has", "redirects_followed", "unverified", "errors_logged"} {
		if value := figure(name); value != 0 {
			t.Errorf("%s is %v", name, value)
		}
	}
	// Each company makes twelve submissions, each of which makes at least two events.
	for _, name := range []string{"events_healthy", "events_hanging", "events_redirecting", "events_flapping"} {
		if value := figure(name); value < 24 {
			t.Errorf("%s is %v", name, value)
		}
	}
	if figure("deliveries_hanging_pending")+
		figure("deliveries_hanging_failed_attempts_exhausted") != figure("events_hanging") {
		t.Errorf("the hanging company's events are not its deliveries: %v", record.Figures)
	}
	for _, name := range []string{"redirects_answered", "redirecting_subscriptions",
		"deliveries_redirecting_blocked_redirect", "hanging_calls_at_a_time", "rss_last_to_first_quarter_ratio",
		"goroutines_last_to_first_quarter_ratio", "open_files_last_to_first_quarter_ratio"} {
		if value := figure(name); value <= 0 {
			t.Errorf("%s is %v", name, value)
		}
	}
	if events := record.Latencies["event_from_transaction_to_receipt_healthy"]; float64(events.Count) != figure(
		"events_healthy") {
		t.Errorf("%d latencies of the healthy company's events: %v", events.Count, record.Figures)
	}
	checkSamples(t, record)
}

// checkSamples expects each sample to say what the server used. The log of a PostgreSQL server is not measured, because
// it is not the company's own.
func checkSamples(t *testing.T, record benchRecord) {
	t.Helper()
	if len(record.Samples) != 4 {
		t.Errorf("%d samples, want 4", len(record.Samples))
	}
	for _, sample := range record.Samples {
		for _, name := range []string{"at_seconds", "rss_bytes", "heap_in_use_bytes", "goroutines", "open_files",
			"database_bytes"} {
			if value := sample[name]; value == nil || *value <= 0 {
				t.Errorf("a sample has no %s: %v", name, sample)
			}
		}
		if wal := sample["wal_bytes"]; (wal == nil) != (record.Engine == "postgres") {
			t.Errorf("the log of a %s database is measured as %v", record.Engine, wal)
		}
	}
}
