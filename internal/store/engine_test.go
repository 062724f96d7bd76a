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
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
	"quittance/test/pgtest"
	"quittance/test/storetest"
)

// TestServe checks that only one process can serve a SQLite database, that others can open it meanwhile, and that
// several processes can serve a PostgreSQL database.
func TestServe(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		release, err := f.LockForServing()
		kit.Must(t, err)
		beside := f.Again(t)
		other, err := beside.LockForServing()
		if f.SingleServer() {
			wantErr(t, err, store.ErrAlreadyServed)
		} else {
			kit.Must(t, err)
			kit.Must(t, other())
		}
		kit.Must(t, beside.SetProfile(t.Context(), f.account.ID, api.Profile{City: new("Dubai")}))
		account, err := f.Account(t.Context(), f.account.ID)
		kit.Must(t, err)
		if account.Profile.City == nil {
			t.Error("a change by another process is not visible")
		}
		f.create(t, "INV-1")
		kit.Must(t, release())
		other, err = beside.LockForServing()
		kit.Must(t, err)
		kit.Must(t, other())
	})
}

// TestCancelledWrite checks that a caller that disconnects before its write begins changes nothing, and that otherwise
// the whole operation is committed.
func TestCancelledWrite(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		call := f.submit(t, "INV-1")
		_, err := call.Record(ctx, func(s store.Submission, _ bool, now time.Time) (store.Decision, error) {
			cancel()
			return reported(s, now, allFour("accepted", true), api.EventTerminal), nil
		})
		kit.Must(t, err)
		kept, err := f.tenant.Submission(t.Context(), call.Submission.ID)
		kit.Must(t, err)
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
		kit.Must(t, err)
		if want := int(created.Load()) + 1; all.Total != want || len(all.Entries) != want {
			t.Errorf("%d invoices of %d, want %d", len(all.Entries), all.Total, want)
		}
	})
}

// TestNotADatabase checks that a file that is not a database is unavailable.
func TestNotADatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quittance.db")
	kit.Must(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600))
	db, err := store.OpenUnmigrated(t.Context(), "sqlite:"+path, store.Options{})
	kit.Must(t, err)
	defer func() { kit.Must(t, db.Close()) }()
	wantErr(t, db.Ping(t.Context()), store.ErrUnavailable)
	if _, err := store.Open(t.Context(), "sqlite:"+path, store.Options{}); err == nil {
		t.Error("it was migrated")
	}
}

// TestServerRestart checks that the store is unavailable while the PostgreSQL server is down, and works again
// afterwards with everything that was committed, without being reopened.
func TestServerRestart(t *testing.T) {
	if !pgtest.Enabled() {
		return // there is no such server
	}
	ctx := t.Context()
	cluster, err := pgtest.Start("")
	kit.Must(t, err)
	t.Cleanup(func() { kit.Must(t, cluster.Stop()) })
	address, _, err := cluster.NewDatabase(ctx)
	kit.Must(t, err)
	keys, err := secret.Generate()
	kit.Must(t, err)
	db, err := store.Open(ctx, address, store.Options{Keys: keys, Log: slog.New(slog.DiscardHandler)})
	kit.Must(t, err)
	t.Cleanup(func() { kit.Must(t, db.Close()) })
	account, err := db.CreateAccount(ctx, "Palm", store.NewUser{Email: "a@example.com"})
	kit.Must(t, err)
	kit.Must(t, cluster.Kill())
	wantErr(t, db.SetProfile(ctx, account.ID, api.Profile{}), store.ErrUnavailable)
	wantErr(t, db.Ping(ctx), store.ErrUnavailable)
	kit.Must(t, cluster.Restart())
	kit.Must(t, db.SetProfile(ctx, account.ID, api.Profile{City: new("Dubai")}))
	kept, err := db.Account(ctx, account.ID)
	kit.Must(t, err)
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
