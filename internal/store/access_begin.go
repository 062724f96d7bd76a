package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	base "quittance/internal/db"
	"quittance/internal/secret"
)

// errAccessRecord says that the rows that decide who may act are sealed, and that somebody has removed the record of
// it.
var errAccessRecord = errors.New(
	"the rows that decide who may act in this database are sealed, and the record of that was removed: the database was changed outside of quittance. Restore it from a backup")

// sealsAccess reports whether rows without a right seal do not act. If they do, this does not change until the end of
// the transaction.
func (t *tx) sealsAccess(ctx context.Context) (bool, error) {
	if t.db.keys.access.Load() {
		return true, nil
	}
	form, err := t.lockedForm(ctx)
	return form >= formAccess, err
}

// SealAccess seals the rows that decide who may act of a database that an earlier release has served, as it finds them,
// and records that in the records of the keys, in the sealed set of companies and in the audit log: from then on a row
// without a right seal does not act. It does this once. It does nothing while a server of an earlier release runs,
// which writes such rows without seals, nor before the evidence is sealed. It returns an error if somebody has removed
// the record. It is for servers; [Open] does the same.
func (db *DB) SealAccess(ctx context.Context) error { return db.sealAccess(ctx, db.SingleServer()) }

// sealAccess is [DB.SealAccess]. alone says that this process is the server of a database that only one can serve.
func (db *DB) sealAccess(ctx context.Context, alone bool) error {
	if _, err := db.keys.current(); db.keys.access.Load() || errors.Is(err, errNoKeys) {
		return nil
	}
	if gone, err := db.accessRecordGone(ctx); err != nil || gone { // before any row gets a seal
		return cmp.Or(err, errAccessRecord)
	}
	if sealed, err := db.remembersEvidence(ctx); err != nil || !sealed || db.keys.access.Load() {
		return err
	}
	for _, application := range olderApplicationNames() {
		if alone {
			break
		}
		older, err := db.database.ServedBy(ctx, application)
		if err != nil {
			return err
		}
		if older {
			db.log.DebugContext(ctx, "servers of an earlier release are running: who may act is sealed after these have stopped")
			return nil
		}
	}
	ctx = base.WithoutQueryDeadline(ctx) // it reads whole tables
	sealed := map[string]int64{}
	for _, table := range sealedTables {
		n, err := db.sealTable(ctx, table)
		if err != nil {
			return err
		}
		sealed[table.name] = n
	}
	if err := db.write(ctx, "seal access", func(ctx context.Context,
		t *tx) error {
		return t.finishSealing(ctx, sealed)
	}); err != nil {
		return err
	}
	return db.CheckKeys(ctx)
}

// accessRecordGone reports whether somebody has removed the record that the rows which decide who may act are sealed.
// It takes the record of another process into use, which has sealed them meanwhile.
func (db *DB) accessRecordGone(ctx context.Context) (bool, error) {
	if db.keys.access.Load() {
		return false, nil
	}
	switch err := db.refuseSealing(ctx, db.reader); {
	case err == nil:
		return false, nil
	case !errors.Is(err, errAccessRecord):
		return false, err
	}
	err := db.CheckKeys(ctx)
	return err == nil && !db.keys.access.Load(), err
}

// refuseSealing returns an error if the rows of a database were sealed before, although the records of its keys do not
// say so any more.
func (db *DB) refuseSealing(ctx context.Context, q querier) error {
	var traces int64
	err := q.QueryRowContext(ctx,
		`select (select count(*) from sealed_sets) + (select count(*) from audit where chain = $1 and act = 'access.seal')`,
		make([]byte, len(ID{}))).Scan(&traces)
	if err == nil && traces > 0 {
		err = errAccessRecord
	}
	return db.classify(err)
}

// finishSealing records that all rows are sealed, unless another process has.
func (t *tx) finishSealing(ctx context.Context, sealed map[string]int64) error {
	keys, err := t.db.keys.current()
	if err != nil {
		return err
	}
	// The lock makes transactions that change the set of tenants wait; see [tx.writeTenantSet].
	records, err := t.lockedKeyRecords(ctx)
	if err != nil {
		return err
	}
	if _, form, err := records.fit(keys); err != nil || form >= formAccess {
		return err
	}
	if err := t.db.refuseSealing(ctx, t); err != nil {
		return err
	}
	set, err := t.countTenants(ctx)
	if err != nil {
		return err
	}
	if err := t.saveTenantSet(ctx, set); err != nil {
		return err
	}
	if err := t.raiseKeyRecords(ctx, keys, records, formAccess); err != nil {
		return err
	}
	if set.count == 0 && sealed[sealedOperators.name] == 0 {
		return nil // a new database
	}
	return t.audit(sealAct(sealed))
}

// sealAct is the act that sealed rows as they were found.
func sealAct(sealed map[string]int64) Act {
	act := Act{Name: "access.seal", SubjectType: "database", Details: map[string]string{}}
	for table, n := range sealed {
		if n > 0 {
			act.Details[table] = strconv.FormatInt(n, 10)
		}
	}
	return act
}

// AcceptAccess seals rows that decide who may act as it finds them, although they have no right seal, and the set of
// companies that are here. It is for an administrator who has looked at the rows, after an earlier release has written
// some of them. It returns the number by table.
func (db *DB) AcceptAccess(ctx context.Context) (map[string]int64, error) {
	accepted := map[string]int64{}
	if !db.keys.access.Load() {
		return accepted, db.sealAccess(ctx, false)
	}
	ctx = base.WithoutQueryDeadline(ctx) // it reads whole tables
	for _, table := range sealedTables {
		n, err := db.sealTable(ctx, table)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			accepted[table.name] = n
		}
	}
	return accepted, db.write(ctx, "accept access", func(ctx context.Context, t *tx) error {
		if _, err := t.lockedTenantSet(ctx); err != nil { // those who add a company wait, and add to what is counted here
			return err
		}
		set, err := t.countTenants(ctx)
		if err != nil {
			return err
		}
		if err := t.saveTenantSet(ctx, set); err != nil {
			return err
		}
		return t.audit(sealAct(accepted))
	})
}

