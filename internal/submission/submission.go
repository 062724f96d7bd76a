// Package submission sends a complete draft to the provider as one regulated submission, and polls its result.
//
// Its invariants:
//
//   - The intent to submit is committed, with its permanent reference, before a byte leaves. The provider is called outside any
//     transaction. Its response and everything that follows from it are committed in one transaction.
//   - An ambiguous response makes the outcome unknown. It never makes a state, and it is never a reason to send again.
//   - decide in record.go is the only place where evidence becomes state. The HTTP status is not an input to a state.
//
// These are the rules. The constants are in record.go and polling.go.
//
//	What             When                                                      Why
//
//	Send             Once, when the customer submits, right after the intent   After a crash, the committed reference is what
//	                 is committed.                                             polled.
//	Query, then      After a restore from a backup: the status under this      The backup may be older than a submission that
//	send             reference and the next four.                              the provider has accepted.
//	Make it a draft  If nothing was sent, or the provider refused the call     Only then does the provider certainly not have
//	again            unread (401, 403, 429).                                   the document. The next try uses the same
//	                                                                           reference.
//	Poll             1 s after a change, then after twice as long each time,   The provider reports later states only when it
//	                 up to 1 h; once a day after 90 days. At most 1 min after  is polled. Old submissions stay cheap, and all
//	                 a failed call. Never before the provider's Retry-After.   recover soon after an outage.
//	Send again       If the outcome is unknown, references are idempotent,     An early response may be older than the arrival
//	                 and the provider has said twice that it has no such       of the document. Under an idempotent reference,
//	                 document: both times two call time-outs after the last    even a wrong conclusion makes no second
//	                 send or later, at least 60 s apart, the last time just    document.
//	                 now.
//	Send again       If an administrator has ordered it, and the provider      A person may know what the provider cannot tell.
//	                 responds (not with 401, 403, 429 or 5xx).
//	Stop polling     When all four states are terminal. A submission is never  An administrator can resolve an unknown outcome.
//	                 given up.
//
// Start reading at [Service.Submit], then [Service.Poll], then decide in record.go.
package submission

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"quittance/internal/provider"
	"quittance/internal/store"
	"quittance/sdk/go/api"
)

// ErrNotSubmitted says that the provider certainly did not receive the document, or refused it unread. The invoice is a
// draft again and keeps its reference.
var ErrNotSubmitted = errors.New("the provider did not take the document")

// Config configures a [Service]. All durations are positive.
type Config struct {
	// Environment is local, sandbox or production.
	Environment string
	// Release is the release of this binary. In production a connection submits only with an approval that covers it.
	Release string
	// Adapters opens the adapter of a connection.
	Adapters *Adapters
	// CallTimeout limits a provider call, including reading the response.
	CallTimeout time.Duration
	// Polling sets when the provider is polled again.
	Polling Polling
	// Log receives one line for every provider call.
	Log *slog.Logger
	// Observe is called after every provider call, for metrics.
	Observe func(call, kind string, duration time.Duration)
}

// Service submits invoices and polls submissions. It is safe for concurrent use.
type Service struct {
	db      *store.DB
	limiter *callLimiter
	Config
}

// New returns a service on db.
func New(db *store.DB, config Config) *Service {
	return &Service{db: db, limiter: newCallLimiter(), Config: config}
}

// leaseMargin is added to the time-outs of the calls under a lease, so that a live worker never loses the lease.
const leaseMargin = 10 * time.Second

// leaseDuration is how long a poll may take: a status query and a resend.
func (s *Service) leaseDuration() time.Duration { return 2*s.CallTimeout + leaseMargin }

