package store

import (
	"errors"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/invoice"
)

// Replay interprets retained evidence again, as it was interpreted when it was received. The packages that interpret
// responses and metadata provide its functions, which are pure; this package compares their results with what it has
// stored.
type Replay struct {
	// Response applies one retained response about a submission over a connection of the given kind. The body is available
	// if atHand is true; [ErrNotAtHand] says that it would be needed.
	Response func(kind string, before Submission, e Evidence, body []byte, atHand bool) (Step, error)
	// Purchase returns what is shown of the metadata of a purchase document.
	Purchase func(metadata []byte) (NewIncoming, error)
	// Sent returns what is in the document of a submission.
	Sent func(document []byte) (Sent, error)
}

// Sent is what a submission has sent.
type Sent struct {
	// Invoice is the invoice, for a credit note the credited one.
	Invoice api.Draft
	// Credit is the credit note; nil for an invoice.
	Credit *NewCreditNote
}

// Step is the effect of one retained response.
type Step struct {
	// After is the submission after it: States, Outcome, Reference, Sequence and TerminalAt.
	After Submission
	// Write names the dimensions whose state values it set.
	Write []invoice.Dimension
	// Events are the kinds of the events that it caused, in their order.
	Events []api.EventKind
}

// ErrNotAtHand says that a response cannot be interpreted without its body, because it was retained without an
// interpretation.
var ErrNotAtHand = errors.New("the response is withheld")

// Early reports whether the response was retained by a version that did not retain its interpretation.
func (e *Evidence) Early() bool { return e.early }

// replayed is a submission as it follows from some of its retained responses.
type replayed struct {
	Submission
	// pending is an administrator's decision that is later than the responses so far, or nil.
	pending *api.Resolution
	// unread reports that a response could not be interpreted again, so nothing can be compared.
	unread bool
	// loose has the dimensions whose response is from a version in which a transaction did not have a single time, and ""
	// if that is true of TerminalAt.
	loose map[invoice.Dimension]bool
}

func newReplayed(s *Submission) replayed {
	var pending *api.Resolution
	if s.Resolved != nil {
		pending = new(*s.Resolved)
		pending.ContradictedAt = nil
	}
	return replayed{pending: pending, loose: map[invoice.Dimension]bool{},
		Submission: Submission{ID: s.ID, Invoice: s.Invoice, CreditNote: s.CreditNote, Number: s.Number,
			InvoiceNumber: s.InvoiceNumber, Outcome: api.OutcomeInProgress, Origins: map[invoice.Dimension]Origin{}}}
}

// resolve applies an administrator's decision that is not later than now.
func (r *replayed) resolve(now time.Time) {
	if r.pending == nil || now.Before(r.pending.At) {
		return
	}
	r.Resolved, r.pending = r.pending, nil
	if r.Resolved.Decision == DecisionReject {
		r.Outcome = api.OutcomeResolvedRejected
	}
}

// add applies the next retained response. It returns the kinds of the events that followed from it, and a description
// of what is wrong with it, or "".
func (r *replayed) add(replay Replay, kind string, e *Evidence, body []byte,
	atHand bool) (events []api.EventKind, what string) {
	if r.unread {
		return nil, ""
	}
	r.resolve(e.ReceivedAt)
	step, err := replay.Response(kind, r.Submission, *e, body, atHand)
	switch {
	case errors.Is(err, ErrNotAtHand):
		r.unread = true
		return nil, ""
	case err != nil:
		return nil, err.Error()
	}
	origins := r.Origins
	r.Submission = step.After
	r.Origins = origins
	for _, dimension := range step.Write {
		r.Origins[dimension], r.loose[dimension] = Origin{Evidence: e.ID, ReportedAt: e.ReceivedAt}, e.early
	}
	if slices.Contains(step.Events, api.EventTerminal) {
		r.loose[""] = e.early
	}
	r.LastStatus, r.LastSHA256, r.LastCheckedAt = e.HTTPStatus, e.SHA256, &e.ReceivedAt
	r.Evidence = e.Ordinal
	return step.Events, ""
}

// differs compares what follows from the retained responses with the stored submission. found reports that it was
// sealed by [DB.SealEvidence].
func (r *replayed) differs(s *Submission, found bool) flaw {
	if r.unread {
		return flaw{}
	}
	if r.pending != nil {
		r.resolve(r.pending.At)
	}
	if f := r.statesDiffer(s); f.found() {
		return f
	}
	const whatForeign = "it does not follow from the retained responses"
	switch {
	case !r.allows(s.Outcome, found):
		return flaw{"outcome", whatForeign}
	case (s.Resolved == nil) != (r.Resolved == nil) || s.Resolved != nil &&
		!equalInstants(s.Resolved.ContradictedAt, r.Resolved.ContradictedAt):
		return flaw{"resolved", "it does not follow from the retained responses that the provider has contradicted it"}
	case !equal(s.ProviderReference, r.ProviderReference):
		return flaw{"provider_reference", whatForeign}
	case !equal(s.Sequence, r.Sequence):
		return flaw{"sequence", whatForeign}
	case (s.TerminalAt == nil) != (r.TerminalAt == nil) || s.TerminalAt != nil &&
		!r.sameInstant("", *s.TerminalAt, *r.TerminalAt):
		return flaw{"terminal_at", whatForeign}
	case s.LastStatus != r.LastStatus || s.LastSHA256 != r.LastSHA256:
		return flaw{"last_sha256", "it is not that of the last retained response"}
	case (s.LastCheckedAt == nil) != (r.LastCheckedAt == nil) || s.LastCheckedAt != nil &&
		s.LastCheckedAt.Before(*r.LastCheckedAt):
		return flaw{"last_checked_at", "it is before the last retained response"}
	}
	return flaw{}
}

// statesDiffer compares the states, and the responses that they name.
func (r *replayed) statesDiffer(s *Submission) flaw {
	for _, dimension := range invoice.Dimensions {
		if s.States.Stored(dimension) != r.States.Stored(dimension) {
			return flaw{string(dimension), "the value or its meaning does not follow from the retained responses"}
		}
		kept, follows := s.Origins[dimension], r.Origins[dimension]
		if kept.Evidence != follows.Evidence || !r.sameInstant(dimension, kept.ReportedAt, follows.ReportedAt) {
			return flaw{string(dimension), "the response that it names is not the one that it follows from"}
		}
	}
	return flaw{}
}

// sameInstant compares a stored time with that of the response that it follows from.
func (r *replayed) sameInstant(of invoice.Dimension, kept, follows time.Time) bool {
	if r.loose[of] {
		return !kept.Before(follows) && kept.Before(follows.Add(writeTimeout))
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
	return outcome == api.OutcomeInProgress || outcome == api.OutcomeUnknown || outcome == OutcomeNotSent
}

func equal[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func equalInstants(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Equal(*b)
}
