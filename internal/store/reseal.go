package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"quittance/internal/secret"
)

// sealedColumn is a column that holds sealed values.
type sealedColumn struct {
	name string
	// used selects the first bytes of its values, which name their keys, each once.
	used string
	// page selects the values behind a row, in the order of their rows; scan reads one.
	page func(after sealedRow) (query string, args []any)
	scan func(row scanner) (sealedRow, error)
	// binding returns the row and column that a value is bound to. The other bound values are in the row.
	binding func(r sealedRow) secret.Binding
	// replace puts a new value where the old one still stands: a server may have written another one meanwhile.
	replace func(r sealedRow) (statement string, args []any)
}

// sealedRow is a sealed value and where it stands.
type sealedRow struct {
	// owner is the tenant, or the account, that the row belongs to.
	owner, id ID
	// ordinal is the number of a revision; 0 in other tables.
	ordinal int64
	sealed  []byte
	// bound holds the other values that the value is bound to; nil if there are none.
	bound []string
	// fresh is the value sealed anew.
	fresh []byte
}

// withheldBody and withheldRevision select what stands in a column of withheld evidence: the value that was sealed anew, or
// else the column's own. Rows of both tables are never changed.
const (
	withheldBody = `case when evidence.withheld = 1 then coalesce((select n.value from resealed n where n.tenant_id = evidence.tenant_id
		and n.table_name = 'evidence' and n.column_name = 'body' and n.row_id = evidence.id and n.ordinal = 0), evidence.body) else evidence.body end`
	withheldDocument = `case when r.withheld = 1 then coalesce((select n.value from resealed n where n.tenant_id = r.tenant_id
		and n.table_name = 'revisions' and n.column_name = 'body' and n.row_id = r.incoming_id and n.ordinal = r.revision), r.body) else r.body end`
	withheldMetadata = `case when r.withheld = 1 then coalesce((select n.value from resealed n where n.tenant_id = r.tenant_id
		and n.table_name = 'revisions' and n.column_name = 'metadata' and n.row_id = r.incoming_id and n.ordinal = r.revision), r.metadata) else r.metadata end`
)

// resealBatch is how many rows one transaction seals anew, so that none holds up the others for long.
const resealBatch = 500

// sealedColumns lists every column that holds sealed values.
func sealedColumns() []sealedColumn {
	return []sealedColumn{
		sealedConnections(), sealedSubscriptions(),
		sealedEnds("submissions", "evidence_seal", submissionSealBinding), sealedEnds("incoming", "seal", incomingSealBinding),
		sealedEventCounts(), sealedSettings(), sealedAudit(), withheldEvidence(), withheldRevision("body", withheldDocument), withheldRevision("metadata", withheldMetadata),
	}
}

func sealedConnections() sealedColumn {
	return sealedColumn{
		name: "credential of connection",
		used: `select distinct substr(credential, 1, 5) from connections`,
		page: func(after sealedRow) (string, []any) {
			return `select ` + connectionColumns + ` from connections where (account_id, id) > ($1, $2) order by account_id, id limit $3`,
				[]any{after.owner[:], after.id[:], resealBatch}
		},
		scan: func(row scanner) (sealedRow, error) {
			c, err := scanConnection(row)
			return sealedRow{owner: c.Account, id: c.ID, sealed: c.sealed, bound: c.bound()}, err
		},
		binding: func(r sealedRow) secret.Binding { return credentialBinding(r.owner, r.id) },
		replace: func(r sealedRow) (string, []any) {
			return `update connections set credential = $3 where account_id = $1 and id = $2 and credential = $4`, []any{r.owner, r.id, r.fresh, r.sealed}
		},
	}
}

func sealedSubscriptions() sealedColumn {
	return sealedColumn{
		name: "signing secret of subscription",
		used: `select distinct substr(secret, 1, 5) from subscriptions`,
		page: func(after sealedRow) (string, []any) {
			return `select tenant_id, id, secret, url from subscriptions where (tenant_id, id) > ($1, $2) order by tenant_id, id limit $3`,
				[]any{after.owner[:], after.id[:], resealBatch}
		},
		scan: func(row scanner) (sealedRow, error) {
			var r sealedRow
			var url string
			err := row.Scan(&r.owner, &r.id, &r.sealed, &url)
			r.bound = boundURL(url)
			return r, err
		},
		binding: func(r sealedRow) secret.Binding { return subscriptionBinding(r.owner, r.id) },
		replace: func(r sealedRow) (string, []any) {
			return `update subscriptions set secret = $3 where tenant_id = $1 and id = $2 and secret = $4`, []any{r.owner, r.id, r.fresh, r.sealed}
		},
	}
}

