package store

import (
	"context"

	"quittance/sdk/go/api"
)

// newestUndelivered is the derived table of the $2 newest deliveries of a company that failed or were blocked. They have an
// index of their own.
const newestUndelivered = ` from (select id, state from deliveries where tenant_id = $1 and state in ('failed', 'blocked') order by id desc limit $2) newest`

// UndeliveredDeliveries returns the page of the given number (from 1) with perPage entries (from 1) of the newest [DeliveryDepth]
// deliveries that failed or were blocked, whatever their subscription: those of one of these states or, with "", of both.
func (t *Tenant) UndeliveredDeliveries(ctx context.Context, state api.DeliveryState, number, perPage int) (NewestDeliveries, error) {
	var out NewestDeliveries
	err := t.list(ctx, func(ctx context.Context, q querier) (err error) {
		out, err = t.newestDeliveries(ctx, q, newestUndelivered, []any{t.id, DeliveryDepth}, state, number, perPage)
		return err
	})
	return out, err
}
