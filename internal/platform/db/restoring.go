package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// RestoreMarker is a table that exists on PostgreSQL from before a restore creates the first table of the schema until
// the restore is complete. It has a row once the restore has found the database empty.
const RestoreMarker = "restore_in_progress"

// RestoringSuffix ends the name of a SQLite file that is being restored, until that is complete. An interrupted or
// failed restore leaves the file.
const RestoringSuffix = ".restoring"

// ErrRestoring says that a restore into this database has not ended, or was interrupted.
var ErrRestoring = errors.New(
	"a restore into this database is not complete: run quittance restore again, which starts over")

// Restoring reports whether a restore into this database has begun and not ended; [Open] refuses a SQLite file of
// which that is true.
func (d *DB) Restoring(ctx context.Context) (bool, error) { return d.HasTable(ctx, RestoreMarker) }

// refuseRestoring returns [ErrRestoring] if the file of a database does not exist because its restore is not complete.
func refuseRestoring(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // opening the file reports other errors
	}
	if _, err := os.Lstat(path + RestoringSuffix); err != nil {
		return nil //nolint:nilerr // there is no restore
	}
	return fmt.Errorf("%w (%s exists)", ErrRestoring, path+RestoringSuffix)
}
