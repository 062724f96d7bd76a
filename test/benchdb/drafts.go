package benchdb

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// batch is the largest number of drafts that are copied in one transaction.
const batch = 100_000

// errPrefix says that a prefix of invoice numbers needs escaping in JSON.
var errPrefix = errors.New(
	"fill drafts: the prefix of the invoice numbers must not contain characters that JSON escapes")

// FillDrafts gives a tenant count drafts, at least 1, which differ only in their numbers: prefix followed by 1, 2 and
// so on. The store creates the first one; the others are copies of its rows, because creating them one by one would
// take hours. The copies leave no entries in the audit log. filled is called with the number of drafts after each
// transaction; it may be nil. [base.ErrNotFound] means that the tenant is frozen.
func (db *DB) FillDrafts(ctx context.Context, tenant *base.Tenant, draft api.Draft, prefix string, count int,
	filled func(total int)) error {
	if quoted, err := json.Marshal(prefix); err != nil || string(quoted) != `"`+prefix+`"` {
		return errPrefix
	}
	draft.InvoiceNumber = new(prefix + "1")
	original, err := invoices.Create(ctx, tenant, &draft)
	if err != nil {
		return err
	}
	for done := 1; ; {
		if filled != nil {
			filled(done)
		}
		if done >= count {
			return nil
		}
		next := min(batch, count-done)
		if err := db.copyDraft(ctx, tenant.ID(), original.ID, prefix, done, next); err != nil {
			return fmt.Errorf("fill drafts: %w", err)
		}
		done += next
	}
}

// copyDraft copies the draft whose number is prefix and 1. done is how many drafts there are with that prefix.
func (db *DB) copyDraft(ctx context.Context, tenant, original base.ID, prefix string, done, count int) (err error) {
	tx, err := db.sql.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	var last int64 // position in the tenant's list
	err = tx.QueryRowContext(ctx,
		`update tenants set invoices = invoices + $2, drafts = drafts + $2 where id = $1 and frozen_at is null returning invoices`,
		tenant, count).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return base.ErrNotFound
	}
	if err != nil {
		return err
	}
	first := last - int64(count) + 1
	// An identifier has the time and the version of the original in its first half. The second half begins with the
	// variant, as the digit a, and ends with the position. The number of a copy is its position minus $6.
	//nolint:gosec // the expression is one of two constants
	copies := `with recursive n(i) as (select cast($3 as bigint) union all select i + 1 from n where i < $4)
		insert into invoices (tenant_id, id, position, number, document, version, created_at, updated_at, summarized, category, counted, counted_version)
		select o.tenant_id, ` + db.copiedID() + `, n.i, $7 || (n.i - $6), replace(o.document, $8, $9 || (n.i - $6) || '"'), o.version, o.created_at, o.updated_at, o.summarized, o.category, o.counted, o.counted_version
		from n, invoices o where o.tenant_id = $1 and o.id = $2`
	if _, err := tx.ExecContext(ctx, copies,
		tenant, original, first, last, hex.EncodeToString(original[:8])+"a", first-1-int64(done), prefix,
		numberField(prefix+"1"), openNumberField(prefix)); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx,
		`insert into invoice_summaries (tenant_id, invoice_id, created_at, external_id, issue_date, total, recipient, terms, item_count, summary)
		select o.tenant_id, i.id, o.created_at, o.external_id, o.issue_date, o.total, o.recipient, lower(i.number) || substr(o.terms, $5), o.item_count,
			replace(o.summary, $6, $7 || substr(i.number, $8) || '"')
		from invoices i, invoice_summaries o where i.tenant_id = $1 and i.position between $3 and $4 and o.tenant_id = $1 and o.invoice_id = $2`,
		tenant, original, first, last, len(prefix)+2, numberField(prefix+"1"), openNumberField(prefix),
		len(prefix)+1); err != nil {
		return err
	}
	// The documents are ASCII, so that characters are bytes.
	if _, err := tx.ExecContext(ctx, `update tenants set stored_bytes = stored_bytes +
		(select sum(length(document)) from invoices where tenant_id = $1 and position between $2 and $3) where id = $1`, tenant, first, last); err != nil {
		return err
	}
	if err := countCopies(ctx, tx, tenant, original, count); err != nil {
		return err
	}
	return tx.Commit()
}

// countCopies adds copies of a draft to the counter of the draft.
func countCopies(ctx context.Context, tx *sql.Tx, tenant, original base.ID, count int) error {
	var counted string // the period, the amount in millionths and the currency
	if err := tx.QueryRowContext(ctx, `select counted from invoices where tenant_id = $1 and id = $2`, tenant,
		original).Scan(&counted); err != nil {
		return err
	}
	_, counted, _ = strings.Cut(counted, " ")
	text, currency, _ := strings.Cut(counted, " ")
	amount, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return fmt.Errorf("the draft is counted as %q", counted)
	}
	args := []any{tenant, currency, count}
	for range 3 { // from the lowest part of the amount
		part := new(big.Int)
		amount.QuoRem(amount, big.NewInt(1_000_000_000), part)
		args = append(args, part.Int64()*int64(count))
	}
	_, err := tx.ExecContext(ctx,
		`update invoice_counters set invoices = invoices + $3, amount_low = amount_low + $4, amount_middle = amount_middle + $5,
		amount_high = amount_high + $6 where tenant_id = $1 and category = 'draft' and period = 0 and currency = $2`, args...)
	return err
}

// copiedID returns the SQL expression of the identifier of a copy from its 17 first hexadecimal digits, the parameter
// $5, and its position, n.i.
func (db *DB) copiedID() string {
	if db.isPostgres() {
		return "decode($5 || lpad(to_hex(n.i), 15, '0'), 'hex')"
	}
	return "unhex($5 || printf('%015x', n.i))"
}

// numberField returns an invoice number as a member of a JSON object, in the form in which the store writes documents.
func numberField(number string) string { return `"invoice_number":` + strconv.Quote(number) }

// openNumberField returns numberField without the final quotation mark.
func openNumberField(number string) string { return strings.TrimSuffix(numberField(number), `"`) }
