package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"quittance/internal/problem"
	"quittance/internal/secret"
)

// The forms of sealed credentials and signing secrets: bound to their row only, as versions before 0015_sealing_keys
// did, or also to their destination. formEvidence is formBound in a database whose evidence is sealed, and formAccess
// is formEvidence in one where the rows that decide who may act are. Somebody can remove the record of the sealed
// evidence from the database, but not change the form without also removing the records of the keys.
const (
	formRow      = 1
	formBound    = 2
	formEvidence = 3
	formAccess   = 4
)

// keyRecord is the database's record of a key.
type keyRecord struct {
	id      uint32
	check   []byte // a value that the key has sealed
	retired bool
}

// keyRecords are the records of all keys that seal values in a database.
type keyRecords []keyRecord

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

const (
	keyMissing = "is missing or disabled there, and values in the database are sealed under it"
	keyOther   = "is another key under the same number"
	keyRetired = "is the primary one there, and was retired"
)

// fit returns ring without retired keys, and the newest form that a record has. It returns a [*KeyError] if ring lacks
// a key or has a different one.
func (r keyRecords) fit(ring *secret.Keyring) (fitting *secret.Keyring, form byte, err error) {
	fitting = ring
	for _, record := range r {
		switch {
		case record.retired && fitting.PrimaryID() == record.id:
			return nil, 0, &KeyError{record.id, ring.File(), keyRetired}
		case record.retired && fitting.Holds(record.id):
			if fitting, err = fitting.Disable(record.id); err != nil {
				return nil, 0, err
			}
		case record.retired:
		case !ring.Holds(record.id):
			return nil, 0, &KeyError{record.id, ring.File(), keyMissing}
		default:
			text, err := ring.Open(record.check, checkBinding(record.id))
			if err != nil || len(text) != 1 {
				return nil, 0, &KeyError{record.id, ring.File(), keyOther}
			}
			form = max(form, text[0])
		}
	}
	return fitting, form, nil
}

// has reports whether a key has a record.
func (r keyRecords) has(id uint32) bool {
	return slices.ContainsFunc(r, func(record keyRecord) bool { return record.id == id })
}

// retired reports whether a key is recorded as retired.
func (r keyRecords) retired(id uint32) bool {
	return slices.ContainsFunc(r, func(record keyRecord) bool { return record.id == id && record.retired })
}

const keyRecordColumns = `select id, check_value, retired_at from sealing_keys order by id`

func scanKeyRecord(row scanner) (keyRecord, error) {
	var id int64
	var record keyRecord
	var retired sql.Null[int64]
	err := row.Scan(&id, &record.check, &retired)
	record.id, record.retired = uint32(id), retired.Valid //nolint:gosec // it was written from one
	return record, err
}

// keyRecords reads the records.
func (db *DB) keyRecords(ctx context.Context) (keyRecords, error) {
	records, err := collect(ctx, db.reader, scanKeyRecord, keyRecordColumns)
	return records, db.classify(err)
}

// lockedKeyRecords reads the records and locks them until the end of the transaction.
func (t *tx) lockedKeyRecords(ctx context.Context) (keyRecords, error) {
	return collect(ctx, t, scanKeyRecord, keyRecordColumns+t.db.dialect.ForUpdate())
}

// lockedForm returns the newest form that the records of the keys note, and locks them until the end of the
// transaction.
func (t *tx) lockedForm(ctx context.Context) (form byte, err error) {
	keys, err := t.db.keys.current()
	if err != nil {
		return 0, err
	}
	records, err := t.lockedKeyRecords(ctx)
	if err != nil {
		return 0, err
	}
	_, form, err = records.fit(keys)
	return form, err
}

// bindsSecrets reports whether credentials and signing secrets are sealed in the bound form. If they are not, this does
// not change until the end of the transaction.
func (t *tx) bindsSecrets(ctx context.Context) (bool, error) {
	if t.db.keys.bound.Load() {
		return true, nil
	}
	if form, err := t.lockedForm(ctx); err != nil || form < formBound {
		return false, err
	}
	t.db.keys.bound.Store(true)
	return true, nil
}

