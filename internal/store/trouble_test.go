package store_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/db"
	"quittance/internal/pgtest"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/internal/store/storetest"
	"quittance/sdk/go/api"
)

// behindProxy is a company whose store reaches its database through a proxy.
func behindProxy(t *testing.T, checkpoint store.Checkpoint) (*fixture, *pgtest.Proxy) {
	t.Helper()
	keys, err := secret.Generate()
	must(t, err)
	proxy := pgtest.NewProxy(t, pgtest.URL(t))
	clock := storetest.NewClock()
	s := &storetest.Store{Address: proxy.URL(), Clock: clock,
		Options: store.Options{Keys: keys, Now: clock.Now, Log: slog.New(slog.DiscardHandler), Checkpoint: checkpoint}}
	s.DB = s.Again(t)
	f := &fixture{Store: s}
	f.company = f.newCompany(t, "owner@example.com")
	return f, proxy
}

// TestLostCommit: the database commits a fact and its answer is lost. That is told as unavailable, which says that it may
// have happened; and whoever then does the same again, in the way the contract has for it, does it once.
func TestLostCommit(t *testing.T) {
	if !pgtest.Enabled() {
		return // a file has no answers to lose
	}
	t.Parallel()
	var fact atomic.Pointer[string]
	var losing, lost atomic.Int64
	f, proxy := behindProxy(t, func(moment store.Moment, step string) {
		if want := fact.Load(); moment == store.Before && want != nil && *want == step {
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
	// lose has the answer to the next commit of a fact lost.
	lose := func(step string, do func() error) {
		t.Helper()
		before := lost.Load()
		fact.Store(&step)
		wantErr(t, do(), store.ErrUnavailable)
		if lost.Load() != before+1 {
			t.Fatalf("no commit of %q has passed", step)
		}
	}

	// A draft under a key: the repeat is given the first one's answer.
	key := func() (reply store.IdempotentResponse, replayed bool, err error) {
		return f.tenant.Idempotent(ctx, "key-1", [32]byte{1}, time.Hour, func(ctx context.Context, t *store.Tenant) (store.IdempotentResponse, error) {
			_, err := t.CreateInvoice(ctx, draft("INV-1"))
			return store.IdempotentResponse{Status: 201, Body: []byte("{}")}, err
		})
	}
	lose("idempotent call", func() error { _, _, err := key(); return err })
	if reply, replayed, err := key(); err != nil || !replayed || reply.Status != 201 {
		t.Errorf("the repeat: %+v, replayed %v, error %v", reply, replayed, err)
	}
	// Without one it is there too.
	lose("create invoice", func() error { _, err := f.tenant.CreateInvoice(ctx, draft("INV-2")); return err })
	all, err := f.tenant.Invoices(ctx, store.InvoiceFilter{}, 1, 10)
	must(t, err)
	if all.Total != 2 {
		t.Fatalf("%d drafts, want 2", all.Total)
	}

	// An intent: it is in progress, a second submit sends nothing, and the lease brings it to the workers.
	id := all.Entries[0].ID
	lose("begin submission", func() error { _, _, err := f.tenant.BeginSubmission(ctx, id, intent()); return err })
	_, _, err = f.tenant.BeginSubmission(ctx, id, intent())
	wantErr(t, err, store.ErrSubmissionInProgress)
	f.Clock.Advance(lease + time.Second)
	calls := f.claimSubmissions(t, 10)
	if len(calls) != 1 {
		t.Fatalf("%d submissions are due, want the one whose commit was lost", len(calls))
	}

	// An answer of the provider: recorded again, it adds nothing, and what it decided stands.
	subscription := f.subscribe(t, api.EventSubmissionUpdated, api.EventTerminal).ID
	answer := func(s store.Submission, leased bool, now time.Time) (store.Decision, error) {
		if !leased && s.Evidence > 0 { // as the submission package has it: the same bytes again are nothing new
			return store.Decision{Outcome: s.Outcome, ProviderReference: s.ProviderReference, Sequence: s.Sequence, States: s.States, Answered: true, LastStatus: s.LastStatus, LastSHA256: s.LastSHA256}, nil
		}
		return told(s, now, allFour("accepted", true), api.EventSubmissionUpdated, api.EventTerminal), nil
	}
	lose("record answer", func() error { _, err := calls[0].Record(ctx, answer); return err })
	after, err := calls[0].Record(ctx, answer)
	must(t, err)
	events, err := f.tenant.Events(ctx, 0, 10)
	must(t, err)
	if after.Outcome != api.OutcomeAcknowledged || after.Evidence != 1 || len(events) != 2 {
		t.Errorf("recorded twice: %s, %d events", shown(after), len(events))
	}

	// An attempt: it counts once, and its delivery is not due again.
	deliveries := f.claimDeliveries(t, subscription, 10)
	if len(deliveries) != 2 {
		t.Fatalf("%d deliveries are due", len(deliveries))
	}
	delivered := store.DeliveryUpdate{State: store.DeliveryDelivered}
	lose("record attempt", func() error { return deliveries[0].RecordAttempt(ctx, attempt(f, 200), delivered) })
	wantErr(t, deliveries[0].RecordAttempt(ctx, attempt(f, 200), delivered), store.ErrLeaseLost)
	f.Clock.Advance(time.Hour)
	if due := f.claimDeliveries(t, subscription, 10); len(due) != 1 || due[0].ID != deliveries[1].ID {
		t.Errorf("due again: %+v", due)
	}
}

// TestStalledDatabase: a database that neither answers nor hangs up is unavailable within a bound, to those who would wait
// for ever too, and is available again when it goes on, without being opened anew.
func TestStalledDatabase(t *testing.T) {
	if !pgtest.Enabled() {
		return // there is no network to a file
	}
	t.Parallel()
	f, proxy := behindProxy(t, nil)
	f.create(t, "INV-1")
	proxy.Stall()
	started := time.Now()
	var acknowledged atomic.Int64
	race(60, func(n int) { // more than there are connections
		var err error
		switch n % 3 {
		case 0:
			_, err = f.tenant.CreateInvoice(context.Background(), draft("INV-2"))
			if err == nil {
				acknowledged.Add(1)
			}
		case 1:
			_, err = f.tenant.Invoices(context.Background(), store.InvoiceFilter{}, 1, 10)
		case 2:
			_, err = f.DueSubmissionQueues(context.Background(), store.ScanCursor{})
		}
		if err == nil {
			t.Error("it has answered")
		}
		wantUnavailable(t, err)
	})
	if took := time.Since(started); took > 5*db.QueryTimeout {
		t.Errorf("it took %v to find out", took)
	}
	wantUnavailable(t, f.Ping(short(t)))
	proxy.Resume()
	proxy.Cut()
	must(t, f.Ping(t.Context()))
	f.create(t, "INV-3")
	all, err := f.tenant.Invoices(t.Context(), store.InvoiceFilter{}, 1, 100)
	must(t, err)
	if all.Total < 2+int(acknowledged.Load()) {
		t.Errorf("%d invoices are there", all.Total)
	}
}

// wantUnavailable is wantErr for goroutines.
func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	if err != nil && !strings.Contains(err.Error(), store.ErrUnavailable.Error()) {
		t.Errorf("error %v, want %v", err, store.ErrUnavailable)
	}
}

// TestPingWrites: a database that reads well and cannot be written to is not ready, and is again once it can. Nothing is
// written to find out as long as all is well.
func TestPingWrites(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		must(t, f.Ping(ctx))
		const probes = `select count(*) from settings where key = 'written_at'`
		if n := f.number(t, probes); n != 0 {
			t.Errorf("a look at a database that is well has written to it")
		}
		var readOnly atomic.Bool
		options := store.WithBrokenWrites(f.Options, func() error {
			if readOnly.Load() {
				return store.ErrUnavailable
			}
			return nil
		})
		broken, err := store.Open(ctx, f.Address, options)
		must(t, err)
		defer func() { must(t, broken.Close()) }()
		readOnly.Store(true)
		must(t, broken.Ping(ctx)) // nobody has tried yet
		tenant, err := broken.Tenant(ctx, f.account.ID)
		must(t, err)
		_, err = tenant.CreateInvoice(ctx, draft("INV-1"))
		wantErr(t, err, store.ErrUnavailable)
		wantErr(t, broken.Ping(ctx), store.ErrUnavailable)
		readOnly.Store(false)
		must(t, broken.Ping(ctx))
		if n := f.number(t, probes); n != 1 {
			t.Errorf("%d rows tell of the attempt, want 1", n)
		}
	})
}
