package queue_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/exchange/queue"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/kit/leaks"
	"quittance/test/ledgertest"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m.Run)) }

// never is longer than any test.
const never = time.Hour

// fixture is a store with one company. Each of its subscriptions is a queue of deliveries.
type fixture struct {
	*ledgertest.Store
	tenant  *base.Tenant
	numbers int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newCompany(t, ledgertest.Open(t, ledgertest.SQLite), "a@example.com")
}

// newCompany adds another company to a store.
func newCompany(t *testing.T, s *ledgertest.Store, email string) *fixture {
	t.Helper()
	f := &fixture{Store: s}
	account, err := identity.CreateAccount(t.Context(), f.Store.DB, "Palm", identity.NewUser{Email: email})
	kit.Must(t, err)
	f.tenant, err = f.Tenant(t.Context(), account.ID)
	kit.Must(t, err)
	added, err := invoices.AddConnection(t.Context(), f.Store.DB, account.ID, invoices.NewConnection{Kind: "http",
		Environment: "sandbox", BaseURL: "https://p.example.com", Credential: secret.New("credential")})
	kit.Must(t, err)
	_, err = invoices.ActivateConnection(t.Context(), f.Store.DB, added.ID)
	kit.Must(t, err)
	return f
}

func (f *fixture) subscribe(t *testing.T) base.ID {
	t.Helper()
	s, err := events.CreateSubscription(t.Context(), f.tenant, events.NewSubscription{URL: "https://hooks.example.com",
		Events: api.EventKinds[:], Secret: secret.New("whsec_x")})
	kit.Must(t, err)
	return s.ID
}

// addDeliveries makes n deliveries due for every subscription.
func (f *fixture) addDeliveries(t *testing.T, n int) {
	t.Helper()
	for range n {
		f.numbers++
		created, err := invoices.Create(t.Context(), f.tenant, &api.Draft{InvoiceNumber: new(fmt.Sprintf("INV-%d",
			f.numbers))})
		kit.Must(t, err)
		call, _, err := invoices.BeginSubmission(t.Context(), f.tenant, created.ID,
			invoices.Intent{Environment: "sandbox", LeaseDuration: never,
				Render: func(invoices.Source) ([]byte, api.Faults, error) { return []byte("{}"), nil, nil }})
		kit.Must(t, err)
		_, err = call.Record(t.Context(), func(invoices.Submission, bool, time.Time) (invoices.Decision, error) {
			return invoices.Decision{Evidence: &invoices.NewEvidence{Call: "status", HTTPStatus: 200,
				MediaType: "application/json", Body: []byte("{}")},
				Outcome: api.OutcomeUnknown, Events: []api.EventKind{api.EventSubmissionUpdated}}, nil
		})
		kit.Must(t, err)
	}
}

// source delivers due deliveries and is notified of commits of kind. scanned is called after each scan step.
func (f *fixture) source(kind base.Work, scanned func(),
	do func(events.DeliveryLease) queue.Result) queue.Source[events.DeliveryLease] {
	return queue.Source[events.DeliveryLease]{
		Name: "test", Kind: kind,
		Scan: func(ctx context.Context, from base.ScanCursor) (base.DueScan, error) {
			defer scanned()
			return events.DueDeliveryQueues(ctx, f.Store.DB, from)
		},
		Claim: func(ctx context.Context, q base.Queue, limit int) ([]events.DeliveryLease, error) {
			return events.ClaimDeliveries(ctx, q, limit, never)
		},
		Do: func(_ context.Context, d events.DeliveryLease) queue.Result { return do(d) },
	}
}

// responded is the result of a task whose other side responded at once.
var responded = queue.Result{Responded: true}

func (f *fixture) options(poll time.Duration) queue.Options {
	return queue.Options{Workers: 8, SlowWorkers: 4, MaxPerCompany: 4, MaxPerQueue: 4, MaxPerSlowQueue: 2,
		SlowAfter: time.Second, PollInterval: poll, Now: f.Clock.Now, Log: f.Options.Log}
}

