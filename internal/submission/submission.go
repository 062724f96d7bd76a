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

	"quittance/internal/provider"
	"quittance/internal/store"
)

// ErrNotTaken says that the provider certainly did not take the document. The invoice is a draft again, under the same
// reference.
var ErrNotTaken = errors.New("the provider did not take the document")

// Config is what a service is made from. All durations are positive.
type Config struct {
	// Environment is local, sandbox or production.
	Environment string
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
	db *store.DB
	Config
}

// New returns a service on db.
func New(db *store.DB, config Config) *Service { return &Service{db: db, Config: config} }

// lease is how long a piece of work may take: a question and a repeat of the submission, and some air. It is longer
// than every call, so that a live worker never loses it.
func (s *Service) lease() time.Duration { return 2*s.CallTimeout + 10*time.Second }

// Submit submits an invoice, or returns what is recorded when it was submitted before. It returns the errors of
// [store.Tenant.BeginSubmission], or [ErrNotTaken]. A caller that hangs up does not stop it.
func (s *Service) Submit(ctx context.Context, tenant *store.Tenant, invoiceID store.ID) (store.Invoice, error) {
	call, begun, err := tenant.BeginSubmission(ctx, invoiceID, store.Intent{
		Environment: s.Environment,
		Render:      render,
		Lease:       s.CallTimeout + 10*time.Second,
	})
	if err != nil {
		return store.Invoice{}, err
	}
	if begun {
		ctx = context.WithoutCancel(ctx)
		recorded, err := s.send(ctx, call)
		if err != nil {
			return store.Invoice{}, err
		}
		if !recorded.Sent() {
			return store.Invoice{}, ErrNotTaken
		}
	}
	return tenant.Invoice(ctx, invoiceID)
}

// send hands the document of a committed intent to the provider, and records what it answers.
func (s *Service) send(ctx context.Context, call store.Call) (store.Submission, error) {
	return s.speak(ctx, call, callSubmit, false, func(ctx context.Context, a provider.Adapter) provider.Answer {
		return a.Submit(ctx, provider.Document{Reference: call.Submission.ID.String(), Body: call.Submission.Document})
	})
}

// Reconcile asks the provider about one claimed submission and records what it says. When the rules allow it and the
// provider does not have the document, it is sent again under its reference.
func (s *Service) Reconcile(ctx context.Context, call store.Call) error {
	reference := call.Submission.ID.String()
	recorded, err := s.speak(ctx, call, callStatus, true, func(ctx context.Context, a provider.Adapter) provider.Answer {
		return a.Status(ctx, reference)
	})
	if err != nil {
		return err
	}
	adapter, err := s.Adapters.For(call.Connection)
	if err != nil || !mayResend(recorded, adapter.Profile()) {
		return nil //nolint:nilerr // speak has recorded that there is no adapter; the next question comes in its time
	}
	again, err := call.BeginResend(ctx, s.lease())
	if errors.Is(err, store.ErrLeaseLost) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = s.send(ctx, again)
	return err
}

// speak makes one provider call and records its answer. With hold, a lease is kept when a resend follows.
func (s *Service) speak(ctx context.Context, call store.Call, name string, hold bool, do func(context.Context, provider.Adapter) provider.Answer) (store.Submission, error) {
	var answer provider.Answer
	var profile provider.Profile
	adapter, err := s.Adapters.For(call.Connection)
	if err != nil {
		// Nothing can have been sent without an adapter. The reason is the operator's, not the customer's.
		s.Log.ErrorContext(ctx, "provider connection unusable", "connection", call.Connection.ID, "error", err)
		answer.Kind = provider.NotSent
	} else {
		profile = adapter.Profile()
		answer = do(ctx, adapter)
	}
	heard := hearing{call: name, answer: answer, profile: profile, timeout: s.CallTimeout, polling: s.Polling, hold: hold}
	recorded, err := s.record(ctx, call, heard)
	s.Observe(name, answer.Kind.String(), answer.Duration)
	s.Log.InfoContext(ctx, "provider call", "call", name, "tenant", call.Tenant.Key(), "connection", call.Connection.ID,
		"submission", call.Submission.ID, "kind", answer.Kind.String(), "status", answer.HTTPStatus, "class", string(answer.ErrorClass),
		"duration_ms", answer.Duration.Milliseconds(), "outcome", string(recorded.Outcome), "error", err)
	return recorded, err
}

// record commits an answer. What the provider has said must not be lost to a moment's trouble with the database, so
// that is waited out for a while; after it, reconciliation asks again.
func (s *Service) record(ctx context.Context, call store.Call, heard hearing) (store.Submission, error) {
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
