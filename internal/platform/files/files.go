// Package files has what the standard library lacks for files whose content must be private and durable, and for the
// exclusive use of files by one process.
//
// It keeps no state. Start reading at [MakePrivate].
package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrLocked means that another process has the lock of a file, or another handle of this one.
var ErrLocked = errors.New("the file is locked")

// ErrNotRegular means that something else than a regular file is in its place: a link, a pipe, a socket or a device.
var ErrNotRegular = errors.New("not a regular file")

// OpenRegular opens a file for reading in a place that belongs to somebody else. It follows no link at the end of the
// path and waits for nothing: what is not a regular file is [ErrNotRegular].
func OpenRegular(path string) (*os.File, error) {
	file, err := openAsIs(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// MakePrivate removes all access of the group and of others to a file or directory, and reports whether they had any.
func MakePrivate(path string) (tightened bool, err error) {
	info, err := os.Stat(path)
	if err != nil || !Grants(info, 0o077) {
		return false, err
	}
	return true, os.Chmod(path, info.Mode().Perm()&0o700)
}

// OpenOrCreate opens a file for reading and writing. It creates one that does not exist as [Create] does.
func OpenOrCreate(path string) (*os.File, error) {
	if os.Geteuid() != root {
		return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	}
	for {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
		// Another process may have created it meanwhile. A link that leads nowhere exists, too, and is not followed: the
		// owner of the directory could have made it, and would get the file wherever it leads.
		file, err = Create(path)
		if info, found := os.Lstat(path); !errors.Is(err, fs.ErrExist) || found == nil && info.Mode()&fs.ModeSymlink != 0 {
			return file, err
		}
	}
}

// Create creates a file that must not exist, for reading and writing, with mode 0600. If root does, the file belongs to
// the owner and the group of its directory, so that a service can use what an administrator has made for it.
func Create(path string) (*os.File, error) { return CreateFor(path, filepath.Dir(path)) }

// CreateFor creates a file as [Create] does, but if root does, it belongs to the owner and the group of the file or
// directory at like.
func CreateFor(path, like string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil || os.Geteuid() != root {
		return file, err
	}
	if err := giveToOwner(file, like); err != nil {
		return nil, errors.Join(fmt.Errorf("give %s the owner of %s: %w", path, like, err), file.Close(), os.Remove(path))
	}
	return file, nil
}

// CreateDirectory creates a directory that must not exist, with mode 0700. If root does, it belongs to the owner and
// the group of the directory that it is in.
func CreateDirectory(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil || os.Geteuid() != root {
		return err
	}
	parent := filepath.Dir(path)
	directory, err := os.Open(path)
	if err == nil {
		err = errors.Join(giveToOwner(directory, parent), directory.Close())
	}
	if err != nil {
		return errors.Join(fmt.Errorf("give %s the owner of %s: %w", path, parent, err), os.Remove(path))
	}
	return nil
}

// root is the user who may create files in the directories of others, and give them away.
const root = 0
