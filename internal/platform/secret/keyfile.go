package secret

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"quittance/internal/platform/files"
)

// The failures of key files.
var (
	// ErrKeyFileMode means that a key file is not a regular file that only its owner can read or write.
	ErrKeyFileMode = errors.New("secret: key file must be a regular file with mode 0600 or stricter")
	// ErrKeyFileBehind means that a key file holds a key that the keyring lacks: replacing it would make values
	// unreadable.
	ErrKeyFileBehind = errors.New("secret: key file holds a key that the new keyring lacks")
)

// maxKeyFile bounds a key file, in bytes; one key takes less than 400.
const maxKeyFile = 1 << 20

// ReadKeyFile reads a keyring from a key file. It returns [ErrKeyFileMode] if the group or others can read or write the
// file, unless it is a credential of a systemd service, which its group can read, and [ErrKeys] if the file holds
// anything but a keyset of this package. No error shows content of the file.
func ReadKeyFile(path string) (*Keyring, error) {
	// Check before opening the file, because opening a named pipe would wait for a writer.
	if err := checkMode(path, func() (fs.FileInfo, error) { return os.Stat(path) }); err != nil {
		return nil, fmt.Errorf("read key file %s: %w", path, err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	// Check again, because the path may lead to another file by now.
	if err := checkMode(path, file.Stat); err != nil {
		return nil, fmt.Errorf("read key file %s: %w", path, err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxKeyFile))
	if err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(text)))
	if err != nil {
		// The reader's own error may quote the file, and with it the key.
		return nil, fmt.Errorf("read key file %s: %w", path, ErrKeys)
	}
	ring, err := newKeyring(handle)
	if err != nil {
		return nil, fmt.Errorf("read key file %s: %w", path, err)
	}
	ring.file = path
	return ring, nil
}

// checkMode rejects everything but a private regular file. The group may read a credential of a systemd service:
// systemd grants the service's user access by an ACL, whose mask shows as the permissions of the group, and only this
// user can enter the directory (https://systemd.io/CREDENTIALS).
func checkMode(path string, stat func() (fs.FileInfo, error)) error {
	info, err := stat()
	if err != nil {
		return err
	}
	forbidden := fs.FileMode(0o077)
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" && filepath.Dir(path) == filepath.Clean(dir) {
		forbidden = 0o037
	}
	if !info.Mode().IsRegular() || files.Grants(info, forbidden) {
		return ErrKeyFileMode
	}
	return nil
}

// WriteKeyFile creates a key file: a Tink JSON keyset in clear text with mode 0600. The file is complete and durable
// when WriteKeyFile returns. It never overwrites a file: the error for an existing file wraps [fs.ErrExist]. If root
// writes it, it belongs to the owner of its directory.
func (k *Keyring) WriteKeyFile(path string) error {
	err := k.install(path, filepath.Dir(path), func(staged string) error { return os.Link(staged, path) })
	if err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	return nil
}

// ReplaceKeyFile atomically replaces an existing key file after a rotation. It returns [ErrKeyFileBehind] if the file
// holds a key that k lacks, so that neither of two concurrent rotations is lost. If root replaces it, the new file
// belongs to the owner of the old one; otherwise to the user who runs this process, who must be the user who reads the
// file.
func (k *Keyring) ReplaceKeyFile(path string) error {
	err := k.install(path, path, func(staged string) error {
		old, err := ReadKeyFile(path)
		if err != nil {
			return err
		}
		if !k.contains(old) {
			return ErrKeyFileBehind
		}
		return os.Rename(staged, path)
	})
	if err != nil {
		return fmt.Errorf("replace key file: %w", err)
	}
	return nil
}

// contains reports whether k holds every key of old, including its key material.
func (k *Keyring) contains(old *Keyring) bool {
	for i := range old.handle.Len() {
		wanted, err := old.handle.Entry(i)
		if err != nil {
			return false
		}
		found := false
		for j := range k.handle.Len() {
			entry, err := k.handle.Entry(j)
			found = found || err == nil && entry.KeyID() == wanted.KeyID() && entry.Key().Equal(wanted.Key())
		}
		if !found {
			return false
		}
	}
	return true
}

// install writes the keyring to a staged file beside path and calls put to move it to path. The name of the staged file
// is fixed, so it also serves as the lock between two writers. An operator must remove a staged file that a crash has
// left behind; the error names it. If root writes it, it gets the owner of like.
func (k *Keyring) install(path, like string, put func(staged string) error) error {
	staged := path + ".new"
	if err := k.create(staged, like); err != nil {
		return err
	}
	err := put(staged)
	if removed := os.Remove(staged); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	if err != nil {
		return err
	}
	return files.SyncDirectory(filepath.Dir(path))
}

// create writes the keyring to a file that must not exist, and makes it durable.
func (k *Keyring) create(path, like string) (err error) {
	file, err := files.CreateFor(path, like)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	var text bytes.Buffer
	err = insecurecleartextkeyset.Write(k.handle, keyset.NewJSONWriter(&text))
	if err == nil {
		_, err = file.Write(text.Bytes())
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
