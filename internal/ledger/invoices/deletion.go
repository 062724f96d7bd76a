package invoices

import (
	"context"
	"database/sql"
	"errors"

	"quittance/internal/ledger/base"
)

// An invoice has a position in the list, and a deleted one leaves its position empty. Pages are found by rank: the n-th
// of the remaining invoices, oldest first. The numbers of empty positions are kept in blocks: a block of level 1 spans
// deletionSpan positions, and a block of a higher level spans deletionSpan blocks of the level below. A block without
// empty positions has no row.
const (
	deletionSpan   = 128
	deletionLevels = 3
)

// Delete deletes a draft permanently. It returns [ErrVersion] unless unchanged returns true for the version of
// the draft, and [ErrNotEditable] if the invoice was ever submitted, even if the provider did not accept it, or has
// credit notes, including void ones.
func Delete(ctx context.Context, t *base.Tenant, id base.ID, unchanged func(version int64) bool) error {
	return t.Write(ctx, "delete invoice", func(ctx context.Context, tx *base.Tx) error {
		var version, position, size int64
		var number string
		was, err := scanCounted(tx.QueryRowContext(ctx,
			`select `+countedColumns+
				`, version, position, octet_length(document), number from invoices where tenant_id = $1 and id = $2`+
				t.DB().Dialect().ForUpdate(), t.ID(), id),
			&version, &position, &size, &number)
		if err != nil {
			return err
		}
		if !unchanged(version) {
			return ErrVersion
		}
		// Submissions and credit notes are created only while the invoice is locked.
		var kept bool
		if err := tx.QueryRowContext(ctx, `select exists (select 1 from submissions where tenant_id = $1 and invoice_id = $2)
			or exists (select 1 from credit_notes where tenant_id = $1 and invoice_id = $2)`, t.ID(), id).Scan(&kept); err != nil {
			return err
		}
		if kept {
			return ErrNotEditable
		}
		if _, err := tx.Exec(ctx, `delete from invoices where tenant_id = $1 and id = $2`, t.ID(), id); err != nil {
			return err
		}
		tx.Use(t.ID(), base.Usage{Bytes: -size, Drafts: -1})
		if err := t.Audit(tx, base.Act{Name: "draft.delete", SubjectType: "invoice", Subject: id.String(),
			Details: map[string]string{"invoice_number": number}}); err != nil {
			return err
		}
		recount(tx, t.ID(), was.tally, tally{})
		return emptyPosition(ctx, t, tx, position)
	})
}

// emptyPosition counts a position as empty in its blocks and in the tenant's row, which is locked last.
func emptyPosition(ctx context.Context, t *base.Tenant, tx *base.Tx, position int64) error {
	var rows [][]any
	for level, span := 1, int64(deletionSpan); level <= deletionLevels; level, span = level+1, span*deletionSpan {
		rows = append(rows, []any{t.ID(), level, position / span, 1})
	}
	if err := tx.Insert(ctx, `insert into invoice_deletions (tenant_id, level, block, deleted) values`, rows,
		` on conflict (tenant_id, level, block) do update set deleted = invoice_deletions.deleted + 1`); err != nil {
		return err
	}
	counted, err := tx.Exec(ctx,
		`update tenants set invoices_deleted = invoices_deleted + 1 where id = $1 and frozen_at is null`, t.ID())
	if err == nil && counted == 0 {
		return sql.ErrNoRows // the company was reset
	}
	return err
}

// InvoicePositions says which positions the invoices of a company have in its list.
type InvoicePositions struct {
	last, deleted int64
}

// Total returns the number of invoices.
func (p InvoicePositions) Total() int { return int(p.last - p.deleted) }

// ReadPositions reads how many positions were given out, and how many of them are empty.
func ReadPositions(ctx context.Context, r base.Reader) (p InvoicePositions, err error) {
	err = r.Rows.QueryRowContext(ctx, `select invoices, invoices_deleted from tenants where id = $1`,
		r.Tenant.ID()).Scan(&p.last, &p.deleted)
	return p, err
}

// SelectByRank returns the invoices from above rank low up to rank high, newest first. The oldest invoice has rank 1.
func SelectByRank(ctx context.Context, r base.Reader, p InvoicePositions, low, high int64) ([]InvoiceRow, error) {
	from, err := positionOf(ctx, r.Tenant, r.Rows, p, low)
	if err != nil {
		return nil, err
	}
	to, err := positionOf(ctx, r.Tenant, r.Rows, p, high)
	if err != nil {
		return nil, err
	}
	return SelectRows(ctx, r, `i.position <= $2 and i.position > $3`, `order by i.position desc`, to, from)
}

// positionOf returns the position of the invoice with a rank, from 1 for the oldest one: 0 for rank 0, and the last
// position for the highest rank and above. It makes a query for each level and one for the block. Each reads at most
// deletionSpan rows, except on the highest level, whose blocks span two million positions each.
func positionOf(ctx context.Context, t *base.Tenant, q base.Querier, p InvoicePositions, rank int64) (int64, error) {
	switch {
	case rank <= 0:
		return 0, nil
	case rank >= int64(p.Total()):
		return p.last, nil
	case p.deleted == 0:
		return rank, nil
	}
	start, span := int64(0), int64(1)
	for range deletionLevels {
		span *= deletionSpan
	}
	first, last := int64(0), p.last/span
	for level := deletionLevels; level > 0; level-- {
		deleted, err := deletions(ctx, t, q, level, first, last)
		if err != nil {
			return 0, err
		}
		for block := first; block <= last; block++ {
			left := min((block+1)*span-1, p.last) - max(block*span, 1) + 1 - deleted[block] // position 0 is never given out
			if start = block * span; rank <= left {
				break
			}
			rank -= left
		}
		span /= deletionSpan
		first = start / span
		last = min(first+deletionSpan-1, p.last/span)
	}
	var position int64
	err := q.QueryRowContext(ctx,
		`select position from invoices where tenant_id = $1 and position >= $2 and position < $3 order by position limit 1 offset $4`,
		t.ID(), start, start+deletionSpan, rank-1).Scan(&position)
	if errors.Is(err, sql.ErrNoRows) {
		return start + deletionSpan - 1, nil // invoices of the block were deleted meanwhile
	}
	return position, err
}

// deletions returns the number of empty positions of those blocks of a level that have any.
func deletions(ctx context.Context, t *base.Tenant, q base.Querier, level int, first,
	last int64) (map[int64]int64, error) {
	deleted := map[int64]int64{}
	_, err := base.Collect(ctx, q, func(row base.Row) (struct{}, error) {
		var block, n int64
		err := row.Scan(&block, &n)
		deleted[block] = n
		return struct{}{}, err
	}, `select block, deleted from invoice_deletions where tenant_id = $1 and level = $2 and block >= $3 and block <= $4`,
		t.ID(), level, first, last)
	return deleted, err
}
