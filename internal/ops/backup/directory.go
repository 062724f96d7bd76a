package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"quittance/internal/platform/files"
)

// Directory is a place on this machine, or one that is mounted on it.
type Directory struct {
	path string
	sync func(directory string) error // makes the entries of a directory durable
}

// OpenDirectory returns the directory at path as a place. It need not exist: the first backup creates it, for its owner
// only.
func OpenDirectory(path string) (Directory, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Directory{}, fmt.Errorf("the directory of backups: %w", err)
	}
	return Directory{path: path, sync: files.SyncDirectory}, nil
}

// String implements [Place].
func (d Directory) String() string { return d.path }

// Names implements [Place].
func (d Directory) Names(context.Context) ([]string, error) {
	entries, err := os.ReadDir(d.path) // sorted
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		if entry.IsDir() && namePattern.MatchString(entry.Name()) {
			found = append(found, entry.Name())
		}
	}
	return found, nil
}

// Files implements [Place].
func (d Directory) Files(_ context.Context, backup string) (map[string]int64, error) {
	entries, err := os.ReadDir(filepath.Join(d.path, backup))
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]int64{}, nil
	}
	if err != nil {
		return nil, err
	}
	sizes := make(map[string]int64, len(entries))
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			sizes[entry.Name()] = info.Size()
		}
	}
	return sizes, nil
}

// unfinished is the suffix of a file that is being written.
const unfinished = ".tmp"

// Put implements [Place].
func (d Directory) Put(ctx context.Context, backup, file string, content []byte) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	dir := filepath.Join(d.path, backup)
	if err := d.create(dir); err != nil {
		return err
	}
	path := filepath.Join(dir, file)
	if err := os.Remove(path + unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an interrupted call
		return err
	}
	to, err := files.Create(path + unfinished)
	if err != nil {
		return err
	}
	_, err = to.Write(content)
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return errors.Join(err, os.Remove(path+unfinished))
	}
	if err := os.Rename(path+unfinished, path); err != nil {
		return err
	}
	return d.sync(dir)
}

// create creates a directory with its parents unless it exists, and makes each that it creates durable.
func (d Directory) create(dir string) error {
	err := files.CreateDirectory(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.create(filepath.Dir(dir)); err != nil {
			return err
		}
		err = files.CreateDirectory(dir)
	}
	switch {
	case errors.Is(err, fs.ErrExist): // by an earlier part, or by one that is written now: the manifest waits for all
		return nil
	case err != nil:
		return err
	}
	return d.sync(filepath.Dir(dir))
}

// Get implements [Place].
func (d Directory) Get(ctx context.Context, backup, file string, most int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	from, err := files.OpenRegular(filepath.Join(d.path, backup, file))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s", ErrMissing, file)
	case errors.Is(err, files.ErrNotRegular):
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	case err != nil:
		return nil, err
	}
	defer from.Close() //nolint:errcheck // the file was only read
	return readAtMost(from, file, most)
}

// readAtMost reads a file of at most most bytes, and returns [ErrDamaged] for a larger one.
func readAtMost(from io.Reader, file string, most int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(from, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > most {
		return nil, fmt.Errorf("%w: %s has more than the expected %d bytes", ErrDamaged, file, most)
	}
	return content, nil
}

// Remove implements [Place]. It also removes what an interrupted [Directory.Put] has left, and the directory of the
// backup when that is empty.
func (d Directory) Remove(_ context.Context, backup string, names []string) error {
	dir := filepath.Join(d.path, backup)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), unfinished) {
			names = append(names, entry.Name())
		}
	}
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := d.sync(dir); err != nil {
		return err
	}
	if entries, err = os.ReadDir(dir); err != nil || len(entries) > 0 {
		return err
	}
	if err := os.Remove(dir); err != nil {
		return err
	}
	return d.sync(d.path)
}
