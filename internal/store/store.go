// Package store is the only package with SQL. It keeps all data of the service in SQLite or PostgreSQL, with one schema and one
// set of statements for both; only the triggers that make evidence append-only exist in two versions.
//
// # Concepts
//
// A [*Tenant] is the data of one company, and the only access to it. This package alone creates one: for a valid token
// ([DB.Authenticate]), for claimed work, or for an administrator ([DB.Tenant]). Every operation on a company's data is a method of
// *Tenant, and none takes a tenant's identifier as an argument. What belongs to no tenant is a method of [DB]; unscoped.go lists
// all of that with reasons.
//
// One exported method is one transaction, called an operation. What belongs together (a state, its evidence, its events, their
// deliveries) is committed together or not at all. No write runs under the context of a request, because a client that disconnects
// must not interrupt one.
//
// The rows are also the queue of work: submissions, deliveries and connections have a due time and a lease. A worker claims due
// rows, works without a transaction, and records the result only if it still holds the lease.
//
// Secrets are sealed (encrypted and authenticated) before they reach a row. Rows that describe work contain only identifiers.
//
// # Where to begin
//
// Read [Open], then tenant.go, then follow the creation of a draft: [Tenant.CreateInvoice] in invoice.go, [writeBatched] in tx.go
// and group.go. The heart of the product is [Tenant.BeginSubmission] in submission.go and [SubmissionLease.Record] in record.go.
//
// # Files
//
// The database: store.go opens it and classifies errors. engine.go lists what differs between sqlite.go and postgres.go. tx.go
// runs write transactions, transaction.go is one of them, and group.go commits several together. reads.go, pages.go and
// querylimit.go bound reads. statement_cache.go, clock.go, notify.go, checkpoint.go, id.go, backup.go and servers.go are what
// their names say.
//
// Invoices: invoice.go writes them, with summary.go for what lists show; invoices.go, invoice_search.go and invoice_read.go read
// them; deletion.go keeps lists numbered without gaps. credit.go has credit notes, idempotent.go stored responses, quota.go what a
// company may keep.
//
// Submissions: submission.go begins them and record.go records responses; circuit.go is the circuit breaker of a connection;
// resolve.go and restored.go handle decisions of administrators and restored backups; states.go reads states.
//
// Work: queues.go finds due work of all kinds.
//
// Notifications: emit.go creates events and deliveries, event.go reads events, subscription.go has the destinations, delivery.go
// claims deliveries and records attempts; history.go, recent.go, notifications.go and undelivered.go read the results.
//
// Incoming e-invoices: purchase.go claims connections and retains documents; incoming.go and bodies.go read them.
//
// Accounts: account.go, user.go, password.go, sessions.go, limit.go, connection.go, reset.go, logo.go and overview.go.
//
// Evidence: evidence.go retains responses in chains (chain.go) that are sealed (seal.go, submission_seal.go); the files verify*.go and
// replay.go verify them, export*.go export them, anchor.go and evidence_record.go prove the age of a database, and seal_evidence.go
// seals older databases. audit.go is the audit log of administrators.
//
// Keys: keys.go seals and opens values, keyrecords.go records which keys the database uses, reseal.go and bind.go seal values anew.
//
// wire.go turns rows into types of package api. retention.go and limit.go remove what is old or expired.
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

// The errors that callers distinguish. All others are internal.
var (
	// ErrNotFound says that the tenant has no such row; the row of another tenant gives the same error.
	ErrNotFound = errors.New("not found")
	// ErrUnavailable says that the database as a whole cannot be used now: lost connection, full disk, read-only.
	ErrUnavailable = errors.New("database unavailable")
	// ErrLeaseLost says that another worker has claimed the work in the meantime.
	ErrLeaseLost = errors.New("lease lost")
	// ErrExists says that a row with the same unique value exists.
	ErrExists = errors.New("already exists")
)

// Options configure a store.
type Options struct {
	// Keys seals what must not be readable in the database. Nil opens a store that can only migrate.
	Keys *secret.Keyring
	// ReloadKeys reads the keys again when a value is sealed with an unknown one; nil if they cannot change.
	ReloadKeys func() (*secret.Keyring, error)
	// Existing makes [Open] return [ErrNoSchema] for a database without a schema instead of creating the schema.
	Existing bool
	// Now is the clock. If nil, it is the clock of the database on PostgreSQL, which all replicas share, and Local on SQLite.
	Now func() time.Time
	// Local is the clock of this machine; time.Now if nil.
	Local func() time.Time
	// Random is the source of identifiers, tokens and secrets; crypto/rand if nil.
	Random io.Reader
	// Log receives events that no caller gets as an error; slog.Default if nil.
	Log *slog.Logger
	// Quotas bound what one company may keep; the zero value sets no bounds.
	Quotas Quotas
	// Checkpoint is called at every point where a crash could leave work half done; nil in production.
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
	// migration is set by Open.
	migration Migration
	// unwritable is set if the last write failed with ErrUnavailable.
	unwritable atomic.Bool
	notifier   *notifier
	stop       context.CancelFunc
	done       sync.WaitGroup
}

// Open opens the database at address, sqlite:PATH or postgres://…, migrates its schema, and checks that the keys are those that
// it is sealed with: a [*KeyError] names a key that is missing or different.
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

// ErrNoSchema says that a database does not have the schema of this service.
var ErrNoSchema = errors.New("this database holds no quittance schema")

// schemaVersion returns the number of the latest migration of the database, or [ErrNoSchema].
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

// Migration says what [Open] did to the schema of a database.
type Migration struct {
	// Made reports that Open created the schema, Changed that it changed the version of the schema.
	Made, Changed bool
}

// Migration returns what [Open] did to the schema.
func (db *DB) Migration() Migration { return db.migration }

// OpenUnmigrated opens a database like [Open], but neither migrates its schema nor checks its keys.
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

// startClock sets the clock; see [Options]. It reads the clock of the database periodically until background ends.
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

// Close waits for the goroutines of the store and closes the database. The caller stops its workers first.
func (db *DB) Close() error {
	db.stop()
	db.done.Wait()
	return db.close()
}

// Migrate migrates the schema and fills columns that are derived from others. It does nothing if both are up to date.
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

// Ping checks whether the database can be read, for readiness. If the last write failed with [ErrUnavailable], Ping also tries
// to write, because a database on a full disk can still be read.
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

// migrate runs the migrations in the directory schema of source with goose, except those of the other engine, whose names end
// with other.
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

// now returns the time at the resolution of the database, a microsecond.
func (db *DB) now() time.Time { return db.clock().UTC().Truncate(time.Microsecond) }

// databaseClosed is the text of an error that database/sql returns after Close and does not export.
const databaseClosed = "sql: database is closed"

// classify wraps an error of the database in the exported error that describes it, and returns other errors as they are.
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

// micros and instant convert between a time and its column, in microseconds since 1970.
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