// start runs a source; stop ends it and waits for that.
func start(t *testing.T, f *fixture, source queue.Source[events.DeliveryLease], options queue.Options) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		queue.Run(ctx, f.DB, source, options)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		kit.Receive(t, ended, "the end of the run")
	})
	t.Cleanup(stop)
	return stop
}

// TestStopWaits checks that after its context ends, Run claims nothing more and returns when the running tasks have
// ended.
func TestStopWaits(t *testing.T) {
	f := newFixture(t)
	f.subscribe(t)
	f.subscribe(t)
	f.addDeliveries(t, 5)
	begun, release, done := make(chan struct{}, 10), make(chan struct{}), make(chan struct{}, 10)
	var finished, atEnd atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { atEnd.Store(finished.Load()) }()
		source := f.source(base.WorkDeliveries, func() {}, nil)
		source.Do = func(ctx context.Context, _ events.DeliveryLease) queue.Result {
			begun <- struct{}{}
			<-release
			if ctx.Err() != nil {
				t.Error("the end of the run cancelled a running task")
			}
			finished.Add(1)
			done <- struct{}{}
			return responded
		}
		options := f.options(never)
		options.Workers, options.SlowWorkers = 200, 100
		queue.Run(ctx, f.DB, source, options)
	}()
	kit.Receive(t, begun, "the first task")
	kit.Receive(t, begun, "the second task")
	cancel()
	for range 2 { // a Run that does not wait has returned by the time of the first one
		release <- struct{}{}
		kit.Receive(t, done, "the end of a task")
	}
	close(release)
	kit.Receive(t, ended, "the end of the run")
	if atEnd.Load() != 2 || len(begun) != 0 {
		t.Errorf("%d tasks had ended when Run returned, and %d more have begun, want 2 and none", atEnd.Load(), len(begun))
	}
}

// panicking is the function that the logged stack has to name.
func panicking() { panic("a bad task") }

// lockedBuffer is a log that several goroutines write to.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestPanic checks that a task that panics affects no other task, and the log has its stack.
func TestPanic(t *testing.T) {
	f := newFixture(t)
	f.subscribe(t)
	f.addDeliveries(t, 9)
	done := make(chan struct{}, 9)
	var tasks atomic.Int32
	var log lockedBuffer
	options := f.options(never)
	options.Log = slog.New(slog.NewTextHandler(&log, nil))
	stop := start(t, f, f.source(base.WorkDeliveries, func() {}, func(events.DeliveryLease) queue.Result {
		if tasks.Add(1)%3 == 1 {
			panicking()
		}
		done <- struct{}{}
		return responded
	}), options)
	for range 6 {
		kit.Receive(t, done, "the tasks that do not panic")
	}
	stop()
	if text := log.String(); strings.Count(text, "panic in work") != 3 || strings.Count(text, "queue_test.panicking") < 3 {
		t.Errorf("the log is %s", text)
	}
}

// TestNotification checks that a commit that causes work starts that work at once, however long the poll interval is.
func TestNotification(t *testing.T) {
	f := newFixture(t)
	f.subscribe(t)
	scanned, done := make(chan struct{}, 100), make(chan struct{}, 1)
	start(t, f, f.source(base.WorkDeliveries, func() { scanned <- struct{}{} }, func(events.DeliveryLease) queue.Result {
		done <- struct{}{}
		return responded
	}), f.options(never))
	kit.Receive(t, scanned, "the first scan")
	f.addDeliveries(t, 1)
	kit.Receive(t, done, "work after the notification")
}

// TestLostNotification checks that polling finds work whose notification was lost.
func TestLostNotification(t *testing.T) {
	f := newFixture(t)
	f.subscribe(t)
	scanned, done := make(chan struct{}, 10_000), make(chan struct{}, 1)
	// No commit causes work of this other kind, as if every notification were lost.
	start(t, f, f.source(base.WorkPurchases, func() { scanned <- struct{}{} }, func(events.DeliveryLease) queue.Result {
		done <- struct{}{}
		return responded
	}), f.options(10*time.Millisecond))
	kit.Receive(t, scanned, "the first scan")
	f.addDeliveries(t, 1)
	kit.Receive(t, done, "work without a notification")
}

