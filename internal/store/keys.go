package store

import (
	"context"
	"errors"
	"fmt"
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

// Reseal seals anew, under the primary key, the credentials, signing secrets and seals of evidence that stand under an
// older one, and returns how many. It can be interrupted and run again at any time, beside running servers. Withheld
// evidence is never written again: it stays under its key, which therefore stays in the key file. What does not open
// is left as it is and told of in the end; a chain without a seal gets none.
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
		if _, err := db.changeConnection(ctx, c.ID, "", func(c *Connection) (map[string]string, error) {
			credential, err := db.Credential(*c)
			if err == nil {
				c.sealed, err = db.keys.SealText(credential, credentialPlace(c.Account, c.ID))
			}
			return nil, err
		}); err != nil {
			return resealed, err
		}
		resealed++
	}
	var errs []error
	for _, rows := range []sealedRows{
		{subscriptionPlace, `select tenant_id, id, secret from subscriptions where (tenant_id, id) > ($1, $2) order by tenant_id, id limit $3`,
			`update subscriptions set secret = $3 where tenant_id = $1 and id = $2 and secret = $4`},
		{submissionSealPlace, `select tenant_id, id, evidence_seal from submissions where (tenant_id, id) > ($1, $2) and evidence_seal is not null
			order by tenant_id, id limit $3`,
			`update submissions set evidence_seal = $3 where tenant_id = $1 and id = $2 and evidence_seal = $4`},
		{incomingSealPlace, `select tenant_id, id, seal from incoming where (tenant_id, id) > ($1, $2) and seal is not null order by tenant_id, id limit $3`,
			`update incoming set seal = $3 where tenant_id = $1 and id = $2 and seal = $4`},
	} {
		more, err := db.resealRows(ctx, keys, rows)
		resealed += more
		errs = append(errs, err)
	}
	more, err := db.resealAudit(ctx, keys)
	return resealed + more, errors.Join(append(errs, err)...)
}

// sealedRows is a column of tenants' rows that holds sealed values.
type sealedRows struct {
	place func(tenant, id ID) secret.Place
	// page selects tenant, identifier and value of the rows behind a tenant and an identifier, in their order.
	page string
	// replace puts a new value where the old one still stands: a server may have written another one meanwhile.
	replace string
}

// sealedRow is one of these rows, and its value sealed anew.
type sealedRow struct {
	tenant, id    ID
	sealed, fresh []byte
}

func scanSealedRow(row scanner) (sealedRow, error) {
	var out sealedRow
	err := row.Scan(&out.tenant, &out.id, &out.sealed)
	return out, err
}

// resealBatch is how many rows one transaction seals anew, so that none holds up the others for long.
const resealBatch = 500

// resealRows seals a column anew, batch by batch, and returns how many rows of it.
func (db *DB) resealRows(ctx context.Context, keys *secret.Keyring, rows sealedRows) (resealed int, err error) {
	var last sealedRow
	var failed []error
	for {
		page, err := collect(ctx, db.reader, scanSealedRow, rows.page, last.tenant[:], last.id[:], resealBatch)
		if err != nil || len(page) == 0 {
			return resealed, errors.Join(append(failed, db.fail(err))...)
		}
		last = page[len(page)-1]
		var stale []sealedRow
		for _, r := range page {
			if !keys.NeedsReseal(r.sealed) {
				continue
			}
			if err := db.sealAnew(&r, rows.place(r.tenant, r.id)); err != nil {
				failed = append(failed, fmt.Errorf("row %s of tenant %s: %w", r.id, r.tenant, err))
				continue
			}
			stale = append(stale, r)
		}
		replaced, err := db.replaceSealed(ctx, rows.replace, stale)
		resealed += replaced
		if err != nil {
			return resealed, errors.Join(append(failed, err)...)
		}
	}
}

func (db *DB) sealAnew(r *sealedRow, at secret.Place) error {
	plain, err := db.keys.OpenText(r.sealed, at)
	if err != nil {
		return err
	}
	r.fresh, err = db.keys.SealText(plain, at)
	return err
}

// replaceSealed writes rows that were sealed anew, in one transaction, and returns how many still stood as they were.
func (db *DB) replaceSealed(ctx context.Context, replace string, stale []sealedRow) (replaced int, err error) {
	if len(stale) == 0 {
		return 0, nil
	}
	err = db.write(ctx, "reseal", func(ctx context.Context, t *tx) error {
		replaced = 0
		for _, r := range stale {
			n, err := t.exec(ctx, replace, r.tenant, r.id, r.fresh, r.sealed)
			if err != nil {
				return err
			}
			replaced += int(n)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return replaced, nil
}
