package webhook_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quittance/internal/exchange/webhook"
)

// TestDefaultScheduleIsTwelveAttemptsInAboutADay checks the default schedule: at once, then after 5 s ×
// 3ⁿ, at most 6 h, 12 attempts in all.
func TestDefaultScheduleIsTwelveAttemptsInAboutADay(t *testing.T) {
	schedule := webhook.DefaultBackoff()
	want := []time.Duration{
		0, 5 * time.Second, 15 * time.Second, 45 * time.Second, 135 * time.Second, 405 * time.Second, 1215 * time.Second,
		3645 * time.Second, 10935 * time.Second, 6 * time.Hour, 6 * time.Hour, 6 * time.Hour,
	}
	var total time.Duration
	for attempt, expected := range want {
		wait, again := schedule.Next(attempt, 0, 0.5)
		if !again || wait != expected {
			t.Errorf("after %d attempts: wait %v, again %v; want %v, true", attempt, wait, again, expected)
		}
		total += wait
	}
	if wait, again := schedule.Next(len(want), 0, 0.5); again || wait != 0 {
		t.Errorf("after %d attempts: wait %v, again %v; want 0, false", len(want), wait, again)
	}
	if total < 20*time.Hour || total > 28*time.Hour {
		t.Errorf("the schedule lasts %v, want about a day", total)
	}
}

func TestJitterSpreadsByAFifth(t *testing.T) {
	schedule := webhook.Backoff{First: 100 * time.Second, Attempts: 5}
	for _, c := range []struct {
		jitter float64
		want   time.Duration
	}{{0, 80 * time.Second}, {0.5, 100 * time.Second}, {0.75, 110 * time.Second}} {
		if wait, _ := schedule.Next(1, 0, c.jitter); wait != c.want {
			t.Errorf("jitter %v: wait %v, want %v", c.jitter, wait, c.want)
		}
	}
}

func TestRetryAfterOnlyLengthensAWait(t *testing.T) {
	schedule := webhook.Backoff{First: 10 * time.Second, Attempts: 5}
	for _, c := range []struct{ asked, want time.Duration }{
		{0, 10 * time.Second},
		{-time.Hour, 10 * time.Second},
		{9 * time.Second, 10 * time.Second},
		{11 * time.Second, 11 * time.Second},
		{6 * time.Hour, 6 * time.Hour},
		{7 * time.Hour, 6 * time.Hour},
		{math.MaxInt64, 6 * time.Hour},
	} {
		if wait, again := schedule.Next(1, c.asked, 0.5); wait != c.want || !again {
			t.Errorf("Retry-After %v: wait %v, again %v; want %v, true", c.asked, wait, again, c.want)
		}
	}
}

func TestBackoffProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schedule := webhook.Backoff{
			First:    time.Duration(rapid.Int64().Draw(t, "first")),
			Attempts: rapid.IntRange(-2, 2000).Draw(t, "attempts"),
		}
		attempt := rapid.IntRange(-2, 2002).Draw(t, "attempt")
		asked := time.Duration(rapid.Int64().Draw(t, "retry after"))
		jitter := rapid.Float64Range(0, math.Nextafter(1, 0)).Draw(t, "jitter")

		wait, again := schedule.Next(attempt, asked, jitter)
		if again != (attempt < schedule.Attempts) {
			t.Fatalf("again %v with %d of %d attempts made", again, attempt, schedule.Attempts)
		}
		if wait < 0 || wait > webhook.MaxWait {
			t.Fatalf("wait %v is outside 0 to %v", wait, webhook.MaxWait)
		}
		if !again || attempt < 1 {
			if wait != 0 {
				t.Fatalf("wait %v although there is no next attempt", wait)
			}
			return
		}
		if wait < min(asked, webhook.MaxWait) {
			t.Fatalf("wait %v is shorter than Retry-After %v", wait, asked)
		}
		// The exact schedule in floating point, with a tolerance of a microsecond.
		exact := min(max(float64(schedule.First), 0)*math.Pow(3, float64(min(attempt-1, 60))), float64(webhook.MaxWait))
		low, high := 0.8*exact-1000, max(1.2*exact, float64(asked))+1000
		if float64(wait) < low || float64(wait) > high {
			t.Fatalf("wait %v is outside %v to %v", wait, time.Duration(low), time.Duration(high))
		}
		if later, more := schedule.Next(attempt+1, asked, jitter); more && later < wait {
			t.Fatalf("wait %v after %d attempts, but %v after one more", wait, attempt, later)
		}
	})
}
