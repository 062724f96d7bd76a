package store_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/pgtest"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/internal/store/storetest"
	"quittance/internal/view"
)

// TestServe checks that only one process can serve a SQLite database, that others can open it meanwhile, and that several processes can
// serve a PostgreSQL database.
func TestServe(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		release, err := f.LockForServing()
		must(t, err)
		beside := f.Again(t)
		other, err := beside.LockForServing()
		if f.SingleServer() {
			wantErr(t, err, store.ErrAlreadyServed)
		} else {
			must(t, err)
			must(t, other())
		}
		must(t, beside.SetProfile(t.Context(), f.account.ID, api.Profile{City: new("Dubai")}))
		account, err := f.Account(t.Context(), f.account.ID)
		must(t, err)
		if account.Profile.City == nil {
			t.Error("a change by another process is not visible")
		}
		f.create(t, "INV-1")
		must(t, release())
		other, err = beside.LockForServing()
		must(t, err)
		must(t, other())
	})
}

// TestCancelledWrite checks that a caller that disconnects before its write begins changes nothing, and that otherwise the whole
// operation is committed.
func TestCancelledWrite(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		call := f.submit(t, "INV-1")
		_, err := call.Record(ctx, func(s store.Submission, _ bool, now time.Time) (store.Decision, error) {
			cancel()
			return reported(s, now, allFour("accepted", true), api.EventTerminal), nil
		})
		must(t, err)
		kept, err := f.tenant.Submission(t.Context(), call.Submission.ID)
		must(t, err)
		if kept.Evidence != 1 || !kept.States.AllTerminal() {
			t.Errorf("half of the operation was committed: %s", shown(kept))
		}

		// Callers that disconnect at any moment: each has created its invoice, or has not.
		var created atomic.Int64
		race(40, func(n int) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for range n * 1000 { // later and later
					_ = ctx.Err()
				}
				cancel()
			}()
			switch _, err := f.tenant.CreateInvoice(ctx, draft("INV-2")); {
			case err == nil:
				created.Add(1)
			case !errors.Is(err, context.Canceled):
				t.Errorf("error %v", err)
			}
		})
		all, err := view.Of(f.tenant).Invoices(t.Context(), view.InvoiceFilter{}, 1, 100)
		must(t, err)
		if want := int(created.Load()) + 1; all.Total != want || len(all.Entries) != want {
			t.Errorf("%d invoices of %d, want %d", len(all.Entries), all.Total, want)
		}
	})
}

// TestNotADatabase checks that a file that is not a database is unavailable.
func TestNotADatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quittance.db")
	must(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600))
	db, err := store.OpenUnmigrated(t.Context(), "sqlite:"+path, store.Options{})
	must(t, err)
	defer func() { must(t, db.Close()) }()
	wantErr(t, db.Ping(t.Context()), store.ErrUnavailable)
	if _, err := store.Open(t.Context(), "sqlite:"+path, store.Options{}); err == nil {
		t.Error("it was migrated")
	}
}

// TestServerRestart checks that the store is unavailable while the PostgreSQL server is down, and works again afterwards with everything
// that was committed, without being reopened.
func TestServerRestart(t *testing.T) {
	if !pgtest.Enabled() {
		return // there is no such server
	}
	ctx := t.Context()
	cluster, err := pgtest.Start("")
	must(t, err)
	t.Cleanup(func() { must(t, cluster.Stop()) })
	address, _, err := cluster.NewDatabase(ctx)
	must(t, err)
	keys, err := secret.Generate()
	must(t, err)
	db, err := store.Open(ctx, address, store.Options{Keys: keys, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	account, err := db.CreateAccount(ctx, "Palm", store.NewUser{Email: "a@example.com"})
	must(t, err)
	must(t, cluster.Kill())
	wantErr(t, db.SetProfile(ctx, account.ID, api.Profile{}), store.ErrUnavailable)
	wantErr(t, db.Ping(ctx), store.ErrUnavailable)
	must(t, cluster.Restart())
	must(t, db.SetProfile(ctx, account.ID, api.Profile{City: new("Dubai")}))
	kept, err := db.Account(ctx, account.ID)
	must(t, err)
	if kept.Profile.City == nil || kept.Company != "Palm" {
		t.Errorf("after the restart: %+v", kept)
	}
}

// TestMigrateTogether checks that several processes can open the same empty database at the same time.
func TestMigrateTogether(t *testing.T) {
	for _, engine := range storetest.Engines() {
		t.Run(engine, func(t *testing.T) {
			address := "sqlite:" + filepath.Join(t.TempDir(), "quittance.db")
			if engine == storetest.Postgres {
				address = pgtest.URL(t)
			}
			race(4, func(int) {
				db, err := store.Open(t.Context(), address, store.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				must2(t, errors.Join(db.Ping(t.Context()), db.Close()))
			})
		})
	}
}