// sealTable seals the rows of a table that have no right seal, and removes the seals of those that need none. It
// returns how many it has sealed.
func (db *DB) sealTable(ctx context.Context, table *sealedTable) (int64, error) {
	sealed, _, err := db.eachSealed(ctx, table, func(r *sealedRecord) (bool, error) { return !r.sealed(db.keys), nil })
	if table == sealedTenants && err == nil {
		err = db.sealNoEvents(ctx)
	}
	if err != nil || table.live == "" {
		return sealed, err
	}
	return sealed, db.write(ctx, "end seals", func(ctx context.Context, t *tx) error {
		_, err := t.Exec(ctx, `update `+table.name+` set seal = null where seal is not null and not (`+table.live+`)`)
		return err
	})
}

// sealNoEvents seals the number of the events of the tenants that have none, so that a company cannot be made one that
// never did anything.
func (db *DB) sealNoEvents(ctx context.Context) error {
	for sealed := resealBatch; sealed == resealBatch; {
		if err := db.write(ctx, "seal rows", func(ctx context.Context, t *tx) error {
			tenants, err := collect(ctx, t, scanValue[ID],
				`select id from tenants where events = 0 and events_seal is null order by id limit $1`+db.dialect.ForUpdate(),
				resealBatch)
			if err != nil {
				return err
			}
			sealed = len(tenants)
			for _, id := range tenants {
				value, err := seal{}.seal(db.keys, eventsSealBinding(id))
				if err != nil {
					return err
				}
				if err := t.ExecDeferred(ctx, `update tenants set events_seal = $2 where id = $1`, id, value); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// eachSealed calls stale for each row of a table that needs a seal, in batches, and seals those for which it returns
// true. It returns how many it has sealed, and the errors of stale.
func (db *DB) eachSealed(ctx context.Context, table *sealedTable,
	stale func(r *sealedRecord) (bool, error)) (sealed int64, failed []error, err error) {
	keys := strings.Join(table.keys, ", ")
	var after []any
	for {
		query, args := `select `+table.columns(table.name)+` from `+table.name+` where `+table.needsSeal(),
			append(after, resealBatch)
		if after != nil {
			parameters := make([]string, len(after))
			for n := range after {
				parameters[n] = base.Parameter(n + 1)
			}
			query += ` and (` + keys + `) > (` + strings.Join(parameters, ", ") + `)`
		}
		query += ` order by ` + keys + ` limit ` + base.Parameter(len(args))
		var page []*sealedRecord
		var done int64
		var faults []error
		err := db.write(ctx, "seal rows", func(ctx context.Context, t *tx) (err error) {
			done, faults = 0, nil
			if page, err = collect(ctx, t, table.scanRecord, query+db.dialect.ForUpdate(), args...); err != nil {
				return err
			}
			for _, r := range page {
				is, err := stale(r)
				if err != nil {
					faults = append(faults, fmt.Errorf("%s %s: %w", table.name, r.name(), err))
				}
				if !is {
					continue
				}
				if err := t.writeSeal(ctx, r); err != nil {
					return err
				}
				done++
			}
			return nil
		})
		sealed, failed = sealed+done, append(failed, faults...)
		if err != nil || len(page) < resealBatch {
			return sealed, failed, err
		}
		after = page[len(page)-1].key()
	}
}

// resealAccess seals rows with the primary key whose right seals another key has made.
func (db *DB) resealAccess(ctx context.Context, keys *secret.Keyring) (int, error) {
	total := 0
	var errs []error
	for _, table := range sealedTables {
		n, failed, err := db.eachSealed(ctx, table, func(r *sealedRecord) (bool, error) {
			if len(r.seal) == 0 || !keys.NeedsReseal(r.seal) {
				return false, nil
			}
			if !r.sealed(db.keys) {
				return false, secret.ErrSealed
			}
			return true, nil
		})
		total += int(n)
		errs = append(append(errs, failed...), err)
	}
	n := 0
	err := db.write(ctx, "reseal set", func(ctx context.Context, t *tx) error {
		n = 0
		value, err := t.lockedTenantSet(ctx)
		if err != nil || value == nil || !keys.NeedsReseal(value) {
			return err
		}
		set, err := openTenantSet(db.keys, value)
		if err != nil {
			return err
		}
		n = 1
		return t.saveTenantSet(ctx, set)
	})
	return total + n, errors.Join(append(errs, err)...)
}

// accessKeysInUse adds to used the keys of the seals of rows.
func (db *DB) accessKeysInUse(ctx context.Context, used map[uint32][]string) error {
	for _, table := range sealedTables {
		prefixes, err := collect(ctx, db.reader, scanValue[[]byte],
			`select distinct substr(seal, 1, 5) from `+table.name+` where seal is not null and `+table.needsSeal())
		if err != nil {
			return db.classify(err)
		}
		for _, prefix := range prefixes {
			if id, ok := secret.KeyIDOfPrefix(prefix); ok {
				used[id] = append(used[id], "seal of "+table.name)
			}
		}
	}
	var value []byte
	if err := db.reader.QueryRowContext(ctx, `select value from sealed_sets where name = $1`,
		setTenants).Scan(&value); err != nil {
		return db.classify(ignoreMissing(err))
	}
	if id, ok := secret.KeyID(value); ok {
		used[id] = append(used[id], "set of companies")
	}
	return nil
}
