package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	sqldb "quittance/internal/platform/db"
	"quittance/internal/platform/secret"
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
	scan    func(row base.Row) (sealedRow, error)
	// binding returns the row and column that a value is bound to. The other bound values are in the row.
	binding func(r sealedRow) secret.Binding
	// immutable says that rows of the table never change, so a new value goes to the table resealed.
	immutable bool
}

// sealedRow is a sealed value and its row.
type sealedRow struct {
	// owner is the tenant, or the account, that the row belongs to.
	owner, id base.ID
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
		strings.Join([]string{sqldb.Parameter(1), sqldb.Parameter(2), sqldb.Parameter(3)}[:n], ", ")
	return `select ` + c.columns + ` from ` + c.from + ` where (` + key + `) > (` + from + `) and ` + c.where +
			` order by ` + key + ` limit ` + sqldb.Parameter(n+1),
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
		statement += ` and ` + key + ` = ` + sqldb.Parameter(n+3)
	}
	return statement, append([]any{r.fresh, r.sealed}, r.key(len(c.keys))...)
}

// resealBatch is how many rows one transaction reseals, so that other writes do not wait long.
const resealBatch = 500

// sealedColumns lists every column that holds sealed values.
func sealedColumns() []sealedColumn {
	mails := sealedValue("link of a mail", "mails", "secret", []string{"account_id", "id"},
		func(r sealedRow) secret.Binding { return identity.MailBinding(r.owner, r.id, "") })
	mails.columns += ", recipient"
	mails.scan = scanBound(identity.BoundRecipient)
	return append(boundColumns(), mails,
		sealedValue("evidence_seal of submissions", "submissions", "evidence_seal", []string{"tenant_id", "id"},
			func(r sealedRow) secret.Binding { return base.SubmissionSealBinding(r.owner, r.id) }),
		sealedValue("seal of incoming", "incoming", "seal", []string{"tenant_id", "id"},
			func(r sealedRow) secret.Binding { return base.IncomingSealBinding(r.owner, r.id) }),
		sealedValue("number of events of tenant", "tenants", "events_seal", []string{"id"},
			func(r sealedRow) secret.Binding { return base.EventsSealBinding(r.id) }),
		sealedValue("sealed setting", "sealed_settings", "value", []string{"id"},
			func(r sealedRow) secret.Binding { return base.SettingBinding(r.id) }),
		sealedValue("end of the audit log", "audit_heads", "seal", []string{"chain"},
			func(r sealedRow) secret.Binding { return base.AuditSealBinding(r.id) }),
		sealedValue("second factor", "second_factors", "secret", []string{"account_id", "user_id"},
			func(r sealedRow) secret.Binding { return identity.TOTPBinding(r.owner, r.id) }),
		sealedValue("second factor to be confirmed", "second_factors", "pending", []string{"account_id", "user_id"},
			func(r sealedRow) secret.Binding { return identity.PendingTOTPBinding(r.owner, r.id) }),
		sealedValue("passkey", "passkeys", "credential", []string{"account_id", "id"},
			func(r sealedRow) secret.Binding { return identity.PasskeyBinding(r.owner, r.id) }),
		sealedValue("authenticator of operator", "operators", "totp", []string{"id"},
			func(r sealedRow) secret.Binding { return identity.OperatorTOTPBinding(r.id) }),
		sealedValue("event of a provider", "provider_events", "body", []string{"account_id", "id"},
			func(r sealedRow) secret.Binding { return incoming.ProviderEventBinding(r.owner, r.id) }),
		withheld("withheld response", "evidence", "body", invoices.WithheldBody, []string{"tenant_id", "id"},
			func(r sealedRow) secret.Binding { return invoices.EvidenceBinding(r.owner, r.id) }),
		withheldRevision("body", incoming.WithheldDocument), withheldRevision("metadata", incoming.WithheldMetadata))
}

// boundColumns lists the columns whose values are bound to other values of their rows.
func boundColumns() []sealedColumn {
	credentials := sealedValue("credential of connection", "connections", "credential", []string{"account_id", "id"},
		func(r sealedRow) secret.Binding { return invoices.CredentialBinding(r.owner, r.id) })
	credentials.columns = invoices.ConnectionColumns
	credentials.scan = func(row base.Row) (sealedRow, error) {
		c, err := invoices.ScanConnection(row)
		return sealedRow{owner: c.Account, id: c.ID, sealed: c.Sealed, bound: c.Bound()}, err
	}
	secrets := sealedValue("signing secret of subscription", "subscriptions", "secret", []string{"tenant_id", "id"},
		func(r sealedRow) secret.Binding { return events.SubscriptionBinding(r.owner, r.id) })
	secrets.columns += ", url"
	secrets.scan = scanBound(events.BoundURL)
	return []sealedColumn{credentials, secrets}
}