// sealedEnds are the seals of where chains end. A chain without one gets none.
func sealedEnds(table, column string, binding func(tenant, id ID) secret.Binding) sealedColumn {
	return sealedColumn{
		name: column + " of " + table,
		used: `select distinct substr(` + column + `, 1, 5) from ` + table + ` where ` + column + ` is not null`,
		page: func(after sealedRow) (string, []any) {
			return `select tenant_id, id, ` + column + ` from ` + table + ` where (tenant_id, id) > ($1, $2) and ` + column + ` is not null
				order by tenant_id, id limit $3`, []any{after.owner[:], after.id[:], resealBatch}
		},
		scan:    func(row scanner) (r sealedRow, err error) { return r, row.Scan(&r.owner, &r.id, &r.sealed) },
		binding: func(r sealedRow) secret.Binding { return binding(r.owner, r.id) },
		replace: func(r sealedRow) (string, []any) {
			return `update ` + table + ` set ` + column + ` = $3 where tenant_id = $1 and id = $2 and ` + column + ` = $4`, []any{r.owner, r.id, r.fresh, r.sealed}
		},
	}
}

// sealedEventCounts are the seals of how many events each tenant has.
func sealedEventCounts() sealedColumn {
	return sealedColumn{
		name: "number of events of tenant",
		used: `select distinct substr(events_seal, 1, 5) from tenants where events_seal is not null`,
		page: func(after sealedRow) (string, []any) {
			return `select id, events_seal from tenants where id > $1 and events_seal is not null order by id limit $2`, []any{after.id[:], resealBatch}
		},
		scan:    func(row scanner) (r sealedRow, err error) { return r, row.Scan(&r.id, &r.sealed) },
		binding: func(r sealedRow) secret.Binding { return eventsSealBinding(r.id) },
		replace: func(r sealedRow) (string, []any) {
			return `update tenants set events_seal = $2 where id = $1 and events_seal = $3`, []any{r.id, r.fresh, r.sealed}
		},
	}
}

// sealedSettings are the settings that are sealed.
func sealedSettings() sealedColumn {
	return sealedColumn{
		name: "sealed setting",
		used: `select distinct substr(value, 1, 5) from sealed_settings`,
		page: func(after sealedRow) (string, []any) {
			return `select id, value from sealed_settings where id > $1 order by id limit $2`, []any{after.id[:], resealBatch}
		},
		scan:    func(row scanner) (r sealedRow, err error) { return r, row.Scan(&r.id, &r.sealed) },
		binding: func(r sealedRow) secret.Binding { return settingBinding(r.id) },
		replace: func(r sealedRow) (string, []any) {
			return `update sealed_settings set value = $2 where id = $1 and value = $3`, []any{r.id, r.fresh, r.sealed}
		},
	}
}

// sealedAudit are the seals of where the chains of the audit log end.
func sealedAudit() sealedColumn {
	return sealedColumn{
		name: "end of the audit log",
		used: `select distinct substr(seal, 1, 5) from audit_heads where seal is not null`,
		page: func(after sealedRow) (string, []any) {
			// The first chain is that of sixteen zero bytes.
			return `select chain, seal from audit_heads where (chain > $1 or chain = $1 and $2 = 0) and seal is not null order by chain limit $3`,
				[]any{after.id[:], after.ordinal, resealBatch}
		},
		scan:    func(row scanner) (r sealedRow, err error) { r.ordinal = 1; return r, row.Scan(&r.id, &r.sealed) },
		binding: func(r sealedRow) secret.Binding { return auditSealBinding(r.id) },
		replace: func(r sealedRow) (string, []any) {
			return `update audit_heads set seal = $2 where chain = $1 and seal = $3`, []any{r.id[:], r.fresh, r.sealed}
		},
	}
}

func withheldEvidence() sealedColumn {
	return sealedColumn{
		name: "withheld answer",
		used: `select distinct substr(` + withheldBody + `, 1, 5) from evidence where withheld = 1`,
		page: func(after sealedRow) (string, []any) {
			return `select tenant_id, id, ` + withheldBody + ` from evidence where (tenant_id, id) > ($1, $2) and withheld = 1
				order by tenant_id, id limit $3`, []any{after.owner[:], after.id[:], resealBatch}
		},
		scan:    func(row scanner) (r sealedRow, err error) { return r, row.Scan(&r.owner, &r.id, &r.sealed) },
		binding: func(r sealedRow) secret.Binding { return evidenceBinding(r.owner, r.id) },
		replace: func(r sealedRow) (string, []any) { return replaceWithheld("evidence", "body", r) },
	}
}

func withheldRevision(column, value string) sealedColumn {
	return sealedColumn{
		name: "withheld " + column + " of revision",
		used: `select distinct substr(` + value + `, 1, 5) from revisions r where r.withheld = 1`,
		page: func(after sealedRow) (string, []any) {
			return `select r.tenant_id, r.incoming_id, r.revision, ` + value + ` from revisions r
				where (r.tenant_id, r.incoming_id, r.revision) > ($1, $2, $3) and r.withheld = 1 order by r.tenant_id, r.incoming_id, r.revision limit $4`,
				[]any{after.owner[:], after.id[:], after.ordinal, resealBatch}
		},
		scan:    func(row scanner) (r sealedRow, err error) { return r, row.Scan(&r.owner, &r.id, &r.ordinal, &r.sealed) },
		binding: func(r sealedRow) secret.Binding { return revisionBinding(r.owner, r.id, r.ordinal, column) },
		replace: func(r sealedRow) (string, []any) { return replaceWithheld("revisions", column, r) },
	}
}

