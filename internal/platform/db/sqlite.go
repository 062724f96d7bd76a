package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"quittance/internal/platform/files"
)

// sqliteReaders is how many queries run beside the writer, and sqliteLists how many lists and searches run beside
// those. More would only compete for the processors.
const (
	sqliteReaders = 4
	sqliteLists   = 4
)

// sqliteEngine is a SQLite database. lists are the connections of lists and searches.
type sqliteEngine struct {
	sqliteDialect
	path                   string
	writer, readers, lists *sql.DB
}

// openSQLite opens the database file at path and creates it, with mode 0600, if it does not exist. If root creates it,
// it belongs to the owner of its directory, and so do the files beside it: SQLite gives its own files the owner of the
// database. It returns [ErrRestoring] if it is being restored.
func openSQLite(ctx context.Context, path string, options Options) (*sqliteEngine, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("database path: %w", err)
	}
	if err := refuseRestoring(path); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	file, err := files.OpenOrCreate(path)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	e := &sqliteEngine{path: path}
	// Keep statement journals, of which each savepoint has one, in memory: writing them to files took a tenth of the time
	// of a write. Sorting would be in memory too, so migrations, which build indexes, have a connection of their own.
	if e.writer, err = e.open(url.Values{"_pragma": {"temp_store(memory)"}}, 1); err != nil {
		return nil, err
	}
	if e.readers, err = e.open(url.Values{"_pragma": {"query_only(1)"}}, sqliteReaders); err != nil {
		return nil, errors.Join(err, e.writer.Close())
	}
	if e.lists, err = e.open(url.Values{"_pragma": {"query_only(1)"}}, sqliteLists); err != nil {
		return nil, errors.Join(err, e.readers.Close(), e.writer.Close())
	}
	makeFilesPrivate(ctx, path, options.Log)
	return e, nil
}

// open returns a pool of connections with extra parameters.
func (e *sqliteEngine) open(extra url.Values, conns int) (*sql.DB, error) {
	// The page size applies to a new file: rows of about a kilobyte leave less of a page unused than with half the size.
	// The driver sets the journal mode, which fixes the page size, after the pragmas. A connection never makes the file:
	// an empty database in the place of one that was removed would mix with the copy that is put there.
	query := url.Values{"mode": {"rw"}, "_journal_mode": {"WAL"},
		"_pragma": {"busy_timeout(15000)", "page_size(8192)", "synchronous(FULL)", "foreign_keys(1)"}}
	for key, values := range extra {
		query[key] = append(query[key], values...)
	}
	path := filepath.ToSlash(e.path)
	if filepath.VolumeName(e.path) != "" {
		path = "/" + path // file:///C:/… (https://www.sqlite.org/uri.html)
	}
	connector, err := sqlite.NewConnector((&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	pool := sql.OpenDB(stmtCachingConnector{connector})
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	return pool, nil
}

func (*sqliteEngine) traits() traits {
	return traits{name: "sqlite", lists: sqliteLists, writers: 1, noWriteDeadline: true, singleServer: true}
}

func (e *sqliteEngine) reader() Querier { return sqlQuerier{e.readers} }

func (e *sqliteEngine) snapshot(ctx context.Context, fn func(ctx context.Context, q Querier) error) (err error) {
	tx, err := e.lists.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { // nothing was written: ending the transaction releases the connection
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			err = errors.Join(err, fmt.Errorf("rollback: %w", rollback))
		}
	}()
	return fn(ctx, sqlQuerier{tx})
}

func (e *sqliteEngine) begin(ctx context.Context) (transaction, error) {
	return beginSQLite(ctx, e.writer)
}

func (*sqliteEngine) replicas() *replicas { return nil }

func (e *sqliteEngine) close() error {
	return errors.Join(e.lists.Close(), e.readers.Close(), e.writer.Close())
}

// makeFilesPrivate removes the access of all users but the owner to the files of a database. It logs what it changed
// and what it could not change.
func makeFilesPrivate(ctx context.Context, path string, log *slog.Logger) {
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		tightened, err := files.MakePrivate(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			log.WarnContext(ctx, "others have access to a file of the database", "file", name, "error", err)
		case tightened:
			log.WarnContext(ctx, "other users had access to a database file: removed their permissions", "file", name)
		}
	}
}

func (e *sqliteEngine) hasTable(ctx context.Context, name string) (found bool, err error) {
	err = e.readers.QueryRowContext(ctx, "select count(*) > 0 from sqlite_schema where name = $1", name).Scan(&found)
	return found, err
}

// migrate migrates the database when no other process does, because goose reads the version before it begins.
func (e *sqliteEngine) migrate(ctx context.Context, source fs.FS, version int64) (err error) {
	file, err := files.OpenOrCreate(e.path + ".migrate")
	if err != nil {
		return fmt.Errorf("migration lock: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := files.Lock(file); err != nil {
		return fmt.Errorf("migration lock: %w", err)
	}
	// Begin write transactions immediate, for the reason that beginImmediate states.
	own, err := e.open(url.Values{"_txlock": {"immediate"}}, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	return migrate(ctx, goose.DialectSQLite3, own, source, version, "_postgres.sql")
}

func sqliteCode(err error) int {
	if failure, ok := errors.AsType[*sqlite.Error](err); ok {
		return failure.Code()
	}
	return sqlite3.SQLITE_OK
}

// violatedConstraint returns the columns of the unique index that err violates. It reads them from "constraint failed:
// UNIQUE constraint failed: a.b, a.c (2067)".
func (*sqliteEngine) violatedConstraint(err error) string {
	switch sqliteCode(err) {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
	default:
		return ""
	}
	text := err.Error()
	if at := strings.LastIndex(text, "constraint failed: "); at >= 0 {
		text = text[at+len("constraint failed: "):]
	}
	columns, _, _ := strings.Cut(text, " (")
	return columns
}

func (*sqliteEngine) isRetryable(error) bool { return false }

func (*sqliteEngine) isUnavailable(err error) bool {
	switch sqliteCode(err) & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN,
		sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_LOCKED:
		return true
	}
	return errors.Is(err, context.DeadlineExceeded)
}

func (e *sqliteEngine) lockForServing() (release func() error, err error) {
	return LockFile(e.path + ServerLockSuffix)
}

// ServerLockSuffix ends the name of the file beside a SQLite database that its server has locked; see [LockFile].
const ServerLockSuffix = ".lock"

func (e *sqliteEngine) file() string { return e.path }

func (*sqliteEngine) server() *pgx.ConnConfig { return nil }

func (*sqliteEngine) checkSessions(context.Context, *slog.Logger) error { return nil }

func (e *sqliteEngine) servedBy(context.Context, string) (bool, error) {
	release, err := e.lockForServing()
	if err != nil {
		return errors.Is(err, ErrAlreadyServed), nil
	}
	return false, release()
}

// LockFile locks a file exclusively until release is called or the process ends. It does not remove the file, because
// then two processes could lock two files of the same name. It returns [ErrAlreadyServed] if another process has the
// lock.
func LockFile(path string) (release func() error, err error) {
	file, err := files.OpenOrCreate(path)
	if err != nil {
		return nil, fmt.Errorf("lock database: %w", err)
	}
	if err := files.TryLock(file); errors.Is(err, files.ErrLocked) {
		return nil, errors.Join(ErrAlreadyServed, file.Close())
	} else if err != nil {
		return nil, fmt.Errorf("lock database: %w", errors.Join(err, file.Close()))
	}
	return file.Close, nil
}
