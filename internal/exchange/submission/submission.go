// Package submission sends a complete draft, or a credit note, to the provider as one regulated submission, and polls
// its result.
//
// Its invariants:
//
//   - The intent to submit is committed, with its permanent reference, before a byte leaves. The provider is called
//     outside any transaction. Its response and everything that follows from it are committed in one transaction.
//   - An ambiguous response makes the outcome unknown. It never makes a state, and it is never a reason to send again.
//   - decide in decide.go is the only place where evidence becomes state; replay.go repeats it to prove what is shown.
//     The HTTP status is not an input to a state.
//
// These are the rules. The constants are in decide.go and polling.go.
//
//	What             When                                                      Why
//
//	Send             Once, when the customer submits, right after the intent   After a crash, the committed reference is what
//	                 is committed.                                             polled.
//	Query, then      After a restore from a backup: the status under this      The backup may be older than a submission that
//	send             reference, those that the provider had not received       the provider has accepted.
//	                 by then, and the next four.
//	Make it a draft  If nothing was sent, or the adapter knows that the        Only then does the provider certainly not have
//	again            provider refused the call before it took the document.    the document. The next try uses the same
//	                                                                           reference.
//	Poll             1 s after a change, then after twice as long each time,   The provider reports later states only when it
//	                 up to 1 h; once a day after 90 days, or when the          is polled. Old submissions stay cheap, and all
//	                 provider can say nothing more. At most 1 min after a      recover soon after an outage.
//	                 failed call. Never before the provider's Retry-After.
//	Send again       If the outcome is unknown, references are idempotent,     An early response may be older than the arrival
//	                 and the provider has said twice that it has no such       of the document. Under an idempotent reference,
//	                 document: both times two call time-outs after the last    even a wrong conclusion makes no second
//	                 send or later, at least 60 s apart, the last time just    document.
//	                 now. The same if the provider has prepared the document,
//	                 has said twice that it has not sent it, and sends a
//	                 prepared document once.
//	Send again       If an administrator has ordered it, and the provider      A person may know what the provider cannot tell.
//	                 responds (not with 401, 403, 429 or 5xx).
//	Stop polling     When all four states are terminal. A submission is never  An administrator can resolve an unknown outcome.
//	                 given up.
//
// Start reading at [Service.Submit], then [Service.Poll], then decide in decide.go. The file restored.go is about
// databases that were restored from a backup.
package submission

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/tracing"
	"quittance/internal/provider"
)

// ErrNotSubmitted says that the provider certainly did not receive the document, or refused it unread. The invoice is a
// draft again and keeps its reference.
var ErrNotSubmitted = problem.New(api.CodeProviderError, "the provider did not take the document")

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
	// Tracer traces provider calls and polls; nil for no traces.
	Tracer *tracing.Tracer
	// ObserveOutcome, if not nil, is called whenever a response has changed the outcome of a submission, for metrics.
	ObserveOutcome func(api.Outcome)
}

// Service submits invoices and credit notes and polls submissions. It is safe for concurrent use.
type Service struct {
	db      *base.DB
	limiter *callLimiter
	Config
}

// New returns a service on db.
func New(db *base.DB, config Config) *Service {
	return &Service{db: db, limiter: newCallLimiter(), Config: config}
}

// leaseMargin is added to the time-outs of the calls under a lease, so that a live worker never loses the lease.
const leaseMargin = 10 * time.Second

// leaseDuration is how long a poll may take: a status query and a resend.
func (s *Service) leaseDuration() time.Duration { return 2*s.CallTimeout + leaseMargin }

// Submit submits an invoice. If the invoice was submitted before, Submit returns what is recorded. It returns the
// errors of [invoices.BeginSubmission], [ErrNotSubmitted] or [ErrBusy]. Once the intent is committed, cancelling
// ctx has no effect.
func (s *Service) Submit(ctx context.Context, tenant *base.Tenant, id base.ID) (invoices.Invoice, error) {
	var found invoices.Invoice
	release, recorded, err := s.admit(ctx, tenant, func() (_ *invoices.Submission, err error) {
		found, err = invoices.Find(ctx, tenant, id)
		return found.Submission, err
	})
	if err != nil || recorded {
		return found, err
	}
	defer release()
	lease, err := s.beginAndSend(ctx, func() (invoices.SubmissionLease, bool, error) {
		return invoices.BeginSubmission(ctx, tenant, id, s.intent())
	})
	if err != nil {
		return invoices.Invoice{}, err
	}
	return lease.Submitted(), nil
}

