package invoices

import (
	"context"

	"quittance/internal/ledger/base"
)

// schedulePurchases makes the purchase sync of an active connection due at once, and ends that of any other: a run
// in progress loses its lease.
func schedulePurchases(ctx context.Context, t *base.Tx, c *Connection) error {
	if c.State != ConnectionActive {
		_, err := t.Exec(ctx,
			`update purchase_syncs set due_at = null, lease = lease + 1 where account_id = $1 and connection_id = $2`, c.Account,
			c.ID)
		return err
	}
	_, err := t.Exec(ctx, `insert into purchase_syncs (account_id, connection_id, cursor, due_at) values ($1, $2, $3, $4)
		on conflict (account_id, connection_id) do update set due_at = excluded.due_at, wait = 0`, c.Account, c.ID, []byte{}, base.Micros(t.Now()))
	return err
}
