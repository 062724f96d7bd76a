package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"
)

// SchemaUse says what [Open] may do to the schema of a database.
type SchemaUse int

const (
	// MakeSchema creates the schema of a database without one, and updates an older one.
	MakeSchema SchemaUse = iota
	// UpdateSchema updates an older schema; a database without one gives [ErrNoSchema].
	UpdateSchema
	// KeepSchema changes nothing: a database without a schema gives [ErrNoSchema], and an older one [ErrOlderSchema].
	KeepSchema
)

// ErrNoSchema says that a database does not have the schema of this service.
var ErrNoSchema = errors.New("this database holds no quittance schema")

// ErrOlderSchema says that a database has the schema of an earlier release, which the caller may not update.
var ErrOlderSchema = errors.New("this database has the schema of an earlier release")

// Migration says from which version to which [Open] has brought the schema of a database. From is 0 for a database that
// had none.
type Migration struct{ From, To int64 }

// Migration returns what [Open] did to the schema.
func (db *DB) Migration() Migration { return db.migration }

// prepare brings the schema up to date as far as the options allow, and takes the keys into use. Nothing is changed
// before everything is checked that can refuse the database.
func (db *DB) prepare(ctx context.Context, options Options) error {
	if err := db.refuseRestoring(ctx); err != nil {
		return err
	}
	before, err := db.admit(ctx, options)
	if err != nil {
		return err
	}
	db.migration = Migration{before, before}
	recorded := before
	if options.Schema == KeepSchema {
		err = db.complete(ctx)
	} else {
		recorded, err = db.update(ctx, before)
	}
	if err != nil {
		return err
	}
	if err := db.openKeys(ctx); err != nil {
		return err
	}
	if err := db.recordMigration(ctx, recorded, options.Release); err != nil {
		return err
	}
	return db.beginEvidence(ctx)
}

// admit returns the version of the schema, 0 if there is none, or an error if the options, the release or the keys do
// not fit the database.
func (db *DB) admit(ctx context.Context, options Options) (version int64, err error) {
	version, err = db.schemaVersion(ctx)
	if err != nil && (options.Schema != MakeSchema || !errors.Is(err, ErrNoSchema)) {
		return 0, err
	}
	if version > 0 {
		if err := db.checkRelease(ctx); err != nil {
			return 0, err
		}
		latest, err := latestMigration(schema, "")
		if err != nil {
			return 0, err
		}
		if version < latest && options.Schema == KeepSchema {
			return 0,
				fmt.Errorf(
					"%w: it has version %d, and this program needs version %d; run quittance migrate, or start a server of this release. "+
						"Until then, use the commands of the release that serves the database", ErrOlderSchema, version, latest)
		}
		if err := db.refuseKeys(ctx); err != nil {
			return 0, err
		}
	}
	if options.Admit != nil {
		return version, options.Admit(ctx, db)
	}
	return version, nil
}

// refuseKeys returns a [*KeyError] for keys that are not those of a database whose schema may be older than this
// program.
func (db *DB) refuseKeys(ctx context.Context) error {
	keys, err := db.keys.current()
	if err != nil {
		return nil //nolint:nilerr // the store was opened without keys
	}
	if found, err := db.database.HasTable(ctx, "sealing_keys"); err != nil || !found {
		return err
	}
	records, err := db.keyRecords(ctx)
	if err != nil {
		return err
	}
	_, _, err = records.fit(keys)
	return err
}

// update migrates the database from the version before, and waits while another process does. It returns the version
// that the audit log knows.
func (db *DB) update(ctx context.Context, before int64) (recorded int64, err error) {
	begun := db.Now()
	if recorded, err = db.announceMigration(ctx, before); err != nil {
		return 0, err
	}
	if err := db.Migrate(ctx); err != nil {
		return 0, err
	}
	// A restore that began meanwhile has found the tables, or is found here.
	if err := db.refuseRestoring(ctx); err != nil {
		return 0, err
	}
	if db.migration.To, err = db.schemaVersion(ctx); err != nil {
		return 0, err
	}
	if db.migration.To != before {
		db.log.InfoContext(ctx, "the schema of the database is up to date", "from", before, "to", db.migration.To,
			"took", db.Now().Sub(begun).Round(time.Millisecond))
	}
	return recorded, nil
}

// settingSchema is the setting whose value is the version of the schema that the latest entry database.migrate of the
// audit log names. It is written before the first migration, so that an entry which a crash has prevented is made by
// the next [Open].
const settingSchema = "recorded_schema"

// announceMigration returns the value of [settingSchema]. If it is not set and there is something to migrate, it is set
// to before.
func (db *DB) announceMigration(ctx context.Context, before int64) (recorded int64, err error) {
	latest, err := latestMigration(schema, "")
	if err != nil || before == 0 {
		return 0, err
	}
	var text string
	err = db.reader.QueryRowContext(ctx, `select value from settings where key = $1`, settingSchema).Scan(&text)
	switch {
	case err == nil:
		return strconv.ParseInt(text, 10, 64)
	case !errors.Is(err, sql.ErrNoRows):
		return 0, db.classify(err)
	case before >= latest:
		return before, nil
	}
	return before, db.write(ctx, "announce migration", func(ctx context.Context, t *tx) error {
		_, err := t.Exec(ctx, `insert into settings (key, value) values ($1, $2) on conflict (key) do nothing`, settingSchema,
			strconv.FormatInt(before, 10))
		return err
	})
}

// recordMigration writes the entry of the audit log for the migrations since the version from, unless another process
// has done so.
func (db *DB) recordMigration(ctx context.Context, from int64, release string) error {
	if _, err := db.keys.current(); err != nil || from == db.migration.To {
		return nil //nolint:nilerr // without keys there is no audit log
	}
	to := strconv.FormatInt(db.migration.To, 10)
	return db.write(ctx, "record migration", func(ctx context.Context, t *tx) error {
		changed, err := t.Exec(ctx, `insert into settings (key, value) values ($1, $2)
			on conflict (key) do update set value = excluded.value where settings.value <> excluded.value`, settingSchema, to)
		if err != nil || changed == 0 {
			return err
		}
		return t.audit(Act{Name: "database.migrate", SubjectType: "database",
			Details: map[string]string{"from": strconv.FormatInt(from, 10), "to": to, "version": release}})
	})
}

// refuseRestoring returns [ErrRestoring] for a database whose restore is not complete.
func (db *DB) refuseRestoring(ctx context.Context) error {
	restoring, err := db.database.Restoring(ctx)
	if err == nil && restoring && !db.restoring {
		err = ErrRestoring
	}
	return err
}

// schemaVersion returns the number of the latest migration of the database, or [ErrNoSchema].
func (db *DB) schemaVersion(ctx context.Context) (version int64, err error) {
	switch found, err := db.database.HasTable(ctx, "settings"); {
	case err != nil:
		return 0, err
	case !found:
		return 0, ErrNoSchema
	}
	return db.database.SchemaVersion(ctx)
}

// Migrate migrates the schema and fills columns that are derived from others. It does nothing if both are up to date.
func (db *DB) Migrate(ctx context.Context) error {
	files, err := fs.Sub(schema, "schema")
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if err := db.database.Migrate(ctx, files); err != nil {
		return err
	}
	return db.complete(ctx)
}

// complete fills columns that are derived from others, where an older release has written the rows.
func (db *DB) complete(ctx context.Context) error {
	if _, err := db.Summarize(ctx); err != nil {
		return err
	}
	_, err := db.CountInvoices(ctx)
	return err
}
