package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"quittance/internal/platform/files"
)

// ErrBackup says that the database is not one file; see package dbcopy.
var ErrBackup = errors.New(
	"a PostgreSQL database cannot be copied to one file: use --to PLACE, or its own means, such as pg_dump or continuous archiving")

// Backup writes a copy of the database to a new file, which only its owner may read, while servers are running. The
// copy contains every commit whole or not at all. Backup returns when the copy is on the disk. It does not overwrite an
// existing file, and returns [ErrBackup] on PostgreSQL.
func (d *DB) Backup(ctx context.Context, path string) error {
	err := d.engine.backup(ctx, path)
	if err == nil || errors.Is(err, ErrBackup) {
		return err
	}
	return fmt.Errorf("backup: %w", d.Classify(err))
}

func (e *sqliteEngine) backup(ctx context.Context, path string) (err error) {
	file, err := files.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = errors.Join(err, os.Remove(path)) // an incomplete copy is useless
		}
	}()
	if _, err := e.writer.ExecContext(ctx, "vacuum into $1", path); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return files.SyncDirectory(filepath.Dir(path))
}

func (*postgresEngine) backup(context.Context, string) error { return ErrBackup }