// replaceWithheld keeps a value that was sealed anew beside the row, which is never changed.
func replaceWithheld(table, column string, r sealedRow) (string, []any) {
	return `insert into resealed (tenant_id, table_name, column_name, row_id, ordinal, value) values ($1, $2, $3, $4, $5, $6)
		on conflict (tenant_id, table_name, column_name, row_id, ordinal) do update set value = excluded.value where resealed.value = $7`,
		[]any{r.owner, table, column, r.id, r.ordinal, r.fresh, r.sealed}
}

// KeysInUse returns the numbers of the keys that values in the database are sealed under, and for each what these values
// are.
func (db *DB) KeysInUse(ctx context.Context) (map[uint32][]string, error) {
	ctx = withoutQueryDeadline(ctx) // it reads everything there is
	used := map[uint32][]string{}
	for _, column := range sealedColumns() {
		begins, err := collect(ctx, db.reader, func(row scanner) (b []byte, err error) { return b, row.Scan(&b) }, column.used)
		if err != nil {
			return nil, db.classify(err)
		}
		for _, begin := range begins {
			if id, ok := secret.KeyIDOfPrefix(begin); ok {
				used[id] = append(used[id], column.name)
			}
		}
	}
	return used, nil
}

// Reseal seals anew, under the primary key, everything that stands under another one, and returns how many values. It can be
// interrupted and run again at any time, beside running servers. What does not open is left as it is and told of in the
// end; a chain without a seal gets none.
func (db *DB) Reseal(ctx context.Context) (int, error) {
	keys, err := db.keys.current()
	if err != nil {
		return 0, err
	}
	ctx = withoutQueryDeadline(ctx) // it reads everything there is
	total := 0
	var errs []error
	for _, column := range sealedColumns() {
		resealed, err := db.resealColumn(ctx, column, func(r *sealedRow) (bool, error) {
			if !keys.NeedsReseal(r.sealed) {
				return false, nil
			}
			return true, db.resealRow(r, column.binding(*r))
		})
		total += resealed
		errs = append(errs, err)
	}
	act := keyAct("key.reseal", keys.PrimaryID())
	act.Details = map[string]string{"resealed": strconv.Itoa(total)}
	return total, errors.Join(append(errs, db.RecordAudit(ctx, act))...)
}

// resealRow seals a value anew in the form that it has.
func (db *DB) resealRow(r *sealedRow, at secret.Binding) error {
	at.Bound = r.bound
	plain, err := db.keys.Open(r.sealed, at)
	if errors.Is(err, secret.ErrSealed) && r.bound != nil && !db.keys.bound.Load() {
		at.Bound = nil
		plain, err = db.keys.Open(r.sealed, at)
	}
	if err != nil {
		return err
	}
	r.fresh, err = db.keys.Seal(plain, at)
	return err
}

// resealColumn goes over a column batch by batch, replaces the values of which fresh has made new ones, and returns how many
// were replaced. A value for which fresh returns an error stays as it is.
func (db *DB) resealColumn(ctx context.Context, column sealedColumn, fresh func(r *sealedRow) (bool, error)) (replaced int, err error) {
	var last sealedRow
	var failed []error
	for {
		stale, faults, more, err := db.stalePage(ctx, db.reader, column, &last, fresh)
		failed = append(failed, faults...)
		if err == nil && len(stale) > 0 {
			var n int
			err = db.write(ctx, "reseal", func(ctx context.Context, t *tx) (err error) {
				n, err = t.replaceSealed(ctx, column, stale)
				return err
			})
			replaced += n
		}
		if err != nil || !more {
			return replaced, errors.Join(append(failed, db.classify(err))...)
		}
	}
}

// stalePage reads the values behind last, moves last on, and returns those of which fresh has made new ones.
func (db *DB) stalePage(ctx context.Context, q querier, column sealedColumn, last *sealedRow, fresh func(r *sealedRow) (bool, error)) (stale []sealedRow, failed []error, more bool, err error) {
	query, args := column.page(*last)
	page, err := collect(ctx, q, column.scan, query, args...)
	if err != nil || len(page) == 0 {
		return nil, nil, false, err
	}
	*last = page[len(page)-1]
	for _, r := range page {
		changed, err := fresh(&r)
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("%s %s of %s: %w", column.name, r.id, r.owner, err))
		case changed:
			stale = append(stale, r)
		}
	}
	return stale, failed, true, nil
}

// replaceSealed writes values that were sealed anew and returns how many of the old ones still stood.
func (t *tx) replaceSealed(ctx context.Context, column sealedColumn, stale []sealedRow) (replaced int, err error) {
	for _, r := range stale {
		statement, args := column.replace(r)
		n, err := t.exec(ctx, statement, args...)
		if err != nil {
			return 0, err
		}
		replaced += int(n)
	}
	return replaced, nil
}
