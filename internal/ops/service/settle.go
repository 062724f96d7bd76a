package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"quittance/internal/exchange/queue"
)

// activity knows how far each kind of work is.
type activity struct {
	mu       sync.Mutex
	progress map[string]queue.Progress
	changed  chan struct{} // closed when progress changes
	started  chan struct{} // closed when all workers have started
}

func newActivity() *activity {
	return &activity{progress: map[string]queue.Progress{}, changed: make(chan struct{}), started: make(chan struct{})}
}

// record records the progress of one kind of work.
func (a *activity) record(work string, progress queue.Progress) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.progress[work] = progress
	close(a.changed)
	a.changed = make(chan struct{})
}

// read returns the progress of all work, and a channel that is closed when it changes.
func (a *activity) read() (map[string]queue.Progress, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.progress), a.changed
}

// ErrNotObserved says that only a process with a clock of its own, [Config].Now, observes its work.
var ErrNotObserved = errors.New("the work of a process without a clock of its own is not observed")

// Settle waits until no work is due or running: deliveries, status queries, purchase syncs, and what follows from them
// at once. It is meaningful while the clock stands still, and returns [ErrNotObserved] or the error of ctx.
func (s *Service) Settle(ctx context.Context) error {
	if s.activity == nil {
		return ErrNotObserved
	}
	select {
	case <-s.activity.started:
	case <-ctx.Done():
		return fmt.Errorf("the workers have not started: %w", ctx.Err())
	}
	for {
		before, _ := s.activity.read()
		s.db.ClockMoved() // scan for everything that is due now
		if busy, err := s.settleOnce(ctx, before); err != nil || !busy {
			return err
		}
	}
}

// settleOnce waits until every kind of work is idle after a scan that began after before. It reports whether a task has
// started since: it can have caused work of another kind.
func (s *Service) settleOnce(ctx context.Context, before map[string]queue.Progress) (busy bool, err error) {
	for {
		now, changed := s.activity.read()
		settled, tasks := true, 0
		for work, p := range now {
			settled = settled && p.Idle && p.ScansCompleted > before[work].ScansBegun
			tasks += p.Tasks - before[work].Tasks
		}
		if settled {
			return tasks > 0, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false, fmt.Errorf("work is still due or running: %w", ctx.Err())
		}
	}
}
