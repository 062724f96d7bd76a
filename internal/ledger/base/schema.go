package base

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"quittance/internal/ledger/schema"
	"quittance/internal/platform/problem"
)

// SchemaUse says what [ledger.Open] may do to the schema of a database.
type SchemaUse int

const (
	// MakeSchema creates the schema of a database without one, and updates an older one.
	MakeSchema SchemaUse = iota
	// UpdateSchema updates an older schema; a database without one gives [ErrNoSchema].
	UpdateSchema
	// KeepSchema does not change the schema: a database without one gives [ErrNoSchema], and an older one
	// [ledger.ErrOlderSchema].
	KeepSchema
)

// ErrNoSchema says that a database does not have the schema of this service.
var ErrNoSchema = errors.New("this database holds no quittance schema")

// Migration says from which version to which [ledger.Open] has brought the schema of a database. From is 0 for a
// database that had none.
type Migration struct{ From, To int64 }

// SchemaVersion returns the number of the latest migration of the database, or [ErrNoSchema].
func (db *DB) SchemaVersion(ctx context.Context) (version int64, err error) {
	switch found, err := db.database.HasTable(ctx, "settings"); {
	case err != nil:
		return 0, err
	case !found:
		return 0, ErrNoSchema
	}
	return db.database.SchemaVersion(ctx)
}

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

// CheckRelease returns [ErrLaterRelease] if the database says that this program cannot use its schema.
func (db *DB) CheckRelease(ctx context.Context) error {
	var text string
	if err := db.reader.QueryRowContext(ctx, leastMigration, settingLeastMigration).Scan(&text); err != nil {
		return db.Classify(err)
	}
	least, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("setting %s: %w", settingLeastMigration, err)
	}
	latest, err := schema.Newest("")
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
