// Package ledgertest opens real stores for tests: an empty database of its own for each test, on either engine, with a
// clock that the test moves and a keyring made for it.
//
// A store it opens is closed, and its database removed, when the test ends. A package that asks for "postgres" lets its
// TestMain call pgtest.Run; "sqlite" needs nothing. Start reading at [Open].
package ledgertest

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/platform/secret"
	"quittance/test/pgtest"
)

// The names of the engines, as [base.DB.Engine] gives them.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// sqliteScheme begins the address of a SQLite database.
const sqliteScheme = "sqlite:"

// Engines returns the engines that tests are to run on; see [pgtest.EnvEngines].
func Engines() []string {
	var engines []string
	if chosen := os.Getenv(pgtest.EnvEngines); chosen == "" || slices.Contains(strings.Split(chosen, ","), SQLite) {
		engines = append(engines, SQLite)
	}
	if pgtest.Enabled() {
		engines = append(engines, Postgres)
	}
	return engines
}

// EachEngine runs a test on every engine of [Engines], in parallel subtests that are named after the engines. It
// returns before they run, as parallel subtests do.
func EachEngine(t *testing.T, test func(t *testing.T, engine string)) {
	t.Helper()
	for _, engine := range Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, engine)
		})
	}
}

// Clock is a clock that moves only in [Clock.Advance]. It is safe for concurrent use.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock returns a clock that stands at 09:00 UTC on 1 March 2026.
func NewClock() *Clock { return &Clock{at: time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)} }

// Now returns where the clock stands.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Advance moves the clock forward and returns where it stands then.
func (c *Clock) Advance(by time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
	return c.at
}

// Store is an open store and what it was opened with.
type Store struct {
	*base.DB
	// Address is what [ledger.Open] was given.
	Address string
	// Path is the file of a SQLite database, "" otherwise.
	Path    string
	Options base.Options
	Clock   *Clock
}

// sqliteTemplate returns the file of a SQLite database that has the schema and no rows, and postgresTemplate the
// address of such a PostgreSQL database. Both are made once, because the migrations take longer than most tests.
var (
	sqliteTemplate = sync.OnceValues(func() (text []byte, err error) { //nolint:gochecknoglobals // a constant that is computed
		dir, err := os.MkdirTemp("", "ledgertest-")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		path := filepath.Join(dir, "empty.db")
		if err := migrate(sqliteScheme + path); err != nil {
			return nil, err
		}
		return os.ReadFile(path)
	})
	postgresTemplate = sync.OnceValues(func() (string, error) { //nolint:gochecknoglobals // a constant that is computed
		address, err := pgtest.Template(context.Background())
		if err != nil {
			return "", err
		}
		return address, migrate(address)
	})
)

// migrate creates the schema in an empty database.
func migrate(address string) error {
	ctx := context.Background()
	db, err := base.OpenUnmigrated(ctx, address, base.Options{})
	if err != nil {
		return err
	}
	return errors.Join(ledger.Migrate(ctx, db), db.Close())
}

// Database creates a database that has the schema and no rows, and returns its address for [ledger.Open].
func Database(t testing.TB, engine string) string {
	t.Helper()
	if engine == Postgres {
		template, err := postgresTemplate()
		if err != nil {
			t.Fatal(err)
		}
		return pgtest.Copy(t, template)
	}
	text, err := sqliteTemplate()
	path := filepath.Join(t.TempDir(), "quittance.db")
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return sqliteScheme + path
}

// Open opens an empty store on an engine.
func Open(t testing.TB, engine string) *Store {
	t.Helper()
	keys, err := secret.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return OpenDatabase(t, Database(t, engine), keys)
}

// OpenDatabase opens the store of a database that has the schema, with a clock of its own.
func OpenDatabase(t testing.TB, address string, keys *secret.Keyring) *Store {
	t.Helper()
	clock := NewClock()
	s := &Store{Address: address, Clock: clock, Options: base.Options{Keys: keys, Now: clock.Now,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))}}
	if path, ok := strings.CutPrefix(address, sqliteScheme); ok {
		s.Path = path
	}
	s.DB = s.Again(t)
	return s
}

// Unmigrated opens an empty database without a schema on an engine.
func Unmigrated(t testing.TB, engine string) *Store {
	t.Helper()
	s := &Store{}
	if engine == Postgres {
		s.Address = pgtest.URL(t)
	} else {
		s.Path = filepath.Join(t.TempDir(), "quittance.db")
		s.Address = sqliteScheme + s.Path
	}
	var err error
	if s.DB, err = base.OpenUnmigrated(t.Context(), s.Address, s.Options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}

// Again opens the same database a second time, as another process does.
func (s *Store) Again(t testing.TB) *base.DB {
	t.Helper()
	db, err := ledger.Open(t.Context(), s.Address, s.Options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return db
}

// Rotated returns the store's keys with a new one, which is the primary.
func (s *Store) Rotated(t testing.TB) *secret.Keyring {
	t.Helper()
	added, id, err := s.Options.Keys.Add()
	if err != nil {
		t.Fatal(err)
	}
	rotated, err := added.Promote(id)
	if err != nil {
		t.Fatal(err)
	}
	return rotated
}

// Events returns up to limit events of a tenant with positions higher than after, oldest first.
func Events(ctx context.Context, tenant *base.Tenant, after int64, limit int) ([]events.Event, error) {
	events, _, err := events.EventPage(ctx, tenant, after, limit, math.MaxInt)
	return events, err
}
