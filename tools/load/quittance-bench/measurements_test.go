package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"quittance/test/pgtest"
)

// benchRecord is a record that quittance-bench --json prints.
type benchRecord struct {
	Command, Deployment, Engine, Loop string
	Settings, Figures, Limits         map[string]*float64
	Latencies                         map[string]struct {
		Count int64    `json:"count"`
		P50   *float64 `json:"p50_seconds"`
		P999  *float64 `json:"p99_9_seconds"`
	}
	NotMeasured map[string]string `json:"not_measured"`
	Failed      map[string]int64
	Lost        *int64
	Notes       []string
	Samples     []map[string]*float64
}

// wantBench is what the record of each measurement contains, whatever the numbers are.
var wantBench = map[string]struct {
	figures, latencies, limits []string
	least                      map[string]float64
}{
	"drafts": {[]string{"drafts_per_second", "cpu_per_1000_drafts_seconds", "memory_peak_bytes"},
		[]string{"create_draft_from_send"},
		[]string{"bare_http_calls_per_second", "bare_disk_syncs_per_second"}, map[string]float64{"drafts_created": 60}},
	"submissions": {[]string{"submissions_per_second"}, []string{"submit_from_send"},
		[]string{"bare_http_calls_per_second"}, map[string]float64{"submissions_answered": 20}},
	"deliveries": {[]string{"deliveries_per_second", "receipts_per_second", "cpu_per_1000_deliveries_seconds",
		"memory_peak_bytes", "database_bytes_per_event", "duplicates"}, nil,
		[]string{"bare_sender_calls_per_second", "share_of_bare_sender_calls_per_second"},
		map[string]float64{"history_bytes_per_event": 100, "memory_idle_bytes": 1 << 20}},
	"latency": {[]string{"events_per_second", "late_starts"},
		[]string{"event_from_transaction_to_receipt", "submit_from_schedule"},
		[]string{"bare_sender_calls_per_second"}, map[string]float64{"events": 20}}, // 10 submissions of at least two events
	"fairness": {[]string{"p99_ratio", "p50_ratio"},
		[]string{"event_to_receipt_alone", "event_to_receipt_beside_the_hanging_destination"},
		[]string{"bare_disk_syncs_per_second"}, map[string]float64{"events_alone": 20,
			"events_beside_the_hanging_destination": 20, "hanging_calls_at_a_time": 1}},
	"lists": {[]string{"first_page_p50_seconds", "last_page_p50_seconds", "last_to_first_ratio",
		"console_overview_p50_seconds", "console_invoices_p50_seconds", "console_credit_notes_p50_seconds"},
		[]string{"first_page_from_send", "last_page_from_send", "console_overview_from_send", "console_invoices_from_send",
			"console_credit_notes_from_send"}, []string{"bare_http_calls_per_second"}, nil},
	"start": {[]string{"start_to_ready_median_seconds"}, []string{"start_to_ready"},
		[]string{"bare_disk_syncs_per_second"}, nil},
	"limits": {nil, nil, []string{"bare_disk_syncs_per_second", "bare_http_calls_per_second",
		"bare_sender_calls_per_second"}, nil},
}

// TestBenchAll: every measurement works on a deployment of its own, without failures and lost events. Speed does not
// matter here.
func TestBenchAll(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		for _, record := range benchRecords(t, "drafts", "--duration", "200ms") {
			checkBench(t, record, "sqlite")
		}
		return // the others take most of a minute
	}
	records := benchRecords(t, "all", "--quick")
	if len(records) != len(wantBench) {
		t.Errorf("%d records, want %d", len(records), len(wantBench))
	}
	for _, record := range records {
		checkBench(t, record, "sqlite")
	}
}

// TestBenchOnPostgres: on PostgreSQL the CPU time of the database server is measured in addition to that of the server.
func TestBenchOnPostgres(t *testing.T) {
	if !pgtest.Enabled() {
		return // PostgreSQL is disabled: see pgtest.EnvEngines
	}
	t.Parallel()
	for _, measurement := range measurements() {
		if !slices.Contains([]string{"deliveries", "latency"}, measurement[0]) {
			continue
		}
		t.Run(measurement[0], func(t *testing.T) {
			for _, record := range benchRecords(t, append(measurement, "--database", pgtest.URL(t))...) {
				checkBench(t, record, "postgres")
				if cpu := record.Figures["of_it_database_seconds"]; cpu == nil {
					t.Errorf("%s: the CPU of the database is not measured: %v", record.Command, record.NotMeasured)
				} else if *cpu <= 0 {
					t.Errorf("%s: the CPU of the database is %g seconds", record.Command, *cpu)
				}
				what := map[string]string{"latency": "events"}[measurement[0]]
				if log := record.Figures["wal_bytes_per_1000_"+cmp.Or(what, measurement[0])]; log == nil || *log <= 0 {
					t.Errorf("%s: the log of the database is %v", record.Command, log)
				}
			}
		})
	}
}

// benchRecords runs quittance-bench and reads its records.
func benchRecords(t *testing.T, args ...string) (records []benchRecord) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name,
		append(slices.Clone(args), "--json", "--progress", "always", "--limit-duration", "50ms")...)
	command.Dir = t.TempDir()
	var stderr bytes.Buffer
	command.Stderr = &stderr
	text, err := command.Output()
	if err != nil {
		t.Fatalf("bench %v: %v\n%s\n%s", args, err, text, &stderr)
	}
	for line := range strings.Lines(string(text)) {
		var record benchRecord
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		records = append(records, record)
	}
	return records
}

func checkBench(t *testing.T, record benchRecord, engine string) {
	t.Helper()
	measurement, ok := strings.CutPrefix(record.Command, name+" ")
	want, known := wantBench[measurement]
	if !ok || !known {
		t.Errorf("unknown record %+v", record)
		return
	}
	if len(record.Failed) > 0 || record.Lost == nil || *record.Lost != 0 || len(record.NotMeasured) > 0 {
		t.Errorf("%s: failed %v, lost %v, not measured %v", measurement, record.Failed, record.Lost, record.NotMeasured)
	}
	if measurement != "limits" && (record.Engine != engine || record.Deployment != "own") {
		t.Errorf("%s: %s deployment on %s", measurement, record.Deployment, record.Engine)
	}
	for _, figure := range want.figures {
		if record.Figures[figure] == nil {
			t.Errorf("%s has no figure %s: %v", measurement, figure, record.Figures)
		}
	}
	for figure, least := range want.least {
		if value := record.Figures[figure]; value == nil || *value < least {
			t.Errorf("%s: %s is %v, want %v at least", measurement, figure, value, least)
		}
	}
	for _, limit := range want.limits {
		if value := record.Limits[limit]; value == nil || *value <= 0 {
			t.Errorf("%s has no limit %s: %v", measurement, limit, record.Limits)
		}
	}
	for _, latency := range want.latencies {
		if found := record.Latencies[latency]; found.Count == 0 || found.P50 == nil || found.P999 == nil ||
			*found.P50 > *found.P999 {
			t.Errorf("%s: %s is %+v", measurement, latency, found)
		}
	}
	if unverified := record.Figures["unverified"]; unverified != nil && *unverified != 0 {
		t.Errorf("%s: %v callbacks did not verify", measurement, *unverified)
	}
}
