package service

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"quittance/internal/ledger/base"
)

// outageGap is the shortest time between two lines that say that the database does not respond.
const outageGap = time.Minute

// outage reports in the log that the database does not respond. Many tasks of a process use the database again every
// second and would each log each failure. Together they write one line when it begins, at most one a minute while it
// lasts, and one when it is over for all of them. It is safe for concurrent use.
type outage struct {
	log *slog.Logger
	now func() time.Time // the clock of the machine, because that of the database may be unavailable

	mu       sync.Mutex
	failing  map[string]bool // the tasks that the database has not answered since
	began    time.Time
	failures int       // since then
	logged   time.Time // the last line that says that the database does not respond, also of an earlier outage
	told     bool      // whether such a line was written since the outage began
}

func newOutage(log *slog.Logger, now func() time.Time) *outage {
	return &outage{log: log, now: now, failing: map[string]bool{}}
}

// saw notes what came of a task that is repeated. It returns true if the database does not respond: then the task logs
// nothing.
func (o *outage) saw(ctx context.Context, task string, err error) (logged bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !errors.Is(err, base.ErrUnavailable) {
		o.answered(ctx, task)
		return false
	}
	now := o.now()
	if len(o.failing) == 0 {
		o.began, o.failures = now, 0
	}
	o.failing[task] = true
	o.failures++
	if now.Sub(o.logged) >= outageGap {
		o.logged, o.told = now, true
		o.log.ErrorContext(ctx, "the database does not respond: background work waits",
			"tasks", strings.Join(slices.Sorted(maps.Keys(o.failing)), ", "), "failures", o.failures,
			"duration_ms", now.Sub(o.began).Milliseconds(), "error", err)
	}
	return true
}

// covers reports whether an error is one of an outage that the log tells of. It is for what is not repeated by the
// process itself: an outage ends when its tasks succeed again, and nobody knows when such work comes again.
func (o *outage) covers(err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return errors.Is(err, base.ErrUnavailable) && len(o.failing) > 0
}

// answered notes that the database has answered a task.
func (o *outage) answered(ctx context.Context, task string) {
	if !o.failing[task] {
		return
	}
	if delete(o.failing, task); len(o.failing) > 0 || !o.told {
		return
	}
	o.told = false
	o.log.InfoContext(ctx, "the database responds again", "failures", o.failures,
		"duration_ms", o.now().Sub(o.began).Milliseconds())
}
