package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	base "quittance/internal/db"
	"quittance/internal/secret"
)

// sealedColumn is a column that holds sealed values.
type sealedColumn struct {
	name          string // describes the values
	table, column string
	from          string // the table, with an alias if value needs one
	// keys is the primary key: an identifier, or an owner and an identifier, or these and an ordinal.
	keys []string
	// value selects the current value, and where the rows that have one.
	value, where string
	// columns and scan read a row with all that the value is bound to.
	columns string
	scan    func(row scanner) (sealedRow, error)
	// binding returns the row and column that a value is bound to. The other bound values are in the row.
	binding func(r sealedRow) secret.Binding
	// immutable says that rows of the table never change, so a new value goes to the table resealed.
	immutable bool
}

// sealedRow is a sealed value and its row.
type sealedRow struct {
	// owner is the tenant, or the account, that the row belongs to.
	owner, id ID
	// ordinal is the number of a revision; 0 in other tables.
	ordinal int64
	sealed  []byte
	// bound holds the other values that the value is bound to; nil if there are none.
	bound []string
	// fresh is the new value.
	fresh []byte
}

// key returns the values of n key columns.
func (r *sealedRow) key(n int) []any {
	if n == 1 {
		return []any{r.id[:]}
	}
	return []any{r.owner[:], r.id[:], r.ordinal}[:n]
}

// page returns the query for a batch of rows after a row, or for the first batch if after is nil.
func (c *sealedColumn) page(after *sealedRow) (query string, args []any) {
	n := len(c.keys)
	args = []any{[]byte{}, []byte{}, int64(0)}[:n] // less than every key
	if after != nil {
		args = after.key(n)
	}
	key, from := strings.Join(c.keys, ", "),
		strings.Join([]string{base.Parameter(1), base.Parameter(2), base.Parameter(3)}[:n], ", ")
	return `select ` + c.columns + ` from ` + c.from + ` where (` + key + `) > (` + from + `) and ` + c.where +
			` order by ` + key + ` limit ` + base.Parameter(n+1),
		append(args, resealBatch)
}

// replace returns the statement that writes the new value, unless another process has replaced the old one.
func (c *sealedColumn) replace(r sealedRow) (statement string, args []any) {
	if c.immutable {
		return `insert into resealed (tenant_id, table_name, column_name, row_id, ordinal, value) values ($1, $2, $3, $4, $5, $6)
			on conflict (tenant_id, table_name, column_name, row_id, ordinal) do update set value = excluded.value where resealed.value = $7`,
			[]any{r.owner, c.table, c.column, r.id, r.ordinal, r.fresh, r.sealed}
	}
	statement = `update ` + c.table + ` set ` + c.column + ` = $1 where ` + c.column + ` = $2`
	for n, key := range c.keys {
		statement += ` and ` + key + ` = ` + base.Parameter(n+3)
	}
	return statement, append([]any{r.fresh, r.sealed}, r.key(len(c.keys))...)
}

// withheldBody, withheldDocument and withheldMetadata select the current value of a column of evidence: for a withheld
// value, the one in the table resealed if there is one. The rows of evidence and revisions never change.
const (
	withheldBody = `case when evidence.withheld = 1 then coalesce((select n.value from resealed n where n.tenant_id = evidence.tenant_id
		and n.table_name = 'evidence' and n.column_name = 'body' and n.row_id = evidence.id and n.ordinal = 0), evidence.body) else evidence.body end`
	withheldDocument = `case when r.withheld = 1 then coalesce((select n.value from resealed n where n.tenant_id = r.tenant_id
		and n.table_name = 'revisions' and n.column_name = 'body' and n.row_id = r.incoming_id and n.ordinal = r.revision), r.body) else r.body end`
	withheldMetadata = `case when r.withheld = 1 then coalesce((select n.value from resealed n where n.tenant_id = r.tenant_id
		and n.table_name = 'revisions' and n.column_name = 'metadata' and n.row_id = r.incoming_id and n.ordinal = r.revision), r.metadata) else r.metadata end`
)

// resealBatch is how many rows one transaction reseals, so that other writes do not wait long.
const resealBatch = 500

