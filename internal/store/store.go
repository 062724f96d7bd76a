// Package store is the only package with SQL. It keeps everything Quittance knows on SQLite or PostgreSQL, from one
// text of schema and statements; only the triggers that keep evidence append-only are written for each.
//
// Its invariants:
//
//   - An exported method is one transaction and one business fact. What belongs together (a state, its evidence, its
//     events, their deliveries) is committed together or not at all.
//   - Only this package makes a working [*Tenant], and every operation on a tenant's rows is a method of it. Nothing
//     takes a tenant's identifier as an argument. What is not one tenant's stands on [DB] and is listed in unscoped.go.
//   - Secrets are sealed here before they reach a row; rows of work carry identifiers only.
//   - No write runs under a request's context: a client that hangs up cannot undo half a fact.
//
// Start reading at [Open], then tenant.go, then submission.go for the heart of the product. What differs between the
// two databases is the struct in engine.go.
package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"

	"quittance/internal/secret"
)

//go:embed schema/*.sql
var schema embed.FS

// The failures a caller tells apart. Anything else is internal.
var (
	// ErrNotFound says that there is no such row for this tenant; another tenant's row gives the same error.
	ErrNotFound = errors.New("not found")
	// ErrUnavailable says that the database as a whole cannot serve now: lost connection, full disk, read-only.
	ErrUnavailable = errors.New("database unavailable")
	// ErrLeaseLost says that the work was claimed by somebody else since; nothing was written.
	ErrLeaseLost = errors.New("lease lost")
	// ErrExists says that a row with the same unique value exists.
	ErrExists = errors.New("already exists")
)

// Options are what a store needs besides its address.
type Options struct {
	// Keys seals what must not be readable in the database. Nil opens a store that can only migrate.
	Keys *secret.Keyring
	// ReloadKeys reads the keys anew when a value stands under an unknown one; nil when they cannot change.
	ReloadKeys func() (*secret.Keyring, error)
	// Existing refuses to open a database without a schema, with [ErrNoSchema], instead of making it one.
	Existing bool
	// Now is the clock, taken as it is. When nil, that is the database's clock on PostgreSQL, which all replicas share, and
	// Local on SQLite.
	Now func() time.Time
	// Local is the clock of this machine; time.Now when nil.
	Local func() time.Time
	// Random is the source of identifiers, tokens and secrets; crypto/rand when nil.
	Random io.Reader
	// Log receives what no caller can be told; slog.Default when nil.
	Log *slog.Logger
	// Quotas bound what one company may keep; the zero value does not.
	Quotas Quotas
	// Checkpoint is told of every point at which the end of the process would leave something half done; nil in
	// production.
	Checkpoint Checkpoint
}

// DB is an open store. It is safe for concurrent use.
type DB struct {
	*engine
	keys     *sealer
	clock    func() time.Time
	random   io.Reader
	log      *slog.Logger
	observer Checkpoint
	quotas   Quotas
	// migration is set by Open alone.
	migration Migration
	// unwritable is set while the last write failed because of the database as a whole.
	unwritable atomic.Bool
	notifier   *notifier
	stop       context.CancelFunc
	done       sync.WaitGroup
}

