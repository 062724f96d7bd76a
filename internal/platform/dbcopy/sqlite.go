package dbcopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"quittance/internal/platform/db"
	"quittance/internal/platform/files"
)

// sqliteStream is the name of the only stream of a copy of a SQLite database.
const sqliteStream = "database"

// outSQLite copies the database to a file beside it and reads that. An interrupted copy leaves the file, which the next
// one replaces.
func outSQLite(ctx context.Context, d *db.DB,
	open func(stream string) (io.WriteCloser, error)) (copied Copied, err error) {
	release, err := lock(d.File() + ".backup")
	if err != nil {
		return Copied{}, err
	}
	defer func() { err = errors.Join(err, release()) }()
	at := d.File() + ".backup-copy"
	if err := removeSQLite(at); err != nil {
		return Copied{}, err
	}
	defer func() { err = errors.Join(err, removeSQLite(at)) }()
	if err := d.Backup(ctx, at); err != nil {
		return Copied{}, err
	}
	if copied, err = describeSQLite(ctx, at); err != nil {
		return Copied{}, err
	}
	file, err := os.Open(at)
	if err != nil {
		return Copied{}, err
	}
	defer file.Close() //nolint:errcheck // the file was only read
	to, err := open(sqliteStream)
	if err != nil {
		return Copied{}, err
	}
	if _, err := io.Copy(to, readUntil(ctx, file)); err != nil {
		return Copied{}, err
	}
	return copied, to.Close()
}

// contextReader ends with the error of its context.
type contextReader struct {
	ctx  context.Context //nolint:containedctx // the reader lives for one call
	from io.Reader
}

func readUntil(ctx context.Context, from io.Reader) io.Reader { return contextReader{ctx, from} }

// Read implements [io.Reader].
func (r contextReader) Read(into []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(into)
}

// lock is [db.LockFile] for what one process at a time may do: it returns [ErrCopying].
func lock(path string) (release func() error, err error) {
	if release, err = db.LockFile(path); errors.Is(err, db.ErrAlreadyServed) {
		return nil, ErrCopying
	}
	return release, err
}

// removeSQLite removes a database that nobody uses, with the files beside it.
func removeSQLite(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal", ".migrate"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// describeSQLite says what a database file contains, which nobody else uses.
func describeSQLite(ctx context.Context, path string) (copied Copied, err error) {
	opened, err := openFile(ctx, path)
	if err != nil {
		return Copied{}, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	q := opened.Reader()
	copied = Copied{Engine: "sqlite"}
	copied.Tables, err = db.Collect(ctx, q, func(row db.Row) (table CopiedTable, err error) {
		return table, row.Scan(&table.Name)
	},
		`select name from sqlite_schema where type = 'table' and name not like 'sqlite\_%' escape '\' order by name`)
	if err != nil {
		return Copied{}, err
	}
	for n := range copied.Tables {
		table := &copied.Tables[n]
		if err := q.QueryRowContext(ctx, `select count(*) from "`+strings.ReplaceAll(table.Name, `"`, `""`)+
			`"`).Scan(&table.Rows); err != nil {
			return Copied{}, err
		}
	}
	if copied.SchemaVersion, err = opened.SchemaVersion(ctx); err != nil {
		return Copied{}, err
	}
	return copied, nil
}

// openFile opens a database file that nobody else uses.
func openFile(ctx context.Context, path string) (*db.DB, error) {
	return db.Open(ctx, "sqlite:"+path, db.Options{Log: slog.New(slog.DiscardHandler)})
}

// restoreSQLite restores a copy beside path, and gives it its name at the end, if nothing has that name.
func restoreSQLite(ctx context.Context, path string, copied Copied, read func(stream string) (io.Reader, error),
	finish func(address string) error) (err error) {
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	release, err := lock(path + db.ServerLockSuffix) // the lock of a server
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} { // SQLite would apply an old log to the new file
		if _, err := os.Lstat(path + suffix); err == nil {
			return fmt.Errorf("%w: %s exists", ErrNotEmpty, path+suffix)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	at := path + db.RestoringSuffix
	if err := removeSQLite(at); err != nil { // of an interrupted restore
		return err
	}
	if err := writeFile(ctx, at, read); err != nil {
		return err
	}
	if err := checkSQLite(ctx, at, copied); err != nil {
		return err
	}
	if err := finish("sqlite:" + at); err != nil {
		return err
	}
	if err := publishSQLite(ctx, at, path); err != nil {
		return err
	}
	return removeSQLite(at)
}

// writeFile writes the stream of a copy to a new file.
func writeFile(ctx context.Context, path string, read func(stream string) (io.Reader, error)) (err error) {
	file, err := files.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	from, err := read(sqliteStream)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, readUntil(ctx, from)); err != nil {
		return err
	}
	return file.Sync()
}

// checkSQLite returns [ErrCopy] unless the file is an intact database with the content of the copy.
func checkSQLite(ctx context.Context, path string, copied Copied) (err error) {
	found, err := describeSQLite(ctx, path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCopy, err)
	}
	if found.SchemaVersion != copied.SchemaVersion {
		return fmt.Errorf("%w: the schema has version %d instead of %d", ErrCopy, found.SchemaVersion, copied.SchemaVersion)
	}
	if err := compareRows(copied.Tables, found.Tables); err != nil {
		return err
	}
	opened, err := openFile(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	var said string
	if err := opened.Reader().QueryRowContext(ctx, "pragma integrity_check(1)").Scan(&said); err != nil {
		return err
	}
	if said != "ok" {
		return fmt.Errorf("%w: %s", ErrCopy, said)
	}
	return nil
}

// publishSQLite gives the closed database at the path from its name, and never replaces a file of that name.
func publishSQLite(ctx context.Context, from, to string) (err error) {
	if err := foldLog(ctx, from); err != nil {
		return err
	}
	if err := os.Link(from, to); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s exists", ErrNotEmpty, to)
	} else if err != nil {
		return err
	}
	return files.SyncDirectory(filepath.Dir(to))
}

// foldLog moves what is still in the log of a database into its file, which is then complete without the log.
func foldLog(ctx context.Context, path string) (err error) {
	opened, err := openFile(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	var busy, logged, folded int64
	if err := opened.Reader().QueryRowContext(ctx, "pragma wal_checkpoint(truncate)").Scan(&busy, &logged,
		&folded); err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("the restored database is in use")
	}
	return nil
}
