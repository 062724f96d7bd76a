// Package store has all SQL of the business, except that of lists and pages. It keeps all data of the service in SQLite
// or PostgreSQL, with one schema and one set of statements for both; only the triggers that make evidence append-only
// exist in two versions.
//
// # Concepts
//
// A [*Tenant] is the data of one company, and the only access to it. This package alone creates one: for a valid token
// ([DB.Authenticate]), for claimed work, or for an administrator ([DB.Tenant]). Every operation on a company's data is
// a method of *Tenant, and none takes a tenant's identifier as an argument. What belongs to no tenant is a method of
// [DB]; unscoped.go lists all of that with reasons.
//
// One exported method is one transaction, called an operation. What belongs together (a state, its evidence, its
// events, their deliveries) is committed together or not at all. No write runs under the context of a request, because
// a client that disconnects must not interrupt one.
//
// The rows are also the queue of work: submissions, deliveries and purchase syncs have a due time and a lease. A worker
// claims due rows and works without a transaction. Only the holder of the lease decides what happens next and when; a
// response that a worker records after it has lost the lease is kept and merged all the same.
//
// Secrets are sealed (encrypted and authenticated) before they reach a row. Rows that describe work contain only
// identifiers.
//
// # Where to begin
//
// Read [Open], then tenant.go, then follow the creation of a draft: [Tenant.CreateInvoice] in invoice.go, and
// [writeShared] in database.go, behind which package db runs the transaction. The heart of the product is
// [Tenant.BeginSubmission] in submission_begin.go and [SubmissionLease.Record] in record.go.
//
// # Files
//
// The database: store.go opens it, migration.go brings its schema up to date, and database.go connects this package to
// package db, which runs the transactions. least_release.go refuses a database that only later releases can use. id.go,
// schema and servers.go are what their names say. reader.go lets internal/view select the rows of lists and pages.
//
// Invoices: invoice.go writes them, with summary.go for what lists show; invoice_read.go and invoice_row.go read them;
// deletion.go keeps lists numbered without gaps, and counters.go counts invoices for the overview. credit.go has credit
// notes, idempotent.go stored responses, quota.go what a company may keep.
//
// Submissions: submission.go reads them, submission_begin.go begins them, and record.go records responses;
// credit_submission.go has what is different for a credit note; circuit.go is the circuit breaker of a connection;
// resolve.go and restored.go handle decisions of administrators and restored backups; states.go reads states.
//
// Work: queues.go finds due work of all kinds.
//
// Notifications: emit.go creates events and deliveries, event.go reads events, subscription.go has the destinations,
// delivery.go claims deliveries and records attempts; delivery_record.go reads the results.
//
// Incoming e-invoices: purchase.go claims purchase syncs and retains documents; incoming.go reads them.
//
// Accounts: account.go, user.go, password.go, sessions.go, apikey.go, apikey_use.go, limit.go, connection.go, reset.go
// and overview.go.
//
// Operators: operator.go and operator_session.go.
//
// Who may act: access_seal.go seals the rows that decide it, access_set.go the set of companies, access_begin.go the
// rows of an older database; and access_verify.go and access_log.go verify them.
//
// Evidence: evidence.go retains responses in chains (chain.go) that are sealed (seal.go, submission_seal.go); the files
// verify*.go and replay.go verify them, export*.go export them, anchor.go and evidence_record.go prove the age of a
// database, and seal_evidence.go seals older databases. audit.go is the audit log of administrators.
//
// Keys: keys.go seals and opens values, keyrecords.go records which keys the database uses, reseal.go and bind.go seal
// values anew.
//
// retention.go and limit.go remove what is old or expired.
package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	base "quittance/internal/db"
	"quittance/internal/problem"
	"quittance/internal/secret"
)

//go:embed schema/*.sql
var schema embed.FS

// The errors that callers distinguish. All others are internal.
var (
	// ErrNotFound says that the tenant has no such row; the row of another tenant gives the same error.
	ErrNotFound = base.ErrNotFound
	// ErrUnavailable says that the database as a whole cannot be used now: lost connection, full disk, read-only.
	ErrUnavailable = base.ErrUnavailable
	// ErrLeaseLost says that another worker has claimed the work in the meantime.
	ErrLeaseLost = errors.New("lease lost")
	// ErrExists says that a row with the same unique value exists.
	ErrExists = problem.Local("exists", http.StatusConflict, "already exists")
)

