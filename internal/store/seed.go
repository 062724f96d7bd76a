package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"strings"

	"quittance/api"
)

// seededNumber stands in a draft for the number that each seeded one gets.
const seededNumber = "seeded-draft-number"

// SeedDrafts adds count drafts, from 1, that differ in their number alone, prefix and their position in the list, in one statement:
// the filling of a load test, which one call a draft would make last for hours. Call it again for more; a hundred
// thousand at a time keep the transaction short. [ErrNotFound] says that the tenant is frozen.
func (t *Tenant) SeedDrafts(ctx context.Context, draft api.Draft, prefix string, count int) error {
	draft.InvoiceNumber = new(seededNumber)
	text, err := marshalDraft(&draft)
	if err != nil {
		return err
	}
	head, tail, found := strings.Cut(string(text), seededNumber)
	if !found || strings.ContainsAny(prefix, "\"\\") {
		return errors.New("seed drafts: the prefix of the numbers cannot stand in JSON as it is")
	}
	summary, err := summarize(&draft)
	if err != nil {
		return err
	}
	summaryHead, summaryTail, _ := strings.Cut(summary.text, seededNumber)
	return t.write(ctx, "seed drafts", func(ctx context.Context, tx *tx) error {
		now := tx.now()
		// In the order of their making, as those of calls are: the version stands in the first half, the variant in the "a".
		id, err := newID(now, t.db.random)
		if err != nil {
			return err
		}
		// The table of invoices is locked before the tenant's row, as everywhere.
		inserted, err := tx.exec(ctx, `with recursive
				first(i) as (select invoices + 1 from tenants where id = $1 and frozen_at is null`+t.db.lock+`),
				n(i) as (select i from first union all select i + 1 from n where i < (select i from first) + $2 - 1)
			insert into invoices (tenant_id, id, position, number, document, version, created_at, updated_at, summarized)
			select $1, `+t.db.numberedID+`, n.i, $3 || n.i, $4 || n.i || $5, 1, $6, $6, 1 from n`,
			t.id, count, prefix, head+prefix, tail, micros(now), hex.EncodeToString(id[:8])+"a")
		if err != nil {
			return err
		}
		if inserted == 0 {
			return sql.ErrNoRows // the company was reset
		}
		if err := tx.Later(ctx, `insert into invoice_summaries (`+summaryColumns+`)
			select i.tenant_id, i.id, i.created_at, null, $3, $4, $5, lower(i.number) || $6, $7, $8 || i.position || $9 from invoices i
			where i.tenant_id = $1 and i.position > (select invoices from tenants where id = $1) and i.position <= (select invoices from tenants where id = $1) + $2`,
			t.id, count, summary.issueDate, summary.total, summary.recipient, strings.TrimPrefix(summary.terms, seededNumber), summary.items,
			summaryHead+prefix, summaryTail); err != nil {
			return err
		}
		_, err = tx.exec(ctx, `update tenants set invoices = invoices + $2, drafts = drafts + $2, stored_bytes = stored_bytes + $2 * $3 where id = $1`, t.id, count, len(text))
		return err
	})
}
