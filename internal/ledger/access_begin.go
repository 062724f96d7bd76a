package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"quittance/internal/ledger/base"
	sqldb "quittance/internal/platform/db"
	"quittance/internal/platform/secret"
)

// SealAccess seals the rows that decide who may act of a database that an earlier release has served, as it finds them,
// and records that in the records of the keys, in the sealed set of companies and in the audit log: from then on a row
// without a right seal does not act. It does this once. It does nothing while a server of an earlier release runs,
// which writes such rows without seals, nor before the evidence is sealed. It returns an error if somebody has removed
// the record. It is for servers, which repeat it until it is done; [Open] tries it once.
func SealAccess(ctx context.Context, db *base.DB) error {
	return sealAccess(ctx, db, db.SingleServer())
}

// sealAccess is [SealAccess]. alone says that this process is the server of a database that only one can serve.
func sealAccess(ctx context.Context, db *base.DB, alone bool) error {
	if _, err := db.Sealer().Current(); db.Sealer().Access.Load() || errors.Is(err, base.ErrNoKeys) {
		return nil
	}
	if gone, err := db.AccessRecordGone(ctx); err != nil || gone { // before any row gets a seal
		return cmp.Or(err, base.ErrAccessRecord)
	}
	if sealed, err := db.RemembersEvidence(ctx); err != nil || !sealed || db.Sealer().Access.Load() {
		return err
	}
	if !alone {
		older, err := db.SQL().ServedBy(ctx, base.OlderApplicationName)
		if err != nil {
			return err
		}
		if older {
			db.Log().DebugContext(ctx, "servers of an earlier release are running: who may act is sealed after these have stopped")
			return nil
		}
	}
	ctx = sqldb.WithoutQueryDeadline(ctx) // it reads whole tables
	sealed := map[string]int64{}
	for _, table := range base.SealedTables {
		n, err := sealTable(ctx, db, table)
		if err != nil {
			return err
		}
		sealed[table.Name] = n
	}
	if err := db.Write(ctx, "seal access", func(ctx context.Context,
		t *base.Tx) error {
		return finishSealing(ctx, t, sealed)
	}); err != nil {
		return err
	}
	return db.CheckKeys(ctx)
}

// finishSealing records that all rows are sealed, unless another process has.
func finishSealing(ctx context.Context, t *base.Tx, sealed map[string]int64) error {
	keys, err := t.DB.Sealer().Current()
	if err != nil {
		return err
	}
	// The lock makes transactions that change the set of tenants wait; see [base.Tx.writeTenantSet].
	records, err := t.LockedKeyRecords(ctx)
	if err != nil {
		return err
	}
	if _, form, err := records.Fit(keys); err != nil || form >= base.FormAccess {
		return err
	}
	if err := t.DB.RefuseSealing(ctx, t); err != nil {
		return err
	}
	set, err := t.CountTenants(ctx)
	if err != nil {
		return err
	}
	if err := t.SaveTenantSet(ctx, set); err != nil {
		return err
	}
	if err := t.RaiseKeyRecords(ctx, keys, records, base.FormAccess); err != nil {
		return err
	}
	if set.Count == 0 && sealed[base.SealedOperators.Name] == 0 {
		return nil // a new database
	}
	return t.Audit(sealAct(sealed))
}

// sealAct is the act that sealed rows as they were found.
func sealAct(sealed map[string]int64) base.Act {
	act := base.Act{Name: "access.seal", SubjectType: "database", Details: map[string]string{}}
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
func AcceptAccess(ctx context.Context, db *base.DB) (map[string]int64, error) {
	accepted := map[string]int64{}
	if !db.Sealer().Access.Load() {
		return accepted, sealAccess(ctx, db, false)
	}
	ctx = sqldb.WithoutQueryDeadline(ctx) // it reads whole tables
	for _, table := range base.SealedTables {
		n, err := sealTable(ctx, db, table)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			accepted[table.Name] = n
		}
	}
	return accepted, db.Write(ctx, "accept access", func(ctx context.Context, t *base.Tx) error {
		if _, err := t.LockedTenantSet(ctx); err != nil { // those who add a company wait, and add to what is counted here
			return err
		}
		set, err := t.CountTenants(ctx)
		if err != nil {
			return err
		}
		if err := t.SaveTenantSet(ctx, set); err != nil {
			return err
		}
		return t.Audit(sealAct(accepted))
	})
}