// Submit submits an invoice. If the invoice was submitted before, Submit returns what is recorded. It returns the errors of
// [store.Tenant.BeginSubmission], [ErrNotSubmitted] or [ErrBusy]. Once the intent is committed, cancelling ctx has no effect.
func (s *Service) Submit(ctx context.Context, tenant *store.Tenant, invoiceID store.ID) (store.Invoice, error) {
	release, err := s.limiter.acquire(ctx, tenant.Account(), 0)
	if errors.Is(err, ErrBusy) {
		// An invoice that was submitted already needs no call and must not wait for one.
		if found, err := tenant.Invoice(ctx, invoiceID); err != nil || found.Submission != nil && found.Submission.Outcome != api.OutcomeInProgress {
			return found, err
		}
		release, err = s.limiter.acquire(ctx, tenant.Account(), acquireTimeout)
	}
	if err != nil {
		return store.Invoice{}, err
	}
	defer release()
	lease, begun, err := tenant.BeginSubmission(ctx, invoiceID, store.Intent{
		Environment:             s.Environment,
		Release:                 s.Release,
		Render:                  render,
		LeaseDuration:           s.CallTimeout + leaseMargin,
		QueryFirstLeaseDuration: maxQueryFirstCalls*s.CallTimeout + leaseMargin,
	})
	if errors.Is(err, store.ErrNotApproved) {
		s.Log.WarnContext(ctx, "submission refused: approve the connection for this release with quittance connection approve", "account", tenant.Account(), "release", s.Release, "error", err)
	}
	if err != nil {
		return store.Invoice{}, err
	}
	if !begun {
		return lease.Submitted(lease.Submission), nil
	}
	ctx = context.WithoutCancel(ctx)
	var recorded store.Submission
	if lease.QueryFirst {
		recorded, err = s.queryBeforeSend(ctx, lease)
	} else {
		recorded, err = s.send(ctx, lease)
	}
	switch {
	case errors.Is(err, store.ErrLeaseLost):
		return tenant.Invoice(ctx, invoiceID) // another worker records the outcome
	case err != nil:
		return store.Invoice{}, err
	case !recorded.MaybeSent():
		return store.Invoice{}, ErrNotSubmitted
	}
	return lease.Submitted(recorded), nil
}

// Poll queries the status of one claimed submission and records the response. If the provider does not have the document
// and the rules allow it, Poll sends the document again under its reference. It returns the response to the status query.
func (s *Service) Poll(ctx context.Context, lease store.SubmissionLease) (provider.Response, error) {
	response := s.queryStatus(ctx, lease, lease.Submission.ID)
	response.resendFollows = true
	recorded, err := s.record(ctx, lease, response)
	if err != nil || !response.allowsResend(recorded) {
		return response.Response, err
	}
	if _, free, err := s.queryLaterReferences(ctx, lease); err != nil || !free {
		return response.Response, ignoreLeaseLost(err)
	}
	again, err := lease.BeginResend(ctx, s.leaseDuration())
	if err != nil {
		return response.Response, ignoreLeaseLost(err)
	}
	_, err = s.send(ctx, again)
	return response.Response, err
}

// ignoreLeaseLost drops the error that says that another worker has the lease.
func ignoreLeaseLost(err error) error {
	if errors.Is(err, store.ErrLeaseLost) {
		return nil
	}
	return err
}

// send submits the document of a committed intent and records the response.
func (s *Service) send(ctx context.Context, lease store.SubmissionLease) (store.Submission, error) {
	return s.record(ctx, lease, s.submitOnce(ctx, lease))
}

// submitOnce makes one submit call with the document of a committed intent. It sends nothing if the lease has ended.
func (s *Service) submitOnce(ctx context.Context, lease store.SubmissionLease) providerResponse {
	adapter, response := s.prepareCall(ctx, lease.Connection, callSubmit)
	if adapter == nil {
		return response
	}
	s.beginCall(&response)
	if s.db.Now().Before(*lease.Submission.DueAt) {
		response.Response = adapter.Submit(ctx, provider.Document{Reference: lease.Submission.ID.String(), Body: lease.Document})
	} else {
		// This process was suspended after the intent was committed. Another worker may have queried its status since, and
		// the provider may have said that it has none. The document must not arrive after that.
		response.Response = provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassCanceled}
	}
	s.endCall(&response)
	return response
}

