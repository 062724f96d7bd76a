package purchase

import (
	"context"
	"errors"

	"quittance/internal/queue"
	"quittance/internal/store"
)

// Work returns the sync of due connections as a source of tasks, with one queue for each connection.
func (s *Service) Work() queue.Source[store.PurchaseLease] {
	return queue.Source[store.PurchaseLease]{
		Name: "purchase sync",
		Kind: store.WorkPurchases,
		Scan: s.db.DuePurchaseQueues,
		Claim: func(ctx context.Context, due store.Queue, _ int) ([]store.PurchaseLease, error) {
			return due.ClaimPurchases(ctx, s.leaseDuration())
		},
		Do: func(ctx context.Context, lease store.PurchaseLease) queue.Result {
			ctx, span := s.Tracer.Work(ctx, "purchase sync")
			began := s.db.Now()
			err := s.Sync(ctx, lease)
			span.EndWork(err != nil && !errors.Is(err, store.ErrLeaseLost))
			switch {
			case errors.Is(err, store.ErrLeaseLost):
				s.Log.InfoContext(ctx, "purchase sync was taken over", "account", lease.Tenant.Account(),
					"connection", lease.Connection.ID)
			case err != nil:
				s.Log.ErrorContext(ctx, "purchase sync failed", "account", lease.Tenant.Account(),
					"connection", lease.Connection.ID, "error", err)
			}
			// The task is a sync of several calls. Only its latency says whether the queue is slow.
			return queue.Result{Latency: s.db.Now().Sub(began), Responded: true, LeaseLost: errors.Is(err, store.ErrLeaseLost)}
		},
	}
}
