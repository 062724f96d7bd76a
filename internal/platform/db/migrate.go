package db

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"math"

	"github.com/pressly/goose/v3"
)

// Migrate runs the migrations in the files of source that have not run yet, one process at a time. A file whose name
// ends with _sqlite.sql or _postgres.sql is for that engine only.
func (d *DB) Migrate(ctx context.Context, source fs.FS) error {
	return d.MigrateTo(ctx, source, latestVersion)
}

// MigrateTo is [DB.Migrate] up to the migration with the number version.
func (d *DB) MigrateTo(ctx context.Context, source fs.FS, version int64) error {
	return d.engine.migrate(ctx, source, version)
}

// HasTable reports whether the database has a table with that name.
func (d *DB) HasTable(ctx context.Context, name string) (bool, error) {
	found, err := d.engine.hasTable(ctx, name)
	return found, d.Classify(err)
}

// SchemaVersion returns the number of the latest migration of a database that has been migrated.
func (d *DB) SchemaVersion(ctx context.Context) (version int64, err error) {
	err = d.Reader().QueryRowContext(ctx, `select coalesce(max(version_id), 0) from goose_db_version`).Scan(&version)
	return version, d.Classify(err)
}

// latestVersion is the version up to which all migrations are run.
const latestVersion = math.MaxInt64

// migrate runs the migrations of source up to version with goose, except those of the other engine, whose names end
// with other.
func migrate(ctx context.Context, dialect goose.Dialect, pool *sql.DB, source fs.FS, version int64, other string,
	options ...goose.ProviderOption) error {
	others, err := fs.Glob(source, "*"+other)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	options = append(options, goose.WithExcludeNames(others), goose.WithLogger(goose.NopLogger()))
	provider, err := goose.NewProvider(dialect, pool, source, options...)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if _, err := provider.UpTo(ctx, version); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}
