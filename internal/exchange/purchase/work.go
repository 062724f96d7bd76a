package purchase

import (
	"context"
	"errors"

	"quittance/internal/exchange/queue"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
)

// Work returns the sync of due connections as a source of tasks, with one queue for each connection.
func (s *Service) Work() queue.Source[incoming.PurchaseLease] {
	return queue.Source[incoming.PurchaseLease]{
		Name: "purchase sync",
		Kind: base.WorkPurchases,
		Scan: func(ctx context.Context, from base.ScanCursor) (base.DueScan, error) {
			return incoming.DuePurchaseQueues(ctx, s.db, from)
		},
		Claim: func(ctx context.Context, due base.Queue, _ int) ([]incoming.PurchaseLease, error) {
			return incoming.ClaimPurchases(ctx, due, s.leaseDuration())
		},
		Do: func(ctx context.Context, lease incoming.PurchaseLease) queue.Result {
			ctx, span := s.Tracer.Work(ctx, "purchase sync")
			began := s.db.Now()
			err := s.Sync(ctx, lease)
			span.EndWork(err != nil && !errors.Is(err, base.ErrLeaseLost))
			switch {
			case errors.Is(err, base.ErrLeaseLost):
				s.Log.InfoContext(ctx, "purchase sync was taken over", "account", lease.Tenant.Account(),
					"connection", lease.Connection.ID)
			case err != nil:
				s.Log.ErrorContext(ctx, "purchase sync failed", "account", lease.Tenant.Account(),
					"connection", lease.Connection.ID, "error", err)
			}
			// The task is a sync of several calls. Only its latency says whether the queue is slow.
			return queue.Result{Latency: s.db.Now().Sub(began), Responded: true, LeaseLost: errors.Is(err, base.ErrLeaseLost)}
		},
	}
}
