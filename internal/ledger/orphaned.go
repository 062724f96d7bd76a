package ledger

import (
	"context"

	"quittance/internal/ledger/base"
)

// ReleaseOrphanedLeases releases the leases that an ended process has left on submissions, deliveries, mails and
// purchase syncs, so that their work is due at once. Call it only at the start of a process that serves the database
// alone; with several processes, leases have to expire. Work without a lease stays due at its own time, except for
// purchase syncs, for which an additional request does no harm, and the probes of connections whose circuit is open.
// The interrupted attempt of a delivery counts when that delivery is claimed next.
func ReleaseOrphanedLeases(ctx context.Context, db *base.DB) error {
	return db.Write(ctx, "release orphaned leases", func(ctx context.Context, tx *base.Tx) error {
		now := base.Micros(tx.Now())
		// A claim changes due_at but not next_check_at. The first call changes both; its outcome identifies it. Of later
		// calls those that take a further step change both, too: they wait until their leases end.
		if _, err := tx.Exec(ctx, `update submissions set due_at = $1, next_check_at = $1, lease = lease + 1
			where due_at is not null and (outcome = 'in_progress' or due_at <> next_check_at)`, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx,
			`update deliveries set due_at = $1, lease = lease + 1 where due_at is not null and leased > 0`, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update connections set retry_at = $1 where retry_at is not null`, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx,
			`update mails set due_at = $1, lease = lease + 1, leased = 0 where due_at is not null and leased > 0`,
			now); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `update purchase_syncs set due_at = $1, lease = lease + 1 where due_at is not null`, now)
		return err
	})
}
