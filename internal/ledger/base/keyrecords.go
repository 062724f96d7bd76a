package base

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"quittance/internal/platform/problem"
	"quittance/internal/platform/secret"
)

// The forms of a database that the records of its keys note. In each, credentials and signing secrets are bound to
// their destinations; in one before, 1, of which an old copy of the records may still be somewhere, they were not. The
// evidence is sealed too from formEvidence on, and the rows that decide who may act from FormAccess on. Somebody can
// remove the record of the sealed evidence from the database, but not change the form without also removing the records
// of the keys.
const (
	FormBound    = 2
	formEvidence = 3
	FormAccess   = 4
)

// KeyRecord is the database's record of a key.
type KeyRecord struct {
	ID      uint32
	check   []byte // a value that the key has sealed
	Retired bool
}

// KeyRecords are the records of all keys that seal values in a database.
type KeyRecords []KeyRecord

func checkBinding(id uint32) secret.Binding {
	return secret.Binding{Table: "sealing_keys", Column: "check_value", Row: binary.BigEndian.AppendUint32(nil, id)}
}

// checkValue returns the value of a record of a key of ring.
func checkValue(ring *secret.Keyring, id uint32, form byte) ([]byte, error) {
	sealing, err := ring.Promote(id)
	if err != nil {
		return nil, err
	}
	return sealing.Seal([]byte{form}, checkBinding(id))
}

// KeyError says that the loaded keys are not those of the database.
type KeyError struct {
	// ID is the number of the key.
	ID uint32
	// File is the file that the keys were read from; "" if they were not read from a file.
	File string
	// Problem says what is wrong with the key.
	Problem string
}

func (e *KeyError) Error() string {
	file := "the keyring"
	if e.File != "" {
		file = "key file " + e.File
	}
	return fmt.Sprintf("%s does not fit this database: key %d %s", file, e.ID, e.Problem)
}

// Describe returns the problem: a setting that is wrong.
func (e *KeyError) Describe() *problem.Problem { return errKeys.Because(e) }

// errKeys is the kind of a [KeyError].
var errKeys = problem.Setting("the keys do not fit this database")

// The problems of a [KeyError].
const (
	KeyMissing = "is missing or disabled there, and values in the database are sealed under it"
	keyOther   = "is another key under the same number"
	keyRetired = "is the primary one there, and was retired"
	keyOld     = "has the record of a release before 0.3.0: let release 0.3.0 serve the database first"
)

// Fit returns ring without retired keys, and the newest form that a record has. It returns a [*KeyError] if ring lacks
// a key or has a different one.
func (r KeyRecords) Fit(ring *secret.Keyring) (fitting *secret.Keyring, form byte, err error) {
	fitting = ring
	for _, record := range r {
		switch {
		case record.Retired && fitting.PrimaryID() == record.ID:
			return nil, 0, &KeyError{record.ID, ring.File(), keyRetired}
		case record.Retired && fitting.Holds(record.ID):
			if fitting, err = fitting.Disable(record.ID); err != nil {
				return nil, 0, err
			}
		case record.Retired:
		case !ring.Holds(record.ID):
			return nil, 0, &KeyError{record.ID, ring.File(), KeyMissing}
		default:
			text, err := ring.Open(record.check, checkBinding(record.ID))
			if err != nil || len(text) != 1 {
				return nil, 0, &KeyError{record.ID, ring.File(), keyOther}
			}
			if text[0] < FormBound {
				return nil, 0, &KeyError{record.ID, ring.File(), keyOld}
			}
			form = max(form, text[0])
		}
	}
	return fitting, form, nil
}

// Has reports whether a key has a record.
func (r KeyRecords) Has(id uint32) bool {
	return slices.ContainsFunc(r, func(record KeyRecord) bool { return record.ID == id })
}

// IsRetired reports whether a key is recorded as retired.
func (r KeyRecords) IsRetired(id uint32) bool {
	return slices.ContainsFunc(r, func(record KeyRecord) bool { return record.ID == id && record.Retired })
}

const keyRecordColumns = `select id, check_value, retired_at from sealing_keys order by id`

func scanKeyRecord(row Row) (KeyRecord, error) {
	var id int64
	var record KeyRecord
	var retired sql.Null[int64]
	err := row.Scan(&id, &record.check, &retired)
	record.ID, record.Retired = uint32(id), retired.Valid //nolint:gosec // it was written from one
	return record, err
}

// KeyRecords reads the records.
func (db *DB) KeyRecords(ctx context.Context) (KeyRecords, error) {
	records, err := Collect(ctx, db.reader, scanKeyRecord, keyRecordColumns)
	return records, db.Classify(err)
}

// LockedKeyRecords reads the records and locks them until the end of the transaction.
func (t *Tx) LockedKeyRecords(ctx context.Context) (KeyRecords, error) {
	return Collect(ctx, t, scanKeyRecord, keyRecordColumns+t.DB.dialect.ForUpdate())
}

// lockedForm returns the newest form that the records of the keys note, and locks them until the end of the
// transaction.
func (t *Tx) lockedForm(ctx context.Context) (form byte, err error) {
	keys, err := t.DB.keys.Current()
	if err != nil {
		return 0, err
	}
	records, err := t.LockedKeyRecords(ctx)
	if err != nil {
		return 0, err
	}
	_, form, err = records.Fit(keys)
	return form, err
}

// CheckKeys compares the keys in use with the records of the database. It returns a [*KeyError] if one is missing or
// different.
func (db *DB) CheckKeys(ctx context.Context) error {
	keys, err := db.keys.Current()
	if err != nil {
		return err
	}
	return db.UseKeys(ctx, keys)
}

