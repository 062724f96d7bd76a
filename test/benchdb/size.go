package benchdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Size is the space that a database takes up.
type Size struct {
	// Bytes is the size of everything: on SQLite the database file and its write-ahead log, on PostgreSQL the database
	// without the server's log.
	Bytes int64
	// HistoryBytes is the size of events, deliveries and attempts, including their indexes.
	HistoryBytes int64
}

// Size measures the database. On SQLite it reads every page.
func (db *DB) Size(ctx context.Context) (size Size, err error) {
	if db.isPostgres() {
		err = db.sql.QueryRowContext(ctx, `select pg_database_size(current_database()), pg_total_relation_size('events') +
			pg_total_relation_size('deliveries') + pg_total_relation_size('attempts')`).Scan(&size.Bytes, &size.HistoryBytes)
	} else if size.Bytes, err = fileSizes(db.path, db.path+"-wal"); err == nil {
		err = db.sql.QueryRowContext(ctx, `select coalesce(sum(pgsize), 0) from dbstat where aggregate = 1 and name in
			(select name from sqlite_schema where tbl_name in ('events', 'deliveries', 'attempts'))`).Scan(&size.HistoryBytes)
	}
	if err != nil {
		return Size{}, fmt.Errorf("size of the database: %w", err)
	}
	return size, nil
}

// fileSizes returns the sum of the sizes of the files that exist.
func fileSizes(names ...string) (sum int64, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return 0, err
		default:
			sum += info.Size()
		}
	}
	return sum, nil
}

// WrittenLog returns how many bytes of write-ahead log (WAL) the database server has written so far, for all of its
// databases. It is 0 for SQLite, whose log is written over again.
func (db *DB) WrittenLog(ctx context.Context) (bytes int64, err error) {
	if !db.isPostgres() {
		return 0, nil
	}
	if err := db.sql.QueryRowContext(ctx,
		"select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").Scan(&bytes); err != nil {
		return 0, fmt.Errorf("position of the write-ahead log: %w", err)
	}
	return bytes, nil
}

// ServerPID returns the process of the database server that serves this connection, as the server's machine numbers it.
// It is 0 for SQLite, which has no server.
func (db *DB) ServerPID(ctx context.Context) (pid int, err error) {
	if !db.isPostgres() {
		return 0, nil
	}
	if err := db.sql.QueryRowContext(ctx, "select pg_backend_pid()").Scan(&pid); err != nil {
		return 0, fmt.Errorf("process of the database server: %w", err)
	}
	return pid, nil
}

// Durable reports whether a commit is on the disk when it is acknowledged, according to the settings of the database.
func (db *DB) Durable(ctx context.Context) (durable bool, err error) {
	if !db.isPostgres() {
		return true, nil // the store commits with synchronous=FULL
	}
	err = db.sql.QueryRowContext(ctx,
		"select current_setting('fsync') = 'on' and current_setting('synchronous_commit') <> 'off'").Scan(&durable)
	if err != nil {
		return false, fmt.Errorf("durability of the database: %w", err)
	}
	return durable, nil
}
