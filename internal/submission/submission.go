// Package submission turns a complete draft into one regulated submission and learns what became of it.
//
// Its invariants (contract, section 5):
//
//   - The intent is committed, with its permanent reference, before a byte leaves; the provider is called outside any
//     transaction; what it answered is committed in one transaction with everything that follows from it.
//   - Only what is certainly not sent is a draft again. A broken answer is outcome unknown, never a state and never a
//     reason to send again: the reference is looked up until it is known.
//   - record.go is the one place where evidence becomes state, and the HTTP status is not an input of it.
//
// Start reading at [Service.Submit], then [Service.Reconcile], then decide in record.go.
package submission

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"quittance/api"
	"quittance/internal/provider"
	"quittance/internal/store"
)

// ErrNotSubmitted says that the provider certainly did not take the document. The invoice is a draft again, under the same
// reference.
var ErrNotSubmitted = errors.New("the provider did not take the document")

// Config is what a service is made from. All durations are positive.
type Config struct {
	// Environment is local, sandbox or production.
	Environment string
	// Release is what this binary says it is. In production a connection submits only with an approval that covers it.
	Release string
	// Adapters opens the adapter of a connection.
	Adapters *Adapters
	// CallTimeout is the longest a provider call may take, its answer included.
	CallTimeout time.Duration
	// Polling is when the provider is asked again.
	Polling Polling
	// Log receives a wide line for every provider call.
	Log *slog.Logger
	// Observe is told of every provider call, for metrics.
	Observe func(call, kind string, duration time.Duration)
}

// Service submits and reconciles. It is safe for concurrent use.
type Service struct {
	db    *store.DB
	lines *lines
	Config
}

// New returns a service on db.
func New(db *store.DB, config Config) *Service {
	return &Service{db: db, lines: newLines(), Config: config}
}

// leaseAir is how much longer than its calls a piece of work is leased, so that a live worker never loses it.
const leaseAir = 10 * time.Second

// lease is how long a piece of work may take: a question and a repeat of the submission.
func (s *Service) lease() time.Duration { return 2*s.CallTimeout + leaseAir }

// Submit submits an invoice, or returns what is recorded when it was submitted before. It returns the errors of
// [store.Tenant.BeginSubmission], [ErrNotSubmitted] or [ErrBusy]. A caller that hangs up does not stop it.
func (s *Service) Submit(ctx context.Context, tenant *store.Tenant, invoiceID store.ID) (store.Invoice, error) {
	leave, err := s.lines.enter(ctx, tenant.Account(), 0)
	if errors.Is(err, ErrBusy) {
		// What is recorded is told all the same: that takes no call.
		if found, err := tenant.Invoice(ctx, invoiceID); err != nil || found.Submission != nil && found.Submission.Outcome != api.OutcomeInProgress {
			return found, err
		}
		leave, err = s.lines.enter(ctx, tenant.Account(), patience)
	}
	if err != nil {
		return store.Invoice{}, err
	}
	defer leave()
	call, begun, err := tenant.BeginSubmission(ctx, invoiceID, store.Intent{
		Environment:     s.Environment,
		Release:         s.Release,
		Render:          render,
		Lease:           s.CallTimeout + leaseAir,
		QueryFirstLease: lookFirstCalls*s.CallTimeout + leaseAir,
	})
	if errors.Is(err, store.ErrNotApproved) {
		s.Log.WarnContext(ctx, "submission refused: approve the connection for this release with quittance connection approve", "account", tenant.Account(), "release", s.Release, "error", err)
	}
	if err != nil {
		return store.Invoice{}, err
	}
	if !begun {
		return call.Submitted(call.Submission), nil
	}
	ctx = context.WithoutCancel(ctx)
	send := s.send
	if call.QueryFirst {
		send = s.lookFirst
	}
	recorded, err := send(ctx, call)
	switch {
	case err != nil:
		return store.Invoice{}, err
	case recorded.ID.IsZero(): // it became somebody else's turn
		return tenant.Invoice(ctx, invoiceID)
	case !recorded.MaybeSent():
		return store.Invoice{}, ErrNotSubmitted
	}
	return call.Submitted(recorded), nil
}

// send hands the document of a committed intent to the provider, and records what it answers.
func (s *Service) send(ctx context.Context, call store.SubmissionLease) (store.Submission, error) {
	recorded, _, err := s.speak(ctx, call, hearing{call: callSubmit}, func(ctx context.Context, a provider.Adapter) provider.Response {
		if !s.db.Now().Before(*call.Submission.DueAt) {
			// This process stood still after the intent was committed. Others may have asked for the document since, and been
			// told that it is missing: it must not arrive now.
			return provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassCanceled}
		}
		return a.Submit(ctx, provider.Document{Reference: call.Submission.ID.String(), Body: call.Document})
	})
	return recorded, err
}

