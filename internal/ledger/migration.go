package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/schema"
	"quittance/internal/platform/problem"
)

// ErrOlderSchema says that a database has the schema of an earlier release, which the caller may not update.
var ErrOlderSchema = errors.New("this database has the schema of an earlier release")

// ErrOldRelease says that a database has the schema of a release that this program cannot take it over from.
var ErrOldRelease = problem.Setting("this database was last served by a release before 0.3.0")

// prepare brings the schema up to date as far as the options allow, and takes the keys into use. Nothing is changed
// before everything is checked that can refuse the database.
func prepare(ctx context.Context, db *base.DB, options base.Options) error {
	if err := refuseRestoring(ctx, db); err != nil {
		return err
	}
	before, err := admit(ctx, db, options)
	if err != nil {
		return err
	}
	db.Migrated = base.Migration{From: before, To: before}
	recorded := before
	if options.Schema == base.KeepSchema {
		err = complete(ctx, db)
	} else {
		recorded, err = update(ctx, db, before)
	}
	if err != nil {
		return err
	}
	if err := openKeys(ctx, db); err != nil {
		return err
	}
	if err := recordMigration(ctx, db, recorded, options.Release); err != nil {
		return err
	}
	return db.BeginEvidence(ctx)
}

// admit returns the version of the schema, 0 if there is none, or an error if the options, the release or the keys do
// not fit the database.
func admit(ctx context.Context, db *base.DB, options base.Options) (version int64, err error) {
	version, err = db.SchemaVersion(ctx)
	if err != nil && (options.Schema != base.MakeSchema || !errors.Is(err, base.ErrNoSchema)) {
		return 0, err
	}
	if version > 0 {
		if err := db.CheckRelease(ctx); err != nil {
			return 0, err
		}
		if err := refuseOldRelease(ctx, db, version); err != nil {
			return 0, err
		}
		latest, err := schema.Newest("")
		if err != nil {
			return 0, err
		}
		if version < latest && options.Schema == base.KeepSchema {
			return 0,
				fmt.Errorf(
					"%w: it has version %d, and this program needs version %d; run quittance migrate, or start a server of this release. "+
						"Until then, use the commands of the release that serves the database", ErrOlderSchema, version, latest)
		}
		if err := refuseKeys(ctx, db); err != nil {
			return 0, err
		}
	}
	if options.Admit != nil {
		return version, options.Admit(ctx, db)
	}
	return version, nil
}

// refuseOldRelease returns [ErrOldRelease] for a database with the schema of a release before the baseline. A process
// that ended while it made the baseline leaves a lower version too, but without the last table of the baseline, which
// every release has: the migrations then continue where it ended.
func refuseOldRelease(ctx context.Context, db *base.DB, version int64) error {
	if version >= schema.Baseline {
		return nil
	}
	if old, err := db.SQL().HasTable(ctx, "attempts"); err != nil || !old {
		return err
	}
	return fmt.Errorf("%w: it has version %d; upgrade it with release 0.3.0 first", ErrOldRelease, version)
}

// refuseKeys returns a [*base.KeyError] for keys that are not those of a database whose schema may be older than this
// program.
func refuseKeys(ctx context.Context, db *base.DB) error {
	keys, err := db.Sealer().Current()
	if err != nil {
		return nil //nolint:nilerr // the database was opened without keys
	}
	if found, err := db.SQL().HasTable(ctx, "sealing_keys"); err != nil || !found {
		return err
	}
	records, err := db.KeyRecords(ctx)
	if err != nil {
		return err
	}
	_, _, err = records.Fit(keys)
	return err
}

// update migrates the database from the version before, and waits while another process does. It returns the version
// that the audit log knows.
func update(ctx context.Context, db *base.DB, before int64) (recorded int64, err error) {
	begun := db.Now()
	if recorded, err = announceMigration(ctx, db, before); err != nil {
		return 0, err
	}
	if err := Migrate(ctx, db); err != nil {
		return 0, err
	}
	// A restore that began meanwhile has found the tables, or is found here.
	if err := refuseRestoring(ctx, db); err != nil {
		return 0, err
	}
	if db.Migrated.To, err = db.SchemaVersion(ctx); err != nil {
		return 0, err
	}
	if db.Migrated.To != before {
		db.Log().InfoContext(ctx, "the schema of the database is up to date", "from", before, "to", db.Migrated.To,
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
func announceMigration(ctx context.Context, db *base.DB, before int64) (recorded int64, err error) {
	latest, err := schema.Newest("")
	if err != nil || before == 0 {
		return 0, err
	}
	var text string
	err = db.Querier().QueryRowContext(ctx, `select value from settings where key = $1`, settingSchema).Scan(&text)
	switch {
	case err == nil:
		return strconv.ParseInt(text, 10, 64)
	case !errors.Is(err, sql.ErrNoRows):
		return 0, db.Classify(err)
	case before >= latest:
		return before, nil
	}
	return before, db.Write(ctx, "announce migration", func(ctx context.Context, t *base.Tx) error {
		_, err := t.Exec(ctx, `insert into settings (key, value) values ($1, $2) on conflict (key) do nothing`, settingSchema,
			strconv.FormatInt(before, 10))
		return err
	})
}

// recordMigration writes the entry of the audit log for the migrations since the version from, unless another process
// has done so.
func recordMigration(ctx context.Context, db *base.DB, from int64, release string) error {
	if _, err := db.Sealer().Current(); err != nil || from == db.Migrated.To {
		return nil //nolint:nilerr // without keys there is no audit log
	}
	to := strconv.FormatInt(db.Migrated.To, 10)
	return db.Write(ctx, "record migration", func(ctx context.Context, t *base.Tx) error {
		changed, err := t.Exec(ctx, `insert into settings (key, value) values ($1, $2)
			on conflict (key) do update set value = excluded.value where settings.value <> excluded.value`, settingSchema, to)
		if err != nil || changed == 0 {
			return err
		}
		return t.Audit(base.Act{Name: "database.migrate", SubjectType: "database",
			Details: map[string]string{"from": strconv.FormatInt(from, 10), "to": to, "version": release}})
	})
}

// refuseRestoring returns [ErrRestoring] for a database whose restore is not complete.
func refuseRestoring(ctx context.Context, db *base.DB) error {
	restoring, err := db.SQL().Restoring(ctx)
	if err == nil && restoring && !db.Restoring {
		err = ErrRestoring
	}
	return err
}

// Migrate migrates the schema and fills columns that are derived from others. It does nothing if both are up to date.
func Migrate(ctx context.Context, db *base.DB) error {
	if err := db.SQL().Migrate(ctx, schema.Files()); err != nil {
		return err
	}
	return complete(ctx, db)
}

// complete fills columns that are derived from others, where an older release has written the rows.
func complete(ctx context.Context, db *base.DB) error {
	_, err := invoices.SummarizeMissing(ctx, db)
	return err
}