// sealTable seals the rows of a table that have no right seal, and removes the seals of those that need none. It
// returns how many it has sealed.
func sealTable(ctx context.Context, db *base.DB, table *base.SealedTable) (int64, error) {
	sealed, _, err := eachSealed(ctx, db, table,
		func(r *base.SealedRecord) (bool, error) { return !r.Sealed(db.Sealer()), nil })
	if table == base.SealedTenants && err == nil {
		err = sealNoEvents(ctx, db)
	}
	if err != nil || table.Live == "" {
		return sealed, err
	}
	return sealed, db.Write(ctx, "end seals", func(ctx context.Context, t *base.Tx) error {
		_, err := t.Exec(ctx, `update `+table.Name+` set seal = null where seal is not null and not (`+table.Live+`)`)
		return err
	})
}

// sealNoEvents seals the number of the events of the tenants that have none, so that a company cannot be made one that
// never did anything.
func sealNoEvents(ctx context.Context, db *base.DB) error {
	for sealed := resealBatch; sealed == resealBatch; {
		if err := db.Write(ctx, "seal rows", func(ctx context.Context, t *base.Tx) error {
			tenants, err := base.Collect(ctx, t, base.ScanValue[base.ID],
				`select id from tenants where events = 0 and events_seal is null order by id limit $1`+db.Dialect().ForUpdate(),
				resealBatch)
			if err != nil {
				return err
			}
			sealed = len(tenants)
			for _, id := range tenants {
				value, err := base.Seal{}.Sealed(db.Sealer(), base.EventsSealBinding(id))
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
func eachSealed(ctx context.Context, db *base.DB, table *base.SealedTable,
	stale func(r *base.SealedRecord) (bool, error)) (sealed int64, failed []error, err error) {
	keys := strings.Join(table.Keys, ", ")
	var after []any
	for {
		query, args := `select `+table.Columns(table.Name)+` from `+table.Name+` where `+table.NeedsSeal(),
			append(after, resealBatch)
		if after != nil {
			parameters := make([]string, len(after))
			for n := range after {
				parameters[n] = sqldb.Parameter(n + 1)
			}
			query += ` and (` + keys + `) > (` + strings.Join(parameters, ", ") + `)`
		}
		query += ` order by ` + keys + ` limit ` + sqldb.Parameter(len(args))
		var page []*base.SealedRecord
		var done int64
		var faults []error
		err := db.Write(ctx, "seal rows", func(ctx context.Context, t *base.Tx) (err error) {
			done, faults = 0, nil
			if page, err = base.Collect(ctx, t, table.ScanRecord, query+db.Dialect().ForUpdate(), args...); err != nil {
				return err
			}
			for _, r := range page {
				is, err := stale(r)
				if err != nil {
					faults = append(faults, fmt.Errorf("%s %s: %w", table.Name, r.Name(), err))
				}
				if !is {
					continue
				}
				if err := t.WriteSeal(ctx, r); err != nil {
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
		after = page[len(page)-1].Key()
	}
}

// resealAccess seals rows with the primary key whose right seals another key has made.
func resealAccess(ctx context.Context, db *base.DB, keys *secret.Keyring) (int, error) {
	total := 0
	var errs []error
	for _, table := range base.SealedTables {
		n, failed, err := eachSealed(ctx, db, table, func(r *base.SealedRecord) (bool, error) {
			if len(r.Seal) == 0 || !keys.NeedsReseal(r.Seal) {
				return false, nil
			}
			if !r.Sealed(db.Sealer()) {
				return false, secret.ErrSealed
			}
			return true, nil
		})
		total += int(n)
		errs = append(append(errs, failed...), err)
	}
	n := 0
	err := db.Write(ctx, "reseal set", func(ctx context.Context, t *base.Tx) error {
		n = 0
		value, err := t.LockedTenantSet(ctx)
		if err != nil || value == nil || !keys.NeedsReseal(value) {
			return err
		}
		set, err := base.OpenTenantSet(db.Sealer(), value)
		if err != nil {
			return err
		}
		n = 1
		return t.SaveTenantSet(ctx, set)
	})
	return total + n, errors.Join(append(errs, err)...)
}

// accessKeysInUse adds to used the keys of the seals of rows.
func accessKeysInUse(ctx context.Context, db *base.DB, used map[uint32][]string) error {
	for _, table := range base.SealedTables {
		prefixes, err := base.Collect(ctx, db.Querier(), base.ScanValue[[]byte],
			`select distinct substr(seal, 1, 5) from `+table.Name+` where seal is not null and `+table.NeedsSeal())
		if err != nil {
			return db.Classify(err)
		}
		for _, prefix := range prefixes {
			if id, ok := secret.KeyIDOfPrefix(prefix); ok {
				used[id] = append(used[id], "seal of "+table.Name)
			}
		}
	}
	var value []byte
	if err := db.Querier().QueryRowContext(ctx, `select value from sealed_sets where name = $1`,
		base.SetTenants).Scan(&value); err != nil {
		return db.Classify(base.IgnoreMissing(err))
	}
	if id, ok := secret.KeyID(value); ok {
		used[id] = append(used[id], "set of companies")
	}
	return nil
}
