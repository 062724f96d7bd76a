package submission

import (
	"context"

	"quittance/internal/queue"
	"quittance/internal/store"
)

// Work returns the polling of due submissions as a source of tasks, with one queue for each connection.
func (s *Service) Work() queue.Source[store.SubmissionLease] {
	return queue.Source[store.SubmissionLease]{
		Name: "reconcile",
		Kind: store.WorkSubmissions,
		Scan: s.db.DueSubmissionQueues,
		Claim: func(ctx context.Context, due store.Queue, limit int) ([]store.SubmissionLease, error) {
			return due.ClaimSubmissions(ctx, limit, s.leaseDuration())
		},
		Do: func(ctx context.Context, lease store.SubmissionLease) queue.Result {
			ctx, span := s.Tracer.Work(ctx, "submission poll")
			response, err := s.Poll(ctx, lease)
			span.EndWork(err != nil)
			if err != nil {
				s.Log.ErrorContext(ctx, "polling of a submission failed", "account", lease.Tenant.Account(),
					"submission", lease.Submission.ID, "error", err)
			}
			return queue.Result{Latency: response.Duration, Responded: response.HTTPStatus != 0}
		},
	}
}