// sealedColumns lists every column that holds sealed values.
func sealedColumns() []sealedColumn {
	mails := sealedValue("link of a mail", "mails", "secret", []string{"account_id", "id"},
		func(r sealedRow) secret.Binding { return mailBinding(r.owner, r.id, "") })
	mails.columns += ", recipient"
	mails.scan = scanBound(boundRecipient)
	return append(boundColumns(), mails,
		sealedValue("evidence_seal of submissions", "submissions", "evidence_seal", []string{"tenant_id", "id"},
			func(r sealedRow) secret.Binding { return submissionSealBinding(r.owner, r.id) }),
		sealedValue("seal of incoming", "incoming", "seal", []string{"tenant_id", "id"},
			func(r sealedRow) secret.Binding { return incomingSealBinding(r.owner, r.id) }),
		sealedValue("number of events of tenant", "tenants", "events_seal", []string{"id"},
			func(r sealedRow) secret.Binding { return eventsSealBinding(r.id) }),
		sealedValue("sealed setting", "sealed_settings", "value", []string{"id"},
			func(r sealedRow) secret.Binding { return settingBinding(r.id) }),
		sealedValue("end of the audit log", "audit_heads", "seal", []string{"chain"},
			func(r sealedRow) secret.Binding { return auditSealBinding(r.id) }),
		sealedValue("second factor", "second_factors", "secret", []string{"account_id", "user_id"},
			func(r sealedRow) secret.Binding { return totpBinding(r.owner, r.id) }),
		sealedValue("second factor to be confirmed", "second_factors", "pending", []string{"account_id", "user_id"},
			func(r sealedRow) secret.Binding { return pendingTOTPBinding(r.owner, r.id) }),
		sealedValue("passkey", "passkeys", "credential", []string{"account_id", "id"},
			func(r sealedRow) secret.Binding { return passkeyBinding(r.owner, r.id) }),
		sealedValue("authenticator of operator", "operators", "totp", []string{"id"},
			func(r sealedRow) secret.Binding { return operatorTOTPBinding(r.id) }),
		sealedValue("event of a provider", "provider_events", "body", []string{"account_id", "id"},
			func(r sealedRow) secret.Binding { return providerEventBinding(r.owner, r.id) }),
		withheld("withheld response", "evidence", "body", withheldBody, []string{"tenant_id", "id"},
			func(r sealedRow) secret.Binding { return evidenceBinding(r.owner, r.id) }),
		withheldRevision("body", withheldDocument), withheldRevision("metadata", withheldMetadata))
}

// boundColumns lists the columns whose values are bound to other values of their rows.
func boundColumns() []sealedColumn {
	credentials := sealedValue("credential of connection", "connections", "credential", []string{"account_id", "id"},
		func(r sealedRow) secret.Binding { return credentialBinding(r.owner, r.id) })
	credentials.columns = connectionColumns
	credentials.scan = func(row scanner) (sealedRow, error) {
		c, err := scanConnection(row)
		return sealedRow{owner: c.Account, id: c.ID, sealed: c.sealed, bound: c.bound()}, err
	}
	secrets := sealedValue("signing secret of subscription", "subscriptions", "secret", []string{"tenant_id", "id"},
		func(r sealedRow) secret.Binding { return subscriptionBinding(r.owner, r.id) })
	secrets.columns += ", url"
	secrets.scan = scanBound(boundURL)
	return []sealedColumn{credentials, secrets}
}

// scanBound reads an owner, an identifier, a sealed value, and the column that it is bound to.
func scanBound(bound func(text string) []string) func(row scanner) (sealedRow, error) {
	return func(row scanner) (sealedRow, error) {
		var r sealedRow
		var text string
		err := row.Scan(&r.owner, &r.id, &r.sealed, &text)
		r.bound = bound(text)
		return r, err
	}
}

// sealedValue returns a column whose values are bound to their rows only. Rows may lack a value.
func sealedValue(name, table, column string, keys []string, binding func(sealedRow) secret.Binding) sealedColumn {
	return sealedColumn{
		name: name, table: table, from: table, column: column, keys: keys, value: column, where: column + ` is not null`,
		binding: binding,
		columns: strings.Join(keys, ", ") + ", " + column,
		scan: func(row scanner) (r sealedRow, err error) {
			into := []any{&r.owner, &r.id, &r.ordinal}[:len(keys)]
			if len(keys) == 1 {
				into = []any{&r.id}
			}
			err = row.Scan(append(into, &r.sealed)...)
			return r, err
		},
	}
}

