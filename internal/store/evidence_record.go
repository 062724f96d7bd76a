package store

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

	"quittance/internal/secret"
)

// settingEvidence identifies the record that the evidence of a database is sealed: the time since which it is, and the
// key that signs exports and anchors. It is made once. A database with evidence from before seals has none until
// [DB.SealEvidence].
func settingEvidence() ID { return ID{15: 1} }

// settingRemoved identifies the time before which retention has removed events.
func settingRemoved() ID { return ID{15: 2} }

// The errors of the record.
var (
	// ErrNotSealed says that the evidence of this database was never sealed, because it is older than seals.
	ErrNotSealed = errors.New("the evidence of this database is not sealed")
	// ErrRecordGone says that the evidence of this database was sealed, and that somebody has removed the record of it.
	ErrRecordGone = errors.New(
		"the evidence of this database is sealed, and the record of that was removed: the database was changed outside of quittance. Restore it from a backup")
	errRecord = errors.New("a sealed setting does not open")
)

// evidenceRecord is the value of settingEvidence.
type evidenceRecord struct {
	since time.Time
	key   ed25519.PrivateKey
}

func (r evidenceRecord) publicKey() ed25519.PublicKey {
	return ed25519.PublicKey(r.key[ed25519.SeedSize:])
}

func settingBinding(id ID) secret.Binding {
	return secret.Binding{Table: "sealed_settings", Column: "value", Row: id[:]}
}

// sealedSetting returns the plain value of a sealed setting. It returns [sql.ErrNoRows] if there is none, and errRecord
// if it does not open.
func (db *DB) sealedSetting(ctx context.Context, q querier, id ID) ([]byte, error) {
	var sealed []byte
	if err := q.QueryRowContext(ctx, `select value from sealed_settings where id = $1`, id).Scan(&sealed); err != nil {
		return nil, err
	}
	plain, err := db.keys.Open(sealed, settingBinding(id))
	if errors.Is(err, secret.ErrSealed) || errors.Is(err, secret.ErrUnknownKey) {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	return plain, err
}

// evidenceRecord reads the record. It returns [ErrNotSealed] if there is none.
func (db *DB) evidenceRecord(ctx context.Context, q querier) (evidenceRecord, error) {
	plain, err := db.sealedSetting(ctx, q, settingEvidence())
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return evidenceRecord{}, ErrNotSealed
	case err != nil:
		return evidenceRecord{}, err
	case len(plain) != 1+8+ed25519.SeedSize || plain[0] != 1:
		return evidenceRecord{}, errRecord
	}
	return evidenceRecord{
		since: instant(int64(binary.BigEndian.Uint64(plain[1:]))), //nolint:gosec // it was written from an int64
		key:   ed25519.NewKeyFromSeed(plain[9:]),
	}, nil
}

// recordEvidence makes the record, unless there is one.
func (t *tx) recordEvidence(ctx context.Context) error {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(t.db.random, seed); err != nil {
		return fmt.Errorf("signing key: %w", err)
	}
	plain := binary.BigEndian.AppendUint64([]byte{1}, uint64(micros(t.Now()))) //nolint:gosec // the bits are kept
	value, err := t.db.keys.Seal(append(plain, seed...), settingBinding(settingEvidence()))
	if err != nil {
		return err
	}
	_, err = t.Exec(ctx, `insert into sealed_settings (id, value) values ($1, $2) on conflict (id) do nothing`,
		settingEvidence(), value)
	return err
}

// rememberEvidence notes in the records of the keys that the evidence of the database is sealed, if all secrets are
// bound.
func (db *DB) rememberEvidence(ctx context.Context) error {
	if !db.keys.bound.Load() {
		return nil // the next start does it
	}
	switch known, err := db.remembersEvidence(ctx); {
	case err != nil || known:
		return err
	}
	switch _, err := db.evidenceRecord(ctx, db.reader); {
	case errors.Is(err, ErrNotSealed), errors.Is(err, errRecord):
		return nil
	case err != nil:
		return db.classify(err)
	}
	keys, err := db.keys.current()
	if err != nil {
		return err
	}
	return db.write(ctx, "remember evidence", func(ctx context.Context, t *tx) error {
		records, err := t.lockedKeyRecords(ctx)
		if err != nil {
			return err
		}
		return t.raiseKeyRecords(ctx, keys, records, formEvidence)
	})
}

// remembersEvidence reports whether the records of the keys note that the evidence of the database is sealed.
func (db *DB) remembersEvidence(ctx context.Context) (bool, error) {
	keys, err := db.keys.current()
	if err != nil {
		return false, err
	}
	records, err := db.keyRecords(ctx)
	if err != nil {
		return false, err
	}
	_, form, err := records.fit(keys)
	return form >= formEvidence, err
}

// beginEvidence makes the record in a database without evidence.
func (db *DB) beginEvidence(ctx context.Context) error {
	if _, err := db.keys.current(); errors.Is(err, errNoKeys) {
		return nil
	}
	var recorded, used int64
	if err := db.reader.QueryRowContext(ctx, `select (select count(*) from sealed_settings where id = $1),
		(select count(*) from tenants where events > 0) + (select count(*) from (select tenant_id from submissions limit 1) s)`, settingEvidence()).Scan(&recorded, &used); err != nil {
		return db.classify(err)
	}
	if recorded > 0 || used > 0 {
		return db.rememberEvidence(ctx)
	}
	if known, err := db.remembersEvidence(ctx); err != nil || known {
		return err // if known, somebody removed the record: a new one would hide that
	}
	if err := db.write(ctx, "begin evidence", func(ctx context.Context,
		t *tx) error {
		return t.recordEvidence(ctx)
	}); err != nil {
		return err
	}
	return db.rememberEvidence(ctx)
}

// EvidenceKey returns the public key that verifies exports and anchors, and the time since which evidence is sealed. It
// returns [ErrNotSealed] if evidence is not sealed.
func (db *DB) EvidenceKey(ctx context.Context) (key ed25519.PublicKey, since time.Time, err error) {
	record, err := db.evidenceRecord(ctx, db.reader)
	if err != nil {
		return nil, since, db.classify(err)
	}
	return record.publicKey(), record.since, nil
}

// eventsRemoved returns the time before which events may have been removed, in microseconds since 1970; 0 if none were.
func (db *DB) eventsRemoved(ctx context.Context, q querier) (int64, error) {
	plain, err := db.sealedSetting(ctx, q, settingRemoved())
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	before, err := strconv.ParseInt(string(plain), 10, 64)
	if err != nil {
		return 0, errRecord
	}
	return before, nil
}

// recordRemoval records that events from before a time, in microseconds since 1970, may be removed from now on.
func (db *DB) recordRemoval(ctx context.Context, before int64) error {
	return db.write(ctx, "record removal", func(ctx context.Context, t *tx) error {
		if recorded, err := db.eventsRemoved(ctx, t); err != nil && !errors.Is(err, errRecord) || recorded >= before {
			return err
		}
		value, err := db.keys.Seal(strconv.AppendInt(nil, before, 10), settingBinding(settingRemoved()))
		if err != nil {
			return err
		}
		_, err = t.Exec(ctx,
			`insert into sealed_settings (id, value) values ($1, $2) on conflict (id) do update set value = excluded.value`,
			settingRemoved(), value)
		return err
	})
}
