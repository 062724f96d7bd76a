package store

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"quittance/internal/problem"
)

// settingLeastMigration is the setting whose value is the number of a migration, in decimal digits: programs that do
// not have this migration must not use the database. A migration that drops something that an earlier release needs
// must set it, as
//
//	insert into settings (key, value) values ('least_migration', '61')
//	    on conflict (key) do update set value = excluded.value;
//
// with the last migration of the oldest release that works on its schema. Without the setting every release works.
const settingLeastMigration = "least_migration"

// ErrLaterRelease says that a later release has migrated the database to a schema that this program cannot use.
var ErrLaterRelease = problem.Setting("this database needs a later release")

// leastMigration reads the number that [settingLeastMigration] has, and 0 if it is not set.
const leastMigration = `select coalesce(max(value), '0') from settings where key = $1`

// checkRelease returns [ErrLaterRelease] if the database says that this program cannot use its schema.
func (db *DB) checkRelease(ctx context.Context) error {
	var text string
	if err := db.reader.QueryRowContext(ctx, leastMigration, settingLeastMigration).Scan(&text); err != nil {
		return db.classify(err)
	}
	least, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("setting %s: %w", settingLeastMigration, err)
	}
	latest, err := latestMigration(schema, "")
	if err != nil {
		return err
	}
	if least > latest {
		return fmt.Errorf(
			"%w: it must have migration %d, and the last migration of this program is %d; install the release that served the database last, "+
				"or restore a backup from before its upgrade", ErrLaterRelease, least, latest)
	}
	return nil
}

// latestMigration returns the highest number of a migration in the directory schema of source, without the files whose
// names end with others; "" for all.
func latestMigration(source fs.FS, others string) (latest int64, err error) {
	files, err := fs.Glob(source, "schema/*.sql")
	if err != nil {
		return 0, fmt.Errorf("migrations: %w", err)
	}
	for _, file := range files {
		if others != "" && strings.HasSuffix(file, others) {
			continue
		}
		number, _, _ := strings.Cut(strings.TrimPrefix(file, "schema/"), "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("migration %s: %w", file, err)
		}
		latest = max(latest, n)
	}
	return latest, nil
}
