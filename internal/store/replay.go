package store

import (
	"errors"
	"slices"
	"time"

	"quittance/internal/invoice"
	"quittance/sdk/go/api"
)

// Replay reads again what is retained, as it was read when it came. The packages that turn answers into states, and
// metadata into what is shown, provide it: this package compares what follows with what it keeps. Its functions are pure.
type Replay struct {
	// Answer takes one retained answer about a submission, of a connection of the given kind, and returns what is known
	// after it. The body counts when atHand is true. [ErrNotAtHand] says that it would have been needed.
	Answer func(kind string, before Submission, e Evidence, body []byte, atHand bool) (Step, error)
	// Purchase returns what is shown of the metadata of a purchase document.
	Purchase func(metadata []byte) (NewIncoming, error)
	// Sent returns the invoice in the document of a submission.
	Sent func(document []byte) (api.Draft, error)
}

// Step is what one retained answer has changed.
type Step struct {
	// After is the submission after it: States, Outcome, Reference, Sequence and TerminalAt.
	After Submission
	// Write names the dimensions whose words it gave.
	Write []invoice.Dimension
	// Events are the kinds of events that it gave rise to, in their order.
	Events []api.EventKind
}

// ErrNotAtHand says that an answer of before its reading was retained cannot be read again without its body.
var ErrNotAtHand = errors.New("the answer is withheld")

// Early tells whether the answer was retained before its reading was retained with it.
func (e *Evidence) Early() bool { return e.early }

// replayed is what is known of a submission after some of its retained answers.
type replayed struct {
	Submission
	// pending is what an administrator has decided after the answers so far; nil when nothing.
	pending *api.Resolution
	// unread tells that something could not be read again, so that nothing is to be compared.
	unread bool
	// loose are the dimensions whose answer is of before all of a transaction had one instant, and "" when that of TerminalAt
	// is.
	loose map[invoice.Dimension]bool
}

func newReplayed(s *Submission) replayed {
	var pending *api.Resolution
	if s.Resolved != nil {
		pending = new(*s.Resolved)
		pending.ContradictedAt = nil
	}
	return replayed{pending: pending, loose: map[invoice.Dimension]bool{}, Submission: Submission{ID: s.ID, Invoice: s.Invoice, Number: s.Number, Outcome: api.OutcomeInProgress, Origins: map[invoice.Dimension]Origin{}}}
}

// resolve takes an administrator's decision that was made before now.
func (r *replayed) resolve(now time.Time) {
	if r.pending == nil || now.Before(r.pending.At) {
		return
	}
	r.Resolved, r.pending = r.pending, nil
	if r.Resolved.Decision == DecisionReject {
		r.Outcome = api.OutcomeResolvedRejected
	}
}

// take goes on to the next retained answer, and returns the kinds of the events that followed from it, and what is wrong with
// it, "" when nothing is.
func (r *replayed) take(replay Replay, kind string, e *Evidence, body []byte, atHand bool) (events []api.EventKind, what string) {
	if r.unread {
		return nil, ""
	}
	r.resolve(e.ReceivedAt)
	step, err := replay.Answer(kind, r.Submission, *e, body, atHand)
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

// differs compares what follows from the retained answers with what is kept, and returns the field that differs and how; ""
// when none does. found tells that the submission was sealed as it was found.
func (r *replayed) differs(s *Submission, found bool) (field, what string) {
	if r.unread {
		return "", ""
	}
	if r.pending != nil {
		r.resolve(r.pending.At)
	}
	if field, what := r.statesDiffer(s); what != "" {
		return field, what
	}
	switch {
	case !r.allows(s.Outcome, found):
		return "outcome", "it does not follow from the retained answers"
	case (s.Resolved == nil) != (r.Resolved == nil) || s.Resolved != nil && !equalInstants(s.Resolved.ContradictedAt, r.Resolved.ContradictedAt):
		return "resolved", "it does not follow from the retained answers that the provider has contradicted it"
	case !equal(s.ProviderReference, r.ProviderReference):
		return "provider_reference", "it does not follow from the retained answers"
	case !equal(s.Sequence, r.Sequence):
		return "sequence", "it does not follow from the retained answers"
	case (s.TerminalAt == nil) != (r.TerminalAt == nil) || s.TerminalAt != nil && !r.sameInstant("", *s.TerminalAt, *r.TerminalAt):
		return "terminal_at", "it does not follow from the retained answers"
	case s.LastStatus != r.LastStatus || s.LastSHA256 != r.LastSHA256:
		return "last_sha256", "it is not that of the last retained answer"
	case (s.LastCheckedAt == nil) != (r.LastCheckedAt == nil) || s.LastCheckedAt != nil && s.LastCheckedAt.Before(*r.LastCheckedAt):
		return "last_checked_at", "it is before the last retained answer"
	}
	return "", ""
}

// statesDiffer is differs for the four states.
func (r *replayed) statesDiffer(s *Submission) (field, what string) {
	for _, dimension := range invoice.Dimensions {
		if s.States.Stored(dimension) != r.States.Stored(dimension) {
			return string(dimension), "the word, or what is said of it, does not follow from the retained answers"
		}
		kept, follows := s.Origins[dimension], r.Origins[dimension]
		if kept.Evidence != follows.Evidence || !r.sameInstant(dimension, kept.ReportedAt, follows.ReportedAt) {
			return string(dimension), "the answer that it names is not the one that it follows from"
		}
	}
	return "", ""
}

// sameInstant compares a time that is kept with that of the answer which it follows from.
func (r *replayed) sameInstant(of invoice.Dimension, kept, follows time.Time) bool {
	if r.loose[of] {
		return !kept.Before(follows) && kept.Before(follows.Add(writeTimeout))
	}
	return kept.Equal(follows)
}

// allows tells whether an outcome may stand beside what the answers and an administrator's decision say. Of a submission
// without a report it is known only that it is not acknowledged; one that was sealed as it was found may have been rejected by
// an administrator when that was not recorded.
func (r *replayed) allows(outcome api.Outcome, found bool) bool {
	switch {
	case outcome == r.Outcome, found && outcome == api.OutcomeRejected:
		return true
	case r.Sequence != nil || r.Outcome == api.OutcomeResolvedRejected:
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
