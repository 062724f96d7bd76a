package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
)

// openKeys verifies, before anything is sealed or opened, that the keys are those of the database. A new database gets
// its records here.
func openKeys(ctx context.Context, db *base.DB) error {
	keys, err := db.Sealer().Current()
	if err != nil {
		return nil //nolint:nilerr // the database was opened without keys
	}
	records, err := db.KeyRecords(ctx)
	if err != nil {
		return err
	}
	if len(records) == 0 {
		if err := adoptKeys(ctx, db, keys); err != nil {
			return err
		}
	}
	if err := db.UseKeys(ctx, keys); err != nil {
		return err
	}
	return db.RecordKey(ctx, keys)
}

// adoptKeys records the primary key of a database without records. If it has sealed values, somebody has removed the
// records.
func adoptKeys(ctx context.Context, db *base.DB, keys *secret.Keyring) error {
	used, err := KeysInUse(ctx, db)
	if err != nil {
		return err
	}
	return db.Write(ctx, "record keys", func(ctx context.Context, t *base.Tx) error {
		first, err := t.Exec(ctx, `insert into settings (key, value) values ($1, $2) on conflict (key) do nothing`,
			base.SettingKeys, strconv.FormatInt(base.Micros(t.Now()), 10))
		if err != nil {
			return err
		}
		records, err := t.LockedKeyRecords(ctx)
		switch {
		case err != nil:
			return err
		case len(records) > 0:
			return nil // another process has recorded them meanwhile
		case first == 0, len(used) > 0:
			return base.ErrNoRecords
		}
		if known, err := knewKeys(ctx, t); err != nil || known {
			return cmp.Or(err, base.ErrNoRecords)
		}
		return t.InsertKeyRecord(ctx, keys, keys.PrimaryID(), base.FormBound)
	})
}

// knewKeys reports whether a database has a row that is written only with keys, so that its keys were recorded
// once. Whoever empties tables to have that forgotten has to remove every company and every person, too.
func knewKeys(ctx context.Context, t *base.Tx) (found bool, err error) {
	err = t.QueryRowContext(ctx, `select exists (select 1 from sealed_settings) or exists (select 1 from sealed_sets)
		or exists (select 1 from audit_heads) or exists (select 1 from tenants) or exists (select 1 from users)
		or exists (select 1 from operators)`).Scan(&found)
	return found, err
}

// KeyInUseError says why a key cannot be retired.
type KeyInUseError struct {
	ID uint32
	// Values describes the values that it seals. Servers are the running servers that seal with it.
	Values  []string
	Servers []string
}

func (e *KeyInUseError) Error() string {
	if len(e.Servers) > 0 {
		return fmt.Sprintf(
			"key %d is in use: the running servers %s seal with it; give them a key file with another primary key",
			e.ID, strings.Join(e.Servers, ", "))
	}
	return fmt.Sprintf("key %d is in use: it seals %s; run quittance key reseal first", e.ID, strings.Join(e.Values, ", "))
}

// RetireKey records that a key no longer opens anything; running servers learn this within two seconds. before reports
// that it was already recorded. RetireKey returns [secret.ErrNoKey] for a key that neither the database nor the keyring
// has, and a [*KeyInUseError] while values are sealed under the key or a running server seals with it.
func RetireKey(ctx context.Context, db *base.DB, id uint32) (before bool, err error) {
	keys, err := db.Sealer().Current()
	if err != nil {
		return false, err
	}
	used, err := KeysInUse(ctx, db)
	if err != nil {
		return false, err
	}
	if values := used[id]; len(values) > 0 {
		return false, &KeyInUseError{ID: id, Values: values}
	}
	err = db.Write(ctx, "retire key", func(ctx context.Context, t *base.Tx) error {
		records, err := t.LockedKeyRecords(ctx)
		if err != nil {
			return err
		}
		if before = records.IsRetired(id); before {
			return nil
		}
		if !records.Has(id) && !slices.ContainsFunc(keys.List(), func(k secret.Key) bool { return k.ID == id }) {
			return fmt.Errorf("%w: %d", secret.ErrNoKey, id)
		}
		alive, err := t.Servers(ctx)
		if err != nil {
			return err
		}
		inUse := &KeyInUseError{ID: id}
		for _, s := range alive {
			if s.PrimaryKey == id {
				inUse.Servers = append(inUse.Servers, s.Name)
			}
		}
		if len(inUse.Servers) > 0 {
			return inUse
		}
		now := base.Micros(t.Now())
		row := base.SealedKeys.Row(int64(id))
		if records.Has(id) {
			_, err = t.ChangeSealed(ctx, row, `update sealing_keys set retired_at = $2 where id = $1`, int64(id), now)
		} else {
			_, err = t.InsertSealed(ctx, row,
				`insert into sealing_keys (id, check_value, recorded_at, retired_at) values ($1, $2, $3, $3)`, int64(id), []byte{},
				now)
		}
		if err != nil {
			return err
		}
		return t.Audit(base.KeyAct("key.retire", id))
	})
	if err != nil {
		return false, err
	}
	return before, db.CheckKeys(ctx)
}
