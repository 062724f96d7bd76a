package store

import "context"

// Footprint is what a database takes up.
type Footprint struct {
	// Bytes is the size of everything: on SQLite the file as it stands and its write-ahead log, on PostgreSQL the database
	// without the server's log.
	Bytes int64
	// HistoryBytes is what events, deliveries and attempts take up, indexes included.
	HistoryBytes int64
}

// Footprint measures the database. On SQLite it reads every page.
func (db *DB) Footprint(ctx context.Context) (Footprint, error) {
	found, err := db.footprint(ctx)
	return found, db.fail(err)
}

// BackendPID is the process of the database server that answered, in the numbering of the server's machine; 0 when the
// database is part of this process.
func (db *DB) BackendPID(ctx context.Context) (pid int, err error) {
	if db.backendPID != nil {
		pid, err = db.backendPID(ctx)
	}
	return pid, db.fail(err)
}

// Durable tells whether a commit is on the disk when it is acknowledged, as far as the settings of the database say.
func (db *DB) Durable(ctx context.Context) (durable bool, err error) {
	if db.durable == nil {
		return true, nil
	}
	durable, err = db.durable(ctx)
	return durable, db.fail(err)
}