// SubmitCreditNote submits a credit note as [Service.Submit] does an invoice. It returns the errors of
// [invoices.BeginCreditNoteSubmission], [ErrNotSubmitted] or [ErrBusy].
func (s *Service) SubmitCreditNote(ctx context.Context, tenant *base.Tenant, id base.ID) (invoices.CreditNote, error) {
	var found invoices.CreditNote
	release, recorded, err := s.admit(ctx, tenant, func() (_ *invoices.Submission, err error) {
		found, err = invoices.FindCreditNote(ctx, tenant, id)
		return found.Submission, err
	})
	if err != nil || recorded {
		return found, err
	}
	defer release()
	lease, err := s.beginAndSend(ctx, func() (invoices.SubmissionLease, bool, error) {
		return invoices.BeginCreditNoteSubmission(ctx, tenant, id, s.intent())
	})
	if err != nil {
		return invoices.CreditNote{}, err
	}
	return lease.SubmittedCreditNote(), nil
}

// admit waits until the company may make a call, and returns the function that ends it. While it has to wait, current
// is called: if that submission has an outcome, recorded is true, because it needs no call and must not wait for one.
func (s *Service) admit(ctx context.Context, tenant *base.Tenant,
	current func() (*invoices.Submission, error)) (release func(), recorded bool, err error) {
	release, err = s.limiter.acquire(ctx, tenant.Account(), 0)
	if !errors.Is(err, ErrBusy) {
		return release, false, err
	}
	switch submission, err := current(); {
	case err != nil:
		return nil, false, err
	case submission != nil && submission.Outcome != api.OutcomeInProgress:
		return nil, true, nil
	}
	release, err = s.limiter.acquire(ctx, tenant.Account(), acquireTimeout)
	return release, false, err
}

// intent returns how this service begins a submission.
func (s *Service) intent() invoices.Intent {
	return invoices.Intent{Environment: s.Environment, Release: s.Release, Render: render,
		LeaseDuration: s.CallTimeout + leaseMargin}
}

// beginAndSend commits the intent of a submission and sends its document, unless the submission had begun before. It
// returns the lease with the submission as it is recorded then.
func (s *Service) beginAndSend(ctx context.Context,
	begin func() (lease invoices.SubmissionLease, begun bool, err error)) (invoices.SubmissionLease, error) {
	lease, begun, err := begin()
	if errors.Is(err, invoices.ErrNotApproved) {
		s.Log.WarnContext(ctx,
			"submission refused: approve the connection for this release with quittance connection approve",
			"account", lease.Tenant.Account(), "release", s.Release, "error", err)
	}
	if err != nil || !begun {
		return lease, err
	}
	ctx, send := context.WithoutCancel(ctx), s.send
	if lease.Restored {
		send = s.sendRestored
	}
	lease.Submission, err = send(ctx, lease)
	switch {
	case errors.Is(err, base.ErrLeaseLost):
		err = invoices.ErrSubmissionInProgress // another worker goes on with it, perhaps under another reference
	case err == nil && !lease.Submission.MaybeSent():
		err = ErrNotSubmitted
	}
	return lease, err
}

// Poll queries the status of one claimed submission and records the response. If the provider does not have the
// document and the rules allow it, Poll sends the document again under its reference. It returns the response to the
// status query.
func (s *Service) Poll(ctx context.Context, lease invoices.SubmissionLease) (provider.Response, error) {
	response := s.queryStatus(ctx, lease)
	recorded, err := s.record(ctx, lease, response)
	released, held := lease.Released(recorded)
	if err != nil || !held || !response.allowsResend(recorded) {
		return response.Response, err
	}
	return response.Response, ignoreLeaseLost(s.resend(ctx, released, response))
}

// resend sends the document of a submission again, after a response that allows it. It returns [base.ErrLeaseLost] if
// another worker has had the lease since.
func (s *Service) resend(ctx context.Context, released invoices.SubmissionLease, response providerResponse) error {
	if _, free, err := s.queryLost(ctx, released, response); err != nil || !free {
		return err
	}
	again, err := released.BeginResend(ctx, s.leaseDuration())
	if err != nil {
		return err
	}
	_, err = s.send(ctx, again)
	return err
}

// ignoreLeaseLost drops the error that says that another worker has the lease.
func ignoreLeaseLost(err error) error {
	if errors.Is(err, base.ErrLeaseLost) {
		return nil
	}
	return err
}

// DecideEvent returns what follows from an event of the provider's queue about a submission, for
// [incoming.PurchaseLease.RecordEvent]. response contains the event, and began is when it was requested.
func (s *Service) DecideEvent(adapter provider.Adapter, response provider.Response,
	began time.Time) func(invoices.Submission, bool, time.Time) (invoices.Decision, error) {
	r := providerResponse{Response: response, call: callEvent, began: began, timeout: s.CallTimeout, polling: s.Polling,
		profile: adapter.Profile()}
	return r.decide
}

