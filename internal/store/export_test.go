package store

import "database/sql"

// Writer is the store's own way to write, for tests that break it.
func (db *DB) Writer() *sql.DB { return db.writer }
