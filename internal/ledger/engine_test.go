package ledger_test

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
	"quittance/internal/front/view"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
	"quittance/test/pgtest"
)

// TestServe checks that only one process can serve a SQLite database, that others can open it meanwhile, and that
// several processes can serve a PostgreSQL database.
func TestServe(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		release, err := f.LockForServing()
		kit.Must(t, err)
		beside := f.Again(t)
		other, err := beside.LockForServing()
		if f.SingleServer() {
			fixture.WantErr(t, err, base.ErrAlreadyServed)
		} else {
			kit.Must(t, err)
			kit.Must(t, other())
		}
		kit.Must(t, identity.SetProfile(t.Context(), beside, f.Account.ID, api.Profile{City: new("Dubai")}))
		account, err := identity.FindAccount(t.Context(), f.DB, f.Account.ID)
		kit.Must(t, err)
		if account.Profile.City == nil {
			t.Error("a change by another process is not visible")
		}
		f.Create(t, "INV-1")
		kit.Must(t, release())
		other, err = beside.LockForServing()
		kit.Must(t, err)
		kit.Must(t, other())
	})
}

// TestCancelledWrite checks that a caller that disconnects before its write begins changes nothing, and that otherwise
// the whole operation is committed.
func TestCancelledWrite(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		call := f.Submit(t, "INV-1")
		_, err := call.Record(ctx, func(s invoices.Submission, _ bool, now time.Time) (invoices.Decision, error) {
			cancel()
			return fixture.Reported(s, now, fixture.AllFour("accepted", true), api.EventTerminal), nil
		})
		kit.Must(t, err)
		kept, err := invoices.FindSubmission(t.Context(), f.Tenant, call.Submission.ID)
		kit.Must(t, err)
		if kept.Evidence != 1 || !kept.States.AllTerminal() {
			t.Errorf("half of the operation was committed: %s", fixture.Shown(kept))
		}

		// Callers that disconnect at any moment: each has created its invoice, or has not.
		var created atomic.Int64
		fixture.Race(40, func(n int) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for range n * 1000 { // later and later
					_ = ctx.Err()
				}
				cancel()
			}()
			switch _, err := invoices.Create(ctx, f.Tenant, fixture.Draft("INV-2")); {
			case err == nil:
				created.Add(1)
			case !errors.Is(err, context.Canceled):
				t.Errorf("error %v", err)
			}
		})
		all, err := view.Of(f.Tenant).Invoices(t.Context(), view.InvoiceFilter{}, 1, 100)
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
	db, err := base.OpenUnmigrated(t.Context(), "sqlite:"+path, base.Options{})
	kit.Must(t, err)
	defer func() { kit.Must(t, db.Close()) }()
	fixture.WantErr(t, db.Ping(t.Context()), base.ErrUnavailable)
	if _, err := ledger.Open(t.Context(), "sqlite:"+path, base.Options{}); err == nil {
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
	db, err := ledger.Open(ctx, address, base.Options{Keys: keys, Log: slog.New(slog.DiscardHandler)})
	kit.Must(t, err)
	t.Cleanup(func() { kit.Must(t, db.Close()) })
	account, err := identity.CreateAccount(ctx, db, "Palm", identity.NewUser{Email: "a@example.com"})
	kit.Must(t, err)
	kit.Must(t, cluster.Kill())
	fixture.WantErr(t, identity.SetProfile(ctx, db, account.ID, api.Profile{}), base.ErrUnavailable)
	fixture.WantErr(t, db.Ping(ctx), base.ErrUnavailable)
	kit.Must(t, cluster.Restart())
	kit.Must(t, identity.SetProfile(ctx, db, account.ID, api.Profile{City: new("Dubai")}))
	kept, err := identity.FindAccount(ctx, db, account.ID)
	kit.Must(t, err)
	if kept.Profile.City == nil || kept.Company != "Palm" {
		t.Errorf("after the restart: %+v", kept)
	}
}

// TestMigrateTogether checks that several processes can open the same empty database at the same time.
func TestMigrateTogether(t *testing.T) {
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			address := "sqlite:" + filepath.Join(t.TempDir(), "quittance.db")
			if engine == ledgertest.Postgres {
				address = pgtest.URL(t)
			}
			fixture.Race(4, func(int) {
				db, err := ledger.Open(t.Context(), address, base.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				fixture.Must2(t, errors.Join(db.Ping(t.Context()), db.Close()))
			})
		})
	}
}
