package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/schema"
	sqldb "quittance/internal/platform/db"
	"quittance/internal/platform/dbcopy"
)

// Copied says what a copy of a database contains; see [dbcopy.Copied].
type Copied = dbcopy.Copied

// The errors of a copy and of its restore.
var (
	// ErrRestoring is [sqldb.ErrRestoring].
	ErrRestoring = sqldb.ErrRestoring
	// ErrNotEmpty is [dbcopy.ErrNotEmpty].
	ErrNotEmpty = dbcopy.ErrNotEmpty
	// ErrCopying is [dbcopy.ErrCopying].
	ErrCopying = dbcopy.ErrCopying
	// ErrCopy is [dbcopy.ErrCopy].
	ErrCopy = dbcopy.ErrCopy
)

// settingBackup is the time of the moment that the last successful backup shows, in microseconds.
const settingBackup = "backup_at"

// settingBackupIdentity is what [BackupIdentity] returns.
const settingBackupIdentity = "backup_identity"

// BackupIdentity returns the random text of 26 letters and digits that the backups of this database carry. The first
// call makes it. A database that was restored or copied gets another one when that is recorded ([MarkRestored]), so
// that none takes the backups of another for its own.
func BackupIdentity(ctx context.Context, db *base.DB) (identity string, err error) {
	err = db.Write(ctx, "identify database", func(ctx context.Context, t *base.Tx) error {
		if _, err := t.Exec(ctx, `insert into settings (key, value) values ($1, $2) on conflict (key) do nothing`,
			settingBackupIdentity, rand.Text()); err != nil {
			return err
		}
		return t.QueryRowContext(ctx, `select value from settings where key = $1`, settingBackupIdentity).Scan(&identity)
	})
	return identity, err
}

// CopyOut copies the whole database while servers run; see [dbcopy.Out]. keys are the numbers of the keys that
// are needed to open what the copy has sealed.
func CopyOut(ctx context.Context, db *base.DB, open func(stream string) (io.WriteCloser,
	error)) (copied Copied, keys []uint32, err error) {
	before, err := db.KeyRecords(ctx)
	if err != nil {
		return Copied{}, nil, err
	}
	version, err := db.SchemaVersion(ctx)
	if err != nil {
		return Copied{}, nil, err
	}
	if err := refuseOldRelease(ctx, db, version); err != nil {
		return Copied{}, nil, err // this program could not restore it
	}
	if copied, err = dbcopy.Out(ctx, db.SQL(), open); err != nil {
		return Copied{}, nil, err
	}
	after, err := db.KeyRecords(ctx) // the copy has the records of a moment in between
	if err != nil {
		return Copied{}, nil, err
	}
	for _, record := range slices.Concat(before, after) {
		if !record.Retired {
			keys = append(keys, record.ID)
		}
	}
	slices.Sort(keys)
	return copied, slices.Compact(keys), nil
}

// RecordBackup records that a backup of the database as it was at a moment is complete, for [LastBackup], and in the
// audit log under the name of the backup and the place that has it. audited is false if the audit log has no entry of
// it: without keys, or while the schema is older than this program.
func RecordBackup(ctx context.Context, db *base.DB, at time.Time, name, place string) (audited bool, err error) {
	version, err := db.SchemaVersion(ctx)
	if err != nil {
		return false, err
	}
	newest, err := schema.Newest(db.Engine())
	if err != nil {
		return false, err
	}
	audited = db.Keys() != nil && version >= newest
	err = db.Write(ctx, "record backup", func(ctx context.Context, t *base.Tx) error {
		if _, err := t.Exec(ctx,
			`insert into settings (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value`,
			settingBackup, strconv.FormatInt(base.Micros(at), 10)); err != nil || !audited {
			return err
		}
		return t.Audit(base.Act{Name: "database.backup", SubjectType: "database",
			Details: map[string]string{"backup": name, "place": place}})
	})
	return audited && err == nil, err
}

// LastBackup returns the moment that the last recorded backup shows, or [base.ErrNotFound] if there is none.
func LastBackup(ctx context.Context, db *base.DB) (time.Time, error) {
	var text string
	if err := db.Querier().QueryRowContext(ctx, `select value from settings where key = $1`,
		settingBackup).Scan(&text); err != nil {
		return time.Time{}, db.Classify(err)
	}
	us, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the setting %s: %w", settingBackup, err)
	}
	return base.Instant(us), nil
}

// Restore restores a copy into a database that is empty or does not exist, updates its schema, and marks it as restored
// ([MarkRestored]). The database is unusable until all of that is done; see [dbcopy.Restore]. backup is the name of
// the backup, for the audit log. It returns the number of open submissions.
func Restore(ctx context.Context, address string, options base.Options, copied Copied, backup string,
	read func(stream string) (io.Reader, error)) (open int64, err error) {
	newest, err := schema.Newest(copied.Engine)
	if err != nil {
		return 0, err
	}
	if copied.SchemaVersion > newest {
		return 0,
			fmt.Errorf(
				"restore: the backup has version %d of the schema, and this program knows it up to %d: use the release that made the backup, or a later one", copied.SchemaVersion, newest)
	}
	if copied.SchemaVersion < schema.Baseline {
		return 0, fmt.Errorf("restore: %w: it has version %d",
			ErrOldRelease, copied.SchemaVersion)
	}
	options.Restoring = true
	err = dbcopy.Restore(ctx, address, options.Direct, schema.Files(), copied, read, func(address string) (err error) {
		db, err := Open(ctx, address, options)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		open, err = markRestored(ctx, db, map[string]string{"backup": backup})
		return err
	})
	return open, err
}
