package submission

import (
	"context"

	"quittance/internal/exchange/queue"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// Work returns the polling of due submissions as a source of tasks, with one queue for each connection.
func (s *Service) Work() queue.Source[invoices.SubmissionLease] {
	return queue.Source[invoices.SubmissionLease]{
		Name: "reconcile",
		Kind: base.WorkSubmissions,
		Scan: func(ctx context.Context, from base.ScanCursor) (base.DueScan, error) {
			return invoices.DueSubmissionQueues(ctx, s.db, from)
		},
		Claim: func(ctx context.Context, due base.Queue, limit int) ([]invoices.SubmissionLease, error) {
			return invoices.ClaimSubmissions(ctx, due, limit, s.leaseDuration())
		},
		Do: func(ctx context.Context, lease invoices.SubmissionLease) queue.Result {
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