// CheckKeys compares the keys in use with the records of the database. It returns a [*KeyError] if one is missing or
// different.
func (db *DB) CheckKeys(ctx context.Context) error {
	keys, err := db.keys.current()
	if err != nil {
		return err
	}
	return db.useKeys(ctx, keys)
}

// useKeys reads the records and takes keys into use if they match.
func (db *DB) useKeys(ctx context.Context, keys *secret.Keyring) error {
	records, err := db.keyRecords(ctx)
	if err != nil {
		return err
	}
	return db.keys.use(keys, records)
}

// openKeys verifies, before anything is sealed or opened, that the keys are those of the database. A new database gets
// its records here.
func (db *DB) openKeys(ctx context.Context) error {
	keys, err := db.keys.current()
	if err != nil {
		return nil //nolint:nilerr // the store was opened without keys
	}
	records, err := db.keyRecords(ctx)
	if err != nil {
		return err
	}
	if len(records) == 0 {
		if err := db.adoptKeys(ctx, keys); err != nil {
			return err
		}
	}
	if err := db.useKeys(ctx, keys); err != nil {
		return err
	}
	if err := db.RecordKey(ctx, keys); err != nil {
		return err
	}
	return db.BindSecrets(ctx)
}

// settingKeys is the key of a setting that exists once the keys are recorded.
const settingKeys = "sealing_keys"

// errNoRecords says that somebody has removed the records of the keys.
var errNoRecords = errors.New(
	"the records of the keys under which this database is sealed are gone: it was changed outside of quittance. Restore it from a backup")

// adoptKeys records the keys of a database without records: the primary key, and in a database with sealed values every
// key that sealed one.
func (db *DB) adoptKeys(ctx context.Context, keys *secret.Keyring) error {
	used, err := db.KeysInUse(ctx)
	if err != nil {
		return err
	}
	ids, form := map[uint32]bool{keys.PrimaryID(): true}, byte(formBound)
	for id := range used {
		if !keys.Holds(id) {
			return &KeyError{id, keys.File(), keyMissing}
		}
		ids[id], form = true, formRow
	}
	return db.write(ctx, "record keys", func(ctx context.Context, t *tx) error {
		first, err := t.Exec(ctx, `insert into settings (key, value) values ($1, $2) on conflict (key) do nothing`,
			settingKeys, strconv.FormatInt(micros(t.Now()), 10))
		if err != nil {
			return err
		}
		records, err := t.lockedKeyRecords(ctx)
		switch {
		case err != nil:
			return err
		case len(records) > 0:
			return nil // another process has recorded them meanwhile
		case first == 0:
			return errNoRecords
		}
		if known, err := t.knewKeys(ctx); err != nil || known {
			return cmp.Or(err, errNoRecords)
		}
		if form == formRow {
			if err := t.refuseBound(ctx, keys); err != nil {
				return err
			}
		}
		for _, id := range slices.Sorted(maps.Keys(ids)) {
			if err := t.insertKeyRecord(ctx, keys, id, form); err != nil {
				return err
			}
		}
		return nil
	})
}

// knewKeys reports whether a database has what only versions write that record the keys first: its keys were recorded
// once.
func (t *tx) knewKeys(ctx context.Context) (bool, error) {
	var found int64
	err := t.QueryRowContext(ctx,
		`select (select count(*) from sealed_settings) + (select count(*) from sealed_sets) + (select count(*) from (select 1 as one from audit_heads limit 1) a)`).
		Scan(&found)
	return found > 0, err
}

func (t *tx) insertKeyRecord(ctx context.Context, keys *secret.Keyring, id uint32, form byte) error {
	check, err := checkValue(keys, id, form)
	if err != nil {
		return err
	}
	_, err = t.insertSealed(ctx, sealedKeys.row(int64(id)),
		`insert into sealing_keys (id, check_value, recorded_at) values ($1, $2, $3)`, int64(id), check, micros(t.Now()))
	return err
}

