package queue_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"quittance/api"
	"quittance/internal/queue"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits that only a fault lets run out; never is longer than any test.
const (
	patience = time.Minute
	never    = time.Hour
)

// fixture is a store with one company whose events are due to its subscriptions: a lane each.
type fixture struct {
	*storetest.Store
	tenant  *store.Tenant
	numbers int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newCompany(t, storetest.Open(t, storetest.SQLite), "a@example.com")
}

// newCompany is another company of a store.
func newCompany(t *testing.T, s *storetest.Store, email string) *fixture {
	t.Helper()
	f := &fixture{Store: s}
	account, err := f.CreateAccount(t.Context(), "Palm", store.NewUser{Email: email})
	must(t, err)
	f.tenant, err = f.Tenant(t.Context(), account.ID)
	must(t, err)
	added, err := f.AddConnection(t.Context(), account.ID, store.NewConnection{Kind: "http", Environment: "sandbox", BaseURL: "https://p.example.com", Credential: secret.New("credential")})
	must(t, err)
	_, err = f.ActivateConnection(t.Context(), added.ID)
	must(t, err)
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) subscribe(t *testing.T) store.ID {
	t.Helper()
	s, err := f.tenant.CreateSubscription(t.Context(), store.NewSubscription{URL: "https://hooks.example.com", Events: api.EventKinds[:], Secret: secret.New("whsec_x")})
	must(t, err)
	return s.ID
}

// tell makes n deliveries due to every subscription.
func (f *fixture) tell(t *testing.T, n int) {
	t.Helper()
	for range n {
		f.numbers++
		created, err := f.tenant.CreateInvoice(t.Context(), &api.Draft{InvoiceNumber: new(fmt.Sprintf("INV-%d", f.numbers))})
		must(t, err)
		call, _, err := f.tenant.BeginSubmission(t.Context(), created.ID, store.Intent{Environment: "sandbox", Lease: never,
			Render: func(*api.Draft, *api.Profile, string) ([]byte, []string, error) { return []byte("{}"), nil, nil }})
		must(t, err)
		_, err = call.Record(t.Context(), func(store.Submission, bool, time.Time) (store.Decision, error) {
			return store.Decision{Evidence: &store.NewEvidence{Call: "status", HTTPStatus: 200, MediaType: "application/json", Body: []byte("{}")},
				Outcome: api.OutcomeUnknown, Events: []api.EventKind{api.EventSubmissionUpdated}}, nil
		})
		must(t, err)
	}
}

// source is the delivery of what is due, woken by commits of kind. looked is told of every look.
func (f *fixture) source(kind store.Work, looked func(), do func(store.Delivery) queue.Result) queue.Source[store.Delivery] {
	return queue.Source[store.Delivery]{
		Name: "test", Kind: kind,
		Scan: func(ctx context.Context, from store.ScanCursor) (store.DueScan, error) {
			defer looked()
			return f.DueDeliveryQueues(ctx, from)
		},
		Claim: func(ctx context.Context, lane store.Queue, limit int) ([]store.Delivery, error) {
			return lane.ClaimDeliveries(ctx, limit, never)
		},
		Do: func(_ context.Context, d store.Delivery) queue.Result { return do(d) },
	}
}

// answered is what came of a piece that the other side answered at once.
var answered = queue.Result{Responded: true}

func (f *fixture) options(look time.Duration) queue.Options {
	return queue.Options{Workers: 8, SlowWorkers: 4, MaxPerCompany: 4, MaxPerQueue: 4, MaxPerSlowQueue: 2, SlowAfter: time.Second, PollInterval: look, Now: f.Clock.Now, Log: f.Options.Log}
}

// start runs a source; stop ends it and waits for that.
func start(t *testing.T, f *fixture, source queue.Source[store.Delivery], options queue.Options) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		queue.Run(ctx, f.DB, source, options)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		await(t, ended, "the end of the run")
	})
	t.Cleanup(stop)
	return stop
}

func await[T any](t *testing.T, signal <-chan T, what string) (value T) {
	t.Helper()
	select {
	case value = <-signal:
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
	}
	return value
}

// TestStopWaits: a run that is told to stop claims nothing more and ends when what is under way has ended.
func TestStopWaits(t *testing.T) {
	f := newFixture(t)
	f.subscribe(t)
	f.subscribe(t)
	f.tell(t, 5)
	begun, release := make(chan struct{}, 10), make(chan struct{})
	var finished atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		source := f.source(store.WorkDeliveries, func() {}, nil)
		source.Do = func(ctx context.Context, _ store.Delivery) queue.Result {
			begun <- struct{}{}
			<-release
			if ctx.Err() != nil {
				t.Error("the end of the run has cut off a piece under way")
			}
			finished.Add(1)
			return answered
		}
		options := f.options(never)
		options.Workers, options.SlowWorkers = 200, 100
		queue.Run(ctx, f.DB, source, options)
	}()
	await(t, begun, "the first piece")
	await(t, begun, "the second piece")
	cancel()
	select {
	case <-ended:
		t.Fatal("the run ended before its work")
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	await(t, ended, "the end of the run")
	if finished.Load() != 2 || len(begun) != 0 {
		t.Errorf("%d pieces have ended and %d more were begun, want 2 and none", finished.Load(), len(begun))
	}
}

