package dbcopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"quittance/internal/platform/db"
)

// The errors of a copy and of its restore.
var (
	// ErrNotEmpty says that a database has content, which a restore never overwrites.
	ErrNotEmpty = errors.New(
		"the database is not empty, and a restore never overwrites anything: give it an empty database, or a file that does not exist")
	// ErrCopying says that another process copies the same database, or restores into it.
	ErrCopying = errors.New("another backup or restore of this database is running")
	// ErrCopy says that a copy does not contain what it claims to contain.
	ErrCopy = errors.New("the backup does not contain what it says")
)

// Copied says what a copy of a database contains.
type Copied struct {
	// Engine is "sqlite" or "postgres".
	Engine string `json:"engine"`
	// SchemaVersion is the number of the latest migration.
	SchemaVersion int64 `json:"schema_version"`
	// Tables are all tables, by name.
	Tables []CopiedTable `json:"tables"`
	// Sequences are the sequences of PostgreSQL; SQLite has none.
	Sequences []CopiedSequence `json:"sequences,omitempty"`
}

// CopiedTable is a table of a copy.
type CopiedTable struct {
	Name string `json:"name"`
	// Columns are those that the stream of the table has, in their order; only on PostgreSQL.
	Columns []string `json:"columns,omitempty"`
	Rows    int64    `json:"rows"`
}

// CopiedSequence is the state of a sequence of PostgreSQL.
type CopiedSequence struct {
	Name string `json:"name"`
	Last int64  `json:"last"`
	// Called reports that Last has been returned, so that the next value is the one after it.
	Called bool `json:"called"`
}

// Rows returns the number of rows of all tables.
func (c Copied) Rows() (rows int64) {
	for _, table := range c.Tables {
		rows += table.Rows
	}
	return rows
}

// Out copies the whole database, as of one moment, while servers run. It opens one stream after the other, writes its
// content and closes it: on PostgreSQL a stream for each table, with its name and in the text format of COPY; on SQLite
// one stream named "database", which is a database file. Memory does not grow with the database. SQLite needs free
// space of the size of the database beside its file. It returns [db.ErrRestoring] and [ErrCopying].
func Out(ctx context.Context, d *db.DB, open func(stream string) (io.WriteCloser, error)) (copied Copied, err error) {
	if server := d.Server(); server != nil {
		copied, err = outPostgres(ctx, server, open)
	} else {
		copied, err = outSQLite(ctx, d, open)
	}
	if err != nil {
		return Copied{}, fmt.Errorf("copy the database: %w", d.Classify(err))
	}
	return copied, nil
}

// Restore restores a copy into the database at address, which must be empty on PostgreSQL and must not exist on SQLite.
// direct is [db.Options.Direct]. It creates the schema of the copy's version with the migrations of source, loads the
// streams that read opens, and compares the result with copied. Then it calls finish with the address of the loaded
// database, which nobody else uses yet: finish must not keep it open.
//
// Until all of that is done, the database is unusable: on PostgreSQL [db.DB.Restoring] reports true, and on SQLite the
// file does not exist under its name. After an interruption at any moment, Restore starts over. It returns
// [ErrNotEmpty], [ErrCopying] and [ErrCopy].
func Restore(ctx context.Context, address, direct string, source fs.FS, copied Copied,
	read func(stream string) (io.Reader, error), finish func(address string) error) error {
	engine := "postgres"
	path, isSQLite := strings.CutPrefix(address, "sqlite:")
	if isSQLite {
		engine = "sqlite"
	}
	var err error
	switch {
	case !isSQLite && !db.IsPostgres(address), path == "":
		return errors.New("open database: want sqlite:PATH or postgres://…")
	case direct != "" && isSQLite:
		return db.ErrDirect
	case engine != copied.Engine:
		return fmt.Errorf("the backup is of a %s database and cannot be restored into a %s database", copied.Engine, engine)
	case isSQLite:
		err = restoreSQLite(ctx, path, copied, read, finish)
	default:
		err = restorePostgres(ctx, address, direct, source, copied, read, finish)
	}
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

// compareRows returns [ErrCopy] unless the restored tables are those of the copy.
func compareRows(want, got []CopiedTable) error {
	rows := make(map[string]int64, len(got))
	for _, table := range got {
		rows[table.Name] = table.Rows
	}
	for _, table := range want {
		restored, found := rows[table.Name]
		if !found {
			return fmt.Errorf("%w: the restored database has no table %s", ErrCopy, table.Name)
		}
		if restored != table.Rows {
			return fmt.Errorf("%w: table %s has %d rows instead of %d", ErrCopy, table.Name, restored, table.Rows)
		}
	}
	if len(want) != len(got) {
		return fmt.Errorf("%w: the restored database has %d tables instead of %d", ErrCopy, len(got), len(want))
	}
	return nil
}
