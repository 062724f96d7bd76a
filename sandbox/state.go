package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"quittance/internal/platform/secret"
)

// Layout names the files of a data directory.
type Layout string

// KeyFile is the file of the keys that seal secrets in the database.
func (l Layout) KeyFile() string { return filepath.Join(string(l), "key.json") }

// DefaultDatabase is the embedded database, which a sandbox uses unless another one is specified.
func (l Layout) DefaultDatabase() string { return "sqlite:" + filepath.Join(string(l), "quittance.db") }

func (l Layout) provider() string        { return filepath.Join(string(l), "provider") }
func (l Layout) exampleProvider() string { return filepath.Join(string(l), "example-provider") }
func (l Layout) state() string           { return filepath.Join(string(l), "sandbox.json") }

// state is what a sandbox keeps between two starts. It contains the provider's credential, which the provider needs;
// the file is private to its owner.
type state struct {
	Database           string `json:"database"`
	Listen             string `json:"listen"`
	ProviderListen     string `json:"provider_listen"`
	ReceiverListen     string `json:"receiver_listen"`
	ProviderCredential string `json:"provider_credential"`
	AccountID          string `json:"account_id"`
	Company            string `json:"company"`
	Email              string `json:"email"`
	// APIKey is the key that the commands of developers use, and APIKeyID its identifier; empty before it is first needed.
	APIKey   string `json:"api_key,omitempty"`
	APIKeyID string `json:"api_key_id,omitempty"`
	// Example is nil if the sandbox has no example company.
	Example *exampleState `json:"example,omitempty"`
}

// exampleState is the part of the state that belongs to the example company.
type exampleState struct {
	ProviderListen     string `json:"provider_listen"`
	ProviderCredential string `json:"provider_credential"`
	AccountID          string `json:"account_id"`
	Company            string `json:"company"`
	Email              string `json:"email"`
}

// Database returns the address of the data directory's database.
func (l Layout) Database() (string, error) {
	saved, err := l.load()
	if err != nil {
		return "", err
	}
	if saved == nil || saved.Database == "" {
		return l.DefaultDatabase(), nil
	}
	return saved.Database, nil
}

// load returns the saved state, nil for a fresh directory.
func (l Layout) load() (*state, error) {
	text, err := os.ReadFile(l.state())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the sandbox's state: %w", err)
	}
	var saved state
	if err := json.Unmarshal(text, &saved); err != nil {
		return nil, fmt.Errorf("read the sandbox's state in %s: %w", l.state(), err)
	}
	return &saved, nil
}

// save writes the state atomically.
func (l Layout) save(s state) error { return writeJSON(l.state(), s) }

// writeJSON writes a private JSON file atomically.
func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	// A new file with an unpredictable name, so that neither links nor the mode of an older file matter.
	staged, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = staged.Write(append(text, '\n'))
	err = errors.Join(err, staged.Sync(), staged.Close())
	if err == nil {
		err = os.Rename(staged.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(staged.Name())))
	}
	return nil
}

// Keys reads the directory's keys, or makes them in a fresh directory. In a directory that has been used, new keys
// could not open anything.
func (l Layout) Keys() (*secret.Keyring, error) {
	keys, err := secret.ReadKeyFile(l.KeyFile())
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	if _, used := os.Stat(l.state()); used == nil {
		return nil, fmt.Errorf("the data directory has been in use and its key file is gone: put a copy of it back: %w", err)
	}
	if keys, err = secret.Generate(); err != nil {
		return nil, err
	}
	return keys, keys.WriteKeyFile(l.KeyFile())
}
