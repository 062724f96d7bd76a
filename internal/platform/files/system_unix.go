//go:build unix

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Lock waits for the exclusive lock of an open file. The lock ends when the file is closed or the process ends, however
// it ends.
func Lock(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX) }

// TryLock takes the lock of [Lock] without waiting. The error is [ErrLocked] if somebody else has it.
func TryLock(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// openAsIs opens a file for reading without following a link, and without waiting for the writer of a pipe.
func openAsIs(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) { // a link; a socket
		return nil, fmt.Errorf("%w: %w", ErrNotRegular, err)
	}
	return file, err
}

// SyncDirectory makes the names of the files in a directory durable.
func SyncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

// giveToOwner gives a file or directory the owner and the group of the one at like.
func giveToOwner(file *os.File, like string) error {
	info, err := os.Stat(like)
	if err != nil {
		return err
	}
	made, err := file.Stat()
	if err != nil {
		return err
	}
	want, wantKnown := info.Sys().(*syscall.Stat_t)
	got, gotKnown := made.Sys().(*syscall.Stat_t)
	if !wantKnown || !gotKnown || want.Uid == got.Uid && want.Gid == got.Gid {
		return nil
	}
	return file.Chown(int(want.Uid), int(want.Gid))
}

// Grants reports whether the mode of a file grants any of these permissions. On Windows the mode says nothing about who
// has access, so it grants none.
func Grants(info fs.FileInfo, permissions fs.FileMode) bool {
	return info.Mode().Perm()&permissions != 0
}

// FreeBytes returns how many bytes of the file system of a path this user may still fill.
func FreeBytes(path string) (int64, error) {
	var system syscall.Statfs_t
	if err := syscall.Statfs(path, &system); err != nil {
		return 0, err
	}
	return int64(system.Bavail) * int64(system.Bsize), nil //nolint:unconvert,gosec // the types differ between systems, and the values are small
}
