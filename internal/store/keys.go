package store

import (
	"context"
	"errors"
	"sync"

	"quittance/internal/secret"
)

// errNoKeys says that the store was opened without keys, to migrate it and no more.
var errNoKeys = errors.New("store opened without keys")

// sealer seals and opens with the process's keys. Keys that were rotated by another process are read anew when a value
// stands under one that is not known yet.
type sealer struct {
	reload func() (*secret.Keyring, error)

	mu   sync.RWMutex
	keys *secret.Keyring
}

func (s *sealer) current() (*secret.Keyring, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.keys == nil {
		return nil, errNoKeys
	}
	return s.keys, nil
}

// Seal seals bytes for a place under the primary key.
func (s *sealer) Seal(plain []byte, at secret.Place) ([]byte, error) {
	keys, err := s.current()
	if err != nil {
		return nil, err
	}
	return keys.Seal(plain, at)
}

// SealText is Seal for a secret.
func (s *sealer) SealText(plain secret.Text, at secret.Place) ([]byte, error) {
	keys, err := s.current()
	if err != nil {
		return nil, err
	}
	return keys.SealText(plain, at)
}

// OpenText opens what SealText sealed.
func (s *sealer) OpenText(sealed []byte, at secret.Place) (secret.Text, error) {
	return opened(s, func(keys *secret.Keyring) (secret.Text, error) { return keys.OpenText(sealed, at) })
}

// Open opens what Seal sealed.
func (s *sealer) Open(sealed []byte, at secret.Place) ([]byte, error) {
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
	fresh, reloadErr := s.reload()
	if reloadErr != nil {
		return none, errors.Join(err, reloadErr)
	}
	s.mu.Lock()
	s.keys = fresh
	s.mu.Unlock()
	return open(fresh)
}

// Reseal seals anew, under the primary key, the credentials and signing secrets that stand under an older one, and
// returns how many. It can be interrupted and run again at any time, beside running servers. Withheld evidence is
// never written again: it stays under its key, which therefore stays in the key file.
func (db *DB) Reseal(ctx context.Context) (int, error) {
	keys, err := db.keys.current()
	if err != nil {
		return 0, err
	}
	connections, err := db.Connections(ctx, nil)
	if err != nil {
		return 0, err
	}
	resealed := 0
	for _, c := range connections {
		if !keys.NeedsReseal(c.sealed) {
			continue
		}
		if _, err := db.changeConnection(ctx, c.ID, func(c *Connection) error {
			credential, err := db.Credential(*c)
			if err == nil {
				c.sealed, err = db.keys.SealText(credential, credentialPlace(c.Account, c.ID))
			}
			return err
		}); err != nil {
			return resealed, err
		}
		resealed++
	}
	more, err := db.resealSubscriptions(ctx, keys)
	return resealed + more, err
}

func (db *DB) resealSubscriptions(ctx context.Context, keys *secret.Keyring) (resealed int, err error) {
	type row struct {
		tenant, id ID
		sealed     []byte
	}
	rows, err := collect(ctx, db.reader, func(r scanner) (row, error) {
		var out row
		err := r.Scan(&out.tenant, &out.id, &out.sealed)
		return out, err
	}, `select tenant_id, id, secret from subscriptions`)
	if err != nil {
		return 0, db.fail(err)
	}
	for _, r := range rows {
		if !keys.NeedsReseal(r.sealed) {
			continue
		}
		place := subscriptionPlace(r.tenant, r.id)
		plain, err := db.keys.OpenText(r.sealed, place)
		if err != nil {
			return resealed, err
		}
		sealed, err := db.keys.SealText(plain, place)
		if err != nil {
			return resealed, err
		}
		if err := db.write(ctx, func(ctx context.Context, t *tx) error {
			_, err := t.exec(ctx, `update subscriptions set secret = $3 where tenant_id = $1 and id = $2`, r.tenant, r.id, sealed)
			return err
		}); err != nil {
			return resealed, err
		}
		resealed++
	}
	return resealed, nil
}
