package purchase

import (
	"context"
	"errors"

	"quittance/internal/queue"
	"quittance/internal/store"
)

// Work returns the sync of due connections as a source of tasks, with one queue for each connection.
func (s *Service) Work() queue.Source[store.SyncClaim] {
	return queue.Source[store.SyncClaim]{
		Name: "purchase sync",
		Kind: store.WorkPurchases,
		Scan: s.db.DuePurchaseQueues,
		Claim: func(ctx context.Context, due store.Queue, _ int) ([]store.SyncClaim, error) {
			return due.ClaimPurchases(ctx, s.leaseTime())
		},
		Do: func(ctx context.Context, claim store.SyncClaim) queue.Result {
			began := s.db.Now()
			err := s.Sync(ctx, claim)
			switch {
			case errors.Is(err, store.ErrLeaseLost):
				s.Log.InfoContext(ctx, "purchase sync was taken over", "connection", claim.Connection.ID)
			case err != nil:
				s.Log.ErrorContext(ctx, "purchase sync", "connection", claim.Connection.ID, "error", err)
			}
			// The task is a sync of several calls. Only its latency says whether the queue is slow.
			return queue.Result{Latency: s.db.Now().Sub(began), Responded: true}
		},
	}
}