// withheld returns a column of withheld evidence; see [withheldBody].
func withheld(name, table, column, value string, keys []string, binding func(sealedRow) secret.Binding) sealedColumn {
	c := sealedValue(name, table, column, keys, binding)
	c.value, c.where, c.columns, c.immutable = value, `withheld = 1`, strings.Join(keys, ", ")+", "+value, true
	return c
}

func withheldRevision(column, value string) sealedColumn {
	c := withheld("withheld "+column+" of revision", "revisions", column, value,
		[]string{"tenant_id", "incoming_id", "revision"},
		func(r sealedRow) secret.Binding { return revisionBinding(r.owner, r.id, r.ordinal, column) })
	c.from = "revisions r"
	return c
}

// KeysInUse returns the numbers of the keys that seal values in the database, and describes these values.
func (db *DB) KeysInUse(ctx context.Context) (map[uint32][]string, error) {
	ctx = base.WithoutQueryDeadline(ctx) // it reads whole tables
	used := map[uint32][]string{}
	for _, column := range sealedColumns() {
		prefixes, err := collect(ctx, db.reader, scanValue[[]byte],
			`select distinct substr(`+column.value+`, 1, 5) from `+column.from+` where `+column.where)
		if err != nil {
			return nil, db.classify(err)
		}
		for _, prefix := range prefixes {
			if id, ok := secret.KeyIDOfPrefix(prefix); ok {
				used[id] = append(used[id], column.name)
			}
		}
	}
	return used, db.accessKeysInUse(ctx, used)
}

// Reseal seals under the primary key every value that is sealed under another key, and returns the number of these
// values. It can be interrupted and repeated at any time, while servers run. A value that does not open stays as it is,
// and is part of the error.
func (db *DB) Reseal(ctx context.Context) (int, error) {
	keys, err := db.keys.current()
	if err != nil {
		return 0, err
	}
	ctx = base.WithoutQueryDeadline(ctx) // it reads whole tables
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
	resealed, err := db.resealAccess(ctx, keys)
	total += resealed
	errs = append(errs, err)
	act := keyAct("key.reseal", keys.PrimaryID())
	act.Details = map[string]string{"resealed": strconv.Itoa(total)}
	return total, errors.Join(append(errs, db.RecordAudit(ctx, act))...)
}

// resealRow reseals a value in the form that it has.
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

// resealColumn calls fresh for each value of a column, and replaces the values for which it returns true, batch by
// batch. It returns the number of replaced values. A value for which fresh returns an error stays as it is.
func (db *DB) resealColumn(ctx context.Context, column sealedColumn,
	fresh func(r *sealedRow) (bool, error)) (replaced int, err error) {
	var last *sealedRow
	var failed []error
	for {
		stale, faults, next, err := db.stalePage(ctx, db.reader, column, last, fresh)
		failed = append(failed, faults...)
		if err == nil && len(stale) > 0 {
			var n int
			err = db.write(ctx, "reseal", func(ctx context.Context, t *tx) (err error) {
				n, err = t.replaceSealed(ctx, column, stale)
				return err
			})
			replaced += n
		}
		if last = next; err != nil || last == nil {
			return replaced, errors.Join(append(failed, db.classify(err))...)
		}
	}
}

// stalePage calls fresh for the batch of values after a row, or for the first batch if after is nil. It returns the
// values for which fresh returns true, and the last row, which is nil at the end of the column.
func (db *DB) stalePage(ctx context.Context, q querier, column sealedColumn, after *sealedRow,
	fresh func(r *sealedRow) (bool, error)) (stale []sealedRow, failed []error, last *sealedRow, err error) {
	query, args := column.page(after)
	page, err := collect(ctx, q, column.scan, query, args...)
	if err != nil || len(page) == 0 {
		return nil, nil, nil, err
	}
	for _, r := range page {
		changed, err := fresh(&r)
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("%s %s of %s: %w", column.name, r.id, r.owner, err))
		case changed:
			stale = append(stale, r)
		}
	}
	return stale, failed, &page[len(page)-1], nil
}

// replaceSealed writes the new values, except where the old value has changed meanwhile, and returns how many it wrote.
func (t *tx) replaceSealed(ctx context.Context, column sealedColumn, stale []sealedRow) (replaced int, err error) {
	for _, r := range stale {
		statement, args := column.replace(r)
		n, err := t.Exec(ctx, statement, args...)
		if err != nil {
			return 0, err
		}
		replaced += int(n)
	}
	return replaced, nil
}
