package ledger_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/proof"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// fillSealed gives the company a value in every column that holds sealed values.
func fillSealed(t *testing.T, f *fixture.Fixture) {
	t.Helper()
	f.Subscribe(t, api.EventSubmissionUpdated)
	fixture.Decide(t, f.Submit(t, "INV-1"), func(s invoices.Submission, now time.Time) invoices.Decision {
		d := fixture.Reported(s, now, fixture.AllFour("one", false), api.EventSubmissionUpdated)
		d.Evidence.Withheld, d.Evidence.Body = true, []byte("you sent "+fixture.Credential)
		return d
	})
	withheld := fixture.Incoming("x", "one")
	withheld.Withheld = true
	fixture.Retain(t, f.MustClaim(t), fixture.Onward("c"), withheld)
}

// underKey returns the columns of all tables that have values with the prefix of a key. It leaves out the columns of
// withheld evidence, whose rows never change: their current values are in the table resealed.
func underKey(t *testing.T, f *fixture.Fixture, id uint32) (found []string) {
	t.Helper()
	value := regexp.MustCompile(fmt.Sprintf(`(\w+)=01%08x`, id))
	for _, tab := range fixture.Tables(t) {
		if tab.Name == "sealing_keys" {
			continue // the record of the key itself
		}
		for _, row := range f.Rows(t, "select * from "+tab.Name) {
			for _, sealed := range value.FindAllStringSubmatch(row, -1) {
				if column := tab.Name + "." + sealed[1]; !slices.Contains([]string{"evidence.body", "revisions.body",
					"revisions.metadata"}, column) {
					found = append(found, column)
				}
			}
		}
	}
	return found
}

// TestRetiredKey checks that a rotation leaves no value under the old key in any table, that withheld evidence is still
// readable, that the key can be retired only then, and that it opens nothing afterwards, whatever the key file says.
func TestRetiredKey(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		fillSealed(t, f)
		old := f.Options.Keys.PrimaryID()
		var seal []byte
		kit.Must(t, f.Raw.QueryRowContext(ctx,
			`select evidence_seal from submissions where evidence_seal is not null`).Scan(&seal))
		if before := underKey(t, f, old); len(before) < 5 {
			t.Fatalf("only %v are sealed", before)
		}
		rotated := *f.Store
		rotated.Options.Keys = f.Rotated(t)
		db := rotated.Again(t)
		var inUse *ledger.KeyInUseError
		if _, err := ledger.RetireKey(ctx, db, old); !errors.As(err, &inUse) || inUse.ID != old || len(inUse.Values) < 7 {
			t.Fatalf("a key in use is retired: %v", err)
		}
		_, err := ledger.Reseal(ctx, db)
		kit.Must(t, err)
		if left := underKey(t, f, old); len(left) > 0 {
			t.Errorf("still sealed under the old key: %v", left)
		}
		if n := f.Number(t, `select count(*) from resealed`); n != 3 {
			t.Errorf("%d values of withheld evidence were resealed, want a response, a document and its metadata", n)
		}
		retire := func(id uint32) bool {
			before, err := ledger.RetireKey(ctx, db, id)
			kit.Must(t, err)
			return before
		}
		if retire(old) {
			t.Error("the key was retired before")
		}
		// A repetition changes nothing and adds no entry; an unknown number is refused.
		if !retire(old) {
			t.Error("the key was not retired before")
		}
		retired, err := db.Audit(ctx, base.AuditFilter{Act: "key.retire", Limit: 10})
		kit.Must(t, err)
		if len(retired) != 1 {
			t.Errorf("%d entries say that the key was retired", len(retired))
		}
		_, err = ledger.RetireKey(ctx, db, 12345)
		fixture.WantErr(t, err, secret.ErrNoKey)
		found, err := proof.Verify(ctx, db, fixture.Replay())
		if err != nil || len(found.Faults) > 0 {
			t.Errorf("after the rotation: %+v, %v", found.Faults, err)
		}
		// The retired key is still enabled in the file, but opens nothing.
		again := rotated.Again(t)
		f.Exec(t, `update submissions set evidence_seal = $1 where evidence_seal is not null`, seal)
		if found, err := proof.Verify(ctx, again, fixture.Replay()); err != nil || len(found.Faults) == 0 {
			t.Errorf("a seal under a retired key passes: %v", err)
		}
		if _, err := ledger.Open(ctx, f.Address, f.Options); !errors.As(err, new(*base.KeyError)) {
			t.Errorf("the retired key is the primary one: %v", err)
		}
	})
}

