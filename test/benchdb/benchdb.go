// Package benchdb works on the database of a benchmark without going through the store: it fills tables faster than API
// calls could, and measures the database itself.
//
// Invariant: besides view, this is the only package outside the store that knows its schema. What it knows is
// limited to the columns of invoices, invoice_summaries and tenants that drafts.go names and to the tables that size.go
// measures. The tests compare its rows with those that the store writes, column by column, and fail when the schema
// changes in a way that matters here. It must not be used on a database that anybody depends on.
//
// Start reading at [DB.FillDrafts].
package benchdb

import (
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
)

// DB is a database of the service. It may be open while the store has the same database open.
type DB struct {
	sql *sql.DB
	// path is the file of a SQLite database, and "" on PostgreSQL.
	path string
}

// errAddress does not repeat the address, which can contain a password.
var errAddress = errors.New("open the database of the benchmark: not the address of a database")

// Open opens an existing database at an address that the store accepts: sqlite:PATH or postgres://….
func Open(address string) (*DB, error) {
	path, isSQLite := strings.CutPrefix(address, "sqlite:")
	if !isSQLite {
		config, err := pgx.ParseConfig(address)
		if err != nil {
			return nil, errAddress
		}
		return &DB{sql: stdlib.OpenDB(*config)}, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, errAddress
	}
	query := url.Values{"_pragma": {"busy_timeout(15000)", "foreign_keys(1)"}, "_txlock": {"immediate"}}
	connector, err := sqlite.NewConnector((&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, errAddress
	}
	return &DB{sql: sql.OpenDB(connector), path: path}, nil
}

// Close closes the database.
func (db *DB) Close() error { return db.sql.Close() }

// isPostgres reports whether the database is part of a PostgreSQL server.
func (db *DB) isPostgres() bool { return db.path == "" }
