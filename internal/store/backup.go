package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"time"

	base "quittance/internal/db"
)

// Copied says what a copy of a database contains; see [base.Copied].
type Copied = base.Copied

// The errors of a copy and of its restore.
var (
	// ErrRestoring is [base.ErrRestoring].
	ErrRestoring = base.ErrRestoring
	// ErrNotEmpty is [base.ErrNotEmpty].
	ErrNotEmpty = base.ErrNotEmpty
	// ErrCopying is [base.ErrCopying].
	ErrCopying = base.ErrCopying
	// ErrCopy is [base.ErrCopy].
	ErrCopy = base.ErrCopy
)

// settingBackup is the time of the moment that the last successful backup shows, in microseconds.
const settingBackup = "backup_at"

// settingBackupIdentity is what [DB.BackupIdentity] returns.
const settingBackupIdentity = "backup_identity"

// BackupIdentity returns the random text of 26 letters and digits that the backups of this database carry. The first
// call makes it. A database that was restored or copied gets another one when that is recorded ([DB.MarkRestored]), so
// that none takes the backups of another for its own.
func (db *DB) BackupIdentity(ctx context.Context) (identity string, err error) {
	err = db.write(ctx, "identify database", func(ctx context.Context, t *tx) error {
		if _, err := t.Exec(ctx, `insert into settings (key, value) values ($1, $2) on conflict (key) do nothing`,
			settingBackupIdentity, rand.Text()); err != nil {
			return err
		}
		return t.QueryRowContext(ctx, `select value from settings where key = $1`, settingBackupIdentity).Scan(&identity)
	})
	return identity, err
}

// CopyOut copies the whole database while servers run; see [base.DB.CopyOut]. keys are the numbers of the keys that are
// needed to open what the copy has sealed.
func (db *DB) CopyOut(ctx context.Context, open func(stream string) (io.WriteCloser,
	error)) (copied Copied, keys []uint32, err error) {
	before, err := db.keyRecords(ctx)
	if err != nil {
		return Copied{}, nil, err
	}
	if copied, err = db.database.CopyOut(ctx, open); err != nil {
		return Copied{}, nil, err
	}
	after, err := db.keyRecords(ctx) // the copy has the records of a moment in between
	if err != nil {
		return Copied{}, nil, err
	}
	for _, record := range slices.Concat(before, after) {
		if !record.retired {
			keys = append(keys, record.id)
		}
	}
	slices.Sort(keys)
	return copied, slices.Compact(keys), nil
}

// RecordBackup records that a backup of the database as it was at a moment is complete, for [DB.LastBackup], and in the
// audit log under the name of the backup and the place that has it. audited is false if the audit log has no entry of
// it: without keys, or while the schema is older than this program.
func (db *DB) RecordBackup(ctx context.Context, at time.Time, name, place string) (audited bool, err error) {
	version, err := db.schemaVersion(ctx)
	if err != nil {
		return false, err
	}
	newest, err := newestSchema(db.Engine())
	if err != nil {
		return false, err
	}
	audited = db.Keys() != nil && version >= newest
	err = db.write(ctx, "record backup", func(ctx context.Context, t *tx) error {
		if _, err := t.Exec(ctx,
			`insert into settings (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value`,
			settingBackup, strconv.FormatInt(micros(at), 10)); err != nil || !audited {
			return err
		}
		return t.audit(Act{Name: "database.backup", SubjectType: "database",
			Details: map[string]string{"backup": name, "place": place}})
	})
	return audited && err == nil, err
}

// LastBackup returns the moment that the last recorded backup shows, or [ErrNotFound] if there is none.
func (db *DB) LastBackup(ctx context.Context) (time.Time, error) {
	var text string
	if err := db.reader.QueryRowContext(ctx, `select value from settings where key = $1`,
		settingBackup).Scan(&text); err != nil {
		return time.Time{}, db.classify(err)
	}
	us, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the setting %s: %w", settingBackup, err)
	}
	return instant(us), nil
}

// newestSchema returns the number of the latest migration that this program has for an engine.
func newestSchema(engine string) (int64, error) {
	return latestMigration(schema, map[string]string{"sqlite": "_postgres.sql", "postgres": "_sqlite.sql"}[engine])
}

// Restore restores a copy into a database that is empty or does not exist, updates its schema, and marks it as restored
// ([DB.MarkRestored]). The database is unusable until all of that is done; see [base.Restore]. backup is the name of
// the backup, for the audit log. It returns the number of open submissions.
func Restore(ctx context.Context, address string, options Options, copied Copied, backup string,
	read func(stream string) (io.Reader, error)) (open int64, err error) {
	newest, err := newestSchema(copied.Engine)
	if err != nil {
		return 0, err
	}
	if copied.SchemaVersion > newest {
		return 0,
			fmt.Errorf(
				"restore: the backup has version %d of the schema, and this program knows it up to %d: use the release that made the backup, or a later one", copied.SchemaVersion, newest)
	}
	files, err := fs.Sub(schema, "schema")
	if err != nil {
		return 0, err
	}
	options.restoring = true
	err = base.Restore(ctx, address, options.Direct, files, copied, read, func(address string) (err error) {
		db, err := Open(ctx, address, options)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		open, err = db.markRestored(ctx, map[string]string{"backup": backup})
		return err
	})
	return open, err
}