// ask looks a submission up by its reference, and records what the provider answers.
func (s *Service) ask(ctx context.Context, call store.SubmissionLease, heard hearing) (store.Submission, hearing, error) {
	heard.call = callStatus
	return s.speak(ctx, call, heard, func(ctx context.Context, a provider.Adapter) provider.Response {
		return a.Status(ctx, call.Submission.ID.String())
	})
}

// Reconcile asks the provider about one claimed submission and records what it says. When the rules allow it and the
// provider does not have the document, it is sent again under its reference. It returns the answer to the question.
func (s *Service) Reconcile(ctx context.Context, call store.SubmissionLease) (provider.Response, error) {
	recorded, heard, err := s.ask(ctx, call, hearing{hold: true})
	if err != nil || !heard.allowsResend(recorded) {
		return heard.answer, err
	}
	if _, free, err := s.lookAhead(ctx, call); err != nil || !free {
		return heard.answer, ignoreLost(err)
	}
	again, err := call.BeginResend(ctx, s.lease())
	if err != nil {
		return heard.answer, ignoreLost(err)
	}
	_, err = s.send(ctx, again)
	return heard.answer, err
}

// ignoreLost drops the error that says that it is somebody else's turn.
func ignoreLost(err error) error {
	if errors.Is(err, store.ErrLeaseLost) {
		return nil
	}
	return err
}

// speak makes one provider call and records its answer. heard says what the call is; it is returned with the answer.
func (s *Service) speak(ctx context.Context, call store.SubmissionLease, heard hearing, do func(context.Context, provider.Adapter) provider.Response) (store.Submission, hearing, error) {
	adapter, profile, err := s.adapter(ctx, call.Connection)
	heard.profile, heard.timeout, heard.polling = profile, s.CallTimeout, s.Polling
	heard.answer.Kind, heard.began = provider.NotSent, s.db.Now() // nothing can have been sent without an adapter
	heard.changed = errors.Is(err, store.ErrChangedRow)
	if err == nil {
		heard.answer, heard.began = s.exchange(ctx, heard.call, func(ctx context.Context) provider.Response { return do(ctx, adapter) })
	}
	recorded, err := s.record(ctx, call, heard)
	s.note(ctx, call, heard, recorded, err)
	return recorded, heard, err
}

// note writes the line about a provider call.
func (s *Service) note(ctx context.Context, call store.SubmissionLease, heard hearing, recorded store.Submission, err error) {
	s.Log.InfoContext(ctx, "provider call", "call", heard.call, "tenant", call.Tenant.Key(), "connection", call.Connection.ID,
		"submission", call.Submission.ID, "kind", heard.answer.Kind.String(), "status", heard.answer.HTTPStatus, "class", string(heard.answer.ErrorClass),
		"duration_ms", heard.answer.Duration.Milliseconds(), "outcome", string(recorded.Outcome), "error", err)
	if contradicted(recorded) && !contradicted(call.Submission) {
		s.Log.ErrorContext(ctx, "the provider has a document that was resolved by rejecting it: there may be two for one invoice",
			"tenant", call.Tenant.Key(), "submission", recorded.ID, "invoice", recorded.Invoice, "resolved_by", recorded.Resolved.By, "resolved_at", recorded.Resolved.At)
	}
}

// contradicted tells whether the provider has reported a submission that was resolved by rejecting it.
func contradicted(s store.Submission) bool {
	return s.Resolved != nil && s.Resolved.ContradictedAt != nil
}

// adapter opens the adapter of a connection. The reason why it cannot is the operator's, not the customer's.
func (s *Service) adapter(ctx context.Context, c store.Connection) (provider.Adapter, provider.Profile, error) {
	adapter, err := s.Adapters.For(c)
	if err != nil {
		s.Log.ErrorContext(ctx, "provider connection unusable", "connection", c.ID, "error", err)
		return nil, provider.Profile{}, err
	}
	return adapter, adapter.Profile(), nil
}

// exchange makes one provider call, and returns when it began.
func (s *Service) exchange(ctx context.Context, name string, do func(context.Context) provider.Response) (answer provider.Response, began time.Time) {
	s.db.Checkpoint(store.Before, "provider "+name)
	began = s.db.Now().Truncate(time.Microsecond)
	answer = do(ctx)
	s.db.Checkpoint(store.After, "provider "+name)
	s.Observe(name, answer.Kind.String(), answer.Duration)
	return answer, began
}

// record commits an answer. What the provider has said must not be lost to a moment's trouble with the database, so
// that is waited out for a while; after it, reconciliation asks again.
func (s *Service) record(ctx context.Context, call store.SubmissionLease, heard hearing) (store.Submission, error) {
	const patience = 15 * time.Second
	deadline, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		recorded, err := call.Record(ctx, heard.decide)
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
