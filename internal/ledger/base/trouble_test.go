package base_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
	"quittance/test/pgtest"
)

// behindProxy is a company whose store reaches its database through a proxy.
func behindProxy(t *testing.T, checkpoint base.Checkpoint) (*fixture.Fixture, *pgtest.Proxy) {
	t.Helper()
	keys, err := secret.Generate()
	kit.Must(t, err)
	proxy := pgtest.NewProxy(t, pgtest.URL(t))
	clock := ledgertest.NewClock()
	s := &ledgertest.Store{Address: proxy.URL(), Clock: clock,
		Options: base.Options{Keys: keys, Now: clock.Now, Log: slog.New(slog.DiscardHandler), Checkpoint: checkpoint}}
	s.DB = s.Again(t)
	f := &fixture.Fixture{Store: s}
	f.Company = f.NewCompany(t, "owner@example.com")
	return f, proxy
}

// TestLostCommit checks that a commit whose response is lost returns ErrUnavailable, which means that it may have
// happened, and that repeating the operation as docs/errors.md describes does it once.
func TestLostCommit(t *testing.T) {
	if !pgtest.Enabled() {
		return // a file has no responses to lose
	}
	t.Parallel()
	var fact atomic.Pointer[string]
	var losing, lost atomic.Int64
	f, proxy := behindProxy(t, func(moment base.Moment, step string) {
		if want := fact.Load(); moment == base.Before && want != nil && *want == step {
			losing.Store(1)
		}
	})
	proxy.LoseCommits(func() bool {
		if losing.CompareAndSwap(1, 0) {
			fact.Store(nil)
			lost.Add(1)
			return true
		}
		return false
	})
	ctx := t.Context()
	// lose discards the response to the next commit of an operation.
	lose := func(step string, do func() error) {
		t.Helper()
		before := lost.Load()
		fact.Store(&step)
		fixture.WantErr(t, do(), base.ErrUnavailable)
		if lost.Load() != before+1 {
			t.Fatalf("no commit of %q has passed", step)
		}
	}

	// A draft with an idempotency key: the repetition gets the stored response.
	key := func() (reply invoices.IdempotentResponse, replayed bool, err error) {
		return invoices.Idempotent(ctx, f.Tenant, "key-1", [32]byte{1}, time.Hour,
			func(ctx context.Context, t *base.Tenant) (invoices.IdempotentResponse, error) {
				_, err := invoices.Create(ctx, t, fixture.Draft("INV-1"))
				return invoices.IdempotentResponse{Status: 201, Body: []byte("{}")}, err
			})
	}
	lose("idempotent call", func() error { _, _, err := key(); return err })
	if reply, replayed, err := key(); err != nil || !replayed || reply.Status != 201 {
		t.Errorf("the repeat: %+v, replayed %v, error %v", reply, replayed, err)
	}
	// A draft without a key exists too.
	lose("create invoice", func() error { _, err := invoices.Create(ctx, f.Tenant, fixture.Draft("INV-2")); return err })
	all, err := view.Of(f.Tenant).Invoices(ctx, view.InvoiceFilter{}, 1, 10)
	kit.Must(t, err)
	if all.Total != 2 {
		t.Fatalf("%d drafts, want 2", all.Total)
	}

	// An intent: the submission is in progress, a second submit sends nothing, and the workers claim it when its lease
	// expires.
	id := all.Entries[0].ID
	lose("begin submission", func() error {
		_, _, err := invoices.BeginSubmission(ctx, f.Tenant, id, fixture.Intent())
		return err
	})
	_, _, err = invoices.BeginSubmission(ctx, f.Tenant, id, fixture.Intent())
	fixture.WantErr(t, err, invoices.ErrSubmissionInProgress)
	f.Clock.Advance(fixture.LeaseDuration + time.Second)
	calls := f.ClaimSubmissions(t, 10)
	if len(calls) != 1 {
		t.Fatalf("%d submissions are due, want the one whose commit was lost", len(calls))
	}

	// A response of the provider: recording it again adds nothing and changes no state.
	subscription := f.Subscribe(t, api.EventSubmissionUpdated, api.EventTerminal).ID
	response := func(s invoices.Submission, held bool, now time.Time) (invoices.Decision, error) {
		if !held && s.Evidence > 0 { // like the submission package: a repeated response is not stored
			return invoices.Decision{Outcome: s.Outcome, ProviderReference: s.ProviderReference, Sequence: s.Sequence,
				States: s.States, Responded: true, LastStatus: s.LastStatus, LastSHA256: s.LastSHA256}, nil
		}
		return fixture.Reported(s, now, fixture.AllFour("accepted", true), api.EventSubmissionUpdated, api.EventTerminal), nil
	}
	lose("record answer", func() error { _, err := calls[0].Record(ctx, response); return err })
	after, err := calls[0].Record(ctx, response)
	kit.Must(t, err)
	told, err := ledgertest.Events(ctx, f.Tenant, 0, 10)
	kit.Must(t, err)
	if after.Outcome != api.OutcomeAcknowledged || after.Evidence != 1 || len(told) != 2 {
		t.Errorf("recorded twice: %s, %d events", fixture.Shown(after), len(told))
	}

	// An attempt: it counts once, and its delivery is not due again.
	deliveries := f.ClaimDeliveries(t, subscription, 10)
	if len(deliveries) != 2 {
		t.Fatalf("%d deliveries are due", len(deliveries))
	}
	delivered := events.DeliveryUpdate{State: events.DeliveryDelivered}
	lose("record attempt", func() error { return deliveries[0].RecordAttempt(ctx, fixture.Attempt(f, 200), delivered) })
	fixture.WantErr(t, deliveries[0].RecordAttempt(ctx, fixture.Attempt(f, 200), delivered), base.ErrLeaseLost)
	f.Clock.Advance(time.Hour)
	if due := f.ClaimDeliveries(t, subscription, 10); len(due) != 1 || due[0].ID != deliveries[1].ID {
		t.Errorf("due again: %+v", due)
	}
}

