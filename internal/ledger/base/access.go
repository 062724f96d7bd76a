package base

import (
	"io"
	"log/slog"

	sqldb "quittance/internal/platform/db"
)

// What the packages of the ledger need of the database. No other package may use it, which a test holds.

// SQL is the database under the ledger, which runs the transactions.
func (db *DB) SQL() *sqldb.DB { return db.database }

// Dialect has the SQL that differs between the engines.
func (db *DB) Dialect() sqldb.Dialect { return db.dialect }

// Querier runs queries outside of transactions, each as of its own moment.
func (db *DB) Querier() Querier { return db.reader }

// Sealer seals and opens values.
func (db *DB) Sealer() *Sealer { return db.keys }

// Packer compresses what is stored.
func (db *DB) Packer() *Packer { return &db.packer }

// Random is the source of identifiers, tokens and secrets.
func (db *DB) Random() io.Reader { return db.random }

// Log receives events that no caller gets as an error.
func (db *DB) Log() *slog.Logger { return db.log }

// Quotas bound what one company may keep.
func (db *DB) Quotas() Quotas { return db.quotas }