// TestDueLater checks that a scan begins when the next work becomes due, before the poll interval has passed.
func TestDueLater(t *testing.T) {
	f := newFixture(t)
	subscription := f.subscribe(t)
	f.addDeliveries(t, 1)
	scan, err := events.DueDeliveryQueues(t.Context(), f.Store.DB, base.ScanCursor{})
	kit.Must(t, err)
	claimed, err := events.ClaimDeliveries(t.Context(), scan.Queues[0], 1, never)
	kit.Must(t, err)
	kit.Must(t, claimed[0].RecordAttempt(t.Context(), events.Attempt{StartedAt: f.Clock.Now(), HTTPStatus: 503},
		events.DeliveryUpdate{State: events.DeliveryPending, DueAt: f.Clock.Now().Add(50 * time.Millisecond)}))
	scans, done := atomic.Int32{}, make(chan base.ID, 1)
	start(t, f, f.source(base.WorkPurchases, func() {
		if scans.Add(1) == 1 {
			f.Clock.Advance(50 * time.Millisecond) // after the first scan, the work is due
		}
	}, func(d events.DeliveryLease) queue.Result {
		done <- d.Subscription
		return responded
	}), f.options(never))
	if got := kit.Receive(t, done, "work that was due later"); got != subscription {
		t.Errorf("queue %s was served", got)
	}
}

// TestDatabaseErrors checks that a scan or a claim that fails is repeated and does not affect other queues. Tasks that
// a claim returns together with an error are not run: the claim was not committed.
func TestDatabaseErrors(t *testing.T) {
	f := newFixture(t)
	bad, good := f.subscribe(t), f.subscribe(t)
	f.addDeliveries(t, 1)
	done := make(chan base.ID, 2)
	phantom := base.ID{9}
	source := f.source(base.WorkPurchases, func() {}, func(d events.DeliveryLease) queue.Result {
		if d.ID == phantom {
			t.Error("a task ran although its claim failed")
			return responded
		}
		done <- d.Subscription
		return responded
	})
	scan, claim := source.Scan, source.Claim
	var scans, claims atomic.Int32
	source.Scan = func(ctx context.Context, from base.ScanCursor) (base.DueScan, error) {
		if scans.Add(1) == 1 {
			return base.DueScan{}, base.ErrUnavailable
		}
		return scan(ctx, from)
	}
	source.Claim = func(ctx context.Context, q base.Queue, limit int) ([]events.DeliveryLease, error) {
		if q.Key() == bad && claims.Add(1) < 3 {
			return []events.DeliveryLease{{ID: phantom}}, base.ErrUnavailable
		}
		return claim(ctx, q, limit)
	}
	var log bytes.Buffer // Run alone writes to it, and ends before the test reads it
	var failed, answered int
	options := f.options(10 * time.Millisecond)
	options.Log = slog.New(slog.NewTextHandler(&log, nil))
	options.OnAnswer = func(_ context.Context, err error) bool {
		if err == nil {
			answered++
			return false
		}
		failed++
		return failed > 1 // the first error is logged by Run
	}
	t.Cleanup(func() {
		if failed != 3 || answered < 3 || strings.Count(log.String(), "\n") != 1 ||
			!strings.Contains(log.String(), `msg="cannot scan for due work"`) {
			t.Errorf("%d failures and %d answers; the log has\n%s", failed, answered, &log)
		}
	})
	start(t, f, source, options)
	served := map[base.ID]bool{kit.Receive(t, done, "the first queue"): true,
		kit.Receive(t, done, "the second queue"): true}
	if !served[good] || !served[bad] {
		t.Errorf("queues %v were served, want both", served)
	}
}
