package secret

import (
	"errors"
	"fmt"
	"os"
)

// ErrPrivateKeyMode says that a file with a private key can be read by others, or written by its group.
var ErrPrivateKeyMode = errors.New("secret: a private key must not be readable by others nor writable by its group: mode 0640 or stricter")

// CheckPrivateKey returns [ErrPrivateKeyMode] for a private key in a file of its own, such as that of a certificate, that
// others can read or that its group can write. Its group may read it, because certificates are often handed out that way.
func CheckPrivateKey(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o027 != 0 {
		return fmt.Errorf("%s: %w", path, ErrPrivateKeyMode)
	}
	return nil
}

// MakePrivate takes all access to a file or directory from its group and others, and tells whether they had any.
func MakePrivate(path string) (tightened bool, err error) {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return false, err
	}
	return true, os.Chmod(path, info.Mode().Perm()&0o700)
}