// queryStatus makes one status call, which returns what the provider has under a reference.
func (s *Service) queryStatus(ctx context.Context, lease store.SubmissionLease, reference store.ID) providerResponse {
	adapter, response := s.prepareCall(ctx, lease.Connection, callStatus)
	if adapter == nil {
		return response
	}
	s.beginCall(&response)
	response.Response = adapter.Status(ctx, reference.String())
	s.endCall(&response)
	return response
}

// prepareCall opens the adapter of a connection and prepares the response of one call. When the connection cannot be used, the
// adapter is nil and the response says that nothing was sent. The cause is the operator's concern, not the customer's.
func (s *Service) prepareCall(ctx context.Context, c store.Connection, call string) (provider.Adapter, providerResponse) {
	response := providerResponse{Response: provider.Response{Kind: provider.NotSent}, call: call, began: s.db.Now(), timeout: s.CallTimeout, polling: s.Polling}
	adapter, err := s.Adapters.For(c)
	if err != nil {
		s.Log.ErrorContext(ctx, "provider connection unusable", "connection", c.ID, "error", err)
		response.connectionAltered = errors.Is(err, store.ErrChangedRow)
		return nil, response
	}
	response.profile = adapter.Profile()
	return adapter, response
}

// beginCall marks the beginning of a provider call.
func (s *Service) beginCall(response *providerResponse) {
	s.db.Checkpoint(store.Before, "provider "+response.call)
	response.began = s.db.Now().Truncate(time.Microsecond)
}

// endCall marks the end of a provider call and observes it.
func (s *Service) endCall(response *providerResponse) {
	s.db.Checkpoint(store.After, "provider "+response.call)
	s.Observe(response.call, response.Kind.String(), response.Duration)
}

// record commits what follows from a response, and logs the call.
func (s *Service) record(ctx context.Context, lease store.SubmissionLease, response providerResponse) (store.Submission, error) {
	recorded, err := recordWithRetry(ctx, lease, response)
	s.logCall(ctx, lease, response, recorded, err)
	return recorded, err
}

// recordWithRetry commits what follows from a response. A response must not be lost because the database is unavailable for a moment,
// so recordWithRetry tries again for a while. If it fails, a later poll queries the provider again.
func recordWithRetry(ctx context.Context, lease store.SubmissionLease, response providerResponse) (store.Submission, error) {
	const timeout = 15 * time.Second
	deadline, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		recorded, err := lease.Record(ctx, response.decide)
		if err == nil || !errors.Is(err, store.ErrUnavailable) {
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
func (s *Service) logCall(ctx context.Context, lease store.SubmissionLease, response providerResponse, recorded store.Submission, err error) {
	s.Log.InfoContext(ctx, "provider call", "call", response.call, "tenant", lease.Tenant.Key(), "connection", lease.Connection.ID,
		"submission", lease.Submission.ID, "kind", response.Kind.String(), "status", response.HTTPStatus, "class", string(response.ErrorClass),
		"duration_ms", response.Duration.Milliseconds(), "outcome", string(recorded.Outcome), "error", err)
	if contradicted(recorded) && !contradicted(lease.Submission) {
		s.Log.ErrorContext(ctx, "the provider has a document that was resolved by rejecting it: there may be two for one invoice",
			"tenant", lease.Tenant.Key(), "submission", recorded.ID, "invoice", recorded.Invoice, "resolved_by", recorded.Resolved.By, "resolved_at", recorded.Resolved.At)
	}
}

// contradicted reports whether the provider has reported a submission that an administrator had resolved by rejecting it.
func contradicted(s store.Submission) bool {
	return s.Resolved != nil && s.Resolved.ContradictedAt != nil
}