// TestPromotionWaitsForServers checks that a key becomes the primary key only when every running server has loaded it.
// Servers that have stopped or died are not waited for.
func TestPromotionWaitsForServers(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		old := f.Options.Keys.PrimaryID()
		server, err := f.NewServer("machine:1", "1.0", "all")
		kit.Must(t, err)
		kit.Must(t, f.RegisterServer(ctx, server))
		rotated := f.Rotated(t)
		admin := f.Again(t)
		var behind *base.KeyNotLoadedError
		if err := admin.RecordKey(ctx, rotated); !errors.As(err, &behind) || len(behind.Servers) != 1 ||
			behind.Servers[0].Name != "machine:1" {
			t.Fatalf("promotion without the server: %v", err)
		}
		options := f.Options
		options.Keys = rotated
		if _, err := ledger.Open(ctx, f.Address, options); !errors.As(err, &behind) {
			t.Errorf("another process begins to seal with the key: %v", err)
		}
		f.Clock.Advance(base.ServerTimeout + time.Second)
		if alive, err := admin.Servers(ctx); err != nil || len(alive) != 0 {
			t.Errorf("%d servers are running, %v", len(alive), err)
		}
		kit.Must(t, f.RegisterServer(ctx, server))
		kit.Must(t, f.UnregisterServer(ctx, server))
		kit.Must(t, admin.RecordKey(ctx, rotated))
		// The server starts again with the old key file.
		var fault *base.KeyError
		if err := f.RegisterServer(ctx, server); !errors.As(err, &fault) || fault.ID != rotated.PrimaryID() {
			t.Errorf("announcement of a server without the key: %v", err)
		}
		if err := f.CheckKeys(ctx); !errors.As(err, &fault) {
			t.Errorf("keys of a server without the key: %v", err)
		}
		kit.Must(t, func() error { _, err := ledger.Reseal(ctx, admin); return err }())
		second, err := admin.NewServer("machine:2", "1.0", "worker")
		kit.Must(t, err)
		kit.Must(t, admin.RegisterServer(ctx, second))
		var inUse *ledger.KeyInUseError
		if _, err := ledger.RetireKey(ctx, admin, rotated.PrimaryID()); !errors.As(err, &inUse) {
			t.Errorf("the key that a server seals with is retired: %v", err)
		}
		_, err = ledger.RetireKey(ctx, admin, old)
		kit.Must(t, err)
	})
}

// TestRefreshKeys checks that a changed key file is loaded if it fits the database, that a new primary key in it seals
// once every server has loaded it, and that a file that does not fit changes nothing.
func TestRefreshKeys(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		first := f.Options.Keys
		file := first
		server := *f.Store
		server.Options.ReloadKeys = func() (*secret.Keyring, error) { return file, nil }
		a, b := server.Again(t), f.Again(t)
		serverA, err := a.NewServer("a", "1.0", "all")
		kit.Must(t, err)
		serverB, err := b.NewServer("b", "1.0", "all")
		kit.Must(t, err)
		kit.Must(t, errors.Join(a.RegisterServer(ctx, serverA), b.RegisterServer(ctx, serverB)))

		file = f.Rotated(t)
		kit.Must(t, a.RefreshKeys(ctx))
		if keys := a.Keys(); !keys.Holds(file.PrimaryID()) || keys.PrimaryID() != first.PrimaryID() {
			t.Errorf("a key that another server lacks is the primary one, or not loaded: %+v", keys.List())
		}
		kit.Must(t, errors.Join(a.RegisterServer(ctx, serverA), b.UnregisterServer(ctx, serverB)))
		kit.Must(t, a.RefreshKeys(ctx))
		if keys := a.Keys(); keys.PrimaryID() != file.PrimaryID() {
			t.Errorf("the new key does not seal although every server has it: %+v", keys.List())
		}
		right := a.Keys()
		wrong, err := secret.Generate()
		kit.Must(t, err)
		file = wrong
		if err := a.RefreshKeys(ctx); !errors.As(err, new(*base.KeyError)) {
			t.Errorf("a key file of another database: %v", err)
		}
		if !a.Keys().Same(right) {
			t.Error("the keys in memory were replaced by wrong ones")
		}
	})
}

// TestDatabaseFileIsPrivate checks that opening a database file removes the access of other users.
func TestDatabaseFileIsPrivate(t *testing.T) {
	s := ledgertest.Open(t, ledgertest.SQLite)
	kit.Must(t, os.Chmod(s.Path, 0o644))
	s.Again(t)
	if info, err := os.Stat(s.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestVerifiedServer checks that production accepts PostgreSQL only over TLS with a verified server, or on the same
// machine.
func TestVerifiedServer(t *testing.T) {
	for address, want := range map[string]bool{
		"sqlite:quittance.db":                                           true,
		"postgres://db.example/quittance":                               false,
		"postgres://db.example/quittance?sslmode=disable":               false,
		"postgres://db.example/quittance?sslmode=prefer":                false,
		"postgres://db.example/quittance?sslmode=require":               false,
		"postgres://db.example/quittance?sslmode=verify-ca":             true,
		"postgres://db.example/quittance?sslmode=verify-full":           true,
		"postgres://db.example,127.0.0.1/quittance?sslmode=verify-full": true,
		"postgres://127.0.0.1,db.example/quittance":                     false,
		"postgres://127.0.0.1/quittance":                                true,
		"postgres://[::1]/quittance":                                    true,
		"postgres://localhost/quittance":                                true,
		"postgres:///quittance?host=/run/postgresql":                    true,
		"postgresql://10.0.0.7/quittance":                               false,
	} {
		if err := base.RequireVerifiedServer(address); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := base.RequireVerifiedServer("postgres://user:canary@db.example:nonsense/x"); err == nil ||
		strings.Contains(err.Error(), "canary") {
		t.Errorf("an address that cannot be read: %v", err)
	}
}
