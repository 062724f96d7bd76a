package submission

import (
	"context"

	"quittance/internal/queue"
	"quittance/internal/store"
)

// Work is the reconciliation of due submissions, a lane a connection.
func (s *Service) Work() queue.Source[store.SubmissionLease] {
	return queue.Source[store.SubmissionLease]{
		Name: "reconcile",
		Kind: store.WorkSubmissions,
		Scan: s.db.DueSubmissionQueues,
		Claim: func(ctx context.Context, lane store.Queue, limit int) ([]store.SubmissionLease, error) {
			return lane.ClaimSubmissions(ctx, limit, s.lease())
		},
		Do: func(ctx context.Context, call store.SubmissionLease) queue.Result {
			answer, err := s.Reconcile(ctx, call)
			if err != nil {
				s.Log.ErrorContext(ctx, "reconcile", "submission", call.Submission.ID, "error", err)
			}
			return queue.Result{Latency: answer.Duration, Responded: answer.HTTPStatus != 0}
		},
	}
}
