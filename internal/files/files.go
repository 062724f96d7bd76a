// Package files has what the standard library lacks for files whose content must be private and durable, and for the exclusive use of
// files by one process.
//
// It keeps no state. Start reading at [MakePrivate].
package files

import (
	"errors"
	"os"
)

// ErrLocked means that another process has the lock of a file, or another handle of this one.
var ErrLocked = errors.New("the file is locked")

// MakePrivate removes all access of the group and of others to a file or directory, and reports whether they had any.
func MakePrivate(path string) (tightened bool, err error) {
	info, err := os.Stat(path)
	if err != nil || !Grants(info, 0o077) {
		return false, err
	}
	return true, os.Chmod(path, info.Mode().Perm()&0o700)
}