// scanBound reads an owner, an identifier, a sealed value, and the column that it is bound to.
func scanBound(bound func(text string) []string) func(row base.Row) (sealedRow, error) {
	return func(row base.Row) (sealedRow, error) {
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
		scan: func(row base.Row) (r sealedRow, err error) {
			into := []any{&r.owner, &r.id, &r.ordinal}[:len(keys)]
			if len(keys) == 1 {
				into = []any{&r.id}
			}
			err = row.Scan(append(into, &r.sealed)...)
			return r, err
		},
	}
}

// withheld returns a column of withheld evidence; see [invoices.WithheldBody].
func withheld(name, table, column, value string, keys []string, binding func(sealedRow) secret.Binding) sealedColumn {
	c := sealedValue(name, table, column, keys, binding)
	c.value, c.where, c.columns, c.immutable = value, `withheld = 1`, strings.Join(keys, ", ")+", "+value, true
	return c
}

func withheldRevision(column, value string) sealedColumn {
	c := withheld("withheld "+column+" of revision", "revisions", column, value,
		[]string{"tenant_id", "incoming_id", "revision"},
		func(r sealedRow) secret.Binding { return incoming.RevisionBinding(r.owner, r.id, r.ordinal, column) })
	c.from = "revisions r"
	return c
}

// KeysInUse returns the numbers of the keys that seal values in the database, and describes these values.
func KeysInUse(ctx context.Context, db *base.DB) (map[uint32][]string, error) {
	ctx = sqldb.WithoutQueryDeadline(ctx) // it reads whole tables
	used := map[uint32][]string{}
	for _, column := range sealedColumns() {
		prefixes, err := base.Collect(ctx, db.Querier(), base.ScanValue[[]byte],
			`select distinct substr(`+column.value+`, 1, 5) from `+column.from+` where `+column.where)
		if err != nil {
			return nil, db.Classify(err)
		}
		for _, prefix := range prefixes {
			if id, ok := secret.KeyIDOfPrefix(prefix); ok {
				used[id] = append(used[id], column.name)
			}
		}
	}
	return used, accessKeysInUse(ctx, db, used)
}

// Reseal seals under the primary key every value that is sealed under another key, and returns the number of these
// values. It can be interrupted and repeated at any time, while servers run. A value that does not open stays as it is,
// and is part of the error.
func Reseal(ctx context.Context, db *base.DB) (int, error) {
	keys, err := db.Sealer().Current()
	if err != nil {
		return 0, err
	}
	ctx = sqldb.WithoutQueryDeadline(ctx) // it reads whole tables
	total := 0
	var errs []error
	for _, column := range sealedColumns() {
		resealed, err := resealColumn(ctx, db, column, func(r *sealedRow) (bool, error) {
			if !keys.NeedsReseal(r.sealed) {
				return false, nil
			}
			return true, resealRow(db, r, column.binding(*r))
		})
		total += resealed
		errs = append(errs, err)
	}
	resealed, err := resealAccess(ctx, db, keys)
	total += resealed
	errs = append(errs, err)
	act := base.KeyAct("key.reseal", keys.PrimaryID())
	act.Details = map[string]string{"resealed": strconv.Itoa(total)}
	return total, errors.Join(append(errs, db.RecordAudit(ctx, act))...)
}

// resealRow reseals a value.
func resealRow(db *base.DB, r *sealedRow, at secret.Binding) error {
	at.Bound = r.bound
	plain, err := db.Sealer().Open(r.sealed, at)
	if err != nil {
		return err
	}
	r.fresh, err = db.Sealer().Seal(plain, at)
	return err
}

// resealColumn calls fresh for each value of a column, and replaces the values for which it returns true, batch by
// batch. It returns the number of replaced values. A value for which fresh returns an error stays as it is.
func resealColumn(ctx context.Context, db *base.DB, column sealedColumn,
	fresh func(r *sealedRow) (bool, error)) (replaced int, err error) {
	var last *sealedRow
	var failed []error
	for {
		stale, faults, next, err := stalePage(ctx, db.Querier(), column, last, fresh)
		failed = append(failed, faults...)
		if err == nil && len(stale) > 0 {
			var n int
			err = db.Write(ctx, "reseal", func(ctx context.Context, t *base.Tx) (err error) {
				n, err = replaceSealed(ctx, t, column, stale)
				return err
			})
			replaced += n
		}
		if last = next; err != nil || last == nil {
			return replaced, errors.Join(append(failed, db.Classify(err))...)
		}
	}
}

// stalePage calls fresh for the batch of values after a row, or for the first batch if after is nil. It returns the
// values for which fresh returns true, and the last row, which is nil at the end of the column.
func stalePage(ctx context.Context, q base.Querier, column sealedColumn, after *sealedRow,
	fresh func(r *sealedRow) (bool, error)) (stale []sealedRow, failed []error, last *sealedRow, err error) {
	query, args := column.page(after)
	page, err := base.Collect(ctx, q, column.scan, query, args...)
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
func replaceSealed(ctx context.Context, t *base.Tx, column sealedColumn, stale []sealedRow) (replaced int, err error) {
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
