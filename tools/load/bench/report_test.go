package bench

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// sampleReport is a report that uses every field.
func sampleReport() Report {
	c := Config{Command: "example", Version: "test",
		Now: func() time.Time { return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC) }}
	r := c.report()
	r.Machine, r.Engine = Machine{OS: "linux", Architecture: "amd64", Cores: 2}, "sqlite"
	r.loop(100)
	r.setting("clients", 64)
	r.count(outcome{failed: map[string]int64{"HTTP 503": 2}, late: 3, latest: 25 * time.Millisecond, started: 100}, 100)
	r.set("calls_per_second", 99.5)
	r.set("first_page_p50_seconds", 0.00125)
	r.set("memory_peak_bytes", 64<<20)
	r.set("history_bytes_per_event", 512.25)
	r.unknown("memory_idle_bytes", "only Linux tells, in /proc")
	h := NewHistogram()
	for n := range 100 {
		h.Record(time.Duration(n+1) * 100 * time.Microsecond)
	}
	r.Latencies = append(r.Latencies, Latency{"call_from_schedule", h}, Latency{"none", NewHistogram()})
	r.limit("bare_calls_per_second", 995, 99.5)
	r.Lost = 1
	return r
}

// Programs and users rely on the forms of a report.
func TestReportForms(t *testing.T) {
	r := sampleReport()
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/report.json", string(text)+"\n")
	var printed strings.Builder
	if err := r.Print(&printed); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/report.txt", printed.String())
}

// golden compares with a file; UPDATE_GOLDEN=1 writes it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: UPDATE_GOLDEN=1 writes what is so now:\n%s", path, got)
	}
}

// A report with failures returns an error.
func TestReportErr(t *testing.T) {
	r := sampleReport()
	if err := r.Err(); err == nil || err.Error() != "quittance-bench example: 1 events never arrived; 2 times HTTP 503" {
		t.Errorf("%v", err)
	}
	r.Lost, r.Failed = 0, nil
	if err := r.Err(); err != nil {
		t.Errorf("%v", err)
	}
}

// A number that does not exist is null in JSON, even after a division.
func TestFiguresWithoutNumber(t *testing.T) {
	var zero float64
	text, err := json.Marshal(Figures{{Name: "a", Value: zero / zero}, {Name: "b", Value: 1 / zero},
		{Name: "c", NotMeasured: "why"}, {Name: "d", Value: 1}})
	if err != nil || string(text) != `{"a":null,"b":null,"c":null,"d":1}` {
		t.Errorf("%s %v", text, err)
	}
}
