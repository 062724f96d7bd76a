package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"

	"quittance/internal/secret"
)

// The seals of rows do not show that a row is gone. Of the companies none may vanish, so their set is sealed as well:
// the number of tenants, and the sum of the digests of their rows, which each change updates without reading the
// others. The digests are keyed with a random value that is sealed with them, so that nobody without the keys can look
// for other rows with the same sum.

// tenantSet is the content of the seal of the set of all tenants.
type tenantSet struct {
	count int64
	key   [32]byte
	sum   [32]byte
}

// setTenants is the name of the set in the table sealed_sets.
const setTenants = "tenants"

func setBinding() secret.Binding {
	return secret.Binding{Table: "sealed_sets", Column: "value", Row: []byte(setTenants)}
}

// tenantChange is a tenant before and after a change; before is nil for a new one. The set is updated at the commit.
type tenantChange struct{ before, after *sealedRecord }

// add adds a row of tenants to the set, or removes it if times is -1.
func (s *tenantSet) add(r *sealedRecord, times int64) {
	digest := hmac.New(sha256.New, s.key[:])
	for _, value := range r.values {
		text := columnText(value)
		digest.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		digest.Write([]byte(text))
	}
	element := new(big.Int).SetBytes(digest.Sum(nil))
	sum := new(big.Int).SetBytes(s.sum[:])
	sum.Add(sum, element.Mul(element, big.NewInt(times)))
	sum.Mod(sum, new(big.Int).Lsh(big.NewInt(1), 256)).FillBytes(s.sum[:])
	s.count += times
}

func (s *tenantSet) seal(keys *sealer) ([]byte, error) {
	text := binary.BigEndian.AppendUint64(nil, uint64(s.count)) //nolint:gosec // tenants count from 0
	text = append(text, s.key[:]...)
	return keys.Seal(append(text, s.sum[:]...), setBinding())
}

// errNoSet says that the record of the companies is gone or does not open.
var errNoSet = errors.New(
	"the sealed record of the companies is gone or does not open: the database was changed outside of quittance")

func openTenantSet(keys *sealer, sealed []byte) (tenantSet, error) {
	text, err := keys.Open(sealed, setBinding())
	if err != nil || len(text) != 8+2*32 {
		return tenantSet{}, errors.Join(errNoSet, err)
	}
	s := tenantSet{count: int64(binary.BigEndian.Uint64(text))} //nolint:gosec // it was sealed from an int64
	copy(s.key[:], text[8:])
	copy(s.sum[:], text[40:])
	return s, nil
}

// writeTenantSet updates the set at the commit. A set that was tampered with stays as it is, so that every verification
// finds that.
func (t *tx) writeTenantSet(ctx context.Context, changes []tenantChange) error {
	if len(changes) == 0 {
		return nil
	}
	if sealed, err := t.sealsAccess(ctx); err != nil || !sealed {
		return err // it is made when all rows are sealed
	}
	value, err := t.lockedTenantSet(ctx)
	if err != nil {
		return err
	}
	set, err := openTenantSet(t.db.keys, value)
	if err != nil {
		t.db.log.ErrorContext(ctx, "a company is not recorded in the set of all companies", "error", err)
		return nil
	}
	for _, change := range changes {
		if change.before != nil {
			set.add(change.before, -1)
		}
		set.add(change.after, 1)
	}
	return t.saveTenantSet(ctx, set)
}

// lockedTenantSet reads and locks the sealed set; nil if there is none.
func (t *tx) lockedTenantSet(ctx context.Context) (value []byte, err error) {
	err = t.QueryRowContext(ctx, `select value from sealed_sets where name = $1`+t.db.dialect.ForUpdate(),
		setTenants).Scan(&value)
	return value, ignoreMissing(err)
}

func (t *tx) saveTenantSet(ctx context.Context, set tenantSet) error {
	value, err := set.seal(t.db.keys)
	if err != nil {
		return err
	}
	_, err = t.Exec(ctx,
		`insert into sealed_sets (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value`,
		setTenants, value)
	return err
}

// countTenants makes the set of the tenants that are here.
func (t *tx) countTenants(ctx context.Context) (set tenantSet, err error) {
	if _, err := io.ReadFull(t.db.random, set.key[:]); err != nil {
		return set, fmt.Errorf("key of a set: %w", err)
	}
	err = t.db.walkSealed(ctx, t, sealedTenants, ``, func(r *sealedRecord) { set.add(r, 1) })
	return set, err
}

// walkSealed calls visit for each row of a table that meets a condition, in one statement.
func (db *DB) walkSealed(ctx context.Context, q querier, table *sealedTable, where string,
	visit func(r *sealedRecord)) (err error) {
	rows, err := q.QueryContext(ctx, `select `+table.columns(table.name)+` from `+table.name+where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		r, err := table.scanRecord(rows)
		if err != nil {
			return err
		}
		visit(r)
	}
	return rows.Err()
}