// breaksDown is what the stack of a panic has to name.
func breaksDown() { panic("a bad piece") }

// lockedBuffer is a log that several goroutines write.
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

// TestPanic: a piece that panics costs itself: its worker goes on with the rest, and the log says where it was.
func TestPanic(t *testing.T) {
	f := newFixture(t)
	f.subscribe(t)
	f.tell(t, 9)
	done := make(chan struct{}, 9)
	var pieces atomic.Int32
	var log lockedBuffer
	options := f.options(never)
	options.Log = slog.New(slog.NewTextHandler(&log, nil))
	stop := start(t, f, f.source(store.WorkDeliveries, func() {}, func(store.Delivery) queue.Result {
		if pieces.Add(1)%3 == 1 {
			breaksDown()
		}
		done <- struct{}{}
		return answered
	}), options)
	for range 6 {
		await(t, done, "the pieces that do not panic")
	}
	stop()
	if text := log.String(); strings.Count(text, "panic in work") != 3 || strings.Count(text, "job_test.breaksDown") < 3 {
		t.Errorf("the log is %s", text)
	}
}

// TestWake: a commit starts its work at once, however seldom the run looks by itself.
func TestWake(t *testing.T) {
	f := newFixture(t)
	f.subscribe(t)
	looked, done := make(chan struct{}, 100), make(chan struct{}, 1)
	start(t, f, f.source(store.WorkDeliveries, func() { looked <- struct{}{} }, func(store.Delivery) queue.Result {
		done <- struct{}{}
		return answered
	}), f.options(never))
	await(t, looked, "the first look")
	f.tell(t, 1)
	await(t, done, "work whose commit woke the run")
}

// TestLostWake: work whose wake is lost is found by looking from time to time.
func TestLostWake(t *testing.T) {
	f := newFixture(t)
	f.subscribe(t)
	looked, done := make(chan struct{}, 10_000), make(chan struct{}, 1)
	// Commits of another kind never come, as if every wake were lost.
	start(t, f, f.source(store.WorkPurchases, func() { looked <- struct{}{} }, func(store.Delivery) queue.Result {
		done <- struct{}{}
		return answered
	}), f.options(10*time.Millisecond))
	await(t, looked, "the first look")
	f.tell(t, 1)
	await(t, done, "work without a wake")
}

// TestDueLater: the run looks again when the next work becomes due, before its own time to look.
func TestDueLater(t *testing.T) {
	f := newFixture(t)
	subscription := f.subscribe(t)
	f.tell(t, 1)
	scan, err := f.DueDeliveryQueues(t.Context(), store.ScanCursor{})
	must(t, err)
	claimed, err := scan.Queues[0].ClaimDeliveries(t.Context(), 1, never)
	must(t, err)
	must(t, claimed[0].RecordAttempt(t.Context(), store.Attempt{StartedAt: f.Clock.Now(), HTTPStatus: 503},
		store.DeliveryUpdate{State: store.DeliveryPending, DueAt: f.Clock.Now().Add(50 * time.Millisecond)}))
	looks, done := atomic.Int32{}, make(chan store.ID, 1)
	start(t, f, f.source(store.WorkPurchases, func() {
		if looks.Add(1) == 1 {
			f.Clock.Advance(50 * time.Millisecond) // after the first look, the work is due
		}
	}, func(d store.Delivery) queue.Result {
		done <- d.Subscription
		return answered
	}), f.options(never))
	if lane := await(t, done, "work that was due later"); lane != subscription {
		t.Errorf("lane %s was done", lane)
	}
}

// TestTrouble: a look or a claim that fails is tried again, and costs nobody else anything. What a claim returns beside its
// error is not done: it may have been undone with the claim, and may never have been.
func TestTrouble(t *testing.T) {
	f := newFixture(t)
	bad, good := f.subscribe(t), f.subscribe(t)
	f.tell(t, 1)
	done := make(chan store.ID, 2)
	phantom := store.ID{9}
	source := f.source(store.WorkPurchases, func() {}, func(d store.Delivery) queue.Result {
		if d.ID == phantom {
			t.Error("a piece of work was done that nobody holds")
			return answered
		}
		done <- d.Subscription
		return answered
	})
	lanes, claim := source.Scan, source.Claim
	var looks, claims atomic.Int32
	source.Scan = func(ctx context.Context, from store.ScanCursor) (store.DueScan, error) {
		if looks.Add(1) == 1 {
			return store.DueScan{}, store.ErrUnavailable
		}
		return lanes(ctx, from)
	}
	source.Claim = func(ctx context.Context, lane store.Queue, limit int) ([]store.Delivery, error) {
		if lane.Key() == bad && claims.Add(1) < 3 {
			return []store.Delivery{{ID: phantom}}, store.ErrUnavailable
		}
		return claim(ctx, lane, limit)
	}
	start(t, f, source, f.options(10*time.Millisecond))
	served := map[store.ID]bool{await(t, done, "the first lane"): true, await(t, done, "the second lane"): true}
	if !served[good] || !served[bad] {
		t.Errorf("lanes %v were served, want both", served)
	}
}
