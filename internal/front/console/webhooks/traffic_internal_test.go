package webhooks

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/language"

	"quittance/internal/front/console"
	"quittance/internal/front/view"
	"quittance/internal/ledger/events"
	"quittance/test/consoletest"
)

// charted returns the charts of some attempts, at a time in the middle of an hour.
func charted(t *testing.T, recent view.RecentAttempts) traffic {
	t.Helper()
	req := &console.Request{Words: consoletest.Words(t, language.English)}
	out, err := trafficOf(req, recent, trafficNow)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var trafficNow = time.Date(2026, time.March, 1, 9, 30, 0, 0, time.UTC)

// tries returns attempts that started the given time ago, with a status and durations in milliseconds.
func tries(ago time.Duration, status int, durations ...int) []events.Attempt {
	var out []events.Attempt
	for _, ms := range durations {
		out = append(out, events.Attempt{StartedAt: trafficNow.Add(-ago), Duration: time.Duration(ms) * time.Millisecond,
			HTTPStatus: status})
	}
	return out
}

// TestTraffic checks that an attempt counts in the hour in which it started. Bars are stacked and scaled to the
// maximum, and small values stay visible.
func TestTraffic(t *testing.T) {
	t.Parallel()
	var attempts []events.Attempt
	attempts = append(attempts, tries(0, 200, 1, 2, 3, 400)...)
	attempts = append(attempts, tries(29*time.Minute, 204, 4)...)
	attempts = append(attempts, tries(31*time.Minute, 503, 1000)...)
	attempts = append(attempts, tries(31*time.Minute, 0, 1200)...)
	attempts = append(attempts, tries(31*time.Minute, 302, 5)...)
	attempts = append(attempts, tries(23*time.Hour+30*time.Minute, 299, 7)...)
	attempts = append(attempts, tries(23*time.Hour+31*time.Minute, 200, 9999)...) // before the first hour
	attempts = append(attempts, tries(-time.Hour, 200, 9999)...)                  // of a clock that runs ahead
	got := charted(t, view.RecentAttempts{Attempts: attempts})
	if got.Span != "day" || got.Cut || !got.Began.Equal(time.Date(2026, time.February, 28, 10, 0, 0, 0, time.UTC)) ||
		len(got.Slots) != slotCount {
		t.Fatalf("%s from %s, %d slots, cut %v", got.Span, got.Began, len(got.Slots), got.Cut)
	}
	want := traffic{Span: "day", Began: got.Began, Slots: got.Slots, Attempts: 9, Arrived: 6, Share: "66.6",
		Median: "5.0 ms", P95: "1.2 s", MaxAttempts: 5, MaxTime: "1.2 s"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the traffic (-want +got):\n%s", d)
	}
	for n, want := range map[int]string{
		0:  "1+0 7.0 ms 7.0 ms, bars 80-100 of 2xx and 80-80 of others, times 97-100 in 97-100",
		22: "0+3 1.0 s 1.2 s, bars 100-100 of 2xx and 40-100 of others, times 17-100 in 0-100",
		23: "5+0 3.0 ms 400 ms, bars 0-100 of 2xx and 0-0 of others, times 97-100 in 67-100",
		1:  "0+0  , bars 0-0 of 2xx and 0-0 of others, times 0-0 in 0-0",
	} {
		s := got.Slots[n]
		text := fmt.Sprintf("%d+%d %s %s, bars %d-%d of 2xx and %d-%d of others, times %d-%d in %d-%d", s.Arrived, s.Failed,
			s.Median, s.P95, s.ArrivedY, s.ArrivedY+s.ArrivedHeight, s.FailedY, s.FailedY+s.FailedHeight, s.MedianY,
			s.MedianY+s.MedianHeight, s.P95Y, s.P95Y+s.P95Height)
		if text != want {
			t.Errorf("slot %d: %s, want %s", n, text, want)
		}
	}
}

// TestTrafficSpan checks that the charts of a busy subscription cover the longest span for which all attempts were
// read, and say so if even the shortest span is incomplete.
func TestTrafficSpan(t *testing.T) {
	t.Parallel()
	for from, want := range map[time.Duration]string{
		24 * time.Hour: "day false", 23*time.Hour + 29*time.Minute: "hours false", 6 * time.Hour: "hours false",
		5 * time.Hour: "two_hours false", 115 * time.Minute: "two_hours false", time.Hour: "minutes false",
		23 * time.Minute: "minutes false",
		time.Minute:      "minutes true",
	} {
		recent := view.RecentAttempts{From: trafficNow.Add(-from), Attempts: tries(0, 200, 1)}
		if got := charted(t, recent); fmt.Sprint(got.Span, " ", got.Cut) != want {
			t.Errorf("from %s ago: %s, cut %v, want %s", from, got.Span, got.Cut, want)
		}
	}
	if got := charted(t, view.RecentAttempts{}); got.Attempts != 0 || got.Share != "" || got.Span != "day" {
		t.Errorf("without any: %+v", got)
	}
}

// TestPercent checks that percentages are rounded down, so that only a complete set gives 100 %.
func TestPercent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		part, whole int
		want        string
	}{{0, 0, ""}, {0, 7, "0"}, {7, 7, "100"}, {9999, 10000, "99.9"}, {1, 3, "33.3"}, {1, 2, "50"}} {
		if got := percent(c.part, c.whole); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.part, c.whole, got, c.want)
		}
	}
}
