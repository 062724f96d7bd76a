package store_test

import (
	"fmt"
	"testing"

	"quittance/internal/store"
	"quittance/internal/store/storetest"
)

// TestSeedDrafts: seeded drafts are what calls would have made, one after another, and the next call goes on behind them.
func TestSeedDrafts(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		if _, err := f.tenant.CreateInvoice(t.Context(), draft("first")); err != nil {
			t.Fatal(err)
		}
		must(t, f.tenant.SeedDrafts(t.Context(), *draft("unused"), "S-", 2))
		must(t, f.tenant.SeedDrafts(t.Context(), *draft("unused"), "S-", 1))
		if _, err := f.tenant.CreateInvoice(t.Context(), draft("last")); err != nil {
			t.Fatal(err)
		}
		page, err := f.tenant.Invoices(t.Context(), store.InvoiceFilter{}, 1, 25)
		must(t, err)
		want := []string{"last", "S-4", "S-3", "S-2", "first"} // newest first, numbered by their place
		if page.Total != len(want) || len(page.Invoices) != len(want) {
			t.Fatalf("%d invoices of %d, want %d", len(page.Invoices), page.Total, len(want))
		}
		seen := map[store.ID]bool{}
		for n, found := range page.Invoices {
			if *found.Draft.InvoiceNumber != want[n] || found.Version != 1 || found.Submission != nil {
				t.Errorf("invoice %d is %s, version %d, want a draft %s", n, *found.Draft.InvoiceNumber, found.Version, want[n])
			}
			if found.ID[6]>>4 != 7 || found.ID[8]>>6 != 2 {
				t.Errorf("invoice %d has the identifier %s, which is no UUID of version 7", n, found.ID)
			}
			seen[found.ID] = true
			if same := draft(want[n]); *found.Draft.RecipientName != *same.RecipientName || found.Items != len(same.Items) {
				t.Errorf("invoice %d is %+v, want the draft that was given", n, found.Draft)
			}
		}
		if len(seen) != len(want) {
			t.Errorf("%d identifiers for %d drafts", len(seen), len(want))
		}
		searched, err := f.tenant.Invoices(t.Context(), store.InvoiceFilter{Search: "s-3"}, 1, 25)
		if err != nil || searched.Total != 1 || *searched.Invoices[0].Draft.InvoiceNumber != "S-3" {
			t.Errorf("searched for: %+v, %v", searched, err)
		}
		if err := f.tenant.SeedDrafts(t.Context(), *draft("unused"), `"`, 1); err == nil {
			t.Error("a prefix that breaks the JSON was taken")
		}
		f.exec(t, `update tenants set frozen_at = 1 where id = $1`, f.tenant.Key())
		wantErr(t, f.tenant.SeedDrafts(t.Context(), *draft("unused"), "S-", 1), store.ErrNotFound)
		f.exec(t, `update tenants set frozen_at = null where id = $1`, f.tenant.Key())
	})
}

// TestFootprint: history counts in what it takes up, and drafts do not.
func TestFootprint(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		measure := func() store.Footprint {
			t.Helper()
			found, err := f.Footprint(t.Context())
			must(t, err)
			return found
		}
		empty := measure()
		pid, err := f.BackendPID(t.Context())
		if must(t, err); (pid != 0) != (f.Engine() == storetest.Postgres) {
			t.Errorf("backend process %d on %s", pid, f.Engine())
		}
		// The cluster of the tests leaves out the flushing to disk: see pgtest.StartShared.
		durable, err := f.Durable(t.Context())
		if must(t, err); !durable && f.Engine() == storetest.SQLite {
			t.Error("commits are not durable")
		}
		must(t, f.tenant.SeedDrafts(t.Context(), *draft("unused"), "S-", 2000))
		drafts := measure()
		if drafts.Bytes <= empty.Bytes || drafts.HistoryBytes != empty.HistoryBytes {
			t.Errorf("after drafts %+v, before %+v", drafts, empty)
		}
		var docs []store.NewIncoming
		for n := range 200 {
			docs = append(docs, incoming(fmt.Sprint("document-", n), "A"))
		}
		must(t, f.tenant.SeedIncoming(t.Context(), docs))
		if events := measure(); events.HistoryBytes <= drafts.HistoryBytes {
			t.Errorf("after events %+v, before %+v", events, drafts)
		}
	})
}
