package store

import (
	"context"
	"database/sql"
	"errors"
)

// Invoices are numbered by their positions in the list, and a deleted one leaves its position empty. A page is found by
// rank: the n-th of the invoices that are left, oldest first. How many positions are empty is kept by blocks: a block of
// level 1 spans deletionSpan positions, one of the next level as many blocks of the level below. A block in which nothing
// was deleted has no row.
const (
	deletionSpan   = 128
	deletionLevels = 3
)

// DeleteInvoice deletes a draft for good. unchanged tells whether the version is the one the caller means, else
// [ErrVersion]. [ErrNotEditable] says that the invoice was submitted, if only in an attempt of which the provider took
// nothing, or that it has credit notes, void ones included: what refers to it is kept, and so is the invoice.
func (t *Tenant) DeleteInvoice(ctx context.Context, id ID, unchanged func(version int64) bool) error {
	return t.write(ctx, "delete invoice", func(ctx context.Context, tx *tx) error {
		var version, position, size int64
		if err := tx.QueryRowContext(ctx, `select version, position, octet_length(document) from invoices where tenant_id = $1 and id = $2`+t.db.forUpdate, t.id, id).
			Scan(&version, &position, &size); err != nil {
			return err
		}
		if !unchanged(version) {
			return ErrVersion
		}
		// Submissions and credit notes are made under the lock of the invoice alone.
		var kept bool
		if err := tx.QueryRowContext(ctx, `select exists (select 1 from submissions where tenant_id = $1 and invoice_id = $2)
			or exists (select 1 from credit_notes where tenant_id = $1 and invoice_id = $2)`, t.id, id).Scan(&kept); err != nil {
			return err
		}
		if kept {
			return ErrNotEditable
		}
		if _, err := tx.exec(ctx, `delete from invoices where tenant_id = $1 and id = $2`, t.id, id); err != nil {
			return err
		}
		tx.use(t.id, usage{bytes: -size, drafts: -1})
		return t.emptyPosition(ctx, tx, position)
	})
}

// emptyPosition counts a position as empty, from the lowest level to the tenant's row, which is locked last, as everywhere.
func (t *Tenant) emptyPosition(ctx context.Context, tx *tx, position int64) error {
	var rows [][]any
	for level, span := 1, int64(deletionSpan); level <= deletionLevels; level, span = level+1, span*deletionSpan {
		rows = append(rows, []any{t.id, level, position / span, 1})
	}
	if err := tx.insert(ctx, `insert into invoice_deletions (tenant_id, level, block, deleted) values`, rows,
		` on conflict (tenant_id, level, block) do update set deleted = invoice_deletions.deleted + 1`); err != nil {
		return err
	}
	counted, err := tx.exec(ctx, `update tenants set invoices_deleted = invoices_deleted + 1 where id = $1 and frozen_at is null`, t.id)
	if err == nil && counted == 0 {
		return sql.ErrNoRows // the company was reset
	}
	return err
}

// positions are those of a company's list of invoices.
type positions struct {
	last, deleted int64
}

// total is how many invoices the list has.
func (p positions) total() int { return int(p.last - p.deleted) }

// positions reads how many positions were given out, and how many of them are empty.
func (t *Tenant) positions(ctx context.Context, q querier) (p positions, err error) {
	err = q.QueryRowContext(ctx, `select invoices, invoices_deleted from tenants where id = $1`, t.id).Scan(&p.last, &p.deleted)
	return p, err
}

// between returns the positions of the invoices from above rank low up to rank high.
func (t *Tenant) between(ctx context.Context, q querier, p positions, low, high int64) (lowAt, highAt int64, err error) {
	if lowAt, err = t.positionOf(ctx, q, p, low); err != nil {
		return 0, 0, err
	}
	highAt, err = t.positionOf(ctx, q, p, high)
	return lowAt, highAt, err
}

// positionOf returns the position of the invoice with a rank, from 1 for the oldest one: a query for each level and one for
// the block, none of them over more than deletionSpan rows but on the highest level, whose blocks span two million
// positions each. It is 0 for rank 0, and the last position for the highest rank and those above.
func (t *Tenant) positionOf(ctx context.Context, q querier, p positions, rank int64) (int64, error) {
	switch {
	case rank <= 0:
		return 0, nil
	case rank >= int64(p.total()):
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
		deleted, err := t.deletions(ctx, q, level, first, last)
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
	err := q.QueryRowContext(ctx, `select position from invoices where tenant_id = $1 and position >= $2 and position < $3 order by position limit 1 offset $4`,
		t.id, start, start+deletionSpan, rank-1).Scan(&position)
	if errors.Is(err, sql.ErrNoRows) {
		return start + deletionSpan - 1, nil // some of the block were deleted meanwhile
	}
	return position, err
}

// deletions returns how many positions are empty in blocks of a level, of those in which any is.
func (t *Tenant) deletions(ctx context.Context, q querier, level int, first, last int64) (map[int64]int64, error) {
	deleted := map[int64]int64{}
	_, err := collect(ctx, q, func(row scanner) (struct{}, error) {
		var block, n int64
		err := row.Scan(&block, &n)
		deleted[block] = n
		return struct{}{}, err
	}, `select block, deleted from invoice_deletions where tenant_id = $1 and level = $2 and block >= $3 and block <= $4`, t.id, level, first, last)
	return deleted, err
}
