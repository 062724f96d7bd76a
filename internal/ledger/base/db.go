package base

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	sqldb "quittance/internal/platform/db"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/secret"
)

// The errors that callers distinguish. All others are internal.
var (
	// ErrNotFound says that the tenant has no such row; the row of another tenant gives the same error.
	ErrNotFound = sqldb.ErrNotFound
	// ErrUnavailable says that the database as a whole cannot be used now: lost connection, full disk, read-only.
	ErrUnavailable = sqldb.ErrUnavailable
	// ErrLeaseLost says that another worker has claimed the work in the meantime.
	ErrLeaseLost = errors.New("lease lost")
	// ErrExists says that a row with the same unique value exists.
	ErrExists = problem.Local("exists", http.StatusConflict, "already exists")
)

// Options configure the opening of a database.
type Options struct {
	// Keys seals what must not be readable in the database. Nil opens a database that can only be migrated.
	Keys *secret.Keyring
	// ReloadKeys reads the keys again when a value is sealed with an unknown one; nil if they cannot change.
	ReloadKeys func() (*secret.Keyring, error)
	// Schema says what [ledger.Open] may do to the schema.
	Schema SchemaUse
	// Admit may refuse a database that [ledger.Open] has checked and not changed yet, and which may have an older schema
	// or none; nil refuses nothing.
	Admit func(ctx context.Context, db *DB) error
	// Release names this program in the entry of the audit log about a migration.
	Release string
	// Direct is [sqldb.Options.Direct], the address of PostgreSQL itself behind a connection pool.
	Direct string
	// Now is the clock. If nil, it is the clock of the database on PostgreSQL, which all replicas share, and Local on
	// SQLite.
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
	// ObserveWrite is [sqldb.Options.ObserveWrite].
	ObserveWrite func(ctx context.Context, operation string) (ended func(error))
	// Restoring lets [ledger.Open] open a database whose restore is not complete, for [ledger.Restore].
	Restoring bool
	// BeforeBegin is [sqldb.Options.BeforeBegin], for tests.
	BeforeBegin func() error
	// Trace is [sqldb.Options.Trace], for tests.
	Trace func(statement string, args []any)
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	database *sqldb.DB
	dialect  sqldb.Dialect
	reader   Querier
	keys     *Sealer
	random   io.Reader
	log      *slog.Logger
	quotas   Quotas
	packer   Packer
	// shared are the operations whose waiting writes share their statements; see [WriteShared].
	shared  map[SharedOperation]*sqldb.Shared
	sharing sync.Mutex
	// sessions looks up tokens, keySessions API keys.
	sessions, keySessions *sqldb.Lookups[[32]byte, Session]
	keyUses               uses[ID, apiKeyUse]
	sessionUses           uses[[32]byte, int64] // microseconds by digest
	limitedMails          atomic.Int64
	// Migrated is what [ledger.Open] did to the schema.
	Migrated Migration
	// Restoring is [Options.Restoring].
	Restoring bool
}

// The names of the sessions of PostgreSQL. OlderApplicationName is that of release 0.3.0, which does not seal who may
// act; see [ledger.SealAccess]. Every server keeps at least one session open, on which it listens.
const (
	applicationName      = "quittance-3"
	OlderApplicationName = "quittance-2"
)

// OpenUnmigrated opens a database like [ledger.Open], but neither migrates its schema nor checks its keys.
func OpenUnmigrated(ctx context.Context, address string, options Options) (*DB, error) {
	db := &DB{keys: &Sealer{keys: options.Keys, reload: options.ReloadKeys}, random: options.Random, log: options.Log,
		quotas: options.Quotas, Restoring: options.Restoring}
	database, err := sqldb.Open(ctx, address, sqldb.Options{
		Application: applicationName, Direct: options.Direct, Channel: "quittance_work", Now: options.Now,
		Local: options.Local, Log: options.Log, Checkpoint: options.Checkpoint, BeforeBegin: options.BeforeBegin,
		BeforeCommit: db.writeAtCommit, Trace: options.Trace, ObserveWrite: options.ObserveWrite,
		// As PostgreSQL names them.
		Indexes: map[string]string{
			"submissions.tenant_id, submissions.number": IndexSubmissionNumber, "users.email": "users_email_key",
			"users.account_id, users.email": "users_account_id_email_key", "connections.account_id": "connections_active",
			"sign_on_subjects.issuer, sign_on_subjects.subject": "sign_on_subjects_issuer_subject_key",
		},
	})
	if err != nil {
		return nil, err
	}
	db.database, db.dialect, db.reader = database, database.Dialect(), database.Reader()
	if db.random == nil {
		db.random = rand.Reader
	}
	if db.log == nil {
		db.log = slog.Default()
	}
	db.shared = map[SharedOperation]*sqldb.Shared{}
	db.sessions, db.keySessions = sqldb.NewLookups(database, db.findSessions), sqldb.NewLookups(database,
		db.findKeySessions)
	return db, nil
}

// Pools returns the numbers of the pools of connections to the database.
func (db *DB) Pools() []sqldb.Pool { return db.database.Pools() }

// Ping checks whether the database can be read, for readiness. It returns [ErrLaterRelease] after a later release has
// migrated the database to a schema that this program cannot use. If the last write failed with [ErrUnavailable], Ping
// also tries to write, because a database on a full disk can still be read.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.CheckRelease(ctx); err != nil {
		return err
	}
	if !db.database.WriteFailed() {
		return nil
	}
	return db.Write(ctx, "try to write", func(ctx context.Context, t *Tx) error {
		_, err := t.Exec(ctx,
			`insert into settings (key, value) values ('written_at', $1) on conflict (key) do update set value = excluded.value`,
			strconv.FormatInt(Micros(t.Now()), 10))
		return err
	})
}

// Micros and [Instant] convert between a time and its column, in microseconds since 1970.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Instant is the reverse of [Micros].
func Instant(us int64) time.Time { return time.UnixMicro(us).UTC() }

// InstantOrNil is [Instant] for a column that may be null.
func InstantOrNil(us sql.Null[int64]) *time.Time {
	if !us.Valid {
		return nil
	}
	return new(Instant(us.V))
}

// NumberOrNil returns the number of a column that may be null.
func NumberOrNil(n sql.Null[int64]) *int64 {
	if !n.Valid {
		return nil
	}
	return &n.V
}

// TextOrNil returns the text of a column that may be null.
func TextOrNil(text sql.Null[string]) *string {
	if !text.Valid {
		return nil
	}
	return &text.V
}

// Flag returns the column of a boolean: 0 or 1.
func Flag(on bool) int64 {
	if on {
		return 1
	}
	return 0
}
