package proof

import (
	"errors"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
)

// Replay interprets retained evidence again, as it was interpreted when it was received. The packages that interpret
// responses and metadata provide its functions, which are pure; this package compares their results with what it has
// stored.
type Replay struct {
	// Response applies one retained response about a submission over a connection of the given kind. The body is available
	// if atHand is true; [invoices.ErrNotAtHand] says that it would be needed.
	Response func(kind string, before invoices.Submission, e invoices.Evidence, body []byte, atHand bool) (Step, error)
	// Purchase returns what is shown of the metadata of a purchase document.
	Purchase func(metadata []byte) (incoming.NewIncoming, error)
	// Sent returns what is in the document of a submission.
	Sent func(document []byte) (Sent, error)
}

// Sent is what a submission has sent.
type Sent struct {
	// Invoice is the invoice, for a credit note the credited one.
	Invoice api.Draft
	// Credit is the credit note; nil for an invoice.
	Credit *invoices.NewCreditNote
}

// Step is the effect of one retained response.
type Step struct {
	// After is the submission after it: States, Outcome, Reference, Sequence and TerminalAt.
	After invoices.Submission
	// Write names the dimensions whose state values it set.
	Write []invoice.Dimension
	// Events are the kinds of the events that it caused, in their order.
	Events []api.EventKind
}

// replayed is a submission as it follows from some of its retained responses.
type replayed struct {
	invoices.Submission
	// pending is an administrator's decision that is later than the responses so far, or nil.
	pending *api.Resolution
	// unread reports that a response could not be interpreted again, so nothing can be compared.
	unread bool
	// loose has the dimensions whose response is from a version in which a transaction did not have a single time, and ""
	// if that is true of TerminalAt.
	loose map[invoice.Dimension]bool
}

func newReplayed(s *invoices.Submission) replayed {
	var pending *api.Resolution
	if s.Resolved != nil {
		pending = new(*s.Resolved)
		pending.ContradictedAt = nil
	}
	return replayed{pending: pending, loose: map[invoice.Dimension]bool{},
		Submission: invoices.Submission{ID: s.ID, Invoice: s.Invoice, CreditNote: s.CreditNote, Number: s.Number,
			InvoiceNumber: s.InvoiceNumber, Outcome: api.OutcomeInProgress, Origins: map[invoice.Dimension]invoices.Origin{}}}
}

// resolve applies an administrator's decision that is not later than now.
func (r *replayed) resolve(now time.Time) {
	if r.pending == nil || now.Before(r.pending.At) {
		return
	}
	r.Resolved, r.pending = r.pending, nil
	if r.Resolved.Decision == invoices.DecisionReject {
		r.Outcome = api.OutcomeResolvedRejected
	}
}

// add applies the next retained response. It returns the kinds of the events that followed from it, and a description
// of what is wrong with it, or "".
func (r *replayed) add(replay Replay, kind string, e *invoices.Evidence, body []byte,
	atHand bool) (events []api.EventKind, what string) {
	if r.unread {
		return nil, ""
	}
	r.resolve(e.ReceivedAt)
	step, err := replay.Response(kind, r.Submission, *e, body, atHand)
	switch {
	case errors.Is(err, invoices.ErrNotAtHand):
		r.unread = true
		return nil, ""
	case err != nil:
		return nil, err.Error()
	}
	origins := r.Origins
	r.Submission = step.After
	r.Origins = origins
	for _, dimension := range step.Write {
		r.Origins[dimension], r.loose[dimension] = invoices.Origin{Evidence: e.ID, ReportedAt: e.ReceivedAt}, e.Early
	}
	if slices.Contains(step.Events, api.EventTerminal) {
		r.loose[""] = e.Early
	}
	r.LastStatus, r.LastSHA256, r.LastCheckedAt = e.HTTPStatus, e.SHA256, &e.ReceivedAt
	r.Evidence = e.Ordinal
	return step.Events, ""
}

// differs compares what follows from the retained responses with the stored submission. found reports that it was
// sealed by [SealEvidence].
func (r *replayed) differs(s *invoices.Submission, found bool) base.Flaw {
	if r.unread {
		return base.Flaw{}
	}
	if r.pending != nil {
		r.resolve(r.pending.At)
	}
	if f := r.statesDiffer(s); f.Found() {
		return f
	}
	const whatForeign = "it does not follow from the retained responses"
	switch {
	case !r.allows(s.Outcome, found):
		return base.Flaw{Field: "outcome", What: whatForeign}
	case (s.Resolved == nil) != (r.Resolved == nil) || s.Resolved != nil &&
		!equalInstants(s.Resolved.ContradictedAt, r.Resolved.ContradictedAt):
		return base.Flaw{Field: "resolved", What: "it does not follow from the retained responses that the provider has contradicted it"}
	case !equal(s.ProviderReference, r.ProviderReference):
		return base.Flaw{Field: "provider_reference", What: whatForeign}
	case !equal(s.Sequence, r.Sequence):
		return base.Flaw{Field: "sequence", What: whatForeign}
	case (s.TerminalAt == nil) != (r.TerminalAt == nil) || s.TerminalAt != nil &&
		!r.sameInstant("", *s.TerminalAt, *r.TerminalAt):
		return base.Flaw{Field: "terminal_at", What: whatForeign}
	case s.LastStatus != r.LastStatus || s.LastSHA256 != r.LastSHA256:
		return base.Flaw{Field: "last_sha256", What: "it is not that of the last retained response"}
	case (s.LastCheckedAt == nil) != (r.LastCheckedAt == nil) || s.LastCheckedAt != nil &&
		s.LastCheckedAt.Before(*r.LastCheckedAt):
		return base.Flaw{Field: "last_checked_at", What: "it is before the last retained response"}
	}
	return base.Flaw{}
}

// statesDiffer compares the states, and the responses that they name.
func (r *replayed) statesDiffer(s *invoices.Submission) base.Flaw {
	for _, dimension := range invoice.Dimensions {
		if s.States.Stored(dimension) != r.States.Stored(dimension) {
			return base.Flaw{Field: string(dimension), What: "the value or its meaning does not follow from the retained responses"}
		}
		kept, follows := s.Origins[dimension], r.Origins[dimension]
		if kept.Evidence != follows.Evidence || !r.sameInstant(dimension, kept.ReportedAt, follows.ReportedAt) {
			return base.Flaw{Field: string(dimension), What: "the response that it names is not the one that it follows from"}
		}
	}
	return base.Flaw{}
}

// sameInstant compares a stored time with that of the response that it follows from.
func (r *replayed) sameInstant(of invoice.Dimension, kept, follows time.Time) bool {
	if r.loose[of] {
		return !kept.Before(follows) && kept.Before(follows.Add(base.WriteTimeout))
	}
	return kept.Equal(follows)
}

// allows reports whether an outcome is consistent with the responses and an administrator's decision. A submission
// without a report may have any outcome that is not an acknowledgement. One that was sealed as it was found may have
// been rejected by an administrator of a version that did not record this.
func (r *replayed) allows(outcome api.Outcome, found bool) bool {
	switch {
	case outcome == r.Outcome, found && outcome == api.OutcomeRejected:
		return true
	case r.Outcome != api.OutcomeInProgress:
		return false
	}
	return outcome == api.OutcomeInProgress || outcome == api.OutcomeUnknown || outcome == invoices.OutcomeNotSent
}

func equalInstants(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Equal(*b)
}

func equal[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