// Open opens the database at address, sqlite:PATH or postgres://…, brings its schema up to date, and makes sure that the keys
// are those under which it is sealed: a [*KeyError] names one that is missing or another.
func Open(ctx context.Context, address string, options Options) (*DB, error) {
	db, err := OpenUnmigrated(ctx, address, options)
	if err != nil {
		return nil, err
	}
	before, err := db.schemaVersion(ctx)
	if err != nil && (options.Existing || !errors.Is(err, ErrNoSchema)) {
		return nil, errors.Join(err, db.Close())
	}
	db.migration.Made = err != nil
	if err := db.Migrate(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	after, err := db.schemaVersion(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	db.migration.Changed = after != before
	if err := db.openKeys(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := db.beginEvidence(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// ErrNoSchema says that a database is none of this service's: it holds no schema.
var ErrNoSchema = errors.New("this database holds no quittance schema")

// schemaVersion returns the number of the latest migration of the database, [ErrNoSchema] when it has had none.
func (db *DB) schemaVersion(ctx context.Context) (version int64, err error) {
	var tables int64
	if err := db.reader.QueryRowContext(ctx, db.countSettingsTables).Scan(&tables); err != nil {
		return 0, db.classify(err)
	}
	if tables == 0 {
		return 0, ErrNoSchema
	}
	err = db.reader.QueryRowContext(ctx, `select coalesce(max(version_id), 0) from goose_db_version`).Scan(&version)
	return version, db.classify(err)
}

// Migration says what [Open] has done to the schema of a database.
type Migration struct {
	// Made tells that there was no schema before, Changed that the schema is not what it was.
	Made, Changed bool
}

// Migration returns what opening the database has done to its schema.
func (db *DB) Migration() Migration { return db.migration }

// OpenUnmigrated is [Open] without touching the schema.
func OpenUnmigrated(ctx context.Context, address string, options Options) (*DB, error) {
	var eng *engine
	var err error
	switch path, isSQLite := strings.CutPrefix(address, "sqlite:"); {
	case isSQLite && path != "":
		eng, err = openSQLite(path)
	case IsPostgres(address):
		eng, err = openPostgres(ctx, address)
	default:
		err = errors.New("open database: want sqlite:PATH or postgres://…")
	}
	if err != nil {
		return nil, err
	}
	db := &DB{engine: eng, keys: &sealer{keys: options.Keys, reload: options.ReloadKeys}, clock: options.Now, random: options.Random, log: options.Log, observer: options.Checkpoint, quotas: options.Quotas}
	if db.random == nil {
		db.random = rand.Reader
	}
	if db.log == nil {
		db.log = slog.Default()
	}
	if path, isSQLite := strings.CutPrefix(address, "sqlite:"); isSQLite {
		makeFilesPrivate(ctx, path, db.log)
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	db.stop = stop
	if err := db.startClock(ctx, background, options); err != nil {
		stop()
		return nil, errors.Join(err, db.close())
	}
	db.notifier = newNotifier(db.notify)
	db.done.Go(func() { db.notifier.runSender(background, db.log) })
	if db.listen != nil {
		db.done.Go(func() { db.notifier.runListener(background, db.listen, db.log) })
	}
	return db, nil
}

// startClock chooses the clock: see [Options]. The clock of the database is kept until background ends.
func (db *DB) startClock(ctx, background context.Context, options Options) error {
	local := options.Local
	if local == nil {
		local = time.Now
	}
	switch {
	case options.Now != nil:
		db.clock = options.Now
	case db.serverTime == nil:
		db.clock = (&steadyClock{source: local}).now
	default:
		shared := &databaseClock{local: local, query: db.serverTime}
		if err := shared.sync(ctx); err != nil {
			return db.classify(err)
		}
		db.clock = (&steadyClock{source: shared.now}).now
		db.done.Go(func() { shared.syncPeriodically(background, db.log) })
	}
	return nil
}

// Close waits for nothing but the store's own goroutines: the caller stops its workers first.
func (db *DB) Close() error {
	db.stop()
	db.done.Wait()
	return db.close()
}

// Migrate brings the schema up to date, and what is derived from other columns; it is a no-op when they are.
func (db *DB) Migrate(ctx context.Context) error {
	if err := db.migrate(ctx, schema); err != nil {
		return err
	}
	_, err := db.Summarize(ctx)
	return err
}

// Engine returns "sqlite" or "postgres", for logs and metrics.
func (db *DB) Engine() string { return db.name }

// ErrAlreadyServed says that another process serves this database, and that only one can.
var ErrAlreadyServed = errors.New("another server is running on this database")

// LockForServing acquires the exclusive right to serve this database, and returns a function that releases it. On SQLite it
// returns [ErrAlreadyServed] while another process holds the right; on PostgreSQL it always succeeds. Administration commands
// do not need it and work beside a server.
func (db *DB) LockForServing() (release func() error, err error) { return db.lockForServing() }

// SingleServer reports whether only one process at a time can serve this database.
func (db *DB) SingleServer() bool { return db.singleServer }

// Ping asks the database for one row, for readiness. After a write that failed because of the database as a whole (a full
// disk still reads well) it also tries to write one.
func (db *DB) Ping(ctx context.Context) error {
	var one int64
	if err := db.reader.QueryRowContext(ctx, "select count(*) from tenants where id is null").Scan(&one); err != nil {
		return db.classify(err)
	}
	if !db.unwritable.Load() {
		return nil
	}
	return db.write(ctx, "try to write", func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, `insert into settings (key, value) values ('written_at', $1) on conflict (key) do update set value = excluded.value`,
			strconv.FormatInt(micros(t.now()), 10))
		return err
	})
}

// migrate runs the migrations in the directory schema of source with goose, but for those whose names end as those of the
// other engine do.
func migrate(ctx context.Context, dialect goose.Dialect, db *sql.DB, source fs.FS, other string, options ...goose.ProviderOption) error {
	files, err := fs.Sub(source, "schema")
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	others, err := fs.Glob(files, "*"+other)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	options = append(options, goose.WithExcludeNames(others), goose.WithLogger(goose.NopLogger()))
	provider, err := goose.NewProvider(dialect, db, files, options...)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// now is the clock at the resolution of the database, a microsecond.
func (db *DB) now() time.Time { return db.clock().UTC().Truncate(time.Microsecond) }

// databaseClosed is the text of the error that database/sql has for use after Close, and does not export.
const databaseClosed = "sql: database is closed"

// fail gives a database error its class and keeps everything else as it is.
func (db *DB) classify(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return ErrNotFound
	case errors.Is(err, context.Canceled):
		return err
	case db.isUnavailable(err), strings.HasSuffix(err.Error(), databaseClosed):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// micros and instant convert between a time and its column.
func micros(t time.Time) int64 { return t.UnixMicro() }

func instant(us int64) time.Time { return time.UnixMicro(us).UTC() }

func instantOrNil(us sql.Null[int64]) *time.Time {
	if !us.Valid {
		return nil
	}
	return new(instant(us.V))
}

func numberOrNil(n sql.Null[int64]) *int64 {
	if !n.Valid {
		return nil
	}
	return &n.V
}

func textOrNil(text sql.Null[string]) *string {
	if !text.Valid {
		return nil
	}
	return &text.V
}

func flag(on bool) int64 {
	if on {
		return 1
	}
	return 0
}
