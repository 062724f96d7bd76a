package store_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"quittance/internal/secret"
	"quittance/test/kit"
	"quittance/test/pgtest"
	"quittance/test/storetest"
)

// twins is a closed database with a decoy and the company of a test. [openTwins] opens copies of it, because to fill it
// takes longer than most tests.
type twins struct {
	once           sync.Once
	made           bool // and not failed, which the first test reports
	address        string
	file           []byte // of SQLite
	keys           *secret.Keyring
	company, decoy company
	dump           string // of the decoy
}

// twinsOf are the twins of each engine.
var twinsOf = map[string]*twins{storetest.SQLite: {}, storetest.Postgres: {}}

// openTwins opens a copy of an engine's twins, and returns it with the rows of the decoy, as text.
func openTwins(t *testing.T, engine string) (f *fixture, decoyRows string) {
	t.Helper()
	from := twinsOf[engine]
	from.once.Do(func() { from.fill(t, engine) })
	if !from.made {
		t.Fatal("the first test that needed a decoy could not make it")
	}
	f = &fixture{company: from.company, decoy: from.decoy}
	f.Store = storetest.OpenDatabase(t, from.copied(t), from.keys)
	f.raw = openRaw(t, f.Store)
	for _, c := range []*company{&f.company, &f.decoy} {
		var err error
		c.tenant, err = f.Tenant(t.Context(), c.account.ID)
		kit.Must(t, err)
	}
	return f, from.dump
}

// fill makes the twins.
func (w *twins) fill(t *testing.T, engine string) {
	t.Helper()
	f := &fixture{Store: storetest.Open(t, engine)}
	start := f.Clock.Now()
	f.raw = openRaw(t, f.Store)
	f.decoy = f.newCompany(t, "decoy@example.com")
	f.fillDecoy(t)
	w.dump = f.dump(t, f.decoy)
	f.company = f.newCompany(t, "owner@example.com")
	if !f.Clock.Now().Equal(start) {
		t.Fatal("the twins are from later than the tests")
	}
	kit.Must(t, errors.Join(f.raw.Close(), f.Close()))
	var err error
	if engine == storetest.Postgres {
		w.address, err = keepDatabase(t.Context(), f.Address)
	} else {
		w.file, err = os.ReadFile(f.Path)
	}
	kit.Must(t, err)
	w.keys, w.company, w.decoy = f.Options.Keys, f.company, f.decoy
	w.made = true
}

// copied copies the twins for one test, and returns the address of the copy.
func (w *twins) copied(t *testing.T) string {
	t.Helper()
	if w.file == nil {
		return pgtest.Copy(t, w.address)
	}
	path := filepath.Join(t.TempDir(), "quittance.db")
	kit.Must(t, os.WriteFile(path, w.file, 0o600))
	return "sqlite:" + path
}

// keepDatabase copies a PostgreSQL database that has no connections, and returns the address of the copy, which
// [dropKept] removes.
func keepDatabase(ctx context.Context, address string) (kept string, err error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	name := "test_" + strings.ToLower(rand.Text())
	err = administer(ctx, os.Getenv(pgtest.EnvPostgres),
		fmt.Sprintf("create database %s template %s", name, strings.TrimPrefix(parsed.Path, "/")))
	parsed.Path = "/" + name
	return parsed.String(), err
}

// dropKept removes the database of [keepDatabase] from a cluster that outlives the tests.
func dropKept(admin string) error {
	parsed, err := url.Parse(twinsOf[storetest.Postgres].address)
	if err != nil || admin == "" || parsed.Path == "" {
		return err
	}
	return administer(context.Background(), admin, "drop database "+strings.TrimPrefix(parsed.Path, "/")+" with (force)")
}

// administer runs a statement in the administration database of a cluster.
func administer(ctx context.Context, admin, statement string) error {
	db, err := sql.Open("pgx", admin)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}
