package base

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"

	"quittance/internal/platform/secret"
)

// The seals of rows do not show that a row is gone. Of the companies none may vanish, so their set is sealed as well:
// the number of tenants, and the sum of the digests of their rows, which each change updates without reading the
// others. The digests are keyed with a random value that is sealed with them, so that nobody without the keys can look
// for other rows with the same sum.

// TenantSet is the content of the seal of the set of all tenants.
type TenantSet struct {
	Count int64
	Key   [32]byte
	Sum   [32]byte
}

// SetTenants is the name of the set in the table sealed_sets.
const SetTenants = "tenants"

func setBinding() secret.Binding {
	return secret.Binding{Table: "sealed_sets", Column: "value", Row: []byte(SetTenants)}
}

// tenantChange is a tenant before and after a change; before is nil for a new one. The set is updated at the commit.
type tenantChange struct{ before, after *SealedRecord }

// Add adds a row of tenants to the set, or removes it if times is -1.
func (s *TenantSet) Add(r *SealedRecord, times int64) {
	digest := hmac.New(sha256.New, s.Key[:])
	for _, value := range r.values {
		text := columnText(value)
		digest.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		digest.Write([]byte(text))
	}
	element := new(big.Int).SetBytes(digest.Sum(nil))
	sum := new(big.Int).SetBytes(s.Sum[:])
	sum.Add(sum, element.Mul(element, big.NewInt(times)))
	sum.Mod(sum, new(big.Int).Lsh(big.NewInt(1), 256)).FillBytes(s.Sum[:])
	s.Count += times
}

func (s *TenantSet) seal(keys *Sealer) ([]byte, error) {
	text := binary.BigEndian.AppendUint64(nil, uint64(s.Count)) //nolint:gosec // tenants count from 0
	text = append(text, s.Key[:]...)
	return keys.Seal(append(text, s.Sum[:]...), setBinding())
}

// ErrNoSet says that the record of the companies is gone or does not open.
var ErrNoSet = errors.New(
	"the sealed record of the companies is gone or does not open: the database was changed outside of quittance")

// OpenTenantSet opens the sealed set. It returns [ErrNoSet] if there is none.
func OpenTenantSet(keys *Sealer, sealed []byte) (TenantSet, error) {
	text, err := keys.Open(sealed, setBinding())
	if err != nil || len(text) != 8+2*32 {
		return TenantSet{}, errors.Join(ErrNoSet, err)
	}
	s := TenantSet{Count: int64(binary.BigEndian.Uint64(text))} //nolint:gosec // it was sealed from an int64
	copy(s.Key[:], text[8:])
	copy(s.Sum[:], text[40:])
	return s, nil
}

// Rank returns [RankTenants].
func (tenantChange) Rank() Rank { return RankTenants }

// WriteAll writes all changes.
func (tenantChange) WriteAll(ctx context.Context, t *Tx, all []Deferred) error {
	var changes []tenantChange
	for _, d := range all {
		if c, ok := d.(tenantChange); ok {
			changes = append(changes, c)
		}
	}
	return t.writeTenantSet(ctx, changes)
}

// writeTenantSet updates the set at the commit. A set that was tampered with stays as it is, so that every verification
// finds that.
func (t *Tx) writeTenantSet(ctx context.Context, changes []tenantChange) error {
	if sealed, err := t.sealsAccess(ctx); err != nil || !sealed {
		return err // it is made when all rows are sealed
	}
	value, err := t.LockedTenantSet(ctx)
	if err != nil {
		return err
	}
	set, err := OpenTenantSet(t.DB.keys, value)
	if err != nil {
		t.DB.log.ErrorContext(ctx, "a company is not recorded in the set of all companies", "error", err)
		return nil
	}
	for _, change := range changes {
		if change.before != nil {
			set.Add(change.before, -1)
		}
		set.Add(change.after, 1)
	}
	return t.SaveTenantSet(ctx, set)
}

// LockedTenantSet reads and locks the sealed set; nil if there is none.
func (t *Tx) LockedTenantSet(ctx context.Context) (value []byte, err error) {
	err = t.QueryRowContext(ctx, `select value from sealed_sets where name = $1`+t.DB.dialect.ForUpdate(),
		SetTenants).Scan(&value)
	return value, IgnoreMissing(err)
}

// SaveTenantSet seals the set and writes it.
func (t *Tx) SaveTenantSet(ctx context.Context, set TenantSet) error {
	value, err := set.seal(t.DB.keys)
	if err != nil {
		return err
	}
	_, err = t.Exec(ctx,
		`insert into sealed_sets (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value`,
		SetTenants, value)
	return err
}

// CountTenants makes the set of the tenants that are here.
func (t *Tx) CountTenants(ctx context.Context) (set TenantSet, err error) {
	if _, err := io.ReadFull(t.DB.random, set.Key[:]); err != nil {
		return set, fmt.Errorf("key of a set: %w", err)
	}
	err = t.DB.WalkSealed(ctx, t, SealedTenants, ``, func(r *SealedRecord) { set.Add(r, 1) })
	return set, err
}

// WalkSealed calls visit for each row of a table that meets a condition, in one statement.
func (db *DB) WalkSealed(ctx context.Context, q Querier, table *SealedTable, where string,
	visit func(r *SealedRecord)) (err error) {
	rows, err := q.QueryContext(ctx, `select `+table.Columns(table.Name)+` from `+table.Name+where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		r, err := table.ScanRecord(rows)
		if err != nil {
			return err
		}
		visit(r)
	}
	return rows.Err()
}

// ErrAccessRecord says that the rows that decide who may act are sealed, and that somebody has removed the record of
// it.
var ErrAccessRecord = errors.New(
	"the rows that decide who may act in this database are sealed, and the record of that was removed: the database was changed outside of quittance. Restore it from a backup")

// sealsAccess reports whether rows without a right seal do not act. If they do, this does not change until the end of
// the transaction.
func (t *Tx) sealsAccess(ctx context.Context) (bool, error) {
	if t.DB.keys.Access.Load() {
		return true, nil
	}
	form, err := t.lockedForm(ctx)
	return form >= FormAccess, err
}

// AccessRecordGone reports whether somebody has removed the record that the rows which decide who may act are sealed.
// It takes the record of another process into use, which has sealed them meanwhile.
func (db *DB) AccessRecordGone(ctx context.Context) (bool, error) {
	if db.keys.Access.Load() {
		return false, nil
	}
	switch err := db.RefuseSealing(ctx, db.reader); {
	case err == nil:
		return false, nil
	case !errors.Is(err, ErrAccessRecord):
		return false, err
	}
	err := db.CheckKeys(ctx)
	return err == nil && !db.keys.Access.Load(), err
}

// RefuseSealing returns an error if the rows of a database were sealed before, although the records of its keys do not
// say so any more.
func (db *DB) RefuseSealing(ctx context.Context, q Querier) error {
	var traces int64
	err := q.QueryRowContext(ctx,
		`select (select count(*) from sealed_sets) + (select count(*) from audit where chain = $1 and act = 'access.seal')`,
		make([]byte, len(ID{}))).Scan(&traces)
	if err == nil && traces > 0 {
		err = ErrAccessRecord
	}
	return db.Classify(err)
}