// send submits the document of a committed intent and records the response. If the response asks for another step, send
// takes it under the same lease: it continues only with what was committed, and only while nobody else has the lease.
func (s *Service) send(ctx context.Context, lease invoices.SubmissionLease) (invoices.Submission, error) {
	response := s.submitOnce(ctx, lease)
	for step := 1; ; step++ {
		if response.Next != provider.NextNone && step < response.profile.Steps {
			response.stepTimeout = s.leaseDuration()
		}
		recorded, err := s.record(ctx, lease, response)
		if err != nil || !lease.Kept(recorded) {
			return recorded, err
		}
		lease.Submission = recorded
		if response.Next == provider.NextSubmit {
			response = s.submitOnce(ctx, lease)
		} else {
			response = s.queryStatus(ctx, lease)
		}
	}
}

// submitOnce makes one submit call with the document of a committed intent. It sends nothing if the lease has ended.
func (s *Service) submitOnce(ctx context.Context, lease invoices.SubmissionLease) providerResponse {
	adapter, response := s.prepareCall(ctx, lease.Tenant, lease.Connection, callSubmit)
	if adapter == nil {
		return response
	}
	ctx, span := s.beginCall(ctx, lease.Connection, &response)
	if s.db.Now().Before(*lease.Submission.DueAt) {
		response.Response = adapter.Submit(ctx, provider.Document{Reference: lease.Submission.ID.String(),
			ProviderReference: provider.TextOf(lease.Submission.ProviderReference),
			Repeated:          lease.Restored || lease.Submission.Outcome != api.OutcomeInProgress, Body: lease.Document})
	} else {
		// This process was suspended after the intent was committed. Another worker may have queried its status since, and
		// the provider may have said that it has none. The document must not arrive after that.
		response.Response = provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassCanceled}
	}
	s.endCall(span, &response)
	return response
}

// queryStatus makes one status call, which returns what the provider has of a submission.
func (s *Service) queryStatus(ctx context.Context, lease invoices.SubmissionLease) providerResponse {
	adapter, response := s.prepareCall(ctx, lease.Tenant, lease.Connection, callStatus)
	if adapter == nil {
		return response
	}
	query := provider.Query{Reference: lease.Submission.ID.String(),
		ProviderReference: provider.TextOf(lease.Submission.ProviderReference)}
	if response.profile.QueriesByContent && query.ProviderReference == "" {
		if query.Body = lease.Document; query.Body == nil {
			var err error
			if query.Body, err = invoices.SubmittedDocument(ctx, lease.Tenant, lease.Submission.ID); err != nil {
				s.Log.ErrorContext(ctx, "the document of a submission cannot be read", "account", lease.Tenant.Account(),
					"submission", lease.Submission.ID, "error", err)
				return response
			}
		}
	}
	ctx, span := s.beginCall(ctx, lease.Connection, &response)
	response.Response = adapter.Status(ctx, query)
	s.endCall(span, &response)
	return response
}

// prepareCall opens the adapter of a connection and prepares the response of one call. When the connection cannot be
// used, the adapter is nil and the response says that nothing was sent. The cause is the operator's concern, not the
// customer's.
func (s *Service) prepareCall(ctx context.Context, tenant *base.Tenant, c invoices.Connection,
	call string) (provider.Adapter, providerResponse) {
	response := providerResponse{Response: provider.Response{Kind: provider.NotSent}, call: call, began: s.db.Now(),
		timeout: s.CallTimeout, polling: s.Polling}
	adapter, err := s.Adapters.For(c)
	if err != nil {
		s.Log.ErrorContext(ctx, "provider connection unusable", "account", tenant.Account(), "connection", c.ID, "error", err)
		response.connectionAltered = errors.Is(err, base.ErrChangedRow)
		return nil, response
	}
	response.profile = adapter.Profile()
	return adapter, response
}

// beginCall marks the beginning of a provider call, and returns its context and its span.
func (s *Service) beginCall(ctx context.Context, c invoices.Connection,
	response *providerResponse) (context.Context, *tracing.Span) {
	ctx, span := s.Tracer.ProviderCall(ctx, c.Kind, response.call)
	s.db.Checkpoint(base.Before, "provider "+response.call)
	response.began = s.db.Now().Truncate(time.Microsecond)
	return ctx, span
}

// endCall marks the end of a provider call and observes it.
func (s *Service) endCall(span *tracing.Span, response *providerResponse) {
	s.db.Checkpoint(base.After, "provider "+response.call)
	span.EndProviderCall(response.Kind.String(), response.HTTPStatus, string(response.ErrorClass))
	s.Observe(response.call, response.Kind.String(), response.Duration)
}
