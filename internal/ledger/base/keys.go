package base

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"quittance/internal/platform/problem"
	"quittance/internal/platform/secret"
)

// ErrNoKeys says that the database was opened without keys, only to migrate it.
var ErrNoKeys = errors.New("store opened without keys")

// Sealer seals and opens values with the keys of the process. It reads the key file again if a value is sealed under an
// unknown key.
type Sealer struct {
	reload func() (*secret.Keyring, error)
	// Access is set when the rows that decide who may act are sealed: from then on one without a right seal does not act.
	// It is never reset.
	Access atomic.Bool
	// Changed counts the secrets that did not open and the rows that did not act, because they were changed.
	Changed atomic.Int64

	mu      sync.RWMutex
	keys    *secret.Keyring
	records KeyRecords // the records of the database when they were last read
}

// use checks keys against the records of the database and takes them into use. If they do not match, the present keys
// stay.
func (s *Sealer) use(keys *secret.Keyring, records KeyRecords) error {
	fitting, form, err := records.Fit(keys)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.records = fitting, records
	if form >= FormAccess {
		s.Access.Store(true)
	}
	return nil
}

// Current returns the keys in use, or [ErrNoKeys].
func (s *Sealer) Current() (*secret.Keyring, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.keys == nil {
		return nil, ErrNoKeys
	}
	return s.keys, nil
}

// Keys returns the keys in use, or nil if the database was opened without keys.
func (db *DB) Keys() *secret.Keyring {
	keys, err := db.keys.Current()
	if err != nil {
		return nil
	}
	return keys
}

// Seal seals bytes for a binding under the primary key.
func (s *Sealer) Seal(plain []byte, at secret.Binding) ([]byte, error) {
	keys, err := s.Current()
	if err != nil {
		return nil, err
	}
	return keys.Seal(plain, at)
}

// SealText is [Sealer.Seal] for a secret.
func (s *Sealer) SealText(plain secret.Text, at secret.Binding) ([]byte, error) {
	keys, err := s.Current()
	if err != nil {
		return nil, err
	}
	return keys.SealText(plain, at)
}

// OpenText opens what SealText sealed.
func (s *Sealer) OpenText(sealed []byte, at secret.Binding) (secret.Text, error) {
	return opened(s, func(keys *secret.Keyring) (secret.Text, error) { return keys.OpenText(sealed, at) })
}

// Open opens what Seal sealed.
func (s *Sealer) Open(sealed []byte, at secret.Binding) ([]byte, error) {
	return opened(s, func(keys *secret.Keyring) ([]byte, error) { return keys.Open(sealed, at) })
}

// opened opens a value with the present keys, and if they do not include its key, with the keys that the file has now.
func opened[T any](s *Sealer, open func(*secret.Keyring) (T, error)) (T, error) {
	var none T
	keys, err := s.Current()
	if err != nil {
		return none, err
	}
	out, err := open(keys)
	if !errors.Is(err, secret.ErrUnknownKey) || s.reload == nil {
		return out, err
	}
	if reloadErr := s.readAgain(); reloadErr != nil {
		return none, errors.Join(err, reloadErr)
	}
	if keys, err = s.Current(); err != nil {
		return none, err
	}
	return open(keys)
}

// readAgain takes the keys of the file into use. A new primary key does not seal until the database has a record of it,
// because other servers may not have loaded it.
func (s *Sealer) readAgain() error {
	fresh, err := s.reload()
	if err != nil {
		return err
	}
	s.mu.RLock()
	records, before := s.records, s.keys
	s.mu.RUnlock()
	if !records.Has(fresh.PrimaryID()) && fresh.Holds(before.PrimaryID()) {
		if fresh, err = fresh.Promote(before.PrimaryID()); err != nil {
			return err
		}
	}
	return s.use(fresh, records)
}

// ErrChangedRow says that a credential or signing secret does not open, because its row is not what it was when the
// secret was sealed: somebody has changed it by other means than this program.
var ErrChangedRow = problem.Local("changed_row", http.StatusConflict, "the row was changed outside of quittance")

// ChangedRows returns how many times this process has found a credential, a signing secret or the secret of an e-mail
// that does not open, because its row was changed (see [ErrChangedRow]), or a row that decides who may act without the
// right seal.
func (db *DB) ChangedRows() int64 { return db.keys.Changed.Load() }

// OpenBound opens a secret that [Sealer.SealBound] sealed. It returns [ErrChangedRow] if it was sealed for another
// binding or other values of bound.
func (s *Sealer) OpenBound(sealed []byte, at secret.Binding, bound []string) (secret.Text, error) {
	at.Bound = bound
	text, err := s.OpenText(sealed, at)
	if errors.Is(err, secret.ErrSealed) {
		s.Changed.Add(1)
		err = fmt.Errorf("%w: %w", ErrChangedRow, err)
	}
	return text, err
}

// SealBound seals a secret for a binding and for other values of its row; it opens only while these are unchanged.
func (s *Sealer) SealBound(plain secret.Text, at secret.Binding, bound []string) ([]byte, error) {
	at.Bound = bound
	return s.SealText(plain, at)
}
