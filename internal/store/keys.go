package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"quittance/internal/secret"
)

// errNoKeys says that the store was opened without keys, to migrate it and no more.
var errNoKeys = errors.New("store opened without keys")

// sealer seals and opens with the process's keys. The key file is read again when a value stands under a key that is not
// known yet.
type sealer struct {
	reload func() (*secret.Keyring, error)
	// bound is set once every credential and signing secret of the database is bound to what it is for: from then on none that
	// is not bound opens. It is never reset.
	bound atomic.Bool

	mu      sync.RWMutex
	keys    *secret.Keyring
	records keyRecords // of the database, as they were when they were last read
}

// use checks keys against the records of the database and takes them into use. When they do not fit, the keys before
// them stay.
func (s *sealer) use(keys *secret.Keyring, records keyRecords) error {
	fitting, form, err := records.fit(keys)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.records = fitting, records
	if form >= formBound {
		s.bound.Store(true)
	}
	return nil
}

func (s *sealer) current() (*secret.Keyring, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.keys == nil {
		return nil, errNoKeys
	}
	return s.keys, nil
}

// Keys returns the keys in use, nil in a store that was opened without.
func (db *DB) Keys() *secret.Keyring {
	keys, err := db.keys.current()
	if err != nil {
		return nil
	}
	return keys
}

// Seal seals bytes for a binding under the primary key.
func (s *sealer) Seal(plain []byte, at secret.Binding) ([]byte, error) {
	keys, err := s.current()
	if err != nil {
		return nil, err
	}
	return keys.Seal(plain, at)
}

// SealText is Seal for a secret.
func (s *sealer) SealText(plain secret.Text, at secret.Binding) ([]byte, error) {
	keys, err := s.current()
	if err != nil {
		return nil, err
	}
	return keys.SealText(plain, at)
}

// OpenText opens what SealText sealed.
func (s *sealer) OpenText(sealed []byte, at secret.Binding) (secret.Text, error) {
	return opened(s, func(keys *secret.Keyring) (secret.Text, error) { return keys.OpenText(sealed, at) })
}

// Open opens what Seal sealed.
func (s *sealer) Open(sealed []byte, at secret.Binding) ([]byte, error) {
	return opened(s, func(keys *secret.Keyring) ([]byte, error) { return keys.Open(sealed, at) })
}

// opened opens with the keys as they are, and once more with the keys as the file has them now.
func opened[T any](s *sealer, open func(*secret.Keyring) (T, error)) (T, error) {
	var none T
	keys, err := s.current()
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
	if keys, err = s.current(); err != nil {
		return none, err
	}
	return open(keys)
}

// readAgain takes the keys of the file into use. A primary key that the database does not record yet does not seal before
// it does: other servers may not have it.
func (s *sealer) readAgain() error {
	fresh, err := s.reload()
	if err != nil {
		return err
	}
	s.mu.RLock()
	records, before := s.records, s.keys
	s.mu.RUnlock()
	if !records.has(fresh.PrimaryID()) && fresh.Holds(before.PrimaryID()) {
		if fresh, err = fresh.Promote(before.PrimaryID()); err != nil {
			return err
		}
	}
	return s.use(fresh, records)
}

// ErrChangedRow says that a credential or signing secret does not open, because the row in which it stands is not what
// it was when the secret was sealed: somebody has changed it other than through this program.
var ErrChangedRow = errors.New("the row was changed outside of quittance")

// openBound opens a secret that tx.sealBound sealed. It returns [ErrChangedRow] when place or bound are not those it was
// sealed with.
func (s *sealer) openBound(sealed []byte, at secret.Binding, bound []string) (secret.Text, error) {
	at.Bound = bound
	text, err := s.OpenText(sealed, at)
	if errors.Is(err, secret.ErrSealed) && !s.bound.Load() {
		at.Bound = nil
		text, err = s.OpenText(sealed, at)
	}
	if errors.Is(err, secret.ErrSealed) {
		err = fmt.Errorf("%w: %w", ErrChangedRow, err)
	}
	return text, err
}

// sealBound seals a secret for a place and for other values of its row: it opens only while these are what they are. In a
// database that the version before may still serve it seals in the form which that version opens.
func (t *tx) sealBound(ctx context.Context, plain secret.Text, at secret.Binding, bound []string) ([]byte, error) {
	binds, err := t.bindsSecrets(ctx)
	if err != nil {
		return nil, err
	}
	if binds {
		at.Bound = bound
	}
	return t.db.keys.SealText(plain, at)
}
