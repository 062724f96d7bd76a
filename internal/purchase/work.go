package purchase

import (
	"context"
	"errors"

	"quittance/internal/queue"
	"quittance/internal/store"
)

// Work is the sync of due connections, a lane each.
func (s *Service) Work() queue.Source[store.SyncClaim] {
	return queue.Source[store.SyncClaim]{
		Name: "purchase sync",
		Kind: store.WorkPurchases,
		Scan: s.db.DuePurchaseQueues,
		Claim: func(ctx context.Context, lane store.Queue, _ int) ([]store.SyncClaim, error) {
			return lane.ClaimPurchases(ctx, s.lease())
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
			// A lane is a single sync of several calls: whether it was quick is all that its pace depends on.
			return queue.Result{Latency: s.db.Now().Sub(began), Responded: true}
		},
	}
}
