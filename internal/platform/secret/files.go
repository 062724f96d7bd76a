package secret

import (
	"errors"
	"fmt"
	"os"

	"quittance/internal/platform/files"
)

// ErrPrivateKeyMode means that others can read a file with a private key, or that its group can write it.
var ErrPrivateKeyMode = errors.New(
	"secret: a private key must not be readable by others nor writable by its group: mode 0640 or stricter")

// CheckPrivateKey returns [ErrPrivateKeyMode] if others can read the file of a private key, such as that of a
// certificate, or if its group can write it. The group may read it, because certificates are often distributed that
// way.
func CheckPrivateKey(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if files.Grants(info, 0o027) {
		return fmt.Errorf("%s: %w", path, ErrPrivateKeyMode)
	}
	return nil
}
