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
)

// The failures of key files.
var (
	// ErrKeyFileMode says that a key file is not a regular file that only its owner can read or write.
	ErrKeyFileMode = errors.New("secret: key file must be a regular file with mode 0600 or stricter")
	// ErrKeyFileBehind says that a key file holds a key which the keyring lacks: replacing it would make values unreadable.
	ErrKeyFileBehind = errors.New("secret: key file holds a key that the new keyring lacks")
)

const (
	keyFileMode = 0o600
	// maxKeyFile bounds a key file, in bytes; one key takes less than 400.
	maxKeyFile = 1 << 20
)

// ReadKeyFile reads a keyring from a key file. It refuses one that its group or others can read or write
// ([ErrKeyFileMode]) and one with other content than a keyset of ours ([ErrKeys]). No error shows content of the file.
func ReadKeyFile(path string) (*Keyring, error) {
	// Looked at before it is opened, because opening a named pipe would wait for a writer.
	if err := checkMode(os.Stat(path)); err != nil {
		return nil, fmt.Errorf("read key file %s: %w", path, err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	// Looked at again, because the path may lead to another file by now.
	if err := checkMode(file.Stat()); err != nil {
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

// checkMode takes the result of a stat call and refuses everything but a private regular file.
func checkMode(info fs.FileInfo, err error) error {
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return ErrKeyFileMode
	}
	return nil
}

// WriteKeyFile creates a key file: a Tink JSON keyset in clear text, mode 0600, complete and durable when it returns. It
// never overwrites: an existing file is an error that wraps [fs.ErrExist].
func (k *Keyring) WriteKeyFile(path string) error {
	err := k.install(path, func(staged string) error { return os.Link(staged, path) })
	if err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	return nil
}

// ReplaceKeyFile puts the keyring in place of an existing key file after a rotation, in one step that a reader sees
// wholly or not at all. It refuses with [ErrKeyFileBehind] when the file holds a key that k lacks, so that of two
// rotations at the same time none is lost. The new file belongs to the user who runs this, which has to be the one who
// reads it.
func (k *Keyring) ReplaceKeyFile(path string) error {
	err := k.install(path, func(staged string) error {
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

// contains tells whether k holds every key of old, the material included.
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

// install writes the keyring beside path and lets put bring it into place. The name of the staged file is fixed, so it
// is also the lock between two writers; one that a crash has left behind has to be removed by hand, which the error
// names.
func (k *Keyring) install(path string, put func(staged string) error) error {
	staged := path + ".new"
	if err := k.create(staged); err != nil {
		return err
	}
	err := put(staged)
	if removed := os.Remove(staged); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	if err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(path))
}

// create writes the keyring to a file that must not exist, and makes it durable.
func (k *Keyring) create(path string) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, keyFileMode)
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

// syncDirectory makes the names in a directory durable.
func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