// Options configure a store.
type Options struct {
	// Keys seals what must not be readable in the database. Nil opens a store that can only migrate.
	Keys *secret.Keyring
	// ReloadKeys reads the keys again when a value is sealed with an unknown one; nil if they cannot change.
	ReloadKeys func() (*secret.Keyring, error)
	// Schema says what [Open] may do to the schema.
	Schema SchemaUse
	// Admit may refuse a database that [Open] has checked and not changed yet, and which may have an older schema or none;
	// nil refuses nothing.
	Admit func(ctx context.Context, db *DB) error
	// Release names this program in the entry of the audit log about a migration.
	Release string
	// Direct is [base.Options.Direct], the address of PostgreSQL itself behind a connection pool.
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
	// ObserveWrite is [base.Options.ObserveWrite].
	ObserveWrite func(ctx context.Context, operation string) (ended func(error))
	// restoring lets [Open] open a database whose restore is not complete, for [Restore].
	restoring bool
	// beforeBegin is [base.Options.BeforeBegin], for tests.
	beforeBegin func() error
	// trace is [base.Options.Trace], for tests.
	trace func(statement string, args []any)
}

// DB is an open store. It is safe for concurrent use.
type DB struct {
	database *base.DB
	dialect  base.Dialect
	reader   querier
	keys     *sealer
	random   io.Reader
	log      *slog.Logger
	quotas   Quotas
	packer   packer
	// shared are the operations whose waiting writes share their statements; see [writeShared].
	shared map[string]*base.Shared
	// sessions looks up tokens, keySessions API keys.
	sessions, keySessions *base.Lookups[[32]byte, Session]
	keyUses               uses[ID, apiKeyUse]
	sessionUses           uses[[32]byte, int64] // microseconds by digest
	limitedMails          atomic.Int64
	// migration is set by Open.
	migration Migration
	// restoring is [Options.restoring].
	restoring bool
}

// Open opens the database at address, sqlite:PATH or postgres://…, brings its schema up to date as far as
// [Options.Schema] allows, and checks that the keys are those that it is sealed with: a [*KeyError] names a key that is
// missing or different. It returns [ErrLaterRelease] if a later release has migrated the database to a schema that this
// program cannot use, and [ErrRestoring] while a restore is not complete. Whatever refuses the database does so before
// anything in it is changed.
func Open(ctx context.Context, address string, options Options) (*DB, error) {
	db, err := OpenUnmigrated(ctx, address, options)
	if err != nil {
		return nil, err
	}
	if err := db.prepare(ctx, options); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if options.Schema != KeepSchema {
		if err := db.sealAccess(ctx, false); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, nil
}

// The names of the sessions of PostgreSQL. olderApplicationName is that of the versions that do not know bound secrets;
// see [DB.BindSecrets]. Every server keeps at least one session open, on which it listens.
const (
	applicationName      = "quittance-3"
	olderApplicationName = "quittance"
)

// olderApplicationNames are those of the versions that do not seal who may act; see [DB.SealAccess].
func olderApplicationNames() []string { return []string{olderApplicationName, "quittance-2"} }

// draftGroups is the number of groups in which drafts are committed at the same time. A company whose counter is locked
// for long delays only the drafts of its own group.
const draftGroups = 4

// OpenUnmigrated opens a database like [Open], but neither migrates its schema nor checks its keys.
func OpenUnmigrated(ctx context.Context, address string, options Options) (*DB, error) {
	db := &DB{keys: &sealer{keys: options.Keys, reload: options.ReloadKeys}, random: options.Random, log: options.Log,
		quotas: options.Quotas, restoring: options.restoring}
	database, err := base.Open(ctx, address, base.Options{
		Application: applicationName, Direct: options.Direct, Channel: "quittance_work", Now: options.Now,
		Local: options.Local, Log: options.Log, Checkpoint: options.Checkpoint, BeforeBegin: options.beforeBegin,
		BeforeCommit: db.writeAtCommit, Trace: options.trace, ObserveWrite: options.ObserveWrite,
		// As PostgreSQL names them.
		Indexes: map[string]string{
			"submissions.tenant_id, submissions.number": indexSubmissionNumber, "users.email": "users_email_key",
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
	// Drafts, because all drafts of a company wait for the counter in its row; attempts, because they come by the thousand
	// and lock no row that others hold for long.
	db.shared = map[string]*base.Shared{opCreateInvoice: database.Share(opCreateInvoice, draftGroups),
		opRecordAttempt: database.Share(opRecordAttempt, 1)}
	db.sessions, db.keySessions = base.NewLookups(database, db.findSessions), base.NewLookups(database, db.findKeySessions)
	return db, nil
}

// Pools returns the numbers of the pools of connections to the database.
func (db *DB) Pools() []base.Pool { return db.database.Pools() }

// Ping checks whether the database can be read, for readiness. It returns [ErrLaterRelease] after a later release has
// migrated the database to a schema that this program cannot use. If the last write failed with [ErrUnavailable], Ping
// also tries to write, because a database on a full disk can still be read.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.checkRelease(ctx); err != nil {
		return err
	}
	if !db.database.WriteFailed() {
		return nil
	}
	return db.write(ctx, "try to write", func(ctx context.Context, t *tx) error {
		_, err := t.Exec(ctx,
			`insert into settings (key, value) values ('written_at', $1) on conflict (key) do update set value = excluded.value`,
			strconv.FormatInt(micros(t.Now()), 10))
		return err
	})
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
