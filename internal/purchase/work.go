package purchase

import (
	"context"
	"errors"

	"quittance/internal/job"
	"quittance/internal/store"
)

// Work is the sync of due connections, a lane each.
func (s *Service) Work() job.Source[store.SyncClaim] {
	return job.Source[store.SyncClaim]{
		Name:  "purchase sync",
		Kind:  store.WorkPurchases,
		Lanes: s.db.PurchaseLanes,
		Claim: func(ctx context.Context, lane store.Lane, _ int) ([]store.SyncClaim, error) {
			return lane.ClaimPurchases(ctx, s.lease())
		},
		Do: func(ctx context.Context, claim store.SyncClaim) {
			switch err := s.Sync(ctx, claim); {
			case errors.Is(err, store.ErrLeaseLost):
				s.Log.InfoContext(ctx, "purchase sync was taken over", "connection", claim.Connection.ID)
			case err != nil:
				s.Log.ErrorContext(ctx, "purchase sync", "connection", claim.Connection.ID, "error", err)
			}
		},
	}
}
