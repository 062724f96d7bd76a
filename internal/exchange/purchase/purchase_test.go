package purchase_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/exchange/queue"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/sandbox/fakeprovider"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// newSandbox returns the fake provider over HTTP.
func newSandbox(t *testing.T) (*fakeprovider.Server, string) {
	t.Helper()
	p, err := fakeprovider.New(fakeprovider.Options{Dir: t.TempDir(), Credential: secret.New(credential), Clock: time.Now})
	kit.Must(t, err)
	server := httptest.NewServer(p)
	t.Cleanup(func() {
		server.Close()
		kit.Must(t, p.Close())
	})
	return p, server.URL
}

func add(t *testing.T, p *fakeprovider.Server, id, document string) {
	t.Helper()
	amount := api.MustDecimal("1050.00")
	_, err := p.AddPurchase(fakeprovider.Purchase{ID: id, DocumentType: "invoice", InvoiceNumber: "N-" + id,
		SupplierName: "Söhne & Co", SupplierNetworkID: "1234567890", IssueDate: "2026-03-01", DueDate: "2026-03-31",
		Currency: "AED", TotalAmount: &amount}, []byte(document))
	kit.Must(t, err)
}

// TestSync checks that everything that the provider has is retained once, in one run. A change is a revision. The next
// run is one interval later.
func TestSync(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		p, address := newSandbox(t)
		const documents = 107 // three pages
		for n := range documents {
			add(t, p, fmt.Sprintf("p-%d", n), fmt.Sprintf("<invoice>%d</invoice>", n))
		}
		b := newBench(t, engine, address)
		if wait := b.syncRun(t); wait != interval {
			t.Errorf("the next run is %s away", wait)
		}
		got := b.retained(t)
		if len(got) != documents || b.kinds(t)[api.EventIncomingReceived] != documents {
			t.Fatalf("%d are retained with %v", len(got), b.kinds(t))
		}
		one := got["p-42"]
		if one.Revision != 1 || *one.DocumentType != "invoice" || *one.InvoiceNumber != "N-p-42" ||
			*one.SupplierName != "Söhne & Co" || *one.SupplierNetworkID != "1234567890" ||
			*one.IssueDate != "2026-03-01" || *one.DueDate != "2026-03-31" || *one.Currency != "AED" ||
			one.TotalAmount.String() != "1050.00" || one.ReceivedAt == nil ||
			one.SHA256 != hashed("<invoice>42</invoice>") || one.Evidence.MediaType != "application/xml" ||
			!one.Evidence.DocumentRetained || *one.Evidence.ClaimedSHA256 != one.SHA256 {
			t.Errorf("retained as %+v", one)
		}
		b.made()
		b.syncRun(t)
		if calls := b.made(); len(calls) != 1 {
			t.Errorf("with nothing new the calls are %v", calls)
		}
		add(t, p, "p-7", "<invoice>seven</invoice>")
		add(t, p, "p-8", "<invoice>8</invoice>") // the same bytes
		add(t, p, "new", "")
		b.syncRun(t)
		got = b.retained(t)
		if got["p-7"].Revision != 2 || got["p-7"].SHA256 != hashed("<invoice>seven</invoice>") || got["p-8"].Revision != 1 ||
			got["new"].SHA256 != hashed("") || !got["new"].Evidence.DocumentRetained {
			t.Errorf("afterwards %+v, %+v, %+v", got["p-7"], got["p-8"], got["new"])
		}
		if kinds := b.kinds(t); kinds[api.EventIncomingReceived] != documents+1 || kinds[api.EventIncomingRevised] != 1 {
			t.Errorf("events %v", kinds)
		}
	})
}

// TestWork checks that a worker syncs as soon as the connection is active, without waiting for the poll interval.
func TestWork(t *testing.T) {
	p, address := newSandbox(t)
	add(t, p, "p-1", "<a/>")
	b := newBench(t, ledgertest.SQLite, address)
	b.syncRun(t)
	ctx := t.Context()
	work, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() {
		queue.Run(work, b.DB, b.service.Work(), queue.Options{Workers: 2, SlowWorkers: 1, MaxPerCompany: 1, MaxPerQueue: 1,
			MaxPerSlowQueue: 1, SlowAfter: time.Hour, PollInterval: time.Hour, Now: b.Clock.Now,
			Log: slog.New(slog.DiscardHandler)})
	})
	kit.Until(t, "the run that is due", func() bool { return len(b.made()) > 0 })
	add(t, p, "p-2", "<b/>")
	_, err := invoices.DisableConnection(ctx, b.Store.DB, b.connection.ID)
	kit.Must(t, err)
	_, err = invoices.ActivateConnection(ctx, b.Store.DB, b.connection.ID)
	kit.Must(t, err)
	kit.Until(t, "the run after the activation", func() bool { return len(b.retained(t)) == 2 })
}

// TestNotAllowed checks that a connection that may not be used in this environment is not called.
func TestNotAllowed(t *testing.T) {
	_, address := newSandbox(t)
	b := newBench(t, ledgertest.SQLite, address)
	b.service.Environment = "production"
	if next := b.syncRun(t); next != interval || len(b.made()) != 0 {
		t.Errorf("the next run is %s away, after %v", next, b.made())
	}
	b.service.Environment = "sandbox"
	b.syncRun(t)
	if len(b.made()) != 1 {
		t.Error("an allowed connection is not called")
	}
}

// TestNoAdapter checks that a connection that cannot be used is tried again, at growing intervals.
func TestNoAdapter(t *testing.T) {
	_, address := newSandbox(t)
	b := newBench(t, ledgertest.SQLite, address)
	working := b.service.Adapter
	b.service.Adapter = func(invoices.Connection) (provider.Adapter, error) { return nil, errors.New("no key") }
	var waits []string
	for range 7 {
		waits = append(waits, b.syncRun(t).String())
	}
	if got, want := strings.Join(waits, " "), "1m0s 2m0s 4m0s 8m0s 15m0s 15m0s 15m0s"; got != want {
		t.Errorf("waits %s, want %s", got, want)
	}
	b.service.Adapter = working
	if next := b.syncRun(t); next != interval {
		t.Errorf("after a successful run the next one is in %s", next)
	}
}