// TestStalledDatabase checks that a database that neither responds nor disconnects returns ErrUnavailable within a time
// limit, even without a deadline, and that it works again when it continues, without being reopened.
func TestStalledDatabase(t *testing.T) {
	if !pgtest.Enabled() {
		return // a file needs no network
	}
	t.Parallel()
	f, proxy := behindProxy(t, nil)
	f.Create(t, "INV-1")
	proxy.Stall()
	started := time.Now()
	var acknowledged atomic.Int64
	fixture.Race(60, func(n int) { // more than there are connections
		var err error
		switch n % 3 {
		case 0:
			_, err = invoices.Create(context.Background(), f.Tenant, fixture.Draft("INV-2"))
			if err == nil {
				acknowledged.Add(1)
			}
		case 1:
			_, err = view.Of(f.Tenant).Invoices(context.Background(), view.InvoiceFilter{}, 1, 10)
		case 2:
			_, err = invoices.DueSubmissionQueues(context.Background(), f.DB, base.ScanCursor{})
		}
		if err == nil {
			t.Error("it has responded")
		}
		wantUnavailable(t, err)
	})
	if took := time.Since(started); took > kit.Patience() {
		t.Errorf("it took %v", took)
	}
	wantUnavailable(t, f.Ping(t.Context()))
	proxy.Resume()
	proxy.Cut()
	kit.Must(t, f.Ping(t.Context()))
	f.Create(t, "INV-3")
	all, err := view.Of(f.Tenant).Invoices(t.Context(), view.InvoiceFilter{}, 1, 100)
	kit.Must(t, err)
	if all.Total < 2+int(acknowledged.Load()) {
		t.Errorf("%d invoices exist", all.Total)
	}
}

// wantUnavailable is wantErr for goroutines.
func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	if err != nil && !strings.Contains(err.Error(), base.ErrUnavailable.Error()) {
		t.Errorf("error %v, want %v", err, base.ErrUnavailable)
	}
}

// TestPingWrites checks that a database that can be read but not written is not ready until it can be written again,
// and that the check writes nothing while writes succeed.
func TestPingWrites(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		kit.Must(t, f.Ping(ctx))
		const probes = `select count(*) from settings where key = 'written_at'`
		if n := f.Number(t, probes); n != 0 {
			t.Errorf("the check of a working database has written to it")
		}
		var readOnly atomic.Bool
		options := f.Options
		options.BeforeBegin = func() error {
			if readOnly.Load() {
				return base.ErrUnavailable
			}
			return nil
		}
		broken, err := ledger.Open(ctx, f.Address, options)
		kit.Must(t, err)
		defer func() { kit.Must(t, broken.Close()) }()
		readOnly.Store(true)
		kit.Must(t, broken.Ping(ctx)) // no write has failed yet
		tenant, err := broken.Tenant(ctx, f.Account.ID)
		kit.Must(t, err)
		_, err = invoices.Create(ctx, tenant, fixture.Draft("INV-1"))
		fixture.WantErr(t, err, base.ErrUnavailable)
		fixture.WantErr(t, broken.Ping(ctx), base.ErrUnavailable)
		readOnly.Store(false)
		kit.Must(t, broken.Ping(ctx))
		if n := f.Number(t, probes); n != 1 {
			t.Errorf("%d rows from the check, want 1", n)
		}
	})
}
