package base

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"quittance/internal/platform/secret"
)

// SettingEvidence identifies the record that the evidence of a database is sealed: the time since which it is, and the
// key that signs exports and anchors. It is made once. A database with evidence from before seals has none until
// [proof.SealEvidence].
func SettingEvidence() ID { return ID{15: 1} }

// SettingRemoved identifies the time before which retention has removed events.
func SettingRemoved() ID { return ID{15: 2} }

// The errors of the record.
var (
	// ErrNotSealed says that the evidence of this database was never sealed, because it is older than seals.
	ErrNotSealed = errors.New("the evidence of this database is not sealed")
	// ErrRecordGone says that the evidence of this database was sealed, and that somebody has removed the record of it.
	ErrRecordGone = errors.New(
		"the evidence of this database is sealed, and the record of that was removed: the database was changed outside of quittance. Restore it from a backup")
	ErrRecord = errors.New("a sealed setting does not open")
)

// EvidenceRecord is the value of settingEvidence.
type EvidenceRecord struct {
	since time.Time
	Key   ed25519.PrivateKey
}

// PublicKey returns the key that verifies exports and anchors.
func (r EvidenceRecord) PublicKey() ed25519.PublicKey {
	return ed25519.PublicKey(r.Key[ed25519.SeedSize:])
}

// SettingBinding is where a sealed setting stands.
func SettingBinding(id ID) secret.Binding {
	return secret.Binding{Table: "sealed_settings", Column: "value", Row: id[:]}
}

// sealedSetting returns the plain value of a sealed setting. It returns [sql.ErrNoRows] if there is none, and errRecord
// if it does not open.
func (db *DB) sealedSetting(ctx context.Context, q Querier, id ID) ([]byte, error) {
	var sealed []byte
	if err := q.QueryRowContext(ctx, `select value from sealed_settings where id = $1`, id).Scan(&sealed); err != nil {
		return nil, err
	}
	plain, err := db.keys.Open(sealed, SettingBinding(id))
	if errors.Is(err, secret.ErrSealed) || errors.Is(err, secret.ErrUnknownKey) {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return plain, err
}

// EvidenceRecord reads the record. It returns [ErrNotSealed] if there is none.
func (db *DB) EvidenceRecord(ctx context.Context, q Querier) (EvidenceRecord, error) {
	plain, err := db.sealedSetting(ctx, q, SettingEvidence())
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return EvidenceRecord{}, ErrNotSealed
	case err != nil:
		return EvidenceRecord{}, err
	case len(plain) != 1+8+ed25519.SeedSize || plain[0] != 1:
		return EvidenceRecord{}, ErrRecord
	}
	return EvidenceRecord{
		since: Instant(int64(binary.BigEndian.Uint64(plain[1:]))), //nolint:gosec // it was written from an int64
		Key:   ed25519.NewKeyFromSeed(plain[9:]),
	}, nil
}

// RecordEvidence makes the record, unless there is one.
func (t *Tx) RecordEvidence(ctx context.Context) error {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(t.DB.random, seed); err != nil {
		return fmt.Errorf("signing key: %w", err)
	}
	plain := binary.BigEndian.AppendUint64([]byte{1}, uint64(Micros(t.Now()))) //nolint:gosec // the bits are kept
	value, err := t.DB.keys.Seal(append(plain, seed...), SettingBinding(SettingEvidence()))
	if err != nil {
		return err
	}
	_, err = t.Exec(ctx, `insert into sealed_settings (id, value) values ($1, $2) on conflict (id) do nothing`,
		SettingEvidence(), value)
	return err
}

// RememberEvidence notes in the records of the keys that the evidence of the database is sealed.
func (db *DB) RememberEvidence(ctx context.Context) error {
	switch known, err := db.RemembersEvidence(ctx); {
	case err != nil || known:
		return err
	}
	switch _, err := db.EvidenceRecord(ctx, db.reader); {
	case errors.Is(err, ErrNotSealed), errors.Is(err, ErrRecord):
		return nil
	case err != nil:
		return db.Classify(err)
	}
	keys, err := db.keys.Current()
	if err != nil {
		return err
	}
	return db.Write(ctx, "remember evidence", func(ctx context.Context, t *Tx) error {
		records, err := t.LockedKeyRecords(ctx)
		if err != nil {
			return err
		}
		return t.RaiseKeyRecords(ctx, keys, records, formEvidence)
	})
}

// RemembersEvidence reports whether the records of the keys note that the evidence of the database is sealed.
func (db *DB) RemembersEvidence(ctx context.Context) (bool, error) {
	keys, err := db.keys.Current()
	if err != nil {
		return false, err
	}
	records, err := db.KeyRecords(ctx)
	if err != nil {
		return false, err
	}
	_, form, err := records.Fit(keys)
	return form >= formEvidence, err
}

// BeginEvidence makes the record in a database without evidence.
func (db *DB) BeginEvidence(ctx context.Context) error {
	if _, err := db.keys.Current(); errors.Is(err, ErrNoKeys) {
		return nil
	}
	var recorded, used int64
	if err := db.reader.QueryRowContext(ctx, `select (select count(*) from sealed_settings where id = $1),
		(select count(*) from tenants where events > 0) + (select count(*) from (select tenant_id from submissions limit 1) s)`, SettingEvidence()).Scan(&recorded, &used); err != nil {
		return db.Classify(err)
	}
	if recorded > 0 || used > 0 {
		return db.RememberEvidence(ctx)
	}
	if known, err := db.RemembersEvidence(ctx); err != nil || known {
		return err // if known, somebody removed the record: a new one would hide that
	}
	if err := db.Write(ctx, "begin evidence", func(ctx context.Context,
		t *Tx) error {
		return t.RecordEvidence(ctx)
	}); err != nil {
		return err
	}
	return db.RememberEvidence(ctx)
}

// EvidenceKey returns the public key that verifies exports and anchors, and the time since which evidence is sealed. It
// returns [ErrNotSealed] if evidence is not sealed.
func (db *DB) EvidenceKey(ctx context.Context) (key ed25519.PublicKey, since time.Time, err error) {
	record, err := db.EvidenceRecord(ctx, db.reader)
	if err != nil {
		return nil, since, db.Classify(err)
	}
	return record.PublicKey(), record.since, nil
}

// EventsRemoved returns the time before which events may have been removed, in microseconds since 1970; 0 if none were.
func (db *DB) EventsRemoved(ctx context.Context, q Querier) (int64, error) {
	plain, err := db.sealedSetting(ctx, q, SettingRemoved())
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	before, err := strconv.ParseInt(string(plain), 10, 64)
	if err != nil {
		return 0, ErrRecord
	}
	return before, nil
}

// RecordRemoval records that events from before a time, in microseconds since 1970, may be removed from now on.
func (db *DB) RecordRemoval(ctx context.Context, before int64) error {
	return db.Write(ctx, "record removal", func(ctx context.Context, t *Tx) error {
		if recorded, err := db.EventsRemoved(ctx, t); err != nil && !errors.Is(err, ErrRecord) || recorded >= before {
			return err
		}
		value, err := db.keys.Seal(strconv.AppendInt(nil, before, 10), SettingBinding(SettingRemoved()))
		if err != nil {
			return err
		}
		_, err = t.Exec(ctx,
			`insert into sealed_settings (id, value) values ($1, $2) on conflict (id) do update set value = excluded.value`,
			SettingRemoved(), value)
		return err
	})
}
