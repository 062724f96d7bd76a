package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quittance/internal/ledger/base"
)

// TestOutage: however many tasks fail in an outage of the database, and however often, the log has one line when it
// begins, one a minute with the number of failures, and one when the database has answered all of them. Other errors
// are left to their tasks.
func TestOutage(t *testing.T) {
	var log bytes.Buffer
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o := newOutage(slog.New(slog.NewTextHandler(&log,
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})), func() time.Time { return now })
	tasks := []string{"deliver", "reconcile", "keys"}
	saw := func(task string, err error, logged bool) {
		t.Helper()
		if got := o.saw(t.Context(), task, err); got != logged {
			t.Errorf("%s, %v: logged %v", task, err, got)
		}
	}
	lines := func(want ...string) {
		t.Helper()
		if got := strings.TrimSpace(log.String()); got != strings.Join(want, "\n") {
			t.Errorf("the log has\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
		log.Reset()
	}
	down := fmt.Errorf("scan: %w", base.ErrUnavailable)
	fail := func(seconds int) {
		t.Helper()
		for range seconds {
			for _, task := range tasks {
				saw(task, down, true)
			}
			now = now.Add(time.Second)
		}
	}
	for _, task := range tasks {
		saw(task, nil, false)
		saw(task, errors.New("a broken statement"), false)
	}
	lines()
	if o.covers(down) {
		t.Error("an error before the outage is not told of")
	}
	fail(61)
	if !o.covers(down) || o.covers(errors.New("a broken statement")) {
		t.Error("the outage covers its own errors, and no others")
	}
	const again = `level=ERROR msg="the database does not respond: background work waits" tasks="deliver, keys, reconcile" failures=%d duration_ms=%d error="scan: database unavailable"`
	lines(
		`level=ERROR msg="the database does not respond: background work waits" tasks=deliver failures=1 duration_ms=0 error="scan: database unavailable"`,
		fmt.Sprintf(again, 181, 60000))
	saw("deliver", nil, false)
	saw("keys", errors.New("a broken statement"), false) // the database has answered
	lines()
	saw("reconcile", nil, false)
	lines(`level=INFO msg="the database responds again" failures=183 duration_ms=61000`)

	fail(2) // a database that keeps failing for a moment writes no more lines than one that stays away
	for _, task := range tasks {
		saw(task, nil, false)
	}
	lines()
	now = now.Add(time.Hour)
	fail(1)
	for _, task := range tasks {
		saw(task, nil, false)
	}
	lines(
		`level=ERROR msg="the database does not respond: background work waits" tasks=deliver failures=1 duration_ms=0 error="scan: database unavailable"`,
		`level=INFO msg="the database responds again" failures=3 duration_ms=1000`)
}

// TestRepeat: a task that is repeated runs until its context ends. An error that stays is one line of the log, and an
// outage of the database is left to the line about it.
func TestRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &Service{config: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}}
		s.outage = newOutage(slog.New(slog.DiscardHandler), time.Now)
		down, broken := fmt.Errorf("scan: %w", base.ErrUnavailable), errors.New("a broken statement")
		results := []error{nil, broken, broken, nil, down, down, nil, broken, broken}
		ctx, stop := context.WithCancel(t.Context())
		runs := 0
		s.repeat(ctx, "uses", func(context.Context) error {
			if runs++; runs > len(results) {
				stop()
				return ctx.Err() // the end of the process is no error
			}
			return results[runs-1]
		})
		if lines := strings.Count(log.String(),
			`level=WARN msg="background work failed: it is tried again every second" task=uses error="a broken statement"`); lines != 2 || strings.Count(log.String(), "\n") != 2 {
			t.Errorf("%d lines:\n%s", lines, &log)
		}
		if runs != len(results)+1 {
			t.Errorf("%d runs", runs)
		}
	})
}