// raiseKeyRecords raises the form in the records of the keys to form, unless it is newer. The caller has locked the
// records.
func (t *tx) raiseKeyRecords(ctx context.Context, keys *secret.Keyring, records keyRecords, form byte) error {
	if _, newest, err := records.fit(keys); err != nil || newest >= form {
		return err
	}
	for _, record := range records {
		if record.retired {
			continue
		}
		check, err := checkValue(keys, record.id, form)
		if err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `update sealing_keys set check_value = $2 where id = $1`, int64(record.id),
			check); err != nil {
			return err
		}
	}
	return nil
}

func keyAct(name string, id uint32) Act {
	return Act{Name: name, SubjectType: "key", Subject: strconv.FormatUint(uint64(id), 10)}
}

// AddedKey records in the audit log that a key was added to a key file.
func (db *DB) AddedKey(ctx context.Context, id uint32) error {
	return db.RecordAudit(ctx, keyAct("key.add", id))
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
	known := db.keys.records.has(id)
	db.keys.mu.RUnlock()
	if known {
		return nil
	}
	err := db.write(ctx, "record keys", func(ctx context.Context, t *tx) error {
		records, err := t.lockedKeyRecords(ctx)
		if err != nil || records.has(id) {
			return err
		}
		_, form, err := records.fit(keys)
		if err != nil {
			return err
		}
		if form == 0 {
			return errNoRecords // only retired keys have records
		}
		alive, err := t.servers(ctx)
		if err != nil {
			return err
		}
		if without := slices.DeleteFunc(alive, func(s Server) bool { return slices.Contains(s.Keys, id) }); len(without) > 0 {
			return &KeyNotLoadedError{ID: id, Servers: without}
		}
		if err := t.insertKeyRecord(ctx, keys, id, form); err != nil {
			return err
		}
		return t.audit(keyAct("key.promote", id))
	})
	if err != nil {
		return err
	}
	return db.useKeys(ctx, keys)
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
	records, err := db.keyRecords(ctx)
	if err != nil {
		return err
	}
	if records.has(fresh.PrimaryID()) {
		return db.keys.use(fresh, records)
	}
	// The new primary key is not recorded yet. Load it, but let the previous one seal until every server has loaded the
	// new one.
	before, err := db.keys.current()
	if err != nil {
		return err
	}
	if !fresh.Holds(before.PrimaryID()) {
		return &KeyError{before.PrimaryID(), fresh.File(), keyMissing}
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
	records, err := db.keyRecords(ctx)
	return records.has(id), err
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
func (db *DB) RetireKey(ctx context.Context, id uint32) (before bool, err error) {
	keys, err := db.keys.current()
	if err != nil {
		return false, err
	}
	used, err := db.KeysInUse(ctx)
	if err != nil {
		return false, err
	}
	if values := used[id]; len(values) > 0 {
		return false, &KeyInUseError{ID: id, Values: values}
	}
	err = db.write(ctx, "retire key", func(ctx context.Context, t *tx) error {
		records, err := t.lockedKeyRecords(ctx)
		if err != nil {
			return err
		}
		if before = records.retired(id); before {
			return nil
		}
		if !records.has(id) && !slices.ContainsFunc(keys.List(), func(k secret.Key) bool { return k.ID == id }) {
			return fmt.Errorf("%w: %d", secret.ErrNoKey, id)
		}
		alive, err := t.servers(ctx)
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
		now := micros(t.Now())
		row := sealedKeys.row(int64(id))
		if records.has(id) {
			_, err = t.changeSealed(ctx, row, `update sealing_keys set retired_at = $2 where id = $1`, int64(id), now)
		} else {
			_, err = t.insertSealed(ctx, row,
				`insert into sealing_keys (id, check_value, recorded_at, retired_at) values ($1, $2, $3, $3)`, int64(id), []byte{},
				now)
		}
		if err != nil {
			return err
		}
		return t.audit(keyAct("key.retire", id))
	})
	if err != nil {
		return false, err
	}
	return before, db.CheckKeys(ctx)
}