// UseKeys reads the records and takes keys into use if they match.
func (db *DB) UseKeys(ctx context.Context, keys *secret.Keyring) error {
	records, err := db.KeyRecords(ctx)
	if err != nil {
		return err
	}
	return db.keys.use(keys, records)
}

// SettingKeys is the key of a setting that exists once the keys are recorded.
const SettingKeys = "sealing_keys"

// ErrNoRecords says that somebody has removed the records of the keys.
var ErrNoRecords = errors.New(
	"the records of the keys under which this database is sealed are gone: it was changed outside of quittance. Restore it from a backup")

// InsertKeyRecord records a key of a keyring.
func (t *Tx) InsertKeyRecord(ctx context.Context, keys *secret.Keyring, id uint32, form byte) error {
	check, err := checkValue(keys, id, form)
	if err != nil {
		return err
	}
	_, err = t.InsertSealed(ctx, SealedKeys.Row(int64(id)),
		`insert into sealing_keys (id, check_value, recorded_at) values ($1, $2, $3)`, int64(id), check, Micros(t.Now()))
	return err
}

// RaiseKeyRecords raises the form in the records of the keys to form, unless it is newer. The caller has locked the
// records.
func (t *Tx) RaiseKeyRecords(ctx context.Context, keys *secret.Keyring, records KeyRecords, form byte) error {
	if _, newest, err := records.Fit(keys); err != nil || newest >= form {
		return err
	}
	for _, record := range records {
		if record.Retired {
			continue
		}
		check, err := checkValue(keys, record.ID, form)
		if err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `update sealing_keys set check_value = $2 where id = $1`, int64(record.ID),
			check); err != nil {
			return err
		}
	}
	return nil
}

// KeyAct is an act on a key.
func KeyAct(name string, id uint32) Act {
	return Act{Name: name, SubjectType: "key", Subject: strconv.FormatUint(uint64(id), 10)}
}

// AddedKey records in the audit log that a key was added to a key file.
func (db *DB) AddedKey(ctx context.Context, id uint32) error {
	return db.RecordAudit(ctx, KeyAct("key.add", id))
}

// KeyNotLoadedError says that running servers have not loaded a key yet, so they could not open what it seals.
type KeyNotLoadedError struct {
	ID      uint32
	Servers []Server
}

func (e *KeyNotLoadedError) Error() string {
	names := make([]string, len(e.Servers))
	for n, s := range e.Servers {
		names[n] = s.Name
	}
	return fmt.Sprintf(
		"key %d is not loaded by the running servers %s: give them the key file that contains it, or wait until they have read it",
		e.ID, strings.Join(names, ", "))
}

// RecordKey records the primary key of a keyring unless it is recorded, so that servers and commands without it no
// longer start. It returns a [*KeyNotLoadedError] if a running server has not loaded the key.
func (db *DB) RecordKey(ctx context.Context, keys *secret.Keyring) error {
	id := keys.PrimaryID()
	db.keys.mu.RLock()
	known := db.keys.records.Has(id)
	db.keys.mu.RUnlock()
	if known {
		return nil
	}
	err := db.Write(ctx, "record keys", func(ctx context.Context, t *Tx) error {
		records, err := t.LockedKeyRecords(ctx)
		if err != nil || records.Has(id) {
			return err
		}
		_, form, err := records.Fit(keys)
		if err != nil {
			return err
		}
		if form == 0 {
			return ErrNoRecords // only retired keys have records
		}
		alive, err := t.Servers(ctx)
		if err != nil {
			return err
		}
		if without := slices.DeleteFunc(alive, func(s Server) bool { return slices.Contains(s.Keys, id) }); len(without) > 0 {
			return &KeyNotLoadedError{ID: id, Servers: without}
		}
		if err := t.InsertKeyRecord(ctx, keys, id, form); err != nil {
			return err
		}
		return t.Audit(KeyAct("key.promote", id))
	})
	if err != nil {
		return err
	}
	return db.UseKeys(ctx, keys)
}

// RefreshKeys reads the key file again and takes its keys into use if they are those of the database; otherwise it
// returns the reason and keeps the present keys. It also reads which keys were retired.
func (db *DB) RefreshKeys(ctx context.Context) error {
	if db.keys.reload == nil {
		return db.CheckKeys(ctx)
	}
	fresh, err := db.keys.reload()
	if err != nil {
		return err
	}
	records, err := db.KeyRecords(ctx)
	if err != nil {
		return err
	}
	if records.Has(fresh.PrimaryID()) {
		return db.keys.use(fresh, records)
	}
	// The new primary key is not recorded yet. Load it, but let the previous one seal until every server has loaded the
	// new one.
	before, err := db.keys.Current()
	if err != nil {
		return err
	}
	if !fresh.Holds(before.PrimaryID()) {
		return &KeyError{before.PrimaryID(), fresh.File(), KeyMissing}
	}
	waiting, err := fresh.Promote(before.PrimaryID())
	if err != nil {
		return err
	}
	if err := db.keys.use(waiting, records); err != nil {
		return err
	}
	if err := db.RecordKey(ctx, fresh); !errors.As(err, new(*KeyNotLoadedError)) {
		return err
	}
	return nil
}

// KeyRecorded reports whether a key is, or was, one of the database.
func (db *DB) KeyRecorded(ctx context.Context, id uint32) (bool, error) {
	records, err := db.KeyRecords(ctx)
	return records.Has(id), err
}
