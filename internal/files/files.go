// Package files has what the standard library lacks for files whose content must be private and durable.
//
// It keeps no state. Start reading at [MakePrivate].
package files

import (
	"errors"
	"os"
)

// SyncDirectory makes the names of the files in a directory durable.
func SyncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

// MakePrivate removes all access of the group and of others to a file or directory, and reports whether they had any.
func MakePrivate(path string) (tightened bool, err error) {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return false, err
	}
	return true, os.Chmod(path, info.Mode().Perm()&0o700)
}
