package store

import (
	"context"
	"database/sql"
	"errors"
)

// numberHolder selects [Invoice.NumberHolder] of an invoice i, from the unique index of submitted numbers.
const numberHolder = `(select h.invoice_id from submissions h where h.tenant_id = i.tenant_id and h.number = i.number
	and h.outcome in ('in_progress', 'acknowledged', 'unknown') and h.invoice_id <> i.id)`

// NumberHolder returns the invoice that was submitted with a number and is not rejected, or the zero ID.
func (t *Tenant) NumberHolder(ctx context.Context, number string) (ID, error) {
	return readValue(t, func(q querier) (ID, error) {
		return t.numberHolder(ctx, q, number)
	})
}

func (t *Tenant) numberHolder(ctx context.Context, q querier, number string) (ID, error) {
	var holder ID
	err := q.QueryRowContext(ctx, `select invoice_id from submissions where tenant_id = $1 and number = $2
		and outcome in ('in_progress', 'acknowledged', 'unknown')`, t.id, number).Scan(&holder)
	if errors.Is(err, sql.ErrNoRows) {
		return ID{}, nil
	}
	return holder, err
}
