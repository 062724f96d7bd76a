package files

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// The locked byte lies beyond the end of every file, because a locked range cannot be read through another handle.
const lockedOffsetHigh = 0x7fffffff

// Lock waits for the exclusive lock of an open file. The lock ends when the file is closed or the process ends, however
// it ends.
func Lock(file *os.File) error {
	return windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0,
		1, 0, &windows.Overlapped{OffsetHigh: lockedOffsetHigh})
}

// TryLock takes the lock of [Lock] without waiting. The error is [ErrLocked] if somebody else has it.
func TryLock(file *os.File) error {
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: lockedOffsetHigh})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// openAsIs opens a file for reading if its path is no link.
func openAsIs(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	return os.Open(path)
}

// SyncDirectory does nothing: the file system of Windows keeps names in its journal, and a directory cannot be flushed.
func SyncDirectory(string) error { return nil }

// giveToOwner does nothing: a new file inherits the access to its directory.
func giveToOwner(*os.File, string) error { return nil }

// Grants reports whether the mode of a file grants any of these permissions. On Windows the mode says nothing about who
// has access, so it grants none.
func Grants(fs.FileInfo, fs.FileMode) bool { return false }

// FreeBytes returns how many bytes of the file system of a path this user may still fill.
func FreeBytes(path string) (int64, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return int64(free), err //nolint:gosec // no disk has so many bytes
}
