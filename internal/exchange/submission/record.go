package submission

import (
	"context"
	"errors"
	"fmt"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// record commits what follows from a response, and logs the call.
func (s *Service) record(ctx context.Context, lease invoices.SubmissionLease,
	response providerResponse) (invoices.Submission, error) {
	return s.recordBy(ctx, lease, response, response.decide)
}

// recordBy commits what decide makes of a response, and logs the call.
func (s *Service) recordBy(ctx context.Context, lease invoices.SubmissionLease, response providerResponse,
	decide decision) (invoices.Submission, error) {
	recorded, err := recordWithRetry(ctx, lease, decide)
	s.logCall(ctx, lease, response, recorded, err)
	if err == nil && s.ObserveOutcome != nil && recorded.Outcome != lease.Submission.Outcome {
		s.ObserveOutcome(recorded.Outcome)
	}
	return recorded, err
}

// decision says what follows from a response; see [invoices.SubmissionLease.Record].
type decision = func(s invoices.Submission, held bool, now time.Time) (invoices.Decision, error)

// recordWithRetry commits what follows from a response. A response must not be lost because the database is unavailable
// for a moment, so recordWithRetry tries again for a while. If it fails, a later poll queries the provider again.
func recordWithRetry(ctx context.Context, lease invoices.SubmissionLease,
	decide decision) (invoices.Submission, error) {
	const timeout = 15 * time.Second
	deadline, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		recorded, err := lease.Record(ctx, decide)
		if err == nil || !errors.Is(err, base.ErrUnavailable) {
			return recorded, err
		}
		select {
		case <-deadline.Done():
			return recorded, fmt.Errorf("record the provider's answer: %w", err)
		case <-time.After(wait):
		}
	}
}

// logCall writes the log line of a provider call.
func (s *Service) logCall(ctx context.Context, lease invoices.SubmissionLease, response providerResponse,
	recorded invoices.Submission, err error) {
	s.Log.InfoContext(ctx, "provider call", "call", response.call, "account", lease.Tenant.Account(),
		"connection", lease.Connection.ID, "request_id", base.ActorOf(ctx).RequestID,
		"submission", lease.Submission.ID, "kind", response.Kind.String(), "status", response.HTTPStatus,
		"class", string(response.ErrorClass), "duration_ms", response.Duration.Milliseconds(),
		"outcome", string(recorded.Outcome), "error", err)
	if contradicted(recorded) && !contradicted(lease.Submission) {
		s.Log.ErrorContext(ctx,
			"the provider has a document that was resolved by rejecting it: there may be two for one invoice",
			"account", lease.Tenant.Account(), "submission", recorded.ID, "invoice", recorded.Invoice,
			"resolved_by", recorded.Resolved.By, "resolved_at", recorded.Resolved.At)
	}
}

// contradicted reports whether the provider has reported a submission that an administrator had resolved by rejecting
// it.
func contradicted(s invoices.Submission) bool {
	return s.Resolved != nil && s.Resolved.ContradictedAt != nil
}
