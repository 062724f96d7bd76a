package service

import (
	"context"
	"iter"
	"log/slog"
	"sync"
	"time"

	"quittance/internal/exchange/queue"
	"quittance/internal/ledger"
	"quittance/internal/ledger/invoices"
)

// The sizes of the worker pools; see [queue.Options]. Deliveries and status queries mostly wait for servers of others,
// so there are many workers. A purchase sync is one task of several calls and holds documents in memory, so there are
// few.
const (
	deliveryWorkers          = 1536
	slowDeliveryWorkers      = 512
	deliveriesPerCompany     = 128
	deliveriesPerDestination = 64

	pollWorkers             = 1024
	slowPollWorkers         = 256
	pollsPerCompany         = 64
	pollsPerProvider        = 64
	tasksPerSlowQueue       = 8 // of a slow destination or provider connection
	purchaseWorkers         = 32
	slowPurchaseWorkers     = 12
	purchaseSyncsPerCompany = 1

	// A relay takes few connections at a time.
	mailWorkers     = 8
	slowMailWorkers = 4
	mailsPerCompany = 2
)

// The time within which the other side is expected to respond: after that its queue is slow.
const (
	slowDelivery = time.Second
	slowMail     = 5 * time.Second
	slowPoll     = 2 * time.Second
	slowPurchase = 5 * time.Second
)

const (
	// pollInterval is the longest time between two scans for due work.
	pollInterval = time.Second
	// cleanUpInterval is the time between two removals of expired rows.
	cleanUpInterval = 10 * time.Minute
	// providerConns is the number of connections to the provider of one company: one for each call that can run at the
	// same time (128 submissions, the status queries, and the documents of a purchase sync), so that no call waits for
	// another.
	providerConns = 128 + pollsPerCompany + 8
)

// startWorkers starts the workers of this process.
func (s *Service) startWorkers(ctx context.Context, running *sync.WaitGroup) {
	startQueue(ctx, s, running, s.deliverer.Work(),
		queue.Options{Workers: deliveryWorkers, SlowWorkers: slowDeliveryWorkers,
			MaxPerCompany: deliveriesPerCompany, MaxPerQueue: deliveriesPerDestination, MaxPerSlowQueue: tasksPerSlowQueue,
			SlowAfter: slowDelivery})
	startQueue(ctx, s, running, s.submissions.Work(), queue.Options{Workers: pollWorkers, SlowWorkers: slowPollWorkers,
		MaxPerCompany: pollsPerCompany, MaxPerQueue: pollsPerProvider, MaxPerSlowQueue: tasksPerSlowQueue,
		SlowAfter: slowPoll})
	startQueue(ctx, s, running, s.purchases.Work(),
		queue.Options{Workers: purchaseWorkers, SlowWorkers: slowPurchaseWorkers,
			MaxPerCompany: purchaseSyncsPerCompany, MaxPerQueue: purchaseSyncsPerCompany,
			MaxPerSlowQueue: purchaseSyncsPerCompany, SlowAfter: slowPurchase})
	s.startMails(ctx, running)
	if s.activity != nil {
		close(s.activity.started)
	}
	running.Go(func() { s.cleanUp(ctx) })
	running.Go(func() { s.answerResetRequests(ctx) })
}

// repeatInterval is the time between two runs of a task that is repeated: how long a request for a new password waits
// for its answer, a notice for its mail, and the use of an API key or a session until it is shown, if there is little
// other work.
const repeatInterval = time.Second

// answerResetRequests sends links to users who have forgotten their passwords, apart from the requests for them; see
// [account.Service.RequestPasswordReset].
func (s *Service) answerResetRequests(ctx context.Context) {
	s.repeat(ctx, "password requests", s.accounts.AnswerResetRequests)
}

// repeat runs a task of the database after each [repeatInterval] until ctx ends. An error that stays is one line of the
// log.
func (s *Service) repeat(ctx context.Context, task string, run func(context.Context) error) {
	failing := false
	for range ticks(ctx, repeatInterval) {
		err := run(ctx)
		if ctx.Err() != nil {
			return
		}
		if !s.outage.saw(ctx, task, err) && err != nil && !failing {
			s.config.Log.WarnContext(ctx, "background work failed: it is tried again every second", "task", task, "error", err)
		}
		failing = err != nil
	}
}

// ticks yields after each interval until ctx ends. It waits for a body that takes longer.
func ticks(ctx context.Context, interval time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case at := <-ticker.C:
				if !yield(at) {
					return
				}
			}
		}
	}
}

// startQueue runs the work of a source.
func startQueue[W any](ctx context.Context, s *Service, running *sync.WaitGroup, source queue.Source[W],
	o queue.Options) {
	o.PollInterval, o.Now, o.Log, o.OnStats = pollInterval, s.db.Now, s.config.Log, s.metrics.onStats(source.Name)
	if s.activity != nil {
		s.activity.record(source.Name, queue.Progress{})
		o.OnProgress = func(p queue.Progress) { s.activity.record(source.Name, p) }
	}
	o.OnAnswer = func(ctx context.Context, err error) bool { return s.outage.saw(ctx, source.Name, err) }
	o.OnEnd = s.metrics.onEnd(source.Name)
	running.Go(func() { queue.Run(ctx, s.db, source, o) })
}

// cleanUp removes expired rows and history beyond its retention, at once, so that a process with a short life does it
// too, and then once per interval.
func (s *Service) cleanUp(ctx context.Context) {
	ticker := time.NewTicker(cleanUpInterval)
	defer ticker.Stop()
	for {
		if err := ledger.DeleteExpired(ctx, s.db); err != nil {
			s.config.Log.WarnContext(ctx, "cannot remove expired rows", "error", err)
		}
		// of invoices that replicas of the previous version have stored
		if made, err := invoices.SummarizeMissing(ctx, s.db); err != nil || made > 0 {
			s.config.Log.Log(ctx, levelOf(err), "invoices summarized", "invoices", made, "error", err)
		}
		if removed, err := invoices.ApplyRetention(ctx, s.db, s.config.Retention); err != nil || removed > 0 {
			s.config.Log.Log(ctx, levelOf(err), "history removed by age", "rows", removed, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// levelOf returns the level of a line about a clean-up, which is repeated after an error.
func levelOf(err error) slog.Level {
	if err != nil {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
